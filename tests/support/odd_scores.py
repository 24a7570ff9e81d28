"""Scores that a study may come to hold although nobody plans one so: too little, too much, all alike, or apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planted import Plan, Skill, answered, planted_conversations

from attunebench.conversations.reading import read_conversation
from attunebench.results.folder import Skipped
from attunebench.results.parsing import parse_result
from attunebench.scorer import score
from attunebench.scores import Scores

Asked = tuple[str, str, Callable[[int], bool]]
"""Model, mode, and of which conversations there are results."""


def scores_of(asked: list[Asked], conversations: int, *, skill: Skill | None = None) -> Scores:
    """Scores of models that answer alike, if nothing else is said, each in its own conversations."""
    talks = planted_conversations(Plan(conversations, turns=2))
    read = [read_conversation(talk, f"conversation_{place}.json")[0] for place, talk in enumerate(talks)]
    results = []
    for model, mode, takes in asked:
        for place, talk in enumerate(talks):
            if takes(place):
                made: dict[str, Any] = answered(talk, place, skill or Skill(), seed=1, name=model if skill else "same")
                made |= {"em_model": model, "provider": "test", "mode": mode}
                results.append(parse_result(made, source_file=f"{model[-9:]}-{mode}-{place}.json"))
    left = [] if results else [Skipped(read[0].conversation_id, "test", "skipped throughout", "default")]
    return score([talk for talk in read if talk is not None], results, resamples=50, skipped=left)


def every(_place: int) -> bool:
    return True


ODD: dict[str, Callable[[], Scores]] = {
    "no result": lambda: scores_of([], 2),
    "one conversation": lambda: scores_of(
        [("a", "default", every), ("b", "default", every)], 1, skill=Skill(judge=0.5)
    ),
    "one model": lambda: scores_of([("a", "default", every)], 4),
    "nothing in common": lambda: scores_of(
        [("a", "default", lambda place: place < 3), ("b", "default", lambda place: place >= 3)],
        6,
        skill=Skill(cost=0.1),
    ),
    "modes of other conversations": lambda: scores_of(
        [("a", "default", lambda place: place < 3), ("a", "verbose", lambda place: place >= 3)], 6, skill=Skill()
    ),
    "one conversation in common": lambda: scores_of(
        [("a", "default", lambda place: place < 3), ("b", "default", lambda place: place >= 2)], 5, skill=Skill()
    ),
    "all equal": lambda: scores_of([(name, "default", every) for name in "abc"], 5),
    "no primary mode": lambda: scores_of(
        [("a", "verbose", every), ("b", "omniscient", every), ("c", "of its own", every)], 4, skill=Skill()
    ),
    "long names": lambda: scores_of([("x" * 297 + f"{n:03}", "default", every) for n in range(60)], 2, skill=Skill()),
}
