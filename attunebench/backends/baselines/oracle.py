"""The baselines that look at labels. `oracle`: the participant's own answers; not a model but the ceiling, and the
pipeline's self-test. `no-change`: the conversation leaves the mood as it was.

Where the truth is unknown they answer like `majority`; a scorer leaves such items out anyway.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attunebench.backends.baselines.majority import MIDDLE, Majority, Scene, mood_levels
from attunebench.constants import PANAS_ITEMS
from attunebench.conversations.traits import Span, truth_of

if TYPE_CHECKING:
    from attunebench.conversations.schema import Letter
    from attunebench.conversations.traits import Trait
    from attunebench.protocol.calls import YesNo


class NoChange(Majority):
    """Post mood = pre mood, as far as that is known."""

    def mood(self, scene: Scene) -> dict[str, float]:
        before = mood_levels(scene.conversation.pre_panas) if scene.conversation else {}
        return {**super().mood(scene), **before}


class Oracle(Majority):
    """Copies labels; its draft is the reply that the participant edited."""

    reasoning = "This answer is copied from the participant's own labels."

    def draft(self, scene: Scene) -> str:
        turn = scene.turn
        return (turn and (turn.human_edited or turn.llm_improved or turn.llm_response)) or super().draft(scene)

    def tags(self, scene: Scene) -> list[dict[str, Any]]:
        if scene.turn is None or scene.turn.tags is None:
            return super().tags(scene)
        tags = scene.turn.tags
        return [
            {"emotion": tag.emotion, "intensity": MIDDLE if tag.intensity is None else tag.intensity} for tag in tags
        ]

    def judgement(self, scene: Scene, question: str, *, wanted: bool) -> YesNo:
        for judgement in scene.turn.judgements if scene.turn else ():
            if judgement.question_id == question:
                truth = judgement.preferred if wanted else judgement.observed
                if truth == "yes" or truth == "no":
                    return truth
        return super().judgement(scene, question, wanted=wanted)

    def winner(self, scene: Scene, index: str) -> Letter:
        comparisons = scene.turn.comparisons if scene.turn else ()
        number = int(index) if index.isdecimal() else len(comparisons)
        truth = comparisons[number].winner if number < len(comparisons) else None
        return truth or super().winner(scene, index)

    def mood(self, scene: Scene) -> dict[str, float]:
        known = mood_levels(scene.conversation.post_panas) if scene.conversation else {}
        return {**super().mood(scene), **known}

    def mood_change(self, scene: Scene) -> dict[str, float]:
        if scene.conversation is None:
            return super().mood_change(scene)
        before, after = mood_levels(scene.conversation.pre_panas), mood_levels(scene.conversation.post_panas)
        return {item: after[item] - before[item] if item in before and item in after else 0 for item in PANAS_ITEMS}

    def wide(self, scene: Scene) -> dict[str, Any]:
        guess = super().wide(scene)
        if scene.conversation is None:
            return guess
        truth = scene.conversation.wide
        texts = {
            "q1_lookingFor": None if truth.q1 is None else list(truth.q1),
            "q2_emotionClarity": truth.q2,
            "q3_modelFit": truth.q3,
            "q3_followUp_whatFeltOff": None if truth.follow_up is None else list(truth.follow_up),
        }
        known = {key: value for key, value in texts.items() if value is not None}
        return {**guess, **known, "fourBranchScores": {**guess["fourBranchScores"], **truth.four_branch}}

    def trait(self, scene: Scene, trait: Trait) -> str | list[str] | int:
        truth = truth_of(trait, scene.conversation.profile) if scene.conversation else None
        if truth is None:
            return super().trait(scene, trait)
        if isinstance(truth, Span):
            # Any year of the range is right; that nearest to what can be answered is.
            return int(min(max(truth.low, trait.low), truth.high))
        if isinstance(truth, frozenset):
            return [option for option in trait.options if option in truth]
        return truth if isinstance(truth, str) else round(truth)
