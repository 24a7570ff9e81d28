"""Keys changed in a JSON text: what is asked for changes, and every other byte stays."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.runner.splice import spliced

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)
OBJECTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=4)
LAYOUTS: list[dict[str, Any]] = [
    {},
    {"indent": 2, "ensure_ascii": False},
    {"indent": "\t"},
    {"separators": (",", ":")},
]


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=15)
@given(OBJECTS, st.lists(OBJECTS, min_size=1, max_size=3), OBJECTS, OBJECTS, st.data())
def test_it_reads_as_the_object_with_the_new_values(
    layout: dict[str, Any],
    top: dict[str, Any],
    turns: list[dict[str, Any]],
    new: dict[str, Any],
    of_turn: dict[str, Any],
    data: st.DataObject,
) -> None:
    place = data.draw(st.integers(0, len(turns) - 1))
    before = {**top, "turns": turns}
    new.pop("turns", None)
    text = spliced(json.dumps(before, **layout), {(): new, ("turns", place): of_turn})
    turns = [{**turn, **of_turn} if i == place else turn for i, turn in enumerate(turns)]
    after = {**before, "turns": turns, **new}
    assert after == json.loads(text)
    assert list(after) == list(json.loads(text))


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=15)
@given(OBJECTS, OBJECTS)
def test_a_file_of_this_layout_is_written_as_it_would_have_been(
    layout: dict[str, Any], top: dict[str, Any], new: dict[str, Any]
) -> None:
    before = {"first": 1, **top}
    spliced_text = spliced(json.dumps(before, **layout), {(): new})
    if "ensure_ascii" not in layout or json.dumps(new, ensure_ascii=False) == json.dumps(new):
        assert json.dumps({**before, **new}, **layout) == spliced_text


def test_what_is_not_asked_for_keeps_its_spelling() -> None:
    text = '{ "a" : 1.50e0,\r\n\t"b":[NaN , 1e999, 123456789012345678901234567890123456789],"c":"\\u00fc" , "c":2}'
    assert text.replace(":2}", ":3}") == spliced(text, {(): {"c": 3}})
    assert text.replace('"\\u00fc" , "c":2}', '"\\u00fc" , "c":2,"d":{"e":[]}}') == spliced(
        text, {(): {"d": {"e": []}}}
    )
