"""`collect` as a user meets it: what is said of lines, errors, results and what is left, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engines import openai_line, ray_row, requests_in, write_lines
from factory import write_conversations

CALLS = 2 * 5
Requests = list[dict[str, Any]]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two conversations of one turn."""
    return write_conversations(tmp_path / "data", 2, seed=7, turns=1)


@pytest.fixture
def requests(cli: Callable[..., Any], data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Requests:
    words = ["plan", "openai", "gpt", str(data), "--judge-model", "j"]
    monkeypatch.setattr("sys.argv", ["attune-bench", *words])
    assert 0 == cli(*words).status
    return requests_in(tmp_path / "requests.jsonl")


@pytest.fixture
def collect(cli: Callable[..., Any], requests: Requests, tmp_path: Path) -> Callable[..., Any]:
    """`collect(lines, "--results", …)`."""

    def call(lines: list[Any], *options: str) -> Any:
        return cli("collect", write_lines(tmp_path / "answers.jsonl", lines).name, *options)

    return call


Collect = Callable[..., Any]


def test_it_says_what_came_and_the_command_that_goes_on(collect: Collect, requests: Requests, data: Path) -> None:
    ended = collect(list(map(openai_line, requests)))
    assert (1, "") == (ended.status, ended.out)
    assert f"{CALLS} lines in 1 file; answers: {CALLS} new." in ended.err
    assert "2 results written to results, 0 complete before." in ended.err
    assert "Left to request: 2 requests to j." in ended.err
    assert f"Plan them with: attune-bench plan openai gpt {data} --judge-model j\n" in ended.err


def test_when_nothing_is_left_the_status_is_0_and_score_comes_next(
    collect: Collect, cli: Callable[..., Any], requests: Requests, data: Path, tmp_path: Path
) -> None:
    collect(list(map(openai_line, requests)))
    cli("plan", "openai", "gpt", data, "--judge-model", "j")
    ended = collect(list(map(openai_line, requests_in(tmp_path / "requests.jsonl"))))
    assert 0 == ended.status
    assert f"Next: attune-bench score --results results --ground-truth {data}" in ended.err
    assert 0 == cli("score", "--results", "results", "--ground-truth", data).status


def test_reasons_are_told_most_frequent_first(collect: Collect, requests: Requests) -> None:
    busy, down = ({"error": {"message": message}} for message in ("Slow down", "Out of order"))
    lines = [openai_line(each, down, status=500) for each in requests[:2]]
    lines += [openai_line(each, busy, status=429) for each in requests[2:6]]
    err = collect(lines).err
    assert "6 lines failed; the requests are planned again:" in err
    assert -1 < err.index("4 × ") < err.index("2 × ")


def test_a_request_file_is_told_to_be_none_of_answers(collect: Collect, requests: Requests) -> None:
    ended = collect(requests)
    assert 2 == ended.status
    assert f"answers.jsonl contains requests, not responses ({CALLS} lines)." in ended.err


def test_a_web_page_is_told_to_be_one(collect: Collect) -> None:
    ended = collect([b"<html><body>Sign in</body></html>\n"])
    assert 2 == ended.status
    assert "it looks like a web page" in ended.err
    assert "is this the right folder?" in ended.err


def test_what_an_engine_says_steers_no_terminal(collect: Collect, requests: Requests) -> None:
    error = "\x1b]0;owned\x07\x1b[2Jbusy\u202e"
    lines = [openai_line(requests[0], {"error": {"message": error}}, status=500), ray_row(requests[1], error=error)]
    err = collect(lines).err
    assert "busy" in err
    assert [] == [char for char in err if char in "\x1b\x07\u202e"]


def test_a_name_steers_no_terminal_either(cli: Callable[..., Any], requests: Requests, tmp_path: Path) -> None:
    write_lines(tmp_path / "a\x1b[2J.jsonl", [b"nothing\n"])
    assert "\x1b" not in cli("collect", "a\x1b[2J.jsonl").err


def test_answers_of_another_folder_are_told(collect: Collect, requests: Requests, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    ended = collect([openai_line(requests[0])], "--results", "other")
    assert (2, True) == (ended.status, "other holds no plan" in ended.err)


def test_what_was_known_before_is_counted_apart(collect: Collect, requests: Requests) -> None:
    collect(list(map(openai_line, requests[:4])))
    assert f"answers: {CALLS - 4} new, 4 known before." in collect(list(map(openai_line, requests))).err


@pytest.mark.parametrize("words", [("nothing.jsonl",), ("answers.jsonl", "nothing.jsonl"), ()])
def test_a_missing_file_is_status_2(cli: Callable[..., Any], requests: Requests, words: tuple[str, ...]) -> None:
    ended = cli("collect", *words)
    assert 2 == ended.status
    assert "Traceback" not in ended.err


def test_a_damaged_table_is_named_where_no_line_can_be_told(
    collect: Collect, requests: Requests, tmp_path: Path
) -> None:
    next((tmp_path / "results").glob("_batch.*")).write_bytes(b"{}\n")
    ended = collect(list(map(openai_line, requests)))
    assert 2 == ended.status
    assert 1 == ended.err.count("or is damaged")
    assert "right folder" not in ended.err
