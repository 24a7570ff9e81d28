"""The most that a judge can agree with people: the numbers of spec 10.5, limits, and a simulation of the model."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.arena.ceiling import agreement_of_two, agreement_with_majority, ceiling, spread_of

HEART = 3.46
"""The spread of log-odds at which two people agree on .795 of the pairs."""


@pytest.mark.parametrize(
    ("expected", "found"),
    [
        (0.795, agreement_of_two(HEART)),
        (0.59, 2 * agreement_of_two(HEART) - 1),
        (0.854, agreement_with_majority(HEART, {1: 1})),
        (0.953, agreement_with_majority(HEART, {15: 1})),
        (0.787, agreement_with_majority(HEART, {1: 1}, noise=1.9)),
        (0.61, agreement_of_two(1.19)),
    ],
)
def test_the_published_agreement_gives_the_ceilings_of_the_specification(expected, found):
    assert expected == pytest.approx(found, abs=0.0015)


def test_a_ceiling_is_computed_from_agreement_alone():
    assert pytest.approx(0.854, abs=0.001) == ceiling(0.795, {1: 1})
    assert pytest.approx(0.953, abs=0.001) == ceiling(0.795, {15: 1})


@given(st.floats(0.501, 0.9999))
def test_a_spread_is_found_again(agreement):
    assert pytest.approx(agreement, abs=1e-6) == agreement_of_two(spread_of(agreement))


@given(st.floats(0.5, 1.0), st.integers(1, 30))
def test_a_ceiling_lies_between_the_agreement_of_two_people_and_one(agreement, people):
    assert agreement - 1e-9 <= ceiling(agreement, {people: 1}) <= 1 + 1e-9


@given(st.floats(0.5, 1.0), st.floats(0.5, 1.0), st.integers(1, 20))
def test_more_agreement_of_people_never_lowers_the_ceiling(one, other, people):
    low, high = (ceiling(agreement, {people: 1}) for agreement in sorted((one, other)))
    assert low <= high + 1e-9


def test_people_at_chance_leave_nothing_to_agree_with():
    assert 0 == spread_of(0.5) == spread_of(0.4)
    assert pytest.approx(0.5) == ceiling(0.5, {15: 1})


def test_people_who_always_agree_leave_no_room():
    assert np.isinf(spread_of(1.0))
    assert pytest.approx(1.0) == ceiling(1.0, {1: 3, 4: 2})


def test_without_an_agreement_or_a_majority_there_is_no_ceiling():
    assert np.isnan(ceiling(np.nan, {1: 1}))
    assert np.isnan(ceiling(0.8, {}))


@pytest.mark.parametrize("people", [1, 2, 4, 7])
def test_the_model_is_what_a_simulation_of_it_gives(people):
    rng = np.random.default_rng(people)
    odds = rng.normal(0, 2.5, 200_000)
    chance = 1 / (1 + np.exp(-odds))
    votes = np.sign((2 * (rng.random((people, len(odds))) < chance) - 1).sum(axis=0))
    person = np.where(rng.random(len(odds)) < chance, 1, -1)
    there = votes != 0
    noisy = np.sign(odds + rng.normal(0, 1.5, len(odds)))
    for judge, how in ((np.sign(odds), {}), (person, {"person": True}), (noisy, {"noise": 1.5})):
        expected = (judge == votes)[there].mean()
        assert pytest.approx(expected, abs=0.004) == agreement_with_majority(2.5, {people: 1}, **how)


def test_majorities_of_different_size_count_by_their_pairs():
    """Ties of even majorities are left out, so such pairs weigh less."""
    rng = np.random.default_rng(1)
    odds = rng.normal(0, 2.0, 200_000)
    people = np.where(np.arange(len(odds)) % 4 == 0, 2, 5)
    left = rng.binomial(people, 1 / (1 + np.exp(-odds)))
    votes = np.sign(2 * left - people)
    expected = (np.sign(odds) == votes)[votes != 0].mean()
    assert pytest.approx(expected, abs=0.004) == agreement_with_majority(2.0, {2: 1, 5: 3})
