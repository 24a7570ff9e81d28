"""Cost: what results say is summed and averaged, what they do not say is left out and counted."""

from __future__ import annotations

import copy
from functools import cache
from typing import Any

import pytest
from planted import Plan, Skill, planted_scores
from planted_studies import PAIRWISE, cell_of, covers, level, made, ranked_scores, table_of

from attunebench.analyses.cost import FRONTIER
from attunebench.scores import Scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable


@cache
def scores() -> Scores:
    skills = {"cheap": Skill(cost=0.01), "dear": Skill(cost=0.05), "free": Skill()}
    return planted_scores(skills, Plan(conversations=24, turns=3, seed=7))


def entries(model: str) -> list[Any]:
    return [entry for entry in scores()["conversations"] if entry["em_model"] == model]


@cache
def planted() -> ScoreTable:
    return score_table(scores())


@pytest.mark.parametrize(("model", "price"), [("cheap", 0.01), ("dear", 0.05)])
def test_the_interval_covers_the_planted_cost(model: str, price: float) -> None:
    assert covers(cell_of(table_of(made("cost", planted()), "money"), model, "cost"), price)


def test_totals_and_cost_per_point_are_those_of_plain_sums() -> None:
    table = table_of(made("cost", planted()), "money")
    costs = [entry["api_cost"] for entry in entries("dear")]
    points = [entry["metrics"]["composite"] for entry in entries("dear")]
    assert pytest.approx(sum(costs)) == cell_of(table, "dear", "total").value
    assert pytest.approx(sum(costs) / sum(points)) == cell_of(table, "dear", "per_point").value


def test_a_model_that_says_no_cost_has_none_and_not_zero() -> None:
    analysis = made("cost", planted())
    table = table_of(analysis, "money")
    assert None is cell_of(table, "free", "cost").value is cell_of(table, "free", "total").value
    assert "24 of 72 results" in analysis.notes[0]


def test_the_sentence_names_the_cheapest_and_the_dearest() -> None:
    shows = made("cost", planted()).shows
    assert "(cheap)" in shows.split(" to ")[0]
    assert "(dear)" in shows.split(" to ")[1]


def test_every_epoch_is_paid_for_and_a_conversation_costs_their_mean() -> None:
    twice: Any = copy.deepcopy(scores())
    again = [{**entry, "epoch": 2, "api_cost": 3 * entry["api_cost"]} for entry in entries("cheap")]
    for entry in twice["conversations"]:
        entry["epoch"] = 1
    twice["conversations"] += again
    table = table_of(made("cost", score_table(twice)), "money")
    once = sum(entry["api_cost"] for entry in entries("cheap"))
    assert pytest.approx(4 * once) == cell_of(table, "cheap", "total").value
    assert pytest.approx(2 * once / 24) == cell_of(table, "cheap", "cost").value


def test_tokens_and_seconds_are_means_per_conversation() -> None:
    table = table_of(made("cost", planted()), "usage")
    assert 1000 == cell_of(table, "cheap", "prompt_tokens").value
    seconds = [entry["duration_seconds"] for entry in entries("cheap")]
    assert pytest.approx(sum(seconds) / len(seconds)) == cell_of(table, "cheap", "seconds").value


def test_scores_without_any_cost_say_so() -> None:
    assert made("cost", level()).missing


def test_a_model_is_on_the_frontier_unless_one_that_costs_no_more_scores_as_high() -> None:
    priced: Any = copy.deepcopy(scores())
    costs = {"cheap": 0.01, "dear": 0.05, "free": 0.05}
    points = {"cheap": 50.0, "dear": 70.0, "free": 60.0}
    for entry in priced["conversations"]:
        entry["api_cost"], entry["metrics"]["composite"] = costs[entry["em_model"]], points[entry["em_model"]]
    table = table_of(made("cost", score_table(priced)), "money")
    assert {"cheap": FRONTIER, "dear": FRONTIER, "free": ""} == {row[0].value: row[0].mark for row in table.rows}


def test_five_models_whose_order_of_cost_is_their_order_of_score_are_tested() -> None:
    """The smallest p that five models can give is 2/5!."""
    priced: Any = copy.deepcopy(ranked_scores())
    for place, name in enumerate(sorted(PAIRWISE)):
        for entry in priced["conversations"]:
            if entry["em_model"] == name:
                entry["api_cost"], entry["metrics"]["composite"] = 0.01 * (place + 1), 50.0 + place
    assert "p 0.017" in made("cost", score_table(priced)).shows


def test_results_that_cost_nothing_have_no_price_per_conversation() -> None:
    free: Any = copy.deepcopy(scores())
    for entry in free["conversations"]:
        entry["api_cost"] = 0.0
    assert "$" not in made("cost", score_table(free)).shows
