"""What changes a request changes its hash; nothing else does."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.journal import Hasher, RequestHash
from attunebench.protocol.calls import Asked, Call, Message

TARGET: dict[str, Any] = {
    "provider": "local",
    "base_url": "u",
    "model": "m",
    "parameters": {"seed": None, "temperature": 0.0},
}
MESSAGES = (Message("system", "s"), Message("user", "u"))


def call(**changes: Any) -> Call:
    schema = {"type": "object", "properties": {"a": {}, "b": {}}}
    plain = Call("c/default/1/draft", "c", "default", 1, "draft", MESSAGES, Asked("draft"), schema)
    return replace(plain, **changes)


def hashed(
    a_call: Call | None = None, messages: tuple[Message, ...] = MESSAGES, ask: int = 0, **target: Any
) -> RequestHash:
    return Hasher(**{**TARGET, **target})(a_call or call(), messages, ask)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda: hashed(call(id="d/default/1/draft")), id="call id"),
        pytest.param(lambda: hashed(messages=(Message("system", "s"), Message("user", "u "))), id="text"),
        pytest.param(lambda: hashed(messages=(Message("user", "s"), Message("user", "u"))), id="role"),
        pytest.param(lambda: hashed(messages=(Message("system", "su"), Message("user", ""))), id="where it is split"),
        pytest.param(lambda: hashed(call(schema={"type": "object"})), id="schema"),
        pytest.param(
            lambda: hashed(call(schema={"type": "object", "properties": {"b": {}, "a": {}}})), id="order of the schema"
        ),
        pytest.param(lambda: hashed(ask=1), id="ask"),
        pytest.param(lambda: hashed(provider="openai"), id="provider"),
        pytest.param(lambda: hashed(base_url="v"), id="address"),
        pytest.param(lambda: hashed(model="n"), id="model"),
        pytest.param(lambda: hashed(parameters={"seed": 1, "temperature": 0.0}), id="parameter"),
        pytest.param(lambda: hashed(parameters={"seed": None, "temperature": None}), id="parameter left to the server"),
    ],
)
def test_each_part_of_a_request_changes_its_hash(other: Any) -> None:
    assert hashed().request != other().request


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(lambda: hashed(call(asked=Asked("draft", verbose=True))), id="what the reader looks for"),
        pytest.param(
            lambda: hashed(call(schema={"type": "object", "properties": {"a": {}, "b": {}}})), id="equal schema"
        ),
        pytest.param(lambda: hashed(parameters={"temperature": 0.0, "seed": None}), id="order of the parameters"),
    ],
)
def test_nothing_else_changes_it(other: Any) -> None:
    assert hashed() == other()


messages = st.lists(
    st.builds(Message, st.sampled_from(("system", "user", "assistant")), st.text(max_size=5)), max_size=4
).map(tuple)


@given(messages, messages)
def test_two_prompts_share_a_hash_only_if_they_are_the_same(
    one: tuple[Message, ...], other: tuple[Message, ...]
) -> None:
    assert (one == other) == (hashed(messages=one) == hashed(messages=other))


def test_half_a_surrogate_pair_can_be_hashed() -> None:
    assert hashed().request != hashed(messages=(Message("user", "\ud800"),)).request


def test_a_judge_s_reply_is_looked_up_under_its_former_places_too() -> None:
    judged = call(id="c/default/1/judge/1", kind="judge", judge=1)
    former = [hashed(call(id=f"{judged.identity}/{place}")).request for place in range(8)]
    assert (hashed(judged).request, *former) == hashed(judged).all
    assert (hashed().request,) == hashed().all
