"""Means with their doubt, without Inspect."""

from __future__ import annotations

import math

import pytest

from attunebench.harness.inspect_ai.estimates import NAN, Observed, estimate


def test_a_mean_is_over_conversations_and_its_error_is_sd_over_root_n():
    found = estimate([Observed("a", 0.2), Observed("b", 0.4), Observed("c", 0.9)])
    assert (0.5, 3) == (found.mean, found.n)
    assert pytest.approx(math.sqrt(0.13) / math.sqrt(3)) == found.se


def test_epochs_are_averaged_before_conversations():
    twice = [Observed("a", 0.0), Observed("a", 0.4), Observed("b", 0.8)]
    assert pytest.approx(0.5) == estimate(twice).mean
    assert 2 == estimate(twice).n


def test_what_is_undefined_in_one_epoch_is_left_out_of_that_conversation_alone():
    assert pytest.approx(0.6) == estimate([Observed("a", NAN), Observed("a", 0.4), Observed("b", 0.8)]).mean


def test_what_is_undefined_everywhere_has_no_mean_and_is_not_zero():
    found = estimate([Observed("a", NAN), Observed("b", NAN)])
    assert 0 == found.n
    assert math.isnan(found.mean)
    assert math.isnan(found.se)


def test_one_conversation_has_no_error():
    assert math.isnan(estimate([Observed("a", 0.3)]).se)


def test_nothing_observed_is_undefined():
    assert 0 == estimate([]).n


def test_a_rate_sums_its_counts_first():
    found = estimate([Observed("a", 1.0, counts=(10, 10)), Observed("b", 0.0, counts=(0, 90))])
    assert 0.1 == found.mean
    assert 2 == found.n


def test_counts_that_are_unknown_are_left_out_of_a_rate():
    assert 0.5 == estimate([Observed("a", 0.5, counts=(5, 10)), Observed("b", NAN, counts=(NAN, 7))]).mean


def test_participants_with_several_conversations_are_one_cluster():
    values = [Observed("a", 0.0, "p"), Observed("b", 0.0, "p"), Observed("c", 1.0, "q"), Observed("d", 1.0, "q")]
    assert 0.5 / math.sqrt(2) == pytest.approx(estimate(values, clustered=True).se)
    assert estimate(values).se < estimate(values, clustered=True).se


def test_participants_without_a_name_are_not_one_person():
    values = [Observed("a", 0.0), Observed("b", 0.5), Observed("c", 1.0)]
    assert pytest.approx(math.sqrt(0.5) / 3) == estimate(values, clustered=True).se
