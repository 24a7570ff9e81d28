"""The clinical affect gap: a planted one is found, taken apart without a rest, and none is claimed without one."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from planted_studies import cell_of, made, table_of
from planted_within import BAD_TAGS, GOOD_TAGS, changed, people_scores, people_study

from attunebench.analyses import Analysis, Settings
from attunebench.analyses.sampling import claimed
from attunebench.analyses.table import NOT_ESTIMABLE
from attunebench.constants import PANAS_ITEMS, PANAS_SIMILARITY

NAME = "affect-gap"
FEW = Settings(resamples=100)


@cache
def analysis() -> Analysis:
    return made(NAME, people_study())


def told(truth: Any) -> bool:
    return "any" in truth["diagnosis_groups"]


def test_the_planted_gap_is_found_in_all_models_and_called_self_reported() -> None:
    table = table_of(analysis(), "gap-emotion_va")
    for model in ("all models", "calm", "even", "uneven"):
        cell = cell_of(table, model, "gap")
        assert claimed(cell, FEW)
        assert float(cell.value or 0) < 0
    assert "self-reported" in analysis().notes[0]


def test_on_tagged_turns_the_planted_chances_come_out() -> None:
    """A found tag scores 1, or 1/2 beside a false one (chance 0.1); a missed one what the false one is like it."""
    felt = ("Scared", "Proud")
    near = sum(sum(PANAS_SIMILARITY[item].values()) - 1 for item in felt) / len(felt) / (len(PANAS_ITEMS) - 1)
    table = table_of(analysis(), "parts")
    for group, chance in (("none", GOOD_TAGS), ("any", BAD_TAGS)):
        expected = chance * (0.9 + 0.1 / 2) + (1 - chance) * 0.1 * near
        assert pytest.approx(expected, abs=0.06) == cell_of(table, group, "va_tagged").value


def test_parts_are_those_of_a_plain_count() -> None:
    groups: dict[bool, list[Any]] = {True: [], False: []}
    for truth in people_scores()["ground_truth"]:
        groups[told(truth)] += [turn["tags"] for turn in truth["turns"]]
    table = table_of(analysis(), "parts")
    for group, has in (("none", False), ("any", True)):
        tags = groups[has]
        assert pytest.approx(sum(not t for t in tags) / len(tags)) == cell_of(table, group, "neutral").value
        assert pytest.approx(sum(map(len, tags)) / len(tags)) == cell_of(table, group, "felt").value
        assert len(tags) == cell_of(table, group, "turns").value


def test_the_parts_add_up_to_the_difference_of_the_metric() -> None:
    made_of = analysis()
    split = table_of(made_of, "split")
    for model in ("all models", "calm", "uneven"):
        parts = [float(cell_of(split, model, part).value or 0) for part in ("share", "alarms", "tagged")]
        whole = cell_of(table_of(made_of, "gap-emotion_va"), model, "gap").value
        assert pytest.approx(whole) == sum(parts)


def test_what_comes_from_neutral_turns_is_told_from_what_is_read_badly() -> None:
    """Where turns with and without a diagnosis are read alike, only the share of neutral turns is left."""

    def read_alike(scores: Any) -> None:
        for entry, truth in zip(scores["conversations"], scores["ground_truth"] * 3, strict=True):
            assert entry["conversationId"] == truth["conversationId"]
            for turn, labels in zip(entry["turns"], truth["turns"], strict=True):
                turn["metrics"]["emotion_va"] = 0.5 if labels["tags"] else 1.0
            values = [turn["metrics"]["emotion_va"] for turn in entry["turns"]]
            entry["metrics"]["emotion_va"] = sum(values) / len(values)

    split = table_of(made(NAME, changed(people_scores(), read_alike)), "split")
    assert pytest.approx(0) == cell_of(split, "calm", "tagged").value
    assert pytest.approx(0) == cell_of(split, "calm", "alarms").value
    assert cell_of(split, "calm", "difference").value == cell_of(split, "calm", "share").value
    assert -0.1 > float(cell_of(split, "calm", "share").value or 0)


def test_the_score_of_always_naming_none_stands_beside_with_its_own_gap() -> None:
    """It is the share of neutral turns, so that its gap is the difference of these shares."""
    made_of = analysis()
    cell = cell_of(table_of(made_of, "gap-emotion_va"), "Always no emotion", "gap")
    none, any_ = (float(cell_of(table_of(made_of, "parts"), g, "neutral").value or 0) for g in ("none", "any"))
    assert pytest.approx(any_ - none) == cell.value
    # All conversations of a group are planted with one share of neutral turns, so that there is nothing to resample.
    assert (None, NOT_ESTIMABLE) == (cell.low, cell.mark)


def test_binary_om_shows_no_gap_where_none_was_planted() -> None:
    assert not claimed(cell_of(table_of(analysis(), "gap-binary_om_accuracy"), "all models", "gap"), FEW)


def test_few_conversations_of_a_group_support_no_claim() -> None:
    def mostly_none(scores: Any) -> None:
        for index, truth in enumerate(scores["ground_truth"]):
            if index > 10:
                truth["diagnosis_groups"] = ["none"]

    analysis = made(NAME, changed(people_scores(), mostly_none), FEW)
    assert cell_of(table_of(analysis, "gap-emotion_va"), "calm", "gap").small


def test_people_who_told_nothing_are_in_no_group() -> None:
    def silent(scores: Any) -> None:
        for truth in scores["ground_truth"][:6]:
            truth["diagnosis_groups"] = []

    analysis = made(NAME, changed(people_scores(), silent), FEW)
    assert 60 == cell_of(table_of(analysis, "gap-emotion_va"), "calm", "gap").n


def test_without_any_diagnosis_told_it_says_so() -> None:
    def silent(scores: Any) -> None:
        for truth in scores["ground_truth"]:
            truth["diagnosis_groups"] = []

    assert made(NAME, changed(people_scores(), silent)).missing


def test_another_metric_can_be_asked_for() -> None:
    analysis = made(NAME, people_study(), Settings(resamples=100, metrics=("pairwise_accuracy",)))
    assert "gap-pairwise_accuracy" in {table.id for table in analysis.tables}
