"""`--rules released` from end to end: scoring, the rules named in every output, no mixing, and `analyze rules`."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from factory import make_conversation, write_conversations
from result_factory import noisy_result, write_result

Command = Callable[..., Any]


@pytest.fixture
def both(cli: Command, tmp_path: Path) -> tuple[Path, Path]:
    """The same results of two models, scored by our rules and by the released ones."""
    write_conversations(tmp_path / "truth", 5, turns=3)
    for seed in range(5):
        for model in (1, 2):
            raw = make_conversation(seed, turns=3)
            write_result(tmp_path / "results", noisy_result(raw, model, model=f"model-{model}"))
    files = []
    for rules in ("attunebench", "released"):
        files.append(tmp_path / f"{rules}.json")
        words = ("--results", tmp_path / "results", "--ground-truth", tmp_path / "truth", "--resamples", "100")
        assert cli("score", *words, "-o", files[-1], "--rules", rules).status == 0
    return files[0], files[1]


def test_unknown_rules_are_refused(cli: Command, tmp_path: Path) -> None:
    assert cli("score", "--ground-truth", tmp_path, "--rules", "theirs").status == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["compare", "analyze leaderboard", "stats", "subset-report"])
def test_mixed_rules_are_refused_with_the_remedy(cli: Command, both: tuple[Path, Path], command: str) -> None:
    ended = cli(*command.split(), "-s", both[0], "-s", both[1])
    assert (ended.status, ended.out) == (2, "")
    assert "--rules" in ended.err
    assert cli("report", "-s", both[0], "-s", both[1]).status == 2


@pytest.mark.slow
@pytest.mark.parametrize("command", ["report", "compare", "analyze leaderboard", "stats", "subset-report"])
def test_the_rules_stand_in_the_first_lines(cli: Command, both: tuple[Path, Path], command: str) -> None:
    quick = () if command in ("report", "stats") else ("--resamples", "100")
    for file, rules in zip(both, ("attunebench", "released"), strict=True):
        for format in ("terminal", "markdown"):
            ended = cli(*command.split(), "-s", file, "--format", format, *quick)
            assert ended.status == 0, ended.err
            head = " ".join(line.strip() for line in ended.out.splitlines()[:12])
            assert f"rules {rules}" in head or f"Rules: {rules}" in head
        ended = cli(*command.split(), "-s", file, "--format", "json", *quick)
        assert json.loads(ended.out)["rules"] == rules
        rows = list(csv.DictReader(cli(*command.split(), "-s", file, "--format", "csv", *quick).out.splitlines()))
        assert {row["rules"] for row in rows} == {rules}


def test_the_page_names_the_rules(cli: Command, both: tuple[Path, Path], tmp_path: Path) -> None:
    assert cli("report", "-s", both[1], "--format", "html", "--no-texts", "-o", tmp_path / "r.html").status == 0
    assert "rules released" in (tmp_path / "r.html").read_text("utf-8")


def test_no_chance_level_is_shown_for_the_released_rules(cli: Command, both: tuple[Path, Path]) -> None:
    (report,) = json.loads(cli("report", "-s", both[1], "--format", "json").out)["analyses"]
    assert "chance level" not in {row["model"] for table in report["tables"] for row in table["rows"]}


def test_analyze_rules_shows_each_metric_by_both(cli: Command, both: tuple[Path, Path], tmp_path: Path) -> None:
    words = ("analyze", "rules", "-s", both[0], "-s", both[1], "--resamples", "100", "--format", "json")
    (made,) = json.loads(cli(*words).out)["analyses"]
    (table,) = made["tables"]
    by_row = {(row["metric"], row["model"]): row for row in table["rows"]}
    assert len(by_row) == 2 * 15
    expected = {}
    for name, file in zip(("ours", "released"), both, strict=True):
        for aggregate in json.loads(file.read_text("utf-8"))["aggregates"]:
            expected[name, aggregate["em_model"]] = aggregate["metrics"]["composite"]["mean"]
    for model in ("model-1", "model-2"):
        row = by_row["Composite", model]
        assert row["ours"]["value"] == pytest.approx(expected["ours", model])
        assert row["released"]["value"] == pytest.approx(expected["released", model])
        assert row["difference"]["value"] == pytest.approx(expected["released", model] - expected["ours", model])
        assert row["difference"]["low"] <= row["difference"]["value"] <= row["difference"]["high"]
    # The order of the files does not matter, and one of them is not enough.
    turned = cli("analyze", "rules", "-s", both[1], "-s", both[0], *words[-4:])
    assert json.loads(turned.out)["analyses"] == [made]
    assert json.loads(cli("analyze", "rules", "-s", both[0], "--format", "json").out)["analyses"][0]["missing"]


def test_other_labels_by_other_rules_are_refused(cli: Command, both: tuple[Path, Path]) -> None:
    assert cli("analyze", "label-sets", "-s", both[0], "--other-labels", both[1]).status == 2


def test_published_models_are_shown_beside_ours(cli: Command, both: tuple[Path, Path], tmp_path: Path) -> None:
    entry = {"em_model": "published", "n_conversations": 200, "avg_composite_score": 61.0, "se_composite_score": 0.5}
    (tmp_path / "published.json").write_text(json.dumps({"aggregates": [entry], "version": 1}), encoding="utf-8")
    ended = cli("report", "-s", both[1], "-s", tmp_path / "published.json")
    assert ended.status == 0
    assert "published (±SE)" in ended.out
    assert "model-1" in ended.out
    assert cli("report", "-s", tmp_path / "published.json").status == 0
    for command in ("compare", "analyze leaderboard", "stats"):
        alone = cli(*command.split(), "-s", tmp_path / "published.json")
        assert (alone.status, "Traceback" in alone.err) == (2, False)
    beside = cli("compare", "-s", both[1], "-s", tmp_path / "published.json", "--resamples", "100")
    assert beside.status == 0
    assert "aggregates" in beside.out


def test_a_published_value_out_of_range_is_refused(cli: Command, tmp_path: Path) -> None:
    entry = {"em_model": "m", "conversationId": "c", "composite_score": 161.0}
    (tmp_path / "published.json").write_text(json.dumps([entry]), encoding="utf-8")
    ended = cli("report", "-s", tmp_path / "published.json")
    assert ended.status == 2
    assert all(word in ended.err for word in ("published.json", "entry 1", "composite_score"))
