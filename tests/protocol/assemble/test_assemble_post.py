"""From predicted items or changes to a predicted state."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.constants import PANAS_ITEMS, PANAS_NEGATIVE, PANAS_POSITIVE
from attunebench.conversations.schema import Panas
from attunebench.protocol.post import changed_state, predicted_state

ALL_FIVE = dict.fromkeys(PANAS_ITEMS, 5)
NO_CHANGE = dict.fromkeys(PANAS_ITEMS, 0)


def before(value: float, **other: Any) -> Panas:
    return Panas(**{"items": {item.lower(): value for item in PANAS_ITEMS}, "positive": 10 * value, **other})


def test_a_total_is_the_sum_of_ten_items() -> None:
    assert {"totalPositiveAffect": 50, "totalNegativeAffect": 50, "items": ALL_FIVE} == predicted_state(ALL_FIVE)


@pytest.mark.parametrize("missing", ["Proud", "Upset"])
def test_a_side_with_a_missing_item_has_no_total(missing: str) -> None:
    state = predicted_state({item: 5 for item in PANAS_ITEMS if item != missing})
    assert (missing == "Proud") == (state["totalPositiveAffect"] is None)
    assert (missing == "Upset") == (state["totalNegativeAffect"] is None)


def test_a_change_is_added_to_the_items_from_before() -> None:
    state = changed_state(before(3), {**NO_CHANGE, "Proud": 2, "Upset": -1})
    assert (5, 2, 32, 29) == (
        state["items"]["Proud"],
        state["items"]["Upset"],
        state["totalPositiveAffect"],
        state["totalNegativeAffect"],
    )


@given(st.integers(1, 7), st.integers(-6, 6))
def test_a_changed_item_stays_on_its_scale(value: int, by: int) -> None:
    state = changed_state(before(value), dict.fromkeys(PANAS_ITEMS, by))
    assert {min(7, max(1, value + by))} == set(state["items"].values())


def test_without_items_from_before_the_total_moves_by_the_sum_of_changes() -> None:
    state = changed_state(Panas(positive=40, negative=68), {**NO_CHANGE, "Proud": 3, "Upset": 5})
    assert {"totalPositiveAffect": 43, "totalNegativeAffect": 70, "items": {}} == state


def test_a_side_of_which_one_item_is_unknown_uses_the_total_from_before() -> None:
    known = {item.lower(): 4.0 for item in PANAS_POSITIVE[1:]}
    state = changed_state(Panas(items=known, positive=39, negative=None), dict.fromkeys(PANAS_ITEMS, 1))
    assert dict.fromkeys(PANAS_POSITIVE[1:], 5) == state["items"]
    assert (49, None) == (state["totalPositiveAffect"], state["totalNegativeAffect"])


def test_a_missing_change_leaves_its_side_without_a_total() -> None:
    changes = {item: 0 for item in PANAS_ITEMS if item != PANAS_NEGATIVE[0]}
    state = changed_state(before(2), changes)
    assert (20, None) == (state["totalPositiveAffect"], state["totalNegativeAffect"])
    assert PANAS_NEGATIVE[0] not in state["items"]
