"""Raw values: whole tokens decide, and what is no answer stays none."""

from __future__ import annotations

import math
from typing import Any

import pytest

from attunebench.protocol.read.values import intensity, letter, number, prose, yes_no


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, "yes"), (False, "no"), (1, "yes"), (0, "no"), (2, None), (math.nan, None), (None, None), ({}, None),
        ("Yes.", "yes"), ("**NO** - it stayed neutral", "no"), ("`y`", "yes"), ('"false"', "no"), ("✅ yes", "yes"),
        ("Yes, because it asks", "yes"), ("No, the answer is yes", None), ("yes/no", None), ("y/n", None),
        ("N/A", None), ("n.a.", None), ("n. a.", None), ("unclear", None), ("partly", None), ("", None), ("...", None),
        ("not yes", None), ("yesterday", None), ("nope", None), ("incorrect", None), ("not applicable", None),
    ],
)  # fmt: skip
def test_yes_and_no(value: Any, expected: str | None) -> None:
    assert expected == yes_no(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("A", "A"), ("b", "B"), ("(B)", "B"), ("[[A]]", "A"), ("Response A", "A"), ("response b", "B"), ("**B**.", "B"),
        ("A is warmer", "A"), ("A, because it listens", "A"), ("I prefer B here", "B"), ("A feels kinder", "A"),
        ("Reply 2", "A"), ("reply 1", "B"), ("Reply 2 (A)", "A"), ("Reply 2 (B)", None), ("Reply 3", None),
        ("tie", None), ("both", None), ("A or B", None), ("A/B", None), ("A tie", None), ("neither A", None),
        ("A warm reply wins", None), ("better than A", None), ("not B", None), ("a warm one", None), ("AB", None),
        ("C", None), (True, None), (0, None), (None, None), (["A"], None), ("", None),
    ],
)  # fmt: skip
def test_letters(value: Any, expected: str | None) -> None:
    assert expected == letter(value, ("Reply 2", "Reply 1"))


def test_a_label_behind_both_sides_names_none() -> None:
    assert letter("Reply 1", ("Reply 1", "Reply 1")) is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (5, 5), (5.0, 5), (3.5, 3.5), ("5", 5), ("5.0", 5), ("+1", 1), ("5/7", 5), ("5.5 / 7", 5.5), ("5 - close", 5),
        ("**6**", 6), ("5.", 5), ("4 (moderate)", 4), ("5/10", None), ("5/7/2", None), ("5-6", None), ("5, or 6", None),
        ("about 5", None), ("5,5", None), ("5th", None), ("50%", None), ("5%", None),
        (9, None), (0, None), ("-2", None),
        (True, None), (math.nan, None), (math.inf, None), ("NaN", None), ("high", None), ("", None), ([5], None),
        ("1" * 5000, None),
    ],
)  # fmt: skip
def test_numbers_on_a_scale_of_seven(value: Any, expected: float | None) -> None:
    assert expected == number(value, 1, 7)


@pytest.mark.parametrize(("value", "expected"), [("+2", 2), ("−3", -3), (-6, -6), (7, None), ("no change", None)])
def test_changes(value: Any, expected: float | None) -> None:
    assert expected == number(value, -6, 6)


def test_integral_numbers_are_ints() -> None:
    assert isinstance(number("5.0", 1, 7), int)


@pytest.mark.parametrize(
    ("value", "expected"), [("Mild", 2), ("moderate", 4), ("INTENSE.", 6), ("strong", None), ("3", 3)]
)
def test_intensity_words(value: Any, expected: float | None) -> None:
    assert expected == intensity(value)


def test_prose_can_always_be_written_to_a_file() -> None:
    assert "a\ufffdb" == prose(" a\ud800b ")
