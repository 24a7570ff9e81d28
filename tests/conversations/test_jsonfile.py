"""What is JSON to everybody else and cannot be used: a key with two values, half a character."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench import jsonfile
from attunebench.jsonfile import parse_json


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '[{"b": {"winner": "A", "x": 1, "winner": "B"}}]'])
def test_a_key_with_two_values_is_refused(text: str, lenient: bool) -> None:
    with pytest.raises(ValueError, match="twice"):
        parse_json(text.encode(), lenient=lenient)


@pytest.mark.parametrize("lenient", [False, True])
@pytest.mark.parametrize("depth", [65, 254, 255, 500, 1023, 1024, 5_000, 100_000])
def test_what_is_nested_too_deeply_is_refused_at_every_depth(depth: int, lenient: bool) -> None:
    with pytest.raises(ValueError, match="nested deeper than 64 levels"):
        parse_json(b'{"a":' + b"[" * depth + b"]" * depth + b"}", lenient=lenient)


def test_a_key_that_stands_twice_with_one_value_does_no_harm() -> None:
    assert {"a": [1], "b": 2} == parse_json(b'{"a": [1], "b": 2, "a": [1]}')


def test_half_a_character_is_replaced_where_one_value_must_not_cost_all() -> None:
    assert {"a\N{REPLACEMENT CHARACTER}": "\N{GRINNING FACE}"} == parse_json(
        rb'{"a\ud83d": "\ud83d\ude00"}', lenient=True
    )


SPACES = st.sampled_from(["", " ", "\n", "\t"])
KEYS = st.sampled_from(['"a"', r'"\u0061"', r'"\":"', r'"b\u003a"', '"c:"'])
SCALARS = st.sampled_from(
    [
        "1",
        "-0",
        "1.5",
        "1e999",
        "NaN",
        "18446744073709551616",
        "0.00012345678901234567",
        r'"\u003a"',
        '":"',
        r'"\ud800"',
    ]
)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]"),
        st.lists(st.tuples(KEYS, SPACES, inner), max_size=3).map(
            lambda items: "{" + ",".join(f"{key}{space}:{value}" for key, space, value in items) + "}"
        ),
    ),
    max_leaves=8,
)


@given(JSON)
def test_a_text_is_read_as_the_standard_library_reads_it_with_every_check(text: str) -> None:
    data = text.encode()
    for lenient, decoder in ((False, jsonfile._STRICT), (True, jsonfile._LENIENT)):
        try:
            quick = repr(jsonfile._read_quickly(data))
        except ValueError:
            continue  # the careful reader decides
        assert repr(jsonfile._read_carefully(data, decoder)) == quick, lenient
