"""The grammar of `--where`: what it reads, and where it says that something is wrong."""

from __future__ import annotations

import pytest
from facts import a_fact, demo_facts
from hypothesis import example, given
from hypothesis import strategies as st

from attunebench.errors import UsageError
from attunebench.selection import choose, fields_of, parse_where
from attunebench.selection.conditions import quoted
from attunebench.selection.fields import fold
from attunebench.selection.where import MOST_DEPTH

FIELDS = fields_of(demo_facts())
PIECES = (
    "who_5", "diagnosis", "gender", "age", "and", "or", "not", "in", "is", "known", "missing", "between", "contains",
    "(", ")", ",", "<", "<=", "=", "!=", "13", "6", "ADHD", "Woman", '"ADHD"', "'", '"', "25-34", "!", "\\", "“", "”",
)  # fmt: skip


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("who_5 < 13 and not diagnosis = ADHD", 'who_5 < 13 and not diagnosis = "ADHD"'),
        ("WHO-5<13 AND NOT Diagnosis=adhd", 'who_5 < 13 and not diagnosis = "ADHD"'),
        ("age_range == '25–34'", 'age = "25-34"'),
        ("who5 ≥ 13 or who5 ≠ 6", "who_5 >= 13 or not who_5 = 6"),
        ("topic = good  news and gender = Man", 'topic = "Good news" and gender = "Man"'),
        ("diagnosis contains autism spectrum", 'diagnosis contains "autism spectrum"'),
        ("gender <> Man", 'not gender = "Man"'),
        ("gender in (man, 'Woman')", 'gender in ("Man", "Woman")'),
        ("gender not in (Man)", 'not gender = "Man"'),
        ("gender is not in (Man)", 'not gender = "Man"'),
        ("turns in (4, 6)", "turns in (4, 6)"),
        ("turns between 4 and 6 and gender is Man", 'turns >= 4 and turns <= 6 and gender = "Man"'),
        ("turns not between 4 and 6", "not (turns >= 4 and turns <= 6)"),
        ("diagnosis contains “spectrum”", 'diagnosis contains "spectrum"'),
        ("diagnosis not contains anx", 'not diagnosis contains "anx"'),
        ("english is missing", "english is missing"),
        ("english is not missing", "english is known"),
        ("english is known", "english is known"),
        ("education = Bachelor's or gender = Man", None),
        ("education = “bachelor’s degree”", 'education = "Bachelor\'s degree"'),
        ("panas_negative_change < -5.5", "panas_negative_change < -5.5"),
        ("(gender = Man or who_5 < 13) and (turns > 4)", '(gender = "Man" or who_5 < 13) and turns > 4'),
        ("gender = Man or who_5 < 13 and turns > 4", 'gender = "Man" or (who_5 < 13 and turns > 4)'),
        ("not (gender = Man and turns > 4)", 'not (gender = "Man" and turns > 4)'),
    ],
)
def test_what_is_read(text: str, read: str | None) -> None:
    if read is None:
        with pytest.raises(UsageError, match="Bachelor's degree"):
            parse_where(text, FIELDS)
    else:
        condition = parse_where(text, FIELDS)
        assert read == condition.text()
        assert condition == parse_where(read, FIELDS)


@pytest.mark.parametrize(
    ("text", "column", "named"),
    [
        ("who_5 <", 8, "the end"),
        ("who_5", 6, "the end"),
        ("topic = 'Good' news = 3", 9, "“Good”"),
        ("topic = Family news = 3", 9, "“Family news”"),
        ("q2 = Mixed or conflicted", 6, "Mixed or conflicted (3)"),
        ("gender = Man or Woman", 17, "gender in (Man, Woman)"),
        ("(gender = Man", 14, "column 1"),
        ("gender = Man)", 13, "“)”"),
        ("gender = 'Man", 10, "quote"),
        ("dignosis = ADHD", 1, "Did you mean diagnosis"),
        ("who_5.__class__ = 1", 1, "no field"),
        ("age < 30", 7, "25-34 (3)"),
        ("turns contains 4", 16, "compare it with <"),
        ("who_5 < ADHD", 9, "“ADHD”"),
        ("who_5 < nan", 9, "“nan”"),
        ("who_5 < 1e999", 9, "“1e999”"),
        ("who_5 between 6 or 2", 17, "“or”"),
        ("gender in Man", 11, "“Man”"),
        ("gender in (Man Woman)", 12, "“Man Woman”"),
        ("gender in ('Man' Woman)", 18, "“Woman”"),
        ("gender not Man", 12, "“Man”"),
        ("gender = and", 10, "“and”"),
        ("gender = male", 10, "there is Man (4), Woman (6), Non-binary (2)"),
        ("diagnosis contains flu", 20, "“flu”"),
        ("gender contains ''", 17, "empty"),
        ("gender ! Man", 8, "“!”"),
        ("= Man", 1, "“=”"),
        ("'gender' = Man", 1, "“gender”"),
    ],
)
def test_an_error_names_the_column_and_what_is_wrong_there(text: str, column: int, named: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_where(text, FIELDS)
    assert str(error.value).startswith(f"--where, column {column}: ")
    assert named in str(error.value)


def test_an_error_of_an_option_names_the_option_alone() -> None:
    with pytest.raises(UsageError, match=r"^--who5-below: who_5"):
        parse_where("who_5 < many", FIELDS, option="--who5-below")


def test_an_empty_expression_shows_one() -> None:
    with pytest.raises(UsageError, match="who_5 < 13"):
        parse_where(" \n", FIELDS)


def test_depth_is_bounded() -> None:
    deep = "(" * MOST_DEPTH + "turns > 4" + ")" * MOST_DEPTH
    assert "turns > 4" == parse_where(deep, FIELDS).text()
    for text in (f"({deep})", "not " * (MOST_DEPTH + 1) + "turns > 4", "(" * 10_000, "not (" * 3_000):
        with pytest.raises(UsageError, match=f"more than {MOST_DEPTH}"):
            parse_where(text, FIELDS)


def test_a_long_expression_is_read_and_held_against_conversations() -> None:
    text = " or ".join(["(diagnosis = ADHD and who_5 < 13)"] * 260)
    assert 1 == len(choose(FIELDS, parse_where(text, FIELDS)).chosen)


@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join))
@example("\ud800 = 1")
@example("who_5 < \u0661\u0663")
@example("\x00")
@example('topic = "=="')
def test_whatever_is_typed_it_is_a_condition_or_a_usage_error(text: str) -> None:
    try:
        condition = parse_where(text, FIELDS)
    except UsageError:
        return
    assert condition == parse_where(condition.text(), FIELDS)


@given(st.text(min_size=1).filter(fold))
@example("==")
@example("Prefer not")
@example('the "C:\\" drive')
def test_any_text_that_data_hold_can_be_asked_for_in_quotes(text: str) -> None:
    fields = fields_of([a_fact("a", topics=[text]), a_fact("b", topics=["other topic"])])
    condition = parse_where(f"topic = {quoted(text)}", fields)
    assert "a" in choose(fields, condition).chosen
    assert condition == parse_where(condition.text(), fields)
