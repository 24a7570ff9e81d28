"""How much was answered, refused and repaired: a formatting problem must not count as a lack of empathy.

All three are ratios of sums over calls: several conversations are summed before they are divided.
"""

from __future__ import annotations

import math

from attunebench.metrics.card import OURS, CardMaker, Metric

ANSWERED_ENOUGH = 0.95
"""An answered rate below this is said aloud: part of such a score is formatting rather than understanding."""


def rounded_down(share: float, digits: int) -> float:
    """A share rounded down, so that it is 1 only where nothing is missing."""
    scale = 10.0**digits
    return math.floor(share * scale + 1e-9) / scale


def percent(share: float) -> str:
    """ "99.9 %", rounded down, so that 100.0 % means all of it: how an answered rate is written everywhere."""
    return f"{100 * rounded_down(share, 3):.1f} %"


def rate(part: float | None, whole: float | None) -> float | None:
    """part / whole, in [0, 1]; None where either is unknown or the whole is 0. Source: spec 3.5."""
    return part / whole if part is not None and whole else None


CARDS: list[Metric] = []
_alongside = CardMaker(
    CARDS, status="alongside", group="diagnostic", level="conversation", source=OURS, proportion=True
)

_alongside(
    "answered_rate",
    "Answered",
    "Share of the requested items that the model answered readably; the rest counts as wrong.",
    "Items answered / items expected, sums over calls; without judges and reasoning.",
    rounds_down=True,
)
_alongside(
    "refusal_rate",
    "Refused",
    "Share of calls that the model or its provider refused to answer.",
    "Calls refused / calls made.",
    higher_is_better=False,
)
_alongside(
    "mended_rate",
    "Repaired",
    "How many of the answers were not valid JSON and had to be repaired before they could be read.",
    "Calls with a repaired answer / calls made.",
    higher_is_better=False,
)
