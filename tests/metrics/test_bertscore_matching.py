"""Greedy matching of tokens: against sums by hand, and what holds for all texts."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.metrics.bertscore import Embedded, bertscore, turn_values


def embedded(*rows: tuple[float, ...], own: tuple[bool, ...] | None = None) -> Embedded:
    vectors = np.array(rows, dtype=np.float32).reshape(len(rows), -1)
    return Embedded(
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True), np.array(own or [True] * len(rows), dtype=bool)
    )


coordinates = st.tuples(*[st.integers(-9, 9)] * 3).filter(any)
texts = st.lists(st.tuples(coordinates, st.booleans()), min_size=1, max_size=6).map(
    lambda tokens: embedded(*(row for row, _ in tokens), own=tuple(own for _, own in tokens))
)


def test_precision_asks_the_draft_s_tokens_and_recall_the_reply_s() -> None:
    draft, reply = embedded((1, 0), (0, 1)), embedded((1, 0))
    assert pytest.approx(2 * 0.5 * 1 / 1.5, abs=1e-6) == bertscore(draft, reply)


def test_a_token_around_the_text_can_be_matched_and_is_not_asked() -> None:
    draft = embedded((1, 0), (0, 1), own=(True, False))
    assert 1.0 == bertscore(draft, embedded((0, 1), (1, 0), own=(True, False)))


def test_texts_without_tokens_equal_each_other_and_nothing_else() -> None:
    empty, text = embedded((1, 0), own=(False,)), embedded((1, 0))
    assert 1.0 == bertscore(empty, empty)
    assert 0.0 == bertscore(empty, text) == bertscore(text, empty)


def test_what_points_away_is_0_and_never_below() -> None:
    assert 0.0 == bertscore(embedded((1, 0)), embedded((-1, 0)))
    assert 0.0 == bertscore(embedded((1, 0)), embedded((0, 1)))


@settings(max_examples=40)
@given(texts)
def test_a_text_equals_itself(text: Embedded) -> None:
    assert 1.0 == bertscore(text, text)


@settings(max_examples=40)
@given(texts, texts)
def test_f1_lies_in_its_range_and_does_not_mind_which_text_is_first(one: Embedded, other: Embedded) -> None:
    assert 0.0 <= bertscore(one, other) <= 1.0
    assert pytest.approx(bertscore(other, one), abs=2e-6) == bertscore(one, other)


@settings(max_examples=40)
@given(texts, texts, st.randoms(use_true_random=False))
def test_the_order_of_tokens_does_not_matter(one: Embedded, other: Embedded, random: object) -> None:
    order = list(range(len(one.own)))
    random.shuffle(order)  # type: ignore[attr-defined]
    shuffled = Embedded(one.vectors[order], one.own[order])
    assert pytest.approx(bertscore(one, other), abs=2e-6) == bertscore(shuffled, other)


def test_a_turn_s_values_are_those_found_and_the_largest() -> None:
    values = turn_values(True, ("original", "human"), {"original": 0.8, "human": 0.9})
    assert {
        "bertscore_original": 0.8,
        "bertscore_alternate": None,
        "bertscore_human": 0.9,
        "bertscore_max": 0.9,
    } == values


def test_without_a_draft_all_replies_with_a_text_are_missed() -> None:
    values = turn_values(False, ("original",), {})
    assert (0.0, None, 0.0) == (values["bertscore_original"], values["bertscore_human"], values["bertscore_max"])


def test_what_was_not_compared_is_undefined_and_not_0() -> None:
    assert {None} == set(turn_values(True, ("original", "alternate", "human"), {}).values())
