"""A subset beside the conversations that do not match: model by model, and from model to model.

Puts tables together and says which there are; sentences are `wording`'s, intervals and tests those of `differences`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import listed
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Table, legend, text
from attunebench.analyses.testing import reach_text
from attunebench.selection.differences import Differences
from attunebench.selection.sides import Family, Line, Sides
from attunebench.selection.wording import sentences
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask

_GAINS = "The model whose standing against the other is the better one there."


def beside(sides: Sides, families: Sequence[Family], settings: Settings) -> Analysis:
    """All tables of a mode: a row for each metric and model; then, where there are two models, one for each pair."""
    begun = Analysis(
        f"subset-{sides.mode}",
        f"The subset beside the rest, mode {sides.mode}",
        "Do models do otherwise on the subset than on the rest, and does one of them lose more than another?",
    )
    if not (sides.inside.any() and sides.outside.any()):
        where = "the subset" if sides.outside.any() else "the rest"
        return replace(begun, missing=f"no conversation of {where} was scored in mode {sides.mode}.")
    contrasts = list(filter(None, (contrast(sides, family, settings) for family in families)))
    if not contrasts:
        return replace(begun, missing="none of the metrics asked for is defined for any conversation here.")
    between = list(filter(None, (pairs(sides, name, settings) for name in _between(families, settings))))
    tables = (*(made.table() for made in contrasts), *(made.table() for made in between))
    return replace(
        begun,
        tables=tables,
        shows=" ".join(sentences(sides, contrasts, between, settings)),
        cannot="That there is no difference: one that was not found may still be as large as the MDE.",
        warnings=_beyond_reach([*(made.found for made in contrasts), *(made.found for made in between)], settings),
        notes=(*_notes(sides, settings), *legend(tables)),
    )


def _beyond_reach(differences: Sequence[Differences], settings: Settings) -> tuple[str, ...]:
    by_people = replace(settings, by_participant=True)
    said = (sentence for one in differences for sentence in reach_text(one.least, by_people, together=False))
    return tuple(dict.fromkeys(said))


def _between(families: Sequence[Family], settings: Settings) -> tuple[str, ...]:
    """In which metrics models are held against each other: those asked for, else those of the first table."""
    shown = families if settings.metrics else families[:1]
    return tuple(metric_id for family in shown for metric_id in family.metrics)


def _notes(sides: Sides, settings: Settings) -> tuple[str, ...]:
    notes = [common.small_text(settings)]
    if settings.correction == "maxt":
        notes.append("Max-T does not exist for differences between groups of conversations; Holm's correction is used.")
    if any(line.is_base_rate for line in sides.lines):
        notes.append(
            "The base rate is made from the labels alone and not tested: where it differs itself, the subset is easier "
            "or harder to be right about, whoever answers; “beyond base rate” is what a model's difference is without "
            "that."
        )
    if len(sides.study.groups) < 2:
        notes.append("One model alone: there is no difference in differences.")
    return tuple(notes)


class Contrasts:
    """The metrics of a family, subset against rest: a row for each metric and line that has it."""

    def __init__(
        self, sides: Sides, family: Family, rows: Sequence[tuple[str, Line]], values: Floats, settings: Settings
    ) -> None:
        self.sides, self.family, self.rows, self.values, self.settings = sides, family, tuple(rows), values, settings
        models = [not line.is_reference for _, line in rows]
        self.found = Differences.of(sides, values, models, self._name, settings)

    @property
    def _name(self) -> str:
        return f"subset/{self.sides.mode}/{self.family.id}"

    @cached_property
    def _beyond(self) -> tuple[Cell, ...]:
        """Each model's difference minus that of the base rate in its metric; () where no metric has a base rate."""
        bases = {name: self.values[:, i] for i, (name, line) in enumerate(self.rows) if line.is_base_rate}
        if not bases:
            return ()
        nothing = np.full(len(self.values), np.nan)
        columns = [
            nothing if line.is_reference else self.values[:, i] - bases.get(name, nothing)
            for i, (name, line) in enumerate(self.rows)
        ]
        values, untested = np.column_stack(columns), [False] * len(columns)
        return Differences.of(self.sides, values, untested, f"{self._name}/base", self.settings).difference

    def table(self) -> Table:
        """A row for each metric and line."""
        unit = common.unit_of(self.family.metrics[0])
        several = len({name for name, _ in self.rows}) > 1
        beyond = Column("beyond", "beyond base rate", unit, "Difference minus that of the base rate.")
        columns = (
            *((Column("metric", "metric", "text"),) if several else ()),
            Column("model", "model", "text"),
            *self.found.columns(unit, "Mean"),
            *((beyond,) if self._beyond else ()),
        )
        title = f"{self.family.title}, subset and rest"
        return Table(
            f"beside-{self.family.id}",
            title,
            columns,
            tuple(self._row(i, several) for i in range(len(self.rows))),
            caption=self.found.caption(self.sides),
            notes=self._inflated(),
            chart=Chart("intervals", "model", ("difference",), title, "subset minus rest", {"no difference": 0.0}),
        )

    def _inflated(self) -> tuple[str, ...]:
        """Which metrics have intervals that are too narrow."""
        flagged = [
            common.label_of(name)
            for i, (name, line) in enumerate(self.rows)
            if self.found.inflated[i] and not line.is_reference and not self.found.difference[i].small
        ]
        if not flagged:
            return ()
        return (
            "At least nine in ten conversations of a side share one value (mostly 0), so that intervals are narrower "
            f"than they should be: {listed(list(dict.fromkeys(flagged)), most=8)}.",
        )

    def _row(self, i: int, several: bool) -> tuple[Cell, ...]:
        metric_id, line = self.rows[i]
        inside, outside, *further = self.found.row(i)
        return (
            *((text(common.label_of(metric_id)),) if several else ()),
            line.cell(),
            self._drilled(inside, i, self.sides.inside),
            self._drilled(outside, i, self.sides.outside),
            *further,
            *((replace(self._beyond[i], n=None),) if self._beyond else ()),
        )

    def _drilled(self, cell: Cell, i: int, mask: Mask) -> Cell:
        metric_id, line = self.rows[i]
        if line.group is None:
            return cell
        return replace(cell, drill=Drill(line.group, metric_id, conversations=self.sides.side(mask).ids))


class Pairs:
    """One metric between models: is their distance another one in the subset than in the rest? A row for each pair.

    `rows`: the model that gains in the subset, and on which.
    """

    def __init__(
        self, sides: Sides, metric_id: str, rows: Sequence[tuple[str, str]], values: Floats, settings: Settings
    ) -> None:
        self.sides, self.metric_id, self.rows = sides, metric_id, tuple(rows)
        name = f"subset/{sides.mode}/{metric_id}/pairs"
        self.found = Differences.of(sides, values, [True] * len(self.rows), name, settings)

    @property
    def order(self) -> list[int]:
        """The largest differences first."""
        return common.by_value(np.array([abs(common.value_of(cell)) for cell in self.found.difference]))

    def table(self) -> Table:
        """A row for each pair."""
        unit = common.unit_of(self.metric_id)
        columns = self.found.columns(unit, "First minus second")
        named = {"difference": "difference in differences"}
        return Table(
            f"between-{self.metric_id}",
            f"{common.label_of(self.metric_id)} from model to model, subset and rest",
            (
                Column("gains", "gains", "text", _GAINS),
                Column("on", "on", "text"),
                *(replace(column, label=named.get(column.id, column.label)) for column in columns),
            ),
            tuple((*map(text, self.rows[i]), *self.found.row(i)) for i in self.order),
            caption=f"The first of a pair gains on the second in the subset. {self.found.caption(self.sides)}",
        )


def contrast(sides: Sides, family: Family, settings: Settings) -> Contrasts | None:
    """The metrics of a family on both sides; None where nobody has any of them."""
    tables = {metric_id: sides.values(metric_id) for metric_id in family.metrics}
    found = [
        (metric_id, line, values[:, i])
        for metric_id, values in tables.items()
        for i, line in enumerate(sides.lines)
        if not np.isnan(values[:, i]).all() and (line.is_base_rate or not line.is_reference)
    ]
    if not found:
        return None
    rows = [(metric_id, line) for metric_id, line, _ in found]
    return Contrasts(sides, family, rows, np.column_stack([values for *_, values in found]), settings)


def pairs(sides: Sides, metric_id: str, settings: Settings) -> Pairs | None:
    """The models of a mode two by two; None where no two have a conversation in common."""
    values, labels = sides.study.values(metric_id), sides.study.labels
    rows, columns = [], []
    for a, b in combinations(range(len(labels)), 2):
        apart = values[:, a] - values[:, b]
        if np.isnan(apart).all():
            continue
        gain = within.column_means(apart[sides.inside, None])[0] - within.column_means(apart[sides.outside, None])[0]
        # "a gains on b" reads without a sign, so the one that gains comes first.
        turned = gain < 0 if common.better(metric_id) else gain > 0
        rows.append((labels[b], labels[a]) if turned else (labels[a], labels[b]))
        columns.append(-apart if turned else apart)
    return Pairs(sides, metric_id, rows, np.column_stack(columns), settings) if rows else None
