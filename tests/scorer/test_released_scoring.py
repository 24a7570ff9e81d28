"""Scoring by the released rules, from files on: what they need of the data, and what the scores file then holds."""

from __future__ import annotations

import copy
import json

import pytest
from factory import make_conversation, write_conversations
from result_factory import noisy_result, oracle_result, write_result

from attunebench.conversations.reading import read_conversation
from attunebench.errors import UsageError
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.results.parsing import parse_result
from attunebench.scorer import score_folders, score_to_file
from attunebench.scorer.conversation import score_prepared
from attunebench.scorer.encoder import BertScoreSettings
from attunebench.scorer.references import base_rate_results
from attunebench.scorer.released import score_released
from attunebench.scorer.truth import prepare
from attunebench.scores import BASE_RATE, read_scores


def score_of(raw, file):
    conversation, notes = read_conversation(raw)
    assert conversation is not None, notes.errors
    return score_prepared(prepare(conversation, "released"), parse_result(file))[0]


def metrics_of(raw, file):
    return score_of(raw, file)["metrics"]


@pytest.fixture
def raw():
    return make_conversation(3, turns=3)


@pytest.fixture
def file(raw):
    return oracle_result(raw)


def first_labels(raw):
    return raw["turns"][0]["annotations"]


# What the rules need of the data


def test_answers_like_the_labels_score_the_ceiling(raw, file):
    found = metrics_of(raw, file)
    for metric_id in ("emotion_f1", "emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy"):
        assert found[metric_id] == pytest.approx(1)
    for metric_id in ("q1_goals", "q1_jaccard", "q2_clarity", "q3_fit", "q3_follow_up", "four_branch"):
        assert found[metric_id] == pytest.approx(1)


def test_an_emotion_that_is_none_of_the_twenty_counts_as_predicted(raw, file):
    raw["turns"][0]["moodShiftTags"] = [{"emotion": "Proud", "intensity": 4}]
    file["turns"][0]["em_emotion_tags"] = [{"emotion": "Proud", "intensity": 4}, {"emotion": "joyful"}]
    turn = score_of(raw, file)["turns"][0]["metrics"]
    assert turn["emotion_f1"] == pytest.approx(2 / 3)
    assert turn["emotion_va"] == pytest.approx(0.5)


def test_an_emotion_that_the_labels_hold_twice_counts_twice_in_the_matching(raw, file):
    raw["turns"][0]["moodShiftTags"] = [{"emotion": "Proud", "intensity": 4}, {"emotion": "proud", "intensity": 2}]
    file["turns"][0]["em_emotion_tags"] = [{"emotion": "Proud", "intensity": 4}]
    turn = score_of(raw, file)["turns"][0]["metrics"]
    assert (turn["emotion_f1"], turn["emotion_va"]) == (1, 0.5)


def test_no_answer_on_a_neutral_turn_is_right(raw, file):
    raw["turns"][0]["moodShiftTags"] = []
    file["turns"][0]["em_emotion_tags"] = None
    assert score_of(raw, file)["turns"][0]["metrics"]["emotion_f1"] == 1


def test_the_value_of_the_llm_stands_in_where_the_observed_one_is_null(raw, file):
    first_labels(raw)["binaryJudgements"] = [
        {"questionId": "B1", "observedBehavior": None, "preferredBehavior": "yes", "llmValue": "no"},
        {"questionId": "B2", "observedBehavior": "yes", "preferredBehavior": None, "llmValue": "no"},
    ]
    file["turns"][0]["em_binary_om_assessment"] = {"B1": "no", "B2": "yes"}
    file["turns"][0]["em_binary_human_prediction"] = {"B1": "yes", "B2": "yes"}
    turn = score_of(raw, file)["turns"][0]["metrics"]
    assert (turn["binary_om_accuracy"], turn["binary_hp_accuracy"]) == (1, 1)


def test_a_comparison_without_a_winner_is_among_those_that_can_be_missed(raw, file):
    comparisons = first_labels(raw)["pairwiseComparisons"]
    comparisons[0]["winner"] = None
    turn = score_of(raw, file)["turns"][0]["metrics"]
    assert turn["pairwise_accuracy"] == pytest.approx(1 - 1 / len(comparisons))


def test_only_turns_that_both_files_have_are_scored(raw, file):
    gone = file["turns"].pop()["turnNumber"]
    found = score_of(raw, file)
    assert found["metrics"]["pairwise_accuracy"] == 1
    last = found["turns"][-1]
    assert (gone, {None}) == (last["turnNumber"], set(last["metrics"].values()))
    conversation, _ = read_conversation(raw)
    file["turns"] = []
    nothing = score_released(conversation, parse_result(file)).metrics
    assert (nothing["emotion_f1"], nothing["pairwise_accuracy"], nothing["kendall_tau"]) == (0, 0, None)


def test_the_files_own_totals_count_before_its_items_and_are_clamped(raw, file):
    raw["postPanas"]["totalPositiveAffect"] = 40
    predicted = file["post_conversation"]["predicted_post_panas"]
    predicted["totalPositiveAffect"] = 100
    found = metrics_of(raw, file)
    assert found["panas_normalized_positive"] == pytest.approx(1 - 30 / 60)


@pytest.mark.parametrize(
    ("votes", "by_judge", "expected"),
    [
        ("right", ..., 1),
        ({}, ..., 0),
        (None, ..., None),
        ({}, {}, None),
        ({}, {"judge-1": {}}, 0),
    ],
)
def test_an_empty_assessment_of_a_draft_is_an_assessment_unless_no_judge_made_one(raw, file, votes, by_judge, expected):
    for turn in file["turns"]:
        right = turn["em_draft_binary_assessment_by_model"].pop("judge-1")
        turn["em_draft_binary_assessment"] = right if votes == "right" else votes
        if by_judge is ...:
            del turn["em_draft_binary_assessment_by_model"]
        else:
            turn["em_draft_binary_assessment_by_model"] = by_judge
    assert metrics_of(raw, file)["draft_binary_alignment"] == expected


def test_the_first_judges_ratings_alone_count(raw, file):
    for turn in file["turns"]:
        turn["em_draft_judge_scores"] = {"overall_score": 7, "tone_match": 4, "length": 1}
    assert metrics_of(raw, file)["draft_judge"] == pytest.approx(4.5 / 6)


def test_a_missing_answer_does_not_hurt_where_the_truth_is_no(raw, file):
    for turn, labels in zip(file["turns"], raw["turns"], strict=True):
        turn["em_binary_om_assessment"] = None
        for judgement in labels["annotations"]["binaryJudgements"]:
            judgement["observedBehavior"] = "no"
    found = score_of(raw, file)
    assert found["metrics"]["binary_om_accuracy"] == 1
    assert (found["pooled"]["binary_om"]["fp"], found["pooled"]["binary_om"]["fn"]) == (0, 0)


def test_a_block_that_the_result_lacks_counts_as_not_answered(raw, file):
    for turn in file["turns"]:
        del turn["em_pairwise_selections"]
    del file["post_conversation"]
    found = metrics_of(raw, file)
    assert found["pairwise_accuracy"] == 0
    assert found["composite"] is not None


# What the scores file then holds


@pytest.fixture
def folders(tmp_path):
    write_conversations(tmp_path / "truth", 4, turns=3)
    for seed in range(4):
        conversation = make_conversation(seed, turns=3)
        write_result(tmp_path / "results", noisy_result(conversation, 1))
        write_result(tmp_path / "results", oracle_result(conversation))
    return tmp_path / "results", tmp_path / "truth"


@pytest.fixture
def released(folders):
    return score_folders(*folders, resamples=100, rules="released")


def test_the_file_names_its_rules_and_holds_their_metrics(folders, released):
    ours = score_folders(*folders, resamples=100)
    assert (ours["metadata"]["rules"], released["metadata"]["rules"]) == ("attunebench", "released")
    for scores, rules in ((ours, "attunebench"), (released, "released")):
        for entry in (*scores["conversations"], *scores["aggregates"]):
            assert list(entry["metrics"]) == list(cards_of(rules))
    assert [card.id for card in REGISTRY.values() if card.id not in cards_of("attunebench")] == [
        card.id for card in REGISTRY.values() if card.status == "released"
    ]


def test_every_value_lies_within_the_range_of_its_card(released):
    for entry in released["conversations"]:
        for metric_id, value in entry["metrics"].items():
            card = REGISTRY[metric_id]
            assert value is None or card.low - 1e-9 <= value <= card.high + 1e-9


def test_z_scores_are_of_models_among_each_other(released):
    scores = [entry["metrics"]["z_score"]["mean"] for entry in released["aggregates"]]
    assert sorted(scores) == [-0.7071, 0.7071]
    assert {entry["metrics"]["z_score"] for entry in released["conversations"]} == {None}


def test_means_are_plain_means_over_conversations(released):
    for aggregate in released["aggregates"]:
        values = [
            entry["metrics"]["composite"]
            for entry in released["conversations"]
            if entry["em_model"] == aggregate["em_model"]
        ]
        assert aggregate["metrics"]["composite"]["mean"] == pytest.approx(sum(values) / len(values))


def test_both_ways_of_scoring_write_the_same(folders, released, tmp_path):
    score_to_file(*folders, tmp_path / "scores.json", resamples=100, rules="released")
    written = read_scores(tmp_path / "scores.json")
    for key in ("conversations", "aggregates", "references"):
        assert written[key] == json.loads(json.dumps(released[key]))


def test_references_follow_the_same_rules_and_have_no_draft(folders, released):
    base = next(one for one in released["references"] if one["id"] == BASE_RATE)
    assert not {name for name in base["metrics"] if REGISTRY[name].group == "draft"}
    truths = {}
    for path in sorted(folders[1].rglob("*.json")):
        conversation, _ = read_conversation(json.loads(path.read_text("utf-8")))
        truths[conversation.conversation_id] = prepare(conversation, "released")
    answers = {result.conversation_id: result for result in base_rate_results(released["ground_truth"])}
    for entry in base["conversations"]:
        found = score_prepared(truths[entry["conversationId"]], answers[entry["conversationId"]])[0]
        assert entry["metrics"] == {name: found["metrics"][name] for name in entry["metrics"]}


def test_guessing_has_no_constant_score_under_the_released_rules():
    assert {card.chance for card in cards_of("released").values()} == {None}


def test_rules_that_do_not_exist_and_bertscore_are_refused(folders, tmp_path):
    with pytest.raises(UsageError):
        score_folders(*folders, rules="other")
    with pytest.raises(UsageError):
        score_to_file(*folders, tmp_path / "s.json", rules="released", bertscore=BertScoreSettings("m", None, "cpu"))


def test_our_rules_are_untouched_by_what_the_released_ones_need(raw, file):
    plain = copy.deepcopy(file)
    file["turns"][0]["em_emotion_tags"] = [*file["turns"][0]["em_emotion_tags"], {"emotion": "joyful"}]
    conversation, _ = read_conversation(raw)
    ours = [score_prepared(prepare(conversation), parse_result(one))[0]["metrics"] for one in (plain, file)]
    if plain["turns"][0]["em_emotion_tags"]:
        assert ours[0] == ours[1]


def test_pooled_ratios_without_any_truth_are_0_and_undefined_by_our_rules(tmp_path):
    raw = make_conversation(0, turns=2)
    for turn in raw["turns"]:
        for judgement in turn["annotations"]["binaryJudgements"]:
            judgement |= {"observedBehavior": "na", "preferredBehavior": "na"}
    (tmp_path / "truth").mkdir()
    (tmp_path / "truth" / "conversation_1.json").write_text(json.dumps(raw), encoding="utf-8")
    write_result(tmp_path / "results", oracle_result(raw))
    for rules, expected in (("released", 0), ("attunebench", None)):
        scores = score_folders(tmp_path / "results", tmp_path / "truth", resamples=100, rules=rules)
        for entry in (*scores["conversations"], *scores["aggregates"]):
            block = entry["pooled"]["binary_om"]
            assert [block[name] for name in ("accuracy", "precision", "recall", "f1", "mcc")] == [expected] * 5
