"""Minimum detectable effects against the worked values of the specification and a power calculation of statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from statsmodels.stats.power import NormalIndPower

from attunebench.statistics.multiple import minimum_detectable_effect


@pytest.mark.parametrize(
    ("expected", "n", "alpha"), [(0.020, 200, 0.05), (0.029, 200, 0.05 / 55), (0.056, 25, 0.05)], ids=str
)
def test_worked_values(expected, n, alpha):
    assert expected == pytest.approx(float(minimum_detectable_effect(0.10 / np.sqrt(n), alpha=alpha)), abs=0.0005)


def test_it_is_the_effect_that_statsmodels_solves_for():
    # With ratio 0 the calculation is that of one sample, which differences are.
    solved = NormalIndPower(ddof=0).solve_power(nobs1=80, alpha=0.01, power=0.9, ratio=0)
    assert 0.2 * solved == pytest.approx(
        float(minimum_detectable_effect(0.2 / np.sqrt(80), alpha=0.01, power=0.9)), rel=1e-3
    )


def test_no_spread_promises_nothing():
    assert np.isnan(minimum_detectable_effect([0.0, np.nan])).all()


@pytest.mark.parametrize(("alpha", "power"), [(0, 0.8), (1, 0.8), (0.05, 0), (0.05, 1), (-0.1, 0.8)])
def test_levels_outside_0_and_1_are_refused(alpha, power):
    with pytest.raises(ValueError, match="between 0 and 1"):
        minimum_detectable_effect(0.1, alpha=alpha, power=power)
