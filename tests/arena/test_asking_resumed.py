"""Verdicts of an arena whatever happens in between: faults, kills, growth, batches, request files."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from asked_arenas import HISTORIES, PAIRS, Judge, make_arena, models, saying, told, varied, verdicts
from batch_server import BatchServer
from engines import openai_line, requests_in, write_lines
from shard_runs import Gate

from attunebench import eventloop
from attunebench.arena import folder as arenas
from attunebench.arena.asking import ask_replies, ask_verdicts, verdict_settings
from attunebench.arena.folder import read_arena
from attunebench.arena.objects import Pair, Verdict
from attunebench.batches.collecting import Collector
from attunebench.batches.executor import BatchExecutor
from attunebench.batches.files import Planner
from attunebench.batches.records import lines_of
from attunebench.batches.requests import Origin, open_tables
from attunebench.errors import ConfigurationError, DataError
from attunebench.journal import Journal, claim
from attunebench.protocol.read.values import LONGEST_REMARK
from attunebench.runner import Observer, RunSettings
from attunebench.runner.clients import RunExecutor
from attunebench.selftest.answers import varied_text
from attunebench.selftest.behaviours import Answer, Asked, Behaviour, Broken, Status
from attunebench.selftest.server import FakeServer


def test_what_a_broken_server_did_not_answer_is_pending_and_asked_later(
    judge: Judge, server: FakeServer, folder: Path
) -> None:
    def script(asked: Asked) -> Behaviour:
        return Status(503, {"error": {"message": "busy"}}) if "exam 1" in asked.prompt else varied(asked)

    server.script = script
    summary = judge("ann", "ben", max_tries=2)
    assert (8, PAIRS * 4 - 8) == (summary.votes_owed, len(verdicts(folder)))
    server.script = varied
    server.asked.clear()
    judge("ann", "ben")
    assert (8, PAIRS * 4) == (len(server.bodies), len(verdicts(folder)))


def test_faults_cost_no_verdict_and_change_none(judge: Judge, server: FakeServer, folder: Path, tmp_path: Path) -> None:
    faults = {0: Status(500, {}), 3: Broken("length"), 5: Status(429, {}), 7: Broken("reset"), 9: Answer("{}")}
    server.script = lambda asked: faults.get(asked.number, varied(asked))
    judge("ann", "ben")
    server.script = varied
    other = make_arena(tmp_path / "other")
    judge("ann", "ben", into=other)
    assert told(other) == told(folder)


def test_a_run_that_cannot_go_on_keeps_what_it_has(judge: Judge, server: FakeServer, folder: Path) -> None:
    server.script = lambda asked: (
        varied(asked) if len(server.bodies) <= 5 else Status(401, {"error": {"message": "no"}})
    )
    with pytest.raises(ConfigurationError):
        judge("ann", concurrency=1)
    assert 4 == len(verdicts(folder))  # of the third pair one order is answered, which the journal has
    server.script = varied
    server.asked.clear()
    judge("ann", concurrency=1)
    assert (PAIRS * 2, PAIRS * 2 - 5) == (len(verdicts(folder)), len(server.bodies))


def test_without_its_file_a_judge_has_its_verdicts_from_the_journal(
    judge: Judge, server: FakeServer, folder: Path
) -> None:
    judge("ann")
    before = told(folder)
    (folder / "verdicts" / "ann.jsonl").unlink()
    server.asked.clear()
    judge("ann")
    assert (before, []) == (told(folder), server.bodies)


def test_verdicts_on_other_texts_are_refused_and_replaced_on_demand(
    judge: Judge, server: FakeServer, folder: Path
) -> None:
    judge("ann")
    server.asked.clear()
    make_arena(folder, bob={"text": "Another text."})
    with pytest.raises(DataError, match="6 lines"):
        judge("ann")
    assert [] == server.bodies
    judge("ann", replace=True)
    assert (6, PAIRS * 2) == (len(server.bodies), len(verdicts(folder)))
    with pytest.raises(DataError):
        judge("ann", temperature=0.7)


def test_an_arena_that_grew_is_judged_where_it_is_new(judge: Judge, server: FakeServer, folder: Path) -> None:
    judge("ann")
    before = verdicts(folder)
    server.asked.clear()
    arenas.add_pairs(folder, [Pair(id="new", history="c0/1", left="bob-2", right="original")])
    judge("ann")
    assert 2 == len(server.bodies)
    assert before.items() < verdicts(folder).items()


def test_repeated_lines_of_a_file_stay(judge: Judge, folder: Path) -> None:
    path = folder / "verdicts" / "ann.jsonl"
    check = Verdict(pair="c0/1/0", rater="eve", rater_kind="human", preference=1, check=True)
    arenas.write_lines(path, [check] * 3)
    judge("ann")
    assert (PAIRS * 2 + 3) == len(path.read_bytes().splitlines())


def test_whatever_a_judge_writes_its_verdict_can_be_read_again(judge: Judge, server: FakeServer, folder: Path) -> None:
    odd = "\ud83d \0\x1b[2J </script> " + "long " * 20_000
    server.script = saying("1 much better", evidence=odd, rationale=odd)
    judge("ann")
    assert {False} == {one.evidence_found for one in verdicts(folder).values()}
    assert {True} == {len(one.rationale) <= LONGEST_REMARK for one in verdicts(folder).values()}


def test_at_the_cost_limit_a_run_keeps_what_it_has(judge: Judge, server: FakeServer, folder: Path) -> None:
    server.script = varied
    prices = {"judge_price_in": 10.0, "judge_price_out": 10.0, "max_tokens": 500, "concurrency": 1}
    summary = judge("ann", max_cost=0.06, **prices)
    assert ("max-cost", len(server.bodies)) == (summary.stopped, summary.calls)
    assert 0 < len(verdicts(folder)) < PAIRS * 2
    judge("ann", **prices)
    assert (PAIRS * 2, PAIRS * 2) == (len(verdicts(folder)), len(server.bodies))


def test_a_prompt_that_no_server_takes_is_a_verdict_without_an_answer(
    judge: Judge, server: FakeServer, folder: Path
) -> None:
    too_long = {"error": {"message": "maximum context length is 4096 tokens", "code": "context_length_exceeded"}}
    server.script = lambda asked: Status(400, too_long) if "exam 1" in asked.prompt else varied(asked)
    judge("ann")
    lacking = {pair for (_, pair, _), one in verdicts(folder).items() if one.preference is None}
    assert {"c1/1/0", "c1/1/1"} == lacking
    server.asked.clear()
    judge("ann")
    assert [] == server.bodies


def test_another_process_with_this_judge_is_waited_for_and_one_with_another_judge_is_not(
    judge: Judge, folder: Path
) -> None:
    with claim(folder, "local", "ann", ["default"], task="verdicts"):
        with pytest.raises(DataError):
            judge("ann")
        judge("ben")
    assert {"ben"} == {rater for rater, _, _ in verdicts(folder)}


def by_batches(settings: RunSettings, observer: Observer) -> RunExecutor:
    return BatchExecutor(settings, observer, interval=0.0)


def test_a_batch_service_judges_and_replies_as_live_calls_do(tmp_path: Path) -> None:
    said = []
    with BatchServer() as server:
        for by in (None, by_batches):
            into = make_arena(tmp_path / str(by is None))
            ask_verdicts(into, verdict_settings(into, models(server, "ann", "ben")), by=by)
            summary = ask_replies(into, RunSettings(em=models(server, "new")[0]), by=by)
            assert HISTORIES == summary.written
            texts = [one.text for one in read_arena(into).replies.values()]
            said.append((told(into), texts))
    assert said[0] == said[1]
    assert PAIRS * 4 == len(said[0][0])


class Killed(Observer):
    """Ends the process, so to speak, once batches are under way."""

    def looked(self, batches: Sequence[Any], seconds: float) -> None:
        raise EOFError


def test_batches_of_a_process_that_ended_are_collected_and_not_sent_again(folder: Path) -> None:
    with BatchServer() as server:
        settings = verdict_settings(folder, models(server, "ann", "ben"))
        with pytest.raises(EOFError):
            ask_verdicts(folder, settings, observer=Killed(), by=by_batches)
        assert 2 == len(server.made)
        ask_verdicts(folder, settings, by=by_batches)
        sent = [line["custom_id"] for batch in server.made for line in batch.lines]
    assert (PAIRS * 4, PAIRS * 4) == (len(sent), len(verdicts(folder)))


async def collect(folder: Path, answers: Path) -> None:
    with Journal.open(folder) as journal:
        collector = Collector(open_tables(folder), journal, lambda _row, _reply: None)
        with answers.open("rb") as file:
            await collector.take(lines_of(file))
        await collector.finish()


def test_request_files_bring_verdicts_without_a_further_call(folder: Path, server: FakeServer, tmp_path: Path) -> None:
    settings, target = verdict_settings(folder, models(server, "ann")), tmp_path / "requests.jsonl"
    ask_verdicts(folder, settings, by=lambda how, _: Planner(how, Origin(), new_only=False, target=target))
    requests = requests_in(target)
    assert (PAIRS * 2, []) == (len(requests), server.bodies)
    answers = write_lines(tmp_path / "answers.jsonl", [openai_line(request) for request in requests])
    eventloop.run(collect(folder, answers))
    ask_verdicts(folder, settings)
    assert (PAIRS * 2, []) == (len(verdicts(folder)), server.bodies)


JUDGING = """
import sys
from pathlib import Path
from attunebench.arena.asking import ask_verdicts, verdict_settings
from attunebench.runner import ModelSettings
folder = Path(sys.argv[1])
judges = [ModelSettings(provider="local", model=name, base_url=sys.argv[2]) for name in ("ann", "ben")]
ask_verdicts(folder, verdict_settings(folder, judges, concurrency=2), interruptible=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("how", "hold", "lost"), [(signal.SIGKILL, 30.0, 4), (signal.SIGINT, 1.0, 0)])
def test_a_stopped_run_goes_on_where_it_was_and_pays_for_nothing_twice(
    process: Callable[..., subprocess.Popen[str]],
    judge: Judge,
    server: FakeServer,
    folder: Path,
    tmp_path: Path,
    how: signal.Signals,
    hold: float,
    lost: int,
) -> None:
    gate = Gate(9, seconds=hold)

    def script(asked: Asked) -> Behaviour:
        behaviour = gate(asked)
        return Answer(varied_text(asked), behaviour.delay) if isinstance(behaviour, Answer) else behaviour

    server.script = script
    running = process("-c", JUDGING, folder, server.url)
    assert gate.held.wait(60)
    running.send_signal(how)
    running.communicate(timeout=60)
    assert (how is signal.SIGINT) == bool(verdicts(folder))
    server.script = varied
    judge("ann", "ben", concurrency=2)
    assert PAIRS * 4 <= len(server.bodies) <= PAIRS * 4 + lost  # at most what was in flight, two to each judge
    other = make_arena(tmp_path / "other")
    judge("ann", "ben", into=other)
    assert told(other) == told(folder)
