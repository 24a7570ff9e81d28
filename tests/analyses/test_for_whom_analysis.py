"""For whom: a topic on which all lose, and a model that loses more, are found; screening bands follow the cut-offs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from planted_studies import cell_of, covers, made, table_of
from planted_within import TOPIC_LOSS, WORRY, changed, people_scores

from attunebench.analyses import Analysis, Settings
from attunebench.analyses.sampling import claimed
from attunebench.scores.table import ScoreTable

NAME = "for-whom"
SURE = Settings(resamples=1000, metrics=("pairwise_accuracy",))
FEW = Settings(resamples=100, metrics=("pairwise_accuracy",))
UNTESTED = replace(FEW, small=1000)
"""All subgroups are too small for a test: quick, and who is in them is seen all the same."""


@cache
def topics() -> ScoreTable:
    """The people with their topics and an attitude that few have, and nothing else that would be tested too."""

    def alone(scores: Any) -> None:
        for index, truth in enumerate(scores["ground_truth"]):
            truth |= {"demographics": {}, "diagnosis_groups": [], "computed_scores": {}}
            truth["attitude"] = "wary" if index < 10 else "open"

    return changed(people_scores(), alone)


@cache
def people() -> Analysis:
    return made(NAME, topics(), SURE)


def test_the_planted_topic_is_found_with_its_size() -> None:
    analysis = people()
    table = table_of(analysis, "models-pairwise_accuracy")
    assert covers(cell_of(table, ("topic", WORRY, "calm"), "difference"), -TOPIC_LOSS)
    assert covers(cell_of(table, ("topic", WORRY, "uneven"), "difference"), -2 * TOPIC_LOSS)
    assert claimed(cell_of(table, ("topic", WORRY, "calm"), "difference"), SURE)


def test_the_model_that_loses_more_is_told_from_the_others() -> None:
    analysis = people()
    cell = cell_of(table_of(analysis, "models-pairwise_accuracy"), ("topic", WORRY, "uneven"), "others")
    assert covers(cell, -TOPIC_LOSS)
    assert claimed(cell, SURE)
    calm = cell_of(table_of(analysis, "models-pairwise_accuracy"), ("topic", WORRY, "calm"), "others")
    assert covers(calm, TOPIC_LOSS / 2)


def test_n_participants_and_mean_are_those_of_the_subgroup() -> None:
    scores = people_scores()
    mine = {t["conversationId"]: t["participant_id"] for t in scores["ground_truth"] if t["topics"] == [WORRY]}
    values = [
        entry["metrics"]["pairwise_accuracy"]
        for entry in scores["conversations"]
        if entry["em_model"] == "calm" and entry["conversationId"] in mine
    ]
    table = table_of(people(), "models-pairwise_accuracy")
    row = ("topic", WORRY, "calm")
    assert len(values) == cell_of(table, row, "n").value
    assert len(set(mine.values())) == cell_of(table, row, "participants").value
    assert pytest.approx(sum(values) / len(values)) == cell_of(table, row, "mean").value


def test_nothing_is_claimed_where_nothing_was_planted() -> None:
    tables = made(NAME, topics(), replace(FEW, metrics=("binary_om_accuracy",))).tables
    assert not any(claimed(cell, FEW) for table in tables for row in table.rows for cell in row)


def test_small_subgroups_are_shown_and_never_tested() -> None:
    table = table_of(people(), "all-pairwise_accuracy")
    small = [row for row in table.rows if int(row[2].value or 0) < 20]
    assert small
    assert all(row[5].small and row[5].p is None for row in small)


def with_scores(**values: list[float]) -> Any:
    def told(scores: Any) -> None:
        for index, truth in enumerate(scores["ground_truth"]):
            truth["computed_scores"] = {key: given[index % len(given)] for key, given in values.items()}

    return told


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scale", "values", "row", "share"),
    [
        ("who_5", [12, 13], ("WHO-5", "below 13"), 1 / 2),
        ("aq_10", [5, 6, 7], ("AQ-10", "6 and above"), 2 / 3),
        ("asrs_6", [3, 4], ("ASRS", "4 and above of 6"), 1 / 2),
        ("asrs_6", [13, 14], ("ASRS", "14 and above of 24"), 1 / 2),
        ("promis_anxiety_t", [54.9, 55, 60, 70], ("PROMIS anxiety T", "below 55"), 1 / 4),
        ("promis_anxiety_t", [54.9, 55, 59.9], ("PROMIS anxiety T", "55 to < 60"), 2 / 3),
        ("promis_sleep_t", [60, 69.9, 70], ("PROMIS sleep T", "60 to < 70"), 2 / 3),
        ("promis_depression_t", [69.9, 70], ("PROMIS depression T", "70 and above"), 1 / 2),
    ],
)
def test_bands_follow_the_cut_offs(scale: str, values: list[float], row: tuple[str, str], share: float) -> None:
    study = changed(people_scores(), with_scores(**{scale: values}))
    table = table_of(made(NAME, study, UNTESTED), "all-pairwise_accuracy")
    n = cell_of(table, row, "n").value
    assert pytest.approx(share * 66, abs=1) == n
    assert "screener" == cell_of(table, row, "facet").mark


def test_what_is_not_known_of_a_person_is_in_no_subgroup_and_no_rest() -> None:
    def partly(scores: Any) -> None:
        for index, truth in enumerate(scores["ground_truth"]):
            truth["demographics"] = {} if index < 6 else {"gender": "Woman" if index % 2 else "Man"}

    table = table_of(made(NAME, changed(people_scores(), partly), FEW), "all-pairwise_accuracy")
    assert 60 == cell_of(table, ("gender", "Man"), "difference").n


def test_letter_case_makes_no_subgroup() -> None:
    def shouted(scores: Any) -> None:
        for index, truth in enumerate(scores["ground_truth"]):
            truth["topics"] = ["Work" if index % 2 else " work "] if index % 4 else ["home"]

    table = table_of(made(NAME, changed(people_scores(), shouted), UNTESTED), "all-pairwise_accuracy")
    assert {"home", "Work"} == {str(row[1].value) for row in table.rows if row[0].value == "topic"}


def test_the_resamples_have_no_part_in_what_is_claimed() -> None:
    few, many = (made(NAME, topics(), settings) for settings in (FEW, replace(FEW, resamples=200)))
    for one, other in zip(few.tables, many.tables, strict=True):
        assert [[c.p_corrected for c in row] for row in one.rows] == [
            [c.p_corrected for c in row] for row in other.rows
        ]
    assert () == few.warnings
