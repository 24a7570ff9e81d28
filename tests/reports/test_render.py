"""How a report looks in each format: nothing cut, nothing invented, nothing dangerous."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from typing import Any

import pytest

from attunebench.errors import UsageError
from attunebench.metrics.registry import REGISTRY
from attunebench.reports import FORMATS, Format, build_report, render
from attunebench.reports.analyses.words import words_of
from attunebench.reports.layout import as_analysis

MakeScores = Callable[..., dict[str, Any]]
MODES = ("default", "verbose", "omniscient")
NASTY = "\x1b[31m=evil|model\x07<b>"


@pytest.fixture
def many(make_scores: MakeScores) -> dict[str, Any]:
    groups = [(f"lab-{i}/model-{i}", mode, 0.9 - i / 20) for i in range(11) for mode in MODES]
    return make_scores(*groups)


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("by", [None, "branch"])
def test_two_renderings_are_the_same_bytes(many: dict[str, Any], format: Format, by: Any) -> None:
    assert render(many, format=format, by=by, show_all=True) == render(many, format=format, by=by, show_all=True)


@pytest.mark.parametrize("width", [60, 80, 120, 200])
def test_no_line_is_wider_than_the_terminal(many: dict[str, Any], width: int) -> None:
    lines = render(many, width=width, show_all=True).split("\n")
    assert [] == [line for line in lines if len(line) > width]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_no_number_and_no_interval_is_broken(many: dict[str, Any], width: int) -> None:
    text = render(many, width=width, show_all=True)
    report = build_report(many, show_all=True)
    for table in as_analysis(report).tables:
        for row in table.rows:
            for cell, column in zip(row[2:], table.columns[2:], strict=True):
                words = words_of(cell, column, None)
                assert words.value in text
                assert words.interval in text


@pytest.mark.parametrize("width", [60, 80])
def test_absurdly_long_names_do_not_break_the_width(make_scores: MakeScores, width: int) -> None:
    scores = make_scores(("m" * 500, "default", 0.6), ("b", "v" * 300, 0.4), ("c", "default", 0.5))
    scores["aggregates"][1]["provider"] = "p" * 200
    assert [] == [line for line in render(scores, width=width, show_all=True).split("\n") if len(line) > width]


@pytest.mark.parametrize("width", [60, 80, 200])
def test_every_model_and_mode_is_named_in_full(many: dict[str, Any], width: int) -> None:
    text = render(many, width=width)
    assert [] == [f"lab-{i}/model-{i}" for i in range(11) if f"lab-{i}/model-{i}" not in text]
    assert [] == [mode for mode in MODES if mode not in text]


def test_one_model_has_its_metrics_down_the_side(make_scores: MakeScores) -> None:
    table = as_analysis(build_report(make_scores())).tables[1]
    assert ["metric", "value", "n", "chance"] == [column.id for column in table.columns]
    assert "Emotion F1" in [row[0].value for row in table.rows]


def test_several_models_have_them_side_by_side(make_scores: MakeScores) -> None:
    scores = make_scores(("a", "default", 0.6), ("b", "verbose", 0.4))
    table = as_analysis(build_report(scores)).tables[1]
    assert [("a", "default"), ("b", "verbose"), ("chance level", "")] == [
        (row[0].value, row[1].value) for row in table.rows
    ]
    assert 1 == table.apart


@pytest.mark.parametrize("format", ["terminal", "markdown"])
def test_each_metric_is_explained_with_its_id(make_scores: MakeScores, format: Format) -> None:
    assert f"(emotion_va): {REGISTRY['emotion_va'].meaning[:30]}" in render(make_scores(), format=format, width=200)


def test_what_pooled_rows_mean_is_said_once(make_scores: MakeScores) -> None:
    text = " ".join(render(make_scores(("a", "default", 0.6), ("b", "default", 0.4)), show_all=True).split())
    assert 1 == text.count("Harmonic mean of precision and recall")
    assert "F1 (…_f1_pooled): Harmonic" in text


def test_chance_levels_close_a_table_of_models(many: dict[str, Any]) -> None:
    lines = [line for line in render(many, width=200).split("\n") if line.startswith("chance level")]
    assert "0.500" in lines[0]
    assert all(any(char.isdigit() for char in line) for line in lines)


def table_text(scores: dict[str, Any]) -> str:
    text = render(scores, format="markdown", metrics=["composite", "emotion_f1"])
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))


def test_n_is_in_the_cell_only_where_it_differs(make_scores: MakeScores) -> None:
    scores = make_scores(("a", "default", 0.6), ("b", "default", 0.4))
    assert " n " not in table_text(scores)
    scores["aggregates"][0]["metrics"]["emotion_f1"]["n"] = 3
    assert 1 == table_text(scores).count(" n 3 |")


def test_the_leaderboard_has_coverage_and_answered_rates_where_groups_differ(make_scores: MakeScores) -> None:
    scores = make_scores(("a", "default", 0.6), ("b", "default", 0.4))
    assert "Scored" not in render(scores)
    scores["aggregates"][0] |= {"n_conversations": 3}
    scores["aggregates"][0]["metrics"]["answered_rate"]["mean"] = 0.9
    line = next(line for line in render(scores, width=120).split("\n") if line.startswith("a "))
    assert ["3/4", "90.0"] == [word for word in line.split() if word in ("3/4", "90.0")]


def test_the_provider_is_named_where_there_are_several(make_scores: MakeScores) -> None:
    scores = make_scores(("a", "default", 0.6), ("b", "default", 0.4))
    assert "Provider" not in render(scores)
    scores["aggregates"][1]["provider"] = "elsewhere"
    assert "elsewhere" in render(scores)


def test_plain_text_has_no_escape_codes_and_colour_has(make_scores: MakeScores) -> None:
    assert "\x1b" not in render(make_scores())
    assert "\x1b" in render(make_scores(), colour=True)


@pytest.mark.parametrize("format", FORMATS)
def test_a_hostile_name_reaches_no_format_unharmed(make_scores: MakeScores, format: Format) -> None:
    scores = make_scores((NASTY, "default", 0.6), (f"{NASTY}2", "verbose\x1b]0;x\x07", 0.6), provider=f"{NASTY}3")
    scores["metadata"]["settings"][0]["variants"][0]["judge_models"] = [NASTY]
    scores["aggregates"][0]["metrics"]["answered_rate"]["mean"] = 0.5
    text = render(scores, format=format, show_all=True)
    assert [] == [char for char in text if ord(char) < 32 and char != "\n"]
    if format == "markdown":
        assert "<b>" not in text.replace("\\<b\\>", "")


def test_rich_markup_in_a_name_is_text(make_scores: MakeScores) -> None:
    assert "[bold]m[/bold]" in render(make_scores(("[bold]m[/bold]", "default", 0.5), ("b", "default", 0.6)))


def test_csv_has_a_line_per_metric_and_group_with_unrounded_numbers(make_scores: MakeScores) -> None:
    scores = make_scores(("-a", "default", 1 / 3), ("b", "default", 0.25))
    rows = list(csv.DictReader(io.StringIO(render(scores, format="csv", metrics=["kendall_tau", "composite"]))))
    tau = {row["key"]: row for row in rows if row["column"] == "kendall_tau"}
    assert {"'-a / local / default", "b / local / default", "chance level / /"} == set(tau)
    assert (str(-1 + 2 / 3), "4") == (tau["'-a / local / default"]["value"], tau["'-a / local / default"]["n"])


def test_an_undefined_value_is_empty_in_csv_and_null_in_json(make_scores: MakeScores) -> None:
    scores = make_scores()
    scores["aggregates"][0]["metrics"]["q1_goals"] = {"mean": None, "n": 0}
    rows = csv.DictReader(io.StringIO(render(scores, format="csv", metrics=["q1_goals"])))
    (report,) = json.loads(render(scores, format="json", metrics=["q1_goals"]))["analyses"]
    assert "" == next(row["value"] for row in rows if row["column"] == "q1_goals")
    assert report["tables"][0]["rows"][0]["q1_goals"] is None


def test_markdown_tables_are_rectangular(many: dict[str, Any]) -> None:
    blocks = render(many, format="markdown", show_all=True).split("\n\n")
    tables = [block.split("\n") for block in blocks if block.startswith("|")]
    assert tables
    assert [] == [table for table in tables if len({line.count("|") for line in table}) != 1]


def test_a_format_that_does_not_exist_is_a_usage_error(make_scores: MakeScores) -> None:
    with pytest.raises(UsageError, match="terminal, markdown, csv, json"):
        render(make_scores(), format="html")  # type: ignore[arg-type]
