"""Variance components: those of the analysis of variance and of REML, and unbiased where values are missing."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.formula.api as formulas
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas import DataFrame

from attunebench.statistics.bootstrap import Resampling, resample_weights
from attunebench.statistics.variance import variance_components


def crossed(rng, *, conversations=200, models=11, sd=(0.3, 0.1, 0.2), gaps=0.0):
    values = rng.normal(0, sd[0], (conversations, 1)) + rng.normal(0, sd[1], models)
    values = values + rng.normal(0, sd[2], (conversations, models))
    values[rng.random(values.shape) < gaps] = np.nan
    return values


def variances(found):
    return [found.conversation.variance, found.model.variance, found.residual.variance]


def shares(found):
    return [found.conversation.share, found.model.share, found.residual.share]


def test_without_gaps_they_come_from_the_mean_squares():
    values = crossed(np.random.default_rng(0), conversations=30, models=6)
    rows, columns = values.mean(axis=1, keepdims=True), values.mean(axis=0)
    of_rows, of_columns = 6 * rows.var(ddof=1), 30 * columns.var(ddof=1)
    residual = ((values - rows - columns + values.mean()) ** 2).sum() / (29 * 5)
    expected = [(of_rows - residual) / 6, (of_columns - residual) / 30, residual]
    assert pytest.approx(expected) == variances(variance_components(values))


def test_without_gaps_they_are_those_of_reml():
    values = crossed(np.random.default_rng(1), conversations=20, models=6, sd=(0.3, 0.2, 0.2))
    rows, columns = np.indices(values.shape).reshape(2, -1)
    frame = DataFrame({"y": values.ravel(), "row": rows, "column": columns, "all": 1})
    parts = {"row": "0 + C(row)", "column": "0 + C(column)"}
    fit = formulas.mixedlm("y ~ 1", frame, groups="all", vc_formula=parts, re_formula="0").fit()
    by_name = dict(zip(fit.model.exog_vc.names, fit.vcomp, strict=True))
    found = variance_components(values)
    assert pytest.approx([by_name["row"], by_name["column"], fit.scale], rel=0.01) == variances(found)


@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_they_are_unbiased_with_and_without_gaps(gaps):
    rng = np.random.default_rng(2)
    found = [variances(variance_components(crossed(rng, conversations=60, models=12, gaps=gaps))) for _ in range(400)]
    assert pytest.approx([0.09, 0.01, 0.04], rel=0.06) == np.mean(found, axis=0).tolist()


@settings(max_examples=25)
@given(st.floats(-50, 50), st.floats(0.01, 100), st.integers(0, 99))
def test_a_shift_changes_nothing_and_a_scale_no_share(shift, scale, seed):
    values = crossed(np.random.default_rng(seed), conversations=12, models=4, gaps=0.1)
    one, other = variance_components(values), variance_components(values * scale + shift)
    assert pytest.approx([variance * scale**2 for variance in variances(one)], rel=1e-5) == variances(other)
    assert pytest.approx(shares(one), rel=1e-5, abs=1e-8) == shares(other)
    assert pytest.approx(1) == sum(shares(one))


def test_the_order_of_conversations_and_models_is_no_matter():
    values = crossed(np.random.default_rng(4), conversations=12, models=4, gaps=0.2)
    assert pytest.approx(variances(variance_components(values))) == variances(variance_components(values[::-1, ::-1]))


def test_a_negative_estimate_is_shown_as_zero_and_said():
    values = np.random.default_rng(5).normal(size=(40, 5))
    values -= values.mean(axis=0)
    found = variance_components(values, Resampling(resample_weights(40, 100, np.random.default_rng(0))))
    assert (0, 0, True) == (found.model.variance, found.model.share, found.model.negative)
    assert not found.residual.negative


def test_values_that_are_all_the_same_have_no_variance_to_share():
    found = variance_components(np.full((10, 4), 0.1))
    assert [0, 0, 0] == variances(found)
    assert np.isnan(shares(found)).all()
    assert not found.model.negative


def test_sums_of_two_effects_leave_no_residual():
    found = variance_components(np.arange(10.0)[:, None] / 7 + np.arange(4) / 3)
    assert 0 == found.residual.variance
    assert not found.residual.negative


def test_the_counts_are_of_what_has_values():
    values = crossed(np.random.default_rng(6), conversations=10, models=5)
    values[3], values[:, 1], values[0, 0] = np.nan, np.nan, np.nan
    found = variance_components(values)
    assert (9, 4) == (found.n_conversations, found.n_models)
    assert not np.isnan(variances(found)).any()


@pytest.mark.parametrize("values", [np.ones((1, 5)), np.ones((5, 1)), np.full((4, 4), np.nan), np.empty((0, 3))])
def test_one_conversation_or_one_model_has_no_components(values):
    assert np.isnan(variances(variance_components(values))).all()


def test_conversations_of_one_model_each_cannot_be_told_from_chance():
    values = np.full((20, 4), np.nan)
    values[np.arange(20), np.arange(20) % 4] = np.random.default_rng(7).normal(size=20)
    assert np.isnan(variances(variance_components(values))).all()


@pytest.mark.slow
def test_one_cluster_says_nothing_about_the_spread_of_shares():
    values = crossed(np.random.default_rng(8), conversations=10, models=5)
    weights = resample_weights(1, 50, np.random.default_rng(0))
    found = variance_components(values, Resampling(weights, np.zeros(10, dtype=np.intp)))
    assert np.isnan([found.conversation.low, found.conversation.high]).all()
    assert not np.isnan(found.conversation.share)
