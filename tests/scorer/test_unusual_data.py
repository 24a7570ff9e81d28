"""What is rare in conversations and results is counted as the definitions say."""

from __future__ import annotations

import copy

import pytest
from factory import make_conversation
from result_factory import oracle_result

from attunebench.conversations.reading import read_conversation
from attunebench.results.folder import Skipped
from attunebench.results.parsing import parse_result
from attunebench.scorer import score, score_conversation


def conversation(raw):
    read, notes = read_conversation(raw)
    assert read is not None, notes
    return read


def scored(raw, result):
    return score_conversation(conversation(raw), parse_result(result))


def intervals(raws, cluster):
    results = [parse_result(oracle_result(raw), f"{number}.json") for number, raw in enumerate(raws)]
    scores = score(map(conversation, raws), results, resamples=200, cluster=cluster)
    return scores["aggregates"][0]["metrics"]["neutral_turn_share"]


def test_an_unknown_participant_is_a_cluster_of_their_own():
    raws = [make_conversation(seed, turns=3) | {"participant_profile": None} for seed in range(6)]
    plain, clustered = (intervals(raws, cluster) for cluster in (None, "participant"))
    assert plain["ci_low"] is not None
    assert (plain["ci_low"], plain["ci_high"]) == (clustered["ci_low"], clustered["ci_high"])


@pytest.mark.parametrize("counts", [{"answered_items": 9, "expected_items": 8}, {"answered_items": 0}, {}])
def test_counts_that_cannot_be_true_are_counted_again_from_the_file(counts):
    raw = make_conversation(1)
    assert 1 == scored(raw, {**oracle_result(raw), "calls": counts})["metrics"]["answered_rate"]


def test_a_model_whose_results_are_all_there_twice_does_not_vanish():
    raw = make_conversation(1, turns=3)
    twice = [parse_result(oracle_result(raw), name) for name in ("one.json", "two.json")]
    (group,) = score([conversation(raw)], twice, resamples=20)["aggregates"]
    assert ("oracle", 0, [raw["conversationId"]]) == (
        group["em_model"],
        group["n_conversations"],
        group["coverage"]["duplicated"],
    )


def test_a_skipped_conversation_of_another_dataset_makes_no_group():
    raw = make_conversation(1, turns=3)
    stranger = Skipped("elsewhere", "p", "m", "default")
    aggregates = score([conversation(raw)], [], resamples=20, skipped=[stranger])["aggregates"]
    assert [] == aggregates


def test_a_comparison_with_a_reply_that_has_no_text_is_not_scored():
    raw = make_conversation(1, turns=2)
    result = oracle_result(raw)
    raw["turns"][0]["llmResponse"] = " "
    comparisons = raw["turns"][0]["annotations"]["pairwiseComparisons"]
    for index, comparison in enumerate(comparisons):
        if "original" in (comparison["responseA"], comparison["responseB"]):
            del result["turns"][0]["em_pairwise_selections"][str(index)]
    score = scored(raw, result)
    assert 1 == score["metrics"]["pairwise_accuracy"] == score["metrics"]["answered_rate"]
    assert score["turns"][0]["metrics"]["response_similarity_original"] is None


def test_a_mood_that_did_not_move_is_worth_nothing_where_it_was_not_asked_for():
    raw = make_conversation(5)
    raw["postPanas"] = copy.deepcopy(raw["prePanas"])
    result = oracle_result(raw)
    del result["post_conversation"]["predicted_post_panas"]
    score = scored(raw, result)
    assert pytest.approx(1) == score["metrics"]["holistic_comprehension"]
    assert not score["composite_complete"]
