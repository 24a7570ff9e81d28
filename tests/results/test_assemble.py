"""A result file holds what was answered, and keeps "not answered", "not asked" and "not measured" apart."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from talks import parsed, small_file

from attunebench.codebook import default_codebook
from attunebench.conversations.schema import Conversation
from attunebench.protocol.calls import Answer, Call, Mode, PanasStrategy, Record, Usage
from attunebench.protocol.plan import plan_conversation
from attunebench.protocol.read import expected_items
from attunebench.results.assemble import assemble

CODEBOOK = default_codebook()
FACTS = {
    "provider": "local",
    "em_model": "some-model",
    "run_timestamp": "2026-01-02T03:04:05+00:00",
    "attunebench_version": "0",
    "prompt_set_sha256": "aa",
    "codebook_sha256": "bb",
    "parameters": {"temperature": 0},
    "judge_models": ["judge-one", "judge-two"],
    "epoch": None,
}
FILE_KEYS = {
    *("schema_version", "provider", "source_file", "source_sha256", "em_model_reported", "run_timestamp"),
    *("attunebench_version", "prompt_set_sha256", "codebook_sha256", "parameters", "judge_models", "epoch"),
    *("conversationId", "em_model", "mode", "turns", "post_conversation", "scores", "calls", "usage", "api_cost"),
    "duration_seconds",
}
TURN_KEYS = {
    *("turnNumber", "em_drafted_response", "response_reasoning", "em_emotion_tags", "emotion_reasoning"),
    *("em_binary_om_assessment", "em_binary_human_prediction", "binary_reasoning"),
    *("em_binary_om_assessment_hp", "em_binary_human_prediction_hp", "binary_hp_reasoning"),
    *("reply_labels", "pairwise_assignment", "em_pairwise_selections", "pairwise_reasoning"),
    *("em_draft_judge_scores", "em_draft_judge_scores_by_model"),
    *("em_draft_binary_assessment", "em_draft_binary_assessment_by_model", "em_draft_judge_scale_by_model"),
}
POST_KEYS = {
    *("panas_strategy", "pre_panas_shown", "predicted_post_panas", "predicted_panas_delta"),
    *("predicted_conversation_wide", "post_reasoning"),
}


def full(call: Call) -> dict[str, Any]:
    """An answer to everything that a call asks."""
    yes = dict.fromkeys(call.asked.questions, "yes")
    items = {"items": dict.fromkeys(CODEBOOK.panas, 1)}
    wide = {
        "q1_lookingFor": ["Other"],
        "q2_emotionClarity": "Mixed or conflicted",
        "q3_modelFit": "Mostly well-matched",
        "q3_followUp_whatFeltOff": [],
        "fourBranchScores": dict.fromkeys(CODEBOOK.branches, 4),
    }
    answers: dict[str, dict[str, Any]] = {
        "draft": {"drafted_response": "I hear you."},
        "judge": {"overall_score": 5, "helpfulness": 4, "draft_binary_assessment": yes},
        "review": {"emotion_tags": [], "binary_om_assessment": yes, "binary_human_prediction": yes},
        "binary_hp": {"binary_om_assessment": yes, "binary_human_prediction": yes},
        "pairwise": {"pairwise_selections": dict.fromkeys(call.asked.comparisons, "A")},
        "post": {
            "predicted_post_panas" if call.asked.panas == "absolute" else "predicted_panas_delta": items,
            "conversation_wide": wide,
        },
    }
    return answers[call.kind]


def nothing(call: Call) -> Record:
    empty = {key: {} if isinstance(value, dict) else None for key, value in full(call).items()}
    return Record(call, Answer(empty, expected_items(call.asked), "unreadable"))


def records(
    conversation: Conversation, mode: Mode = "default", strategy: PanasStrategy = "absolute", judges: int = 2
) -> dict[str, Record]:
    calls = plan_conversation(conversation, mode, CODEBOOK, judges=judges, panas_strategy=strategy)
    return {call.id: Record(call, Answer(full(call), (), "answered"), seconds=1.0) for call in calls}


TALK = parsed(small_file())
ID = "tiny/default"


def test_a_file_has_the_keys_of_the_format() -> None:
    result = assemble(TALK, "default", records(TALK), FACTS)
    assert FILE_KEYS <= set(result)
    more = {"adapted", "asked_sha256", "judge_api_cost", "judge_usage", "providers_reported", "structured_used"}
    assert more == set(result) - FILE_KEYS
    assert {"review_reasoning"} == set(result["turns"][0]) ^ TURN_KEYS
    assert POST_KEYS == set(result["post_conversation"])
    assert result == json.loads(json.dumps(result, allow_nan=False))


def test_answers_stand_where_the_format_has_them() -> None:
    result = assemble(TALK, "default", records(TALK), FACTS)
    [turn] = result["turns"]
    assert "I hear you." == turn["em_drafted_response"]
    assert [] == turn["em_emotion_tags"]
    for key in ("em_binary_om_assessment", "em_binary_human_prediction"):
        assert {"B1": "yes", "B13": "yes"} == turn[key] == turn[f"{key}_hp"]
    assert {"0": "A", "1": "A"} == turn["em_pairwise_selections"]
    assert {"original", "alternate", "human"} == set(turn["reply_labels"].values())
    assert {"0": {"A": "original", "B": "human"}, "1": {"A": "alternate", "B": "original"}} == turn[
        "pairwise_assignment"
    ]
    assert 10 == result["post_conversation"]["predicted_post_panas"]["totalPositiveAffect"]


def test_what_was_not_answered_at_all_is_null() -> None:
    unanswered = {key: nothing(record.call) for key, record in records(TALK, judges=0).items()}
    result = assemble(TALK, "default", unanswered, FACTS)
    [turn] = result["turns"]
    blocks = [key for key in turn if key.startswith("em_") and "draft_" not in key]
    assert dict.fromkeys(blocks) == {key: turn[key] for key in blocks}
    post = result["post_conversation"]
    assert {"totalPositiveAffect": None, "totalNegativeAffect": None, "items": {}} == post["predicted_post_panas"]
    assert {None} == set(post["predicted_conversation_wide"].values())
    assert 0 == result["calls"]["answered_items"]


def test_an_unanswered_item_is_missing_from_its_map() -> None:
    found = records(TALK)
    review = found[f"{ID}/1/review"]
    values = {**full(review.call), "binary_om_assessment": {"B1": "no"}}
    found[f"{ID}/1/review"] = replace(review, answer=Answer(values, ("binary_om_assessment.B13",), "incomplete"))
    result = assemble(TALK, "default", found, FACTS)
    assert {"B1": "no"} == result["turns"][0]["em_binary_om_assessment"]
    assert result["calls"]["expected_items"] - 1 == result["calls"]["answered_items"]


def test_what_was_not_asked_is_empty_and_not_null() -> None:
    raw = small_file()
    labels = raw["turns"][0]["annotations"]
    labels["pairwiseComparisons"] = []
    for judgement in labels["binaryJudgements"]:
        judgement |= {"observedBehavior": "na", "preferredBehavior": "na"}
    conversation = parsed(raw)
    [turn] = assemble(conversation, "default", records(conversation), FACTS)["turns"]
    assert {} == turn["em_pairwise_selections"] == turn["pairwise_assignment"]
    assert {} == turn["em_binary_om_assessment"] == turn["em_binary_human_prediction_hp"]


def test_a_call_that_never_got_through_makes_no_result() -> None:
    found = records(TALK)
    del found[f"{ID}/1/pairwise"]
    with pytest.raises(ValueError, match="tiny/default/1/pairwise"):
        assemble(TALK, "default", found, FACTS)


def test_items_are_counted_over_the_calls_of_the_model_alone() -> None:
    counts = assemble(TALK, "default", records(TALK), FACTS)["calls"]
    # draft, tags, 2 questions x 2 answers x 2 phrasings, 2 comparisons; 20 items, 4 questions, 4 branches
    assert 1 + 1 + 8 + 2 + 28 == counts["expected_items"] == counts["answered_items"]
    assert {"made": 5, "reasked": 0, "mended": 0, "refused": 0} == {
        key: counts[key] for key in ("made", "reasked", "mended", "refused")
    }


def test_calls_are_counted_as_reasked_mended_and_refused() -> None:
    found = records(TALK)
    for kind, change in {
        "draft": {"reasks": 2},
        "review": {"answer": replace(found[f"{ID}/1/review"].answer, mended=True)},
        "pairwise": {"answer": replace(nothing(found[f"{ID}/1/pairwise"].call).answer, outcome="refused")},
        "judge/0": {"answer": Answer({}, (), "refused", mended=True), "reasks": 1},
    }.items():
        found[f"{ID}/1/{kind}"] = replace(found[f"{ID}/1/{kind}"], **change)  # type: ignore[arg-type]
    counts = assemble(TALK, "default", found, FACTS)["calls"]
    assert [1, 1, 1] == [counts[key] for key in ("reasked", "mended", "refused")]


def test_an_unknown_price_makes_the_sum_unknown() -> None:
    found = {key: replace(record, cost=0.5) for key, record in records(TALK).items()}
    result = assemble(TALK, "default", found, FACTS)
    assert (2.5, 1.0) == (result["api_cost"], result["judge_api_cost"])
    found[f"{ID}/1/draft"] = replace(found[f"{ID}/1/draft"], cost=None)
    assert assemble(TALK, "default", found, FACTS)["api_cost"] is None


def test_usage_and_time_sum_over_the_calls_of_the_model() -> None:
    found = {key: replace(record, usage=Usage(prompt_tokens=10)) for key, record in records(TALK).items()}
    result = assemble(TALK, "default", found, FACTS)
    assert (50, None) == (result["usage"]["prompt_tokens"], result["usage"]["cached_tokens"])
    assert (20, 5.0) == (result["judge_usage"]["prompt_tokens"], result["duration_seconds"])


def test_the_model_that_answered_is_named() -> None:
    found = {key: replace(record, models=("some-model-0613",)) for key, record in records(TALK).items()}
    assert "some-model-0613" == assemble(TALK, "default", found, FACTS)["em_model_reported"]
    assert assemble(TALK, "default", records(TALK), FACTS)["em_model_reported"] is None


def test_the_providers_that_served_are_named_once_in_an_order_of_their_own() -> None:
    found = {key: replace(record, providers=("Z", "A")) for key, record in records(TALK).items()}
    assert ["A", "Z"] == assemble(TALK, "default", found, FACTS)["providers_reported"]


def test_votes_stand_by_judge_and_the_first_judges_flat() -> None:
    found = records(TALK)
    first = found[f"{ID}/1/judge/0"]
    found[f"{ID}/1/judge/0"] = replace(first, answer=Answer({"overall_score": 2}, (), "incomplete"))
    [turn] = assemble(TALK, "default", found, FACTS)["turns"]
    assert {"overall_score": 2} == turn["em_draft_judge_scores"] == turn["em_draft_judge_scores_by_model"]["judge-one"]
    assert {"overall_score": 5, "helpfulness": 4} == turn["em_draft_judge_scores_by_model"]["judge-two"]
    said_nothing, answered = {}, {"B1": "yes", "B13": "yes"}
    assert {"judge-one": said_nothing, "judge-two": answered} == turn["em_draft_binary_assessment_by_model"]
    assert {} == turn["em_draft_binary_assessment"]


def test_a_predicted_change_is_kept_beside_the_state_it_leads_to() -> None:
    post = assemble(TALK, "default", records(TALK, strategy="delta"), FACTS)["post_conversation"]
    assert dict.fromkeys(CODEBOOK.panas, 1) == post["predicted_panas_delta"]["items"]
    assert {"totalPositiveAffect": 41, "totalNegativeAffect": 34, "items": {"Proud": 3, "Upset": 6}} == post[
        "predicted_post_panas"
    ]
    assert {"totalPositiveAffect": 31, "totalNegativeAffect": 24} == post["pre_panas_shown"]


def test_the_blind_change_was_predicted_without_totals() -> None:
    post = assemble(TALK, "default", records(TALK, strategy="blind_delta"), FACTS)["post_conversation"]
    assert ("blind_delta", None) == (post["panas_strategy"], post["pre_panas_shown"])


def test_reasoning_is_kept_where_it_was_asked_for() -> None:
    found = {
        key: replace(
            record,
            answer=replace(
                record.answer,
                reasoning={"reasoning": record.call.kind, "emotion_reasoning": "e", "binary_reasoning": "b"},
            ),
        )
        for key, record in records(TALK, "verbose").items()
    }
    result = assemble(TALK, "verbose", found, FACTS)
    [turn] = result["turns"]
    assert ["draft", "review", "e", "b", "binary_hp", "pairwise"] == [
        value for key, value in turn.items() if key.endswith("reasoning")
    ]
    assert "post" == result["post_conversation"]["post_reasoning"]
