"""The Composite by other formulas that a reader may have in mind: do values, and the ranks of models, depend on them?

Recomputes the Composite of each conversation from its metrics; the published formula is `metrics.composite`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.metrics.composite import PILLAR_WEIGHTS, composite
from attunebench.metrics.means import mean_defined, weighted_mean
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import (
    Floats,
    mean_as_ratio,
    percentile_interval,
    resampled_ratios,
    sum_by_cluster,
)
from attunebench.statistics.correlation import rank_correlations
from attunebench.statistics.ranks import competition_ranks, rank_stability

_NAME = "composite-variants"
_HOLISTIC = "holistic_comprehension"
_TERMS = (
    *(metric_id for metric_id in common.CANONICAL),
    "q3_follow_up_asked",
    "draft_judge",
    *PILLAR_WEIGHTS,
    "composite",
)
Values = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class Variant:
    """A formula of the Composite: its name in tables, what it says, and its value from a conversation's metrics."""

    id: str
    label: str
    formula: str
    value: Callable[[Values], float | None]


def _published(values: Values) -> float | None:
    return values["composite"]


def _asked_only(values: Values) -> float | None:
    """The follow-up counts only where something felt off; elsewhere the other three questions stand alone."""
    return composite(
        {**values, "q3_follow_up": values["q3_follow_up_asked"]}, nothing_moved=_nothing_moved(values)
    ).values["composite"]


def _nothing_moved(values: Values) -> bool:
    """Whether the stored pillar has taken 0.5 for a PANAS that did not change: which of both reproduces it."""
    taken, stored = composite(values, nothing_moved=True).values[_HOLISTIC], values[_HOLISTIC]
    return taken is not None and stored is not None and math.isclose(taken, stored, abs_tol=1e-9)


def _equal_weights(values: Values) -> float | None:
    pillars = [values[pillar] for pillar in PILLAR_WEIGHTS]
    whole = None if None in pillars else mean_defined(pillars)
    return None if whole is None else 100 * whole


def _with_judge(values: Values) -> float | None:
    """The draft judge as a third equal term of evaluation quality; undefined where no judge rated."""
    if values["draft_judge"] is None:
        return None
    binary = mean_defined([values["binary_om_accuracy"], values["binary_hp_accuracy"]])
    quality = mean_defined([binary, values["pairwise_accuracy"], values["draft_judge"]])
    pillars = {**{pillar: values[pillar] for pillar in PILLAR_WEIGHTS}, "evaluation_quality": quality}
    if None in pillars.values():
        return None
    whole = weighted_mean([(weight, pillars[pillar]) for pillar, weight in PILLAR_WEIGHTS.items()])
    return None if whole is None else 100 * whole


VARIANTS = (
    Variant("published", "24·ET + 49·EQ + 27·HC", "As published.", _published),
    Variant(
        "asked",
        "24·ET + 49·EQ + 27·HC, follow-up only where asked",
        "The mean of the four questions in HC leaves the follow-up out where nothing felt off.",
        _asked_only,
    ),
    Variant("equal", "100·(ET + EQ + HC)/3", "The three pillars with equal weights.", _equal_weights),
    Variant(
        "judge",
        "24·ET + 49·mean(binary, pairwise, draft judge) + 27·HC",
        "The draft judge as a third equal term of EQ, over the conversations with a judged draft.",
        _with_judge,
    ),
)


def analyse(subject: Subject) -> Analysis:
    """An overview of the variants, and a table of each beside the published formula over the same conversations."""
    begun = common.begun(_NAME)
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    tables = variant_values(study)
    compared = {one.id: _Compared.of(study, one, tables, settings) for one in VARIANTS if one.id in tables}
    if not compared:
        return replace(begun, missing="The Composite is defined for no conversation that all models have.")
    judged = "judge" in tables
    return replace(
        begun,
        tables=(_overview(compared, settings), *(one.table(settings) for one in list(compared.values())[1:])),
        shows=" ".join(one.sentence() for one in list(compared.values())[1:]),
        cannot="Which formula is right: each is a choice of weights. A changed rank shows that the models are close, "
        "not that a formula is wrong.",
        warnings=common.comparability(study, ("composite", *(("draft_judge",) if judged else ()))),
        notes=(
            "ET emotion_tracking, EQ evaluation_quality, HC holistic_comprehension, each from 0 to 1.",
            "The published README leaves the draft judge out of the Composite, and so does `composite`; one published "
            "figure implies that it once entered.",
            common.small_text(settings),
            common.judges_text(study) if judged else "No draft was judged here, so the last variant has no value.",
        ),
    )


def variant_values(study: ScoreTable) -> dict[str, Floats]:
    """Variant → the Composite by it, (conversations, models), of those variants that have any value."""
    columns = {metric_id: study.values(metric_id) for metric_id in _TERMS}
    shape = columns["composite"].shape
    found = {}
    for variant in VARIANTS:
        table = np.full(shape, np.nan)
        for place in np.ndindex(shape):
            value = variant.value({name: known(column[place]) for name, column in columns.items()})
            table[place] = np.nan if value is None else value
        if not np.isnan(table).all():
            found[variant.id] = table
    return found


@dataclass(frozen=True)
class _Compared:
    """A variant beside the published formula, over the conversations in which every ranked model has both.

    `columns` are the positions of the ranked models: those that have the variant at all.
    """

    variant: Variant
    labels: tuple[str, ...]
    n: int
    small: bool
    sample: str
    published: list[Cell]
    value: list[Cell]
    difference: list[Cell]
    before: list[Cell]
    after: list[Cell]
    shift: list[Cell]

    @classmethod
    def of(cls, study: ScoreTable, variant: Variant, tables: Mapping[str, Floats], settings: Settings) -> _Compared:
        """Models without any value of the variant are left out, and so are conversations that not all others have."""
        there = ~np.isnan(tables[variant.id]).all(axis=0)
        columns = np.flatnonzero(there)
        rows = np.flatnonzero(~np.isnan(tables[variant.id][:, columns] + tables["published"][:, columns]).any(axis=1))
        part = study.with_conversations([study.ids[row] for row in rows])
        labels = tuple(study.labels[column] for column in columns)
        small = len(rows) < settings.small or len(np.unique(part.clusters)) < 2
        if not len(rows):
            nothing = [Cell(None) for _ in labels]
            return cls(variant, labels, 0, small, common.sample_text(part), *([nothing] * 6))
        sampling = Sampling.of(part, settings)
        before, after = (tables[name][np.ix_(rows, columns)] for name in ("published", variant.id))
        return cls(
            variant,
            labels,
            len(rows),
            small,
            common.sample_text(part),
            sampling.cells(before),
            sampling.cells(after),
            sampling.cells(after - before, flag=False),
            _ranks(before, sampling, small=small),
            _ranks(after, sampling, small=small),
            _shifts(before, after, sampling, small=small),
        )

    def table(self, settings: Settings) -> Table:
        """A row for each model, in the order of the variant."""
        order = common.by_value(np.array([common.value_of(cell) for cell in self.value]))
        rows = tuple(
            (
                text(self.labels[i]),
                *(
                    part[i]
                    for part in (self.published, self.value, self.difference, self.before, self.after, self.shift)
                ),
            )
            for i in order
        )
        return Table(
            self.variant.id,
            self.variant.label,
            (
                Column("model", "model", "text"),
                Column("published", VARIANTS[0].label, "points", "As published, same conversations.", True, 1),
                Column("value", "variant", "points", self.variant.formula, True, 1),
                Column("difference", "variant − published", "points", "Paired over the conversations.", None, 2),
                Column("rank_published", "rank, published", "rank", "Rank by the published formula.", False),
                Column("rank", "rank, variant", "rank", "Rank by the variant.", False),
                Column("shift", "shift", "number", "Ranks gained under the variant; negative: lost.", None, 0),
            ),
            rows,
            caption=f"{self.variant.formula} {self.sample} that {common.counted(len(self.labels), 'model')} "
            f"{'has' if len(self.labels) == 1 else 'have'}. "
            f"{common.intervals_text(settings)}. Intervals of ranks and shifts are ranges over "
            "resamples, not tests.",
            chart=Chart("dumbbells", "model", ("published", "value"), self.variant.label, "points of 100"),
        )

    def moved(self) -> list[tuple[str, int]]:
        """Models whose rank differs, with the ranks gained; the largest shift first."""
        shifts = [(label, common.value_of(cell)) for label, cell in zip(self.labels, self.shift, strict=True)]
        return sorted([(label, int(s)) for label, s in shifts if s and not np.isnan(s)], key=lambda item: -abs(item[1]))

    def sentence(self) -> str:
        """How many models change places, and by how much."""
        head = f"{self.variant.label} ({common.counted(self.n, 'conversation')}): "
        if not self.n:
            return f"{head}no conversation has a value for all of {common.counted(len(self.labels), 'model')}."
        if len(self.labels) < 2:
            value, before = self.value[0], self.published[0]
            return f"{head}{common.with_interval(value, 1)} against {common.with_interval(before, 1)} as published."
        moved = self.moved()
        if not moved:
            return f"{head}no rank changes."
        named = common.listed([f"{label} {shift:+d}" for label, shift in moved])
        return f"{head}{len(moved)} of {len(self.labels)} ranks change ({named})."


def _ranks(values: Floats, sampling: Sampling, *, small: bool) -> list[Cell]:
    found = rank_stability(values, sampling.weights, clusters=sampling.clusters, level=sampling.settings.level)
    return [
        Cell(known(r), known(a), known(b), small=small)
        for r, a, b in zip(found.rank, found.low, found.high, strict=True)
    ]


def _shifts(before: Floats, after: Floats, sampling: Sampling, *, small: bool) -> list[Cell]:
    above, below = mean_as_ratio(np.concatenate([before, after], axis=1))
    if sampling.clusters is not None:
        above, below = sum_by_cluster(above, sampling.clusters), sum_by_cluster(below, sampling.clusters)
    count = before.shape[1]
    drawn = resampled_ratios(sampling.weights, above, below)
    low, high = percentile_interval(
        competition_ranks(drawn[:, :count]) - competition_ranks(drawn[:, count:]),
        sampling.settings.level,
        keep_constant=True,
    )
    shift = competition_ranks(before.mean(axis=0)) - competition_ranks(after.mean(axis=0))
    if len(above) < 2:
        low = high = np.full(count, np.nan)
    return [Cell(known(s), known(a), known(b), small=small) for s, a, b in zip(shift, low, high, strict=True)]


def _overview(compared: Mapping[str, _Compared], settings: Settings) -> Table:
    rows = []
    for one in compared.values():
        means = np.array([[common.value_of(cell) for cell in side] for side in (one.published, one.value)])
        rho = rank_correlations(means[None])[0, 0, 1] if means.shape[1] > 2 else np.nan
        moved = one.moved()
        rows.append(
            (
                text(one.variant.label),
                text(one.variant.formula),
                Cell(one.n, small=one.small and one.n > 0),
                Cell(len(one.labels)),
                Cell(known(rho), small=one.small),
                Cell(len(moved) if one.n else None),
                Cell(abs(moved[0][1]) if moved else 0 if one.n else None),
            )
        )
    return Table(
        "variants",
        "The variants and their ranking",
        (
            Column("variant", "variant", "text"),
            Column("formula", "what it is", "text"),
            Column("n", "conversations", "count", "Those in which every ranked model has it."),
            Column("models", "models", "count", "Models that have it."),
            Column("rho", "ρ with published", "number", "Spearman's ρ of both rankings over models.", None, 2),
            Column("moved", "ranks that change", "count", "Models with another rank than by the published formula."),
            Column("largest", "largest change", "count", "In ranks."),
        ),
        tuple(rows),
        caption=f"Each variant beside the published formula, over the same conversations. The tables below resample "
        f"{settings.units} {settings.resamples:,} times.",
    )
