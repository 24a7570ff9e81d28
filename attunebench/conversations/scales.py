"""Screening scales and their cut-offs (spec 08). A band is “screen-positive” and never a diagnosis."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import NamedTuple

POOR, NOT_POOR = "poor", "not poor"
NEGATIVE, POSITIVE = "screen-negative", "screen-positive"
ASRS = "asrs_6"
ASRS_COUNT_TOP = 6
"""A value above this says that the data's ASRS-6 are sums of 0–24 and no counts of 0–6."""


class Division(NamedTuple):
    """A number divided into bands: their names from the lowest up, and where each but the first begins.

    `top`: the highest value, where there are forms of the scale with different ones.
    """

    names: tuple[str, ...]
    cuts: tuple[float, ...]
    top: int | None = None

    def band(self, value: float) -> str:
        """The band that a value is in."""
        return self.names[bisect_right(self.cuts, value)]

    @property
    def ranges(self) -> dict[str, str]:
        """Band → its values in words: "below 13", "55 to < 60", "4 and above of 6"."""
        above = f"{self.cuts[-1]:g} and above" + (f" of {self.top}" if self.top else "")
        between = [f"{low:g} to < {high:g}" for low, high in pairwise(self.cuts)]
        return dict(zip(self.names, (f"below {self.cuts[0]:g}", *between, above), strict=True))


_SEVERITY = Division(("normal", "mild", "moderate", "severe"), (55, 60, 70))
DIVISIONS: Mapping[str, Division] = {
    "who_5": Division((POOR, NOT_POOR), (13,)),
    "aq_10": Division((NEGATIVE, POSITIVE), (6,)),
    **{f"promis_{what}_t": _SEVERITY for what in ("anxiety", "depression", "sleep")},
}
"""Scale → its bands; that of ASRS-6 depends on the data."""
ASRS_COUNT = Division((NEGATIVE, POSITIVE), (4,), top=6)
ASRS_SUM = Division((NEGATIVE, POSITIVE), (14,), top=24)


def asrs_division(values: Iterable[float | None]) -> Division:
    """The bands of ASRS-6 in the form that these values have."""
    return ASRS_SUM if any(value is not None and value > ASRS_COUNT_TOP for value in values) else ASRS_COUNT


def asrs_text(form: Division) -> str:
    """How ASRS-6 is read, and why: for the end of a sentence."""
    if form is ASRS_SUM:
        return "a sum of 0–24, as a value is above 6: 14 and above is screen-positive"
    return "a count of 0–6, as no value is above 6: 4 and above is screen-positive"
