"""What is JSON to everybody else and cannot be used: a key with two values, half a character."""

from __future__ import annotations

import pytest

from attunebench.jsonfile import parse_json


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '[{"b": {"winner": "A", "x": 1, "winner": "B"}}]'])
def test_a_key_with_two_values_is_refused(text: str, lenient: bool) -> None:
    with pytest.raises(ValueError, match="twice"):
        parse_json(text.encode(), lenient=lenient)


def test_a_key_that_stands_twice_with_one_value_does_no_harm() -> None:
    assert {"a": [1], "b": 2} == parse_json(b'{"a": [1], "b": 2, "a": [1]}')


def test_half_a_character_is_replaced_where_one_value_must_not_cost_all() -> None:
    assert {"a\N{REPLACEMENT CHARACTER}": "\N{GRINNING FACE}"} == parse_json(
        rb'{"a\ud83d": "\ud83d\ude00"}', lenient=True
    )
