"""Scores made from the labels alone: what they predict, from whom, and that no conversation predicts itself."""

from __future__ import annotations

import copy
import statistics
from collections import Counter

import pytest
from factory import make_conversation
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.constants import BRANCHES, PANAS_ITEMS, PANAS_SIMILARITY, Q2_OPTIONS, Q3_OPTIONS
from attunebench.conversations import demo_folder, load_conversations
from attunebench.conversations.reading import read_conversation
from attunebench.metrics.emotion import emotion_f1, emotion_va
from attunebench.scorer import score
from attunebench.scorer.references import base_rate_results, empty_tag_results
from attunebench.scorer.truth import QUESTIONS, truth_entry
from attunebench.scores import Scores


def read(raws):
    return [read_conversation(raw, f"{i}.json", source=f"{i}.json")[0] for i, raw in enumerate(raws)]


def facts_of(raws):
    return [truth_entry(conversation) for conversation in read(raws)]


def made(*seeds, turns=3):
    return [make_conversation(seed, turns=turns) for seed in seeds]


def reference(scores: Scores, name):
    return next(found for found in scores["references"] if found["id"] == name)


def without(facts, row):
    return [fact for index, fact in enumerate(facts) if index != row]


@pytest.fixture(scope="module")
def facts():
    return facts_of(made(*range(9)))


def first_best(candidates, credit):
    """The first candidate with the highest credit, compared to nine digits as everywhere."""
    return max(candidates, key=lambda candidate: (round(credit(candidate), 6), -candidates.index(candidate)))


@pytest.mark.parametrize(("side", "block"), [("observed", "binary_om"), ("preferred", "binary_hp")])
def test_a_yes_no_answer_is_the_more_frequent_one_of_the_others(facts, side, block):
    for row, result in enumerate(base_rate_results(facts)):
        turns = [turn for fact in without(facts, row) for turn in fact["turns"]]
        whole = Counter("".join(turn[side] for turn in turns))
        for place, question in enumerate(QUESTIONS):
            counts = Counter(turn[side][place] for turn in turns)
            key = (counts["y"] - counts["n"], whole["y"] - whole["n"])
            expected = "yes" if key >= (0, 0) else "no"
            assert expected == getattr(result.turns[0], block)[question], question


def test_a_comparison_goes_to_the_variant_that_won_more_often_with_the_others(facts):
    for row, result in enumerate(base_rate_results(facts)):
        others = [c for fact in without(facts, row) for turn in fact["turns"] for c in turn["comparisons"]]
        for turn, answered in zip(facts[row]["turns"], result.turns, strict=True):
            for index, (question, a, b, _) in enumerate(turn["comparisons"]):
                same = [c for c in others if {c[1], c[2]} == {a, b}]
                wins = Counter(c[1] if c[3] == "A" else c[2] for c in same if c[0] == question and c[3])
                whole = Counter(c[1] if c[3] == "A" else c[2] for c in same if c[3])
                order = ["original", "alternate", "human"]
                best = min((a, b), key=lambda v: (-wins[v], -whole[v], order.index(v)))
                assert best == (a if answered.pairwise[str(index)] == "A" else b)


def test_the_tags_are_nothing_or_the_one_emotion_that_tracks_the_others_best(facts):
    candidates = [{}, *({item: None} for item in PANAS_ITEMS)]
    for row, result in enumerate(base_rate_results(facts)):

        def credit(tags, row=row):
            means = []
            for fact in without(facts, row):
                told = [turn["tags"] for turn in fact["turns"] if turn["tags"] is not None]
                values = [emotion_f1(t, tags) + emotion_va(t, tags, PANAS_SIMILARITY) for t in told]
                means += [statistics.fmean(values)] if values else []
            return sum(means)

        assert list(first_best(candidates, credit)) == [tag.emotion for tag in result.turns[0].tags]


def test_a_rating_is_the_lower_median_of_the_others(facts):
    for row, result in enumerate(base_rate_results(facts)):
        others = without(facts, row)
        for item in PANAS_ITEMS:
            told = [fact["post_panas"]["items"].get(item.lower()) for fact in others]
            assert statistics.median_low([t for t in told if t is not None]) == result.panas.items[item.lower()]
        for branch in BRANCHES:
            told = [fact["wide"]["four_branch"].get(branch) for fact in others]
            assert statistics.median_low([t for t in told if t is not None]) == result.wide.four_branch[branch]


def test_an_option_is_the_most_frequent_one_of_the_others(facts):
    for row, result in enumerate(base_rate_results(facts)):
        for key, options in (("q2", Q2_OPTIONS), ("q3", Q3_OPTIONS)):
            counts = Counter(fact["wide"][key] for fact in without(facts, row))
            assert first_best(options, counts.__getitem__) == getattr(result.wide, key)


@settings(max_examples=15, deadline=None)
@given(row=st.integers(0, 4), other=st.integers(100, 10_000))
def test_no_label_of_a_conversation_touches_what_is_predicted_for_it(row, other):
    raws = made(*range(5), turns=2)
    changed = copy.deepcopy(raws)
    labels = make_conversation(other, turns=2)
    for key in ("postPanas", "conversationWideQuestions"):
        changed[row][key] = labels[key]
    for turn, source in zip(changed[row]["turns"], labels["turns"], strict=True):
        turn["moodShiftTags"] = source["moodShiftTags"]
        turn["annotations"]["binaryJudgements"] = source["annotations"]["binaryJudgements"]
        for comparison in turn["annotations"]["pairwiseComparisons"]:
            comparison["winner"] = "B" if comparison["winner"] == "A" else "A"
    assert base_rate_results(facts_of(raws))[row] == base_rate_results(facts_of(changed))[row]


def test_the_order_of_the_conversations_does_not_matter():
    facts = facts_of(made(*range(6)))
    forwards = {result.conversation_id: result for result in base_rate_results(facts)}
    assert forwards == {result.conversation_id: result for result in base_rate_results(facts[::-1])}


def test_what_no_other_conversation_tells_is_not_answered():
    raws = made(1, 2)
    raws[1]["conversationWideQuestions"] = {}
    raws[1]["postPanas"] = {"totalPositiveAffect": 33, "totalNegativeAffect": 12}
    for turn in raws[1]["turns"]:
        turn["annotations"]["binaryJudgements"] = []
        turn["moodShiftTags"] = None
    first = base_rate_results(facts_of(raws))[0]
    assert (None, {}) == (first.wide.q2, dict(first.wide.four_branch))
    assert ({}, 33, 12) == (first.panas.items, first.panas.positive, first.panas.negative)
    assert (None, {}) == (first.turns[0].tags, first.turns[0].binary_om)


def test_one_conversation_has_no_base_rate():
    scores = score(read(made(1)), [], resamples=10)
    assert ["always-empty-tags"] == [found["id"] for found in scores["references"]]
    assert [] == score([], [], resamples=10)["references"]


def test_empty_tags_are_right_on_neutral_turns_alone():
    conversations = read(made(*range(6)))
    found = reference(score(conversations, [], resamples=100), "always-empty-tags")
    shares = [statistics.fmean(not turn.tags for turn in c.turns if turn.tags is not None) for c in conversations]
    assert statistics.fmean(shares) == pytest.approx(found["metrics"]["emotion_f1"]["mean"])
    assert found["metrics"]["emotion_f1"] == found["metrics"]["emotion_va"] == found["metrics"]["emotion_tracking"]
    assert 0 == found["metrics"]["neutral_false_alarm"]["mean"]
    assert not {"composite", "turn_level_average", "binary_om_accuracy", "answered_rate"} & set(found["metrics"])


def test_the_base_rate_has_all_but_drafts_and_rates():
    found = reference(score(read(made(*range(6))), [], resamples=100), "base-rate")["metrics"]
    assert found["composite"]["n"] == 6
    assert found["composite"]["ci_low"] <= found["composite"]["mean"] <= found["composite"]["ci_high"]
    assert not {"draft_judge", "response_similarity_human", "answered_rate", "neutral_turn_share"} & set(found)


def test_a_reference_is_in_no_group_and_does_not_depend_on_results():
    scores = score(read(made(*range(4))), [], resamples=100)
    assert ([], []) == (scores["aggregates"], scores["conversations"])
    assert [4, 4] == [found["n_conversations"] for found in scores["references"]]


def test_every_conversation_has_the_metrics_of_its_reference(facts):
    for found in score(read(made(*range(4))), [], resamples=100)["references"]:
        for entry in found["conversations"]:
            assert list(found["metrics"]) == list(entry["metrics"])
        for metric, aggregate in found["metrics"].items():
            values = [e["metrics"][metric] for e in found["conversations"] if e["metrics"][metric] is not None]
            assert (len(values), pytest.approx(statistics.fmean(values))) == (aggregate["n"], aggregate["mean"])


def test_the_demonstration_has_these_references():
    """To be changed on purpose alone: these stand beside every model on the demonstration conversations."""
    scores = score(load_conversations(demo_folder()), [], resamples=10)
    base = reference(scores, "base-rate")["metrics"]
    expected = {"composite": 54.2, "emotion_f1": 0.098, "binary_hp_accuracy": 0.868, "pairwise_accuracy": 0.692}
    for metric, value in expected.items():
        assert value == pytest.approx(base[metric]["mean"], abs=0.06 if value > 1 else 0.0006)
    assert pytest.approx(0.227, abs=0.0006) == reference(scores, "always-empty-tags")["metrics"]["emotion_f1"]["mean"]


def test_empty_tags_have_a_result_for_each_conversation(facts):
    assert [fact["conversationId"] for fact in facts] == [r.conversation_id for r in empty_tag_results(facts)]
