"""PANAS items: a planted bias on one item is found with its size; errors are those of plain counts."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from planted_studies import cell_of, covers, made, table_of
from planted_within import BIAS, changed, entries_of, people_scores, people_study

from attunebench.analyses import Analysis, Settings
from attunebench.analyses.sampling import claimed

NAME = "panas-items"
SURE = Settings(resamples=500)


@cache
def analysis() -> Analysis:
    return made(NAME, people_study(relabelled=True), SURE)


def biased(analysis: Analysis, column: str = "bias") -> list[str]:
    """The items with a significant difference in a column."""
    table = table_of(analysis, "items")
    names = [str(row[0].value) for row in table.rows]
    return [name for name in names if claimed(cell_of(table, name, column), SURE)]


def test_the_planted_bias_is_found_and_found_alone() -> None:
    cell = cell_of(table_of(analysis(), "items"), "Guilty", "bias")
    assert covers(cell, BIAS)
    assert ["Guilty"] == biased(analysis())
    assert 0.05 > (cell_of(table_of(analysis(), "bias"), "Guilty", "model_calm").p_corrected or 1)


def test_no_bias_is_claimed_where_none_was_planted() -> None:
    assert [] == biased(made(NAME, people_study(), SURE))


def test_error_bias_and_direction_are_those_of_plain_counts() -> None:
    errors, biases, moved = [], [], []
    for entry, truth in entries_of(people_scores(True), "calm"):
        predicted = entry["answers"]["post_panas"]["items"]["upset"]
        pre, post = (truth[key]["items"]["upset"] for key in ("pre_panas", "post_panas"))
        errors.append(abs(predicted - post))
        biases.append(predicted - post)
        if pre != post:
            moved.append((predicted - pre) * (post - pre) > 0)
    study = people_study(relabelled=True)
    one = made(NAME, study.with_groups([group for group in study.groups if group.model == "calm"]))
    table = table_of(one, "items")
    assert pytest.approx(sum(errors) / len(errors)) == cell_of(table, "Upset", "error").value
    assert pytest.approx(sum(biases) / len(biases)) == cell_of(table, "Upset", "bias").value
    assert pytest.approx(sum(moved) / len(moved)) == cell_of(table, "Upset", "direction").value
    assert len(moved) == cell_of(table, "Upset", "direction").n
    assert cell_of(table, "Upset", "error").value == cell_of(table_of(one, "error"), "Upset", "model_calm").value


def repeating(scores: Any) -> None:
    """Models that say after the talk what people said before it."""
    pre = {truth["conversationId"]: truth["pre_panas"]["items"] for truth in scores["ground_truth"]}
    for entry in scores["conversations"]:
        entry["answers"]["post_panas"]["items"] = dict(pre[entry["conversationId"]])


def test_repeating_the_state_before_is_no_better_and_no_worse_than_no_change() -> None:
    made_of = made(NAME, changed(people_scores(), repeating))
    assert [] == biased(made_of, "against")
    cell = cell_of(table_of(made_of, "items"), "Alert", "against")
    assert 0.0 == cell.value
    assert 0.0 == cell_of(table_of(made_of, "items"), "Alert", "direction").value


def test_items_that_lack_are_left_out_and_counted() -> None:
    def half(scores: Any) -> None:
        for index, entry in enumerate(scores["conversations"]):
            if index % 2:
                entry["answers"]["post_panas"]["items"] = {}

    made_of = made(NAME, changed(people_scores(), half))
    assert "50.0 %" in made_of.notes[0]
    assert 33 == cell_of(table_of(made_of, "bias"), "Alert", "model_calm").n
