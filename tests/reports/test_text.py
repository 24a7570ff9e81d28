"""Foreign text is harmless where it is shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunebench.text import clean, csv_cell, encodable, markdown_text, printable


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07model", "model"),
        ("\x9b2Jmodel", "model"),
        ("a\nb\tc", "a b c"),
        ("evil\u202egpj", "evilgpj"),
        ("nul\x00l", "null"),
        ("Qwen 模型", "Qwen 模型"),
    ],
)
def test_clean_leaves_what_people_read(text: str, shown: str) -> None:
    assert shown == clean(text)


@given(st.text())
def test_clean_text_holds_no_control_character(text: str) -> None:
    assert not [char for char in clean(text) if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1+cmd", "'+1+cmd"),
        ("-2+3", "'-2+3"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'=1"),
        ("\x1b[0m=1", "'=1"),
        ("-0.25", "-0.25"),
        ("+1e3", "+1e3"),
        ("gpt-5", "gpt-5"),
        ("x;=1+cmd", "x;'=1+cmd"),
        ('x; "@SUM(A1)"', 'x;\' "@SUM(A1)"'),
        ("\r=1", "'=1"),
        ("\rx", "'x"),
        ("a; -0.25; +3", "a; -0.25; +3"),
        ("-1;-1+cmd", "-1;'-1+cmd"),
        ("a; b = c", "a; b = c"),
    ],
)
def test_csv_cells_are_no_formulas(text: str, cell: str) -> None:
    assert cell == csv_cell(text)


@given(st.text() | st.text("=+-@;'\" \t\r1.eE"))
def test_no_text_becomes_a_formula(text: str) -> None:
    for part in csv_cell(text).split(";"):
        if part.strip(" \"'")[:1] in ("=", "@", "+", "-") and not part.startswith("'"):
            float(part)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("<script>", "\\<script\\>"),
        ("[x](http://y)", "\\[x\\](http:\\//y)"),
        ("see www.example.com", "see www\\.example.com"),
        ("em_model_x", "em_model_x"),
        ("_x_", "\\_x\\_"),
        ("a\\|b", "a\\\\\\|b"),
        ("&lt;", "&amp;lt;"),
    ],
)
def test_markdown_shows_the_text_itself(text: str, shown: str) -> None:
    assert shown == markdown_text(text)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("half \ud83d", "half \ufffd"),
        ("\ude00 half", "\ufffd half"),
        ("two \ud83d\ude00", "two 😀"),
        ("\ufeffé", "\ufeffé"),
    ],
)
def test_half_a_surrogate_pair_becomes_the_replacement_character(text: str, kept: str) -> None:
    assert kept == encodable(text)


@given(st.text())
def test_a_text_that_can_be_encoded_stays_as_it_is(text: str) -> None:
    assert text == encodable(text)


def test_a_long_text_is_cut_with_an_ellipsis() -> None:
    assert "aaa…" == printable("a" * 10, limit=4)


def test_a_short_text_stays_whole() -> None:
    assert "a b" == printable(" a\x07\n b ")
