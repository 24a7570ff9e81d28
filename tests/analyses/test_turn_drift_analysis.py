"""Turn drift: a planted fall over the thirds of a talk is found with its size, and none where there is none."""

from __future__ import annotations

from typing import Any

import pytest
from planted_studies import QUICK, cell_of, covers, level, made, table_of
from planted_within import FALL, changed, entries_of, turns_scores, turns_study

from attunebench.analyses.sampling import claimed

NAME = "turn-drift"
OM = "binary_om_accuracy"


def test_the_planted_fall_is_found_in_each_transition() -> None:
    table = table_of(made(NAME, turns_study()), OM)
    assert covers(cell_of(table, "tiring", "early_late"), -FALL)
    assert covers(cell_of(table, "tiring", "early_middle"), -FALL / 2)
    assert pytest.approx(-FALL, abs=0.05) == cell_of(table, "tiring", "same").value
    assert 0.05 > (cell_of(table, "tiring", "middle_late").p_corrected or 1)


def test_the_fall_over_all_models_is_significant_and_in_how_many_models_is_counted() -> None:
    analysis = made(NAME, turns_study())
    down = sum(float(row[7].value or 0) < 0 for row in table_of(analysis, OM).rows)
    assert claimed(cell_of(table_of(analysis, "summary"), ("Binary OM", "early → late"), "paired"), QUICK)
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


def test_a_peak_in_the_middle_is_a_rise_and_a_fall() -> None:
    def peaked(scores: Any) -> None:
        for index, entry in enumerate(scores["conversations"]):
            for turn in entry["turns"]:
                turn["metrics"]["emotion_va"] = 0.8 - index % 3 / 10 if 3 <= turn["turnNumber"] <= 4 else 0.4

    table = table_of(made(NAME, changed(turns_scores(), peaked)), "summary")
    rise, fall = (cell_of(table, ("Emotion VA", step), "paired") for step in ("early → middle", "middle → late"))
    assert claimed(rise, QUICK)
    assert claimed(fall, QUICK)
    assert float(fall.value or 0) < 0 < float(rise.value or 0)


def test_no_drift_is_claimed_where_none_was_planted() -> None:
    rows = table_of(made(NAME, level()), "summary").rows
    assert 15 == len(rows)
    assert not any(claimed(cell, QUICK) for row in rows for cell in row)


def test_talks_of_two_turns_have_no_thirds() -> None:
    def short(scores: Any) -> None:
        for entry in (*scores["conversations"], *scores["ground_truth"]):
            entry["turns"] = entry["turns"][:2]

    assert made(NAME, changed(turns_scores(), short)).missing
