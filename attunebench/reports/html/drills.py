"""The list of what stands behind the cells of a page: each is kept once, and a cell names it by its place.

Turns `analyses.table.Drill` into what the page's script resolves; knows no table and no text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from attunebench.analyses.table import Drill
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable


class Drills:
    """Collects drills over a study; `metrics` are those that any of them asks for."""

    def __init__(self, study: ScoreTable) -> None:
        self._groups = {group.key: place for place, group in enumerate(study.groups)}
        self._rows = {conversation: row for row, conversation in enumerate(study.ids)}
        self._questions = frozenset(study.questions)
        self._places: dict[Drill, int] = {}
        self._ids = study.ids
        self._sets: dict[tuple[str, tuple[Any, ...]], int] = {}
        self._listed: list[dict[str, Any]] = []
        self.metrics: set[str] = set()

    def place(self, drill: Drill | None, about: str = "") -> int | None:
        """The drill's place in the list; None without a drill, or for one that this study has nothing for.

        `about` says in words which conversations or turns it is of.
        """
        if drill is None or (drill.group is not None and drill.group not in self._groups):
            return None
        if drill not in self._places:
            self._places[drill] = len(self._listed)
            self._listed.append(self._entry(drill, about))
        return self._places[drill]

    def for_page(self) -> dict[str, Any]:
        """`list`: g group, m metric, q question, b block, c and t places in `sets`; keys are absent where open.

        `sets`: [id, in words, members …]; members are rows of conversations for c, [row, turn, turn …] for t. The id
        is the hash of what is in it, so that links to it stay the same.
        """
        sets = [[self._digest(about, members), about, *members] for about, members in self._sets]
        return {"list": self._listed, "sets": sets}

    def _digest(self, about: str, members: Iterable[Any]) -> str:
        named = [[self._ids[m[0]], *m[1:]] if isinstance(m, tuple) else self._ids[m] for m in members]
        return hashlib.sha256(json.dumps([about, named]).encode()).hexdigest()[:10]

    def _entry(self, drill: Drill, about: str) -> dict[str, Any]:
        entry: dict[str, Any] = {}
        if drill.group is not None:
            entry["g"] = self._groups[drill.group]
        if drill.metric and drill.metric in REGISTRY:
            entry["m"] = drill.metric
            self.metrics.add(drill.metric)
        if drill.question in self._questions:
            entry |= {"q": drill.question, "b": drill.block or "binary_om"}
        if drill.conversations is not None:
            entry["c"] = self._set((self._rows[each] for each in drill.conversations if each in self._rows), about)
        if drill.turns is not None:
            turns: dict[int, list[int]] = {}
            for conversation, number in drill.turns:
                if conversation in self._rows:
                    turns.setdefault(self._rows[conversation], []).append(number)
            entry["t"] = self._set(((row, *numbers) for row, numbers in turns.items()), about)
        return entry

    def _set(self, members: Iterable[Any], about: str) -> int:
        return self._sets.setdefault((about, tuple(members)), len(self._sets))
