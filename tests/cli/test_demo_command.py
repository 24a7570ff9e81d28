"""`attune-bench demo`: what it prints, what it leaves behind, and what it leaves alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from demo_scores import demo_scores_file

from attunebench.demo import claim_folder, demo_analysis, run_demo
from attunebench.errors import UsageError
from attunebench.reports.analyses import render
from attunebench.scores import read_scores


@pytest.mark.parametrize("width", [80, 100, 120])
def test_the_ceiling_stands_apart_and_a_turn_side_by_side_on_one_screen(width: int) -> None:
    scores = demo_scores_file()
    analysis = demo_analysis(read_scores(scores), scores.parent)
    table, turn = analysis.tables
    composite = [row[1].value for row in table.rows]
    assert "oracle" == table.rows[-1][0].value
    assert 1 == table.apart
    assert composite[:-1] == sorted(composite[:-1], reverse=True)
    felt, named = (set(turn.rows[0][at].value.split(", ")) for at in (1, 2))
    assert felt != named
    assert len(render([analysis], width=width).splitlines()) <= 36  # and four below


@pytest.mark.parametrize("name", ["notes.txt", "README.txt", "scores.json"])
def test_a_folder_that_it_did_not_make_is_left_alone(cli: Callable[..., Any], tmp_path: Path, name: str) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / name).write_text("mine")
    ended = cli("demo", "-o", "mine")
    assert 2 == ended.status
    assert "mine" in ended.err
    assert {name: "mine"} == {path.name: path.read_text() for path in (tmp_path / "mine").iterdir()}


def test_a_folder_whose_note_was_cut_short_by_a_kill_is_taken_and_a_link_to_nowhere_is_not(tmp_path: Path) -> None:
    (tmp_path / ".README.txt.0a1b2c3d.part").write_text("")
    claim_folder(tmp_path)
    claim_folder(tmp_path)
    assert (tmp_path / "README.txt").is_file()
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(UsageError):
        claim_folder(tmp_path / "link")


@pytest.mark.slow
def test_results_of_an_earlier_version_are_replaced(tmp_path: Path) -> None:
    scores = run_demo(tmp_path)
    path = next(tmp_path.glob("*_lexicon_*.json"))
    result = json.loads(path.read_text())
    others = dict.fromkeys(("prompt_set_sha256", "calls_sha256", "plan_sha256", "asked_sha256"), "0" * 64)
    path.write_text(json.dumps({**result, **others}))
    assert scores["aggregates"] == run_demo(tmp_path)["aggregates"]
    assert result["prompt_set_sha256"] == json.loads(path.read_text())["prompt_set_sha256"]


@pytest.mark.slow
def test_it_leaves_results_scores_and_page_and_runs_again(cli: Callable[..., Any], tmp_path: Path) -> None:
    first, again = cli("demo"), cli("demo")
    assert (0, 0) == (first.status, again.status)
    assert first.out == again.out
    assert len((first.out + first.err).splitlines()) <= 40
    folder = tmp_path / "attunebench-demo"
    assert {"README.txt", "results", "scores.json", "report.html"} == {path.name for path in folder.iterdir()}
    assert "attunebench-demo/report.html" in first.err
    assert len(cli("demo", "--full").out.splitlines()) > 200
