"""Turn drift: whether answers get better or worse from the early over the middle to the late third of a conversation.

Looks at conversations of three turns and more. A difference is of each conversation's means in two thirds, so that long
or hard conversations do not bias it; over the same questions only, so that a change of what is asked does not either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject, better, drill_to, label_of, unit_of, value_of, wanted_metrics
from attunebench.analyses.sampling import Sampling, claimed, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, table, words
from attunebench.analyses.verdicts import claims_sentence, correction_text, counted, intervals_text, reach_text
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

METRICS = ("binary_om_accuracy", "binary_hp_accuracy", "emotion_va", "emotion_f1", "pairwise_accuracy")
_STEPS = {"early → middle": (0, 1), "middle → late": (1, 2), "early → late": (0, 2)}
_TAGGED = {"emotion_va": "emotion_va_tagged", "emotion_f1": "emotion_f1_tagged"}
_NAME = "turn-drift"


@dataclass(frozen=True)
class _Drift:
    """A metric by third: sums and numbers over turns, and means per conversation over what is asked in all three thirds
    of it; each (conversations, thirds, models). `steps`: a cell for each transition and model."""

    metric_id: str
    sums: Floats
    counts: Floats
    same: Floats
    steps: list[list[Cell]]


def analyse(subject: Subject) -> Analysis:
    """Means by third, pooled and per conversation, and all three transitions, per metric and model."""
    study, sampling = within.scored_models(subject)
    settings = sampling.settings
    if not any(turn.third is not None for turn in study.turns):
        raise Missing("No conversation has three turns, so there is no early, middle and late third.")
    metrics = [m for m in wanted_metrics(settings, METRICS) if REGISTRY[m].level == "turn"]
    drifts = [drift for metric_id in metrics if (drift := _drift(study, metric_id, sampling)) is not None]
    if not drifts:
        raise Missing("None of these metrics is defined turn by turn.")
    summary, named = _summary(study, drifts, sampling)
    return Analysis(
        tables=(summary, *(_by_model(study, drift, sampling) for drift in drifts)),
        shows=claims_sentence(named, settings, of="between thirds"),
        cannot="People say and feel other things late in a conversation than early, and labels may become easier or "
        "harder with them; the same questions (or tagged turns alone) control for what is asked, not for what is said. "
        "A third of a short conversation is a turn or two.",
        warnings=reach_text(np.full(len(_STEPS) * len(study.groups), sampling.least), settings),
    )


def _drift(study: ScoreTable, metric_id: str, sampling: Sampling) -> _Drift | None:
    sums, number = within.third_sums(study, study.turn_values(metric_id))
    if not number.any():
        return None
    steps = _steps(metric_id, within.ratio(sums, number), sampling, [drill_to(g, metric_id) for g in study.groups])
    return _Drift(metric_id, sums, number, _same(study, metric_id, sums.shape), steps)


def _same(study: ScoreTable, metric_id: str, shape: tuple[int, ...]) -> Floats:
    """Means per conversation and third over what is asked in all three thirds of the conversation alone."""
    if metric_id in _TAGGED:
        return within.ratio(*within.third_sums(study, study.turn_values(_TAGGED[metric_id])))
    if metric_id in ("binary_om_accuracy", "binary_hp_accuracy"):
        right = study.right("binary_om" if metric_id == "binary_om_accuracy" else "binary_hp")
    elif metric_id == "pairwise_accuracy":
        right = within.ratio(*within.pairwise_right(study)[1:])
    else:
        return np.full(shape, np.nan)
    by_question = within.ratio(*within.third_sums(study, right))
    kept = np.where(np.isnan(by_question).any(axis=1, keepdims=True), np.nan, by_question)
    return within.ratio(np.nansum(kept, axis=2), (~np.isnan(kept)).sum(axis=2).astype(np.float64))


def _steps(
    use: str, means: Floats, sampling: Sampling, drills: Sequence[Drill | None] | None = None
) -> list[list[Cell]]:
    """Later minus earlier third of (conversations, thirds, columns), tested together: a list for each transition."""
    later, earlier = (np.concatenate([means[:, step[end]] for step in _STEPS.values()], axis=1) for end in (1, 0))
    every = None if drills is None else [*drills] * len(_STEPS)
    return within.in_rows(within.paired_cells(sampling, f"{_NAME}/{use}", later, earlier, every), means.shape[2])


def _by_model(study: ScoreTable, drift: _Drift, sampling: Sampling) -> Table:
    """A metric's thirds and transitions, model by model."""
    metric_id, settings = drift.metric_id, sampling.settings
    label, unit, control = label_of(metric_id), unit_of(metric_id), _control(metric_id)
    pooled = {}
    for third, name in enumerate(within.THIRDS):
        turns = within.turns_of(study, within.rows_of_third(study, third))
        drills = [Drill(group.key, metric_id, turns=turns) for group in study.groups]
        pooled[name] = within.rate_cells(sampling, drift.sums[:, third], drift.counts[:, third], drills)
    same = _steps(f"{metric_id}/same", drift.same, sampling)
    turns_of = ", ".join(f"{int(drift.counts[:, i].sum(axis=0).max()):,} {name}" for i, name in enumerate(pooled))
    tested = correction_text(settings, f"{len(_STEPS) * len(study.groups)} transitions of models")
    return table(
        metric_id,
        f"{label} by third",
        words("model", study.labels),
        counts("n", (drift.counts.sum(axis=1) > 0).sum(axis=0), "conversations"),
        *(
            column(name, cells, name, unit, f"Mean over all turns of the {name} third.", better=better(metric_id))
            for name, cells in pooled.items()
        ),
        *(
            column(step.replace(" → ", "_"), cells, step, unit, "Later minus earlier, means of each conversation.")
            for step, cells in zip(_STEPS, drift.steps, strict=True)
        ),
        column("same", same[2], f"early → late, {control}", unit, "The same difference under this control."),
        caption=f"Conversations of three turns and more: {turns_of} turns. {intervals_text(settings)}; {tested}, those "
        f"over {control} likewise.",
        chart=Chart("lines", "model", within.THIRDS, f"{label} by third", f"{label} (mean over turns)"),
    )


def _summary(study: ScoreTable, drifts: Sequence[_Drift], sampling: Sampling) -> tuple[Table, list[tuple[str, Cell]]]:
    """Each metric and transition over all models, the mean over models being tested; and its cells by name."""
    settings = sampling.settings
    plain = np.stack([mean_over_models(within.ratio(drift.sums, drift.counts)) for drift in drifts], axis=2)
    paired = _steps("means", plain, sampling)
    same = _steps("same", np.stack([mean_over_models(drift.same) for drift in drifts], axis=2), sampling)
    rows = [(m, s, drift.steps[s]) for m, drift in enumerate(drifts) for s in range(len(_STEPS))]
    steps = list(_STEPS) * len(drifts)
    labels = [label_of(drifts[m].metric_id) for m, _, _ in rows]
    falling = [
        f"{sum(value_of(cell) < 0 for cell in cells)} of {sum(cell.value is not None for cell in cells)}"
        for _, _, cells in rows
    ]
    apart = [sum(claimed(cell, settings) for cell in cells if cell.value is not None) for _, _, cells in rows]
    pooled = [_pooled(drifts[m], list(_STEPS.values())[s], sampling) for m, s, _ in rows]
    cells = [paired[s][m] for m, s, _ in rows]
    control = "Over questions asked in all three thirds; emotions: tagged turns."
    made = table(
        "summary",
        "All models",
        words("metric", labels),
        words("step", steps, "from → to"),
        counts("n", [cell.n for cell in cells], "conversations"),
        words("falling", falling, "models that fall", "Models whose conversations fall on average."),
        counts("apart", apart, "significant", "Models whose change is significant after correction."),
        column("pooled", pooled, "over all turns", "share", "Later minus earlier mean of all turns, mean over models."),
        column("paired", cells, "per conversation", "share", "Later minus earlier mean of each conversation."),
        column("same", [same[s][m] for m, s, _ in rows], "same questions", "share", control),
        caption=f"{within.turns_text(study)}; mean over {counted(len(study.groups), 'model')}. Thirds are "
        f"⌊3(k − 1)/T⌋ for turn k of T ≥ 3. {intervals_text(settings)}; "
        f"{correction_text(settings, f'{len(rows)} transitions')}.",
    )
    return made, [(f"{label} {step}", cell) for label, step, cell in zip(labels, steps, cells, strict=True)]


def _pooled(drift: _Drift, step: tuple[int, int], sampling: Sampling) -> Cell:
    """The later minus the earlier mean over all turns, mean over models, with its interval."""
    kept = (drift.counts[:, step].sum(axis=0) > 0).all(axis=0)
    if not kept.any():
        return Cell(None)
    columns = [part[:, third, kept] for third in step for part in (drift.sums, drift.counts)]

    def change(sums: Sequence[Floats]) -> Floats:
        earlier, later = (within.ratio(*sums[start : start + 2]).mean(axis=-1) for start in (0, 2))
        return np.asarray(later - earlier)

    value = change([part.sum(axis=0) for part in columns])
    samples = change([within.resampled_sums(sampling, part) for part in columns])
    support = drift.counts[:, step][..., kept].sum(axis=(1, 2))
    return within.function_cells(sampling, value[None], samples[:, None], support[:, None])[0]


def _control(metric_id: str) -> str:
    return "tagged turns" if metric_id in _TAGGED else "same questions"
