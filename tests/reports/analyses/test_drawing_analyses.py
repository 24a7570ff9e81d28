"""Any analysis as terminal text, markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace

import pytest

from attunebench.analyses import Analysis, Cell, Column, Table
from attunebench.errors import UsageError
from attunebench.reports.analyses import FORMATS, files, render

COLUMNS = (
    Column("model", "Model", "text"),
    Column("value", "Binary OM", "share"),
    Column("gap", "Gap", "points"),
    Column("p", "p", "p"),
    Column("n", "n", "count"),
)


def _row(name: str, value: float | None, *, n: int = 40, small: bool = False) -> tuple[Cell, ...]:
    estimate = Cell(value, 0.5, 0.75, n=n, small=small) if value is not None else Cell(None)
    return (Cell(name), estimate, Cell(3.04, 1.0, 5.0, n=12), Cell(0.0001), Cell(n))


TABLE = Table("gaps", "Gaps by model", COLUMNS, (_row("alpha", 0.61239), _row("beta", None, small=True)), "n talks.")
ANALYSIS = Analysis(
    "gap", "Perspective gap", "Is it there?", "It is there.", "Why.", (TABLE,), ("Beware.",), ("By the way.",)
)


@pytest.mark.parametrize("format", ["terminal", "markdown"])
def test_all_words_of_an_analysis_are_shown(format: str) -> None:
    drawn = render([ANALYSIS], format, width=120)
    words = (
        "Perspective gap",
        "Is it there?",
        "It is there.",
        "Why.",
        "Beware.",
        "By the way.",
        "Gaps by model",
        "n talks.",
    )
    assert () == tuple(word for word in words if word not in drawn)


def test_a_number_is_rounded_with_its_interval_and_p_says_when_it_is_tiny() -> None:
    drawn = render([ANALYSIS], "markdown")
    assert "| alpha | 0.612 \\[0.500, 0.750\\] | 3.0 \\[1.0, 5.0\\] n 12 | \\< 0.001 | 40 |" in drawn


def test_an_undefined_value_is_a_dash() -> None:
    assert "| beta | – |" in render([ANALYSIS], "markdown")


def test_n_is_said_where_it_is_not_that_of_the_row() -> None:
    drawn = render([ANALYSIS], width=120)
    assert (True, False) == ("n 12" in drawn, "n 40" in drawn)


def test_a_cell_with_too_little_behind_it_is_marked_and_explained() -> None:
    table = replace(TABLE, rows=(_row("alpha", 0.6, small=True),))
    drawn = render([replace(ANALYSIS, tables=(table,))], "markdown")
    assert (True, True) == ("0.600°" in drawn, "° too few conversations" in drawn)


def test_a_terminal_shows_the_first_rows_and_says_how_many_there_are_besides() -> None:
    table = replace(TABLE, rows=tuple(_row(f"model-{i}", 0.5) for i in range(50)))
    drawn = render([replace(ANALYSIS, tables=(table,))], width=100, rows=40)
    assert (True, True, False) == ("… and 10 more rows" in drawn, "model-39" in drawn, "model-40" in drawn)


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    table = replace(TABLE, rows=(_row("a-model-with-a-very-long-name/of-some-provider-or-other-2026-01-01" * 2, 0.5),))
    assert width >= max(map(len, render([replace(ANALYSIS, tables=(table,))], width=width).splitlines()))


def test_foreign_names_cannot_steer_the_terminal() -> None:
    table = replace(TABLE, rows=(_row("evil\x1b[31m\u202ename", 0.5),))
    assert "evilname" in render([replace(ANALYSIS, tables=(table,))], width=100)


def test_an_analysis_that_cannot_be_made_says_why() -> None:
    drawn = render([Analysis("cost", "Cost", "How much?", missing="No result states a cost.")])
    assert "Not computed: No result states a cost." in drawn


def test_tidy_csv_has_a_line_for_each_number() -> None:
    lines = list(csv.DictReader(io.StringIO(render([ANALYSIS], "csv"))))
    first = {key: lines[0][key] for key in ("analysis", "table", "key", "column", "value", "low", "high", "n")}
    expected = {"analysis": "gap", "table": "gaps", "key": "alpha", "column": "value"}
    assert {**expected, "value": "0.61239", "low": "0.5", "high": "0.75", "n": "40"} == first
    assert 8 == len(lines)


def test_a_table_in_a_folder_has_its_columns_and_their_doubt() -> None:
    made = files([ANALYSIS])
    assert ["gap.json", "gap.gaps.csv"] == list(made)
    head = made["gap.gaps.csv"].splitlines()[0]
    assert "model,value,value_low,value_high,value_n,gap,gap_low,gap_high,gap_n,p,n" == head


def test_json_has_unrounded_values_and_null_for_undefined_ones() -> None:
    rows = json.loads(render([ANALYSIS], "json"))["analyses"][0]["tables"][0]["rows"]
    assert ({"value": 0.61239, "low": 0.5, "high": 0.75, "n": 40}, None) == (rows[0]["value"], rows[1]["value"])


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_analysis_is_drawn_the_same(format: str) -> None:
    assert render([ANALYSIS], format) == render([ANALYSIS], format)


def test_an_unknown_format_is_named() -> None:
    with pytest.raises(UsageError, match="no format 'pdf'"):
        render([ANALYSIS], "pdf")
