"""A whole comparison: what is in it, what it says, and what it refuses."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from plain_scores import plain_scores

from attunebench.analyses import Settings, Table
from attunebench.comparison import Comparison, compare
from attunebench.comparison.screen import on_screen
from attunebench.errors import DataError, UsageError
from attunebench.metrics.composite import PILLAR_WEIGHTS
from attunebench.reports.analyses import FORMATS, render
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

QUICK = Settings(resamples=500)


def values(rng: np.random.Generator, skill: float, count: int = 40) -> dict[str, np.ndarray]:
    """All that the default comparison looks at, around a skill in [0, 1]."""
    pillars = {pillar: skill + 0.05 * rng.standard_normal(count) for pillar in PILLAR_WEIGHTS}
    whole = 100 * sum(weight * pillars[pillar] for pillar, weight in PILLAR_WEIGHTS.items())
    return {**pillars, "composite": whole, "pairwise_accuracy": skill + 0.05 * rng.standard_normal(count)}


def document(skills: dict[str, float], *, seed: int = 0, modes: tuple[str, ...] = ("default",), **more: Any) -> dict:
    rng = np.random.default_rng(seed)
    return plain_scores({name: {mode: values(rng, skill) for mode in modes} for name, skill in skills.items()}, **more)


@pytest.fixture(scope="module")
def study() -> ScoreTable:
    made = document({"best": 0.8, "near": 0.8, "last": 0.4, "baseline/random": 0.2}, modes=("default", "verbose"))
    base = {"id": "base-rate", "label": "Base rate", "meaning": "Most frequent answers.", "metrics": {"composite": {}}}
    rows = [{"conversationId": f"c{row:03}", "metrics": {"composite": 50.0 + row % 2}} for row in range(40)]
    made["references"] = [{**base, "conversations": rows, "n_conversations": 40}]
    return score_table(made)


@pytest.fixture(scope="module")
def found(study: ScoreTable) -> Comparison:
    return compare(study, QUICK)


def table_of(found: Comparison, analysis: str, table: str) -> Table:
    (one,) = (a for a in found.analyses if a.name == analysis)
    (other,) = (t for t in one.tables if t.id == table)
    return other


def column(table: Table, name: str) -> list[Any]:
    index = [column.id for column in table.columns].index(name)
    return [row[index].value for row in table.rows]


def test_it_has_a_leaderboard_and_all_pairs_of_each_mode_and_modes_and_weights(found: Comparison) -> None:
    expected = ["compare-default", "compare-verbose", "compare-modes", "compare-weights"]
    assert expected == [analysis.name for analysis in found.analyses]
    boards = ["composite", "pairwise_accuracy", "told_apart", "references"]
    assert [*boards, "pairs_composite", "pairs_pairwise_accuracy"] == [table.id for table in found.analyses[0].tables]


def test_it_leads_with_how_many_differ_and_who_shares_the_first_tier(found: Comparison) -> None:
    assert "2 of 3 pairs" in found.analyses[0].shows
    first = found.rankings["composite", "default"].tiers[0]
    assert {"best", "near"} == {found.rankings["composite", "default"].groups[i].label for i in first}


def test_a_reference_stands_beside_the_models_and_is_not_ranked(found: Comparison) -> None:
    assert [1, 1, 2] == column(table_of(found, "compare-default", "composite"), "tier")
    table = table_of(found, "compare-default", "references")
    assert ("Base rate", pytest.approx(50.5)) == (column(table, "reference")[0], column(table, "composite")[0])


def test_pairs_stand_with_the_better_one_first_and_significant_ones_on_top(found: Comparison) -> None:
    table = table_of(found, "compare-default", "pairs_composite")
    assert ["yes", "yes", "no"] == column(table, "told_apart")
    assert all(difference >= 0 for difference in column(table, "difference"))
    assert ["last", "last"] == column(table, "behind")[:2]


def test_baselines_are_compared_where_they_are_asked_for(study: ScoreTable) -> None:
    with_them = compare(study, Settings(resamples=500, baselines=True, mode="default"))
    assert 6 == with_them.rankings["composite", "default"].pairs.of


def test_what_could_have_been_found_stands_beside_what_was(found: Comparison) -> None:
    table = table_of(found, "compare-default", "told_apart")
    assert all(column(table, "mde") + column(table, "mde_corrected"))


def test_on_a_screen_a_value_over_other_conversations_than_the_caption_says_has_its_n() -> None:
    made = document({"best": 0.8, "last": 0.4})
    made["conversations"] = [
        one for one in made["conversations"] if (one["em_model"], one["conversationId"]) != ("last", "c000")
    ]
    next(one for one in made["conversations"] if one["em_model"] == "last")["metrics"]["pairwise_accuracy"] = None
    rows = [{"conversationId": f"c{row:03}", "metrics": {"composite": 50.0 + row % 2}} for row in range(40)]
    base = {"id": "base-rate", "label": "Base rate", "meaning": "Most frequent answers.", "metrics": {"composite": {}}}
    made["references"] = [{**base, "conversations": rows, "n_conversations": 40}]
    (shown,) = on_screen(compare(score_table(made), QUICK), QUICK)
    ranks = shown.tables[0]
    assert "Over 39 conversations" in ranks.caption
    at = [place for place, column in enumerate(ranks.columns) if column.id.startswith("score-")]
    assert [[None, None], [None, 38], [40, None]] == [[row[place].n for place in at] for row in ranks.rows]


def test_named_models_alone_are_compared(study: ScoreTable) -> None:
    found = compare(study, QUICK, models=("LAST", "baseline/random"))
    assert {"last", "random"} == {group.label for group in found.rankings["composite", "default"].groups}


def test_a_name_that_is_nobody_s_is_answered_with_the_nearest(study: ScoreTable) -> None:
    with pytest.raises(UsageError, match=r"'bets'\. Did you mean best"):
        compare(study, QUICK, models=("bets", "last"))


def test_one_mode_alone_is_not_held_against_others(study: ScoreTable) -> None:
    names = [analysis.name for analysis in compare(study, Settings(resamples=500, mode="verbose")).analyses]
    assert "compare-modes" not in names
    assert "compare-default" not in names


def test_a_single_model_in_two_modes_is_compared_with_itself(study: ScoreTable) -> None:
    found = compare(study, QUICK, models=("best",))
    assert ["compare-modes"] == [analysis.name for analysis in found.analyses]
    assert ["verbose_minus_default"] == [table.id for table in found.analyses[0].tables]


def test_a_single_model_is_not_enough(study: ScoreTable) -> None:
    with pytest.raises(UsageError, match=r"best \(default\).*requires two"):
        compare(study, Settings(mode="default"), models=("best",))


def test_under_two_conversations_in_common_are_refused() -> None:
    rng = np.random.default_rng(0)
    scores = plain_scores({"a": values(rng, 0.5, 1), "b": values(rng, 0.5, 1)})
    with pytest.raises(DataError, match="have 2 conversations in common"):
        compare(score_table(scores), QUICK)


def test_under_twenty_are_warned_of_and_nothing_is_claimed() -> None:
    rng = np.random.default_rng(0)
    found = compare(score_table(plain_scores({"a": values(rng, 0.9, 12), "b": values(rng, 0.1, 12)})), QUICK)
    assert any("Only 12 conversations in common" in warning for warning in found.warnings)
    assert ["too few"] == column(table_of(found, "compare-default", "pairs_composite"), "told_apart")
    assert [None, None] == column(table_of(found, "compare-default", "composite"), "tier")


def test_conversations_of_one_participant_are_ranked_without_an_interval_or_a_test() -> None:
    rng = np.random.default_rng(0)
    made = plain_scores({"a": values(rng, 0.9, 30), "b": values(rng, 0.1, 30)}, people=["p0"] * 30)
    found = compare(score_table(made), Settings(resamples=500, by_participant=True))
    table = table_of(found, "compare-default", "composite")
    assert ["a", "b"] == column(table, "model")
    assert [30, 30] == column(table, "n")
    assert [None] == column(table_of(found, "compare-default", "pairs_composite"), "p")
    assert "30 conversations of 1 participant" in found.rankings["composite", "default"].sentence()


def test_the_base_rate_of_a_chart_is_that_of_the_references() -> None:
    rng = np.random.default_rng(0)
    full, part = values(rng, 0.8, 30), values(rng, 0.4, 30)
    part = {metric: np.where(np.arange(30) < 24, each, np.nan) for metric, each in part.items()}
    made = plain_scores({"full": full, "part": part})
    base = {"id": "base-rate", "label": "Base rate", "meaning": "Most frequent answers.", "metrics": {"composite": {}}}
    rows = [{"conversationId": f"c{row:03}", "metrics": {"composite": float(row)}} for row in range(30)]
    made["references"] = [{**base, "conversations": rows, "n_conversations": 30}]
    found = compare(score_table(made), QUICK)
    ranked = table_of(found, "compare-default", "composite")
    assert [24, 24] == column(ranked, "n")
    assert ranked.chart is not None
    assert column(table_of(found, "compare-default", "references"), "composite")[0] == ranked.chart.lines["base rate"]


def test_a_metric_that_was_not_measured_is_said_to_be_missing(study: ScoreTable) -> None:
    found = compare(study, Settings(resamples=500, metrics=("draft_judge",), mode="default"))
    assert "Draft" in found.analyses[0].missing


def test_models_of_several_files_are_compared() -> None:
    parts = [document({name: skill}, seed=seed) for seed, (name, skill) in enumerate((("a", 0.8), ("b", 0.3)))]
    found = compare(score_table(parts, files=["a.json", "b.json"]), QUICK)
    assert 1 == found.rankings["composite", "default"].pairs.apart
    assert () == found.warnings


def test_files_on_other_labels_are_refused_by_name() -> None:
    parts = [document({"a": 0.8}), document({"b": 0.3}, labels={"c007": "Clear"}, ground_truth_sha256="b" * 64)]
    study = score_table(parts, files=["a.json", "b.json"])
    with pytest.raises(DataError, match=r"b\.json .* different labels .* 1 of 40 conversations differ, such as c007"):
        compare(study, QUICK)
    forced = compare(study, QUICK, force=True)
    assert "NOT COMPARABLE" in forced.warnings[0]


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_comparison_twice_is_the_same_text(study: ScoreTable, found: Comparison, format: str) -> None:
    assert render(found.analyses, format) == render(compare(study, QUICK).analyses, format)


def test_another_seed_moves_intervals_and_no_difference(study: ScoreTable, found: Comparison) -> None:
    other = compare(study, Settings(resamples=500, seed=1)).rankings["composite", "default"].pairs
    one = found.rankings["composite", "default"].pairs
    assert np.array_equal(one.difference, other.difference, equal_nan=True)
    assert not np.array_equal(one.low, other.low, equal_nan=True)
