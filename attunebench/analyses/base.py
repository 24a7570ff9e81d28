"""What every analysis shares: its settings, whom it looks at, and how metrics are named and written."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attunebench.analyses.table import Cell, Drill, Filled, Missing, Role, Unit, column
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.scores import BASE_RATE
from attunebench.scores.checks import group_key
from attunebench.scores.compatibility import several_scales
from attunebench.scores.references import standing
from attunebench.scores.table import Group, ReferenceValues, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.multiple import Correction

PRIMARY = "default"
NOTHING_SCORED = "These scores contain no model. Run `attune-bench score` on results of a model."
SMALL = 20
"""Under this many conversations a subgroup gets a warning and no claim (spec 07)."""
_UNITS: Mapping[str, Unit] = {"share": "share", "points": "points"}
QUANTILES = {"lowest": 0.0, "quarter": 0.25, "median": 0.5, "three_quarters": 0.75, "highest": 1.0}
ROLES: Mapping[str, Role] = {"person": "person", "all models": "all models"}
"""Rows of charts that are no model's."""
NO_DIFFERENCE, NO_CORRELATION = {"no difference": 0.0}, {"no correlation": 0.0}
"""References of charts."""
CANONICAL = tuple(card.id for card in REGISTRY.values() if card.status == "canonical" and card.group != "pillar")
"""The metrics that enter the Composite, in the order of the registry."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How an analysis is made. `mode` None: every mode, each for itself, where the analysis can, else the primary one.

    `correction` is over all tests of a table. `by_participant` makes the participant the unit of resampling.
    """

    mode: str | None = None
    metrics: tuple[str, ...] = ()
    seed: int = 0
    resamples: int = 10_000
    level: float = 0.95
    alpha: float = 0.05
    power: float = 0.80
    correction: Correction = "holm"
    by_participant: bool = False
    baselines: bool = False
    small: int = SMALL
    threshold: float = 0.5
    """Set beforehand: capabilities count as independent below this |ρ|."""

    @property
    def units(self) -> str:
        """What is resampled and permuted, in a word."""
        return "participants" if self.by_participant else "conversations"

    @property
    def of_tests(self) -> dict[str, Any]:
        """What tests of `statistics` take of these."""
        return {name: getattr(self, name) for name in ("resamples", "level", "alpha", "power")}

    def rng(self, name: str) -> np.random.Generator:
        """A generator of its own for each use, so that no table depends on which others are made."""
        return np.random.default_rng([self.seed, *name.encode()])


@dataclass(frozen=True, slots=True)
class Subject:
    """What an analysis is given: the study, the same results under other labels or settings, and how. `arena`:
    ratings of the authors in an arena, the first that cover the models count, each with who judged."""

    study: ScoreTable
    settings: Settings
    others: Sequence[ScoreTable] = ()
    arena: Sequence[tuple[str, Mapping[str, float]]] = ()


# Whom to look at


def primary_mode(study: ScoreTable) -> str:
    """The mode of the benchmark: "default" if there, else the first."""
    return PRIMARY if PRIMARY in study.modes else next(iter(study.modes), PRIMARY)


def mode_of(subject: Subject) -> str:
    """The one mode that an analysis looks at."""
    return subject.settings.mode or primary_mode(subject.study)


def models_of(subject: Subject, *, least: int = 0) -> ScoreTable:
    """The models of that mode, with the conversations that one of them has. Missing where there are under `least`."""
    study = in_mode(subject.study, mode_of(subject), subject.settings)
    if len(study.groups) < least:
        raise Missing(
            NOTHING_SCORED
            if least == 1
            else f"At least {least} models are required; these scores contain {len(study.groups)}."
        )
    return study


def in_mode(study: ScoreTable, mode: str, settings: Settings) -> ScoreTable:
    """The models of a mode, with the conversations that at least one of them has."""
    chosen = study.models(baselines=settings.baselines)
    chosen = chosen.with_groups([group for group in chosen.groups if group.mode == mode])
    scored = np.flatnonzero(chosen.scored().any(axis=1))
    return chosen.with_conversations([chosen.ids[row] for row in scored])


def wanted_metrics(settings: Settings, otherwise: Sequence[str]) -> tuple[str, ...]:
    """The metrics that were asked for, else those that the analysis takes; unknown ids are left out."""
    return tuple(metric_id for metric_id in settings.metrics or otherwise if metric_id in REGISTRY)


def defined_metrics(study: ScoreTable, metric_ids: Iterable[str]) -> dict[str, Floats]:
    """Metric → values (conversations, groups), of those metrics that have any value."""
    tables = {metric_id: study.values(metric_id) for metric_id in metric_ids}
    return {metric_id: table for metric_id, table in tables.items() if not np.isnan(table).all()}


def metrics_of(study: ScoreTable, settings: Settings, otherwise: Sequence[str]) -> dict[str, Floats]:
    """Metric → values, of the wanted metrics that have any value; Missing without one."""
    defined = defined_metrics(study, wanted_metrics(settings, otherwise))
    if not defined:
        raise Missing("None of the metrics is defined for any conversation.")
    return defined


def comparable_metrics(study: ScoreTable, metric_ids: Iterable[str]) -> tuple[str, ...]:
    """The metrics by which these groups can be compared: not those that judges gave them on different scales."""
    apart = JUDGED if several_scales(study) else frozenset()
    return tuple(metric_id for metric_id in metric_ids if metric_id not in apart)


def in_both(one: ScoreTable, other: ScoreTable) -> tuple[ScoreTable, ScoreTable]:
    """Both over the models and conversations that both have, in the order of the first; Missing without any."""
    theirs, there = {group.key: group for group in other.groups}, frozenset(other.ids)
    groups = [group for group in one.groups if group.key in theirs]
    ids = tuple(conversation for conversation in one.ids if conversation in there)
    if not groups or not ids:
        raise Missing("No conversation has scores from all models.")
    other = other.with_groups([theirs[group.key] for group in groups])
    return one.with_groups(groups).with_conversations(ids), replace(other, ids=ids, references=())


def by_value(values: Floats, *, higher_is_better: bool = True) -> list[int]:
    """Positions of the values, the best first, equal ones as they stand, undefined ones last."""
    keys = np.where(np.isnan(values), np.inf, -values if higher_is_better else values)
    return [int(position) for position in np.argsort(keys, kind="stable")]


def best_first(cells: Iterable[Cell], *, higher_is_better: bool = True) -> list[int]:
    """Positions of the cells, the best first, undefined ones last."""
    return by_value(np.array([value_of(cell) for cell in cells]), higher_is_better=higher_is_better)


def reference_of(study: ScoreTable, reference_id: str) -> ReferenceValues | None:
    """The reference of this id as far as it stands, or None where the scores hold none."""
    return next((standing(reference) for reference in study.references if reference.id == reference_id), None)


def levels(study: ScoreTable, metric_id: str) -> dict[str, float]:
    """References of a metric for charts: blind guessing and the base rate, as far as it has them."""
    base, chance = reference_of(study, BASE_RATE), cards_of(study.rules)[metric_id].chance
    found = {} if chance is None else {"chance": chance}
    if base is not None and not np.isnan(of := base.values.get(metric_id, np.array([np.nan]))).all():
        found["base rate"] = float(np.nanmean(of))
    return found


def levels_of(study: ScoreTable, columns: Mapping[str, str]) -> dict[str, dict[str, float]]:
    """The same for several columns, id → metric: reference → column → value."""
    found = {name: levels(study, metric_id) for name, metric_id in columns.items()}
    return {
        line: {name: of[line] for name, of in found.items() if line in of}
        for line in dict.fromkeys(line for of in found.values() for line in of)
    }


def settings_of(study: ScoreTable, group: Group) -> Mapping[str, Any]:
    """What its file says of a group's results: `variants` of settings, and how servers were `observed`."""
    return next((e for e in study.metadata[group.source].get("settings") or () if group_key(e) == group.key), {})


def variants_of(study: ScoreTable, group: Group) -> list[Mapping[str, Any]]:
    """The settings that a group's results were made with."""
    return list(settings_of(study, group).get("variants") or ())


# How metrics are written


def label_of(metric_id: str) -> str:
    """A metric's short name."""
    return REGISTRY[metric_id].label


def unit_of(metric_id: str) -> Unit:
    """How values of a metric are written."""
    return _UNITS.get(REGISTRY[metric_id].unit, "number")


def digits_of(metric_id: str) -> int:
    """Digits behind the point, of a metric's values and their differences."""
    return 1 if REGISTRY[metric_id].unit == "points" else 3


def better(metric_id: str) -> bool:
    """Whether higher is better; differences of metrics without a direction are read as if it were."""
    return REGISTRY[metric_id].higher_is_better is not False


def drill_to(group: Group, metric_id: str) -> Drill:
    """Behind a mean: all conversations of the group."""
    return Drill(group=group.key, metric=metric_id)


def metric_column(
    metric_id: str, cells: Iterable[Cell], *, id: str = "", label: str = "", difference: bool = False
) -> Filled:
    """A column of a metric's values (or differences of them), named and rounded by its card."""
    card, unit = REGISTRY[metric_id], "number" if difference else unit_of(metric_id)
    about = (id or metric_id, cells, label or card.label, unit, card.meaning)
    return column(*about, better=card.higher_is_better, digits=digits_of(metric_id))


def spread_columns(values: Iterable[Floats], unit: Unit = "number", digits: int | None = None) -> list[Filled]:
    """Columns for the standard deviation (n − 1) and the quantiles of what is defined in each of the arrays."""
    defined = [of[~np.isnan(of)] for of in values]
    parts = {"sd": [of.std(ddof=1) if len(of) > 1 else np.nan for of in defined]}
    parts |= {name: [np.quantile(of, q) if len(of) else np.nan for of in defined] for name, q in QUANTILES.items()}
    return [column(name, of, "", unit, "Over conversations.", digits=digits) for name, of in parts.items()]


def value_of(cell: Cell) -> float:
    """A cell's number; NaN where it has none."""
    return float(cell.value) if isinstance(cell.value, (int, float)) else np.nan
