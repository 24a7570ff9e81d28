"""Entries of scores as matrices, one for each group, made once for all studies that are cut from the same scores.

Owns only how values come out of entries; what rows and columns mean to a study is the study's to know.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from attunebench.scores.schema import ConversationEntry, TurnEntry

Floats = NDArray[np.float64]
GroupKey = tuple[str, str, str]
Entries = Mapping[tuple[GroupKey, str], tuple[ConversationEntry, ...]]
Values = Mapping[str, "float | None"]


@dataclass(frozen=True, slots=True)
class Table:
    """Values of one group: (rows, columns), NaN where there is none; rows that stand several times are averaged."""

    rows: Mapping[Hashable, int]
    columns: Mapping[str, int]
    values: Floats

    def column(self, name: str, keys: Sequence[Hashable]) -> Floats:
        """One column for these rows, NaN for a row or a column that is not there."""
        if name not in self.columns or not self.rows:
            return np.full(len(keys), np.nan)
        places = np.array([self.rows.get(key, -1) for key in keys], dtype=np.intp)
        found: Floats = np.where(places < 0, np.nan, self.values[places, self.columns[name]])
        return found


class Tables:
    """The tables of all groups, each made when it is first asked for."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self._of_group: dict[GroupKey, list[tuple[str, ConversationEntry]]] = {}
        for (group, conversation), found in entries.items():
            self._of_group.setdefault(group, []).extend((conversation, entry) for entry in found)
        self._made: dict[tuple[str, GroupKey], Table] = {}

    def conversations(self, group: GroupKey) -> Table:
        """Metrics by conversation id."""
        key = ("conversation", group)
        if key not in self._made:
            self._made[key] = _table((c, entry["metrics"]) for c, entry in self._of_group.get(group, ()))
        return self._made[key]

    def turns(self, group: GroupKey) -> Table:
        """Metrics by (conversation id, turn number)."""
        key = ("turn", group)
        if key not in self._made:
            self._made[key] = _table((place, turn["metrics"]) for place, turn in self._turns(group))
        return self._made[key]

    def letters(self, group: GroupKey, block: str, width: int) -> Iterator[tuple[tuple[str, int], str]]:
        """((conversation id, turn number), letters) of each turn and epoch that has `width` of them."""
        for place, turn in self._turns(group):
            letters = turn.get("answers", {}).get(block)
            if isinstance(letters, str) and len(letters) == width and letters.isascii():
                yield place, letters

    def _turns(self, group: GroupKey) -> Iterator[tuple[tuple[str, int], TurnEntry]]:
        for conversation, entry in self._of_group.get(group, ()):
            for turn in entry["turns"]:
                yield (conversation, turn["turnNumber"]), turn


def _table(given: Iterable[tuple[Hashable, Values]]) -> Table:
    listed = list(given)
    columns: dict[str, int] = {}
    rows: dict[Hashable, int] = {}
    for key, values in listed:
        rows.setdefault(key, len(rows))
        if values.keys() - columns.keys():
            for name in values:
                columns.setdefault(name, len(columns))
    whole = np.array([[values.get(name) for name in columns] for _, values in listed], dtype=np.float64)
    places = np.array([rows[key] for key, _ in listed], dtype=np.intp)
    return Table(rows, columns, averaged(whole.reshape(len(listed), len(columns)), places, len(rows)))


def averaged(values: Floats, places: NDArray[np.intp], rows: int) -> Floats:
    """The mean of the defined values that go to each of `rows` rows: (rows, columns), NaN where there are none."""
    defined = ~np.isnan(values)
    sums, counts = np.zeros((rows, values.shape[1])), np.zeros((rows, values.shape[1]))
    np.add.at(sums, places, np.where(defined, values, 0.0))
    np.add.at(counts, places, defined)
    with np.errstate(invalid="ignore"):
        means: Floats = np.where(counts > 0, sums / counts, np.nan)
    return means
