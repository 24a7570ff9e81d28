"""Coefficients of agreement over the verdicts of an arena, as cells of tables with intervals over conversations.

Ties of a majority are left out and counted. A rater's own tie counts half, so that chance is .5 whoever is compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from attunebench.analyses.table import NOT_ESTIMABLE, Cell, Drill, cell_of
from attunebench.arena.ceiling import ceiling
from attunebench.arena.objects import DIMENSIONS
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import JUDGES, PEOPLE, VerdictTable
from attunebench.arena.voices import Mask, Voices, credit, decided
from attunebench.statistics.agreement import Agreement, cohen_kappa, gwet_ac1, mean_difference, percent_agreement
from attunebench.statistics.bootstrap import Floats, Labels

_MARGINS = ("ambiguous", "clear", "unanimous")

Where = tuple[tuple[str, str], ...]


class Part(NamedTuple):
    """Some of the verdicts under a name: `rows` says which of people's count; `where` leads to them."""

    name: str
    voices: Voices
    rows: Mask
    where: Where = ()


class Agreeing:
    """Verdicts of an arena, and how coefficients over them become cells of tables."""

    def __init__(self, merged: VerdictTable, settings: ArenaSettings) -> None:
        self.merged, self.settings = merged, settings
        self.history = np.zeros(len(merged.pairs), dtype=np.intp)
        self.history[merged.pair] = merged.history
        self.unit = merged.units[self.history]
        self.sampling = settings.resampling(merged)
        self.whole = self.part("all", merged)

    @property
    def others(self) -> str:
        """What everybody is compared with."""
        several = PEOPLE in self.whole.voices.names
        return "the majority of the other people" if several else "the person who rated the pair"

    def label(self, rater: str) -> str:
        """What a rater is called in tables."""
        return f"all judges ({self.settings.ensemble})" if rater == JUDGES else rater

    def part(self, name: str, merged: VerdictTable, where: Where = ()) -> Part:
        voices = Voices.of(merged, self.settings)
        return Part(name, voices, np.ones(len(voices.pair), dtype=bool), where)

    def slices(self) -> list[Part]:
        """A part for each slice that has verdicts of people, where these are of several."""
        voices, slices = self.whole.voices, np.array(self.merged.slices)[self.history]
        found = list(dict.fromkeys(slices[voices.pair].tolist()))
        parts = [Part(name, voices, slices[voices.pair] == name, (("slice", name),)) for name in found]
        return parts if len(parts) > 1 else []

    def dimensions(self) -> list[Part]:
        """A part for each dimension in which people gave verdicts."""
        tables = [(name, self.merged.in_dimension(place)) for place, name in enumerate(DIMENSIONS)]
        parts = [self.part(name.replace("_", " "), of, (("dimension", name),)) for name, of in tables]
        return [part for part in parts if part.rows.any()]

    def persons(self) -> list[Part]:
        """A part for each person who can be compared with others."""
        voices, names = self.whole.voices, self.merged.raters
        people = np.unique(voices.rater) if PEOPLE in voices.names else ()
        return [Part(names[at], voices, voices.rater == at, (("rater", names[at]),)) for at in people]

    def margins(self) -> list[Part]:
        """Pairs by how clear the majority of the others is: a person's own verdict must not decide where it counts."""
        voices, share = self.whole.voices, self.whole.voices.others.share
        if PEOPLE not in voices.names:
            return []
        place = np.where(share >= 1, 2, np.where(share < self.settings.ambiguous, 0, 1))
        parts = [Part(name, voices, place == at, (("pairs", name),)) for at, name in enumerate(_MARGINS)]
        return [part for part in parts if part.rows.any()]

    def found(self, coefficient: Callable[..., Agreement], pairs: Labels, *values: Floats) -> Agreement:
        return coefficient(*values, resampling=replace(self.sampling, clusters=self.unit[pairs]))

    def cell(self, coefficient: Callable[..., Agreement], pairs: Labels, *values: Floats, where: Where = ()) -> Cell:
        """A coefficient of values of these pairs, with its interval; n counts the pairs behind it."""
        found = self.found(coefficient, pairs, *values)
        given = ~np.isnan(values[0] + values[-1])
        there = np.flatnonzero(np.bincount(pairs[given if given.ndim == 1 else given.any(axis=1)]))
        few = len(np.unique(self.unit[there])) < self.settings.small
        alike = found.clusters > 1 and np.isnan(found.low) and not np.isnan(found.value)
        return cell_of(
            *(found.value, found.low, found.high),
            n=len(there),
            small=bool(few) and len(there) > 0,
            mark=NOT_ESTIMABLE if alike else "",
            drill=_behind(where) if where and not np.isnan(found.value) else None,
        )

    def share(self, pairs: Labels, values: Floats, where: Where = ()) -> Cell:
        return self.cell(mean_difference, pairs, values, np.zeros_like(values), where=where)

    def agreed(self, pairs: Labels, one: Floats, other: Floats, where: Where = ()) -> dict[str, Cell]:
        """Every coefficient of two raters' choices, by the id of its column."""
        kappa, ac1 = (partial(coefficient, labels=3) for coefficient in (cohen_kappa, gwet_ac1))
        return {
            "agree": self.share(pairs, credit(one, other), where),
            "decided": self.cell(percent_agreement, pairs, decided(one), decided(other), where=where),
            "kappa": self.cell(kappa, pairs, one + 1, other + 1, where=where),
            "ac1": self.cell(ac1, pairs, one + 1, other + 1, where=where),
        }

    def two_people(self, part: Part) -> Agreement:
        """How often two people who both name a better reply name the same one."""
        voices = part.voices
        one, other = voices.couples(part.rows)
        sides = (decided(voices.chosen[places]) for places in (one, other))
        return self.found(percent_agreement, voices.pair[one], *sides)

    def compared(self, part: Part, name: str, two: Agreement | None = None) -> dict[str, Cell]:
        """People or a judge against the majorities of this part: cells by the id of their column."""
        voices, choices = part.voices, part.voices.choices(name)
        rows = part.rows & ~np.isnan(choices + voices.others.winner)
        pairs, chosen, people = voices.pair[rows], choices[rows], voices.chosen[rows]
        others = decided(voices.others.winner[rows])
        counted, where = ~np.isnan(others), (("rater", name), *part.where)
        if two is not None and np.isnan(choices[part.rows]).any():
            two = self.two_people(part._replace(rows=rows))
        cells = {
            "rater": Cell(self.label(dict(where)["rater"])),
            "n": Cell(int(np.count_nonzero(np.bincount(pairs[counted]))), drill=_behind(where)),
            "comparisons": Cell(int(counted.sum()), drill=_behind(where)),
            "tied": Cell(int((~counted).sum()), drill=_behind((*where, ("pairs", "tied")))),
            **self.agreed(pairs, chosen, others, where),
            **dict.fromkeys(("same", "difference"), Cell(None)),
            "ties": Cell((chosen[counted] == 0).mean().item() if counted.any() else None, drill=_behind(where)),
            "ceiling": Cell(None) if two is None else bounds(two, partial(ceiling, votes=voices.votes(rows)), where),
        }
        if name != PEOPLE and PEOPLE in voices.names:
            own, of_people = credit(chosen, others), credit(people, others)
            cells["same"] = self.share(pairs, of_people, (("rater", PEOPLE), *part.where))
            cells["difference"] = self.cell(mean_difference, pairs, own, of_people, where=where)
        return cells

    def against_people(self, part: Part) -> list[dict[str, Cell]]:
        """`compared` of people and of each judge; of people alone where the part is a person's verdicts."""
        two, one_person = self.two_people(part), "rater" in dict(part.where)
        return [self.compared(part, name, two) for name in ([PEOPLE] if one_person else part.voices.names)]


def _behind(where: Where) -> Drill:
    return Drill(where=tuple(dict(where).items()))


def bounds(found: Agreement, of: Callable[[float], float], where: Where) -> Cell:
    """What rises with an agreement, at its value and at the ends of its interval."""
    drill = None if np.isnan(found.value) else _behind(where)
    return cell_of(of(found.value), of(found.low), of(found.high), drill=drill)
