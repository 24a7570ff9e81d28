"""Answer files in the shapes that engines and tools leave: packed, cut, with words for nothing."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engines import openai_line, reply, requests_in, write_lines
from planned import CONVERSATIONS, PER_CONVERSATION, Planning

from attunebench import api
from attunebench.selftest.server import Answer

CALLS = CONVERSATIONS * PER_CONVERSATION
Lines = list[dict[str, Any]]


@pytest.fixture
def requests(planning: Planning, tmp_path: Path) -> Lines:
    """A plan's requests."""
    planning()
    return requests_in(tmp_path / "requests.jsonl")


def as_lines(lines: Lines) -> str:
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def with_each(**changes: Any) -> Callable[[Lines], bytes]:
    return lambda lines: as_lines([{**line, **changes} for line in lines]).encode()


LAYOUTS: dict[str, Callable[[Lines], bytes]] = {
    "lines": lambda lines: as_lines(lines).encode(),
    "a byte order mark": lambda lines: as_lines(lines).encode("utf-8-sig"),
    "blank lines and carriage returns": lambda lines: as_lines(lines).replace("\n", "\r\n\r\n").encode(),
    "packed": lambda lines: gzip.compress(as_lines(lines).encode()),
    "error NaN": with_each(error=float("nan")),
    'error "None"': with_each(error="None"),
    "error of nothing": with_each(error={}),
    "error of nulls": with_each(error={"code": None, "message": None}),
    "error as an empty text": with_each(error=""),
    "an error beside which": with_each(__inference_error__="nan"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_answer_of_a_file_is_kept_however_it_is_laid_out(layout: str, requests: Lines, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_bytes(LAYOUTS[layout](list(map(openai_line, requests))))
    summary = api.collect([path], tmp_path / "results")
    assert (summary.collected.kept, summary.collected.unreadable, summary.done) == (CALLS, 0, True)


def test_a_record_that_was_cut_costs_itself_alone(requests: Lines, tmp_path: Path) -> None:
    lines = [json.dumps(openai_line(request)) for request in requests]
    text = "\n".join([lines[0][:200], *lines[1:3], lines[3][:300], *lines[4:]])
    path = tmp_path / "answers.jsonl"
    path.write_text(text, encoding="utf-8")
    collected = api.collect([path], tmp_path / "results").collected
    assert (collected.kept, collected.unreadable) == (CALLS - 2, 2)


@pytest.mark.parametrize(
    ("finish_reason", "text", "refused", "truncated"),
    [("SAFETY", "I am so", 1, 0), ("PROHIBITED_CONTENT", "", 1, 0), ("MAX_TOKENS", "I am so", 0, 1)],
)
def test_a_filter_and_a_cut_count_in_files_as_they_do_live(
    finish_reason: str, text: str, refused: int, truncated: int, requests: Lines, tmp_path: Path
) -> None:
    first, *others = requests
    odd = openai_line(first, reply(first, Answer(text, finish_reason=finish_reason)))
    write_lines(tmp_path / "a.jsonl", [odd, *map(openai_line, others)])
    summary = api.collect([tmp_path / "a.jsonl"], tmp_path / "results")
    assert summary.done is bool(refused)
    results = [json.loads(path.read_text("utf-8"))["calls"] for path in (tmp_path / "results").glob("[!_]*.json")]
    assert sum(calls["refused"] for calls in results) == refused
    assert sum(left.again for left in summary.left) == truncated
