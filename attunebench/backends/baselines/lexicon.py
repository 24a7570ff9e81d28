"""The baseline `lexicon`: the emotions that the participant's words name. The rest as `majority`.

The word list is `lexicon.json` beside this file. A phrase that is negated does not count; words of degree beside it
move its intensity by one.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources
from typing import Any

from attunebench.backends.baselines.majority import Majority, Scene
from attunebench.constants import PANAS_ITEMS

MOST_TAGS = 3
"""People label few emotions in a turn: the strongest ones are kept."""
REACH = 3
"""How many words before a phrase can negate or shade it."""

_WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")


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
    phrases, negating, stronger, weaker = _lexicon()
    words = _WORD.findall(text.lower().replace("’", "'"))
    felt: dict[str, int] = {}
    for start, word in enumerate(words):
        before = set(words[max(0, start - REACH) : start])
        if negating & before:
            continue
        shift = bool(stronger & before) - bool(weaker & before)
        for phrase, emotion, intensity in phrases.get(word[0], ()):
            here = words[start : start + len(phrase)]
            if len(here) == len(phrase) and all(map(_fits, phrase, here)):
                felt[emotion] = max(min(7, max(1, intensity + shift)), felt.get(emotion, 0))
    return felt


def _fits(pattern: str, word: str) -> bool:
    return word.startswith(pattern[:-1]) if pattern.endswith("*") else word == pattern


@cache
def _lexicon() -> tuple[dict[str, list[tuple[list[str], str, int]]], set[str], set[str], set[str]]:
    """Phrases (words, emotion, intensity) by their first letter, so that a message is read once; words that negate, and
    those that make stronger and weaker."""
    raw = json.loads(resources.files(__package__).joinpath("lexicon.json").read_text(encoding="utf-8"))
    phrases: dict[str, list[tuple[list[str], str, int]]] = {}
    for emotion in PANAS_ITEMS:
        for intensity, entries in raw["emotions"][emotion].items():
            for entry in entries:
                phrases.setdefault(entry[0], []).append((entry.split(), emotion, int(intensity)))
    return phrases, set(raw["negating"]), set(raw["stronger"]), set(raw["weaker"])
