"""Coefficients of agreement over the verdicts of an arena, as cells of tables with intervals over conversations.

Ties of a majority are left out and counted. A rater's own tie counts half, so that chance is .5 whoever is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial

import numpy as np

from attunebench.analyses.table import NOT_ESTIMABLE, Cell, Drill, cell_of
from attunebench.arena.ceiling import ceiling
from attunebench.arena.objects import ADVERSARIAL, DIMENSIONS, REGULAR
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import JUDGES, PEOPLE, VerdictTable
from attunebench.arena.voices import Voices, Where, credit, decided
from attunebench.statistics.agreement import Agreement, cohen_kappa, gwet_ac1, mean_difference
from attunebench.statistics.bootstrap import Floats, Labels, Resampling
from attunebench.statistics.intervals import wilson_interval

Row = dict[str, Cell]
"""Cells by the id of their column."""
_MARGINS = ("ambiguous", "clear", "unanimous")


def share_of(values: Floats, resampling: Resampling) -> Agreement:
    """The mean of shares; where it is 0 or 1 with Wilson's interval, each unit counting once."""
    found = mean_difference(values, np.zeros_like(values), resampling)
    if found.clusters < 2 or found.value not in (0, 1):
        return found
    low, high = wilson_interval(found.value * found.clusters, found.clusters, resampling.level)
    return replace(found, low=float(low), high=float(high))


class Agreeing:
    """Verdicts of an arena, and how coefficients over them become cells of tables."""

    def __init__(self, merged: VerdictTable, settings: ArenaSettings) -> None:
        self.merged, self.settings = merged, settings
        self.sampling = settings.resampling(merged)
        self.unit = np.zeros(len(merged.pairs), dtype=np.intp)
        self.unit[merged.pair] = merged.unit
        people = merged.of_people().answered()
        self.whole = Voices.of(merged, settings, alone=np.bincount(people.pair).max(initial=0) < 2)

    @property
    def others(self) -> str:
        """What everybody is compared with."""
        return "the person who rated the pair" if self.whole.alone else "the majority of the other people"

    def label(self, rater: str) -> str:
        """What a rater is called in tables."""
        return f"all judges ({self.settings.ensemble})" if rater == JUDGES else rater

    def slices(self) -> list[Voices]:
        """Verdicts by slice, where people gave verdicts in several."""
        names = dict.fromkeys((REGULAR, ADVERSARIAL, *self.merged.slices))
        parts = self._parts("slice", {name: self.merged.of_slice(name) for name in names})
        return parts if len(parts) > 1 else []

    def dimensions(self) -> list[Voices]:
        return self._parts("dimension", {name: self.merged.in_dimension(at) for at, name in enumerate(DIMENSIONS)})

    def _parts(self, key: str, tables: Mapping[str, VerdictTable]) -> list[Voices]:
        parts = [
            Voices.of(of, self.settings, name.replace("_", " "), ((key, name),), alone=self.whole.alone)
            for name, of in tables.items()
        ]
        return [part for part in parts if part.others.raters.any()]

    def persons(self) -> list[Voices]:
        """The verdicts of each person who can be compared with others."""
        whole, names = self.whole, self.merged.raters
        people = () if whole.alone else np.unique(whole.rater)
        return [whole.at(whole.rater == at, names[at], (("rater", names[at]),)) for at in people]

    def margins(self) -> list[Voices]:
        """Pairs by how clear the majority of the others is: a person's own verdict must not decide where it counts."""
        others = self.whole.others
        place = np.where(others.share >= 1, 2, np.where(others.share < self.settings.ambiguous, 0, 1))
        parts = [
            self.whole.at((others.raters > 1) & (place == at), name, (("pairs", name),))
            for at, name in enumerate(_MARGINS)
        ]
        return [] if self.whole.alone else [part for part in parts if len(part.pair)]

    def found(self, coefficient: Callable[..., Agreement], pairs: Labels, *values: Floats) -> Agreement:
        return coefficient(*values, resampling=replace(self.sampling, clusters=self.unit[pairs]))

    def cell(self, coefficient: Callable[..., Agreement], pairs: Labels, *values: Floats, where: Where = ()) -> Cell:
        """A coefficient of values of these pairs, with its interval; n counts the pairs behind it."""
        found = self.found(coefficient, pairs, *values)
        alike = found.clusters > 1 and np.isnan(found.low) and not np.isnan(found.value)
        return cell_of(
            *(found.value, found.low, found.high),
            n=int(np.count_nonzero(np.bincount(pairs[np.nonzero(~np.isnan(values[0] + values[-1]))[0]]))),
            small=0 < found.clusters < self.settings.small,
            mark=NOT_ESTIMABLE if alike else "",
            drill=behind(where) if where and not np.isnan(found.value) else None,
        )

    def agreed(self, pairs: Labels, one: Floats, other: Floats, where: Where = ()) -> Row:
        """Every coefficient of two raters' choices."""
        kappa, ac1 = (partial(coefficient, labels=3) for coefficient in (cohen_kappa, gwet_ac1))
        return {
            "agree": self.cell(share_of, pairs, credit(one, other), where=where),
            "decided": self.cell(share_of, pairs, credit(decided(one), decided(other)), where=where),
            "kappa": self.cell(kappa, pairs, one + 1, other + 1, where=where),
            "ac1": self.cell(ac1, pairs, one + 1, other + 1, where=where),
        }

    def two_people(self, voices: Voices) -> Agreement:
        """How often two people who both name a better reply name the same one."""
        one, other = voices.couples()
        chosen = decided(voices.chosen)
        return self.found(share_of, voices.pair[one], credit(chosen[one], chosen[other]))

    def compared(self, voices: Voices, name: str, two: Agreement | None = None) -> Row:
        """People or a judge against the majorities of this part."""
        seen = voices.at(~np.isnan(voices.choices(name) + voices.others.winner))
        if two is not None and np.isnan(voices.choices(name)).any():
            two = self.two_people(seen)
        pairs, chosen, others = seen.pair, seen.choices(name), decided(seen.others.winner)
        counted, where = ~np.isnan(others), (("rater", name), *seen.where)
        own, of_people = credit(chosen, others), credit(seen.chosen, others)
        cells = {
            "rater": Cell(self.label(dict(where)["rater"])),
            "n": Cell(len(np.unique(pairs[counted])), drill=behind(where)),
            "comparisons": Cell(int(counted.sum()), drill=behind(where)),
            "tied": Cell(int((~counted).sum()), drill=behind(where)),
            **self.agreed(pairs, chosen, others, where),
            **dict.fromkeys(("same", "difference", "ceiling"), Cell(None)),
            "ties": self.cell(share_of, pairs, np.where(counted, chosen == 0, np.nan), where=where),
        }
        if two is not None:
            cells["ceiling"] = bounds(two, partial(ceiling, votes=seen.votes()), where)
        if name != PEOPLE and not seen.alone:
            cells["same"] = self.cell(share_of, pairs, of_people, where=(("rater", PEOPLE), *seen.where))
            cells["difference"] = self.cell(mean_difference, pairs, own, of_people, where=where)
        return cells

    def against_people(self, parts: Iterable[Voices]) -> list[tuple[str, Row]]:
        """`compared` of people and of each judge, with the part's name; of a person's verdicts without judges."""
        found = list[tuple[str, Row]]()
        for part in parts:
            two, single = self.two_people(part), "rater" in dict(part.where)
            names = part.names[:1] if single else part.names
            found += [(part.name, self.compared(part, name, None if single else two)) for name in names]
        return found


def behind(where: Where) -> Drill:
    """The verdicts that these words lead to, later ones in the place of earlier ones."""
    return Drill(where=tuple(dict(where).items()))


def bounds(found: Agreement, of: Callable[[float], float], where: Where) -> Cell:
    """What rises with an agreement, at its value and at the ends of its interval."""
    value, *ends = (of(one) for one in (found.value, found.low, found.high))
    low, high = ends if np.isfinite(ends).all() else (np.nan, np.nan)
    drill = None if np.isnan(found.value) else behind(where)
    return cell_of(value if np.isfinite(value) else np.nan, low, high, drill=drill)
