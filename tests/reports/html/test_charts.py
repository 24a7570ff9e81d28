"""A table's chart as the page draws it: places in percent, references, and what is left to the table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attunebench.analyses.table import Cell, Chart, Table, column, plot, table, words
from attunebench.reports.html.charts import axis_over, picture

CHART = Chart("intervals", "model", ("score",), "Score", "points", {"near": 45.0, "far": -900.0})


def scores(*cells: Cell) -> Table:
    names = [f"m{place}" for place, _ in enumerate(cells)]
    return table("t", "T", words("model", names), column("score", cells), chart=CHART)


def test_a_value_stands_between_the_ends_of_its_interval_and_a_far_reference_is_named_only() -> None:
    drawn = picture(scores(Cell(50.0, 40.0, 60.0), Cell(None)), {"m0": "k0"})
    assert drawn is not None
    [row] = drawn.rows
    [mark] = row.marks
    assert mark.low < mark.at < mark.high  # type: ignore[operator]
    assert ("m0", "k0", "k0") == (row.label, row.look, mark.look)
    assert (["near"], ["far -900"]) == ([name for _, name in drawn.lines], drawn.outside)


@pytest.mark.parametrize("kind", ["intervals", "bars", "lines", "scatter", "dumbbells"])
def test_nothing_is_drawn_where_no_value_is_defined(kind: str) -> None:
    empty = scores(Cell(None), Cell(None))
    assert picture(replace(empty, chart=replace(CHART, kind=kind)), {}) is None  # type: ignore[arg-type]


def test_more_rows_than_fit_are_counted() -> None:
    drawn = picture(scores(*(Cell(float(k)) for k in range(70))), {})
    assert drawn is not None
    assert (60, 10) == (len(drawn.rows), drawn.more)


def test_an_axis_has_round_ticks_within_it() -> None:
    axis = axis_over([0.0, 1.0])
    assert ["0.00", "0.25", "0.50", "0.75", "1.00"] == [text for _, text in axis.ticks]
    assert (0.0, 100.0) == (axis.at(axis.low), axis.at(axis.high))


def test_a_row_of_a_plot_is_named_by_the_text_before_its_label_too() -> None:
    made = table("t", "T", words("group", ["a"]), words("model", ["m"]), column("score", [1.0]))
    assert ["a · m"] == [row.label for row in plot(made, CHART).rows]


def pairs(*values: float) -> Table:
    """Two groups by two models."""
    groups, models = words("group", ["a", "a", "b", "b"]), words("model", ["m", "n", "m", "n"])
    return table("t", "T", groups, models, column("score", values))


def test_a_text_column_across_gives_a_panel_for_each_of_its_values() -> None:
    chart = Chart("intervals", "model", ("score",), across="group", lines={"zero": 0.0, "half": {"b": 0.5}})
    whole = plot(pairs(1.0, 2.0, 3.0, 4.0), chart)
    assert [("a", [1.0, 2.0]), ("b", [3.0, 4.0])] == [
        (one.title, [row.cells[0].value for row in one.rows]) for one in whole.panels
    ]
    assert [{"zero": 0.0}, {"zero": 0.0, "half": 0.5}] == [one.lines for one in whole.panels]


def test_a_text_column_across_gives_the_columns_of_a_heat_map() -> None:
    drawn = plot(pairs(1.0, 2.0, 3.0, 4.0), Chart("heatmap", "group", ("score",), across="model"))
    assert ["m", "n"] == [one.label for one in drawn.columns]
    assert [("a", [1.0, 2.0]), ("b", [3.0, 4.0])] == [(row.label, [c.value for c in row.cells]) for row in drawn.rows]


def test_sorted_rows_are_those_farthest_from_zero_best_first_and_the_others_are_counted() -> None:
    drawn = plot(scores(*map(Cell, (0.1, -3.0, None, 2.0))), replace(CHART, sort="score", first=2))
    assert (["m3", "m1"], 2) == ([row.label for row in drawn.rows], drawn.more)


def test_columns_in_different_units_are_shaded_each_by_itself() -> None:
    made = table(
        "t",
        "T",
        words("model", ["m", "n"]),
        column("points", [40.0, 60.0], unit="points"),
        column("tau", [-0.1, 0.2]),
        column("yes", [0.5, 0.5], unit="share"),
    )
    chart = Chart("heatmap", "model", ("points", "tau", "yes"), roles={"yes": "reference"})
    assert [(40.0, 60.0, None), (-0.2, 0.2, 0.0), None] == plot(made, chart).scales()
