"""All pairs of models in a metric: what is compared over what, told apart when, and corrected how."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_scores import plain_scores

from attunebench.analyses.base import Settings
from attunebench.comparison import PairTable, pairs
from attunebench.errors import UsageError
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable
from attunebench.statistics.multiple import adjust

QUICK = Settings(resamples=1_000)
METRIC = "pairwise_accuracy"


def study_of(*columns: np.ndarray, people: list[str] | None = None) -> ScoreTable:
    """Models a, b, c … with these values."""
    named = {name: {METRIC: column} for name, column in zip("abcdefghij", columns, strict=False)}
    return score_table(plain_scores(named, people=people))


def noisy(rng: np.random.Generator, count: int, mean: float, sd: float = 0.1) -> np.ndarray:
    return mean + sd * rng.standard_normal(count)


@pytest.fixture(scope="module")
def five() -> tuple[ScoreTable, PairTable]:
    """Two equal good models, two equal middling ones, a poor one; they find the same conversations hard."""
    rng = np.random.default_rng(1)
    hard = noisy(rng, 80, 0.0, 0.2)
    study = study_of(*(hard + noisy(rng, 80, mean) for mean in (0.7, 0.7, 0.6, 0.6, 0.4)))
    return study, pairs(study, METRIC, QUICK)


def test_the_difference_is_that_of_the_means_and_has_n_and_participants(five: tuple[ScoreTable, PairTable]) -> None:
    study, table = five
    values = study.values(METRIC)
    assert pytest.approx(values[:, 0].mean() - values[:, 2].mean()) == table.difference[0, 2]
    assert (80, 80) == (table.n[0, 2], table.participants[0, 2])


def test_planted_differences_are_told_apart_and_equal_models_are_not(five: tuple[ScoreTable, PairTable]) -> None:
    _, table = five
    expected = np.ones((5, 5), dtype=bool)
    expected[[0, 1, 2, 3], [1, 0, 3, 2]] = False
    np.fill_diagonal(expected, False)
    assert (expected == table.told_apart).all()
    assert (8, 10) == (table.apart, table.of)


def test_a_table_is_antisymmetric(five: tuple[ScoreTable, PairTable]) -> None:
    _, table = five
    off = ~np.eye(5, dtype=bool)
    assert np.array_equal(-table.difference.T[off], table.difference[off])
    assert np.array_equal(-table.high.T[off], table.low[off])
    for part in (table.p, table.p_corrected, table.mde, table.n, table.told_apart):
        assert np.array_equal(part.T[off], part[off])


def test_swapping_models_negates(five: tuple[ScoreTable, PairTable]) -> None:
    study, table = five
    swapped = pairs(study.with_groups(study.groups[::-1]), METRIC, QUICK)
    back = np.ix_(range(4, -1, -1), range(4, -1, -1))
    np.testing.assert_allclose(table.difference, swapped.difference[back], atol=1e-12)
    np.testing.assert_allclose(table.low, swapped.low[back], atol=1e-12)
    assert np.array_equal(table.p, swapped.p[back], equal_nan=True)


def test_the_same_twice_is_the_same(five: tuple[ScoreTable, PairTable]) -> None:
    study, table = five
    assert np.array_equal(table.low, pairs(study, METRIC, QUICK).low, equal_nan=True)


def test_holm_and_bh_are_over_all_pairs_of_the_table(five: tuple[ScoreTable, PairTable]) -> None:
    study, table = five
    above = np.triu_indices(5, 1)
    assert np.array_equal(adjust(table.p[above], "holm"), table.p_corrected[above])
    bh = pairs(study, METRIC, Settings(resamples=1_000, correction="bh"))
    assert np.array_equal(adjust(table.p[above], "bh"), bh.p_corrected[above])


def test_max_t_is_never_much_weaker_than_holm_and_never_below_the_plain_p(five: tuple[ScoreTable, PairTable]) -> None:
    study, table = five
    maxt = pairs(study, METRIC, Settings(resamples=1_000, correction="maxt"))
    above = np.triu_indices(5, 1)
    assert (maxt.p_corrected[above] >= table.p[above]).all()
    assert maxt.apart >= table.apart


def test_the_corrected_detectable_effect_is_that_of_alpha_over_the_number_of_pairs(
    five: tuple[ScoreTable, PairTable],
) -> None:
    """Spec 7: sd 0.10, n 200 is 0.020 alone and 0.029 at α/55; the ratio does not depend on sd and n."""
    _, table = five
    assert pytest.approx((2.8070 + 0.8416) / (1.9600 + 0.8416), abs=1e-3) == table.mde_corrected[0, 1] / table.mde[0, 1]


def test_a_pair_is_compared_over_the_conversations_that_both_have() -> None:
    """A model that skipped what is hard gains nothing by it."""
    hard = np.repeat([0.0, 0.5], 30)
    whole = hard + np.tile([0.0, 0.02], 30)
    picky = np.where(hard > 0, whole, np.nan)
    table = pairs(study_of(whole, picky), METRIC, QUICK)
    assert (0.0, 30) == (table.difference[0, 1], table.n[0, 1])


def test_the_cluster_widens_where_people_differ_and_lets_one_vote_each() -> None:
    rng = np.random.default_rng(2)
    taste = np.repeat(noisy(rng, 15, 0.03, 0.1), 6)
    base = noisy(rng, 90, 0.5)
    study = study_of(base + taste, base, people=[f"p{i // 6}" for i in range(90)])
    plain = pairs(study, METRIC, QUICK)
    clustered = pairs(study, METRIC, Settings(resamples=1_000, by_participant=True))
    assert plain.difference[0, 1] == clustered.difference[0, 1]
    assert 1.5 * (plain.high - plain.low)[0, 1] < (clustered.high - clustered.low)[0, 1]
    assert plain.mde[0, 1] < clustered.mde[0, 1]
    assert 15 == clustered.participants[0, 1]


@pytest.mark.parametrize("people", [[f"p{i}" for i in range(19)], ["one"] * 40])
def test_too_few_conversations_or_a_single_person_support_no_claim(people: list[str]) -> None:
    rng = np.random.default_rng(3)
    count = len(people)
    table = pairs(study_of(noisy(rng, count, 0.9), noisy(rng, count, 0.1), people=people), METRIC, QUICK)
    assert table.small[0, 1]
    assert table.p[0, 1] < 0.01
    assert not table.told_apart.any()
    assert not table.told_apart_raw.any()


def test_what_cannot_be_tested_is_undefined_and_not_counted_among_the_tests() -> None:
    values = np.linspace(0, 1, 30)
    apart = np.where(np.arange(30) < 1, 0.5, np.nan)
    table = pairs(study_of(values, values[::-1].copy(), apart), METRIC, QUICK)
    assert 1 == table.tests
    assert np.isnan(table.p[0, 2])
    assert np.isnan(table.difference[2, 1])
    assert 1 == table.n[0, 2]


def test_a_metric_that_nobody_has_gives_a_table_without_tests() -> None:
    table = pairs(study_of(np.ones(30), np.zeros(30)), "draft_judge", QUICK)
    assert (0, 1, 0) == (table.tests, table.of, table.apart)
    assert np.isnan(table.difference).all()


def test_one_model_has_no_pair() -> None:
    table = pairs(study_of(np.ones(30)), METRIC, QUICK)
    assert (0, 0) == (table.of, table.tests)


def test_an_unknown_metric_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="pairwise_acuracy"):
        pairs(study_of(np.ones(30)), "pairwise_acuracy")


@given(st.integers(0, 10_000), st.integers(2, 5), st.floats(0, 0.6))
def test_corrected_p_never_falls_below_p_whatever_is_missing(seed: int, models: int, missing: float) -> None:
    rng = np.random.default_rng(seed)
    columns = [np.where(rng.random(25) < missing, np.nan, noisy(rng, 25, 0.5)) for _ in range(models)]
    columns[0][0] = 0.5
    table = pairs(study_of(*columns), METRIC, Settings(resamples=100))
    known = ~np.isnan(table.p)
    assert (table.p_corrected[known] >= table.p[known]).all()
    assert not (table.told_apart & ~table.told_apart_raw).any()
    assert known.sum() == 2 * table.tests
