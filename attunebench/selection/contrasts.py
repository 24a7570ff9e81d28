"""The two sides of a subset, and how metrics of models differ between them: numbers, no words.

Participants move as a whole in differences, since what is known of a person holds for all of their conversations.
What too few conversations or participants stand behind is never tested.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Settings, better, by_value, value_of
from attunebench.analyses.sampling import Sampling, claimed, plain_correction
from attunebench.analyses.table import Cell, known
from attunebench.scores import BASE_RATE
from attunebench.scores.references import standing
from attunebench.scores.table import ReferenceValues, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask
from attunebench.statistics.multiple import adjust, minimum_detectable_effect

REFERENCE = "reference"


class Family(NamedTuple):
    """Metrics that share a table; the tests of a table are corrected together."""

    id: str
    title: str
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Sides:
    """A study of one mode over the conversations that match (`inside`) and those that do not.

    Its lines are the models in display order, then the references, which are made from the labels alone.
    """

    study: ScoreTable
    mode: str
    inside: Mask
    references: tuple[ReferenceValues, ...]

    @classmethod
    def of(cls, study: ScoreTable, mode: str, chosen: Sequence[str], others: Sequence[str]) -> Sides:
        """Of the groups of a mode, over those of the conversations that at least one of them has."""
        part = study.of_mode(mode)
        scored = {i for i, row in zip(part.ids, part.scored(), strict=True) if row.any()}
        part = part.with_conversations([i for i in (*chosen, *others) if i in scored])
        inside = np.isin(np.array(part.ids, dtype=object), np.array(chosen, dtype=object))
        return cls(part, mode, inside, tuple(map(standing, part.references)))

    @property
    def lines(self) -> list[Cell]:
        """The names of the lines; references are marked."""
        return [*map(Cell, self.study.labels), *(Cell(one.label, mark=REFERENCE) for one in self.references)]

    @property
    def base_rate(self) -> int | None:
        """The position of the base rate among the lines."""
        ids = [reference.id for reference in self.references]
        return len(self.study.groups) + ids.index(BASE_RATE) if BASE_RATE in ids else None

    def values(self, metric_id: str) -> Floats:
        """A metric's values: (conversations, lines); NaN where a line has none."""
        nothing = np.full(len(self.study.ids), np.nan)
        references = [reference.values.get(metric_id, nothing) for reference in self.references]
        return np.column_stack([self.study.values(metric_id), *references])

    def side(self, mask: Mask) -> ScoreTable:
        """The study over one side alone."""
        return self.study.with_conversations([i for i, there in zip(self.study.ids, mask, strict=True) if there])

    def people(self, mask: Mask, column: Floats) -> int:
        """Of how many participants the conversations of a side are that have a value."""
        return len(np.unique(self.study.clusters[mask & ~np.isnan(column)]))


class Row(NamedTuple):
    """A metric of a model (a reference), or the distance of two models in it, on both sides.

    `people`: participants behind it on both sides. `least`: the smallest p that its test can give, `mde`: the true
    difference that would be found at the corrected α, both NaN where it is not tested. `beyond`: the difference minus
    that of the base rate.
    """

    metric_id: str
    names: tuple[Cell, ...]
    inside: Cell
    outside: Cell
    difference: Cell
    people: tuple[int, int]
    least: float
    mde: float
    beyond: Cell | None = None

    @property
    def reference(self) -> bool:
        return self.names[0].mark == REFERENCE


def tests_in(rows: Sequence[Row]) -> int:
    """How many rows were tested."""
    return sum(row.difference.p is not None for row in rows)


def contrast(sides: Sides, family: Family, settings: Settings) -> list[Row]:
    """The metrics of a family on both sides, of the models and the base rate, as far as there are values."""
    models, base, lines = len(sides.study.groups), sides.base_rate, sides.lines
    columns: dict[tuple[str, tuple[Cell, ...]], Floats] = {}
    beyond = []
    for metric_id in family.metrics:
        values = sides.values(metric_id)
        for i, line in enumerate(lines):
            if (i < models or i == base) and not np.isnan(values[:, i]).all():
                columns[metric_id, (line,)] = values[:, i]
                beyond.append(values[:, i] - (values[:, base] if i < models and base is not None else np.nan))
    name = f"subset/{sides.mode}/{family.id}"
    rows = _rows(sides, columns, name, settings)
    if not any(row.reference for row in rows):
        return rows
    further = _rows(sides, dict(zip(columns, beyond, strict=True)), f"{name}/base", settings, tested=False)
    return [row._replace(beyond=other.difference) for row, other in zip(rows, further, strict=True)]


def pairs(sides: Sides, metric_id: str, settings: Settings) -> list[Row]:
    """The models of a mode two by two, largest differences first: the one that gains in the subset, and on which."""
    values, labels = sides.study.values(metric_id), sides.study.labels
    columns: dict[tuple[str, tuple[Cell, ...]], Floats] = {}
    for a, b in combinations(range(len(labels)), 2):
        apart = values[:, a] - values[:, b]
        if np.isnan(apart).all():
            continue
        inside, outside = (within.column_means(apart[side, None])[0] for side in (sides.inside, ~sides.inside))
        # "a gains on b" reads without a sign, so the one that gains comes first.
        turned = inside < outside if better(metric_id) else inside > outside
        names = (labels[b], labels[a]) if turned else (labels[a], labels[b])
        columns[metric_id, tuple(map(Cell, names))] = -apart if turned else apart
    rows = _rows(sides, columns, f"subset/{sides.mode}/{metric_id}/pairs", settings)
    return [rows[i] for i in by_value(np.array([abs(value_of(row.difference)) for row in rows]))]


def _rows(
    sides: Sides,
    columns: Mapping[tuple[str, tuple[Cell, ...]], Floats],
    name: str,
    settings: Settings,
    *,
    tested: bool = True,
) -> list[Row]:
    """Both means of each (metric, names), and their difference, tested as one family but for references."""
    if not columns:
        return []
    study, values, masks = sides.study, np.column_stack(list(columns.values())), (sides.inside, ~sides.inside)
    everybody = np.ones(len(values), dtype=bool)
    contrast, differences = within.group_contrast(study, values, sides.inside, everybody, name, settings)
    asked = np.array(
        [
            tested
            and names[0].mark != REFERENCE
            and not any(within.is_small(study, column, mask, settings) for mask in masks)
            for (_, names), column in columns.items()
        ]
    )
    p, least, se = (np.where(asked, of, np.nan) for of in (contrast.p, contrast.least, contrast.se))
    corrected = adjust(p, plain_correction(settings))
    alpha = settings.alpha / max(1, int((~np.isnan(p)).sum()))
    mde = minimum_detectable_effect(se, alpha=alpha, power=settings.power)
    means = [Sampling.of(sides.side(mask), settings).cells(values[mask]) for mask in masks]
    rows = []
    for i, (metric_id, names) in enumerate(columns):
        inside, outside = (replace(cells[i], n=cells[i].n or None) for cells in means)
        difference = replace(differences[i], p=known(p[i]), p_corrected=known(corrected[i]), n=None)
        difference = replace(difference, mark="differs" if claimed(difference, settings) else "")
        people = (sides.people(masks[0], values[:, i]), sides.people(masks[1], values[:, i]))
        rows.append(Row(metric_id, names, inside, outside, difference, people, float(least[i]), float(mde[i])))
    return rows
