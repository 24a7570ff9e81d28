"""Makes result files for conversation files, as JSON: perfect ones, wrong ones, and ones with all kinds of gaps.

Works on the JSON of both formats alone, so that a test of the reader or scorer shares no code with them.
"""

from __future__ import annotations

import copy
import json
import random
from pathlib import Path
from typing import Any

from attunebench.constants import BRANCHES, PANAS_ITEMS, Q1_OPTIONS, Q2_OPTIONS, Q3_OPTIONS

FLIP = {"yes": "no", "no": "yes", "A": "B", "B": "A"}
BINARY_KEYS = {
    "em_binary_om_assessment": "observedBehavior",
    "em_binary_human_prediction": "preferredBehavior",
    "em_binary_om_assessment_hp": "observedBehavior",
    "em_binary_human_prediction_hp": "preferredBehavior",
}
TURN_KEYS = ("em_drafted_response", "em_emotion_tags", *BINARY_KEYS, "em_pairwise_selections")


def oracle_result(conversation: dict[str, Any], *, model: str = "oracle", provider: str = "baseline") -> dict[str, Any]:
    """The result of a model that answers everything as the person did, and drafts the edited reply."""
    return {
        "schema_version": "1.0",
        "provider": provider,
        "conversationId": conversation["conversationId"],
        "em_model": model,
        "mode": "default",
        "judge_models": ["judge-1"],
        "turns": [_oracle_turn(turn) for turn in conversation["turns"]],
        "post_conversation": {
            "panas_strategy": "absolute",
            "predicted_post_panas": {
                "items": {item: conversation["postPanas"]["responses"][item.lower()] for item in PANAS_ITEMS}
            },
            "predicted_conversation_wide": copy.deepcopy(conversation["conversationWideQuestions"]),
        },
    }


def _oracle_turn(turn: dict[str, Any]) -> dict[str, Any]:
    labels = turn["annotations"]
    answers: dict[str, Any] = {
        key: {j["questionId"]: j[side] for j in labels["binaryJudgements"] if j[side] in ("yes", "no")}
        for key, side in BINARY_KEYS.items()
    }
    preferred = {j["questionId"]: j["preferredBehavior"] for j in labels["binaryJudgements"]}
    return {
        "turnNumber": turn["turnNumber"],
        "em_drafted_response": labels["alternateResponses"]["humanEdited"],
        "em_emotion_tags": copy.deepcopy(turn["moodShiftTags"]),
        **answers,
        "em_pairwise_selections": {str(i): c["winner"] for i, c in enumerate(labels["pairwiseComparisons"])},
        "em_draft_judge_scores_by_model": {"judge-1": {"overall_score": 7, "helpfulness": 7}},
        "em_draft_binary_assessment_by_model": {
            "judge-1": {question: wish for question, wish in preferred.items() if wish in ("yes", "no")}
        },
    }


def noisy_result(conversation: dict[str, Any], seed: int, *, model: str = "noisy") -> dict[str, Any]:
    """A result with right, wrong, null and missing answers in every block, and now and then a block or turn gone."""
    rng = random.Random(f"result {seed} {conversation['conversationId']}")
    result = oracle_result(conversation, model=model, provider="test")
    absent = {key for key in TURN_KEYS if rng.random() < 0.07}
    for turn in result["turns"]:
        _spoil_turn(turn, rng)
        for key in absent:
            del turn[key]
    if rng.random() < 0.2:
        result["turns"].pop(rng.randrange(len(result["turns"])))
    if rng.random() < 0.2:
        result["judge_models"] = []
        for turn in result["turns"]:
            turn["em_draft_judge_scores_by_model"] = turn["em_draft_binary_assessment_by_model"] = {}
    _spoil_post(result, rng)
    if rng.random() < 0.5:
        made = rng.randint(1, 30)
        expected = rng.randint(100, 400)
        result["calls"] = {
            "made": made,
            "reasked": 0,
            "mended": rng.randint(0, made),
            "refused": rng.randint(0, made),
            "answered_items": rng.randint(0, expected),
            "expected_items": expected,
        }
    return result


def _spoil_turn(turn: dict[str, Any], rng: random.Random) -> None:
    turn["em_emotion_tags"] = _spoiled_tags(turn["em_emotion_tags"], rng)
    for key in (*BINARY_KEYS, "em_pairwise_selections"):
        turn[key] = _spoiled_map(turn[key], rng)
    turn["em_drafted_response"] = rng.choice(
        (turn["em_drafted_response"], "I hear you, and that sounds hard.", "My sister forgot the flat", "  ", None)
    )
    for judge in ("judge-1", "judge-2"):
        marks = {name: rng.randint(1, 8) for name in ("overall_score", "helpfulness") if rng.random() < 0.8}
        turn["em_draft_judge_scores_by_model"][judge] = marks
        votes = turn["em_draft_binary_assessment_by_model"]
        votes[judge] = _spoiled_map(votes.get(judge, votes["judge-1"]), rng) or {}


def _spoiled_tags(tags: list[dict[str, Any]], rng: random.Random) -> list[Any] | None:
    if rng.random() < 0.15:
        return None
    kept: list[Any] = [
        {"emotion": tag["emotion"].upper(), "intensity": rng.choice((tag["intensity"], rng.randint(1, 7), 9, None))}
        for tag in tags
        if rng.random() < 0.7
    ]
    added = [rng.choice((*PANAS_ITEMS, "Joyful")) for _ in range(rng.choice((0, 0, 1, 2, 3)))]
    return [*kept, *({"emotion": emotion, "intensity": rng.randint(1, 7)} for emotion in added)]


def _spoiled_map(answers: dict[str, str], rng: random.Random) -> dict[str, Any] | None:
    if rng.random() < 0.1:
        return None
    spoiled: dict[str, Any] = {}
    for key, value in answers.items():
        draw = rng.random()
        if draw < 0.6:
            spoiled[key] = value
        elif draw < 0.85:
            spoiled[key] = FLIP.get(value, "no")
        elif draw < 0.92:
            spoiled[key] = rng.choice((None, "both"))
    return spoiled


def _spoil_post(result: dict[str, Any], rng: random.Random) -> None:
    post = result["post_conversation"]
    items = {item: rng.choice((value, rng.randint(1, 7))) for item, value in _items(post).items()}
    if rng.random() < 0.4:
        items.pop(rng.choice(PANAS_ITEMS))
    if rng.random() < 0.2:
        items[rng.choice(PANAS_ITEMS)] = 8
    post["predicted_post_panas"] = {"items": items}
    if rng.random() < 0.4:
        post["predicted_post_panas"]["totalPositiveAffect"] = rng.choice((35, 9, 71, None))
        post["predicted_post_panas"]["totalNegativeAffect"] = rng.choice((12, 70.0))
    wide = post["predicted_conversation_wide"]
    changes: dict[str, tuple[Any, ...]] = {
        "q1_lookingFor": (rng.sample(Q1_OPTIONS, 2), [], None),
        "q2_emotionClarity": (rng.choice(Q2_OPTIONS).upper(), "No idea", None),
        "q3_modelFit": (rng.choice(Q3_OPTIONS), "No idea", None),
        "q3_followUp_whatFeltOff": (["Gave  advice before it listened", "too LONG", "Other"], ["Nothing"], [], None),
    }
    for key, options in changes.items():
        if rng.random() < 0.6:
            wide[key] = rng.choice(options)
    for branch in BRANCHES:
        wide["fourBranchScores"][branch] = rng.choice((rng.randint(1, 7), 4.5, None, 0))
    draw = rng.random()
    if draw < 0.06:
        result["post_conversation"] = None
    elif draw < 0.12:
        del result["post_conversation"]
    elif draw < 0.18:
        del post["predicted_conversation_wide"]


def _items(post: dict[str, Any]) -> dict[str, int]:
    items: dict[str, int] = post["predicted_post_panas"]["items"]
    return items


def write_result(folder: str | Path, result: dict[str, Any], name: str | None = None) -> Path:
    """Write one result file the way a run names it; returns its path."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts = (
        result["conversationId"],
        result.get("provider", "unknown"),
        result["em_model"],
        result.get("mode", "default"),
    )
    path = folder / (name or f"{'_'.join(parts)}.json")
    path.write_text(json.dumps(result, ensure_ascii=False), encoding="utf-8")
    return path
