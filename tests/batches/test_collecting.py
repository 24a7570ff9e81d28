"""Answers into the journal and results: whatever the order, the files, the repetitions and the company of the lines."""

from __future__ import annotations

import gzip
import json
import random
import shutil
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from engines import openai_line, ray_row, reply, requests_in, vllm_line, write_lines
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from planned import CONVERSATIONS, PER_CONVERSATION, TURNS, Planning

from attunebench import api
from attunebench.batches.files import CollectSummary
from attunebench.errors import DataError, UsageError
from attunebench.journal import Journal, claim
from attunebench.runner import ModelSettings, RunSettings
from attunebench.selftest.server import Answer

CALLS = CONVERSATIONS * PER_CONVERSATION
TOO_LONG = {"error": {"message": "This model's maximum context length is 10 tokens", "code": "context_length_exceeded"}}
NO_SCHEMA = {"error": {"message": "response_format json_schema is not supported", "param": "response_format"}}


def journal_of(results: Path) -> list[tuple[Any, ...]]:
    """What the journal says, the order of its rows aside."""
    with sqlite3.connect(results / "_calls.sqlite3") as connection:
        replies = connection.execute("SELECT * FROM replies ORDER BY request_hash").fetchall()
        learned = "SELECT provider, base_url, model, learned FROM terms WHERE learned != '{}' ORDER BY model"
        terms = connection.execute(learned).fetchall()
    connection.close()
    return [*replies, *terms]


def results_of(results: Path) -> dict[str, Any]:
    """The result files but for when they were made."""
    read = {path.name: json.loads(path.read_text("utf-8")) for path in results.glob("[!_.]*.json")}
    for result in read.values():
        del result["run_timestamp"]
    return read


def collect(folder: Path, *files: Sequence[Any], results: str = "results") -> CollectSummary:
    """Collect files of these lines."""
    paths = [write_lines(folder / f"answers-{number}.jsonl", lines) for number, lines in enumerate(files)]
    return api.collect(paths, folder / results)


@pytest.fixture
def requests(planning: Planning, tmp_path: Path) -> list[dict[str, Any]]:
    """A plan's requests."""
    planning()
    return requests_in(tmp_path / "requests.jsonl")


def test_all_answers_make_all_results(requests: list[dict[str, Any]], tmp_path: Path) -> None:
    summary = collect(tmp_path, list(map(openai_line, requests)))
    assert (CALLS, CONVERSATIONS, True) == (summary.collected.kept, summary.written, summary.done)
    assert CONVERSATIONS == len(results_of(tmp_path / "results"))


@pytest.fixture(scope="module")
def planned(talks: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a plan, and nothing answered."""
    folder = tmp_path_factory.mktemp("planned")
    model = ModelSettings(provider="local", model="m")
    api.plan(talks, RunSettings(em=model, output=folder / "r", limit=1), folder / "q.jsonl")
    return folder


def mixed_lines(requests: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Answers in three shapes, errors of all kinds, and errors beside answers."""
    first, second, third, fourth, *others = requests
    shapes = (openai_line, vllm_line, ray_row)
    return [
        *(shapes[number % 3](request) for number, request in enumerate(others)),
        openai_line(first, TOO_LONG, status=400),
        openai_line(first),
        openai_line(second, TOO_LONG, status=400),
        openai_line(third, NO_SCHEMA, status=400),
        openai_line(fourth, error={"code": "batch_expired", "message": "Too late"}),
    ]


@settings(max_examples=5, phases=(Phase.explicit, Phase.reuse, Phase.generate))  # an example costs half a second
@given(st.randoms(use_true_random=False), st.integers(1, 4))
def test_order_files_and_repetition_change_nothing(
    planned: Path, tmp_path_factory: pytest.TempPathFactory, chance: random.Random, n_files: int
) -> None:
    folder = tmp_path_factory.mktemp("shuffled")
    shutil.copytree(planned / "r", folder / "r")
    shutil.copytree(planned / "r", folder / "plain")
    head = next((folder / "plain").glob("_batch*"))
    lines = mixed_lines(requests_in(planned / "q.jsonl"))
    data = Path(json.loads(head.read_bytes().splitlines()[0])["conversations"])
    where = (planned / "r" / data).resolve()
    api.collect([write_lines(folder / "all.jsonl", lines)], folder / "plain", conversations=where)
    files: list[list[Any]] = [[] for _ in range(n_files)]
    shuffled = [*lines, *chance.sample(lines, 5)]
    chance.shuffle(shuffled)
    for line in shuffled:
        chance.choice(files).append(line)
    together = chance.random() < 0.5
    paths = [write_lines(folder / f"{number}.jsonl", each) for number, each in enumerate(files) if each]
    for part in [paths] if together else [[path] for path in paths]:
        api.collect(part, folder / "r", conversations=where)
    assert journal_of(folder / "plain") == journal_of(folder / "r")
    assert results_of(folder / "plain") == results_of(folder / "r")


def test_the_first_of_two_replies_stays(requests: list[dict[str, Any]], tmp_path: Path) -> None:
    request = requests[0]
    one, two = (openai_line(request, reply(request, Answer(text=text))) for text in ("one", "two"))
    assert 1 == collect(tmp_path, [one], [two]).collected.known
    collect(tmp_path, [two])
    with Journal.read(tmp_path / "results") as journal:
        assert ["one"] == [entry.reply.text for entry in journal.entries() if entry.reply]


def test_a_reply_after_a_final_error_mends_the_result(requests: list[dict[str, Any]], tmp_path: Path) -> None:
    lines = list(map(openai_line, requests))
    collect(tmp_path, [openai_line(requests[0], TOO_LONG, status=400), *lines[1:]])
    assert [True, False] == sorted(
        result["calls"]["answered_items"] < result["calls"]["expected_items"]
        for result in results_of(tmp_path / "results").values()
    )[::-1]
    summary = collect(tmp_path, [lines[0]])
    assert (1, 1) == (summary.collected.replaced, summary.written)
    assert all(
        result["calls"]["answered_items"] == result["calls"]["expected_items"]
        for result in results_of(tmp_path / "results").values()
    )


def test_an_error_after_a_reply_changes_nothing(requests: list[dict[str, Any]], tmp_path: Path) -> None:
    collect(tmp_path, list(map(openai_line, requests)))
    before = journal_of(tmp_path / "results")
    summary = collect(tmp_path, [openai_line(requests[0], TOO_LONG, status=400)])
    assert (1, 0) == (summary.collected.known, summary.collected.final.total())
    assert before == journal_of(tmp_path / "results")


def test_answers_of_two_plans_count_for_the_same_request(
    planning: Planning, requests: list[dict[str, Any]], tmp_path: Path
) -> None:
    planning()
    again = requests_in(tmp_path / "requests.jsonl")
    summary = collect(tmp_path, list(map(openai_line, requests[:5])), list(map(openai_line, again)))
    assert (CALLS, 5, True) == (summary.collected.kept, summary.collected.known, summary.done)


def test_answers_of_several_runs_are_collected_at_once(planning: Planning, tmp_path: Path) -> None:
    planning()
    planning(target=tmp_path / "verbose.jsonl", modes=("verbose",))
    lines = [openai_line(each) for name in ("verbose.jsonl", "requests.jsonl") for each in requests_in(tmp_path / name)]
    random.Random(1).shuffle(lines)
    summary = collect(tmp_path, lines)
    assert (2 * CALLS, 2 * CONVERSATIONS, True) == (summary.collected.kept, summary.written, summary.done)


def test_runs_that_cannot_share_a_folder_keep_their_answers_and_say_so(planning: Planning, tmp_path: Path) -> None:
    planning()
    planning(target=tmp_path / "warm.jsonl", temperature=1.0)
    lines = [openai_line(each) for name in ("warm.jsonl", "requests.jsonl") for each in requests_in(tmp_path / name)]
    summary = collect(tmp_path, lines)
    assert 2 * CALLS == summary.collected.kept
    assert ["temperature"] == [problem.split("settings: ")[1].split()[0] for problem in summary.problems]


def test_a_packed_file_a_folder_and_stdin_are_read(
    requests: list[dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [json.dumps(openai_line(request)).encode() + b"\n" for request in requests]
    (tmp_path / "rows" / ".hidden").mkdir(parents=True)
    (tmp_path / "rows" / "1.json").write_bytes(b"".join(lines[:5]))
    (tmp_path / "rows" / "2.jsonl.gz").write_bytes(gzip.compress(b"".join(lines[5:8])))
    (tmp_path / "rows" / "notes.txt").write_bytes(b"nothing of yours")
    (tmp_path / "rows" / ".hidden" / "3.json").write_bytes(b"nothing")
    monkeypatch.setattr("sys.stdin", (tmp_path / "rest").open("w+", encoding="utf-8"))
    (tmp_path / "rest").write_bytes(b"".join(lines[8:]))
    summary = api.collect([tmp_path / "rows", Path("-")], tmp_path / "results")
    sys.stdin.close()
    assert (CALLS, 0) == (summary.collected.kept, summary.collected.unreadable)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_that_was_cut_gives_what_is_whole(requests: list[dict[str, Any]], tmp_path: Path, packed: bool) -> None:
    content = b"".join(json.dumps(openai_line(request)).encode() + b"\n" for request in requests)
    cut = gzip.compress(content)[:-300] if packed else content[:-30]
    (tmp_path / "cut").write_bytes(cut)
    collected = api.collect([tmp_path / "cut"], tmp_path / "results").collected
    assert 0 < collected.kept < CALLS
    assert 1 <= collected.unreadable <= 2


def test_odd_lines_are_counted_and_keep_nobody_up(requests: list[dict[str, Any]], tmp_path: Path) -> None:
    deep = b'{"custom_id": "x", "response": ' + b"[" * 5000 + b"\n"
    odd = [
        b"<!DOCTYPE html><html>\n",
        b"\n",
        b"\xff\xfe\x00\n",
        deep,
        {"custom_id": "mine-1", "response": {"status_code": 200, "body": reply(requests[0])}, "error": None},
        {"custom_id": "attune-../../../etc/passwd-000001", "response": None, "error": None},
        {"custom_id": f"attune-{'x' * 5000}-000001", "response": None, "error": None},
        {"custom_id": requests[0]["custom_id"].replace("000001", "999999"), "response": None, "error": None},
        {"custom_id": requests[0]["custom_id"].replace("000001", "000000"), "response": None, "error": None},
        requests[3],
    ]
    collected = collect(tmp_path, [*odd, openai_line(requests[0])]).collected
    assert (10, 1, 3, 1, 5, 1) == (
        collected.lines,
        collected.kept,
        collected.unreadable,
        collected.pages,
        collected.foreign,
        collected.asking,
    )


def test_a_damaged_row_costs_its_own_answer_alone(requests: list[dict[str, Any]], tmp_path: Path) -> None:
    table = next((tmp_path / "results").glob("_batch*"))
    rows = table.read_bytes().splitlines(keepends=True)
    rows[2] = b"#" * (len(rows[2]) - 1) + b"\n"
    table.write_bytes(b"".join(rows))
    summary = collect(tmp_path, list(map(openai_line, requests)))
    assert (CALLS - 1, 1) == (summary.collected.kept, summary.collected.damaged.total())
    assert "or plan again" in summary.problems[0]


@pytest.mark.parametrize("content", [b"", b"{}\n", b'{"format": 1, "tag": "x"}\n', b'{"format": 1'])
def test_a_damaged_table_is_told(requests: list[dict[str, Any]], tmp_path: Path, content: bytes) -> None:
    next((tmp_path / "results").glob("_batch*")).write_bytes(content)
    summary = collect(tmp_path, list(map(openai_line, requests)))
    assert (0, CALLS) == (summary.collected.kept, summary.collected.damaged.total())
    assert 1 == len(summary.problems)


def test_a_table_of_a_later_version_is_told(requests: list[dict[str, Any]], tmp_path: Path) -> None:
    table = next((tmp_path / "results").glob("_batch*"))
    table.write_bytes(table.read_bytes().replace(b'"format": 1', b'"format": 2', 1))
    assert "another version" in collect(tmp_path, list(map(openai_line, requests))).problems[0]


def test_without_a_plan_there_is_nothing_to_collect(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="holds no plan"):
        api.collect([write_lines(tmp_path / "a.jsonl", [])], tmp_path)


def test_a_file_that_is_not_there_is_told_before_anything_is_read(
    requests: list[dict[str, Any]], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="no response file"):
        api.collect(
            [write_lines(tmp_path / "a.jsonl", map(openai_line, requests)), tmp_path / "b"], tmp_path / "results"
        )
    with Journal.read(tmp_path / "results") as journal:
        assert 0 == journal.count()


def test_a_folder_without_response_files_is_told(requests: list[dict[str, Any]], tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="holds no response files"):
        api.collect([tmp_path / "empty"], tmp_path / "results")


@pytest.fixture
def own_data(talks: Path, tmp_path: Path) -> Path:
    """Conversations that a test may change."""
    return Path(shutil.copytree(talks, tmp_path / "data"))


def test_an_answer_about_a_conversation_that_went_is_kept_and_told(
    planning: Planning, own_data: Path, tmp_path: Path
) -> None:
    planning(data=own_data)
    gone = sorted(own_data.glob("*.json"))[0]
    name = json.loads(gone.read_bytes())["conversationId"]
    gone.unlink()
    summary = collect(tmp_path, list(map(openai_line, requests_in(tmp_path / "requests.jsonl"))))
    assert (CALLS, {name}, 1) == (summary.collected.kept, summary.gone, summary.written)


def test_an_answer_about_a_conversation_that_changed_is_kept_and_not_used(
    planning: Planning, own_data: Path, tmp_path: Path
) -> None:
    planning(data=own_data)
    path = sorted(own_data.glob("*.json"))[0]
    talk = json.loads(path.read_bytes())
    talk["turns"][1]["userMessage"] += " And one more thing."
    path.write_text(json.dumps(talk), encoding="utf-8")
    summary = collect(tmp_path, list(map(openai_line, requests_in(tmp_path / "requests.jsonl"))))
    assert (CALLS, 1) == (summary.collected.kept, summary.written)
    assert not summary.done


def test_conversations_that_have_moved_are_asked_for_when_the_answers_are_safe(
    planning: Planning, own_data: Path, tmp_path: Path
) -> None:
    planning(data=own_data)
    own_data.rename(tmp_path / "moved")
    summary = collect(tmp_path, list(map(openai_line, requests_in(tmp_path / "requests.jsonl"))))
    assert CALLS == summary.collected.kept
    assert "use -d" in summary.problems[0]
    there = api.collect([tmp_path / "answers-0.jsonl"], tmp_path / "results", conversations=tmp_path / "moved")
    assert (CONVERSATIONS, True) == (there.written, there.done)


def test_a_plan_and_its_data_may_move_together(planning: Planning, own_data: Path, tmp_path: Path) -> None:
    planning(data=own_data, output=tmp_path / "results")
    lines = list(map(openai_line, requests_in(tmp_path / "requests.jsonl")))
    (tmp_path / "elsewhere").mkdir()
    for name in ("data", "results"):
        (tmp_path / name).rename(tmp_path / "elsewhere" / name)
    assert collect(tmp_path, lines, results="elsewhere/results").done


def test_a_run_at_work_keeps_results_but_no_answer_from_being_written(
    requests: list[dict[str, Any]], tmp_path: Path
) -> None:
    with claim(tmp_path / "results", "local", "m", ["default"]), Journal.open(tmp_path / "results"):
        summary = collect(tmp_path, list(map(openai_line, requests)))
    assert (CALLS, 0) == (summary.collected.kept, summary.written)
    assert "is running m" in summary.problems[0]
    assert CONVERSATIONS == collect(tmp_path, list(map(openai_line, requests))).written


def test_prices_of_the_plan_price_its_replies(planning: Planning, tmp_path: Path) -> None:
    planning(price_in=1.0, price_out=2.0)
    summary = collect(tmp_path, list(map(openai_line, requests_in(tmp_path / "requests.jsonl"))))
    usage = summary.collected.spent.usage
    expected = ((usage.prompt_tokens or 0) + 2 * (usage.completion_tokens or 0)) / 1e6
    assert pytest.approx(expected) == summary.collected.spent.cost
    costs = [result["api_cost"] for result in results_of(tmp_path / "results").values()]
    assert pytest.approx(expected) == sum(costs)


def test_without_prices_the_cost_is_unknown_and_not_0(requests: list[dict[str, Any]], tmp_path: Path) -> None:
    summary = collect(tmp_path, list(map(openai_line, requests)))
    assert CALLS == summary.collected.spent.unpriced
    assert {None} == {result["api_cost"] for result in results_of(tmp_path / "results").values()}


def test_judges_are_a_second_wave(planning: Planning, tmp_path: Path) -> None:
    planning(judges=["j"])
    first = collect(tmp_path, list(map(openai_line, requests_in(tmp_path / "requests.jsonl"))))
    assert [{"j": CONVERSATIONS * TURNS}] == [left.requests for left in first.left]
    planning(judges=["j"])
    assert collect(tmp_path, list(map(openai_line, requests_in(tmp_path / "requests.jsonl")))).done
    for result in results_of(tmp_path / "results").values():
        assert all(turn["em_draft_judge_scores_by_model"]["j"] for turn in result["turns"])


def test_what_a_server_rejects_is_planned_without_it(
    planning: Planning, requests: list[dict[str, Any]], tmp_path: Path
) -> None:
    rejected = [openai_line(request, NO_SCHEMA, status=400) for request in requests]
    assert CALLS == collect(tmp_path, rejected).collected.adapted
    planning(judges=["j"])
    forms = {line["body"]["response_format"]["type"] for line in requests_in(tmp_path / "requests.jsonl")}
    assert {"json_object"} == forms


def test_what_a_server_rejects_of_one_request_it_is_not_spared_for_others(
    planning: Planning, requests: list[dict[str, Any]], tmp_path: Path
) -> None:
    answered = list(map(openai_line, requests[2:]))
    collect(tmp_path, [openai_line(requests[0], NO_SCHEMA, status=400), *answered])
    planning(modes=("default", "verbose"))
    forms = [line["body"]["response_format"]["type"] for line in requests_in(tmp_path / "requests.jsonl")]
    assert (1, CALLS + 1) == (forms.count("json_object"), forms.count("json_schema"))


def test_a_limit_that_a_server_names_is_kept_for_that_request(
    planning: Planning, requests: list[dict[str, Any]], tmp_path: Path
) -> None:
    message = "max_tokens is too large: 4096. This model supports at most 200 completion tokens"
    collect(tmp_path, [openai_line(requests[0], {"error": {"message": message}}, status=400)])
    planning()
    limits = [line["body"]["max_tokens"] for line in requests_in(tmp_path / "requests.jsonl")]
    assert (200, {4096}) == (limits[0], set(limits[1:]))


@pytest.mark.parametrize(
    ("message", "status", "later", "stopped"),
    [
        ("The gateway dislikes this", 422, 1, 0),
        ("Insufficient balance (1008)", 422, 0, 1),
        ("Rate limit: 3 / min", 429, 1, 0),
    ],
)
def test_a_rejected_request_is_asked_again_as_it_is_and_money_is_named(
    requests: list[dict[str, Any]],
    planning: Planning,
    tmp_path: Path,
    message: str,
    status: int,
    later: int,
    stopped: int,
) -> None:
    rejected = openai_line(requests[0], {"error": {"message": message}}, status=status)
    collected = (summary := collect(tmp_path, [rejected, *map(openai_line, requests[1:])])).collected
    assert (later, stopped, 0) == (collected.later.total(), collected.stopped.total(), collected.adapted)
    assert CONVERSATIONS - 1 == summary.written
    planning()
    [again] = requests_in(tmp_path / "requests.jsonl")
    assert requests[0]["body"] == again["body"]
