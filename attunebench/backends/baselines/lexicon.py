"""The baseline `lexicon`: the emotions that the participant's words name. The rest as `majority`.

The word list is `lexicon.json` beside this file. A phrase that is negated does not count; words of degree beside it
move its intensity by one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from attunebench.backends.baselines.answering import Scene
from attunebench.backends.baselines.majority import Majority
from attunebench.constants import PANAS_ITEMS

MOST_TAGS = 3
"""People label few emotions in a turn: the strongest ones are kept."""
REACH = 3
"""How many words before a phrase can negate or shade it."""

_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")


@dataclass(frozen=True, slots=True)
class _Phrase:
    words: tuple[str, ...]
    emotion: str
    intensity: int

    def stands_at(self, words: list[str], start: int) -> bool:
        here = words[start : start + len(self.words)]
        return len(here) == len(self.words) and all(map(_fits, self.words, here))


@dataclass(frozen=True, slots=True)
class _Lexicon:
    """`phrases` by their first letter, so that a message is read once; the rest are words of degree and negation."""

    phrases: Mapping[str, tuple[_Phrase, ...]]
    negating: frozenset[str]
    stronger: frozenset[str]
    weaker: frozenset[str]

    def shaded(self, intensity: int, before: set[str]) -> int:
        shift = bool(self.stronger & before) - bool(self.weaker & before)
        return min(7, max(1, intensity + shift))


class Lexicon(Majority):
    """Reads the participant's message of the turn, and nothing else of the conversation."""

    def tags(self, scene: Scene) -> list[dict[str, Any]]:
        if scene.turn is None:
            return super().tags(scene)
        felt = emotions_in(scene.turn.user_message)
        strongest = sorted(felt, key=lambda emotion: (-felt[emotion], PANAS_ITEMS.index(emotion)))[:MOST_TAGS]
        return [{"emotion": emotion, "intensity": felt[emotion]} for emotion in strongest]


def emotions_in(text: str) -> dict[str, int]:
    """Display name → 1–7 of every emotion that the text names; the strongest mention of each counts."""
    lexicon = _lexicon()
    words = _WORD.findall(text.lower().replace("’", "'"))
    felt: dict[str, int] = {}
    for start, word in enumerate(words):
        before = set(words[max(0, start - REACH) : start])
        if lexicon.negating & before:
            continue
        for phrase in lexicon.phrases.get(word[0], ()):
            if phrase.stands_at(words, start):
                intensity = lexicon.shaded(phrase.intensity, before)
                felt[phrase.emotion] = max(intensity, felt.get(phrase.emotion, 0))
    return felt


def _fits(pattern: str, word: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern


@cache
def _lexicon() -> _Lexicon:
    raw = json.loads(resources.files(__package__).joinpath("lexicon.json").read_text(encoding="utf-8"))
    phrases: dict[str, list[_Phrase]] = {}
    for emotion in PANAS_ITEMS:
        for intensity, entries in raw["emotions"][emotion].items():
            for entry in entries:
                phrases.setdefault(entry[0], []).append(_Phrase(tuple(entry.split()), emotion, int(intensity)))
    return _Lexicon(
        phrases={initial: tuple(entries) for initial, entries in phrases.items()},
        negating=frozenset(raw["negating"]),
        stronger=frozenset(raw["stronger"]),
        weaker=frozenset(raw["weaker"]),
    )
