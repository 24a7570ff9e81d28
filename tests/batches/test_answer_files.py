"""Answer files in the shapes that people's tools leave: encodings, layouts, words for nothing, texts of objects."""

from __future__ import annotations

import bz2
import json
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engines import openai_line, reply, requests_in, write_lines
from hypothesis import given
from hypothesis import strategies as st
from planned import CONVERSATIONS, PER_CONVERSATION, Planning

from attunebench import api
from attunebench.batches.records import records
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


def with_each(**changes: Any) -> Callable[[Lines], str]:
    return lambda lines: as_lines([{**line, **changes} for line in lines])


def body_as(text_of: Callable[[Any], str]) -> Callable[[Lines], str]:
    def made(lines: Lines) -> str:
        return as_lines(
            [{**line, "response": {**line["response"], "body": text_of(line["response"]["body"])}} for line in lines]
        )

    return made


LAYOUTS: dict[str, Callable[[Lines], str]] = {
    "lines": as_lines,
    "an array on one line": lambda lines: json.dumps(lines),
    "an array, a record a line": lambda lines: "[\n" + ",\n".join(map(json.dumps, lines)) + "\n]\n",
    "an array, printed": lambda lines: json.dumps(lines, indent=2),
    "objects, printed": lambda lines: "\n".join(json.dumps(line, indent=4) for line in lines),
    "two on a line": lambda lines: as_lines(lines).replace('}\n{"id"', '} {"id"', CALLS // 2),
    "glued together": lambda lines: as_lines(lines).replace("}\n{", "}{"),
    "commas at the ends": lambda lines: as_lines(lines).replace("}\n", "},\n"),
    "carriage returns": lambda lines: as_lines(lines).replace("\n", "\r\n\r\n"),
    "error NaN": with_each(error=float("nan")),
    'error "None"': with_each(error="None"),
    "error of nothing": with_each(error={}),
    "error of nulls": with_each(error={"code": None, "message": None}),
    "error as an empty text": with_each(error=""),
    "an error beside which": with_each(__inference_error__="nan"),
    "the body as text": body_as(json.dumps),
    "the body as Python prints it": body_as(repr),
    "the response as text": lambda lines: as_lines([{**one, "response": json.dumps(one["response"])} for one in lines]),
    "ids with white space": lambda lines: as_lines([{**one, "custom_id": f" {one['custom_id']}\n"} for one in lines]),
    "a status as text": lambda lines: as_lines(
        [{**one, "response": {**one["response"], "status_code": "200"}} for one in lines]
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_answer_of_a_file_is_kept_however_it_is_laid_out(layout: str, requests: Lines, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text(LAYOUTS[layout](list(map(openai_line, requests))), encoding="utf-8")
    summary = api.collect([path], tmp_path / "results")
    assert (summary.collected.kept, summary.collected.unreadable, summary.done) == (CALLS, 0, True)


ENCODINGS: dict[str, Callable[[str], bytes]] = {
    "UTF-8 with a mark": lambda text: text.encode("utf-8-sig"),
    "UTF-16": lambda text: text.encode("utf-16"),
    "UTF-16, little": lambda text: text.encode("utf-16-le"),
    "UTF-16, big": lambda text: text.encode("utf-16-be"),
    "UTF-32": lambda text: text.encode("utf-32"),
    "bzip2": lambda text: bz2.compress(text.encode()),
    "xz": lambda text: lzma.compress(text.encode("utf-16")),
}


@pytest.mark.parametrize("layout", ["lines", "objects, printed"])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_every_answer_of_a_file_is_kept_in_any_unicode_encoding(
    encoding: str, layout: str, requests: Lines, tmp_path: Path
) -> None:
    path = tmp_path / "answers.jsonl"
    lines = [openai_line(request) for request in requests]
    path.write_bytes(ENCODINGS[encoding](LAYOUTS[layout](lines)))
    summary = api.collect([path], tmp_path / "results")
    assert (summary.collected.kept, summary.collected.unreadable, summary.done) == (CALLS, 0, True)


@pytest.mark.parametrize("head", [b"PK\x03\x04", b"PAR1", b"\x28\xb5\x2f\xfd", b"SQLite format 3\0", b"%PDF-1.7"])
def test_a_file_of_another_kind_is_refused_before_anything_is_read(
    head: bytes, requests: Lines, tmp_path: Path
) -> None:
    good = write_lines(tmp_path / "good.jsonl", list(map(openai_line, requests)))
    other = tmp_path / "answers.jsonl"
    other.write_bytes(head + bytes(100))
    with pytest.raises(DataError, match=r"answers\.jsonl"):
        api.collect([good, other], tmp_path / "results")


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


@given(
    st.lists(
        st.recursive(st.text(max_size=6), lambda inner: st.dictionaries(st.text(max_size=3), inner), max_leaves=5)
    ),
    st.sampled_from([None, 1]),
    st.sampled_from(["\n", " ", "", ",\n"]),
)
def test_objects_come_out_of_any_layout_as_they_went_in(values: list[Any], indent: int | None, between: str) -> None:
    objects = [{"custom_id": "x", "value": value} for value in values]
    text = between.join(json.dumps(each, indent=indent, ensure_ascii=False) for each in objects)
    lines = text.encode("utf-8", "surrogatepass").splitlines(keepends=True)
    assert [json.loads(each) for each in records(lines)] == objects


@given(st.lists(st.binary(max_size=30)))
def test_no_lines_make_the_splitter_raise(lines: list[bytes]) -> None:
    assert all(isinstance(each, bytes) for each in records(lines))
