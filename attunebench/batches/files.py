"""`plan` and `collect`: write a run's open calls to request files, and read the answers back. Sends nothing."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from attunebench import eventloop
from attunebench.backends.base import Reply
from attunebench.backends.prices import Prices
from attunebench.backends.providers import unsent
from attunebench.batches import requests
from attunebench.batches.collecting import Collected, Collector
from attunebench.batches.pending import Pending
from attunebench.batches.records import response_files, response_lines
from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import Conversation, load_conversations
from attunebench.errors import AttuneBenchError, DataError, UsageError
from attunebench.journal import Journal
from attunebench.runner.clients import RunExecutor
from attunebench.runner.events import Observer, RunSummary, Stop
from attunebench.runner.fingerprint import settled
from attunebench.runner.job import Ask
from attunebench.runner.pricing import KnownPrices, prices_for
from attunebench.runner.run import Run, run_by
from attunebench.runner.settings import RunSettings


@dataclass(slots=True)
class PlanSummary:
    """The outcome of a plan. `complete` counts (conversation, mode) pairs that had a result, `written` the results that
    the journal had all answers for; `waiting` judges' calls have no draft yet.

    `asked_before`: unanswered requests of earlier plans, by plan (tag, when it was made); they are in this one too,
    unless it is of new ones only. `problems`: damaged tables of earlier plans. `notes`: settings that follow the
    results folder."""

    planned: requests.Plan
    complete: int
    written: int
    waiting: int
    asked_before: Counter[tuple[str, str]]
    problems: list[str]
    notes: Sequence[str]


@dataclass(slots=True)
class CollectSummary:
    """The outcome of response files, together (`collected`) and one by one. `written` and `complete` count results as
    in `PlanSummary`; `gone` are conversations whose answers were kept although they are missing now. `problems` say
    what could not be done with the answers. `conversations`: where those of the last plan are."""

    files: dict[Path, Collected] = field(default_factory=dict)
    collected: Collected = field(default_factory=Collected)
    written: int = 0
    complete: int = 0
    left: list[RequestFiles] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    conversations: Path | None = None

    @property
    def done(self) -> bool:
        """Whether nothing of the plans that were answered is left to ask."""
        return not (self.left or self.problems)


class RequestFiles(RunExecutor):
    """Finishes the jobs that the journal has all answers for, and passes open asks to `ask`: needs no key and no price.
    What is open after it: `requests` by model, `again` of them re-prompts, and judges' calls that are `waiting` for a
    draft; `command` asks it."""

    further = 0  # how many further asks incomplete calls get on demand

    def __init__(self, settings: RunSettings, command: str = "") -> None:
        self.command, self.requests, self.again, self.waiting = command, Counter[str](), 0, 0
        super().__init__(settings.model_copy(update={"max_cost": None}), Observer(), unsent)

    def run(self, conversations: Sequence[Conversation], codebook: Codebook) -> RunSummary:
        return run_by(lambda *_: self, conversations, self.settings, codebook, run_again=self.command)[0]

    def ask(self, asked: Ask) -> None:
        self.requests[self.settings.asked(asked.who).model] += 1
        self.again += asked.number > 0

    async def prices(self, *, to_show: bool = False) -> KnownPrices:
        return KnownPrices([None] * len(self._hashers))

    async def execute(self, run: Run) -> Stop:
        async for asks, waiting in Pending(run).open_asks(again=self.further):
            self.waiting += waiting
            for asked in asks:
                self.ask(asked)
        return ""


class Planner(RequestFiles):
    """Writes open asks into request files, those of `planned`; counts what was `asked_before` and has no answer."""

    further = 1
    planned: requests.Plan

    def __init__(self, settings: RunSettings, origin: requests.Origin, *, new_only: bool, **where: Any) -> None:
        super().__init__(settings, origin.command)
        self._writing_plan = partial(requests.writing_plan, settings=self.settings, origin=origin, **where)
        self._new_only = new_only
        self.asked_before, self.problems = Counter[tuple[str, str]](), list[str]()

    async def enter(self, stack: AsyncExitStack, journal: Journal | None) -> None:
        assert journal is not None, "finished files are kept"
        self.planned = stack.enter_context(self._writing_plan(journal=journal))
        self._before: dict[str, tuple[str, str]] = {}
        """Requests of earlier plans without an outcome: hash → the plan and its time."""
        for tag, table in requests.open_tables(self.settings.output).items():
            try:
                hashes = (row.entry.request_hash for row in table.rows())
                self._before |= {key: (tag, table.head.created) for key in hashes if journal.state(key) is None}
            except DataError as error:  # noqa: PERF203 (planning again replaces a damaged table)
                self.problems.append(str(error))

    def ask(self, asked: Ask) -> None:
        hasher = self._hashers[asked.who]
        plan = next((self._before[each] for each in asked.hash(hasher).all if each in self._before), None)
        self.asked_before.update([plan] if plan is not None else ())
        if plan is None or not self._new_only:
            self.planned.add(asked, hasher)


def plan_requests(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    target: Path,
    *,
    origin: requests.Origin,
    limits: requests.Limits = requests.SERVICE,
    new_only: bool = False,
) -> PlanSummary:
    """See `attunebench.api.plan`. DataError is raised for results of other settings, files that cannot be written, and
    a run in progress."""
    if target.name.startswith("_") and target.parent.resolve() == settings.output.resolve():
        raise UsageError(f"{target}: names with a leading _ are reserved in the results folder; choose another.")
    if not (target.name and target.parent.is_dir()):
        raise UsageError("-o must name a file for the requests in an existing folder, such as requests.jsonl.")
    notes: list[str] = []
    settings = settled(settings, notes.append)
    planner = Planner(settings, origin, new_only=new_only, target=target, limits=limits)
    ended = planner.run(conversations, codebook)
    counts = ended.complete_before, ended.written, planner.waiting
    return PlanSummary(planner.planned, *counts, planner.asked_before, planner.problems, notes)


def collect_responses(
    responses: Sequence[Path], results: Path, *, conversations: Path | None = None, codebook: Path | None = None
) -> CollectSummary:
    """See `attunebench.api.collect`; `Path("-")` is stdin."""
    if not (tables := requests.open_tables(results)):
        raise UsageError(f"{results} holds no plan of requests; name the results folder with --results.")
    summary = CollectSummary()
    eventloop.run(_keep(response_files(responses), results, tables, summary))
    summary.problems += summary.collected.damaged
    heads = [tables[tag].head for tag in summary.collected.tags]
    plans: dict[str, list[requests.Head]] = {}
    for head in sorted(heads, key=lambda head: (head.created, head.tag)):
        run = json.dumps([dict(head.settings), head.conversations, head.codebook, head.skip_invalid], sort_keys=True)
        plans.setdefault(run, []).append(head)
    for each in plans.values():
        try:
            _write_results(each, results, summary, conversations, codebook)
        except AttuneBenchError as error:  # noqa: PERF203
            summary.problems.append(str(error))
    summary.problems = list(dict.fromkeys(summary.problems))
    return summary


async def _keep(
    files: Sequence[Path], results: Path, tables: Mapping[str, requests.Table], summary: CollectSummary
) -> None:
    @cache
    def prices_of_plan(tag: str, judge: bool) -> Prices | None:
        with suppress(DataError):
            return prices_for(_settings(tables[tag].head, results), None, judge=judge)[0]
        return None

    def cost(row: requests.Row, reply: Reply) -> float | None:
        """As the reply states it, else by the prices of its plan."""
        if reply.cost is not None:
            return reply.cost
        prices = prices_of_plan(requests.tag_of(row.custom_id) or "", row.entry.judge is not None)
        return prices.cost(reply.usage) if prices is not None else None

    with Journal.open(results) as journal:
        collector = Collector(tables, journal, cost)
        summary.collected = collector.collected
        for path in files:
            summary.files[path] = await collector.take(response_lines(path))
        await collector.finish()


def _settings(head: requests.Head, results: Path) -> RunSettings:
    """The settings of a plan, for this folder. Raises DataError for those of another version."""
    try:
        return RunSettings.model_validate({**head.settings, "output": results})
    except ValidationError:
        version = head.attunebench_version
        raise DataError(f"The plan {head.tag} was made by another version ({version}); use that one.") from None


def _write_results(
    plans: Sequence[requests.Head],
    results: Path,
    summary: CollectSummary,
    conversations: Path | None,
    codebook: Path | None,
) -> None:
    """Results of one run's plans, and what is left of it. Raises AttuneBenchError where they cannot be written."""
    head, tags, collected = plans[-1], [plan.tag for plan in plans], summary.collected
    settings = _settings(head, results)
    summary.conversations = folder = conversations or _found(head.conversations, results, "conversations", "-d")
    if codebook is None:
        codebook = _found(head.codebook, results, "codebook", "--codebook") if head.codebook else codebook_for(folder)
    book = load_codebook(codebook) if codebook is not None else default_codebook()
    talks = list(load_conversations(folder, skip_invalid=head.skip_invalid))
    settings = settled(settings, Observer().warned)
    there = {talk.conversation_id for talk in talks}
    summary.gone |= {name for tag, name in collected.talks if tag in tags} - there
    executor = RequestFiles(settings, head.again)
    ended = executor.run(talks, book)
    summary.written += ended.written
    summary.complete += ended.complete_before
    if executor.requests or executor.waiting:
        summary.left.append(executor)
    if collected.replaced or collected.known:
        # Rewrite results that lacked an answer which a line has brought, now or before a kill.
        again = RequestFiles(settings.model_copy(update={"retry_unanswered": True}), head.again)
        summary.written += again.run(talks, book).written


def _found(stored: str, results: Path, what: str, option: str) -> Path:
    """A path that a table holds. Raises DataError where nothing is there."""
    path = Path(os.path.normpath(results.resolve() / stored))
    if not stored or not path.exists():
        where = f" at {path}" if stored else ""
        raise DataError(f"The plan's {what} cannot be found{where}; use {option}. The answers are kept.")
    return path
