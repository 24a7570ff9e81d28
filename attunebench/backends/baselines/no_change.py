"""The baseline `no-change`: the conversation leaves the mood as it was. The rest as `majority`."""

from __future__ import annotations

from attunebench.backends.baselines.answering import Scene, mood_levels
from attunebench.backends.baselines.majority import Majority


class NoChange(Majority):
    """Post mood = pre mood, as far as that is known."""

    def mood(self, scene: Scene) -> dict[str, float]:
        before = mood_levels(scene.conversation.pre_panas) if scene.conversation else {}
        return {**super().mood(scene), **before}
