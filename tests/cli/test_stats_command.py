"""`attune-bench stats`: what it shows first, where it looks for result files, and what it refuses."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations
from planted import Plan, Skill, planted_scores
from result_factory import noisy_result, write_result

ODD = "=cmd()\x1b[31m\n\u202e<b>alert(1)</b>[bold]|" + "x" * 5_000


@cache
def _planted() -> str:
    skills = {"alpha": {"default": Skill(cost=0.01), "verbose": Skill()}, "beta": Skill(pairwise=0.8)}
    return json.dumps(planted_scores({**skills, "baseline/majority": Skill()}, Plan(4, turns=3)))


@pytest.fixture
def content() -> Any:
    return json.loads(_planted())


def write(content: Any) -> None:
    Path("scores.json").write_text(json.dumps(content), encoding="utf-8")


@pytest.fixture
def scored(cli: Any, tmp_path: Path) -> dict[str, Any]:
    """Scores of two models with their result files in results/."""
    folder = write_conversations(tmp_path / "data", 3, seed=7)
    for index, path in enumerate(sorted(folder.glob("*.json"))):
        for model in ("m1", "m2"):
            write_result("results", noisy_result(json.loads(path.read_text(encoding="utf-8")), index, model=model))
    assert 0 == cli("score", "-d", folder, "--resamples", "100").status
    document: dict[str, Any] = json.loads(Path("scores.json").read_text(encoding="utf-8"))
    return document


def tables(cli: Any, *words: str) -> dict[str, Any]:
    document = json.loads(cli("stats", *words, "--format", "json").out)
    return {table["id"]: table for table in document["analyses"][-1]["tables"]}


def test_several_models_are_an_overview_and_one_is_all_of_it(cli: Any, content: Any) -> None:
    write(content)
    several, one = cli("stats").out, cli("stats", "--model", "beta").out
    assert ("Model by model", True) == (several.splitlines()[2], "--model NAME" in several)
    assert "Turn by turn" not in several
    assert "beta (default)" == one.splitlines()[2]
    head = " ".join(one.splitlines()[:12])
    for essential in ("Composite", "over 4 conversations", "items answered", "best in"):
        assert essential in head
    assert "Turn by turn" in cli("stats", "--metric", "emotion_f1", "--full").out


def test_models_modes_and_metrics_are_chosen_as_in_other_commands(cli: Any, content: Any) -> None:
    write(content)
    assert ["alpha (default)", "alpha (verbose)"] == re.findall(
        r"^alpha \(\w+\)$", cli("stats", "--model", "ALPHA").out, re.MULTILINE
    )
    assert "alpha (verbose)" == cli("stats", "--model", "test/alpha", "--mode", "verbose").out.splitlines()[2]
    both = cli("stats", "--model", "alpha,beta", "-f", "csv").out
    assert cli("stats", "--model", "alpha", "beta", "-f", "csv").out == both
    assert cli("stats", "--models", "alpha", "--model", "beta", "-f", "csv").out == both
    shown = tables(cli, "--model", "beta", "--metric", "pairwise_accuracy,emotion_f1")
    assert ["emotion_f1", "pairwise_accuracy"] == [row["id"] for row in shown["turn"]["rows"]]
    assert "Pairwise" == shown["extremes"]["rows"][0]["metric"]
    assert "majority" not in cli("stats", "-f", "csv").out
    assert "majority" in cli("stats", "--with-baselines", "-f", "csv").out
    assert "majority (default)" in cli("stats", "--model", "majority").out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--model", "alpa"), "Did you mean alpha"),
        (("--model", "zzz"), "There is alpha, beta, majority."),
        (("--mode", "silent"), "Nothing was scored in mode 'silent'; there is default, verbose."),
        (("--metric", "kindness"), "There is no metric 'kindness'"),
        (("--results", "nowhere"), "There is no folder nowhere"),
        (("-s", "missing.json"), "missing.json cannot be read"),
        (("-o", "scores.json"), "is the scores file itself"),
    ],
)
def test_what_is_not_there_is_answered_in_a_sentence(cli: Any, content: Any, words: Any, expected: str) -> None:
    write(content)
    ended = cli("stats", *words)
    assert (2, "", True) == (ended.status, ended.out, expected in ended.err)


def test_files_are_those_of_the_results_folder_and_are_there(cli: Any, scored: dict[str, Any]) -> None:
    rows = tables(cli, "--model", "m1")["extremes"]["rows"]
    names = {
        entry["conversationId"]: entry["source_file"] for entry in scored["conversations"] if entry["em_model"] == "m1"
    }
    assert {f"results/{names[row['conversation']]}" for row in rows} == {row["file"] for row in rows}
    assert all(Path(row["file"]).is_file() for row in rows)
    assert "" == cli("stats", "--model", "m1").err


def test_a_folder_that_has_moved_is_said_and_can_be_named(cli: Any, scored: dict[str, Any]) -> None:
    shutil.move("results", "elsewhere")
    lost = cli("stats", "--model", "m1")
    assert (0, True) == (lost.status, "not in results; give their folder with --results DIR" in lost.err)
    found = cli("stats", "--model", "m1", "--results", "elsewhere", "-f", "csv")
    assert "elsewhere/" in found.out
    assert "--results" not in found.err


@pytest.mark.parametrize("name", ["../secret.json", "/etc/passwd", "a\x00b.json", "x\x1b]8;;http://evil\x07.json"])
def test_a_name_that_leads_out_of_the_folder_is_shown_and_steers_nothing(
    cli: Any, scored: dict[str, Any], name: str
) -> None:
    Path("secret.json").write_text("{}")
    for entry in scored["conversations"]:
        entry["source_file"] = name
    write(scored)
    out = cli("stats", "--model", "m1").out
    assert "\x1b]8;" not in out
    assert "secret.json" not in out.replace("../secret.json", "")


def test_a_long_path_is_broken_and_never_cut(cli: Any, scored: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    out = cli("stats", "--model", "m1", "--full").out
    squeezed = re.sub(r"\s+", "", out.replace("Composite", ""))
    for path in Path("results").glob("*_m1_*"):
        assert path.name in squeezed
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("format", ["terminal", "markdown", "csv", "json"])
@pytest.mark.parametrize("name", [ODD, "\ud800"])
def test_a_name_steers_nothing_and_breaks_nothing(cli: Any, content: Any, name: str, format: str) -> None:
    for entry in content["conversations"] + content["aggregates"] + content["metadata"]["settings"]:
        if entry["em_model"] == "alpha":
            entry |= {"em_model": name, "provider": name, "mode": f"{entry['mode']}{name}"}
    for entry in content["metadata"]["settings"]:
        entry["observed"] = {"models_reported": {name: 3}, "adapted": {name: {name: 1}}}
        entry["variants"] = [{"n_results": 1, "judge_models": [name], "parameters": {name: name, "x": [name]}}]
    for truth in content["ground_truth"]:
        truth["source_file"] = name
    write(content)
    ended = cli("stats", "-f", format, *(("--full",) if format == "terminal" else ()))
    assert 0 == ended.status
    assert not re.search("[\x1b\u202e\ud800]", ended.out + ended.err)
    assert format != "csv" or not re.search(r"(^|,)\"?=", ended.out, re.MULTILINE)
    assert len(ended.out) < 1_000_000


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("metadata", "settings"), [{"em_model": "alpha", "observed": {"models_reported": {"a": "many"}}}]),
        (("aggregates", 0, "coverage"), {"skipped": "all"}),
        (("conversations", 0, "calls"), {"made": "ten"}),
        (("conversations", 0, "source_file"), 3),
        (("metadata", "intervals"), {"method": []}),
    ],
)
def test_an_odd_value_is_named_with_its_file_and_place(cli: Any, content: Any, place: Any, value: Any) -> None:
    inner = content
    for step in place[:-1]:
        inner = inner[step]
    inner[place[-1]] = value
    write(content)
    ended = cli("stats")
    assert (2, "", True) == (ended.status, ended.out, "scores.json is not a valid scores file" in ended.err)


def test_what_older_scores_lack_is_not_there_and_nothing_breaks(cli: Any, content: Any) -> None:
    old = Path(__file__).parents[1] / "historic" / "scores-1.0.json"
    assert "not stated" in cli("stats", "-s", old, "--model", "noisy").out
    for entry in content["conversations"]:
        for key in ("calls", "usage", "api_cost", "duration_seconds", "source_file"):
            entry.pop(key, None)
    for aggregate in content["aggregates"]:
        aggregate.pop("coverage")
    content["metadata"] = {}
    content["ground_truth"] = []
    write(content)
    for format in ("terminal", "json"):
        assert 0 == cli("stats", "--model", "alpha", "-f", format).status


def test_two_files_are_looked_up_together_each_with_its_own_folder(
    cli: Any, scored: dict[str, Any], content: Any
) -> None:
    content["metadata"]["results"] = "other"
    Path("more.json").write_text(json.dumps(content), encoding="utf-8")
    shown = {row["file"] for row in tables(cli, "scores.json", "more.json", "--model", "m1")["extremes"]["rows"]}
    assert {"results"} == {Path(file).parts[0] for file in shown}
    shown = {row["file"] for row in tables(cli, "scores.json", "more.json", "--model", "beta")["extremes"]["rows"]}
    assert {"other"} == {Path(file).parts[0] for file in shown}


def test_a_csv_has_a_line_for_each_number_and_says_warnings_beside_it(cli: Any, scored: dict[str, Any]) -> None:
    scored["metadata"]["sources"] = ["synthetic-demo"]
    write(scored)
    ended = cli("stats", "--model", "m1", "-f", "csv")
    assert ("demonstration" in ended.err, "demonstration" in ended.out) == (True, False)
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    (mean,) = (r for r in rows if (r["analysis"], r["key"], r["column"]) == ("stats/m1/default", "Composite", "mean"))
    (aggregate,) = (group for group in scored["aggregates"] if group["em_model"] == "m1")
    assert aggregate["metrics"]["composite"]["mean"] == float(mean["value"])
