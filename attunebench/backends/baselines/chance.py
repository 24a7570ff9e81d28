"""The baseline `random`: every item drawn uniformly from what could be answered.

A draw depends on the seed and the call's id alone, so neither the order of calls nor a resumed run changes it.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

from attunebench.backends.baselines.majority import Majority, Scene
from attunebench.constants import (
    BRANCHES,
    FOLLOW_UP_OPTIONS,
    PANAS_ITEMS,
    Q1_OPTIONS,
    Q2_OPTIONS,
    Q3_NEGATIVE,
    Q3_OPTIONS,
)
from attunebench.conversations.groups import NONE

if TYPE_CHECKING:
    from attunebench.conversations.schema import Letter
    from attunebench.conversations.traits import Trait
    from attunebench.protocol.calls import YesNo

MOST_TAGS = 3
_SENTENCES = (
    ("Thank you for telling me.", "I hear you.", "That is a lot.", "I see.", "Let us look at it together."),
    ("It makes sense that this stays with you.", "There are several sides to it.", "You know your situation best.",
     "It may help to take one thing at a time."),
    ("What would you like to happen next?", "What matters most to you here?", "I am here if you want to go on.",
     "How are you with it today?"),
)  # fmt: skip


class Random(Majority):
    """Uniform over the answers of each item, each by a generator of its own."""

    def draft(self, scene: Scene) -> str:
        rng = _generator(scene, "draft")
        return " ".join(rng.choice(sentences) for sentences in _SENTENCES)

    def tags(self, scene: Scene) -> list[dict[str, Any]]:
        rng = _generator(scene, "tags")
        emotions = rng.sample(PANAS_ITEMS, rng.randint(0, MOST_TAGS))
        return [{"emotion": emotion, "intensity": rng.randint(1, 7)} for emotion in emotions]

    def judgement(self, scene: Scene, question: str, *, wanted: bool) -> YesNo:
        answers: tuple[YesNo, YesNo] = ("yes", "no")
        return _generator(scene, f"{question}/{wanted}").choice(answers)

    def winner(self, scene: Scene, index: str) -> Letter:
        letters: tuple[Letter, Letter] = ("A", "B")
        return _generator(scene, f"pairwise/{index}").choice(letters)

    def mood(self, scene: Scene) -> dict[str, float]:
        rng = _generator(scene, "mood")
        return {item: rng.randint(1, 7) for item in PANAS_ITEMS}

    def mood_change(self, scene: Scene) -> dict[str, float]:
        rng = _generator(scene, "mood")
        return {item: rng.randint(-6, 6) for item in PANAS_ITEMS}

    def wide(self, scene: Scene) -> dict[str, Any]:
        rng = _generator(scene, "wide")
        fit = rng.choice(Q3_OPTIONS)
        return {
            "q1_lookingFor": rng.sample(Q1_OPTIONS, rng.randint(1, len(Q1_OPTIONS))),
            "q2_emotionClarity": rng.choice(Q2_OPTIONS),
            "q3_modelFit": fit,
            "q3_followUp_whatFeltOff": rng.sample(FOLLOW_UP_OPTIONS, rng.randint(1, 3)) if fit in Q3_NEGATIVE else [],
            "fourBranchScores": {branch: rng.randint(1, 7) for branch in BRANCHES},
        }

    def rating(self, scene: Scene, name: str) -> int:
        return _generator(scene, name).randint(1, 7)

    def trait(self, scene: Scene, trait: Trait) -> str | list[str] | int:
        rng = _generator(scene, f"trait/{trait.id}")
        if trait.form == "groups":
            # No group, or any of the sets of groups: as likely as each other.
            groups = [option for option in trait.options if option != NONE and rng.random() < 0.5]
            return groups or [NONE]
        return rng.choice(trait.options) if trait.options else rng.randint(trait.low, trait.high)


def _generator(scene: Scene, item: str) -> random.Random:
    request = scene.request
    # A text seeds the same generator on every platform and in every process, which a hash of a tuple would not.
    return random.Random(f"{request.seed or 0}/{request.call.id}/{item}")
