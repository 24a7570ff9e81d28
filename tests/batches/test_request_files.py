"""Request files: what is in them, how they are split, what they never overwrite, what an earlier plan holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from engines import openai_line, requests_in, write_lines
from keys import KEY, files_with_a_key
from planned import PER_CONVERSATION, TURNS, Planning

from attunebench import api
from attunebench.batches.requests import CUSTOM_ID, Limits, Table, table_path
from attunebench.errors import ConfigurationError, DataError, UsageError


def collected(planning_folder: Path, *names: str) -> None:
    requests = requests_in(*(planning_folder / name for name in names))
    answers = write_lines(planning_folder / "answers.jsonl", map(openai_line, requests))
    api.collect([answers], planning_folder / "results")


def test_every_call_that_needs_no_reply_has_its_line(planning: Planning, tmp_path: Path) -> None:
    summary = planning(judges=["j"])
    lines = requests_in(tmp_path / "requests.jsonl")
    assert (2 * PER_CONVERSATION, 2 * TURNS) == (len(lines), summary.waiting)
    assert [("POST", "/v1/chat/completions", "m")] * len(lines) == [
        (line["method"], line["url"], line["body"]["model"]) for line in lines
    ]


def test_ids_are_short_and_each_is_the_number_of_its_row(planning: Planning, tmp_path: Path) -> None:
    summary = planning()
    ids = [line["custom_id"] for line in requests_in(tmp_path / "requests.jsonl")]
    parts = [found.groups() for found in map(CUSTOM_ID.fullmatch, ids) if found]
    assert [(summary.planned.tag, f"{number:06d}") for number in range(1, len(ids) + 1)] == parts
    assert max(map(len, ids)) <= 64
    table = Table(table_path(tmp_path / "results", summary.planned.tag))
    assert ids == [row.custom_id for row in table.rows()]


def test_files_end_where_their_lines_are_full(planning: Planning, tmp_path: Path) -> None:
    summary = planning(limits=Limits(lines=7))
    names = ["requests.jsonl", "requests-2.jsonl", "requests-3.jsonl"]
    assert [7, 7, 4] == [len(requests_in(tmp_path / name)) for name in names]
    assert names == [file.path.name for file in summary.planned.files]


def test_files_end_where_their_bytes_are_full(planning: Planning) -> None:
    for file in planning(limits=Limits(bytes=40_000)).planned.files:
        assert file.path.stat().st_size == file.bytes <= 40_000


def test_a_request_that_no_file_can_hold_is_told(planning: Planning, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="a file takes 1,000: raise --max-bytes"):
        planning(limits=Limits(bytes=1000))
    assert not (tmp_path / "requests.jsonl").exists()
    assert [] == list((tmp_path / "results").glob("_batch*"))


def test_a_file_is_for_one_model(planning: Planning, tmp_path: Path) -> None:
    planning()
    collected(tmp_path, "requests.jsonl")
    summary = planning(judges=["a", "b"], modes=("default", "verbose"))
    models = [{line["body"]["model"] for line in requests_in(file.path)} for file in summary.planned.files]
    assert [{"a"}, {"b"}, {"m"}] == sorted(models, key=str)


def test_a_plan_holds_no_key(planning: Planning, tmp_path: Path) -> None:
    planning(key=KEY)
    assert [] == files_with_a_key(tmp_path)


@pytest.mark.parametrize("content", [b"mine\n", b"", b'{"custom_id": "request-1", "body": {}}\n'])
def test_a_file_that_is_no_plan_of_ours_stays(planning: Planning, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "requests.jsonl").write_bytes(content)
    with pytest.raises(DataError, match="name another file with -o"):
        planning()
    assert content == (tmp_path / "requests.jsonl").read_bytes()


def test_an_answer_file_of_ours_stays(planning: Planning, tmp_path: Path) -> None:
    planning()
    write_lines(tmp_path / "a.jsonl", map(openai_line, requests_in(tmp_path / "requests.jsonl")))
    with pytest.raises(DataError, match="name another file with -o"):
        planning(target=tmp_path / "a.jsonl")


def test_a_folder_that_is_not_there_is_told(planning: Planning, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="existing folder"):
        planning(target=tmp_path / "gone" / "requests.jsonl")


@pytest.mark.parametrize("name", ["_calls.sqlite3", "_batch.0a.jsonl"])
def test_a_name_of_the_results_folders_own_is_told(planning: Planning, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="are reserved in the results folder"):
        planning(target=tmp_path / "results" / name)
    assert not (tmp_path / "results" / name).exists()


def test_a_name_that_is_none_is_told(planning: Planning) -> None:
    with pytest.raises(UsageError, match="must name a file"):
        planning(target=Path())


def test_what_an_earlier_plan_asks_is_told_and_asked_here_too(planning: Planning) -> None:
    first = planning()
    second = planning()
    assert {first.planned.tag: 2 * PER_CONVERSATION} == {tag: n for (tag, _), n in second.asked_before.items()}
    assert 2 * PER_CONVERSATION == second.planned.requests


def test_with_new_only_what_an_earlier_plan_asks_is_left_out(planning: Planning) -> None:
    planning()
    assert 0 == planning(new_only=True).planned.requests
    assert 2 * PER_CONVERSATION == planning(new_only=True, modes=("default", "verbose")).planned.requests


@pytest.mark.parametrize("cut", [10, -10])
def test_a_damaged_table_is_told_and_planned_anew(planning: Planning, tmp_path: Path, cut: int) -> None:
    planning()
    table = next((tmp_path / "results").glob("_batch*"))
    table.write_bytes(table.read_bytes()[:cut])
    summary = planning()
    assert (2 * PER_CONVERSATION, 1) == (summary.planned.requests, len(summary.problems))


def test_what_has_been_answered_is_asked_by_no_plan(planning: Planning, tmp_path: Path) -> None:
    planning()
    collected(tmp_path, "requests.jsonl")
    summary = planning()
    assert (0, {}, 2) == (summary.planned.requests, summary.asked_before, summary.complete)


def test_without_anything_to_ask_nothing_is_written(planning: Planning, tmp_path: Path) -> None:
    planning()
    collected(tmp_path, "requests.jsonl")
    before = (tmp_path / "requests.jsonl").read_bytes()
    assert [] == planning().planned.files
    assert before == (tmp_path / "requests.jsonl").read_bytes()
    assert 1 == len(list((tmp_path / "results").glob("_batch*")))


def test_results_of_other_settings_stop_a_plan(planning: Planning, tmp_path: Path) -> None:
    planning()
    collected(tmp_path, "requests.jsonl")
    with pytest.raises(DataError, match=r"temperature .*another results folder, or --replace"):
        planning(temperature=1.0)
    assert 2 * PER_CONVERSATION == planning(temperature=1.0, replace=True).planned.requests


def test_an_address_that_is_none_is_told_before_anything_is_made(planning: Planning, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError):
        planning(url="not an address")
    assert not (tmp_path / "results").exists()
