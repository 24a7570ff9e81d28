"""Which conversations a condition chooses: those of which it is true, the others, and those of which nobody can tell.

A missing value leaves a conversation out of both sides, also under negation, and names the field that it lacks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attunebench.selection.conditions import Condition
from attunebench.selection.known import people

if TYPE_CHECKING:
    from attunebench.scores import GroundTruthEntry


@dataclass(frozen=True)
class Selection:
    """Ids in the order of the data. `unknown`: id → names of the fields whose missing values leave it out.

    `words` says what was chosen as a paper can quote it, `text` as `--where` reads it again (empty where everything
    was). Participants are counted on each side, each conversation without a participant's id as one more;
    `participants_both` have conversations on both.
    """

    chosen: tuple[str, ...]
    others: tuple[str, ...]
    unknown: Mapping[str, tuple[str, ...]]
    words: str
    text: str
    participants_chosen: int
    participants_others: int
    participants_unknown: int
    participants_both: int

    @property
    def lacking(self) -> Mapping[str, int]:
        """Field → how many conversations are left out for want of its value, the most first; one can lack several."""
        return dict(Counter(name for names in self.unknown.values() for name in names).most_common())


def choose(entries: Iterable[GroundTruthEntry], condition: Condition) -> Selection:
    """Hold a condition against each conversation; any side may be empty."""
    given = tuple(entries)
    sides: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    persons: dict[bool | None, set[object]] = {True: set(), False: set(), None: set()}
    unknown: dict[str, tuple[str, ...]] = {}
    for entry, person in zip(given, people(given), strict=True):
        holds = condition.holds(entry)
        sides[holds].append(entry["conversationId"])
        persons[holds].add(person)
        if holds is None:
            unknown[entry["conversationId"]] = tuple(field.name for field in condition.lacking(entry))
    return Selection(
        chosen=tuple(sides[True]),
        others=tuple(sides[False]),
        unknown=unknown,
        words=condition.words(),
        text=condition.text(),
        participants_chosen=len(persons[True]),
        participants_others=len(persons[False]),
        participants_unknown=len(persons[None]),
        participants_both=len(persons[True] & persons[False]),
    )
