"""A job of three calls that is no conversation's runs live, by a batch service and from request files alike."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from batch_runs import settings_at
from batch_server import BatchServer
from engines import openai_line, requests_in, write_lines
from talks import talk

from attunebench import eventloop
from attunebench.batches.collecting import Collector
from attunebench.batches.executor import BatchExecutor
from attunebench.batches.files import Planner, RequestFiles
from attunebench.batches.records import lines_of
from attunebench.batches.requests import Origin, open_tables
from attunebench.codebook import default_codebook
from attunebench.journal import Journal
from attunebench.protocol.calls import Call
from attunebench.protocol.plan import plan_conversation
from attunebench.runner.clients import RunExecutor
from attunebench.runner.events import Observer, RunSummary
from attunebench.runner.job import Job, Known, Rules
from attunebench.runner.live import Live
from attunebench.runner.run import Run
from attunebench.runner.settings import RunSettings
from attunebench.runner.work import Work

KEY = ("toy", "default")
TOY = talk(seed=1, turns=1)
PLANNED = plan_conversation(TOY, "default", default_codebook(), judges=1)
CALLS = [call for call in PLANNED if call.kind in ("draft", "judge", "post")]


class ToyWork(Work):
    """One job, of whose answers the texts are written."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.path = folder / "toy.json"

    def enter(self, stack: ExitStack) -> None:
        self.path.parent.mkdir(exist_ok=True)

    def survey(self) -> Iterator[tuple[Sequence[Call], bool]]:
        self.todos[KEY] = None
        yield CALLS, True

    def jobs(self, rules: Rules, known: Known | None) -> Iterator[Job]:
        for key in list(self.todos):
            yield Job(key, CALLS, rules, known=known, assemble=self.assemble)

    def assemble(self, job: Job) -> dict[str, Any]:
        return {record.call.kind: record.answer.values for record in job.records.values()}

    def place(self, job: Job) -> Path:
        return self.path

    def skip(self, job: Job, again: str) -> None:
        raise AssertionError(job.failed)


def run(executor: RunExecutor, settings: RunSettings) -> RunSummary:
    work = ToyWork(settings.output)
    return eventloop.run(Run(work, settings, default_codebook(), Observer()).by(executor))


def live(server: BatchServer, settings: RunSettings) -> RunSummary:
    return run(Live(settings, Observer()), settings)


def by_batches(server: BatchServer, settings: RunSettings) -> RunSummary:
    executor = BatchExecutor(settings, Observer(), interval=0.0)
    return run(executor, settings)


def from_request_files(server: BatchServer, settings: RunSettings) -> RunSummary:
    """Two rounds: the judge is asked when the draft is there."""
    for number in range(2):
        target = settings.output.parent / f"requests-{number}.jsonl"
        run(Planner(settings, Origin(), new_only=False, target=target), settings)
        files = sorted(target.parent.glob(f"{target.stem}*.jsonl"))
        lines = [openai_line(request) for request in requests_in(*files)]
        eventloop.run(collect(settings.output, write_lines(target.with_suffix(".answers"), lines)))
    return run(RequestFiles(settings), settings)


async def collect(folder: Path, answers: Path) -> None:
    with Journal.open(folder) as journal:
        collector = Collector(open_tables(folder), journal, lambda _row, _reply: None)
        with answers.open("rb") as file:
            await collector.take(lines_of(file))
        await collector.finish()


@pytest.mark.parametrize("way", [live, by_batches, from_request_files])
def test_three_calls_that_are_no_conversation_are_answered_once_each(way: Any, tmp_path: Path) -> None:
    with BatchServer() as server:
        settings = settings_at(server.url, tmp_path / "results", judges=("judge-a",))
        summary = way(server, settings)
        assert 1 == summary.written
        assert {"draft", "judge", "post"} == set(json.loads((tmp_path / "results" / "toy.json").read_text("utf-8")))
        with Journal.read(settings.output) as journal:
            kept = sorted((entry.kind, entry.ask) for entry in journal.entries())
    assert [("draft", 0), ("judge", 0), ("post", 0)] == kept
