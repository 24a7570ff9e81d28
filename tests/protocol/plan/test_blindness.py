"""No human label reaches a prompt, except as spec 01 lists.

Every leaf of a conversation file is changed in turn, and all prompts are planned again: only the prompts that the list
allows may move.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
from factory import make_conversation
from talks import parsed

from attunebench.codebook import default_codebook
from attunebench.constants import BINARY_CATEGORY, PANAS_ITEMS, Q1_OPTIONS, Q2_OPTIONS, Q3_NEGATIVE, Q3_OPTIONS
from attunebench.protocol.calls import BLIND, KINDS, PanasStrategy
from attunebench.protocol.modes import MODES, is_omniscient
from attunebench.protocol.plan import plan_conversation

CODEBOOK = default_codebook()
STRATEGIES: tuple[PanasStrategy, ...] = ("absolute", "blind", "blind_delta")
EM_KINDS = {kind for kind in KINDS if kind != "judge"}
Path = tuple[str | int, ...]

NOWHERE: set[str] = set()
IN_PLAIN_MODES: list[tuple[str, set[str]]] = [
    (r"metadata\..*", NOWHERE),
    (r"participant_profile\..*", NOWHERE),
    (r"prePanas\..*", {"post"}),
    (r"postPanas\..*", NOWHERE),
    (r"conversationWideQuestions\..*", NOWHERE),
    (r"turns\.\d+\.moodShiftTags\..*", NOWHERE),
    (r".*\.(observed|preferred)Behavior", NOWHERE),
    (r".*\.winner", NOWHERE),
    (r".*\.selectedPairwiseQuestions\..*", NOWHERE),
    (r".*\.binaryJudgements\.\d+\.questionId", {"review", "binary_hp", "judge"}),
    (r".*\.pairwiseComparisons\.\d+\.(questionId|response[AB])", {"pairwise"}),
    (r".*\.llmImproved", {"pairwise"}),
    (r".*\.humanEdited", {"pairwise", "judge"}),
    (r"turns\.\d+\.(userMessage|llmResponse)", set(KINDS)),
]
IN_NO_BACKGROUND = {"participant_id", "schema_version", "profile_type"}
LISTS: dict[str, tuple[str, ...]] = {
    "emotion": PANAS_ITEMS,
    "q2_emotionClarity": Q2_OPTIONS,
    # A change of sign would change what the follow-up may hold.
    "q3_modelFit": tuple(option for option in Q3_OPTIONS if option not in Q3_NEGATIVE),
    "q1_lookingFor": Q1_OPTIONS,
    "questionId": tuple(BINARY_CATEGORY),
    "selectedPairwiseQuestions": ("PW1", "PW2", "PW3", "PW5", "PW6"),
}


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    if isinstance(value, dict | list):
        for key, child in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(child, (*path, key))
    else:
        yield path


def at(raw: Any, path: Path) -> Any:
    for key in path:
        raw = raw[key]
    return raw


def changed(raw: dict[str, Any], path: Path) -> dict[str, Any]:
    """The file with another valid value at `path`."""
    raw = copy.deepcopy(raw)
    parent, key, old = at(raw, path[:-1]), path[-1], at(raw, path)
    name = key if isinstance(key, str) else path[-2]
    if "Behavior" in str(name):
        parent[key] = {"yes": "no", "no": "yes"}.get(old, old)
    elif name in ("winner",):
        parent[key] = {"A": "B", "B": "A"}[old]
    elif name in ("responseA", "responseB"):
        parent["responseA"], parent["responseB"] = parent["responseB"], parent["responseA"]
    elif name == "questionId" and old.startswith(("PW", "general")):
        parent[key] = "PW1" if old != "PW1" else "PW2"
    elif name in LISTS:
        taken = {old, *(parent if isinstance(parent, list) else ())}
        if name == "questionId":
            taken |= {judgement["questionId"] for judgement in at(raw, path[:-2])}
        parent[key] = next((option for option in LISTS[str(name)] if option not in taken), old)
    elif isinstance(old, int | float):
        parent[key] = old - 1 if old > 1 else old + 1
    else:
        parent[key] = f"{old} changed"
    return raw


def prompts(raw: dict[str, Any]) -> dict[tuple[str, str, str], Any]:
    """(strategy, mode, call) → messages."""
    conversation = parsed(raw)
    return {
        (strategy, mode, call.id): call.messages
        for strategy in STRATEGIES
        for mode in MODES
        if not (strategy in BLIND and is_omniscient(mode))
        for call in plan_conversation(conversation, mode, CODEBOOK, judges=1, panas_strategy=strategy)
    }


def moved(before: dict[tuple[str, str, str], Any], after: dict[tuple[str, str, str], Any]) -> set[tuple[str, str, str]]:
    """(strategy, mode, kind) of the prompts that differ."""
    differing = {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}
    return {(strategy, mode, call_id.split("/")[3]) for strategy, mode, call_id in differing}


def may_move(path: Path, strategy: str, mode: str) -> set[str]:
    dotted = ".".join(map(str, path))
    kinds = next(kinds for pattern, kinds in IN_PLAIN_MODES if re.fullmatch(pattern, dotted))
    background = path[0] == "prePanas" or (path[0] == "participant_profile" and path[-1] not in IN_NO_BACKGROUND)
    if mode.endswith("omniscient") and background:
        return EM_KINDS
    return NOWHERE if path[0] == "prePanas" and strategy in BLIND else kinds


RAW = make_conversation(11, 2)
BEFORE = prompts(RAW)
LEAVES = [path for path in leaves(RAW) if path[-1] not in ("conversationId", "turnNumber")]


@pytest.mark.parametrize("path", LEAVES, ids=lambda path: ".".join(map(str, path)))
def test_a_label_moves_no_prompt_but_the_listed_ones(path: Path) -> None:
    for strategy, mode, kind in moved(BEFORE, prompts(changed(RAW, path))):
        assert kind in may_move(path, strategy, mode)


def test_between_na_and_yes_only_the_list_of_questions_moves() -> None:
    raw = copy.deepcopy(RAW)
    judgements = raw["turns"][0]["annotations"]["binaryJudgements"]
    judgements[0] |= {"observedBehavior": "na", "preferredBehavior": "na"}
    kinds = {kind for _, _, kind in moved(BEFORE, prompts(raw))}
    assert {"review", "binary_hp", "judge"} == kinds
    judgements[0] |= {"observedBehavior": "na", "preferredBehavior": "no"}
    assert BEFORE == prompts(raw)


@pytest.mark.parametrize("winner", [None, "", "tie"])
def test_a_comparison_without_a_winner_is_still_asked(winner: str | None) -> None:
    raw = copy.deepcopy(RAW)
    raw["turns"][0]["annotations"]["pairwiseComparisons"][0]["winner"] = winner
    assert BEFORE == prompts(raw)


@pytest.mark.parametrize(
    ("path", "kinds"),
    [
        (("participant_profile", "computed_scores", "who_5"), EM_KINDS),
        (("participant_profile", "conversation_topic_attitude"), EM_KINDS),
        (("prePanas", "responses", "proud"), EM_KINDS),
        (("turns", 0, "annotations", "alternateResponses", "humanEdited"), {"pairwise", "judge"}),
    ],
)
def test_what_may_be_shown_is_shown(path: Path, kinds: set[str]) -> None:
    assert kinds == {kind for _, mode, kind in moved(BEFORE, prompts(changed(RAW, path))) if mode == "omniscient"}
