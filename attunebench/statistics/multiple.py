"""Corrections of p for the number of tests, and the minimum detectable effect, which must stand beside every difference
that is not significant. Knows neither what was tested nor how each p came about."""

from __future__ import annotations

from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attunebench.statistics.bootstrap import Floats

Correction = Literal["holm", "bh", "maxt"]

_ROUNDING = 1e-9
"""Statistics closer than this, relatively, are equal: the same sum taken in another order differs in its last bits."""


def at_least(observed: ArrayLike, null: Floats) -> NDArray[np.bool_]:
    """Where |T*| (permutations, …) reaches |T|; NaN never does."""
    return np.asarray(null >= np.asarray(observed) * (1 - _ROUNDING))


def adjust(p: Floats, method: Literal["holm", "bh"]) -> Floats:
    """Corrected p, in the shape of `p`; NaN stays NaN and is not counted among the tests.

    "holm" bounds the chance of any false claim, whatever the tests have to do with each other (Holm 1979). "bh" bounds
    the expected share of false ones among the claims, for independent or positively dependent tests (Benjamini and
    Hochberg 1995). Source: spec 07.
    """
    corrected, known = np.full(p.shape, np.nan), ~np.isnan(p)
    values = p[known]
    order, place = np.argsort(values, kind="stable"), np.arange(1, values.size + 1)
    if method == "holm":
        raised = np.maximum.accumulate(values[order] * (values.size + 1 - place))
    else:
        raised = np.minimum.accumulate((values[order] * values.size / place)[::-1])[::-1]
    values[order] = np.minimum(raised, 1.0)
    corrected[known] = values
    return corrected


def max_t(observed: Floats, null: Floats) -> Floats:
    """Corrected p of tests that were permuted together: step-down max-T (Westfall & Young 1993, algorithm 4.1).

    `observed` is |T| per test, `null` |T*| (permutations, tests), each row from one permutation of all tests, and both
    studentised, so that tests compare. NaN tests stay NaN and are not counted. Bounds the chance of any false claim as
    Holm does, and is sharper because it knows how the tests hang together. Source: spec 07.
    """
    corrected, known = np.full(observed.shape, np.nan), np.flatnonzero(~np.isnan(observed))
    order = known[np.argsort(observed[known], kind="stable")]
    extreme, largest = np.zeros(len(order)), np.zeros(len(null))
    for place, test in enumerate(order):
        np.maximum(largest, null[:, test], out=largest)
        extreme[place] = np.count_nonzero(at_least(observed[test], largest))
    p = (1 + extreme) / (len(null) + 1)
    corrected[order] = np.maximum.accumulate(p[::-1])[::-1]
    return corrected


def minimum_detectable_effect(se: ArrayLike, *, alpha: float = 0.05, power: float = 0.8) -> Floats:
    """The true mean that a two-sided test at `alpha` finds with chance `power`: (z₁₋α/2 + z_power)·se, se = sd/√n.

    NaN where se is NaN or 0: a spread that was not seen promises nothing. For one of m corrected tests give alpha/m.
    ValueError unless alpha and power lie in (0, 1). Source: spec 07.
    """
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError(f"alpha {alpha} and power {power} must lie between 0 and 1")
    deviations = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
    spread = np.asarray(se, dtype=np.float64)
    return np.where(spread > 0, deviations * spread, np.nan)
