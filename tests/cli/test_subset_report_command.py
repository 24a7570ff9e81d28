"""`attune-bench subset-report`: what it reads, writes and refuses."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from demo_scores import demo_scores_file
from planted_studies import older

from attunebench.cli.filtering import FILTERS, filter_rows
from attunebench.conversations import demo_folder

Cli = Callable[..., Any]


@cache
def two_models() -> str:
    """The demonstration's scores of two models: a file that is read quickly."""
    content = json.loads(demo_scores_file().read_text("utf-8"))
    for part in ("conversations", "aggregates"):
        content[part] = [entry for entry in content[part] if entry["em_model"] in ("lexicon", "random")]
    return json.dumps(content)


@pytest.fixture
def scores(tmp_path: Path) -> Path:
    (tmp_path / "scores.json").write_text(two_models(), encoding="utf-8")
    return tmp_path / "scores.json"


def quick(cli: Cli, *words: str | Path) -> Any:
    return cli("subset-report", *words, "--resamples", "100")


def test_the_published_script_as_users_type_it(cli: Cli, scores: Path) -> None:
    ended = quick(cli, "-s", "scores.json", "-d", demo_folder(), "--diagnosis", "ADHD", "--compare")
    assert (0, "") == (ended.status, ended.err)
    assert 'Subset: diagnosis contains "ADHD"' in ended.out
    assert "3 of 12 scored conversations match" in ended.out
    assert "Too few for a claim" in ended.out


def test_scores_json_here_is_the_default(cli: Cli, scores: Path) -> None:
    words = ("--age-range", "25-34", "--metric", "composite")
    ended = quick(cli, *words)
    assert quick(cli, scores, *words).out == quick(cli, "-s", scores, *words).out == ended.out
    assert 0 == ended.status


def test_the_folder_has_the_facts_that_older_scores_lack(cli: Cli, scores: Path, tmp_path: Path) -> None:
    old = tmp_path / "old.json"
    old.write_text(json.dumps(older(json.loads(scores.read_text("utf-8")))), encoding="utf-8")
    refused = quick(cli, "-s", old, "--diagnosis", "ADHD")
    assert 2 == refused.status
    assert "give the conversations with -d DIR" in refused.err
    ended = quick(cli, "-s", old, "-d", demo_folder(), "--diagnosis", "ADHD", "--format", "json")
    assert 3 == json.loads(ended.out)["analyses"][0]["tables"][0]["rows"][0]["n"]


def test_a_folder_that_is_not_the_one_that_was_scored_is_told(cli: Cli, scores: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(demo_folder(), tmp_path / "data"))
    (folder / "conversation_1012.json").unlink()
    changed = json.loads((folder / "conversation_1001.json").read_text("utf-8"))
    changed["participant_profile"]["demographics"]["gender"] = "Man"
    changed["conversationWideQuestions"]["q2_emotionClarity"] = "Clear and explicitly stated"
    (folder / "conversation_1001.json").write_text(json.dumps(changed), encoding="utf-8")
    said = " ".join(quick(cli, "-d", "data", "--gender", "man", "--metric", "composite").out.split())
    assert "5 of 11 scored conversations match" in said
    assert "not in data: conversation_1012.json." in said
    assert "differ from those that were scored: conversation_1001.json." in said


def test_help_has_a_line_for_the_filters_of_each_field(cli: Cli) -> None:
    # A line may end at a hyphen.
    shown = " ".join(cli("subset-report", "--help").out.split()).replace("- ", "-")
    rows = list(filter_rows())
    for usage, meaning, _ in rows:
        assert f"{usage} {meaning}".replace("- ", "-") in shown
    stems = [usage.split(" ")[0].split("-{")[0] for usage, *_ in rows]
    assert all(any(option.startswith(stem) for stem in stems) for option in FILTERS)


def test_fields_are_listed_with_counts_and_an_expression(cli: Cli, scores: Path) -> None:
    document = json.loads(cli("subset-report", "--list-fields", "--format", "json").out)
    texts, numbers, values = document["analyses"][0]["tables"]
    assert {"field": "diagnosis", "value": "ADHD", "n": 3, "participants": 2} in values["rows"]
    who = next(row for row in numbers["rows"] if row["field"] == "who_5")
    assert (12, 8, 6, 21) == (who["n"], who["participants"], who["least"], who["largest"])
    assert "who_5 >= " in who["example"]
    assert {"diagnosis", "age", "topic", "q1"} <= {row["field"] for row in texts["rows"]}


def test_a_screen_lists_the_most_frequent_values_and_all_when_asked(cli: Cli, scores: Path) -> None:
    assert "… 2 more" in cli("subset-report", "--list-fields").out
    assert "more\n" not in cli("subset-report", "--list-fields", "--full").out


def test_a_comparison_on_a_screen_says_what_it_leaves_out(cli: Cli, scores: Path) -> None:
    words = ("--diagnosis", "ADHD", "--compare")
    brief = quick(cli, *words).out
    assert "--full" in brief
    assert "Binary OM" not in brief
    for more in (("--full",), ("--format", "markdown", "--metric", "binary_om_accuracy")):
        assert "Binary OM" in quick(cli, *words, *more).out


def test_a_csv_says_warnings_beside_it(cli: Cli, scores: Path) -> None:
    ended = quick(cli, "--topic", "Work", "--format", "csv", "--metric", "composite")
    assert "demonstration" in ended.err
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert {"subset", "subset-default"} == {row["analysis"] for row in rows}


def test_two_calls_write_the_same(cli: Cli, scores: Path) -> None:
    words = ("--who5-below", "13", "--compare", "--format", "json")
    assert quick(cli, *words).out == quick(cli, *words).out


def test_the_report_goes_into_a_file_and_never_over_the_scores(cli: Cli, scores: Path) -> None:
    before = scores.read_bytes()
    assert 2 == quick(cli, "-o", scores).status
    assert before == scores.read_bytes()
    ended = quick(cli, "--topic", "Work", "-o", "report.md", "--format", "markdown")
    assert ("", "") == (ended.out, ended.err)
    assert "# Subset: topic" in Path("report.md").read_text("utf-8")


def test_without_a_filter_everything_is_in(cli: Cli, scores: Path) -> None:
    out = quick(cli, "--metric", "composite").out
    assert "Subset: all conversations" in out
    assert "12 of 12 scored conversations match, of 8 participants; 0 do not." in out


@pytest.mark.parametrize("format", ["terminal", "markdown", "csv", "json"])
def test_what_strangers_wrote_into_facts_steers_nothing(cli: Cli, scores: Path, format: str) -> None:
    odd = "=cmd()\x1b[31m\u202e|<script>" + "x" * 300
    content = json.loads(scores.read_text("utf-8"))
    for truth in content["ground_truth"][:6]:
        truth |= {"topics": [odd], "participant_id": odd}
    scores.write_text(json.dumps(content), encoding="utf-8")
    words = ("--metric", "composite", "--format", format)
    shown = [
        cli("subset-report", "--list-fields", "--format", format),
        quick(cli, "--topic", odd, *words),
        quick(cli, "--where", f"not topic = '{odd}'", "--compare", *words),
        quick(cli, "--topic", "none such", *words),
    ]
    assert [0, 0, 0, 2] == [ended.status for ended in shown]
    for ended in shown:
        assert not re.search("[\x1b\u202e]", ended.out + ended.err)
        assert format != "csv" or not re.search(r"(^|,)\"?=", ended.out, re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (("--diagnosis", "Gout"), ("--diagnosis: ", "“Gout”", "ADHD (3)")),
        (("--age-range", "25"), ("--age-range: ", "25-34 (")),
        (("--who5-below", "many"), ("--who5-below: ", "“many”")),
        (("--who5-min", "26"), ("who_5 >= 26", "6 to 21")),
        (("--where", "who_5 <"), ("--where, column 8",)),
        (("--diagnosis", "ADHD", "--topic", "Grief"), ('diagnosis contains "ADHD" (3)', 'topic = "Grief" (1)')),
        (("--compare",), ("--compare",)),
        (("--diagnoses", "ADHD"), ("No such option: --diagnoses",)),
        (("--metric", "nothing"), ("'nothing'",)),
        (("--mode", "loud"), ("'loud'", "default")),
        (("--models", "nobody"), ("'nobody'",)),
        (("--cluster", "town"), ("town",)),
        (("-d", "nowhere"), ("nowhere",)),
        (("-s", "missing.json"), ("missing.json",)),
    ],
)
def test_bad_input_is_answered_in_a_sentence(
    cli: Cli, scores: Path, words: tuple[str, ...], named: tuple[str, ...]
) -> None:
    ended = quick(cli, *words)
    assert (2, "") == (ended.status, ended.out)
    assert all(part in " ".join(ended.err.split()) for part in named)
    assert "Traceback" not in ended.err
