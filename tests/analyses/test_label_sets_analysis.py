"""Second label sets: labels flipped at a known rate, and a ranking turned round, are found again."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import QUICK, cell_of, covers, made, older, table_of
from result_factory import FLIP

from attunebench.scores import Scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

CHANCES = {"a": 0.9, "b": 0.8, "c": 0.7, "d": 0.6, "e": 0.5}
PLAN = Plan(conversations=24, turns=3, people=20, seed=13)


def models() -> dict[str, Any]:
    return {name: Skill(pairwise=chance) for name, chance in CHANCES.items()}


def flipped(conversation: dict[str, Any], index: int) -> dict[str, Any]:
    """One in ten of the preferred behaviours is labelled the other way."""
    chance = random.Random(index)
    for turn in conversation["turns"]:
        for judgement in turn["annotations"]["binaryJudgements"]:
            if judgement["preferredBehavior"] in FLIP and chance.random() < 0.1:
                judgement["preferredBehavior"] = FLIP[judgement["preferredBehavior"]]
    return conversation


def reversed_winners(conversation: dict[str, Any], _index: int) -> dict[str, Any]:
    """The other reply is preferred everywhere."""
    for turn in conversation["turns"]:
        for comparison in turn["annotations"]["pairwiseComparisons"]:
            if comparison["winner"] in ("responseA", "responseB"):
                comparison["winner"] = {"responseA": "responseB", "responseB": "responseA"}[comparison["winner"]]
            elif comparison["winner"] in FLIP:
                comparison["winner"] = FLIP[comparison["winner"]]
    return conversation


@cache
def first_scores() -> Scores:
    return planted_scores(models(), PLAN)


@cache
def first() -> ScoreTable:
    return score_table(first_scores())


@cache
def other(kind: str) -> ScoreTable:
    return score_table(planted_scores(models(), PLAN, relabel={"flipped": flipped, "reversed": reversed_winners}[kind]))


def test_agreement_covers_the_planted_share_of_flips() -> None:
    table = table_of(made("label-sets", first(), others=(other("flipped"),)), "agreement")
    key = ("labels 2", "preferred behaviour")
    assert covers(cell_of(table, key, "percent"), 0.9)
    assert 1.0 == cell_of(table, ("labels 2", "observed behaviour"), "percent").value
    assert 1.0 == cell_of(table, ("labels 2", "observed behaviour"), "ac1").value


def test_agreement_is_the_plain_share_of_equal_labels() -> None:
    mine, theirs = first(), other("flipped")
    pairs = [
        (a, b)
        for one, two in zip(mine.truths(), theirs.truths(), strict=True)
        if one is not None and two is not None
        for left, right in zip(one["turns"], two["turns"], strict=True)
        for a, b in zip(left["preferred"], right["preferred"], strict=True)
        if a in "yn" and b in "yn"
    ]
    cell = cell_of(
        table_of(made("label-sets", mine, others=(theirs,)), "agreement"),
        ("labels 2", "preferred behaviour"),
        "percent",
    )
    assert pytest.approx(sum(a == b for a, b in pairs) / len(pairs)) == cell.value


def test_a_ranking_that_holds_correlates_fully() -> None:
    table = table_of(made("label-sets", first(), others=(other("flipped"),)), "rankings")
    assert 1.0 == cell_of(table, ("labels 2", "Pairwise"), "spearman").value
    assert "yes" == cell_of(table, ("labels 2", "Pairwise"), "best").value


def test_a_ranking_that_was_turned_round_is_found() -> None:
    analysis = made("label-sets", first(), others=(other("reversed"),))
    table = table_of(analysis, "rankings")
    assert -1.0 == cell_of(table, ("labels 2", "Pairwise"), "spearman").value
    assert -1.0 == cell_of(table, ("labels 2", "Pairwise"), "kendall").value
    assert "no" == cell_of(table, ("labels 2", "Pairwise"), "best").value
    agreement = cell_of(table_of(analysis, "agreement"), ("labels 2", "preferred reply"), "percent")
    assert 0.0 == agreement.value


def test_both_rankings_stand_side_by_side() -> None:
    table = table_of(made("label-sets", first(), others=(other("reversed"),)), "pairwise_accuracy_labels 2")
    assert [1, 2, 3, 4, 5] == [cell_of(table, name, "first_rank").value for name in CHANCES]
    assert [5, 4, 3, 2, 1] == [cell_of(table, name, "other_rank").value for name in CHANCES]


def test_several_sets_each_get_their_rows() -> None:
    analysis = made("label-sets", first(), others=(other("flipped"), other("reversed")))
    assert {"labels 2", "labels 3"} == {row[0].value for row in table_of(analysis, "rankings").rows}


def test_the_same_labels_twice_are_warned_of() -> None:
    scores: Any = {**first_scores()}
    scores["metadata"] = {**scores["metadata"], "ground_truth_sha256": "same"}
    one, two = score_table(scores), score_table(scores)
    assert 1 == len(made("label-sets", one, others=(two,)).warnings)


def test_sets_are_called_by_their_folders() -> None:
    scores: Any = {**first_scores()}
    scores["metadata"] = {**scores["metadata"], "ground_truth": "data/annotators"}
    table = table_of(made("label-sets", first(), others=(score_table(scores),)), "rankings")
    assert "annotators" == table.rows[0][0].value


def test_older_scores_give_rankings_and_no_agreement() -> None:
    old = score_table(older(first_scores()))
    assert "agreement" not in [table.id for table in made("label-sets", old, others=(other("flipped"),)).tables]


def test_few_conversations_make_no_claim() -> None:
    few = first().with_conversations(first().ids[:6])
    analysis = made("label-sets", few, others=(other("flipped"),))
    assert all(row[4].small for row in table_of(analysis, "rankings").rows)


def test_one_label_set_says_what_is_needed() -> None:
    assert "--other-labels" in made("label-sets", first(), QUICK).missing


def test_sets_without_a_common_conversation_say_so() -> None:
    elsewhere = score_table(planted_scores({"a": Skill()}, Plan(conversations=2, turns=3, seed=99)))
    assert made("label-sets", first(), others=(elsewhere,)).missing
