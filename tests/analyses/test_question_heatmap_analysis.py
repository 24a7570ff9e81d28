"""The question heat map: pooled accuracy and MCC are those of plain counts; a question that is missed stands out."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
from planted_studies import cell_of, made, table_of
from planted_within import changed, entries_of, turns_scores, turns_study
from sklearn.metrics import matthews_corrcoef

from attunebench.analyses import Analysis, Settings
from attunebench.analyses.sampling import claimed

NAME = "question-heatmap"
FEW = Settings(resamples=100)


@cache
def analysis() -> Analysis:
    return made(NAME, turns_study(), FEW)


def answers(model: str, question: str, block: str, side: str) -> list[tuple[str, str]]:
    """(label, answer) of all turns in which people answered the question."""
    scores: Any = turns_scores()
    place = scores["questions"].index(question)
    pairs = [
        (told[side][place], given["answers"][block][place])
        for entry, truth in entries_of(scores, model)
        for given, told in zip(entry["turns"], truth["turns"], strict=True)
    ]
    return [pair for pair in pairs if pair[0] != "."]


@pytest.mark.parametrize(("block", "side"), [("binary_om", "observed"), ("binary_hp", "preferred")])
def test_accuracy_and_mcc_are_those_of_plain_counts(block: str, side: str) -> None:
    pairs = answers("tiring", "B14", block, side)
    table = table_of(analysis(), f"{block}-questions-accuracy")
    assert pytest.approx(sum(a == b for a, b in pairs) / len(pairs)) == cell_of(table, "B14", "model_tiring").value
    assert len(pairs) == cell_of(table, "B14", "labels").value
    mcc = cell_of(table_of(analysis(), f"{block}-questions-mcc"), "B14", "model_tiring")
    assert pytest.approx(matthews_corrcoef(*zip(*pairs, strict=True))) == mcc.value


def test_the_base_rate_and_the_more_frequent_answer_are_of_the_labels() -> None:
    labels = [label for label, _ in answers("blind", "B14", "binary_hp", "preferred")]
    share = labels.count("y") / len(labels)
    table = table_of(analysis(), "binary_hp-questions-accuracy")
    assert pytest.approx(share) == cell_of(table, "B14", "yes").value
    assert pytest.approx(max(share, 1 - share)) == cell_of(table, "B14", "frequent").value
    above = float(cell_of(table, "B14", "all").value or 0) - max(share, 1 - share)
    assert pytest.approx(above) == cell_of(table, "B14", "over").value


def test_a_category_pools_its_questions() -> None:
    from attunebench.constants import BINARY_CATEGORY

    mine = [question for question, category in BINARY_CATEGORY.items() if category == "perceiving"]
    pairs = [pair for question in mine for pair in answers("blind", question, "binary_om", "observed")]
    table = table_of(analysis(), "binary_om-categories-accuracy")
    assert (
        pytest.approx(sum(a == b for a, b in pairs) / len(pairs)) == cell_of(table, "perceiving", "model_blind").value
    )


def test_the_question_that_was_planted_as_missed_is_the_hardest() -> None:
    rows = table_of(analysis(), "binary_om-questions-accuracy").rows
    assert "B17" == min(rows, key=lambda row: float(row[6].value or 0))[0].value


def test_models_that_always_give_the_frequent_answer_are_told_above_it_nowhere() -> None:
    """The more frequent answer of each question, given always: no better than itself, whatever the base rate."""

    def constant(scores: Any) -> None:
        count = len(scores["questions"])
        letters = [[t["observed"][q] for truth in scores["ground_truth"] for t in truth["turns"]] for q in range(count)]
        usual = "".join("y" if column.count("y") >= column.count("n") else "n" for column in letters)
        for entry in scores["conversations"]:
            for turn in entry["turns"]:
                turn["answers"]["binary_om"] = usual

    rows = table_of(made(NAME, changed(turns_scores(), constant), FEW), "binary_om-questions-accuracy").rows
    assert 36 == len(rows)
    assert not any(claimed(row[7], FEW) for row in rows)


def test_not_answered_is_wrong() -> None:
    def silent(scores: Any) -> None:
        for entry in scores["conversations"]:
            for turn in entry["turns"]:
                turn["answers"]["binary_om"] = "-" * len(scores["questions"])

    made_of = made(NAME, changed(turns_scores(), silent), FEW)
    assert 0.0 == cell_of(table_of(made_of, "binary_om-questions-accuracy"), "B1", "model_blind").value
