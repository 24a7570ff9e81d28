"""What a comparison of a subset with the rest found, in sentences: claims only, and what could have been found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import counted, listed
from attunebench.analyses.model import Cell, Settings
from attunebench.selection.sides import Line, Sides

if TYPE_CHECKING:
    from attunebench.selection.comparing import Contrasts, Pairs

_NAMED = 4
"""So many models are named in a sentence, and so many metrics get one; the tables have all."""


def sentences(
    sides: Sides, contrasts: Sequence[Contrasts], pairs: Sequence[Pairs], settings: Settings
) -> Iterator[str]:
    """The answer of a mode, the first table at length."""
    if not any(made.found.tests for made in contrasts):
        yield (
            f"Too few for a claim: {counted(int(sides.inside.sum()), 'conversation')} in the subset and "
            f"{int(sides.outside.sum())} in the rest, where each side needs {settings.small} of at least two "
            "participants."
        )
        return
    first = contrasts if settings.metrics else contrasts[:1]
    told = [(made, name) for made in first for name in dict.fromkeys(name for name, _ in made.rows)]
    for made, name in told[:_NAMED]:
        yield _of_metric(made, name, settings)
    others = [name for made in contrasts for name in _claimed(made, settings) if (made, name) not in told[:_NAMED]]
    if others:
        yield f"Differences are also shown in {listed(list(map(common.label_of, others)))}."
    for pair in pairs[:_NAMED]:
        if pair.found.tests:
            yield _of_pairs(pair, settings)


def _claimed(made: Contrasts, settings: Settings) -> list[str]:
    """The metrics in which something may be claimed."""
    cells = zip(made.rows, made.found.difference, strict=True)
    return list(dict.fromkeys(name for (name, _), cell in cells if common.claimed(cell, settings)))


def _of_metric(made: Contrasts, metric_id: str, settings: Settings) -> str:
    rows = [(line, i) for i, (name, line) in enumerate(made.rows) if name == metric_id]
    models = [(line, made.found.difference[i]) for line, i in rows if not line.is_reference]
    label = common.label_of(metric_id)
    if all(cell.p is None for _, cell in models):
        return f"{label}: too few conversations on a side for a claim."
    claims = [(line, cell) for line, cell in models if common.claimed(cell, settings)]
    parts = [
        f"{word} in the subset for {_named(some, metric_id)}"
        for word, sign in (("higher", 1), ("lower", -1))
        if (some := [(line, cell) for line, cell in claims if sign * common.value_of(cell) > 0])
    ]
    if not claims:
        parts = [f"no model is shown to differ between subset and rest{_detectable(made, metric_id)}"]
    return f"{label}: {'; '.join(parts)}.{_of_base_rate(made, metric_id)}"


def _named(claims: Sequence[tuple[Line, Cell]], metric_id: str) -> str:
    return listed([f"{line.label} ({_said(cell, metric_id)})" for line, cell in claims], most=_NAMED)


def _said(cell: Cell, metric_id: str) -> str:
    return f"{common.with_interval(cell, common.digits_of(metric_id), sign=True)}, {common.p_text(cell)}"


def _detectable(made: Contrasts, metric_id: str) -> str:
    """What would have been found in the median model, after correction."""
    found = [
        made.found.detectable(i, among=made.found.tests) for i, (name, _) in enumerate(made.rows) if name == metric_id
    ]
    if np.isnan(found).all():
        return ""
    least = common.number(float(np.nanmedian(found)), common.digits_of(metric_id))
    return f" (of a typical model {least} would have been)"


def _of_base_rate(made: Contrasts, metric_id: str) -> str:
    """Whether the subset is easier or harder to be right about, whoever answers."""
    for i, (name, line) in enumerate(made.rows):
        cell = made.found.difference[i]
        if name != metric_id or not line.is_base_rate or cell.small or cell.low is None or cell.high is None:
            continue
        if min(made.found.people[i]) < made.found.settings.small:
            return ""  # nothing is tested here, and an interval over few people is too narrow to say so much
        said = common.with_interval(cell, common.digits_of(metric_id), sign=True)
        if cell.low <= 0 <= cell.high:
            return f" The base rate is not shown to differ ({said})."
        word = "easier" if (cell.low > 0) == common.better(metric_id) else "harder"
        return f" The base rate itself differs ({said}): the subset is {word}, whoever answers."
    return ""


def _of_pairs(pair: Pairs, settings: Settings) -> str:
    label, cells = common.label_of(pair.metric_id), pair.found.difference
    said = [
        f"{pair.rows[i][0]} on {pair.rows[i][1]} ({_said(cells[i], pair.metric_id)})"
        for i in pair.order
        if common.claimed(cells[i], settings)
    ]
    if said:
        return f"From model to model, {label}: in the subset {listed(said, most=_NAMED)} gain{'s' * (len(said) == 1)}."
    return (
        f"From model to model, {label}: of {counted(pair.found.tests, 'pair')} none is shown to stand otherwise in the "
        "subset."
    )
