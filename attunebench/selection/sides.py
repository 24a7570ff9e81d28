"""The two sides of a subset within one mode, and the values that stand on them; shared by both kinds of report.

A conversation of which it is not known whether it matches is on neither side. Computes no statistic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from attunebench.analyses.common import unit_of
from attunebench.analyses.model import Cell, Column, text
from attunebench.metrics.registry import REGISTRY
from attunebench.scores import BASE_RATE
from attunebench.scores.references import standing
from attunebench.scores.table import Group, ReferenceValues, ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics that share a table; the tests of a table are corrected together."""

    id: str
    title: str
    metrics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Line:
    """Whose values a row shows: a model of the mode, or a reference."""

    source: Group | ReferenceValues

    @property
    def is_reference(self) -> bool:
        return isinstance(self.source, ReferenceValues)

    @property
    def is_base_rate(self) -> bool:
        return isinstance(self.source, ReferenceValues) and self.source.id == BASE_RATE

    @property
    def label(self) -> str:
        return self.source.label

    @property
    def group(self) -> tuple[str, str, str] | None:
        """The key of its group; None for a reference."""
        return self.source.key if isinstance(self.source, Group) else None

    def cell(self) -> Cell:
        """Its name, marked where it is no model."""
        return text(self.label, mark="reference" if self.is_reference else "")


@dataclass(frozen=True)
class Sides:
    """A study of one mode, and which of its conversations match (`inside`) and do not (`outside`)."""

    study: ScoreTable
    mode: str
    inside: Mask
    outside: Mask

    @classmethod
    def of(cls, study: ScoreTable, mode: str, chosen: Sequence[str], others: Sequence[str]) -> Sides:
        """Of the groups of a mode, over those of the conversations that at least one of them has."""
        part = study.of_mode(mode)
        scored = {i for i, row in zip(part.ids, part.scored(), strict=True) if row.any()}
        part = part.with_conversations([i for i in (*chosen, *others) if i in scored])
        within = frozenset(chosen)
        inside = np.array([i in within for i in part.ids], dtype=bool)
        return cls(part, mode, inside, ~inside)

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The models in display order, then the references."""
        return (*map(Line, self.study.groups), *map(Line, self._references))

    @cached_property
    def _references(self) -> tuple[ReferenceValues, ...]:
        return tuple(map(standing, self.study.references))

    def values(self, metric_id: str) -> Floats:
        """A metric's values: (conversations, lines); NaN where a line has none."""
        nothing = np.full(len(self.study.ids), np.nan)
        references = [reference.values.get(metric_id, nothing) for reference in self._references]
        return np.column_stack([self.study.values(metric_id), *references])

    def side(self, mask: Mask) -> ScoreTable:
        """The study over one side alone."""
        return self.study.with_conversations([i for i, there in zip(self.study.ids, mask, strict=True) if there])

    def people(self, mask: Mask, values: Floats) -> int:
        """Of how many participants the conversations of a side are that have a value."""
        return len(np.unique(self.study.clusters[mask & ~np.isnan(values)]))


def metric_column(metric_id: str) -> Column:
    """The column of a metric's means."""
    card = REGISTRY[metric_id]
    return Column(metric_id, card.label, unit_of(metric_id), card.meaning, card.higher_is_better)
