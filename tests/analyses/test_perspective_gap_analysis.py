"""The perspective gap: a planted one is found with its size, and none where models see both sides alike."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from planted_studies import cell_of, covers, level, made, table_of
from planted_within import GAP, changed, entries_of, turns_scores, turns_study

from attunebench.analyses import Analysis, Settings
from attunebench.analyses.sampling import claimed

NAME = "perspective-gap"
FEW = Settings(resamples=100)


def claims(scores: Any) -> list[float]:
    """The gaps of single models that are significant."""
    cells = [row[4] for row in table_of(made(NAME, scores, FEW), "models").rows if row[0].mark != "reference"]
    return [float(cell.value or 0) for cell in cells if claimed(cell, FEW)]


@cache
def analysis() -> Analysis:
    return made(NAME, turns_study())


def test_the_planted_gap_is_found_and_named() -> None:
    made_of = analysis()
    gap = cell_of(table_of(made_of, "models"), "wide_eyed", "gap")
    assert covers(gap, GAP)
    assert claimed(gap, FEW)
    assert "wide_eyed" in made_of.shows


def test_the_gap_is_the_mean_of_each_conversations_difference() -> None:
    values = [
        entry["metrics"]["binary_om_accuracy"] - entry["metrics"]["binary_hp_accuracy"]
        for entry, _ in entries_of(turns_scores(), "tiring")
    ]
    table = table_of(analysis(), "models")
    assert pytest.approx(sum(values) / len(values)) == cell_of(table, "tiring", "gap").value


def test_the_same_questions_alone_show_the_planted_gap_too() -> None:
    assert covers(cell_of(table_of(analysis(), "models"), "wide_eyed", "same"), GAP)


def test_base_rates_stand_beside() -> None:
    """The row of the base rate, and the gap beyond it, are differences of the same numbers."""
    table = table_of(analysis(), "models")
    gap, base = (cell_of(table, key, "gap").value for key in ("wide_eyed", "Base rate"))
    assert pytest.approx(float(gap) - float(base)) == cell_of(table, "wide_eyed", "beyond").value  # type: ignore[arg-type]


def test_a_questions_gap_is_over_the_conversations_that_have_both_labels() -> None:
    scores = turns_scores()
    place = scores["questions"].index("B3")
    differences = []
    for entry, truth in entries_of(scores, "wide_eyed"):
        shares = []
        for block, side in (("binary_om", "observed"), ("binary_hp", "preferred")):
            letters: list[tuple[str, str]] = [
                (given["answers"][block][place], told[side][place])  # type: ignore[literal-required]
                for given, told in zip(entry["turns"], truth["turns"], strict=True)
            ]
            asked = [answer == label for answer, label in letters if label != "."]
            shares.append(sum(asked) / len(asked) if asked else None)
        if None not in shares:
            differences.append(shares[0] - shares[1])
    cell = cell_of(table_of(analysis(), "questions"), "B3", "model_wide_eyed")
    assert pytest.approx(sum(differences) / len(differences)) == cell.value
    assert len(differences) == cell.n


def test_every_category_and_question_has_a_row() -> None:
    made_of = analysis()
    assert 36 == len(table_of(made_of, "questions").rows)
    assert 5 == len(table_of(made_of, "categories").rows)


def test_no_gap_is_claimed_where_none_was_planted() -> None:
    def alike(scores: Any) -> None:
        """Both sides of a conversation hold the mean of both, give or take noise that changes its sign."""
        for index, entry in enumerate(scores["conversations"]):
            noise = 0.02 if index % 2 else -0.02
            entry["metrics"]["binary_hp_accuracy"] = entry["metrics"]["binary_om_accuracy"] + noise

    assert [] == claims(changed(turns_scores(), alike))


def test_a_model_that_is_better_at_wishes_has_a_gap_below_zero() -> None:
    def swapped(scores: Any) -> None:
        for entry in scores["conversations"]:
            metrics = entry["metrics"]
            om, hp = "binary_om_accuracy", "binary_hp_accuracy"
            metrics[om], metrics[hp] = metrics[hp], metrics[om]

    assert sorted(-gap for gap in claims(changed(turns_scores(), swapped))) == sorted(claims(turns_study()))


def test_without_a_second_side_there_is_no_gap() -> None:
    def one_side(scores: Any) -> None:
        for entry in scores["conversations"]:
            entry["metrics"]["binary_hp_accuracy"] = None

    assert made(NAME, changed(turns_scores(), one_side)).missing


def test_participants_as_units_keep_the_estimate() -> None:
    plain, clustered = (
        cell_of(
            table_of(made(NAME, turns_study(), Settings(resamples=100, by_participant=flag)), "models"), "blind", "gap"
        )
        for flag in (False, True)
    )
    assert plain.value == clustered.value
    assert (plain.low, plain.high) != (clustered.low, clustered.high)


def test_modes_are_not_mixed() -> None:
    assert 30 == cell_of(table_of(made(NAME, level()), "models"), "a", "gap").n
