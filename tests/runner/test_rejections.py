"""Whose fault a rejection is, from the first request to the repeated command: what is sent, skipped, owed, written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from recipe_endings import CALLS
from recipe_endings_servers import OWN
from recipe_server import DATA, RecipeServer, read_recipe

from attunebench.runner import RunSummary, live
from attunebench.runner.pacing import TRUSTED
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Status

if TYPE_CHECKING:
    from conftest import Command

Run = Callable[..., RunSummary]
Results = Callable[[], list[dict[str, Any]]]
TURNS = 3
WORDS = "Tomorrow the maybe worry worry never tir"
"""They stand in all prompts of one of the three conversations."""
DISLIKED = {"status": 422, "json": {"error": {"message": "The gateway dislikes this"}}}
PAGE = Status(200, "<!DOCTYPE html><html><head><title>Welcome to the proxy</title></head></html>")


def recipe(*rules: dict[str, Any]) -> RecipeServer:
    return RecipeServer({"rules": list(rules)})


def skipped(folder: Path) -> list[dict[str, Any]]:
    lists = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("results/_skipped_*.json")]
    return [entry for each in lists for entry in each["skipped"]]


def written(folder: Path) -> int:
    return len(list(folder.glob("results/[!_]*.json")))


def test_an_unknown_rejection_skips_its_conversation_at_every_repeat_and_no_other(
    command: Command, tmp_path: Path
) -> None:
    with recipe({"match": {"text": WORDS}, "times": 4, "reply": DISLIKED}) as server:
        first = command(server, data=DATA)
        assert (1, 2, CALLS - OWN + 2) == (first.status, written(tmp_path), server.chats)
        again = command(server, data=DATA)
        assert (1, 2, CALLS - OWN + 4) == (again.status, written(tmp_path), server.chats)
        [entry] = skipped(tmp_path)
        assert 2 == entry["tries"]
        assert "The gateway dislikes this" in entry["reason"]
        healed = command(server, data=DATA)
        assert (0, 3, CALLS + 4) == (healed.status, written(tmp_path), server.chats)
        assert [] == skipped(tmp_path)


def test_any_number_of_conversations_may_be_skipped(command: Command, tmp_path: Path) -> None:
    """Once there was an answer, here to the very first request."""
    with recipe({"match": {"nth": [0]}, "reply": {"content": "{{ANSWER}}"}}, {"reply": DISLIKED}) as server:
        ended = command(server, data=DATA)
        assert (1, 0, 3) == (ended.status, written(tmp_path), len(skipped(tmp_path)))
        assert 3 * 2 + 1 == server.chats


@pytest.mark.parametrize("concurrency", ["1", "16"])
def test_before_any_answer_an_unknown_rejection_stops(concurrency: str, command: Command, tmp_path: Path) -> None:
    with recipe({"reply": DISLIKED}) as server:
        options = ("--structured", "text", "--concurrency", concurrency)
        ended = command(server, *options, data=DATA)
        assert (2, 0, []) == (ended.status, written(tmp_path), skipped(tmp_path))
        assert server.chats <= TRUSTED
    assert "The gateway dislikes this" in ended.read


def test_a_conversation_that_is_rejected_first_waits_for_the_answers_to_others(
    command: Command, tmp_path: Path
) -> None:
    """They come later, of calls under way beside it: the first calls of a run are of several conversations."""
    first_in_order = {"match": {"text": "Sister rent promise always sleep tonight"}, "reply": DISLIKED}
    with recipe(first_in_order, {"reply": {"content": "{{ANSWER}}", "delay": 0.03}}) as server:
        ended = command(server, "--concurrency", "4", data=DATA)
    assert (1, 2, 1) == (ended.status, written(tmp_path), len(skipped(tmp_path)))


@pytest.mark.parametrize(
    ("status", "message", "ends"),
    [
        (401, "No", 2),
        (402, "No", 2),
        (403, "Your key may not use this model", 2),
        (403, "Not this one", 1),
        (404, "The model fake-model does not exist", 2),
        (404, "Not this one", 1),
        (410, "Gone", 1),
    ],
)
def test_what_stops_and_what_belongs_to_its_call_after_an_answer(
    status: int, message: str, ends: int, command: Command, tmp_path: Path
) -> None:
    trouble = {"status": status, "json": {"error": {"message": message}}}
    with recipe({"match": {"text": WORDS}, "reply": trouble}) as server:
        assert ends == command(server, data=DATA).status
    assert (ends == 1) == (len(skipped(tmp_path)) == 1)


def test_a_judges_rejection_is_an_owed_vote_and_gives_up_no_judge(
    run: Run, server: FakeServer, results: Results
) -> None:
    prompts: list[str] = []

    def script(asked: Asked) -> Behaviour:
        if asked.body["model"] != "judge":
            return Answer()
        if asked.prompt not in prompts:
            prompts.append(asked.prompt)
        return Status(422, {"error": "The gateway dislikes this"}) if prompts.index(asked.prompt) == 1 else Answer()

    server.script = script
    summary = run(judges=("judge",), concurrency=1)
    assert ({}, 2, 1) == (summary.skipped, summary.written, summary.votes_owed)
    server.script = None
    assert 0 == run(judges=("judge",)).votes_owed


def test_no_more_than_five_answers_are_bought_before_one_could_be_read(command: Command, tmp_path: Path) -> None:
    with recipe({"reply": {"text": "data: what is this?", "headers": {"content-type": "text/plain"}}}) as server:
        ended = command(server, "--concurrency", "16", data=DATA)
        assert (2, 0, TRUSTED) == (ended.status, written(tmp_path), server.chats)
        assert TRUSTED >= server.most_at_once
    assert "what is this?" in ended.read


@pytest.mark.parametrize("unreadable", [1, TRUSTED - 1])
def test_fewer_unreadable_answers_are_trouble_of_the_line(unreadable: int, command: Command, tmp_path: Path) -> None:
    with recipe({"times": unreadable, "reply": {"text": "{"}}) as server:
        ended = command(server, "--concurrency", "16", data=DATA)
        assert (0, 3, CALLS + unreadable) == (ended.status, written(tmp_path), server.chats)


@pytest.mark.parametrize(("pages", "ends"), [(1, 0), (3, 0), (99, 2)])
def test_one_web_page_is_trouble_of_the_line_and_nothing_but_pages_is_a_wrong_address(
    pages: int, ends: int, command: Command, server: FakeServer
) -> None:
    server.script = lambda _: PAGE if len(server.bodies) <= pages else Answer()
    ended = command(server)
    assert ends == ended.status, ended.read
    if ends:
        assert TRUSTED == len(server.bodies)
        assert "check the base URL" in ended.read


@pytest.mark.parametrize(
    "behaviour",
    [
        Status(429, {"error": {"message": "Slow down"}}, {"retry-after": "39600"}),
        Status(503, {"error": {"message": "Maintenance"}}, {"retry-after": "7200"}),
        Status(429, [{"error": {"message": "Busy", "details": [{"retryDelay": "41000s"}]}}]),
        Status(429, {"error": {"message": "Busy. Please try again in 3h25m"}}),
        Status(429, {"error": {"message": "Requests per day reached"}}),
        Status(402, {"error": {"message": "Too much in flight"}}, {"retry-after": "86400"}),
    ],
    ids=lambda behaviour: str(behaviour.body)[:40],
)
def test_a_wait_that_is_longer_than_a_call_stops_and_names_the_hour(
    behaviour: Behaviour, command: Command, server: FakeServer
) -> None:
    server.script = lambda _: behaviour
    ended = command(server)
    assert (2, 1) == (ended.status, len(server.bodies)), ended.read
    assert re.search(r"20\d\d-\d\d-\d\d \d\d:\d\d \S", ended.read)
    assert "no balance" not in ended.read


def test_money_that_runs_out_in_mid_run_keeps_what_is_done(command: Command, tmp_path: Path) -> None:
    gone = {"status": 200, "json": {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}}}
    with recipe({"match": {"text": WORDS}, "times": 1, "reply": gone}) as server:
        ended = command(server, data=DATA)
        sent = server.chats
        assert 2 == ended.status
        assert "no balance" in ended.read
        assert 0 == command(server, data=DATA).status
        assert CALLS + 1 == server.chats
        assert sent < CALLS


def test_a_server_that_refuses_every_connection_is_told_apart_from_an_outage(
    command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "OUTAGE_CHECK", 0.05)
    monkeypatch.setattr(live, "NEVER_REACHED", 0.2)
    with FakeServer() as gone:
        pass
    ended = command(gone)
    assert 1 == ended.status
    assert "attune-bench doctor" in ended.read


def test_a_server_that_only_streams_is_asked_for_streams(command: Command, tmp_path: Path) -> None:
    stream = next(iter(read_recipe("sse-chunks")["rules"]))["reply"]
    refusal = read_recipe("sse-required-400")["rules"][0]["reply"]
    with recipe({"match": {"has": "stream"}, "reply": stream}, {"reply": refusal}) as server:
        ended = command(server, data=DATA)
        assert (0, 3, CALLS + 1) == (ended.status, written(tmp_path), server.chats)
