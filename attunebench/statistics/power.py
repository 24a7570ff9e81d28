"""How small a difference could have been found: what must stand beside every difference that was not.

Closed form. Knows neither where a spread comes from nor which differences matter to anybody.
"""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray


def minimum_detectable_effect(
    sd: ArrayLike, n: ArrayLike, *, alpha: float = 0.05, power: float = 0.8
) -> NDArray[np.float64]:
    """The true mean that a two-sided test at `alpha` finds with chance `power`: (z₁₋α/2 + z_power)·sd/√n.

    `sd` and `n` are numbers or arrays that broadcast; for a standard error give it as `sd` with an `n` of 1. The result
    has the unit of `sd`. NaN where sd is NaN or 0 (a spread that was not seen promises nothing) or n is under 1. For
    one of m corrected tests give alpha/m. ValueError unless alpha and power lie in (0, 1). Source: spec 07.
    """
    if not (0 < alpha < 1 and 0 < power < 1):
        raise ValueError(f"alpha {alpha} and power {power} must lie between 0 and 1")
    deviations = NormalDist().inv_cdf(1 - alpha / 2) + NormalDist().inv_cdf(power)
    spread, count = np.asarray(sd, dtype=np.float64), np.asarray(n, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where((spread > 0) & (count >= 1), deviations * spread / np.sqrt(count), np.nan)
