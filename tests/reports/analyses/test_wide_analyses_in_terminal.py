"""A table too wide or too long for a terminal: what is drawn stays readable, and what is not drawn is counted."""

from __future__ import annotations

from attunebench.analyses.table import Analysis, Cell, Column, Table
from attunebench.reports.analyses import render

QUESTION = "Did the reply notice that the state of the person had changed in the course of the conversation"


def _wide(columns: int) -> Analysis:
    """Two rows of an ID, a long question and so many numbers."""
    heads = (Column("question", "question", "text"), Column("asks", "asks", "text"))
    numbers = tuple(Column(f"v{i}", f"number-{i}", "score") for i in range(columns))
    rows = tuple((Cell(name), Cell(QUESTION), *(Cell(0.5) for _ in range(columns))) for name in ("B1", "B2"))
    return Analysis("t", "T", "Which?", "It is so.", "No cause.", (Table("t", "t", (*heads, *numbers), rows),))


def test_long_texts_beside_an_id_are_said_once_and_not_again_in_each_piece() -> None:
    text = render([_wide(20)], "terminal", width=80)
    assert 2 == text.count("notice")
    assert 3 == text.count("B1")


def test_a_text_wraps_before_a_name_beside_it_is_broken() -> None:
    name = "promis_depression_t_of_all_participants"
    heads = (Column("field", "field", "text"), Column("n", "n", "count"), Column("example", "example", "text"))
    rows = ((Cell(name), Cell(12), Cell(QUESTION)),)
    text = render([Analysis("t", "T", "", "", "", (Table("t", "t", heads, rows),))], "terminal", width=80)
    assert name in text


def test_columns_that_are_not_drawn_are_counted() -> None:
    text = " ".join(render([_wide(60)], "terminal", width=80).split())
    left = 60 - text.count("number-")
    assert f"… and {left} more columns; --full" in text


def test_all_rows_are_all_columns_too() -> None:
    text = render([_wide(60)], "terminal", width=80, rows=None)
    assert 60 == text.count("number-")
    assert "more columns" not in text


def test_what_a_short_id_does_not_need_of_the_keys_goes_to_the_text_beside_it() -> None:
    lines = render([_wide(1)], "terminal", width=80).splitlines()
    assert any("Did the reply notice" in line for line in lines)
