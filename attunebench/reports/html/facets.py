"""What lists of conversations and turns on the page can be narrowed by: the groups that the ground truth knows.

The names are those of `--where`, so that a link to a filtered list reads like the expression that selects the same.
"""

from __future__ import annotations

from typing import Any

from attunebench.scores.table import ScoreTable
from attunebench.selection.fields import Field, fields_of, fold

_MOST = 40
"""A field of more values than this identifies conversations rather than groups them."""
_FREE = ("conversation", "file")


def facets(study: ScoreTable) -> list[dict[str, Any]]:
    """Each field that divides the conversations: its name, its meaning, and [value, rows] of its values."""
    rows = [row for row, truth in enumerate(study.truths()) if truth is not None]
    found = [(field, _values(field, rows)) for field in fields_of(filter(None, study.truths())).listed]
    return [
        {"name": field.name, "meaning": field.meaning, "values": values}
        for field, values in found
        if field.name not in _FREE and 1 < len(values) <= _MOST
    ]


def _values(field: Field, rows: list[int]) -> list[tuple[str, list[int]]]:
    """Each text of the field in alphabetical order, and the rows that have it."""
    values: dict[str, tuple[str, list[int]]] = {fold(value): (value, []) for value in sorted(field.counts())}
    for row, texts in zip(rows, field.values, strict=True):
        for key in {fold(text) for text in texts} if isinstance(texts, tuple) else ():
            values[key][1].append(row)
    return list(values.values())
