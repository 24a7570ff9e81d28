"""Turn drift: a planted fall over the thirds of a talk is found with its size, and none where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from planted_studies import cell_of, covers, level, made, table_of
from planted_within import FALL, changed, entries_of, turns_scores, turns_study

NAME = "turn-drift"
OM = "binary_om_accuracy"


def test_the_planted_fall_is_found_in_each_transition() -> None:
    table = table_of(made(NAME, turns_study()), OM)
    assert covers(cell_of(table, "tiring", "early_late"), -FALL)
    assert covers(cell_of(table, "tiring", "early_middle"), -FALL / 2)
    assert pytest.approx(-FALL, abs=0.05) == cell_of(table, "tiring", "same").value
    assert 0.05 > (cell_of(table, "tiring", "middle_late").p_corrected or 1)


def test_the_sentence_names_the_fall_and_in_how_many_models() -> None:
    analysis = made(NAME, turns_study())
    down = sum(float(row[7].value or 0) < 0 for row in table_of(analysis, OM).rows)
    assert "Binary OM falls from early to late by -0.0" in analysis.shows
    assert f"in {down} of 4 models" in analysis.shows
    assert f"{down} of 4" == cell_of(table_of(analysis, "summary"), ("Binary OM", "early → late"), "falling").value


def test_thirds_and_transitions_are_those_of_a_plain_count() -> None:
    early, late, per_conversation = [], [], []
    for entry, _ in entries_of(turns_scores(), "blind"):
        values = [turn["metrics"][OM] for turn in entry["turns"]]
        first, last = values[:2], values[4:]
        early, late = early + first, late + last
        per_conversation.append(sum(last) / 2 - sum(first) / 2)
    table = table_of(made(NAME, turns_study()), OM)
    assert pytest.approx(sum(early) / len(early)) == cell_of(table, "blind", "early").value
    assert pytest.approx(sum(late) / len(late)) == cell_of(table, "blind", "late").value
    assert pytest.approx(sum(per_conversation) / len(per_conversation)) == cell_of(table, "blind", "early_late").value


def test_a_change_of_questions_is_no_drift_over_the_same_questions() -> None:
    """A question that is always wrong and asked in the last two turns alone lowers the late third, and nothing else."""

    def hard_at_the_end(scores: Any) -> None:
        count = len(scores["questions"])
        for truth in scores["ground_truth"]:
            for turn in truth["turns"]:
                late = turn["turnNumber"] > 4
                turn["observed"] = ("y" if late else ".") + "." * (count - 2) + "y"
        for entry in scores["conversations"]:
            for turn in entry["turns"]:
                turn["answers"]["binary_om"] = "n" + "-" * (count - 2) + "y"
                turn["metrics"][OM] = 0.5 if turn["turnNumber"] > 4 else 1.0

    table = table_of(made(NAME, changed(turns_scores(), hard_at_the_end)), OM)
    assert pytest.approx(-0.5) == cell_of(table, "tiring", "early_late").value
    assert pytest.approx(0.0) == cell_of(table, "tiring", "same").value


def test_a_peak_in_the_middle_is_called_one() -> None:
    def peaked(scores: Any) -> None:
        for index, entry in enumerate(scores["conversations"]):
            for turn in entry["turns"]:
                turn["metrics"]["emotion_va"] = 0.8 - index % 3 / 10 if 3 <= turn["turnNumber"] <= 4 else 0.4

    assert "Emotion VA peaks in the middle third" in made(NAME, changed(turns_scores(), peaked)).shows


def test_no_drift_is_claimed_where_none_was_planted() -> None:
    shows = made(NAME, level()).shows
    assert "No drift is shown on Binary OM, Binary HP, Emotion VA, Emotion F1 and Pairwise." == shows


def test_talks_of_two_turns_have_no_thirds() -> None:
    def short(scores: Any) -> None:
        for entry in (*scores["conversations"], *scores["ground_truth"]):
            entry["turns"] = entry["turns"][:2]

    assert "three turns" in made(NAME, changed(turns_scores(), short)).missing
