"""The baseline `no-change`: the conversation leaves the mood as it was. The rest as `majority`."""

from __future__ import annotations

from attunebench.backends.baselines.answering import Scene
from attunebench.backends.baselines.majority import Majority
from attunebench.constants import PANAS_NEGATIVE, PANAS_POSITIVE


class NoChange(Majority):
    """Post mood = pre mood; for an unknown item a tenth of its side's total stands in."""

    def mood(self, scene: Scene) -> dict[str, float]:
        mood = super().mood(scene)
        if scene.conversation is None:
            return mood
        before = scene.conversation.pre_panas
        for side, total in ((PANAS_POSITIVE, before.positive), (PANAS_NEGATIVE, before.negative)):
            for item in side:
                known = before.items.get(item.lower(), None if total is None else total / len(side))
                mood[item] = mood[item] if known is None else known
        return mood
