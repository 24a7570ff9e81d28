"""A study's arrays against the entries that they are made of, read one by one."""

from __future__ import annotations

import copy
import json
import statistics
from dataclasses import replace

import numpy as np
import pytest
from factory import make_conversation
from hypothesis import given, settings
from hypothesis import strategies as st
from planted import Plan, Skill, planted_scores
from result_factory import noisy_result

from attunebench.conversations.reading import read_conversation
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.results.parsing import parse_result
from attunebench.scorer import score
from attunebench.scores.loading import score_table

TRUTH = {
    "binary_om": "observed",
    "binary_hp": "preferred",
    "binary_om_hp": "observed",
    "binary_hp_hp": "preferred",
}


@pytest.fixture(scope="module")
def scores():
    """Two noisy models with gaps of all kinds, one in two epochs the other without the first of six conversations."""
    raws = [make_conversation(seed, turns=3) for seed in range(6)]
    results = []
    for raw in raws:
        results.append({**noisy_result(raw, 1), "em_model": "once"})
        results += [{**noisy_result(raw, 7 + epoch), "em_model": "twice", "epoch": epoch} for epoch in (1, 2)]
    parsed = [parse_result(result, source_file=f"{place}.json") for place, result in enumerate(results[1:])]
    conversations = [read_conversation(raw, f"{place}.json", source="")[0] for place, raw in enumerate(raws)]
    return json.loads(json.dumps(score(conversations, parsed, resamples=10)))


@pytest.fixture(scope="module")
def study(scores):
    return score_table(scores)


def entries(scores, model, conversation):
    return [e for e in scores["conversations"] if (e["em_model"], e["conversationId"]) == (model, conversation)]


def mean(values):
    known = [value for value in values if value is not None and value == value]
    return statistics.fmean(known) if known else float("nan")


def test_a_table_with_other_entries_has_the_values_of_these(study):
    assert np.isfinite(study.values("composite")).any()
    assert np.isnan(replace(study, entries={}).values("composite")).all()


@pytest.mark.parametrize("metric", cards_of("attunebench"))
def test_values_are_means_over_epochs_of_the_entries(scores, study, metric):
    expected = [
        [mean(e["metrics"][metric] for e in entries(scores, group.model, i)) for group in study.groups]
        for i in study.ids
    ]
    np.testing.assert_allclose(study.values(metric), expected, rtol=1e-12)


@pytest.mark.parametrize("metric", [card.id for card in REGISTRY.values() if card.level == "turn"])
def test_turn_values_are_means_over_epochs_of_the_turns(scores, study, metric):
    found = study.turn_values(metric)
    for row, turn in enumerate(study.turns):
        for column, group in enumerate(study.groups):
            given = [
                t["metrics"][metric]
                for e in entries(scores, group.model, study.ids[turn.conversation])
                for t in e["turns"]
                if t["turnNumber"] == turn.number
            ]
            np.testing.assert_allclose(found[row, column], mean(given), rtol=1e-12)


@pytest.mark.parametrize("block", TRUTH)
def test_right_and_answers_are_those_of_the_letters(scores, study, block):
    right, answers = study.right(block), study.answers(block)
    truths = {fact["conversationId"]: fact for fact in scores["ground_truth"]}
    for row, turn in enumerate(study.turns):
        truth = truths[study.ids[turn.conversation]]["turns"][turn.position - 1][TRUTH[block]]
        for column, group in enumerate(study.groups):
            given = [
                t["answers"][block]
                for e in entries(scores, group.model, study.ids[turn.conversation])
                for t in e["turns"]
                if t["turnNumber"] == turn.number and block in t["answers"]
            ]
            for place in range(len(study.questions)):
                told = [letters[place] for letters in given]
                is_right = [float(letter == truth[place]) for letter in told if truth[place] != "."]
                is_yes = [float(letter == "y") for letter in told if letter != "-"]
                np.testing.assert_allclose(right[row, place, column], mean(is_right))
                np.testing.assert_allclose(answers[row, place, column], mean(is_yes))


def test_the_share_of_right_answers_is_the_accuracy_of_the_turn(study):
    for block, metric in (("binary_om", "binary_om_accuracy"), ("binary_hp_hp", "binary_hp_accuracy_hp")):
        right = study.right(block)
        counts = (~np.isnan(right)).sum(axis=1)
        with np.errstate(invalid="ignore"):
            shares = np.where(counts > 0, np.nansum(right, axis=1) / counts, np.nan)
        np.testing.assert_allclose(shares, study.turn_values(metric))


def test_a_conversation_that_was_not_scored_is_a_gap(study):
    once = [group.model for group in study.groups].index("once")
    assert np.isnan(study.values("answered_rate")[0, once])
    assert [False, True] == [bool(known) for known in study.scored()[:2, once]]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 5), unique=True), st.lists(st.integers(0, 1), unique=True, min_size=1))
def test_a_cut_study_has_the_same_values_in_its_rows_and_columns(study, rows, columns):
    cut = study.with_groups([study.groups[c] for c in columns]).with_conversations([study.ids[r] for r in rows])
    whole = study.values("emotion_va")[np.ix_(sorted(rows), columns)]
    np.testing.assert_array_equal(whole, cut.values("emotion_va"))
    kept = [row for row, turn in enumerate(study.turns) if turn.conversation in rows]
    np.testing.assert_array_equal(
        study.turn_values("kendall_tau")[np.ix_(kept, columns)], cut.turn_values("kendall_tau")
    )
    np.testing.assert_array_equal(study.right("binary_om")[kept][:, :, columns], cut.right("binary_om"))


def test_several_files_stand_beside_each_other():
    one = planted_scores({"a": Skill()}, Plan(conversations=4))
    other = planted_scores({"b": Skill(om=0.5)}, Plan(conversations=4))
    both = score_table([one, other])
    assert ["a", "b"] == [group.model for group in both.groups]
    np.testing.assert_array_equal(score_table(one).values("composite")[:, 0], both.values("composite")[:, 0])
    np.testing.assert_array_equal(score_table(other).right("binary_om")[:, :, 0], both.right("binary_om")[:, :, 1])


def test_a_file_of_version_1_0_gives_what_it_holds_and_nothing_else(scores):
    old = copy.deepcopy(scores)
    for key in ("questions", "ground_truth", "references"):
        del old[key]
    for entry in old["conversations"]:
        for key in ("answers", "usage", "api_cost", "duration_seconds"):
            del entry[key]
        for turn in entry["turns"]:
            del turn["answers"]
    found, new = score_table({**old, "schema_version": "1.0"}), score_table(scores)
    assert ((), {}, ()) == (found.questions, found.ground_truth, found.references)
    rows = [new.ids.index(i) for i in found.ids]
    np.testing.assert_array_equal(new.values("composite")[rows], found.values("composite"))
    assert (len(found.turns), 0, len(found.groups)) == found.right("binary_om").shape
    assert [[]] * len(found.turns) == found.tags(found.groups[0])


def test_references_stand_in_the_order_of_the_conversations(scores, study):
    for reference in study.references:
        given = next(r for r in scores["references"] if r["id"] == reference.id)
        by_id = {entry["conversationId"]: entry["metrics"] for entry in given["conversations"]}
        expected = [np.nan if (v := by_id[i]["emotion_va"]) is None else v for i in study.ids]
        np.testing.assert_array_equal(expected, reference.values["emotion_va"])
