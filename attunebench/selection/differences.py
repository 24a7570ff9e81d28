"""Quantities on the subset and on the rest: both means and their difference, tested as one family; as cells.

Participants move as a whole in differences, since what is told of a person holds for all of their talks. What too few
conversations or people stand behind is shown and never tested. Knows neither what the quantities are nor whose.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling, counted
from attunebench.analyses.model import Cell, Column, Settings, Unit, known
from attunebench.selection.sides import Sides
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import GroupContrast
from attunebench.statistics.intervals import zero_inflated
from attunebench.statistics.multiple import adjust
from attunebench.statistics.power import minimum_detectable_effect

DIFFERS = "differs"
"""Mark of a difference that may be claimed."""


@dataclass(frozen=True)
class Differences:
    """An entry for each column of the values that it was made of.

    `people`: participants behind it on both sides. `inflated`: on a side nine in ten or more share one value, so that
    its intervals are narrower than they should be. `least`: the smallest p that a tested column can have, else NaN.
    """

    inside: tuple[Cell, ...]
    outside: tuple[Cell, ...]
    difference: tuple[Cell, ...]
    people: tuple[tuple[int, int], ...]
    inflated: tuple[bool, ...]
    contrast: GroupContrast
    least: Floats
    settings: Settings

    @classmethod
    def of(cls, sides: Sides, values: Floats, tested: Sequence[bool], name: str, settings: Settings) -> Differences:
        """Of (conversations, columns), both sides with some; `tested` says which columns are tested at all.

        `name` is the use that the chance is for.
        """
        everybody = np.ones(len(values), dtype=bool)
        contrast = within.group_contrast(sides.study, values, sides.inside, everybody, name, settings)
        untested = np.full(values.shape[1], np.nan)
        cells = within.contrast_cells(sides.study, contrast, values, sides.inside, everybody, settings, untested)
        few = [
            any(within.is_small(sides.study, column, side, settings) for side in (sides.inside, sides.outside))
            for column in values.T
        ]
        asked = [wanted and not small for wanted, small in zip(tested, few, strict=True)]
        least = np.where(asked, contrast.least, np.nan)
        p = np.where(asked, contrast.p, np.nan)
        corrected = adjust(p, common.plain_correction(settings))
        masks = (sides.inside, sides.outside)
        inside, outside = (Sampling.of(sides.side(mask), settings).cells(values[mask], flag=False) for mask in masks)
        return cls(
            tuple(map(_told, inside)),
            tuple(map(_told, outside)),
            tuple(_tested(cell, p[i], corrected[i], settings) for i, cell in enumerate(cells)),
            tuple((sides.people(sides.inside, column), sides.people(sides.outside, column)) for column in values.T),
            tuple((zero_inflated(values[sides.inside]) | zero_inflated(values[sides.outside])).tolist()),
            contrast,
            least,
            settings,
        )

    @property
    def tests(self) -> int:
        return sum(cell.p is not None for cell in self.difference)

    def detectable(self, i: int, *, among: int = 1) -> float:
        """The true difference of a column that would be found at α over so many tests; NaN where it is not tested."""
        if self.difference[i].p is None:
            return float("nan")
        alpha = self.settings.alpha / max(1, among)
        se = self.contrast.se[i : i + 1]
        return float(minimum_detectable_effect(se, 1, alpha=alpha, power=self.settings.power)[0])

    def columns(self, unit: Unit, what: str) -> tuple[Column, ...]:
        """The columns of `row`; `what` says what the means are of. None that would be the same in every row."""
        found = f"the smallest true difference that would be found with {100 * self.settings.power:.0f} % power"
        alone = Column("mde", "MDE", unit, f"Minimum detectable effect: {found} by a test alone.")
        corrected = Column("mde_corrected", f"MDE α/{self.tests}", unit, f"MDE: {found} after correction.")
        people = (
            Column("participants", "people", "count", "Participants of the subset behind the row."),
            Column("participants_rest", "people, rest", "count", "Participants of the rest behind the row."),
        )
        return (
            Column("subset", "subset", unit, f"{what} over the conversations that match."),
            Column("rest", "rest", unit, f"{what} over those that do not match."),
            Column("difference", "difference", unit, "Subset minus rest."),
            *((alone, corrected)[: min(self.tests, 2)]),
            *(people if self._people_differ else ()),
        )

    def row(self, i: int) -> tuple[Cell, ...]:
        """One column of the values as the cells of a row. The means say their n."""
        detectable = [self.detectable(i), self.detectable(i, among=self.tests)][: min(self.tests, 2)]
        difference = replace(self.difference[i], n=None)
        people = map(Cell, self.people[i] if self._people_differ else ())
        return (self.inside[i], self.outside[i], difference, *(Cell(known(value)) for value in detectable), *people)

    @property
    def _people_differ(self) -> bool:
        return len(set(self.people)) > 1

    def caption(self, sides: Sides) -> str:
        """What n is, how intervals were made and what was corrected."""
        inside, outside = (common.sample_text(sides.side(mask)) for mask in (sides.inside, sides.outside))
        correction = common.CORRECTIONS[common.plain_correction(self.settings)]
        over = f"permutation p, corrected ({correction}) over the {counted(self.tests, 'test')} of this table"
        few = any(min(people) < self.settings.small for people in self.people)
        return (
            f"Subset: {inside}; rest: {outside}. Means: {common.intervals_text(self.settings)}. Difference: subset "
            "minus rest, participants resampled as a whole; "
            f"{over if self.tests else 'nothing is tested on so few'}."
            + (f" On under {self.settings.small} participants a side its intervals are too narrow; go by p." * few)
        )


def _told(cell: Cell) -> Cell:
    """A mean with its n; of nothing there is none to tell."""
    return replace(cell, n=cell.n or None)


def _tested(cell: Cell, p: float, corrected: float, settings: Settings) -> Cell:
    cell = replace(cell, p=known(p), p_corrected=known(corrected))
    return replace(cell, mark=DIFFERS if common.claimed(cell, settings) else "")
