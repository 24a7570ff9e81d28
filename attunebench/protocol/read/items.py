"""What a call asks for, item by item: the paths that `missing` names.

Knows the answer formats of spec 3.2, and no text.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attunebench.codebook import Codebook, default_codebook
from attunebench.protocol.calls import CHANGES, Asked
from attunebench.protocol.schemas import Path, item_paths

BINARY_MAPS = ("binary_om_assessment", "binary_human_prediction")
JUDGE_MAP = "draft_binary_assessment"
WIDE = "conversation_wide"
Q1, Q2, Q3 = "q1_lookingFor", "q2_emotionClarity", "q3_modelFit"
FOLLOW_UP = "q3_followUp_whatFeltOff"
FOUR_BRANCH = "fourBranchScores"


def mood_key(asked: Asked) -> str:
    """The key under which `post` gives the mood afterwards."""
    return "predicted_panas_delta" if asked.panas in CHANGES else "predicted_post_panas"


def expected_items(asked: Asked, codebook: Codebook | None = None) -> tuple[str, ...]:
    """Every item that the call asks for, as a path such as `binary_om_assessment.B13`."""
    return tuple(".".join(path) for path in item_paths(asked, codebook or default_codebook()))


def at(values: Mapping[str, Any], path: Path) -> Any:
    """The value at `path` in nested dicts, or None."""
    found: Any = dict(values) if not isinstance(values, dict) else values
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def missing(values: Mapping[str, Any], asked: Asked, codebook: Codebook) -> tuple[str, ...]:
    """The paths of the items that `values` does not answer."""
    return tuple(".".join(path) for path in item_paths(asked, codebook) if at(values, path) is None)
