"""Wilson's interval for answers that come person by person: covers as it says, is Wilson's where nothing is alike."""

from __future__ import annotations

import numpy as np
import pytest

from attunebench.statistics.intervals import clustered_wilson, wilson_interval


@pytest.mark.parametrize("share", [0.1, 0.3, 0.5])
@pytest.mark.parametrize("alike", [0.0, 0.1, 0.3])
def test_covers_93_to_97_percent_with_answers_of_one_person_alike(share: float, alike: float) -> None:
    rng, people, repetitions = np.random.default_rng(3), 100, 4000
    if alike:
        strength = (1 - alike) / alike
        own = rng.beta(share * strength, (1 - share) * strength, (people, repetitions))
    else:
        own = np.full((people, repetitions), share)
    below = np.broadcast_to(rng.integers(4, 16, people)[:, None], own.shape).astype(float)
    above = rng.binomial(below.astype(int), own).astype(float)
    low, high = clustered_wilson(above, below)
    assert 0.93 <= np.mean((low <= share) & (share <= high)) <= 0.97


def test_plain_wilson_is_too_narrow_there() -> None:
    rng = np.random.default_rng(3)
    own = rng.beta(0.7, 1.63, (100, 4000))
    above = rng.binomial(10, own).sum(axis=0)
    low, high = wilson_interval(above, 1000)
    assert np.mean((low <= 0.3) & (0.3 <= high)) < 0.80


def test_is_never_narrower_than_wilson_on_all_answers() -> None:
    rng = np.random.default_rng(4)
    below = rng.integers(0, 5, (12, 300)).astype(float)
    above = rng.binomial(below.astype(int), rng.random((12, 300))).astype(float)
    low, high = clustered_wilson(above, below)
    plain_low, plain_high = wilson_interval(above.sum(axis=0), below.sum(axis=0))
    assert (low <= plain_low + 1e-12).all()
    assert (high >= plain_high - 1e-12).all()


def test_a_share_of_1_counts_each_person_once_and_nothing_is_undefined() -> None:
    ones = np.full((9, 1), 5.0)
    assert tuple(map(float, np.ravel(wilson_interval(9, 9)))) == pytest.approx(
        tuple(map(float, np.ravel(clustered_wilson(ones, ones))))
    )
    nothing = np.zeros((3, 1))
    assert np.isnan(np.ravel(clustered_wilson(nothing, nothing))).all()


def test_clusters_of_rows_are_taken_together() -> None:
    above, below = np.array([[3.0], [0.0], [2.0], [1.0]]), np.full((4, 1), 3.0)
    joined = clustered_wilson(np.array([[3.0], [3.0]]), np.full((2, 1), 6.0))
    assert all(np.isfinite(np.ravel(joined)))
    low, high = clustered_wilson(above, below, np.array([0, 0, 1, 1]))
    assert 0 < float(low[0]) < 0.5 < float(high[0]) < 1
