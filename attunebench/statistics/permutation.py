"""How many permutations a family of tests needs, how small a p can be at all, and p where permutations are too few.

A claim must not depend on how many permutations were drawn.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from numpy.typing import ArrayLike, NDArray

from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.multiple import Correction, adjust, at_least

FEWEST = 10_000
"""Permutations of a single test, and what is drawn where those that a family needs are too many."""
_REACHED = 20
"""How many permutations should reach the statistic of a test that only just stands after correction."""
_ANCHOR = 200
"""From the statistic that so many permutations reach, the tail is that of Student's t."""
_DF = np.geomspace(2, 500, 60)
"""Degrees of freedom that the tail of permutations may have of its own; the last stands for a normal one."""


def permutations_needed(tests: int, alpha: float) -> int:
    """20·m/α, at least 10,000: at the level α/m that the strictest of m corrections asks, 20 permutations decide."""
    return max(FEWEST, ceil(_REACHED * max(1, tests) / alpha))


def tail_p(observed: Floats, null: Floats, df: ArrayLike = np.inf) -> Floats:
    """p of |T| beyond what `null` |T*| (permutations, tests) resolves: P(t ≥ |T|) / P(t ≥ u) · P*(|T*| ≥ u).

    u is the 200th largest |T*|: the permutations give the level of the tail, Student's t its shape, with `df` degrees
    of freedom (per test; infinite: normal), or where more of the permutations lie far out than that, the fewer ones at
    which the 200th and the 20th largest |T*| lie as they do. For studentised statistics, whose null is near to t; of
    sign flips, whose tail is lighter than normal, this errs to the larger p. Source: our choice, after Knijnenburg et
    al. 2009, who fit the whole shape to the permutations; with a shape that is mostly known p hardly depends on the
    draw.
    """
    from scipy.stats import t

    count = len(null)
    places = [count - min(rank, count) for rank in (_REACHED, _ANCHOR)]
    further, anchor = np.partition(null, places, axis=0)[places]
    level = (1 + at_least(anchor, null).sum(axis=0)) / (count + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        # A ratio of quantiles falls as df grows.
        ratios = t.isf(_REACHED / count / 2, _DF) / t.isf(_ANCHOR / count / 2, _DF)
        own = np.interp(-further / anchor, -ratios, _DF)
        expected = t.isf(t.sf(anchor, df) * _REACHED / _ANCHOR, df)
        heavier = at_least(expected, null).sum(axis=0) > _REACHED + 2 * np.sqrt(_REACHED)
        freedom = np.where(heavier, np.minimum(df, own), df)
        log_ratio = t.logsf(observed, freedom) - t.logsf(anchor, freedom)
    return np.asarray(level * np.exp(log_ratio))


def permutation_p(
    observed: Floats,
    reached: NDArray[np.int64],
    permutations: int,
    null: Floats | None,
    least: Floats,
    df: ArrayLike = np.inf,
) -> Floats:
    """(1 + reached)/(permutations + 1) per test; with `null`, `tail_p` for those that fewer than 20 permutations reach.

    `reached` counts the permutations with |T*| ≥ |T|. `null` is |T*| (permutations, tests), where they are fewer than
    the family needs, else None. `least` is the smallest p that the data's number of units can give.
    """
    p = np.asarray((1 + reached) / (permutations + 1))
    rare = (reached < _REACHED) & ~np.isnan(observed)
    if null is not None and rare.any():
        freedom = np.broadcast_to(df, observed.shape)[rare]
        p[rare] = np.maximum(tail_p(observed[rare], null[:, rare], freedom), least[rare])
    return p


def least_corrected(least: Floats, correction: Correction) -> Floats:
    """The smallest corrected p that each test can reach, when all tests come out at their `least` (NaN: no test).

    max-T corrects by the joint permutations, so that its smallest p is that of the test itself.
    """
    return least if correction == "maxt" else adjust(least, correction)
