"""The Composite by other formulas that a reader may have in mind: do values, and the ranks of models, depend on them?

Recomputes the Composite of each conversation from its metrics; the published formula is `metrics.composite`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from attunebench.analyses.base import CANONICAL, Settings, Subject, best_first, models_of
from attunebench.analyses.sampling import Sampling, cells_of, mean_of
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, column, counts, known, ranks, table, words
from attunebench.analyses.verdicts import comparability, counted, judges_text, sample_text
from attunebench.metrics.composite import PILLAR_WEIGHTS, composite
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.correlation import rank_correlations
from attunebench.statistics.ranks import rank_stability

_HOLISTIC = "holistic_comprehension"
_TERMS = (*CANONICAL, "q3_follow_up_asked", "draft_judge", *PILLAR_WEIGHTS, "composite")
Values = Mapping[str, Floats]
"""Metric or variant → values (conversations, models)."""


def _asked_only(values: Values) -> Floats:
    """The follow-up counts only where something felt off; elsewhere the other three questions stand alone."""

    def one(*row: float) -> float:
        terms = dict(zip(values, map(known, row), strict=True))
        # The pillar as stored says whether 0.5 was taken for a PANAS that did not change.
        taken, stored = composite(terms, nothing_moved=True).values[_HOLISTIC], terms[_HOLISTIC]
        unmoved = taken is not None and stored is not None and math.isclose(taken, stored, abs_tol=1e-9)
        terms["q3_follow_up"] = terms["q3_follow_up_asked"]
        whole = composite(terms, nothing_moved=unmoved).values["composite"]
        return np.nan if whole is None else whole

    return np.asarray(np.vectorize(one, otypes=[float])(*values.values()))


def _with_judge(values: Values) -> Floats:
    """Undefined where no judge rated."""
    binary = mean_of([values["binary_om_accuracy"], values["binary_hp_accuracy"]])
    quality = mean_of([binary, values["pairwise_accuracy"], values["draft_judge"]])
    pillars = {**values, "evaluation_quality": np.where(np.isnan(values["draft_judge"]), np.nan, quality)}
    return np.asarray(100 * sum(weight * pillars[pillar] for pillar, weight in PILLAR_WEIGHTS.items()))


class Variant(NamedTuple):
    """A formula of the Composite: its name in tables, what it says, and its value from the metrics."""

    id: str
    label: str
    formula: str
    value: Callable[[Values], Floats]


VARIANTS = (
    Variant("published", "24·ET + 49·EQ + 27·HC", "As published.", lambda values: values["composite"]),
    Variant(
        "asked",
        "24·ET + 49·EQ + 27·HC, follow-up only where asked",
        "The mean of the four questions in HC excludes the follow-up where nothing felt off.",
        _asked_only,
    ),
    Variant(
        "equal",
        "100·(ET + EQ + HC)/3",
        "The three pillars with equal weights.",
        lambda values: np.asarray(100 * (sum(values[pillar] for pillar in PILLAR_WEIGHTS) / len(PILLAR_WEIGHTS))),
    ),
    Variant(
        "judge",
        "24·ET + 49·mean(binary, pairwise, draft judge) + 27·HC",
        "The draft judge as a third equal term of EQ, over the conversations with a judged draft.",
        _with_judge,
    ),
)


class _Compared(NamedTuple):
    """A variant beside the published formula, over the models that have it and the conversations in which all of them
    have both. `moved`: model → ranks gained, of those whose rank differs, the largest change first."""

    variant: Variant
    study: ScoreTable
    rho: Cell
    moved: Mapping[str, int]
    table: Table | None


def analyse(subject: Subject) -> Analysis:
    """An overview of the variants, and a table of each beside the published formula over the same conversations."""
    study, settings = models_of(subject, least=1), subject.settings
    values = variant_values(study)
    if not values:
        raise Missing("The Composite is not defined for any conversation.")
    compared = [_compare(study, variant, values, settings) for variant in VARIANTS if variant.id in values]
    judged = "judge" in values
    return Analysis(
        tables=(_overview(compared), *(one.table for one in compared[1:] if one.table)),
        shows=_shows(compared[1:]),
        cannot="Each formula is a choice of weights; scores do not show which one is right. A changed rank shows that "
        "models are close, not that a formula is wrong.",
        warnings=comparability(study, ("composite", *(("draft_judge",) if judged else ()))),
        notes=(
            "ET emotion_tracking, EQ evaluation_quality, HC holistic_comprehension, each from 0 to 1.",
            "The published README excludes the draft judge from the Composite, and so does `composite`; one published "
            "figure implies that it was once included.",
            judges_text(study)
            if judged
            else "The variant with the draft judge is not shown, because no draft was judged.",
        ),
    )


def variant_values(study: ScoreTable) -> dict[str, Floats]:
    """Variant → the Composite by it, (conversations, models), of those variants that have any value."""
    metrics = {metric_id: study.values(metric_id) for metric_id in _TERMS}
    values = {variant.id: variant.value(metrics) for variant in VARIANTS}
    return {name: found for name, found in values.items() if not np.isnan(found).all()}


def _compare(study: ScoreTable, variant: Variant, values: Values, settings: Settings) -> _Compared:
    """Models without any value of the variant are left out, and so are conversations that not all others have."""
    models = np.flatnonzero(~np.isnan(values[variant.id]).all(axis=0))
    sides = [values[name][:, models] for name in ("published", variant.id)]
    rows = np.flatnonzero(~np.isnan(sides[0] + sides[1]).any(axis=1))
    part = study.with_groups([study.groups[i] for i in models]).with_conversations([study.ids[row] for row in rows])
    if not len(rows):
        return _Compared(variant, part, Cell(None), {}, None)
    before, after = (side[rows] for side in sides)
    sampling = Sampling.of(part, settings)
    small, (shift, low, high) = bool(sampling.small(before)[0]), sampling.rank_shifts(before, after)
    stable = [rank_stability(side, sampling.resampling) for side in (before, after)]
    ranked = [cells_of(one.rank, one.low, one.high, small=small) for one in stable]
    value, difference = sampling.cells(after), sampling.cells(after - before, flag=False)
    made = table(
        variant.id,
        variant.label,
        words("model", part.labels),
        column(
            "published", sampling.cells(before), VARIANTS[0].label, "points", "As published.", better=True, digits=1
        ),
        column("value", value, "variant", "points", variant.formula, better=True, digits=1),
        column("difference", difference, "variant − published", "points", "Paired.", digits=2),
        ranks("rank_published", ranked[0], "rank, published"),
        ranks("rank", ranked[1], "rank, variant"),
        column("shift", cells_of(shift, low, high, small=small), meaning="Ranks gained; negative: lost.", digits=0),
        order=best_first(value),
        caption=f"{variant.formula} {sample_text(part)}, scored for {counted(len(models), 'model')}. "
        "Intervals of ranks and shifts are ranges over resamples and do not test a "
        "difference.",
        chart=Chart("dumbbells", "model", ("published", "value"), variant.label, "points of 100"),
    )
    means = np.stack([before.mean(axis=0), after.mean(axis=0)])
    rho = known(rank_correlations(means[None])[0, 0, 1]) if len(models) > 2 else None
    moved = {part.labels[i]: int(shift[i]) for i in np.argsort(-np.abs(shift), kind="stable") if shift[i]}
    return _Compared(variant, part, Cell(rho, small=small), moved, made)


def _shows(compared: list[_Compared]) -> str:
    """How many models change rank by each formula, and which of them moves farthest."""
    parts, farthest = [], list[tuple[int, str]]()
    for one in compared:
        models = counted(len(one.study.groups), "model")
        parts.append(f"{len(one.moved)} of {models} by {one.variant.label}" if one.study.ids else "")
        farthest += [(abs(shift), f"{name} {shift:+d}") for name, shift in list(one.moved.items())[:1]]
    if not any(parts):
        return "No conversation has a value by another formula for all models."
    most = max(farthest, default=(0, ""))[1]
    return f"Models that change rank: {'; '.join(filter(None, parts))}.{most and f' Largest change: {most}.'}"


def _overview(compared: list[_Compared]) -> Table:
    moved = [[abs(shift) for shift in one.moved.values()] if one.table else None for one in compared]
    return table(
        "variants",
        "Variants and their rankings",
        words("variant", [one.variant.label for one in compared]),
        words("formula", [one.variant.formula for one in compared], ""),
        counts("n", [Cell(len(one.study.ids), small=one.rho.small) for one in compared], "conversations"),
        counts("models", [len(one.study.groups) for one in compared], "", "Models for which the variant is defined."),
        column("rho", [one.rho for one in compared], "ρ with published", meaning="Spearman's, over models.", digits=2),
        counts(
            "moved", [None if of is None else len(of) for of in moved], "rank changes", "Models with a different rank."
        ),
        counts("largest", [None if of is None else max(of, default=0) for of in moved], "largest change", "In ranks."),
        caption="Each variant beside the published formula, over the same conversations.",
        chart=Chart("bars", "variant", ("moved", "largest"), "Changes of rank against the published formula"),
    )
