"""`plan` and `collect`: write a run's open calls to request files, and read the answers back. Sends nothing.

Owns which folder, plan and conversations belong together. Prints nothing.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from attunebench import eventloop
from attunebench.backends.providers import unsent
from attunebench.batches.answers import tag_of
from attunebench.batches.collecting import Collected, Collector, Tables
from attunebench.batches.records import response_files, response_lines
from attunebench.batches.requests import (
    SERVICE,
    Head,
    Limits,
    Origin,
    Plan,
    Row,
    Table,
    judges_asked,
    older_files,
    table_path,
    table_tags,
    writing_plan,
)
from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import Conversation, load_conversations
from attunebench.errors import AttuneBenchError, DataError, UsageError
from attunebench.journal import Hasher, Journal
from attunebench.runner.clients import hasher_of, place_of
from attunebench.runner.events import Observer
from attunebench.runner.pricing import KnownPrices, prices_for
from attunebench.runner.run import Run, assembled
from attunebench.runner.scales import settled
from attunebench.runner.settings import RunSettings, check_judges
from attunebench.runner.task import BENCHMARK
from attunebench.runner.work import ConversationWork

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.backends.prices import Prices
    from attunebench.journal import RequestHash
    from attunebench.runner.events import RunSummary, Stop
    from attunebench.runner.job import Open

    Asks = AsyncIterator[tuple[Open, RequestHash]]


@dataclass(slots=True)
class PlanSummary:
    """The outcome of a plan. `complete` counts (conversation, mode) pairs that had a result, `written` the results that
    the journal had all answers for; `waiting` judges' calls have no draft yet.

    `asked_before`: unanswered requests of earlier plans, by plan (tag, when it was made); they are in this one too, or
    `left_out`. `older`: request files of an earlier plan next to those of this one. `problems`: tables of
    earlier plans that are damaged. `notes`: settings that were left open and follow the results folder.
    """

    planned: Plan
    left_out: bool
    complete: int = 0
    written: int = 0
    waiting: int = 0
    asked_before: Counter[tuple[str, str]] = field(default_factory=Counter)
    older: Sequence[Path] = ()
    problems: list[str] = field(default_factory=list)
    notes: Sequence[str] = ()


@dataclass(slots=True)
class Left:
    """What is left of one plan: `requests` by model, `again` of them re-prompts; `waiting` judges' calls
    have no draft yet. `command` plans them."""

    command: str
    requests: Counter[str] = field(default_factory=Counter)
    again: int = 0
    waiting: int = 0


@dataclass(slots=True)
class CollectSummary:
    """The outcome of response files, together (`collected`) and one by one. `written` and `complete` count results as
    in `PlanSummary`; `changed` and `gone` are conversations whose answers were kept although their requests have
    changed, or the conversation is missing now. `problems` say what could not be done with the answers.
    `conversations`: where those of the last plan are."""

    files: dict[Path, Collected] = field(default_factory=dict)
    collected: Collected = field(default_factory=Collected)
    written: int = 0
    complete: int = 0
    left: list[Left] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    conversations: Path | None = None

    @property
    def done(self) -> bool:
        """Whether nothing of the plans that were answered is left to ask."""
        return not (self.left or self.problems)


class RequestFiles:
    """Finishes the jobs that the journal has all answers for, and passes open asks to `take`: a `runner.run.Executor`
    that sends nothing, and needs no key and no price. Raises UsageError and ConfigurationError for what has no address.

    `again`: how many further asks incomplete calls get on demand. `waiting` counts judges' calls without a draft.
    """

    notes: Sequence[str] = ()

    def __init__(
        self, settings: RunSettings, take: Callable[[Run, Asks], Awaitable[None]] | None = None, *, again: int = 0
    ) -> None:
        self.waiting = 0
        self._settings = settings.model_copy(update={"max_cost": None})
        self._take = take
        self._again = again
        places = map(unsent, (settings.em, *settings.judges))
        self._hashers = [hasher_of(place_of(each), settings, judge=who > 0) for who, each in enumerate(places)]

    def run(self, conversations: Sequence[Conversation], codebook: Codebook, run_again: str) -> RunSummary:
        """A run of the benchmark over these conversations by this executor."""
        work = ConversationWork(conversations, self._settings, codebook, BENCHMARK, assembled)
        return eventloop.run(Run(work, self._settings, codebook, Observer(), run_again=run_again).by(self))

    def hashers(self) -> Sequence[Hasher]:
        return self._hashers

    async def enter(self, stack: AsyncExitStack, journal: Journal | None) -> None: ...

    async def prices(self, *, to_show: bool = False) -> KnownPrices:
        return KnownPrices([None] * len(self._hashers))

    async def execute(self, run: Run) -> Stop:
        asks = self._open(run)
        if self._take is not None:
            await self._take(run, asks)
        async for _ in asks:  # what was not taken
            pass
        return ""

    async def _open(self, run: Run) -> Asks:
        for job in run.jobs(again=self._again):
            if job.answered and run.work.is_news(job):
                await run.finish(job)
            self.waiting += len(job.waiting)
            for asked in job.open:
                hashed = run.hashed(asked.call, asked.ask)
                assert hashed is not None, "its replies are kept"
                yield asked, hashed


def plan_requests(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    target: Path,
    *,
    origin: Origin,
    limits: Limits = SERVICE,
    new_only: bool = False,
) -> PlanSummary:
    """See `attunebench.api.plan`. DataError is raised for results of other settings, files that cannot be written, and
    a run in progress."""
    check_judges(settings)
    if not target.name:
        raise UsageError("-o must name a file for the requests, such as requests.jsonl.")
    if target.name.startswith("_") and target.parent.resolve() == settings.output.resolve():
        raise UsageError(f"{target}: names with a leading _ are reserved in the results folder; choose another.")
    notes: list[str] = []
    settings = settled(settings, notes.append, under_way=judges_asked(settings.output))
    summary: PlanSummary | None = None

    async def write(run: Run, asks: Asks) -> None:
        nonlocal summary
        with writing_plan(target, run, origin, limits) as planned:
            summary = PlanSummary(planned, left_out=new_only, notes=notes)
            before = _unanswered(run, summary.problems)
            async for asked, hashed in asks:
                plan = next((before[each] for each in hashed.all if each in before), None)
                summary.asked_before.update([plan] if plan is not None else ())
                if plan is None or not new_only:
                    planned.add(asked, hashed)

    executor = RequestFiles(settings, write, again=1)
    ended = executor.run(conversations, codebook, origin.command)
    assert summary is not None
    summary.complete, summary.written, summary.waiting = ended.complete_before, ended.written, executor.waiting
    summary.older = older_files(target, summary.planned)
    return summary


def _unanswered(run: Run, problems: list[str]) -> dict[str, tuple[str, str]]:
    """Requests in earlier tables without an outcome in the journal: hash → the plan and its time. Planning again
    replaces a damaged table."""
    assert run.journal is not None
    found = {}
    for tag in table_tags(run.settings.output):
        try:
            table = Table(table_path(run.settings.output, tag))
            for row in table.rows():
                if run.journal.state(row.entry.request_hash) is None:
                    found[row.entry.request_hash] = (tag, table.head.created)
        except DataError as error:  # noqa: PERF203
            problems.append(str(error))
    return found


def collect_responses(
    responses: Sequence[Path],
    results: Path,
    *,
    conversations: Path | None = None,
    codebook: Path | None = None,
) -> CollectSummary:
    """See `attunebench.api.collect`; `Path("-")` is stdin."""
    if not table_tags(results):
        raise UsageError(f"{results} holds no plan of requests; name the results folder with --results.")
    summary, tables = CollectSummary(), Tables(results)
    eventloop.run(_keep(response_files(responses), results, tables, summary))
    summary.problems += summary.collected.damaged
    heads = [table.head for tag in summary.collected.tags if (table := tables.of(tag)) is not None]
    plans: dict[str, list[Head]] = {}
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


async def _keep(files: Sequence[Path], results: Path, tables: Tables, summary: CollectSummary) -> None:
    @cache
    def prices_of_plan(tag: str, judge: bool) -> Prices | None:
        table = tables.of(tag)
        settings = _settings(table.head, results) if table is not None else None
        return prices_for(settings, None, judge=judge)[0] if settings is not None else None

    def cost(row: Row, reply: Reply) -> float | None:
        """As the reply states it, else by the prices of its plan."""
        if reply.cost is not None:
            return reply.cost
        prices = prices_of_plan(tag_of(row.custom_id) or "", row.entry.judge is not None)
        return prices.cost(reply.usage) if prices is not None else None

    with Journal.open(results) as journal:
        collector = Collector(tables, journal, cost)
        summary.collected = collector.collected
        for path in files:
            summary.files[path] = await collector.take(response_lines(path))
        await collector.finish()


def _settings(head: Head, results: Path) -> RunSettings | None:
    """The settings of a plan, for this folder; None for those of another version."""
    try:
        return RunSettings.model_validate({**head.settings, "output": results})
    except ValidationError:
        return None


def _write_results(
    plans: Sequence[Head],
    results: Path,
    summary: CollectSummary,
    conversations: Path | None,
    codebook: Path | None,
) -> None:
    """Results of one run's plans, and what is left of it. Raises AttuneBenchError where they cannot be written."""
    head, tags, collected = plans[-1], [plan.tag for plan in plans], summary.collected
    settings = _settings(head, results)
    if settings is None:
        raise DataError(f"The plan {head.tag} was made by another version ({head.attunebench_version}); use that one.")
    summary.conversations = folder = conversations or _found(head.conversations, results, "conversations", "-d")
    book = _codebook(head, results, codebook, folder)
    talks = list(load_conversations(folder, skip_invalid=head.skip_invalid))
    settings = settled(settings, Observer().warned, under_way=judges_asked(results))
    there = {talk.conversation_id for talk in talks}
    summary.gone |= {name for tag, name in collected.talks if tag in tags} - there
    left = Left(head.again)

    async def see(run: Run, asks: Asks) -> None:
        hashes: dict[tuple[str, str, int], str] = {}
        async for asked, hashed in asks:
            model = run.settings.asked(asked.who).model
            left.requests[model] += 1
            left.again += asked.ask.number > 0
            hashes[model, asked.call.identity, asked.ask.number] = hashed.request
        summary.changed |= _asked_otherwise(run, tags, hashes) & there if hashes else set()

    executor = RequestFiles(settings, see)
    ended = executor.run(talks, book, head.again)
    summary.written += ended.written
    summary.complete += ended.complete_before
    left.waiting = executor.waiting
    if left.requests or left.waiting:
        summary.left.append(left)
    if collected.replaced or collected.known:
        # Rewrite results that lacked an answer which a line has brought, now or before a kill.
        settings = settings.model_copy(update={"retry_unanswered": True})
        summary.written += RequestFiles(settings).run(talks, book, head.again).written


def _codebook(head: Head, results: Path, codebook: Path | None, conversations: Path) -> Codebook:
    """The given one, else the plan's."""
    if codebook is None and head.codebook:
        codebook = _found(head.codebook, results, "codebook", "--codebook")
    path = codebook or codebook_for(conversations)
    return load_codebook(path) if path else default_codebook()


def _asked_otherwise(run: Run, tags: Sequence[str], now: Mapping[tuple[str, str, int], str]) -> set[str]:
    """Conversations with answers to these plans whose requests have changed; `now`: (model, call, ask) → hash."""
    assert run.journal is not None
    changed = set()
    for entry in (row.entry for tag in tags for row in Table(table_path(run.settings.output, tag)).rows()):
        request = now.get((entry.model, entry.call_id, entry.ask), entry.request_hash)
        if request != entry.request_hash and run.journal.state(entry.request_hash) is not None:
            changed.add(entry.conversation_id)
    return changed


def _found(stored: str, results: Path, what: str, option: str) -> Path:
    """A path that a table holds. Raises DataError where nothing is there."""
    path = Path(os.path.normpath(results.resolve() / stored))
    if not stored or not path.exists():
        where = f" at {path}" if stored else ""
        raise DataError(f"The plan's {what} cannot be found{where}; use {option}. The answers are kept.")
    return path
