"""The baseline `majority`: constant answers that are right most often in general.

The constants are judgements about talks between a person and a chat model, written down before any data was looked
at, and are not fitted to data at hand: usual replies acknowledge, validate, mirror and ask; people mostly want that,
and do not want to be judged, alarmed, lectured or led elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attunebench.backends.baselines.answering import Baseline, Scene
from attunebench.constants import BRANCHES, PANAS_ITEMS
from attunebench.conversations.groups import NONE
from attunebench.conversations.traits import BANDS, DIAGNOSES, EDUCATION, ENGLISH, GENDERS, NEGATIVE, NOT_POOR

if TYPE_CHECKING:
    from attunebench.conversations.schema import Letter
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
    "tipi_extraversion": 9,
    "tipi_agreeableness": 10,
    "tipi_conscientiousness": 11,
    "tipi_stability": 10,
    "tipi_openness": 11,
    "age": 30,
    "gender": GENDERS[0],
    "education": EDUCATION[2],
    "english_proficiency": ENGLISH[0],
}
"""Most people screen negative. TIPI: twice the means that its authors published (Gosling et al. 2003), rounded. The
rest is who takes part in studies on the web most often."""

DRAFT = (
    "Thank you for telling me this. It sounds as if it weighs on you, and it makes sense that you feel the way you do. "
    "What has been the hardest part of it for you?"
)


class Majority(Baseline):
    """Looks at nothing but what is asked."""

    def draft(self, scene: Scene) -> str:
        return DRAFT

    def tags(self, scene: Scene) -> list[dict[str, Any]]:
        return []

    def judgement(self, scene: Scene, question: str, *, wanted: bool) -> YesNo:
        return "yes" if question in (WANTED_YES if wanted else OBSERVED_YES) else "no"

    def winner(self, scene: Scene, index: str) -> Letter:
        # The letters say nothing about the variants, so any constant is as good as another.
        return "A"

    def mood(self, scene: Scene) -> dict[str, float]:
        return dict.fromkeys(PANAS_ITEMS, MIDDLE)

    def mood_change(self, scene: Scene) -> dict[str, float]:
        return dict.fromkeys(PANAS_ITEMS, 0)

    def wide(self, scene: Scene) -> dict[str, Any]:
        return {
            "q1_lookingFor": ["To help me understand or sort out my feelings"],
            "q2_emotionClarity": "Clear and explicitly stated",
            "q3_modelFit": "Mostly well-matched",
            "q3_followUp_whatFeltOff": [],
            "fourBranchScores": dict.fromkeys(BRANCHES, GOOD),
        }

    def rating(self, scene: Scene, name: str) -> int:
        return MIDDLE

    def trait(self, scene: Scene, trait: Trait) -> str | list[str] | int:
        return TRAITS[trait.id]
