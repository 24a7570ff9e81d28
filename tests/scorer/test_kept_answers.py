"""What `scores.json` keeps of answers and labels, against the JSON of results and conversations."""

from __future__ import annotations

import json

import pytest
from factory import make_conversation
from result_factory import BINARY_KEYS, noisy_result, oracle_result

from attunebench.conversations.reading import read_conversation
from attunebench.results.parsing import parse_result
from attunebench.scorer import score
from attunebench.scorer.conversation import score_prepared
from attunebench.scorer.truth import QUESTIONS, prepare, truth_entry

BLOCKS = dict(zip(("binary_om", "binary_hp", "binary_om_hp", "binary_hp_hp"), BINARY_KEYS, strict=True))
LETTERS = {"yes": "y", "no": "n"}


def read(raw):
    conversation = read_conversation(raw, "c.json", source="c.json")[0]
    assert conversation is not None
    return conversation


def kept(raw, result):
    return score_prepared(prepare(read(raw)), parse_result(result, source_file="r.json"))[0]


def by_turn(entry):
    return {turn["turnNumber"]: turn["answers"] for turn in entry["turns"]}


@pytest.mark.parametrize("seed", range(6))
def test_each_answer_of_the_file_stands_in_its_place(seed):
    raw = make_conversation(seed)
    result = noisy_result(raw, seed)
    answers = by_turn(kept(raw, result))
    for turn in result["turns"]:
        found = answers[turn["turnNumber"]]
        for block, key in BLOCKS.items():
            if key in turn:
                given = turn[key] or {}
                assert "".join(LETTERS.get(given.get(q), "-") for q in QUESTIONS) == found[block]
        if "em_pairwise_selections" in turn:
            given = turn["em_pairwise_selections"] or {}
            assert [given.get(str(i)) if given.get(str(i)) in ("A", "B") else "-" for i in range(12)] == list(
                found["pairwise"]
            )


@pytest.mark.parametrize("seed", range(3))
def test_the_oracle_says_what_the_labels_say(seed):
    raw = make_conversation(seed)
    entry, truth = kept(raw, oracle_result(raw)), truth_entry(read(raw))
    answers, whole = by_turn(entry), entry["answers"]
    for turn in truth["turns"]:
        found = answers[turn["turnNumber"]]
        assert turn["tags"] == found["tags"]
        assert turn["observed"].replace(".", "-") == found["binary_om"] == found["binary_om_hp"]
        assert turn["preferred"].replace(".", "-") == found["binary_hp"] == found["binary_hp_hp"]
        assert "".join(winner or "-" for *_, winner in turn["comparisons"]) == found["pairwise"]
    assert truth["wide"] == whole["wide"]
    assert truth["post_panas"]["items"] == whole["post_panas"]["items"]


def test_what_was_not_measured_has_no_key_and_what_was_not_answered_has():
    raw = make_conversation(1, turns=2)
    result = oracle_result(raw)
    for turn in result["turns"]:
        del turn["em_binary_om_assessment"]
    result["turns"][0]["em_emotion_tags"] = None
    del result["turns"][1]["em_emotion_tags"], result["turns"][1]["em_pairwise_selections"]
    answers = by_turn(kept(raw, result))
    assert "binary_om" not in answers[1]
    assert answers[1]["tags"] is None
    assert answers[2]["tags"] is None
    assert "-" * 12 == answers[2]["pairwise"]


def test_a_result_without_a_post_conversation_has_nothing_about_the_whole_talk():
    raw = make_conversation(1, turns=2)
    result = oracle_result(raw)
    del result["post_conversation"]
    assert {"post_panas": None, "wide": None} == kept(raw, result)["answers"]
    unanswered = kept(raw, {**result, "post_conversation": None})["answers"]
    assert {"positive": None, "negative": None, "items": {}} == unanswered["post_panas"]
    assert {"q1": None, "q2": None, "q3": None, "follow_up": None, "four_branch": {}} == unanswered["wide"]


def test_other_spellings_of_labels_and_answers_are_kept_alike():
    raw = make_conversation(2, turns=1)
    plain, result = truth_entry(read(raw)), oracle_result(raw)
    other = json.loads(json.dumps(raw))
    for judgement in other["turns"][0]["annotations"]["binaryJudgements"]:
        judgement["did_occur"] = judgement.pop("observedBehavior")
    for comparison in other["turns"][0]["annotations"]["pairwiseComparisons"]:
        comparison["response_1"] = comparison.pop("responseA")
    assert plain == truth_entry(read(other))
    loud = json.loads(json.dumps(result))
    block = loud["turns"][0]["em_binary_human_prediction"]
    loud["turns"][0]["em_binary_human_prediction"] = {q: answer == "yes" for q, answer in block.items()}
    assert by_turn(kept(raw, result)) == by_turn(kept(raw, loud))


def test_no_word_of_the_talk_is_kept():
    raw = make_conversation(3)
    raw["turns"][0]["userMessage"] = "a secret word"
    result = {**oracle_result(raw)}
    result["turns"][0]["em_drafted_response"] = "another secret"
    answers = kept(raw, result)
    assert "secret" not in json.dumps([truth_entry(read(raw)), answers])


def test_usage_holds_what_is_known():
    raw = make_conversation(1, turns=1)
    usage = {"prompt_tokens": 10, "completion_tokens": None, "cached_tokens": -3, "other": 5}
    answers = kept(raw, {**oracle_result(raw), "usage": usage, "api_cost": None, "duration_seconds": 2.5})
    assert ({"prompt_tokens": 10.0}, None, 2.5) == tuple(
        answers[name] for name in ("usage", "api_cost", "duration_seconds")
    )


def test_calls_that_were_asked_again_or_cut_short_are_kept_where_they_can_be_true():
    raw = make_conversation(1, turns=3)
    told = {"made": 20, "reasked": 3, "truncated": 0, "mended": 21}
    (entry,) = score([read(raw)], [parse_result({**oracle_result(raw), "calls": told})], resamples=10)["conversations"]
    assert (20, 3, 0, None) == tuple(entry["calls"][name] for name in ("made", "reasked", "truncated", "mended"))
