"""Turn drift: whether answers get better or worse from the early over the middle to the late third of a talk.

Looks at talks of three turns and more. A difference is of each conversation's means in two thirds, so that long and
hard talks tip nothing; over the same questions only, so that a change of what is asked does not either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, text
from attunebench.analyses.testing import reach_text
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

METRICS = ("binary_om_accuracy", "binary_hp_accuracy", "emotion_va", "emotion_f1", "pairwise_accuracy")
THIRDS = ("early", "middle", "late")
TRANSITIONS = ((0, 1), (1, 2), (0, 2))
_TAGGED = {"emotion_va": "emotion_va_tagged", "emotion_f1": "emotion_f1_tagged"}
_NAME = "turn-drift"


def analyse(subject: Subject) -> Analysis:
    """Means by third, pooled and per conversation, and all three transitions, per metric and model."""
    begun = common.begun(_NAME)
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    if not any(turn.third is not None for turn in study.turns):
        return replace(begun, missing="No conversation has three turns, so there is no early, middle and late third.")
    metrics = [m for m in common.wanted_metrics(settings, METRICS) if REGISTRY[m].level == "turn"]
    drifts = [drift for m in metrics if not np.isnan((drift := _Drift.of(study, m)).means).all()]
    if not drifts:
        return replace(begun, missing="None of the metrics asked for is defined turn by turn here.")
    sampling = Sampling.of(study, settings)
    single = [_Single(study, drift, sampling) for drift in drifts]
    summary, pooled = _summary(study, drifts, single, sampling)
    return replace(
        begun,
        tables=(summary, *(one.table() for one in single)),
        shows=_shows(drifts, single, pooled, settings),
        cannot="A person says and feels other things late in a talk than early, and labels may become easier or harder "
        "with them; the same questions (or tagged turns alone) keep what is asked, not what is said. Thirds of a short "
        "talk are a turn or two.",
        warnings=reach_text(np.full(len(TRANSITIONS) * len(study.groups), sampling.least), settings),
        notes=(common.small_text(settings),),
    )


@dataclass(frozen=True)
class _Drift:
    """One metric by third. `pooled`: sums and numbers over turns, `means` and `same` (under control) per conversation:
    each (conversations, thirds, models)."""

    metric_id: str
    sums: Floats
    counts: Floats
    same: Floats

    @classmethod
    def of(cls, study: ScoreTable, metric_id: str) -> _Drift:
        sums, counts = _by_third(study, study.turn_values(metric_id))
        return cls(metric_id, sums, counts, _controlled(study, metric_id, sums.shape))

    @property
    def means(self) -> Floats:
        return within.ratio(self.sums, self.counts)

    @property
    def label(self) -> str:
        return common.label_of(self.metric_id)

    def mean_of(self, third: int) -> float:
        """Mean over conversations of the mean over models in a third."""
        return float(within.column_means(common.mean_over_models(self.means[:, third])[:, None])[0])

    @property
    def control(self) -> str:
        return "tagged turns" if self.metric_id in _TAGGED else "same questions"


def _by_third(study: ScoreTable, table: Floats) -> tuple[Floats, Floats]:
    """Sums and numbers of (turns, …) by conversation and third: (conversations, thirds, …)."""
    used = [(row, turn) for row, turn in enumerate(study.turns) if turn.third is not None]
    rows = np.array([row for row, _ in used], dtype=np.intp)
    places = (
        np.array([turn.conversation for _, turn in used], dtype=np.intp),
        np.array([turn.third for _, turn in used], dtype=np.intp),
    )
    sums, counts = (np.zeros((len(study.ids), 3, *table.shape[1:])) for _ in range(2))
    chosen = table[rows]
    defined = ~np.isnan(chosen)
    np.add.at(sums, places, np.where(defined, chosen, 0.0))
    np.add.at(counts, places, defined)
    return sums, counts


def _controlled(study: ScoreTable, metric_id: str, shape: tuple[int, ...]) -> Floats:
    """Means per conversation and third over what is asked in all three thirds of the conversation alone."""
    if metric_id in _TAGGED:
        return within.ratio(*_by_third(study, study.turn_values(_TAGGED[metric_id])))
    if metric_id in ("binary_om_accuracy", "binary_hp_accuracy"):
        right = study.right("binary_om" if metric_id == "binary_om_accuracy" else "binary_hp")
    elif metric_id == "pairwise_accuracy":
        _, sums, counts = within.pairwise_right(study)
        right = within.ratio(sums, counts)
    else:
        return np.full(shape, np.nan)
    per_question = within.ratio(*_by_third(study, right))
    kept = np.where(np.isnan(per_question).any(axis=1, keepdims=True), np.nan, per_question)
    defined = ~np.isnan(kept)
    return within.ratio(np.where(defined, kept, 0.0).sum(axis=2), defined.sum(axis=2).astype(np.float64))


class _Single:
    """One metric, model by model."""

    def __init__(self, study: ScoreTable, drift: _Drift, sampling: Sampling):
        self.study, self.drift, self.sampling = study, drift, sampling
        self.transitions = self._tested(drift.means, "")
        self.same = self._tested(drift.same, "/same")

    def _tested(self, means: Floats, name: str) -> list[list[Cell]]:
        """A cell for each transition and model, corrected over all of them."""
        later, earlier = (np.concatenate([means[:, step[end]] for step in TRANSITIONS], axis=1) for end in (1, 0))
        tests = self.sampling.tests(f"{_NAME}/{self.drift.metric_id}{name}", later, earlier)
        corrected = common.corrected_p(tests, self.sampling.settings)
        cells = self.sampling.difference_cells(tests, corrected, later, earlier)
        count = len(self.study.groups)
        return [cells[i * count : (i + 1) * count] for i in range(len(TRANSITIONS))]

    def falling(self, step: int) -> tuple[int, int, int]:
        """How many models fall in a transition, of how many, and how many of all are told from no change."""
        cells = [cell for cell in self.transitions[step] if cell.value is not None]
        down = sum(common.value_of(cell) < 0 for cell in cells)
        return down, len(cells), sum(common.claimed(cell, self.sampling.settings) for cell in cells)

    def table(self) -> Table:
        drift, study = self.drift, self.study
        thirds = [self._pooled(third) for third in range(3)]
        turns = [drift.counts[:, third].sum(axis=0) for third in range(3)]
        conversations = (drift.counts.sum(axis=1) > 0).sum(axis=0)
        rows = tuple(
            (
                text(group.label),
                Cell(int(conversations[i])),
                *(thirds[third][i] for third in range(3)),
                *(replace(cells[i], drill=common.drill_to(group, drift.metric_id)) for cells in self.transitions),
                self.same[2][i],
            )
            for i, group in enumerate(study.groups)
        )
        most = [int(count.max(initial=0)) for count in turns]
        settings = self.sampling.settings
        tested = common.correction_text(settings, f"{3 * len(study.groups)} transitions of models")
        shared = common.unit_of(drift.metric_id)
        better = common.better(drift.metric_id)
        return Table(
            drift.metric_id,
            f"{drift.label} by third",
            (
                Column("model", "model", "text"),
                Column("n", "conversations", "count"),
                *(Column(name, name, shared, f"Mean over all turns of the {name} third.", better) for name in THIRDS),
                *(
                    Column(_step_id(step), _step(step), shared, "Later minus earlier, means of each conversation.")
                    for step in TRANSITIONS
                ),
                Column("same", f"early → late, {drift.control}", shared, "The same difference under this control."),
            ),
            rows,
            caption=f"Talks of three turns and more: {_turn_counts(most)}. {common.intervals_text(settings)}; "
            f"{tested}, those over {drift.control} likewise.",
            chart=Chart("lines", "model", THIRDS, f"{drift.label} over the talk", f"{drift.label} (mean over turns)"),
        )

    def _pooled(self, third: int) -> list[Cell]:
        study, metric_id = self.study, self.drift.metric_id
        rows = within.turns_of(study, (r for r, turn in enumerate(study.turns) if turn.third == third))
        return within.rate_cells(
            self.sampling,
            self.drift.sums[:, third],
            self.drift.counts[:, third],
            [Drill(group=group.key, metric=metric_id, turns=rows) for group in study.groups],
        )


def _summary(
    study: ScoreTable, drifts: Sequence[_Drift], single: Sequence[_Single], sampling: Sampling
) -> tuple[Table, list[list[Cell]]]:
    """Each metric and transition over all models; and those cells, by metric and transition."""
    settings = sampling.settings
    tested = [_over_models(drifts, under, sampling) for under in ("means", "same")]
    rows = []
    for m, drift in enumerate(drifts):
        for t, step in enumerate(TRANSITIONS):
            down, of, apart = single[m].falling(t)
            rows.append(
                (
                    text(drift.label),
                    text(_step(step)),
                    Cell(tested[0][m][t].n),
                    text(f"{down} of {of}"),
                    Cell(apart),
                    _pooled_difference(drift, step, sampling),
                    tested[0][m][t],
                    tested[1][m][t],
                )
            )
    table = Table(
        "summary",
        "All models",
        (
            Column("metric", "metric", "text"),
            Column("step", "from → to", "text"),
            Column("n", "conversations", "count"),
            Column("falling", "models that fall", "text", "Models whose conversations fall on average."),
            Column("apart", "told apart", "count", "Models whose rise or fall stands after correction."),
            Column("pooled", "over all turns", "share", "Later minus earlier mean of all turns, mean over models."),
            Column("paired", "per conversation", "share", "Later minus earlier mean of each conversation."),
            Column(
                "same", "same questions", "share", "Over questions asked in all three thirds; emotions: tagged turns."
            ),
        ),
        tuple(rows),
        caption=f"{within.mark_text(study)}; mean over {common.counted(len(study.groups), 'model')}. Thirds are "
        "⌊3(k − 1)/T⌋ for turn k of T ≥ 3. "
        f"{common.intervals_text(settings)}; {common.correction_text(settings, f'{3 * len(drifts)} transitions')}.",
    )
    return table, tested[0]


def _over_models(drifts: Sequence[_Drift], under: str, sampling: Sampling) -> list[list[Cell]]:
    means = [np.stack([common.mean_over_models(getattr(d, under)[:, t]) for t in range(3)], axis=1) for d in drifts]
    later, earlier = (
        np.stack([mean[:, step[end]] for mean in means for step in TRANSITIONS], axis=1) for end in (1, 0)
    )
    tests = sampling.tests(f"{_NAME}/{under}", later, earlier)
    cells = sampling.difference_cells(tests, common.corrected_p(tests, sampling.settings), later, earlier)
    return [cells[3 * i : 3 * i + 3] for i in range(len(drifts))]


def _pooled_difference(drift: _Drift, step: tuple[int, int], sampling: Sampling) -> Cell:
    """The later minus the earlier mean over all turns, mean over models, with its interval."""
    ends = [(drift.sums[:, third], drift.counts[:, third]) for third in step]
    kept = (ends[0][1].sum(axis=0) > 0) & (ends[1][1].sum(axis=0) > 0)
    if not kept.any():
        return Cell(None)
    values = [within.ratio(s[:, kept].sum(axis=0), c[:, kept].sum(axis=0)).mean() for s, c in ends]
    drawn = within.resampled_sums(sampling, np.concatenate([part[:, kept] for end in ends for part in end], axis=1))
    sums = np.split(drawn, 4, axis=1)
    samples = [within.ratio(*sums[:2]).mean(axis=1), within.ratio(*sums[2:]).mean(axis=1)]
    support = (ends[0][1] + ends[1][1]).sum(axis=1, keepdims=True)
    return within.function_cells(
        sampling, np.array([values[1] - values[0]]), (samples[1] - samples[0])[:, None], support
    )[0]


def _step(step: tuple[int, int]) -> str:
    return f"{THIRDS[step[0]]} → {THIRDS[step[1]]}"


def _step_id(step: tuple[int, int]) -> str:
    return f"{THIRDS[step[0]]}_{THIRDS[step[1]]}"


def _turn_counts(turns: Sequence[int]) -> str:
    return ", ".join(f"{count:,} {name}" for count, name in zip(turns, THIRDS, strict=True)) + " turns"


def _shows(
    drifts: Sequence[_Drift],
    single: Sequence[_Single],
    pooled: Sequence[Sequence[Cell]],
    settings: Settings,
) -> str:
    said, silent = [], []
    for drift, one, cells in zip(drifts, single, pooled, strict=True):
        if all(cell.small or cell.value is None for cell in cells):
            continue
        shape = _shape(cells, settings)
        if not shape:
            silent.append(drift.label)
            continue
        value = [common.with_interval(cell, sign=True) for cell in cells]
        down, of, _ = one.falling(2)
        models = f"{down if common.value_of(cells[2]) < 0 else of - down} of {common.counted(of, 'model')}"
        if shape in ("falls", "rises"):
            ends = " → ".join(common.number(drift.mean_of(third)) for third in (0, 2))
            said.append(f"{drift.label} {shape} from early to late by {value[2]} ({ends}), in {models}.")
        else:
            said.append(f"{drift.label} {shape} (early to middle {value[0]}, middle to late {value[1]}).")
    if silent:
        said.append(f"No drift is shown on {common.listed(silent)}.")
    return " ".join(said) or "There are too few conversations of three turns for a claim."


def _shape(cells: Sequence[Cell], settings: Settings) -> str:
    """How a metric goes over the thirds, as far as it can be claimed."""
    signs = [int(np.sign(common.value_of(cell))) if common.claimed(cell, settings) else 0 for cell in cells]
    if signs[0] * signs[1] < 0:
        return "peaks in the middle third" if signs[0] > 0 else "is lowest in the middle third"
    if signs[2]:
        return "falls" if signs[2] < 0 else "rises"
    if signs[0]:
        return "falls after the early third" if signs[0] < 0 else "rises after the early third"
    if signs[1]:
        return "falls in the late third" if signs[1] < 0 else "rises in the late third"
    return ""
