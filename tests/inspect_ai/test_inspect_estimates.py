"""The metric that Inspect shows: means with their standard errors, by the rules of `attune-bench score`."""

from __future__ import annotations

import math

import pytest

from attunebench.metrics.registry import cards_of
from attunebench.scorer.answers import COUNTS

inspect_scorer = pytest.importorskip("inspect_ai.scorer", reason="needs inspect_ai, the extra `inspect`")

NAN = float("nan")


def sample(name, value, participant=None, counts=None, mode="default"):
    """A score of one epoch of a conversation: `value` is its emotion_va, `counts` are answered and expected items."""
    answered, expected = counts or (None, None)
    items = {"answered_items": answered or 0, "expected_items": expected or 0}
    values = {**dict.fromkeys(cards_of("attunebench"), NAN), "emotion_va": value, **items}
    score = inspect_scorer.Score(
        value=values, metadata={"counts": {**dict.fromkeys(COUNTS), "answered": answered, "expected": expected}}
    )
    metadata = {"mode": mode, "participant": participant}
    return inspect_scorer.SampleScore(score=score, sample_id=name, sample_metadata=metadata)


def shown(*samples, **choices):
    from attunebench.harness.inspect_ai.task import summary

    return summary(**choices)(list(samples))


def test_what_is_undefined_in_one_epoch_is_left_out_of_that_conversation_alone():
    assert pytest.approx(0.6) == shown(sample("a", NAN), sample("a", 0.4), sample("b", 0.8))["emotion_va"]


def test_what_is_undefined_everywhere_is_absent_and_not_zero():
    assert {"answered_items", "expected_items"} == {*shown(sample("a", NAN), sample("b", NAN))}


def test_one_conversation_has_no_error():
    rows = shown(sample("a", 0.3))
    assert (0.3, 1) == (rows["emotion_va"], rows["emotion_va_n"])
    assert "emotion_va_stderr" not in rows


def test_nothing_observed_is_undefined():
    assert {"answered_items": 0, "expected_items": 0} == shown()


def test_a_rate_sums_its_counts_first():
    rows = shown(sample("a", NAN, counts=(10, 10)), sample("b", NAN, counts=(0, 90)))
    assert (0.1, 2) == (rows["answered_rate"], rows["answered_rate_n"])
    assert (10, 100) == (rows["answered_items"], rows["expected_items"])


def test_epochs_of_a_rate_are_summed_and_not_averaged():
    rows = shown(sample("a", NAN, counts=(10, 10)), sample("a", NAN, counts=(0, 90)), sample("b", NAN, counts=(0, 100)))
    assert (0.05, 2) == (rows["answered_rate"], rows["answered_rate_n"])


def test_counts_that_are_unknown_are_left_out_of_a_rate():
    rows = shown(sample("a", NAN, counts=(5, 10)), sample("b", NAN, counts=(None, 7)))
    assert (0.5, 1) == (rows["answered_rate"], rows["answered_rate_n"])


def test_participants_without_a_name_are_not_one_person():
    rows = shown(sample("a", 0.0), sample("b", 0.5), sample("c", 1.0), cluster="participant")
    assert pytest.approx(math.sqrt(0.5) / 3) == rows["emotion_va_stderr"]
