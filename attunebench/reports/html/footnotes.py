"""The notes of a page, each said once: what repeats under tables and analyses is numbered and listed at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from attunebench.text import sentences_of


class Footnotes:
    """Numbers notes from 1 in the order of asking. `repeated` are sentences of captions that several tables share."""

    def __init__(self, captions: Iterable[str] = ()) -> None:
        counts = Counter(sentence for caption in captions for sentence in sentences_of(caption))
        self._repeated = {sentence for sentence, times in counts.items() if times > 1}
        self._numbers: dict[str, int] = {}

    def numbers(self, notes: Iterable[str]) -> list[int]:
        """The numbers of these notes, ascending."""
        return sorted({self._numbers.setdefault(note, len(self._numbers) + 1) for note in notes})

    def split(self, caption: str) -> tuple[str, list[str]]:
        """What is this table's alone, and the sentences of its caption that are notes."""
        parts = sentences_of(caption)
        own = " ".join(part for part in parts if part not in self._repeated)
        return own, [part for part in parts if part in self._repeated]

    @property
    def listed(self) -> list[str]:
        """The notes in the order of their numbers."""
        return list(self._numbers)
