"""Which values are taken for which answer; everything else is none."""

from __future__ import annotations

from typing import Any

import pytest

from attunebench import coerce


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *[(value, "yes") for value in ("yes", " YES ", "y", "True", "1", True, 1, 1.0)],
        *[(value, "no") for value in ("no", "N", "false", "0", False, 0, 0.0)],
        *[(value, None) for value in ("na", "yes.", "", None, 2, 0.5, ["yes"], {"yes": 1})],
    ],
)
def test_yes_and_no(value: Any, expected: str | None) -> None:
    assert expected == coerce.yes_no(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("a", "A"), (" B ", "B"), ("response_1", "A"), ("responseB", "B"), ("tie", None), (1, None), (None, None)],
)
def test_letters(value: Any, expected: str | None) -> None:
    assert expected == coerce.letter(value)


@pytest.mark.parametrize(
    ("value", "as_json", "read"),
    [
        (3, 3, 3.0),
        (2.5, 2.5, 2.5),
        ("4", None, 4.0),
        (0.9, None, None),
        (8, None, None),
        (True, None, None),
        (float("nan"), None, None),
        ("nan", None, None),
        ("1e999", None, None),
        (10**400, None, None),
        (None, None, None),
    ],
)
def test_numbers_in_range(value: Any, as_json: float | None, read: float | None) -> None:
    assert as_json == coerce.in_range(value, 1, 7)
    assert read == coerce.number(value, 1, 7) == coerce.rating(value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [("Mild", 2.0), ("moderate ", 4.0), ("intense", 6.0), (3, 3.0), ("9", None), ("mildly", None)],
)
def test_intensities(value: Any, expected: float | None) -> None:
    assert expected == coerce.intensity(value)
