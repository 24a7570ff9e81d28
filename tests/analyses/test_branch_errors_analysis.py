"""Branch errors: a branch whose labels were moved by two points is foreseen two points worse, exactly."""

from __future__ import annotations

from functools import cache
from statistics import NormalDist
from typing import Any

import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import cell_of, covers, level, made, older, table_of

from attunebench.constants import BRANCHES
from attunebench.scores import Scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

MOVED = "understanding"


def middle(conversation: dict[str, Any], _index: int) -> dict[str, Any]:
    """All branches rated in the middle of the scale, so that noise is never cut off."""
    conversation["conversationWideQuestions"]["fourBranchScores"] = dict.fromkeys(BRANCHES, 4)
    return conversation


def moved(conversation: dict[str, Any], _index: int) -> dict[str, Any]:
    conversation["conversationWideQuestions"]["fourBranchScores"][MOVED] = 6
    return conversation


@cache
def exact() -> Scores:
    """Two models that foresee 4 everywhere, and a person who says 6 of one branch."""
    skills = {"one": Skill(branch_error=0.0), "two": Skill(branch_error=0.0)}
    return planted_scores(skills, Plan(conversations=24, turns=3, seed=4, shape=middle), relabel=moved)


@cache
def planted() -> ScoreTable:
    return score_table(exact())


@pytest.mark.parametrize("model", ["one", "two"])
def test_errors_are_the_planted_points(model: str) -> None:
    table = table_of(made("branch-errors", planted()), "errors")
    assert pytest.approx(2.0) == cell_of(table, model, MOVED).value
    assert pytest.approx(0.0) == cell_of(table, model, "managing").value
    assert pytest.approx(0.5) == cell_of(table, model, "all").value


def test_the_moved_branch_comes_first_and_differs_from_all_others() -> None:
    branches = table_of(made("branch-errors", planted()), "branches")
    assert branches.rows[0][0].value == MOVED
    assert cell_of(branches, MOVED, "apart").value == 3


def test_bias_has_the_sign_of_prediction_minus_label() -> None:
    table = table_of(made("branch-errors", planted()), "bias")
    assert -2.0 == cell_of(table, "one", MOVED).value
    assert 0.0 == cell_of(table, "one", "perceiving").value


def test_the_interval_covers_the_error_of_rounded_noise() -> None:
    """The planted error is |round(N(0, 1.25))|, at most 3 from the middle of the scale: Σ P(at least k) over k."""
    expected = sum(2 * (1 - NormalDist(0, 1.25).cdf(k - 0.5)) for k in (1, 2, 3))
    scores = planted_scores({"one": Skill(branch_error=1.0)}, Plan(conversations=40, turns=3, seed=8, shape=middle))
    table = table_of(made("branch-errors", score_table(scores)), "errors")
    assert covers(cell_of(table, "one", "all"), expected)


def test_no_branch_differs_where_nothing_was_planted() -> None:
    analysis = made("branch-errors", level())
    assert {0} == {row[3].value for row in table_of(analysis, "branches").rows}


def test_older_scores_give_errors_and_no_bias() -> None:
    analysis = made("branch-errors", score_table(older(exact())))
    assert ["errors", "branches"] == [table.id for table in analysis.tables]


def test_an_answer_that_is_lacking_counts_six_points() -> None:
    scores = planted_scores({"one": Skill(branch_error=0.0)}, Plan(conversations=3, turns=3, seed=4, shape=middle))
    entry = scores["conversations"][0]
    entry["metrics"]["four_branch_managing"] = 0.0
    values = table_of(made("branch-errors", score_table(scores)), "errors")
    assert pytest.approx(2.0) == cell_of(values, "one", "managing").value
