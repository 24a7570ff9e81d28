"""A table's chart as the page draws it: places in percent, references, and what is left to the table."""

from __future__ import annotations

from dataclasses import replace

import pytest

from attunebench.analyses.table import Cell, Chart, Table, column, plot, table, words
from attunebench.reports.html.charts import axis_over, picture
from attunebench.reports.html.environment import environment
from attunebench.reports.html.labels import beside_points, spread

CHART = Chart("intervals", "model", ("score",), "Score", "points", {"near": 45.0, "far": -900.0})


def scores(*cells: Cell) -> Table:
    names = [f"m{place}" for place, _ in enumerate(cells)]
    return table("t", "T", words("model", names), column("score", cells), chart=CHART)


def test_a_value_stands_between_the_ends_of_its_interval_and_a_far_reference_is_named_only() -> None:
    drawn = picture(scores(Cell(50.0, 40.0, 60.0), Cell(None)), {"m0": "k0"})
    assert drawn is not None
    [row] = drawn.rows
    [[(_, panel)]], [[mark]] = drawn.abreast, [one.marks for one in row.strips]
    assert mark.low < mark.at < mark.high  # type: ignore[operator]
    assert ("m0", "k0", "k0") == (row.label, row.look, mark.look)
    assert (["near"], ["far -900"]) == ([line.name for line in panel.lines], panel.outside)


@pytest.mark.parametrize("kind", ["intervals", "bars", "lines", "scatter", "dumbbells"])
def test_nothing_is_drawn_where_no_value_is_defined(kind: str) -> None:
    empty = scores(Cell(None), Cell(None))
    assert picture(replace(empty, chart=replace(CHART, kind=kind)), {}) is None  # type: ignore[arg-type]


def test_more_rows_than_fit_are_counted() -> None:
    drawn = picture(scores(*(Cell(float(k)) for k in range(70))), {})
    assert drawn is not None
    assert (40, 30) == (len(drawn.rows), drawn.more)


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


def test_the_ends_of_a_dumbbell_have_the_models_colour_and_a_key() -> None:
    made = table("t", "T", words("model", ["m"]), column("one", [0.2]), column("two", [0.4]))
    drawn = picture(replace(made, chart=Chart("dumbbells", "model", ("one", "two"))), {"m": "k0"})
    assert drawn is not None
    [strip] = drawn.rows[0].strips
    assert [("k0", False), ("k0", True)] == [(mark.look, mark.hollow) for mark in strip.marks]
    assert [("one", False), ("two", True)] == [(key.label, key.hollow) for key in drawn.legend]


def test_a_value_on_too_few_conversations_is_hollow_and_the_key_says_so() -> None:
    drawn = picture(scores(Cell(1.0), Cell(2.0, small=True)), {})
    assert drawn is not None
    assert [False, True] == [row.strips[0].marks[0].hollow for row in drawn.rows]
    assert [False, True] == [key.hollow for key in drawn.legend]


def test_the_person_and_all_models_look_like_no_model_and_are_drawn_on_top() -> None:
    made = table("t", "T", words("who", ["person", "all", "m"]), *(column(f"c{k}", [1.0, 2.0, 3.0]) for k in range(2)))
    chart = Chart("lines", "who", ("c0", "c1"), roles={"person": "person", "all": "all models"})
    drawn = picture(replace(made, chart=chart), {"m": "k0"})
    assert drawn is not None
    assert ["k0", "person", "all"] == [row.look for row in drawn.rows]
    assert {"person", "all", "m"} == {end.label for end in drawn.ends}


def test_zero_is_drawn_from_farther_off_than_other_references() -> None:
    far = replace(CHART, lines={"zero": 0.0, "chance": 1.0})
    near, outside = plot(scores(Cell(10.0), Cell(13.5)), far).references()
    assert (["zero"], ["chance"]) == (list(near), list(outside))


def test_a_heat_map_shades_either_side_of_its_reference_and_drills() -> None:
    made = table("t", "T", words("model", ["m"]), column("low", [0.4]), column("high", [0.7]))
    chart = Chart("matrix", "model", ("low", "high"), lines={"even": 0.5})
    drawn = picture(replace(made, chart=chart), {"m": "k0"}, lambda _: 7)
    assert drawn is not None
    assert drawn.heat is not None
    [(row, cells)] = drawn.heat.rows
    assert ("k0", [-50, 100], [7, 7]) == (row.look, [cell.shade for cell in cells], [cell.drill for cell in cells])


def test_names_at_the_ends_of_lines_never_overlap() -> None:
    moved = spread([50.0, 50.5, 10.0, 51.0], 5.0)
    assert moved[2] == 10.0
    gaps = [later - earlier for earlier, later in zip(sorted(moved), sorted(moved)[1:], strict=False)]
    assert min(gaps) >= 4.99
    assert moved[0] < moved[1] < moved[3]


def test_a_point_without_room_for_its_name_has_none_beside_it() -> None:
    assert ["right", "left", "above", "below", ""] == beside_points([("a name", 50.0, 50.0)] * 5)


def test_a_pictures_text_is_escaped_and_every_drawing_has_a_name() -> None:
    made = table("t", "T", words("model", ["<b>"]), column("x", [Cell(1.0, 0.5, 1.5)]), column("y", [Cell(2.0)]))
    drawn = picture(replace(made, chart=Chart("scatter", "model", ("x", "y"))), {})
    text = environment().from_string("{% import 'charts.html' as c %}{{ c.picture(p, 'T') }}").render(p=drawn)
    assert "<b>" not in text
    assert 'role="img" aria-label="T' in text


def test_an_oracle_stands_last_and_off_the_axis_of_the_models() -> None:
    drawn = picture(scores(Cell(99.0, 98.0, 100.0), Cell(50.0), Cell(40.0)), {}, oracles=["m0"])
    assert drawn is not None
    assert [("m1", False), ("m2", False), ("m0", True)] == [(row.label, row.apart) for row in drawn.rows]
    [[(_, panel)]], mark = drawn.abreast, drawn.rows[-1].strips[0].marks[0]
    assert panel.axis.high < 98.0
    assert (100.0, None, "off") == (mark.at, mark.low, mark.shape)


def test_points_that_all_stand_at_one_place_across_are_not_drawn() -> None:
    made = table("t", "T", words("model", ["m", "n"]), column("cost", [0.0, 0.0]), column("score", [1.0, 2.0]))
    assert picture(replace(made, chart=Chart("scatter", "model", ("cost", "score"))), {}) is None


def test_values_of_heat_maps_and_names_of_references_are_text() -> None:
    rendered = environment().from_string("{% import 'charts.html' as c %}{{ c.picture(p, 'T') }}").render
    heat = table("t", "T", words("model", ["m"]), column("low", [0.4]), column("high", [0.7]))
    text = rendered(p=picture(replace(heat, chart=Chart("heatmap", "model", ("low", "high"))), {}))
    assert ">0.40<" in text
    assert ">near<" in rendered(p=picture(scores(Cell(50.0), Cell(40.0)), {}))
