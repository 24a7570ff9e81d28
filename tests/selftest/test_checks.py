"""Every proof finds what is planted, and finds nothing where there is nothing."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.protocol.calls import Asked, Call
from attunebench.selftest.checks import (
    Books,
    asked_again,
    differences,
    nothing_lost,
    same_predictions,
    same_scores,
    unkept,
)

REVIEW = Call("c/default/1/review", "c", "default", 1, "review", (), Asked("review", {"B1": "?"}), {})
RESULT: dict[str, Any] = {
    "turns": [
        {
            "turnNumber": 1,
            "em_drafted_response": "I hear you.",
            "em_emotion_tags": [{"emotion": "Proud", "intensity": 4}],
            "em_binary_om_assessment": {"B1": "yes"},
            "em_binary_human_prediction": {"B1": "no"},
        }
    ],
    "post_conversation": {"predicted_post_panas": {"items": {"Proud": 4}}},
    "scores": {"composite": 50.0, "mended_rate": 0.0},
    "calls": {"answered_items": 10, "expected_items": 10, "reasked": 0},
}
SCORES: dict[str, Any] = {
    "conversations": [{"conversationId": "c", "em_model": "m", "metrics": {"composite": 50.0}}],
    "aggregates": [
        {"em_model": "m", "metrics": {"composite": {"mean": 50.0, "n": 3}}, "coverage": {"expected": 3, "scored": 3}}
    ],
}


def changed(value: dict[str, Any], change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    other = copy.deepcopy(value)
    change(other)
    return other


def test_equal_results_differ_in_nothing() -> None:
    assert [] == list(same_predictions({"c": RESULT}, {"c": copy.deepcopy(RESULT)}))


@pytest.mark.parametrize(
    "change",
    [
        lambda result: result["turns"][0].update(em_drafted_response="Hm."),
        lambda result: result["turns"][0]["em_binary_om_assessment"].pop("B1"),
        lambda result: result["post_conversation"].clear(),
        lambda result: result["scores"].update(composite=50.000001),
        lambda result: result["calls"].update(expected_items=9),
        lambda result: result["calls"].update(answered_items=9),
        lambda result: result["calls"].update(reasked=1),
        lambda result: result["turns"].pop(),
    ],
)
def test_any_change_of_a_result_is_found(change: Callable[[dict[str, Any]], object]) -> None:
    assert list(same_predictions({"c": RESULT}, {"c": changed(RESULT, change)}))


def test_missing_results_and_those_of_nobody_are_found() -> None:
    assert list(same_predictions({"c": RESULT}, {}))
    assert list(same_predictions({"c": RESULT}, {"c": RESULT, "d": RESULT}))


def test_results_may_be_missing_in_the_middle_but_none_may_be_of_nobody() -> None:
    assert [] == list(same_predictions({"c": RESULT}, {}, partly=True))
    assert list(same_predictions({"c": RESULT}, {"d": RESULT}, partly=True))


def unanswered(result: dict[str, Any]) -> None:
    result["turns"][0].update(
        em_emotion_tags=None, em_binary_om_assessment=None, em_binary_human_prediction={}, binary_reasoning=None
    )
    result["calls"].update(answered_items=7)


def test_unanswered_calls_are_to_be_empty_and_nothing_else() -> None:
    found = changed(RESULT, unanswered)
    assert [] == list(same_predictions({"c": RESULT}, {"c": found}, unanswered=[REVIEW]))
    assert list(same_predictions({"c": RESULT}, {"c": RESULT}, unanswered=[REVIEW]))
    found["turns"][0]["em_drafted_response"] = None
    assert list(same_predictions({"c": RESULT}, {"c": found}, unanswered=[REVIEW]))


def test_every_number_of_the_scores_counts() -> None:
    assert [] == list(same_scores(SCORES, copy.deepcopy(SCORES)))
    assert list(
        same_scores(SCORES, changed(SCORES, lambda s: s["aggregates"][0]["metrics"]["composite"].update(mean=1)))
    )
    assert list(same_scores(SCORES, changed(SCORES, lambda s: s["conversations"][0]["metrics"].clear())))


def test_without_values_every_n_counts_and_the_coverage() -> None:
    def check(change: Callable[[dict[str, Any]], object]) -> list[str]:
        return list(same_scores(SCORES, changed(SCORES, change), values=False))

    assert [] == check(lambda s: s["aggregates"][0]["metrics"]["composite"].update(mean=1))
    assert check(lambda s: s["aggregates"][0]["metrics"]["composite"].update(n=2))
    assert check(lambda s: s["aggregates"][0]["coverage"].update(scored=2))


def books(kept: tuple[str, ...] = (), **pages: tuple[int, int]) -> Books:
    asked, whole = (Counter({f"{key}-1": page[side] for key, page in pages.items()}) for side in (0, 1))
    return Books(asked, whole, Counter(f"{key}-1" for key in kept))


def test_an_answer_that_is_in_no_journal_is_found() -> None:
    assert [] == list(nothing_lost(books(("a",), a=(1, 1)), {"a": REVIEW}))
    assert list(nothing_lost(books((), a=(1, 1)), {"a": REVIEW}))


def test_a_call_that_was_never_asked_is_found() -> None:
    assert list(nothing_lost(books(("a",), a=(1, 1)), {"b": REVIEW}))


def test_what_the_journal_had_is_not_to_be_sent_again() -> None:
    before = books(("a",), a=(1, 1), b=(1, 1))
    assert [] == list(asked_again(before, books(a=(1, 1), b=(2, 2))))
    assert list(asked_again(before, books(a=(2, 1), b=(1, 1))))


@pytest.mark.parametrize(
    ("lost", "before", "after", "kept_before", "kept_after"),
    [
        (0, {}, {"a": 1, "b": 2}, {}, {"a": 1, "b": 2}),
        (1, {}, {"a": 1}, {}, {}),
        (1, {"a": 1}, {"a": 2}, {"a": 1}, {"a": 1}),
        (0, {"a": 1}, {"a": 2}, {}, {"a": 1}),
    ],
)
def test_what_is_paid_for_and_not_kept_is_counted(
    lost: int, before: Any, after: Any, kept_before: Any, kept_after: Any
) -> None:
    pairs = ((before, kept_before), (after, kept_after))
    assert lost == unkept(*(Books(whole=Counter(whole), kept=Counter(kept)) for whole, kept in pairs))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


@given(JSON)
def test_nothing_differs_from_itself(value: Any) -> None:
    assert [] == list(differences(value, copy.deepcopy(value)))


@given(JSON, JSON)
def test_what_differs_is_found_from_either_side(one: Any, other: Any) -> None:
    assert bool(list(differences(one, other))) == bool(list(differences(other, one)))
