"""`score --rules released` against the tests' own reading of spec 09, on conversations and results full of gaps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import released_oracle as oracle
from released_cases import conversation, result
from released_turns import of_counts

from attunebench.cli.main import main

CONVERSATIONS = 120
GROUPS = [(model, mode) for model in ("model-a", "model-b") for mode in ("default", "verbose")]

OF_TURNS = {
    "emotion_hit_rate": "emotion_hit_rate",
    "emotion_f1": "emotion_f1",
    "emotion_precision": "emotion_precision",
    "emotion_recall": "emotion_recall",
    "emotion_f1_intensity": "emotion_f1_intensity",
    "emotion_intensity_mae": "emotion_intensity_mae",
    "emotion_va_score": "emotion_va",
    "emotion_va_intensity_score": "emotion_va_intensity",
    "binary_om_accuracy": "binary_om_accuracy",
    "binary_human_accuracy": "binary_hp_accuracy",
    "binary_om_accuracy_hp": "binary_om_accuracy_hp",
    "binary_human_accuracy_hp": "binary_hp_accuracy_hp",
    "pairwise_accuracy": "pairwise_accuracy",
    "pairwise_kendall_tau": "kendall_tau",
    "draft_judge_score": "draft_judge",
    "draft_binary_alignment": "draft_binary_alignment",
    "response_similarity": "response_similarity_max",
    "response_preference_alignment": "response_preference_alignment",
}
IDS_OF_TURNS = tuple(OF_TURNS.values())
OF_CONVERSATIONS = {
    **OF_TURNS,
    "emotion_hit_rate_tagged_only": "emotion_hit_rate_tagged",
    "hp_perspective_gap": "phrasing_gap",
    "hp_perspective_alignment": "hp_perspective_alignment",
    "hp_perspective_gap_mcc": "hp_perspective_gap_mcc",
    "hp_perspective_alignment_mcc": "hp_perspective_alignment_mcc",
    "panas_mae": "panas_mae",
    "panas_normalized": "panas_normalized",
    "panas_baseline_adjusted": "panas_baseline_adjusted",
    "panas_item_mae": "panas_item_mae",
    "panas_item_normalized": "panas_item_normalized",
    "panas_item_baseline_adjusted": "panas_item_baseline_adjusted",
    "q1_looking_for_score": "q1_goals",
    "q1_jaccard": "q1_jaccard",
    "q2_match": "q2_clarity",
    "q3_match": "q3_fit",
    "q3_model_fit_ordinal_distance": "q3_fit_distance",
    "q3_follow_up_score": "q3_follow_up",
    "four_branch_normalized": "four_branch",
    "turn_level_average": "turn_level_average",
    "conversation_wide_average": "conversation_wide_average",
    "composite_score": "composite",
    "equal_weight_composite": "equal_weight_composite",
}
"""Key of the released scorer → id in our scores.json (spec 09, last section)."""
POOLED = {
    "binary_om": "binary_om",
    "binary_human": "binary_hp",
    "binary_om_hp": "binary_om_hp",
    "binary_human_hp": "binary_hp_hp",
}


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], dict[tuple[str, ...], dict[str, Any]]]:
    """scores.json, and the oracle's scores by conversation, model and mode."""
    root = tmp_path_factory.mktemp("released")
    for folder in ("data", "results"):
        (root / folder).mkdir()
    expected = {}
    for seed in range(CONVERSATIONS):
        talk = conversation(seed)
        (root / "data" / f"conversation_{seed + 1}.json").write_text(json.dumps(talk), encoding="utf-8")
        for model, mode in GROUPS:
            answers = result(talk, model, mode)
            (root / "results" / f"{seed}-{model}-{mode}.json").write_text(json.dumps(answers), encoding="utf-8")
            expected[talk["conversationId"], model, mode] = oracle.conversation_scores(talk, answers)
    return scored(root), expected


def scored(root: Path) -> dict[str, Any]:
    words = ["--results", root / "results", "--ground-truth", root / "data", "--output", root / "scores.json"]
    with pytest.raises(SystemExit) as ended:
        main(["score", *map(str, words), "--rules", "released"])
    assert not ended.value.code
    scores: dict[str, Any] = json.loads((root / "scores.json").read_text("utf-8"))
    return scores


def differences(expected: Mapping[str, Any], given: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    """Id → (by the oracle, by the product) where they differ by more than 1e-9 or one of them is undefined."""
    pairs = {name: (expected.get(key), given.get(name, "no such id")) for key, name in ids.items()}
    return {name: pair for name, pair in pairs.items() if pytest.approx(pair[0], abs=1e-9) != pair[1]}


def of_all(found: Mapping[object, dict[str, Any]]) -> dict[object, dict[str, Any]]:
    return {where: differing for where, differing in found.items() if differing}


@pytest.mark.slow
def test_the_scores_name_their_rules(study: Any) -> None:
    assert "released" == study[0]["metadata"]["rules"]


def test_every_conversation_is_scored_as_the_oracle_does(study: Any) -> None:
    scores, expected = study
    entries = {(each["conversationId"], each["em_model"], each["mode"]): each for each in scores["conversations"]}
    assert expected.keys() == entries.keys()
    assert {} == of_all(
        {key: differences(each["values"], entries[key]["metrics"], OF_CONVERSATIONS) for key, each in expected.items()}
    )


def test_every_turn_is_scored_as_the_oracle_does(study: Any) -> None:
    scores, expected = study
    found = {}
    for entry in scores["conversations"]:
        key = (entry["conversationId"], entry["em_model"], entry["mode"])
        turns = {turn["turnNumber"]: turn["metrics"] for turn in entry["turns"]}
        of_one_file = turns.keys() - expected[key]["turns"].keys()
        assert [] == [name for number in of_one_file for name in IDS_OF_TURNS if turns[number].get(name) is not None]
        for number, values in expected[key]["turns"].items():
            found[(*key, number)] = differences(values, turns[number], OF_TURNS)
    assert {} == of_all(found)


def test_the_counts_of_yes_and_no_are_pooled_as_the_oracle_does(study: Any) -> None:
    scores, expected = study
    found = {}
    for entry in scores["conversations"]:
        key = (entry["conversationId"], entry["em_model"], entry["mode"])
        for name, block in POOLED.items():
            counts = expected[key]["counts"][name]
            figures: dict[str, float] = {**counts, **of_counts(counts)}
            if any(counts.values()) or block in entry["pooled"]:
                found[(*key, block)] = differences(
                    figures, entry["pooled"][block], dict(zip(figures, figures, strict=True))
                )
    assert {} == of_all(found)


def test_every_aggregate_is_the_oracles(study: Any) -> None:
    scores, expected = study
    groups = {(each["em_model"], each["mode"]): each for each in scores["aggregates"]}
    assert set(GROUPS) == groups.keys()
    found, composites = {}, []
    for group, entry in groups.items():
        own = oracle.aggregate([each for key, each in expected.items() if key[1:] == group])
        composites.append(own["values"]["composite_score"])
        means = {name: cell["mean"] for name, cell in entry["metrics"].items()}
        errors = {name: cell["se"] for name, cell in entry["metrics"].items()}
        found[group, "mean"] = differences(own["values"], means, OF_CONVERSATIONS)
        found[group, "se"] = differences(own["errors"], errors, {key: OF_CONVERSATIONS[key] for key in own["errors"]})
        for name, block in POOLED.items():
            figures = own["pooled"][name]
            found[group, block] = differences(figures, entry["pooled"][block], dict(zip(figures, figures, strict=True)))
    for group, value in zip(groups, oracle.z_scores(composites), strict=True):
        cell = groups[group]["metrics"]["z_score"]
        found[group, "z"] = differences({"z_score": value}, {"z_score": cell["mean"]}, {"z_score": "z_score"})
    assert {} == of_all(found)
