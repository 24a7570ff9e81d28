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
from attunebench.selection.where import MOST_CHARACTERS, MOST_DEPTH

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
        ("turns in (4, 6)", "turns = 4 or turns = 6"),
        ("turns between 4 and 6 and gender is Man", 'turns between 4 and 6 and gender = "Man"'),
        ("diagnosis contains “spectrum”", 'diagnosis contains "spectrum"'),
        ("diagnosis not contains anx", 'not diagnosis contains "anx"'),
        ("english is missing", "english is missing"),
        ("english is not missing", "not english is missing"),
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
    ("text", "column", "said"),
    [
        ("who_5 <", 8, "expected a value, found the end"),
        ("who_5", 6, "expected <, <=, =, !=, >=, >, between, in, contains or is after who_5, found the end"),
        ("who_5 < 13 gender = Man", 12, "expected and, or, or the end"),
        ("topic = 'Good' news = 3", 9, "no conversation here has topic “Good”"),
        ("topic = Family news = 3", 16, "expected and, or, or the end, found “news”"),
        ("q2 = Mixed or conflicted", 6, "A text with “and” or “or” in it stands in quotes."),
        ("gender = Man or Woman", 17, "gender in (Man, Woman)"),
        ("(gender = Man", 1, "not closed"),
        ("gender = Man)", 13, "closes nothing"),
        ("gender = 'Man", 10, "a quote is opened here and not closed"),
        ("dignosis = ADHD", 1, "Did you mean diagnosis"),
        ("who_5.__class__ = 1", 1, "there is no field"),
        ("age < 30", 7, "age is no number; there is 18-24 (2), 25-34 (3)"),
        ("turns contains 4", 16, "compare it with <"),
        ("who_5 < ADHD", 9, "compared with a number, not with “ADHD”"),
        ("who_5 < nan", 9, "compared with a number"),
        ("who_5 < 1e999", 9, "compared with a number"),
        ("who_5 < 1_0", 9, "compared with a number"),
        ("who_5 > 26", 9, "WHO-5 runs from 0 to 25"),
        ("who_5 between 6 and 2", 15, "write between 2 and 6"),
        ("who_5 between 6 or 2", 17, "expected and after the lower number, found “or”"),
        ("gender in Man", 11, "expected “(”, found “Man”"),
        ("gender in (Man Woman)", 12, "no conversation here has gender “Man Woman”"),
        ("gender in ('Man' Woman)", 18, "expected “,” or “)”, found “Woman”"),
        ("gender not Man", 12, "expected in or contains"),
        ("gender = and", 10, "expected a value, found “and”; words of the language mean themselves in quotes"),
        ("gender = male", 10, "no conversation here has gender “male”; there is Man (4), Woman (6), Non-binary (2)"),
        ("diagnosis contains flu", 20, "no conversation here has diagnosis with “flu”"),
        ("gender = 'prefer not to say'", 10, 'counts as not told; --where "gender is missing" finds it'),
        ("gender contains ''", 17, "a text that is not empty"),
        ("gender ! Man", 8, "“!” has no meaning here"),
        ("= Man", 1, "expected the name of a field, found “=”"),
    ],
)
def test_an_error_names_the_column_and_what_would_do(text: str, column: int, said: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_where(text, FIELDS)
    assert str(error.value).startswith(f"--where, column {column}: ")
    assert said in str(error.value)


def test_an_empty_expression_shows_one() -> None:
    with pytest.raises(UsageError, match="write for example"):
        parse_where(" \n", FIELDS)


def test_depth_and_length_are_bounded() -> None:
    deep = "(" * MOST_DEPTH + "turns > 4" + ")" * MOST_DEPTH
    assert "turns > 4" == parse_where(deep, FIELDS).text()
    for text in (f"({deep})", "not " * (MOST_DEPTH + 1) + "turns > 4", "(" * 10_000, "not (" * 3_000):
        with pytest.raises(UsageError, match="within each other"):
            parse_where(text, FIELDS)
    with pytest.raises(UsageError, match="characters"):
        parse_where("turns > 4 " + " " * MOST_CHARACTERS, FIELDS)


def test_a_long_expression_is_read_and_held_against_conversations() -> None:
    text = " or ".join(["(diagnosis = ADHD and who_5 < 13)"] * 260)
    assert 1 == len(choose(demo_facts(), parse_where(text, FIELDS)).chosen)
    assert 9_000 < len(text) < 10_000


@given(st.text(max_size=60) | st.lists(st.sampled_from(PIECES), max_size=14).map(" ".join))
@example("\ud800 = 1")
@example("who_5 < \u0661\u0663")
@example("\x00")
def test_whatever_is_typed_it_is_a_condition_or_a_sentence(text: str) -> None:
    condition, said = None, ""
    try:
        condition = parse_where(text, FIELDS)
    except UsageError as error:
        said = str(error)
    if condition is None:
        assert said.startswith("--where")
        assert said.endswith(("?", "."))
    else:
        assert condition == parse_where(condition.text(), FIELDS)


@given(st.text(min_size=1).filter(lambda text: text.strip()))
def test_any_text_that_data_hold_can_be_asked_for_in_quotes(text: str) -> None:
    if not fold(text):
        return
    entries = [a_fact("a", topics=[text]), a_fact("b", topics=["other topic"])]
    found = choose(entries, parse_where(f"topic = {quoted(text)}", fields_of(entries)))
    assert "a" in found.chosen


def test_a_value_that_has_a_quote_and_a_backslash_comes_back_as_it_was() -> None:
    odd = 'the "C:\\" drive'
    entries = [a_fact("a", topics=[odd]), a_fact("b", topics=["x"])]
    condition = parse_where('topic = "the \\"C:\\\\\\" drive"', fields_of(entries))
    assert ("a",) == choose(entries, condition).chosen
    assert condition == parse_where(condition.text(), fields_of(entries))
