"""A claim depends on the data, never on `--resamples`; where no data could support one, that is what is said."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from plain_scores import plain_scores
from planted import Plan, Skill, planted_scores
from planted_studies import QUICK, cell_of, level, made, ranked, table_of

from attunebench.analyses import Cell, Settings
from attunebench.analyses.verdicts import range_text, sentences
from attunebench.comparison import compare, pairs
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable

FEW, MANY = Settings(resamples=100), Settings(resamples=2000)
MODELS = 11


@cache
def spread(seed: int = 3) -> ScoreTable:
    """Eleven models over 120 conversations, in steps that a part of the 55 pairs can show."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(60, 12, 120)
    values = {f"m{i:02}": {"composite": hard + 0.7 * i + rng.normal(0, 8, 120)} for i in range(MODELS)}
    return score_table(plain_scores(values))


@cache
def alike(seed: int) -> ScoreTable:
    """Five models that are all the same, on skewed values."""
    rng = np.random.default_rng(seed)
    hard = rng.normal(60, 12, 60)
    return score_table(plain_scores({f"m{i}": {"composite": hard + rng.exponential(6, 60)} for i in range(5)}))


@cache
def few_people() -> ScoreTable:
    """Two models far apart on 40 conversations of five people."""
    models = {"good": {"default": Skill(pairwise=0.95)}, "bad": {"default": Skill(pairwise=0.3)}}
    models |= {"fair": {"default": Skill(pairwise=0.6)}}
    return score_table(planted_scores(models, Plan(conversations=40, turns=3, people=5, seed=4)))


@pytest.mark.parametrize("correction", ["holm", "bh", "maxt"])
def test_as_many_pairs_differ_whatever_the_resamples(correction) -> None:
    found = [
        pairs(spread(), "composite", Settings(resamples=n, correction=correction)).apart for n in (100, 1000, 10_000)
    ]
    assert 1 == len(set(found))
    assert 15 <= found[0] <= 50


@pytest.mark.parametrize("name", ["leaderboard", "discrimination"])
def test_the_count_in_the_sentence_is_the_same(name) -> None:
    few, many = (made(name, spread(), replace(settings, metrics=("composite",))) for settings in (FEW, MANY))
    assert few.shows == many.shows
    assert not any("resamples" in one for one in few.warnings)


@pytest.mark.parametrize("name", ["leaderboard", "discrimination", "win-rates", "modes", "perspective-gap"])
def test_every_corrected_p_is_the_same(name) -> None:
    few, many = (made(name, ranked(), settings) for settings in (FEW, MANY))
    for one, other in zip(few.tables, many.tables, strict=True):
        p = [[[cell.p_corrected for cell in row] for row in table.rows] for table in (one, other)]
        assert p[0] == p[1]


def test_equal_models_are_told_apart_in_no_more_families_than_alpha_allows() -> None:
    families = 60
    claims = sum(pairs(alike(seed), "composite", FEW).apart > 0 for seed in range(families))
    assert claims / families <= 0.06


@pytest.mark.parametrize("name", ["leaderboard", "discrimination", "win-rates"])
def test_too_few_participants_are_the_reason_and_not_chance(name) -> None:
    settings = replace(QUICK, by_participant=True, metrics=("pairwise_accuracy",))
    analysis = made(name, few_people(), settings)
    # Of five people the smallest p is 1/16, which no correction can bring to 0.05.
    assert any("smallest possible p is 0.0625" in one for one in analysis.warnings)
    by_conversation = made(name, few_people(), replace(settings, by_participant=False))
    assert () == tuple(one for one in by_conversation.warnings if "smallest possible" in one)


def test_a_comparison_of_too_few_participants_makes_no_claim() -> None:
    found = compare(few_people(), replace(QUICK, by_participant=True, metrics=("pairwise_accuracy",)))
    ranking = found.rankings["pairwise_accuracy", "default"]
    assert ranking.pairs.undecidable
    assert ranking.small
    assert any("smallest possible p" in one for one in found.warnings)


def test_differences_of_too_few_participants_are_small() -> None:
    settings = replace(QUICK, by_participant=True)
    gap = cell_of(table_of(made("perspective-gap", few_people(), settings), "models"), "good", "gap")
    assert gap.small
    assert not cell_of(table_of(made("perspective-gap", few_people()), "models"), "good", "gap").small


def test_five_models_cannot_be_found_related() -> None:
    analysis = made("independence", ranked())
    verdicts = {row[4].value for row in table_of(analysis, "capabilities").rows}
    assert verdicts <= {"too few models", "independent", "too few"}
    meaning = next(c.meaning for c in table_of(analysis, "capabilities").columns if c.id == "verdict")
    assert "interval" in meaning
    assert "p is at most 0.05" in meaning


def test_one_value_is_no_range_and_no_sentence_stands_twice() -> None:
    a, b = ("a", Cell(0.25)), ("b", Cell(0.5))
    assert ["", "0.250 (a)", "between 0.250 (a) and 0.500 (b)"] == [range_text(of) for of in ([], [a], [b, a])]
    assert "Too few. No." == sentences("Too few.", "", "No.", "Too few.")


def test_captions_say_over_how_many_tests_p_is_corrected() -> None:
    table = table_of(made("turn-drift", level(), FEW), "summary")
    tests = sum(cell.p is not None for row in table.rows for cell in row[6:7])
    assert tests
    assert f"{tests} transitions" in table.caption
