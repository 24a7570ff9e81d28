"""Answer files in the shapes that engines and tools leave: packed, cut, with words for nothing."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engines import openai_line, reply, requests_in, write_lines
from planned import CONVERSATIONS, PER_CONVERSATION, Planning

from attunebench import api
from attunebench.batches import records
from attunebench.errors import DataError
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


def texts_in(response: Any) -> Any:
    """The response with its body as text."""
    return {**response, "body": json.dumps(response["body"])}


LAYOUTS: dict[str, Callable[[Lines], bytes]] = {
    "lines": lambda lines: as_lines(lines).encode(),
    "a byte order mark": lambda lines: as_lines(lines).encode("utf-8-sig"),
    "blank lines and carriage returns": lambda lines: as_lines(lines).replace("\n", "\r\n\r\n").encode(),
    "an array on one line": lambda lines: json.dumps(lines).encode(),
    "an array, a record a line": lambda lines: ("[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n").encode(),
    "an array, printed": lambda lines: json.dumps(lines, indent=2).encode(),
    "objects, printed": lambda lines: "\n".join(json.dumps(line, indent=4) for line in lines).encode(),
    "two on a line": lambda lines: as_lines(lines).replace('}\n{"id"', '} {"id"', CALLS // 2).encode(),
    "glued together": lambda lines: as_lines(lines).replace("}\n{", "}{").encode(),
    "UTF-16": lambda lines: as_lines(lines).encode("utf-16"),
    "UTF-16, little": lambda lines: as_lines(lines).encode("utf-16-le"),
    "UTF-16, printed": lambda lines: json.dumps(lines, indent=2, ensure_ascii=False).encode("utf-16"),
    "bzip2": lambda lines: bz2.compress(as_lines(lines).encode()),
    "xz": lambda lines: lzma.compress(as_lines(lines).encode("utf-16")),
    "the body as text": lambda lines: as_lines(
        [{**one, "response": texts_in(one["response"])} for one in lines]
    ).encode(),
    "the response as text": lambda lines: as_lines(
        [{**one, "response": json.dumps(one["response"])} for one in lines]
    ).encode(),
    "ids with white space": lambda lines: as_lines(
        [{**one, "custom_id": f" {one['custom_id']}\n"} for one in lines]
    ).encode(),
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


@pytest.mark.parametrize("head", [b"PK\x03\x04", b"PAR1", b"\x28\xb5\x2f\xfd", b"SQLite format 3\0", b"%PDF-1.7"])
def test_a_file_of_another_kind_is_refused_before_anything_is_read(
    head: bytes, requests: Lines, tmp_path: Path
) -> None:
    good = write_lines(tmp_path / "good.jsonl", list(map(openai_line, requests)))
    other = tmp_path / "answers.jsonl"
    other.write_bytes(head + bytes(100))
    with pytest.raises(DataError, match=r"answers\.jsonl is "):
        api.collect([good, other], tmp_path / "results")


def test_no_record_and_no_line_is_held_beyond_a_bound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(records, "LONGEST", 1000)
    path = tmp_path / "answers.jsonl"
    path.write_bytes(b"[" + b"x" * 100_000 + b"\n" + b'{"a":\n' * 10_000 + b'{"custom_id": "last"}\n')
    found = [*records.records(records.response_lines(path))]
    assert max(map(len, found)) <= 1000
    assert b'{"custom_id": "last"}' == found[-1]


def test_a_record_that_was_cut_costs_itself_alone(requests: Lines, tmp_path: Path) -> None:
    lines = [json.dumps(openai_line(request)) for request in requests]
    text = "\n".join([lines[0][:200], *lines[1:3], json.dumps(json.loads(lines[3]), indent=1)[:300], *lines[4:]])
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
