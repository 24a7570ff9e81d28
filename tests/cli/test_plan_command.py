"""`plan` as a user meets it: what is said where, what is written, and that nobody is asked and no key is wanted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engines import openai_line, requests_in, write_lines
from keys import KEY

CONVERSATIONS, TURNS = 3, 5
CALLS = CONVERSATIONS * (4 * TURNS + 1)
Plan = Callable[..., Any]


@pytest.fixture
def plan(cli: Callable[..., Any], data: Path, monkeypatch: pytest.MonkeyPatch) -> Plan:
    """`plan("--judge-model", "j", …)` of model `m` over `data`."""

    def call(*options: str, provider: str = "openai") -> Any:
        words = ["plan", provider, "m", str(data), *options]
        monkeypatch.setattr("sys.argv", ["attune-bench", *words])
        return cli(*words)

    return call


def test_it_says_what_was_written_what_waits_and_what_comes_next(plan: Plan, tmp_path: Path) -> None:
    ended = plan("--judge-model", "j")
    size = (tmp_path / "requests.jsonl").stat().st_size
    assert (0, "") == (ended.status, ended.out)
    assert f"requests.jsonl: {CALLS} requests to m, {size:,} B." in ended.err
    assert f"{CONVERSATIONS * TURNS} judge calls will be planned when the drafts are collected." in ended.err
    assert "then: attune-bench collect RESPONSES --results results" in ended.err


def test_openai_gets_its_own_name_for_the_limit_of_tokens(plan: Plan, tmp_path: Path) -> None:
    plan()
    assert {4096} == {line["body"]["max_completion_tokens"] for line in requests_in(tmp_path / "requests.jsonl")}


def test_what_was_planned_before_is_told_and_left_out_on_request(plan: Plan) -> None:
    plan()
    again, new = plan(), plan("--new-only")
    assert f"{CALLS} requests of the plan" in again.err
    assert "included here" in again.err
    assert "There is nothing new to request." in new.err
    assert "left out" in new.err


def test_the_command_that_goes_on_asks_what_was_asked_before(plan: Plan, tmp_path: Path) -> None:
    plan("--new-only", "--temperature", "0.5")
    head = json.loads(next((tmp_path / "results").glob("_batch*")).read_bytes().splitlines()[0])
    assert f"attune-bench plan openai m {tmp_path / 'data'} --temperature 0.5" == head["again"]


def test_files_have_the_lines_that_the_options_allow(plan: Plan, tmp_path: Path) -> None:
    plan("--max-lines", "50")
    assert [50, CALLS - 50] == [len(requests_in(tmp_path / name)) for name in ("requests.jsonl", "requests-2.jsonl")]


def test_a_dry_run_counts_and_writes_nothing(plan: Plan, tmp_path: Path) -> None:
    ended = plan("--dry-run", "--price-in", "1", "--price-out", "4")
    assert (0, f"{CONVERSATIONS} pending, 0 complete (conversations x modes); {CALLS} calls") == (
        ended.status,
        ended.out.partition("; no prompt")[0],
    )
    assert "Cost: about $" in ended.out
    assert ["data"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--modes", "default", "quick"), "quick"),
        (("--api-key", KEY), "No such option"),
        (("--base-url", "nowhere"), "is not a base URL"),
        (("-M", "j", "-M", "J", "--judge-provider", "baseline"), "baseline is built in"),
        (("--max-lines", "0"), "--max-lines"),
        (("-o", "data"), "name another file with -o"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence_and_status_2(plan: Plan, options: tuple[str, ...], words: str) -> None:
    ended = plan(*options)
    assert 2 == ended.status
    assert words in " ".join(ended.err.split())
    assert "Traceback" not in ended.err


def test_a_baseline_is_not_planned(plan: Plan) -> None:
    assert (2, True) == ((ended := plan(provider="baseline")).status, "has no address" in ended.err)


def test_local_needs_no_address(plan: Plan) -> None:
    assert 0 == plan(provider="local").status


def test_quiet_says_nothing(plan: Plan) -> None:
    assert ("", "") == ((ended := plan("-q")).out, ended.err)


def test_what_is_complete_is_told(plan: Plan, cli: Callable[..., Any], tmp_path: Path) -> None:
    plan()
    write_lines(tmp_path / "a.jsonl", map(openai_line, requests_in(tmp_path / "requests.jsonl")))
    cli("collect", "a.jsonl")
    ended = plan()
    assert "There is nothing to request." in ended.err
    assert f"{CONVERSATIONS} complete before." in ended.err
