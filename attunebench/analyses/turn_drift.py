"""Turn drift: whether answers get better or worse from the early over the middle to the late third of a conversation.

Looks at conversations of three turns and more. A difference is of each conversation's means in two thirds, so that long
or hard conversations do not bias it; over the same questions only, so that a change of what is asked does not either.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import (
    NO_DIFFERENCE,
    Subject,
    better,
    label_of,
    levels,
    unit_of,
    value_of,
    wanted_metrics,
)
from attunebench.analyses.sampling import claimed, defined_mean, mean_over_models, ratio
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, table, words
from attunebench.analyses.within import View
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import Block
from attunebench.statistics.bootstrap import Floats

METRICS = ("binary_om_accuracy", "binary_hp_accuracy", "emotion_va", "emotion_f1", "pairwise_accuracy")
_STEPS = {"early → middle": (0, 1), "middle → late": (1, 2), "early → late": (0, 2)}
_BLOCKS: dict[str, Block] = {"binary_om_accuracy": "binary_om", "binary_hp_accuracy": "binary_hp"}
_TAGGED = {"emotion_va": "emotion_va_tagged", "emotion_f1": "emotion_f1_tagged"}


class _Drift(NamedTuple):
    """A metric by third: sums and numbers over turns, and means per conversation over what is asked in all three thirds
    of it; each (conversations, thirds, models). `steps`: a cell for each transition and model."""

    metric_id: str
    sums: Floats
    counts: Floats
    same: Floats
    steps: list[list[Cell]]


def analyse(subject: Subject) -> Analysis:
    """Means by third, pooled and per conversation, and all three transitions, per metric and model."""
    view = View.of_models(subject)
    if not any(turn.third is not None for turn in view.study.turns):
        raise Missing("No conversation has three turns, so thirds are undefined.")
    drifts = []
    for metric_id in wanted_metrics(view.settings, METRICS):
        if REGISTRY[metric_id].level == "turn":
            sums, number = view.thirds(view.study.turn_values(metric_id))
            if number.any():
                steps = _steps(view, metric_id, ratio(sums, number), view.drills(metric_id))
                drifts.append(_Drift(metric_id, sums, number, _same(view, metric_id, sums.shape), steps))
    if not drifts:
        raise Missing("None of these metrics is defined on single turns.")
    summary, shows = _summary(view, drifts)
    return Analysis(
        tables=(summary, *(_by_model(view, drift) for drift in drifts)),
        shows=shows,
        warnings=view.reach(len(_STEPS) * view.width),
    )


def _same(view: View, metric_id: str, shape: tuple[int, ...]) -> Floats:
    """Means per conversation and third over what is asked in all three thirds of the conversation alone."""
    study = view.study
    if metric_id in _TAGGED:
        return ratio(*view.thirds(study.turn_values(_TAGGED[metric_id])))
    if metric_id not in _BLOCKS and metric_id != "pairwise_accuracy":
        return np.full(shape, np.nan)
    pairwise = metric_id == "pairwise_accuracy"
    right = ratio(*within.pairwise_right(study)[1:]) if pairwise else study.right(_BLOCKS[metric_id])
    by_question = ratio(*view.thirds(right))
    return defined_mean(np.where(np.isnan(by_question).any(axis=1, keepdims=True), np.nan, by_question), axis=2)


def _steps(view: View, use: str, means: Floats, drills: Sequence[Drill] = ()) -> list[list[Cell]]:
    """Later minus earlier third of (conversations, thirds, columns), tested together: a list for each transition."""
    earlier, later = (means[:, list(ends)] for ends in zip(*_STEPS.values(), strict=True))
    return within.in_rows(view.paired(f"turn-drift/{use}", later, earlier, [*drills] * 3 or None), means.shape[2])


def _by_model(view: View, drift: _Drift) -> Table:
    """A metric's thirds and transitions, model by model."""
    metric_id, control = drift.metric_id, "tagged turns" if drift.metric_id in _TAGGED else "same questions"
    label, unit = label_of(metric_id), unit_of(metric_id)
    pooled = view.third_rates(drift.sums, drift.counts, metric_id)
    same = _steps(view, f"{metric_id}/same", drift.same)[2]
    turns_of = ", ".join(f"{int(drift.counts[:, i].sum(axis=0).max()):,} {name}" for i, name in enumerate(pooled))
    how = view.how("transition", [cell for step in drift.steps for cell in step])
    return table(
        metric_id,
        f"{label} by third",
        words("model", view.labels),
        counts("n", (drift.counts.sum(axis=1) > 0).sum(axis=0), "conversations"),
        *(
            column(name, cells, name, unit, f"Mean over all turns of the {name} third.", better=better(metric_id))
            for name, cells in pooled.items()
        ),
        *(
            column(step.replace(" → ", "_"), cells, step, unit, "Later minus earlier, by means per conversation.")
            for step, cells in zip(_STEPS, drift.steps, strict=True)
        ),
        column(
            "same", same, f"early → late, {control}", unit, "The same difference with this control, tested separately."
        ),
        caption=f"{view.sample}; conversations of three or more turns: {turns_of} turns. {how}",
        chart=Chart(
            *("lines", "model", within.THIRDS, f"{label} by third", f"{label} (mean over turns)"),
            lines=levels(view.study, metric_id),
        ),
    )


def _summary(view: View, drifts: Sequence[_Drift]) -> tuple[Table, str]:
    """Each metric and transition over all models, the mean over models being tested; and which are significant."""
    plain = [mean_over_models(ratio(drift.sums, drift.counts)) for drift in drifts]
    # By metric and then by transition, from cells that come by transition and then by metric.
    cells, same = (
        [cell for of_metric in zip(*_steps(view, use, np.stack(means, axis=2)), strict=True) for cell in of_metric]
        for use, means in (("means", plain), ("same", [mean_over_models(drift.same) for drift in drifts]))
    )
    of_models = [[cell for cell in step if cell.value is not None] for drift in drifts for step in drift.steps]
    labels, steps = [label_of(drift.metric_id) for drift in drifts for _ in _STEPS], [*_STEPS] * len(drifts)
    falling = [f"{sum(value_of(cell) < 0 for cell in step)} of {len(step)}" for step in of_models]
    apart = [sum(claimed(cell, view.settings) for cell in step) for step in of_models]
    pooled = [_pooled(view, drift, step) for drift in drifts for step in _STEPS.values()]
    control = "Over questions asked in all three thirds; emotions: tagged turns."
    made = table(
        "summary",
        "All models",
        words("metric", labels),
        words("step", steps, "from → to"),
        counts("n", [cell.n for cell in cells], "conversations"),
        words("falling", falling, "models that fall", "Models whose mean change is negative."),
        counts("apart", apart, "significant", "Models whose change is significant after correction."),
        column(
            "pooled",
            pooled,
            "over all turns",
            "share",
            "Later minus earlier, by means over all turns; mean over models.",
        ),
        column("paired", cells, "per conversation", "share", "Later minus earlier, by means per conversation."),
        column("same", same, "same questions", "share", control),
        caption=f"{view.turns_sample}. Thirds are ⌊3(k − 1)/T⌋ for turn k of T ≥ 3. {view.how('transition', cells)}",
        chart=Chart(
            *("intervals", "metric", ("paired",), "Later minus earlier third, all models"),
            axis="difference within conversations",
            lines=NO_DIFFERENCE,
            across="step",
        ),
    )
    return made, view.claims(map(" ".join, zip(labels, steps, strict=True)), cells, "between thirds")


def _pooled(view: View, drift: _Drift, step: tuple[int, int]) -> Cell:
    """The later minus the earlier mean over all turns, mean over models, with its interval."""
    kept = (drift.counts[:, step].sum(axis=0) > 0).all(axis=0)
    if not kept.any():
        return Cell(None)

    def change(*sums: Floats) -> Floats:
        earlier, later = (ratio(*sums[start : start + 2]).mean(axis=-1, keepdims=True) for start in (0, 2))
        return np.asarray(later - earlier)

    parts = [part[:, third, kept] for third in step for part in (drift.sums, drift.counts)]
    return view.functions(change, parts, drift.counts[:, step][..., kept].sum(axis=(1, 2)))[0]
