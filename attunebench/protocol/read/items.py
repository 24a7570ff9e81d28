"""What a call asks for, item by item: the paths that `missing` names.

Knows the answer formats of spec 3.2, and no text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attunebench.codebook import Codebook, default_codebook
from attunebench.protocol.calls import CHANGES, PREDICTED_PROFILE, RATINGS, Asked

BINARY_MAPS = ("binary_om_assessment", "binary_human_prediction")
JUDGE_MAP = "draft_binary_assessment"
WIDE = "conversation_wide"
Q1, Q2, Q3 = "q1_lookingFor", "q2_emotionClarity", "q3_modelFit"
FOLLOW_UP = "q3_followUp_whatFeltOff"
FOUR_BRANCH = "fourBranchScores"

Path = tuple[str, ...]


def mood_key(asked: Asked) -> str:
    """The key under which `post` gives the mood afterwards."""
    return "predicted_panas_delta" if asked.panas in CHANGES else "predicted_post_panas"


def paths(asked: Asked, codebook: Codebook) -> tuple[Path, ...]:
    """Every item of the call, in the order of its answer format, as the keys that lead to it."""
    if asked.kind == "draft":
        return (("drafted_response",),)
    if asked.kind == "pairwise":
        return tuple(("pairwise_selections", index) for index in asked.comparisons)
    if asked.kind == "post":
        mood = mood_key(asked)
        return (
            *((mood, "items", item) for item in codebook.panas),
            *((WIDE, key) for key in (Q1, Q2, Q3, FOLLOW_UP)),
            *((WIDE, FOUR_BRANCH, branch) for branch in codebook.branches),
        )
    if asked.kind == "profile":
        return tuple((PREDICTED_PROFILE, trait.id) for trait in asked.traits)
    if asked.kind == "judge":
        rated: tuple[Path, ...] = tuple((key,) for key in RATINGS) if asked.rated else ()
        return (*rated, *((JUDGE_MAP, question) for question in asked.questions))
    tags: tuple[Path, ...] = (("emotion_tags",),) if asked.kind == "review" else ()
    return (*tags, *((key, question) for key in BINARY_MAPS for question in asked.questions))


def expected_items(asked: Asked, codebook: Codebook | None = None) -> tuple[str, ...]:
    """Every item that the call asks for, as a path such as `binary_om_assessment.B13`."""
    return tuple(".".join(path) for path in paths(asked, codebook or default_codebook()))


def at(values: Mapping[str, Any], path: Path) -> Any:
    """The value at `path` in nested dicts, or None."""
    found: Any = dict(values) if not isinstance(values, dict) else values
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def missing(values: Mapping[str, Any], asked: Asked, codebook: Codebook) -> tuple[str, ...]:
    """The paths of the items that `values` does not answer."""
    return tuple(".".join(path) for path in paths(asked, codebook) if at(values, path) is None)
