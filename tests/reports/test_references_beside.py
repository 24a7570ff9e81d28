"""References in reports: beside every model, apart from it, in no ranking, and in every format."""

from __future__ import annotations

import copy
import csv
import io
import json

import pytest
from planted import Plan, Skill, planted_scores

from attunebench.reports import build_report, render
from attunebench.reports.analyses.words import words_of
from attunebench.reports.layout import as_analysis


@pytest.fixture(scope="module")
def one():
    return planted_scores({"a": Skill()}, Plan(conversations=5))


@pytest.fixture(scope="module")
def two():
    return planted_scores({"a": Skill(), "b": Skill(om=0.6)}, Plan(conversations=5))


def shown(scores, name, metric):
    reference = next(r for r in scores["references"] if r["id"] == name)
    return f"{reference['metrics'][metric]['mean']:.{1 if metric == 'composite' else 3}f}"


@pytest.mark.parametrize("format", ["terminal", "markdown"])
def test_people_see_both_references_in_the_leaderboard_and_beside_the_emotions(one, two, format):
    for scores in (one, two):
        text = render(scores, format=format, width=200)
        assert shown(scores, "base-rate", "composite") in text
        assert shown(scores, "base-rate", "pairwise_accuracy") in text
        assert shown(scores, "always-empty-tags", "emotion_f1") in text
        assert "a reference that is not ranked" in text


def test_references_stand_below_the_models_whatever_they_score(two):
    lines = render(two, format="terminal", width=200).splitlines()
    starts = ("a ", "b ", "Base rate")
    first = {name: next(i for i, line in enumerate(lines) if line.startswith(name)) for name in starts}
    assert max(first["a "], first["b "]) < first["Base rate"]


def test_they_are_no_groups_and_counted_as_no_models(two):
    report = build_report(two)
    assert ["a", "b"] == sorted(group.model for group in report.groups)
    assert report.summary[0].startswith("2 models")
    assert all(group.standing is None or group.provider == "test" for group in report.groups)


def test_a_section_has_only_those_that_can_have_its_metrics(two):
    sections = {section.title: [r.id for r in section.references] for section in build_report(two).sections}
    assert ["base-rate", "always-empty-tags"] == sections["Turn by turn"]
    assert ["base-rate"] == sections["Conversation-wide"]
    assert [] == sections["Turn by turn: yes/no answers pooled"]


def test_programs_get_them_as_rows_of_a_mode_of_their_own(two):
    base = two["references"][0]["metrics"]["composite"]
    rows = json.loads(render(two, format="json"))["analyses"][0]["tables"][0]["rows"]
    cells = {row["model"]: row["composite"] for row in rows if row["mode"] == "reference"}
    assert cells["Always no emotion"] is None
    assert (base["mean"], base["n"], base["ci_low"]) == tuple(cells["Base rate"][key] for key in ("value", "n", "low"))
    lines = list(csv.DictReader(io.StringIO(render(two, format="csv"))))
    (line,) = [one for one in lines if one["key"].startswith("Base rate") and one["column"] == "composite"]
    assert base["mean"] == float(line["value"])


def test_scores_of_an_older_version_have_none(two):
    old = {key: value for key, value in two.items() if key != "references"}
    assert () == build_report(old).references
    assert "Base rate" not in render(old, width=200)


def test_a_label_cannot_steer_the_terminal(two):
    evil = json.loads(json.dumps(two))
    evil["references"][0] |= {"label": "\x1b[31mred|", "meaning": "\x1b]0;x\x07"}
    for scores in (evil, {**evil, "aggregates": evil["aggregates"][:1]}):
        assert "\x1b" not in render(scores, width=200)
        assert "\x1b" not in render(scores, format="markdown")


@pytest.mark.parametrize("width", [60, 80, 100])
def test_no_number_loses_a_digit_on_a_narrow_terminal(one, two, width):
    for scores in (one, two, renamed(two)):
        words = set(render(scores, format="terminal", width=width, show_all=True).split())
        for table in as_analysis(build_report(scores, show_all=True)).tables:
            for row in table.rows:
                shown = [words_of(cell, column, None) for cell, column in zip(row, table.columns, strict=True)]
                numbers = {piece for word in shown[1:] for piece in (*word.value.split(), *word.interval.split())}
                assert set() == {number for number in numbers if number[-1].isdigit()} - words


def renamed(scores):
    """The same with models, providers and a mode as long as real ones are."""
    names = ("anthropic/claude-opus-4-1-20250805-thinking", "meta-llama/llama-4-maverick-17b-128e-instruct-fp8")
    long = copy.deepcopy(scores)
    for aggregate, name, provider in zip(long["aggregates"], names, ("openrouter", "another-provider"), strict=True):
        aggregate |= {"model": name, "provider": provider, "mode": "verbose_omniscient"}
    return long
