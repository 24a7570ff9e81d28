"""Asking one call: what the line costs, what the model is asked again, and what is counted."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from model_clients import run_live, settings_for
from talks import parsed, small_file
from virtual_time import run_virtual

from attunebench.backends.base import Reply, Request
from attunebench.codebook import default_codebook
from attunebench.errors import DataError, TransientError
from attunebench.journal import Journal
from attunebench.protocol.calls import Record
from attunebench.protocol.plan import plan_conversation
from attunebench.runner import RunSummary
from attunebench.runner.budget import Budget
from attunebench.runner.job import Job, Rules
from attunebench.selftest.server import FakeServer

TALK = parsed(small_file())
CALLS = {call.kind: call for call in plan_conversation(TALK, "default", default_codebook())}
HALF, WHOLE = '{"pairwise_selections": {"0": "A"}}', '{"pairwise_selections": {"0": "A", "1": "B"}}'


def ask(*behaviours: Reply | Exception, **settings: Any) -> tuple[Record, list[Request], Budget]:
    """One call to a model that answers one request after the other as it is told."""
    requests, budget, answers = list[Request](), Budget(), iter(behaviours)
    told = settings_for(max_tokens=100, **settings)
    job = Job(("talk", "default"), [CALLS["pairwise"]], Rules(default_codebook(), 100, told.max_reasks), context=TALK)

    async def send(request: Request) -> Reply:
        requests.append(request)
        behaviour = next(answers)
        if isinstance(behaviour, Exception):
            raise behaviour
        return behaviour

    run_virtual(run_live(send, job, settings=told, budget=budget))
    return job.records[CALLS["pairwise"].id], requests, budget


def test_retries_and_reasks_are_told_apart_and_all_requests_are_counted() -> None:
    record, requests, _ = ask(TransientError("busy"), Reply(HALF), Reply(WHOLE))
    assert (3, 1, 3) == (record.requests, record.reasks, len(requests))


def test_a_reply_that_is_asked_for_again_is_wasted_and_a_lost_request_is_counted() -> None:
    *_, budget = ask(TransientError("cut", kind="body"), Reply(HALF, cost=0.5), Reply(WHOLE, cost=0.25))
    assert (0.75, 0.5, 1) == (budget.cost, budget.wasted.cost, budget.lost)


@pytest.mark.parametrize(("costs", "total"), [((0.5, 0.25), 0.75), ((0.5, None), None), ((None, 0.5), None)])
def test_a_cost_with_an_unknown_part_is_unknown(costs: tuple[float | None, float | None], total: float | None) -> None:
    record, _, _ = ask(Reply(HALF, cost=costs[0]), Reply(WHOLE, cost=costs[1]))
    assert total == record.cost


def test_a_draft_is_judged_before_what_is_not_in_the_line_yet(
    run: Callable[..., RunSummary], server: FakeServer
) -> None:
    run(judges=("judge",), limit=1, concurrency=1)
    assert "judge" in [body["model"] for body in server.bodies[1:3]]


def test_votes_on_other_prompts_are_not_mixed_with_new_ones(run: Callable[..., RunSummary], tmp_path: Path) -> None:
    run(judges=("judge",), limit=1)
    (path,) = (tmp_path / "results").glob("*.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | {"judge_calls_sha256_quality": "of an older version"}))
    with pytest.raises(DataError, match=r"judge prompts or reference replies, in 1 result\."):
        run(judges=("judge",), limit=1)
    assert 1 == run(limit=1).complete_before


def test_nothing_more_is_sent_once_a_reply_cannot_be_kept(
    run: Callable[..., RunSummary], server: FakeServer, tmp_path: Path
) -> None:
    """The call that gets the place of the unkept one would be paid for and lost as well."""
    folder = tmp_path / "results"
    folder.mkdir()
    Journal.open(folder).close()
    with closing(sqlite3.connect(folder / "_calls.sqlite3")) as journal, journal:
        journal.execute("CREATE TRIGGER t BEFORE INSERT ON replies BEGIN SELECT RAISE(ABORT, 'disk is full'); END")
    with pytest.raises(DataError, match=r"cannot be written \(disk is full\); free some space"):
        run(concurrency=1)
    assert 1 == len(server.bodies)
