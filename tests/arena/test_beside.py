"""Ratings of an arena beside latency, size and the metrics of the benchmark."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from arenas import simulated_arena
from planted import Plan, Skill, planted_scores
from scipy.stats import spearmanr

import attunebench
from attunebench.analyses.table import Analysis, Missing
from attunebench.arena.beside import arena_ratings, beside
from attunebench.arena.folder import Arena
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.score import PARTS, score_arena
from attunebench.arena.scores import About, ArenaScores
from attunebench.arena.table import table_of
from attunebench.errors import DataError

QUICK = ArenaSettings(resamples=100)
MODELS = tuple(f"m{place}" for place in range(6))


def with_values(arena: Arena, **values: dict[str, float | None]) -> Arena:
    """Every reply with its author's value of these fields."""
    replies = {
        key: one.model_copy(update={name: of.get(one.author) for name, of in values.items()})
        for key, one in arena.replies.items()
    }
    return replace(arena, replies=replies)


@cache
def contest() -> Arena:
    """Six models, the later the better; three of four of the others are slower than the one before."""
    arena = simulated_arena(2, strengths={name: place / 2 for place, name in enumerate(MODELS)}, histories=60)
    latency = dict(zip(MODELS, (0.2, 0.4, 0.3, 0.8, 1.6, 12.8), strict=True))
    return with_values(arena, seconds_to_first_token=latency, parameters={"m0": 8.0, "m3": 70.0, "m5": 3.0})


def analysed(arena: Arena) -> Analysis:
    return beside(arena, table_of(arena), QUICK)


def rows_of(analysis: Analysis, table_id: str):
    (table,) = [one for one in analysis.tables if one.id == table_id]
    ids = [column.id for column in table.columns]
    return [dict(zip(ids, row, strict=True)) for row in table.rows]


def test_the_rating_is_correlated_with_latency_as_scipy_does():
    analysis = analysed(contest())
    rows = rows_of(analysis, "latency")
    expected = spearmanr([row["log"].value for row in rows], [row["rating"].value for row in rows]).statistic
    rho = rows_of(analysis, "correlations")[0]["rho"]
    assert pytest.approx(expected) == rho.value
    assert rho.low < rho.value <= rho.high
    assert len(MODELS) == rho.n


def test_latency_and_size_are_drawn_on_a_logarithmic_scale_from_low_to_high():
    rows = rows_of(analysed(contest()), "latency")
    values = [row["value"].value for row in rows]
    assert sorted(values) == values
    assert pytest.approx(3 + np.log10(values)) == [row["log"].value for row in rows]


def test_the_ratings_are_those_of_the_ratings():
    rated = {row["author"].value: row["rating"].value for row in rows_of(analysed(contest()), "latency")}
    ratings = PARTS["arena-ratings"].analyse(contest(), table_of(contest()), QUICK)
    assert {row["author"].value: row["rating"].value for row in rows_of(ratings, "ratings")} == rated


def test_three_authors_have_a_correlation_without_an_interval():
    size = rows_of(analysed(contest()), "correlations")[1]["rho"]
    assert (3, None) == (size.n, size.low)
    assert ["m5", "m0", "m3"] == [row["author"].value for row in rows_of(analysed(contest()), "size")]


def test_the_median_of_an_author_is_over_the_replies_that_have_a_value():
    arena = contest()
    some = next(key for key in arena.replies if key[1] == "m0")
    replies = {**arena.replies, some: arena.replies[some].model_copy(update={"seconds_to_first_token": None})}
    row = next(
        row for row in rows_of(analysed(replace(arena, replies=replies)), "latency") if row["author"].value == "m0"
    )
    assert (0.2, len(arena.histories) - 1) == (row["value"].value, row["replies"].value)


def test_replies_of_people_have_no_latency():
    arena = contest()
    replies = {
        key: one.model_copy(update={"kind": "human" if key[1] == "m0" else "model"})
        for key, one in arena.replies.items()
    }
    assert "m0" not in [row["author"].value for row in rows_of(analysed(replace(arena, replies=replies)), "latency")]


def test_without_latency_and_size_nothing_is_shown():
    with pytest.raises(Missing):
        analysed(simulated_arena(1))
    with pytest.raises(Missing):
        analysed(simulated_arena(1, people=0))


def test_where_all_verdicts_are_ties_that_are_dropped_nothing_is_shown():
    arena = contest()
    tied = replace(arena, verdicts=[one.model_copy(update={"preference": 0}) for one in arena.verdicts[:60]])
    with pytest.raises(Missing):
        beside(tied, table_of(tied), replace(QUICK, ties="dropped"))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "arena-scores.json"
    path.write_text(ArenaScores(score_arena(contest(), QUICK), About()).json())
    return path


@cache
def scores():
    """The same models: those that are better in the arena are better at Pairwise and worse at what people wanted."""
    skills = {name: Skill(pairwise=0.4 + 0.1 * at, hp=0.9 - 0.1 * at, judge=0.5) for at, name in enumerate(MODELS)}
    return planted_scores(skills, Plan(conversations=20, turns=3, people=10, seed=3))


def matrix(analysis: Analysis) -> dict[str, object]:
    """Correlations with the arena's rating, by metric."""
    return {row["metric"].value: row["with_arena rating"] for row in rows_of(analysis, "metrics")}


def test_the_arena_stands_in_the_matrix_of_independence(file):
    analysis = attunebench.analyze(scores(), "independence", arena=file, resamples=100).analyses[0]
    found = matrix(analysis)
    assert {"arena rating", "Composite", "Pairwise", "Binary HP", "Draft judge"} <= set(found)
    assert found["Pairwise"].value > 0.9
    assert found["Binary HP"].value < -0.9
    assert found["Composite"].low is not None
    assert any("people" in note for note in analysis.notes)


def test_a_rating_that_is_no_mean_over_conversations_has_no_reliability(file):
    analysis = attunebench.analyze(scores(), "independence", arena=file, resamples=100).analyses[0]
    assert "arena rating" not in [row["ranking"].value for row in rows_of(analysis, "reliability")]


def test_without_an_arena_the_matrix_is_as_before(file):
    analysis = attunebench.analyze(scores(), "independence", resamples=100).analyses[0]
    beside_it = attunebench.analyze(scores(), "independence", arena=file, resamples=100).analyses[0]
    before = {row["metric"].value: row["with_Pairwise"] for row in rows_of(analysis, "metrics")}
    after = {row["metric"].value: row["with_Pairwise"] for row in rows_of(beside_it, "metrics")}
    assert {name: cell.value for name, cell in before.items()} == {name: after[name].value for name in before}
    assert "arena rating" not in before


def test_models_that_are_not_in_the_arena_are_counted_and_left_out(file):
    more = planted_scores(
        {**{name: Skill(pairwise=0.4 + 0.1 * at) for at, name in enumerate(MODELS[:4])}, "other": Skill(pairwise=0.7)},
        Plan(conversations=20, turns=3, people=10, seed=4),
    )
    analysis = attunebench.analyze(more, "independence", arena=file, resamples=100).analyses[0]
    assert 4 == matrix(analysis)["Pairwise"].n


def test_ratings_by_judges_count_where_people_rated_too_few_of_the_models(tmp_path):
    arena = simulated_arena(2, strengths={name: at / 2 for at, name in enumerate(MODELS)}, histories=60, judges=1)
    few = [
        one
        for one in arena.verdicts
        if one.rater_kind == "judge" or {arena.pairs[one.pair].left, arena.pairs[one.pair].right} == {"m0", "m1"}
    ]
    path = tmp_path / "arena-scores.json"
    path.write_text(ArenaScores(score_arena(replace(arena, verdicts=few), QUICK), About()).json())
    analysis = attunebench.analyze(scores(), "independence", arena=path, resamples=100).analyses[0]
    assert any("judge0" in note for note in analysis.notes)
    assert matrix(analysis)["Pairwise"].value > 0.9


def test_a_name_that_models_of_two_providers_have_is_of_neither(file):
    names = ("a/m0", "b/m0", "a/m1", "a/m2", "a/m3")
    twice = planted_scores(
        {name: Skill(pairwise=0.4 + 0.1 * at) for at, name in enumerate(names)},
        Plan(conversations=12, turns=3, people=10, seed=4),
    )
    analysis = attunebench.analyze(twice, "independence", arena=file, resamples=100).analyses[0]
    assert 3 == matrix(analysis)["Pairwise"].n


def test_an_arena_of_other_models_is_said_to_be_so(file):
    names = ("a", "b", "c", "d")
    other = planted_scores({name: Skill() for name in names}, Plan(conversations=12, turns=3, people=10, seed=4))
    analysis = attunebench.analyze(other, "independence", arena=file, resamples=100).analyses[0]
    assert any("0 of these 4 models" in note for note in analysis.notes)
    assert "arena rating" not in [row["metric"].value for row in rows_of(analysis, "metrics")]


def test_a_file_without_ratings_is_refused(tmp_path):
    path = tmp_path / "arena-scores.json"
    path.write_text(ArenaScores([Analysis("arena-people")], About(folder="there")).json())
    with pytest.raises(DataError):
        arena_ratings(path)


def test_authors_that_were_never_compared_are_not_correlated():
    """Ratings of unconnected groups have no common scale."""
    arena = contest()
    apart = {
        id: one for id, one in arena.pairs.items() if ("m5" in (one.left, one.right)) == ("m4" in (one.left, one.right))
    }
    cut = replace(arena, pairs=apart, verdicts=[one for one in arena.verdicts if one.pair in apart])
    assert {"m0", "m1", "m2", "m3"} == {row["author"].value for row in rows_of(analysed(cut), "latency")}
