"""Graders are graded: the oracle scores the ceiling, and a planted wrong answer loses exactly what it should."""

from __future__ import annotations

import copy

import pytest
from factory import make_conversation
from hypothesis import given, settings
from hypothesis import strategies as st
from result_factory import BINARY_KEYS, FLIP, TURN_KEYS, noisy_result, oracle_result

from attunebench.constants import PANAS_ITEMS, Q2_OPTIONS, Q3_OPTIONS
from attunebench.conversations.reading import read_conversation
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.protocol.calls import RATINGS
from attunebench.results.parsing import parse_result
from attunebench.scorer import score_conversation
from attunebench.scorer.answers import MismatchError

DIFFERENCES = {"perspective_gap", "phrasing_gap"}
"""Their sign is no merit, so giving no answer can move them either way."""
WIDE_KEYS = ("q1_lookingFor", "q2_emotionClarity", "q3_modelFit", "q3_followUp_whatFeltOff")


def scored(raw, result):
    conversation, _ = read_conversation(raw)
    return score_conversation(conversation, parse_result(result))


def wrong_other(options, right):
    return next(option for option in options if option != right)


def plant(result, key, how):
    """A copy of the result in which one kind of answer is wrong, or not given, everywhere."""
    planted = copy.deepcopy(result)
    post = planted["post_conversation"]
    wide = post["predicted_conversation_wide"]
    if key in TURN_KEYS:
        for turn in planted["turns"]:
            turn[key] = how(key, turn[key])
    elif key == "panas":
        items = post["predicted_post_panas"]["items"]
        for item in PANAS_ITEMS:
            items[item] = how(key, items[item])
    elif key in WIDE_KEYS:
        wide[key] = how(key, wide[key])
    else:
        for branch, value in wide["fourBranchScores"].items():
            wide["fourBranchScores"][branch] = how(key, value)
    return planted


def wrong(key, right):
    if key == "em_drafted_response":
        return "Zxqv"
    if key == "em_emotion_tags":
        felt = {tag["emotion"] for tag in right}
        return [{"emotion": _unfelt(felt), "intensity": 1}]
    if key in BINARY_KEYS or key == "em_pairwise_selections":
        return {item: FLIP[value] for item, value in right.items()}
    if key in ("panas", "branches"):
        return 1 if right >= 4 else 7
    if key == "q1_lookingFor":
        return ["Nothing of the kind"]
    if key == "q2_emotionClarity":
        return wrong_other(Q2_OPTIONS, right)
    if key == "q3_modelFit":
        return wrong_other(Q3_OPTIONS, right)
    return ["Zxqv"]


def _unfelt(felt):
    return next(item for item in PANAS_ITEMS if item not in felt)


def no_answer(_key, _right):
    return None


KEYS = (*TURN_KEYS, "panas", *WIDE_KEYS, "branches")


@pytest.mark.parametrize("seed", range(6))
def test_the_oracle_scores_the_ceiling(seed):
    raw = make_conversation(seed)
    score = scored(raw, oracle_result(raw))
    assert pytest.approx(100) == score["metrics"]["composite"]
    assert score["composite_complete"]
    for metric_id, value in score["metrics"].items():
        card = REGISTRY[metric_id]
        own_words = metric_id.startswith("response_") and metric_id != "response_similarity_human"
        if value is not None and metric_id not in DIFFERENCES | {"neutral_turn_share"} and not own_words:
            assert (card.high if card.higher_is_better else card.low) == pytest.approx(value), metric_id


@settings(max_examples=25)
@given(seed=st.integers(0, 500), key=st.sampled_from(KEYS))
def test_not_answered_is_never_better_than_wrong_in_any_metric(seed, key):
    raw = make_conversation(seed, turns=3)
    right = oracle_result(raw)
    silent = scored(raw, plant(right, key, no_answer))["metrics"]
    mistaken = scored(raw, plant(right, key, wrong))["metrics"]
    for metric_id, card in cards_of("attunebench").items():
        if metric_id in DIFFERENCES or silent[metric_id] is None or mistaken[metric_id] is None:
            continue
        sign = 1 if card.higher_is_better else -1
        assert sign * silent[metric_id] <= sign * mistaken[metric_id] + 1e-12, metric_id


@settings(max_examples=25)
@given(seed=st.integers(0, 500), key=st.sampled_from(KEYS))
def test_no_wrong_answer_helps_any_metric(seed, key):
    raw = make_conversation(seed, turns=3)
    right = oracle_result(raw)
    best, worse = scored(raw, right)["metrics"], scored(raw, plant(right, key, wrong))["metrics"]
    for metric_id, card in cards_of("attunebench").items():
        if metric_id in DIFFERENCES or best[metric_id] is None or worse[metric_id] is None:
            continue
        if metric_id.startswith("response_"):
            continue  # the oracle drafts the human reply, which is not the closest text to all variants
        sign = 1 if card.higher_is_better else -1
        assert sign * worse[metric_id] <= sign * best[metric_id] + 1e-12, metric_id


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), spoil=st.integers(0, 10_000))
def test_every_value_lies_in_the_range_of_its_card(seed, spoil):
    raw = make_conversation(seed, turns=4)
    score = scored(raw, noisy_result(raw, spoil))
    for values in (score["metrics"], *(turn["metrics"] for turn in score["turns"])):
        for metric_id, value in values.items():
            card = REGISTRY[metric_id]
            assert value is None or card.low - 1e-9 <= value <= card.high + 1e-9, metric_id


@pytest.mark.parametrize("seed", range(4))
def test_one_flipped_answer_loses_its_share(seed):
    raw = make_conversation(seed)
    result = oracle_result(raw)
    answers = result["turns"][0]["em_binary_om_assessment"]
    question = next(iter(answers))
    answers[question] = FLIP[answers[question]]
    selections = result["turns"][1]["em_pairwise_selections"]
    del selections["3"]
    score = scored(raw, result)["metrics"]
    assert pytest.approx(1 - 1 / len(answers) / 5) == score["binary_om_accuracy"]
    assert pytest.approx(1 - 1 / 12 / 5) == score["pairwise_accuracy"]
    lost = 0.49 * 0.25 / len(answers) / 5 + 0.49 * 0.5 / 12 / 5
    assert pytest.approx(100 * (1 - lost)) == score["composite"]


@pytest.mark.parametrize("seed", range(4))
def test_nothing_answered_is_a_composite_of_0_and_complete(seed):
    raw = make_conversation(seed)
    result = oracle_result(raw)
    for turn in result["turns"]:
        turn.update(dict.fromkeys(TURN_KEYS))
    result["post_conversation"] = None
    score = scored(raw, result)
    assert 0 == score["metrics"]["composite"]
    assert score["composite_complete"]
    assert 0 == score["metrics"]["answered_rate"]
    assert 0 == score["metrics"]["draft_judge"]


@pytest.mark.parametrize("key", TURN_KEYS)
def test_a_block_absent_from_all_turns_was_not_measured_and_from_one_turn_not_answered(key):
    raw = make_conversation(3)
    absent, partly = oracle_result(raw), oracle_result(raw)
    for turn in absent["turns"]:
        del turn[key]
    del partly["turns"][0][key]
    gone, partial, full = (scored(raw, file)["metrics"] for file in (absent, partly, oracle_result(raw)))
    own = [metric_id for metric_id in full if full[metric_id] != partial[metric_id] and metric_id in TURN_LEVEL]
    assert own
    for metric_id in own:
        if not metric_id.startswith("draft_"):
            assert gone[metric_id] is None, metric_id
    assert 1 == gone["answered_rate"]


TURN_LEVEL = {card.id for card in REGISTRY.values() if card.level == "turn"}


def test_a_missing_turn_is_not_answered():
    raw = make_conversation(5)
    result = oracle_result(raw)
    del result["turns"][4]
    score = scored(raw, result)["metrics"]
    assert pytest.approx(0.8) == score["pairwise_accuracy"] == score["binary_om_accuracy"] == score["draft_judge"]


def test_a_result_without_a_post_conversation_has_no_composite_of_the_whole_talk():
    raw = make_conversation(5)
    result = oracle_result(raw)
    del result["post_conversation"]
    score = scored(raw, result)
    assert score["metrics"]["holistic_comprehension"] is None
    assert score["metrics"]["composite"] is None
    assert not score["composite_complete"]


def test_a_mood_that_did_not_move_is_worth_half_to_everybody():
    raw = make_conversation(5)
    raw["postPanas"] = copy.deepcopy(raw["prePanas"])
    right, silent = oracle_result(raw), oracle_result(raw)
    silent["post_conversation"]["predicted_post_panas"] = None
    for result in (right, silent):
        score = scored(raw, result)
        assert score["metrics"]["panas_baseline_adjusted"] is None
        assert pytest.approx(0.8) == score["metrics"]["holistic_comprehension"]
        assert score["composite_complete"]


def test_labels_without_truth_are_left_out_of_every_denominator():
    raw = make_conversation(6)
    labels = raw["turns"][0]["annotations"]
    labels["pairwiseComparisons"][0]["winner"] = None
    labels["binaryJudgements"][0]["observedBehavior"] = None
    raw["turns"][1]["moodShiftTags"] = None
    result = oracle_result(make_conversation(6))
    result["turns"][0]["em_pairwise_selections"].pop("0")
    result["turns"][0]["em_binary_om_assessment"].pop(labels["binaryJudgements"][0]["questionId"], None)
    result["turns"][1]["em_emotion_tags"] = None
    score = scored(raw, result)
    assert 1 == score["metrics"]["pairwise_accuracy"] == score["metrics"]["binary_om_accuracy"]
    assert 1 == score["metrics"]["emotion_f1"]
    assert score["turns"][1]["metrics"]["emotion_f1"] is None


def test_an_older_file_with_one_judge_and_no_name_is_read_as_one_judge():
    raw = make_conversation(7)
    result = oracle_result(raw)
    del result["judge_models"]
    for turn in result["turns"]:
        turn.pop("em_draft_judge_scores_by_model")
        turn.pop("em_draft_binary_assessment_by_model")
        turn["em_draft_judge_scores"] = {"overall_score": 4}
    assert pytest.approx(0.5) == scored(raw, result)["metrics"]["draft_judge"]


def test_a_result_of_another_conversation_is_refused():
    with pytest.raises(MismatchError):
        scored(make_conversation(1), oracle_result(make_conversation(2)))


def test_every_metric_of_the_registry_is_computed_somewhere():
    raw, counted = make_conversation(0), oracle_result(make_conversation(0))
    counted["calls"] = {"made": 26, "mended": 1, "refused": 2, "answered_items": 9, "expected_items": 10}
    found = {}
    for seed in range(6):
        raw = make_conversation(seed)
        result = {**oracle_result(raw), "calls": counted["calls"]}
        result["turns"][0]["em_draft_judge_scores_by_model"] = {"judge-1": dict.fromkeys(RATINGS, 5)}
        found |= {k: v for k, v in scored(raw, result)["metrics"].items() if v is not None}
    assert {metric_id for metric_id, card in cards_of("attunebench").items() if not card.optional} == set(found)
    assert (0.9, 2 / 26, 1 / 26) == (found["answered_rate"], found["refusal_rate"], found["mended_rate"])
