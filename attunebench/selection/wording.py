"""What a comparison of a subset with the rest found, in sentences: claims only, and what could have been found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import counted, listed
from attunebench.analyses.model import Cell, Settings
from attunebench.statistics.contrasts import Mask
from attunebench.statistics.power import minimum_detectable_effect

_NAMED = 4
"""So many models are named in a sentence, and so many metrics get one; the tables have all."""


@dataclass(frozen=True)
class Row:
    """A metric of a model (a reference), or the distance of two models in it, on both sides.

    `people`: participants behind it on both sides. `inflated`: its intervals are too narrow, as most values are equal.
    `least`: the smallest p that its test can give, NaN where it is not tested. `beyond`: the difference minus that of
    the base rate.
    """

    metric_id: str
    names: tuple[Cell, ...]
    inside: Cell
    outside: Cell
    difference: Cell
    people: tuple[int, int]
    inflated: bool
    least: float
    se: float
    reference: bool
    beyond: Cell | None = None

    def detectable(self, settings: Settings, among: int) -> float:
        """The true difference that would be found at α over so many tests; NaN where it is not tested."""
        if self.difference.p is None:
            return float("nan")
        alpha = settings.alpha / max(1, among)
        return float(minimum_detectable_effect(np.array([self.se]), 1, alpha=alpha, power=settings.power)[0])

    def said(self, *, pair: bool = False) -> str:
        """Whose difference it is, and which, in a sentence."""
        interval = common.with_interval(self.difference, common.digits_of(self.metric_id), sign=True)
        names = " on ".join(str(name.value) for name in self.names[0 if pair else 1 :])
        return f"{names} ({interval}, {common.p_text(self.difference)})"


def tests_in(rows: Sequence[Row]) -> int:
    """How many rows were tested."""
    return sum(row.difference.p is not None for row in rows)


def sentences(
    inside: Mask, contrasts: Sequence[Sequence[Row]], pairs: Sequence[Sequence[Row]], settings: Settings
) -> Iterator[str]:
    """The answer of a mode, from the rows of its tables: the first table (those asked for) at length."""
    if not any(map(tests_in, contrasts)):
        yield (
            f"Too few for a claim: {counted(int(inside.sum()), 'conversation')} in the subset and "
            f"{int((~inside).sum())} in the rest, where each side needs {settings.small} of at least two participants."
        )
        return
    at_length = [row.metric_id for rows in (contrasts if settings.metrics else contrasts[:1]) for row in rows]
    at_length = list(dict.fromkeys(at_length))[:_NAMED]
    for rows in contrasts:
        for metric_id in dict.fromkeys(row.metric_id for row in rows if row.metric_id in at_length):
            yield _of_metric([row for row in rows if row.metric_id == metric_id], tests_in(rows), settings)
    claims = [row.metric_id for rows in contrasts for row in rows if common.claimed(row.difference, settings)]
    if others := [common.label_of(name) for name in dict.fromkeys(claims) if name not in at_length]:
        yield f"Differences are also shown in {listed(others)}."
    for rows in pairs[:_NAMED]:
        if tests := tests_in(rows):
            claims = [row.said(pair=True) for row in rows if common.claimed(row.difference, settings)]
            gains = f"in the subset {listed(claims, most=_NAMED)} gain{'s' * (len(claims) == 1)}"
            none = f"of {counted(tests, 'pair')} none is shown to stand otherwise in the subset"
            yield f"From model to model, {common.label_of(rows[0].metric_id)}: {gains if claims else none}."


def _of_metric(rows: Sequence[Row], tests: int, settings: Settings) -> str:
    """One metric; `tests` are those of its table."""
    models, metric_id = [row for row in rows if not row.reference], rows[0].metric_id
    label, digits = common.label_of(metric_id), common.digits_of(metric_id)
    if not tests_in(models):
        return f"{label}: too few conversations on a side for a claim."
    parts = []
    for word, sign in (("higher", 1), ("lower", -1)):
        claims = [row for row in models if common.claimed(row.difference, settings)]
        if some := [row.said() for row in claims if sign * common.value_of(row.difference) > 0]:
            parts.append(f"{word} in the subset for {listed(some, most=_NAMED)}")
    if not parts:
        typical = float(np.nanmedian([row.detectable(settings, tests) for row in models]))
        hint = f" (of a typical model {common.number(typical, digits)} would have been)"
        parts = [f"no model is shown to differ between subset and rest{hint}"]
    return f"{label}: {'; '.join(parts)}.{''.join(_of_base_rate(row, settings) for row in rows if row.reference)}"


def _of_base_rate(row: Row, settings: Settings) -> str:
    """Whether the subset is easier or harder to be right about, whoever answers."""
    cell = row.difference
    # Nothing is tested here, and an interval over few people is too narrow to say so much.
    if cell.small or cell.low is None or cell.high is None or min(row.people) < settings.small:
        return ""
    said = common.with_interval(cell, common.digits_of(row.metric_id), sign=True)
    if cell.low <= 0 <= cell.high:
        return f" The base rate is not shown to differ ({said})."
    word = "easier" if (cell.low > 0) == common.better(row.metric_id) else "harder"
    return f" The base rate itself differs ({said}): the subset is {word}, whoever answers."
