"""Numbers that would promise too much: intervals of one value, base rates below chance, rates rounded up."""

from __future__ import annotations

import copy
import csv
import io
import json
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plain_scores import plain_scores
from planted import Plan, Skill, planted_scores

from attunebench.analyses import Settings, Subject, analyse
from attunebench.analyses.table import NOT_ESTIMABLE
from attunebench.comparison import compare
from attunebench.metrics.rates import percent, rounded_down
from attunebench.metrics.registry import REGISTRY
from attunebench.reports import build_report, render
from attunebench.reports.analyses import FORMATS
from attunebench.reports.analyses import render as render_analyses
from attunebench.scores.loading import score_table
from attunebench.scores.references import standing
from attunebench.statistics.intervals import wilson_interval

QUICK = Settings(resamples=200)
THREE = (0.4385, 1.0)
"""Wilson's interval of three right answers of three."""


@cache
def perfect() -> Any:
    """A model that is right in everything, on three conversations, and one that is not."""
    right = Skill(om=1.0, hp=1.0, pairwise=1.0, tag=1.0, false_tag=0.0, wide=1.0, branch_error=0.0, panas_error=0.0)
    return planted_scores(
        {"right": right, "other": Skill(om=0.7, pairwise=0.6)}, Plan(conversations=3, turns=3, seed=3)
    )


def aggregate(scores: Any, model: str, metric: str) -> Any:
    return next(entry for entry in scores["aggregates"] if entry["em_model"] == model)["metrics"][metric]


def test_a_share_that_is_the_same_everywhere_has_the_interval_of_wilson() -> None:
    for metric in ("pairwise_accuracy", "binary_om_accuracy"):
        found = aggregate(perfect(), "right", metric)
        assert (1.0, 3, "wilson") == (found["mean"], found["n"], found["ci_method"])
        assert THREE == pytest.approx((found["ci_low"], found["ci_high"]), abs=1e-3)


def test_any_other_value_that_is_the_same_everywhere_has_no_interval() -> None:
    found = aggregate(perfect(), "right", "kendall_tau")
    assert (1.0, None, None) == (found["mean"], found["ci_low"], found["ci_high"])
    assert "ci_method" not in found


def test_no_interval_in_the_scores_is_of_one_value() -> None:
    for entry in (*perfect()["aggregates"], *perfect()["references"]):
        for name, found in entry["metrics"].items():
            assert found["ci_low"] is None or found["ci_low"] < found["ci_high"], name


@pytest.mark.parametrize("form", ["terminal", "markdown", "csv", "json"])
def test_the_default_report_shows_no_interval_of_one_value(form: str) -> None:
    text = render(perfect(), format=form, width=200)
    assert "[1.000, 1.000]" not in text
    if form in ("terminal", "markdown"):
        assert "[–]" in text.replace("\\", "")
        assert "not estimable" in " ".join(text.split())
        assert "[0.439, 1.000]" in text.replace("\\", "")
    if form == "csv":
        rows = [row for row in csv.DictReader(io.StringIO(text)) if row["low"]]
        assert rows
        assert all(float(row["low"]) < float(row["high"]) for row in rows)
    if form == "json":
        assert json.loads(text)


@pytest.mark.parametrize("name", ["leaderboard", "leaders", "perspective-gap", "conversation-wide", "distributions"])
def test_no_cell_of_an_analysis_has_an_interval_of_one_value(name: str) -> None:
    analysis = analyse(name, Subject(score_table(perfect()), QUICK))
    cells = [
        (cell, column)
        for table in analysis.tables
        for row in table.rows
        for cell, column in zip(row, table.columns, strict=True)
        if column.unit != "rank"
    ]
    assert any(cell.low is not None for cell, _ in cells)
    for cell, column in cells:
        assert cell.low is None or cell.high is None or cell.low < cell.high, column.id
    if any(cell.mark == NOT_ESTIMABLE for cell, _ in cells):
        assert any(NOT_ESTIMABLE in note for note in analysis.notes)


def test_a_value_without_an_estimable_interval_is_marked_in_every_format() -> None:
    models = {"a": {"composite": [50.0] * 25}, "b": {"composite": np.linspace(10, 40, 25)}}
    study = score_table(plain_scores(models))
    analysis = analyse("leaderboard", Subject(study, QUICK))
    for form in FORMATS:
        text = " ".join(render_analyses([analysis], form, width=200).split())
        assert NOT_ESTIMABLE in text
    found = compare(study, Settings(resamples=200, metrics=("composite",)))
    assert any(NOT_ESTIMABLE in note for one in found.analyses for note in one.notes)


@given(st.integers(2, 40), st.floats(0, 1))
def test_a_constant_share_is_as_doubtful_as_so_many_answers(n: int, share: float) -> None:
    study = score_table(plain_scores({"a": {"pairwise_accuracy": [share] * n}, "b": {"composite": [1.0] * n}}))
    table = analyse("distributions", Subject(study, Settings(resamples=100, metrics=("pairwise_accuracy",)))).tables[0]
    cell = next(cell for row in table.rows for cell in row if isinstance(cell.value, float) and cell.low is not None)
    low, high = wilson_interval(share * n, n)
    assert (float(low), float(high)) == pytest.approx((cell.low, cell.high), abs=1e-6)


# Base rates


def below_chance(scores: Any) -> Any:
    """The same scores with a base rate of 0.4 on Pairwise."""
    changed = copy.deepcopy(scores)
    reference = next(r for r in changed["references"] if r["id"] == "base-rate")
    reference["metrics"]["pairwise_accuracy"] |= {"mean": 0.4}
    for entry in reference["conversations"]:
        entry["metrics"]["pairwise_accuracy"] = 0.4
    return changed


def test_a_base_rate_below_chance_is_no_reference_in_the_report() -> None:
    report = build_report(below_chance(perfect()))
    reference = next(r for r in report.references if r.id == "base-rate")
    assert reference.values["pairwise_accuracy"].value is None
    assert reference.values["composite"].value is not None
    assert "Pairwise" in reference.meaning


def test_a_base_rate_below_chance_is_no_reference_of_an_analysis() -> None:
    study = score_table(below_chance(perfect()))
    base = next(r for r in study.references if r.id == "base-rate")
    assert "pairwise_accuracy" not in standing(base).values
    analysis = analyse("leaderboard", Subject(study, QUICK))
    table = next(t for t in analysis.tables if t.id == "pairwise_accuracy")
    assert table.chart is not None
    assert {"chance"} == set(table.chart.lines)
    references = next(t for t in analysis.tables if t.id == "references")
    row = next(r for r in references.rows if r[0].value == "Base rate")
    place = [column.id for column in references.columns].index("pairwise_accuracy")
    assert row[place].value is None
    assert any("below chance" in note for note in references.notes)


def test_a_base_rate_at_or_above_chance_stays() -> None:
    study = score_table(perfect())
    base = next(r for r in study.references if r.id == "base-rate")
    for metric, values in standing(base).values.items():
        chance = REGISTRY[metric].chance
        assert chance is None or np.isnan(values).all() or np.nanmean(values) >= chance


# Answered


@given(st.floats(0, 1))
def test_an_answered_rate_is_all_only_where_nothing_is_missing(rate: float) -> None:
    assert (percent(rate) == "100.0 %") == (rate > 1 - 1e-9)
    assert rounded_down(rate, 3) <= rate + 1e-9


def test_every_place_writes_the_answered_rate_alike() -> None:
    scores = copy.deepcopy(perfect())
    for entry in scores["aggregates"]:
        entry["metrics"]["answered_rate"] |= {"mean": 0.99996}
    for form in ("terminal", "markdown"):
        text = " ".join(render(scores, format=form, width=240, show_all=True).split())
        assert "99.9 %" in text
        line = next(
            one for one in render(scores, format=form, width=240, show_all=True).splitlines() if "Answered" in one
        )
        assert "1.000" not in line.split("[")[0]
