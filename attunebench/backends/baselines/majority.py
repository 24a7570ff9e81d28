"""The baseline `majority`: constant answers that are right most often in general.

Other baselines put what they know better in their place; the shape of an answer is here, once.

The constants are judgements about talks between a person and a chat model, written down before any data was looked
at, and are not fitted to data at hand: usual replies acknowledge, validate, mirror and ask; people mostly want that,
and do not want to be judged, alarmed, lectured or led elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attunebench.constants import BRANCHES, PANAS_ITEMS, PANAS_NEGATIVE, PANAS_POSITIVE
from attunebench.conversations.groups import NONE
from attunebench.conversations.traits import BANDS, DIAGNOSES, EDUCATION, ENGLISH, GENDERS, NEGATIVE, NOT_POOR
from attunebench.protocol.calls import CHANGES, PREDICTED_PROFILE, RATINGS

if TYPE_CHECKING:
    from attunebench.backends.base import Request
    from attunebench.conversations.schema import Letter, Panas
    from attunebench.conversations.traits import Trait
    from attunebench.protocol.calls import YesNo

OBSERVED_YES = frozenset(f"B{number}" for number in (1, 2, 3, 4, 7, 8, 9, 10, 12, 13, 15, 19, 108, 109, 316, 501, 505))
"""What usual replies do; all else they do not."""
WANTED_YES = OBSERVED_YES - {"B12"} | {"B16", "B503", "B504"}
"""What people mostly want; all else they do not. A reply need not explain, but should adapt and leave readings open."""

MIDDLE = 4
"""The middle of every 1–7 scale."""
GOOD = 5
"""People rate the model they talked with a little above the middle."""

TRAITS: dict[str, str | list[str] | int] = {
    DIAGNOSES: [NONE],
    "who_5": NOT_POOR,
    **dict.fromkeys(("promis_anxiety", "promis_depression", "promis_sleep"), BANDS[0]),
    **dict.fromkeys(("aq_10", "asrs_6"), NEGATIVE),
    "tipi_extraversion": 9, "tipi_agreeableness": 10, "tipi_conscientiousness": 11, "tipi_stability": 10,
    "tipi_openness": 11, "age": 30, "gender": GENDERS[0], "education": EDUCATION[2], "english_proficiency": ENGLISH[0],
}  # fmt: skip
"""Most people screen negative. TIPI: twice the means that its authors published (Gosling et al. 2003), rounded. The
rest is who takes part in studies on the web most often."""

DRAFT = (
    "Thank you for telling me this. It sounds as if it weighs on you, and it makes sense that you feel the way you do. "
    "What has been the hardest part of it for you?"
)


class Scene:
    """What a baseline may look at: the call and, where the caller gave it, the conversation with its labels.

    `turn` is the one that the call is about; None for the whole conversation, or where no conversation was given.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.asked = request.call.asked
        self.conversation = request.conversation
        turns = request.conversation.turns if request.conversation else ()
        self.turn = next((turn for turn in turns if turn.number == request.call.turn), None)


class Majority:
    """Looks at nothing but what is asked."""

    reasoning = "This answer comes from a built-in baseline, which gives no reasons."

    def answer(self, scene: Scene) -> dict[str, Any]:
        """The answer object of the call, in the keys of the answer format (spec 3.2)."""
        asked = scene.asked
        reasons = ["reasoning"] if asked.verbose and asked.kind != "judge" else []
        if reasons and asked.kind == "review":
            reasons += ["emotion_reasoning", "binary_reasoning"] if asked.questions else ["emotion_reasoning"]
        return {**dict.fromkeys(reasons, self.reasoning), **self._items(scene)}

    def _items(self, scene: Scene) -> dict[str, Any]:
        asked = scene.asked
        if asked.kind == "draft":
            return {"drafted_response": self.draft(scene)}
        if asked.kind == "review":
            return {"emotion_tags": self.tags(scene), **self._judgements(scene)}
        if asked.kind == "binary_hp":
            return self._judgements(scene)
        if asked.kind == "pairwise":
            return {"pairwise_selections": {index: self.winner(scene, index) for index in asked.comparisons}}
        if asked.kind == "post":
            changes = asked.panas in CHANGES
            name = "predicted_panas_delta" if changes else "predicted_post_panas"
            items = self.mood_change(scene) if changes else self.mood(scene)
            return {name: {"items": items}, "conversation_wide": self.wide(scene)}
        if asked.kind == "profile":
            return {PREDICTED_PROFILE: {trait.id: self.trait(scene, trait) for trait in asked.traits}}
        ratings = {name: self.rating(scene, name) for name in RATINGS} if asked.rated else {}
        # A judge looks at a draft, which none of the baselines reads: what would be liked is the best guess.
        binary = {question: self.judgement(scene, question, wanted=True) for question in asked.questions}
        return {**ratings, "draft_binary_assessment": binary} if binary else ratings

    def _judgements(self, scene: Scene) -> dict[str, Any]:
        kinds = {"binary_om_assessment": False, "binary_human_prediction": True} if scene.asked.questions else {}
        return {
            kind: {question: self.judgement(scene, question, wanted=wanted) for question in scene.asked.questions}
            for kind, wanted in kinds.items()
        }

    def draft(self, scene: Scene) -> str:
        """A reply to the participant's message."""
        return DRAFT

    def tags(self, scene: Scene) -> list[dict[str, Any]]:
        """The emotions of the turn, as {emotion, intensity 1–7}."""
        return []

    def judgement(self, scene: Scene, question: str, *, wanted: bool) -> YesNo:
        """One binary question about the reply: whether it did it or, `wanted`, whether it would have been liked."""
        return "yes" if question in (WANTED_YES if wanted else OBSERVED_YES) else "no"

    def winner(self, scene: Scene, index: str) -> Letter:
        """The preferred side of one comparison."""
        # The letters say nothing about the variants, so any constant is as good as another.
        return "A"

    def mood(self, scene: Scene) -> dict[str, float]:
        """Display name → 1–7 after the conversation, all twenty."""
        return dict.fromkeys(PANAS_ITEMS, MIDDLE)

    def mood_change(self, scene: Scene) -> dict[str, float]:
        """Display name → change from before to after, −6…6, all twenty."""
        return dict.fromkeys(PANAS_ITEMS, 0)

    def wide(self, scene: Scene) -> dict[str, Any]:
        """The answers about the whole conversation, by their keys in the answer format."""
        return {
            "q1_lookingFor": ["To help me understand or sort out my feelings"],
            "q2_emotionClarity": "Clear and explicitly stated",
            "q3_modelFit": "Mostly well-matched",
            "q3_followUp_whatFeltOff": [],
            "fourBranchScores": dict.fromkeys(BRANCHES, GOOD),
        }

    def rating(self, scene: Scene, name: str) -> int:
        """A judge's rating of a draft, 1–7."""
        return MIDDLE

    def trait(self, scene: Scene, trait: Trait) -> str | list[str] | int:
        """One trait of the participant's profile: an answer of it, a list of them for groups, a number."""
        return TRAITS[trait.id]


def mood_levels(panas: Panas) -> dict[str, float]:
    """Display name → 1–7, known ones only; for an unknown item a tenth of its side's total stands in."""
    levels: dict[str, float] = {}
    for side, total in ((PANAS_POSITIVE, panas.positive), (PANAS_NEGATIVE, panas.negative)):
        for item in side:
            level = panas.items.get(item.lower(), None if total is None else total / len(side))
            if level is not None:
                levels[item] = level
    return levels
