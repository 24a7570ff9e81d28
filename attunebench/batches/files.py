"""`plan` and `collect` as functions: a run's calls into request files, and whatever answers them back. Nothing is sent.

Owns which folder, plan and conversations belong together. Prints nothing; what is said of it is the command's.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import ValidationError

from attunebench.batches.collecting import Collected, Collector, Tables
from attunebench.batches.planning import Planned, older_files, write_plan
from attunebench.batches.requests import SERVICE, Limits, tag_of
from attunebench.batches.responses import response_files, response_lines
from attunebench.batches.rounds import Round, ToAsk, targets_of
from attunebench.batches.table import Head, Row, Table, judges_asked, table_path, table_tags
from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import Conversation, load_conversations
from attunebench.errors import AttuneBenchError, DataError, UsageError
from attunebench.journal import Journal, claim
from attunebench.runner.budget import prices_for
from attunebench.runner.events import Observer
from attunebench.runner.files import prepare_folder
from attunebench.runner.scales import settled
from attunebench.runner.settings import RunSettings

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.runner.results import QuickScores


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the input of a plan lies, for whoever collects its answers: as the user named it, None for what lies in no
    file. `command` plans again."""

    conversations: Path | None = None
    codebook: Path | None = None
    skip_invalid: bool = False
    command: str = ""


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """What a plan came to. `complete` counts (conversation, mode) pairs that had their result, `written` the results
    that the journal had all answers for; `waiting` judges' calls have no draft yet.

    `asked_before` counts requests that earlier plans hold and that are not answered yet, by plan (tag, when it was
    made): they are in this plan too, or left out if that was asked for (`left_out`). `older` are request files of an
    earlier plan that lie beside those of this one.
    """

    planned: Planned
    complete: int
    written: int
    waiting: int
    asked_before: Mapping[tuple[str, str], int]
    left_out: bool
    older: Sequence[Path]
    problems: Sequence[str] = ()
    """Tables of earlier plans that are damaged, in words."""
    notes: Sequence[str] = ()
    """What the results folder has decided where the settings leave something open, in sentences."""


@dataclass(slots=True)
class Left:
    """What is still to be asked of one plan: `requests` by model, `again` of them once more; `waiting` judges' calls
    have no draft yet. `command` plans them."""

    command: str
    requests: Counter[str] = field(default_factory=Counter)
    again: int = 0
    waiting: int = 0


@dataclass(slots=True)
class CollectSummary:
    """What response files came to, together (`collected`) and one by one. `written` and `complete` count results as in
    `PlanSummary`; `changed` and `gone` are conversations with answers that were kept though they are asked otherwise
    now, or are not among the conversations any more. `problems` say what could not be done with the answers.
    """

    files: dict[Path, Collected] = field(default_factory=dict)
    collected: Collected = field(default_factory=Collected)
    written: int = 0
    complete: int = 0
    left: list[Left] = field(default_factory=list)
    changed: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)
    conversations: Path | None = None
    """Where the conversations of the last plan are."""

    @property
    def done(self) -> bool:
        """Whether nothing of the plans that were answered is left to ask."""
        return not (self.left or self.problems)


def plan_requests(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    target: Path,
    *,
    origin: Origin,
    limits: Limits = SERVICE,
    new_only: bool = False,
    quick_scores: QuickScores | None = None,
) -> PlanSummary:
    """Write what a run with these settings would ask now into `target` and files beside it, and results of what the
    journal of `settings.output` has all answers for.

    With `new_only` requests that an earlier plan holds are left out. Raises UsageError, ConfigurationError (an address
    that is none) and DataError (results of other settings, files that cannot be written, a run at work).
    """
    targets_of(settings)
    prepare_folder(settings.output)
    notes: list[str] = []
    settings = settled(settings, notes.append, under_way=judges_asked(settings.output))
    planned = _plan(conversations, settings, codebook, target, origin, limits, new_only, quick_scores)
    return replace(asyncio.run(planned), notes=notes)


async def _plan(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    target: Path,
    origin: Origin,
    limits: Limits,
    new_only: bool,
    quick_scores: QuickScores | None,
) -> PlanSummary:
    folder, em = settings.output, settings.em
    problems: list[str] = []
    with claim(folder, em.provider, em.model, settings.modes), Journal.read(folder) as journal:
        round_ = Round(
            settings,
            codebook,
            conversations,
            journal,
            Observer(),
            quick_scores=quick_scores,
            run_again=origin.command,
        )
        before = _unanswered(folder, journal, problems)
        asked: Counter[tuple[str, str]] = Counter()

        async def asks() -> AsyncIterator[ToAsk]:
            async for ask in round_.asks(again=settings.retry_unanswered, changed_only=True):
                if (plan := before.get(ask.hashed.request)) is not None:
                    asked[plan] += 1
                if plan is None or not new_only:
                    yield ask

        planned = await write_plan(
            round_,
            target,
            conversations=_beside(origin.conversations, folder) or "",
            codebook=_beside(origin.codebook, folder),
            command=origin.command,
            limits=limits,
            asks=asks(),
            skip_invalid=origin.skip_invalid,
        )
    return PlanSummary(
        planned,
        complete=round_.complete,
        written=round_.written,
        waiting=round_.waiting,
        asked_before=asked,
        left_out=new_only,
        older=older_files(target, planned),
        problems=problems,
    )


def _unanswered(folder: Path, journal: Journal, problems: list[str]) -> dict[str, tuple[str, str]]:
    """Requests in earlier tables of which the journal knows nothing: hash → the plan and its time. A table that is
    damaged is a problem and no reason not to plan: that is the remedy."""
    found = {}
    for tag in table_tags(folder):
        with _noting(problems):
            table = Table(table_path(folder, tag))
            for row in table.rows():
                if journal.state(row.request_hash) is None:
                    found[row.request_hash] = (tag, table.head.created)
    return found


def _beside(path: Path | None, folder: Path) -> str | None:
    """The path from the results folder: it stays true where both move, and from wherever it is read."""
    if path is None:
        return None
    try:
        return os.path.relpath(path.resolve(), folder.resolve())
    except ValueError:  # on another drive
        return str(path.resolve())


def collect_responses(
    responses: Sequence[Path],
    results: Path,
    *,
    conversations: Path | None = None,
    codebook: Path | None = None,
    quick_scores: QuickScores | None = None,
) -> CollectSummary:
    """Keep the answers in response files, then write the results that they complete.

    Files and folders of them may be given in any order and again; `Path("-")` is stdin. `conversations` and `codebook`
    are those of the plans where nothing is given. Raises UsageError (no plan in the folder) and DataError (a file that
    cannot be read, a journal that cannot be used); whatever comes after the answers are safe is told in `problems`.
    """
    if not table_tags(results):
        raise UsageError(f"{results} holds no plan whose requests could be answered; name the folder with --results.")
    summary = CollectSummary()
    files = response_files(responses)
    asyncio.run(_keep(files, results, summary))
    summary.problems += summary.collected.damaged
    plans = _plans(results, summary)
    for head, tags in plans:
        with _noting(summary.problems):
            _write_results(head, tags, results, summary, conversations, codebook, quick_scores)
    summary.problems = list(dict.fromkeys(summary.problems))
    return summary


@contextmanager
def _noting(problems: list[str]) -> Iterator[None]:
    """What stands in the way of one plan's results is noted, and the next one's are made."""
    try:
        yield
    except AttuneBenchError as error:
        problems.append(str(error))


async def _keep(files: Sequence[Path], results: Path, summary: CollectSummary) -> None:
    tables = Tables(results)
    with Journal.open(results) as journal:
        collector = Collector(tables, journal, cost_of=_Prices(tables))
        for path in files:
            summary.files[path] = counted = await collector.take(response_lines([path]))
            summary.collected.add(counted)
        summary.collected.add(await collector.finish())


class _Prices:
    """What a reply costs: as it says itself, else by the prices that its plan was given."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._settings: dict[str, RunSettings | None] = {}

    def __call__(self, row: Row, reply: Reply) -> float | None:
        if reply.cost is not None:
            return reply.cost
        tag = tag_of(row.custom_id) or ""
        if tag not in self._settings:
            table = self._tables.of(tag)
            self._settings[tag] = _settings(table.head, Path()) if table is not None else None
        settings = self._settings[tag]
        prices = prices_for(settings, None, judge=row.judge is not None)[0] if settings is not None else None
        return prices.cost(reply.usage) if prices is not None else None


def _settings(head: Head, results: Path) -> RunSettings | None:
    """The settings of a plan, for this folder; None for those of another version."""
    try:
        return RunSettings.model_validate({**head.settings, "output": results})
    except ValidationError:
        return None


def _plans(results: Path, summary: CollectSummary) -> list[tuple[Head, list[str]]]:
    """The plans of which an answer came, those of the same run as one: the newest head, and all tags."""
    groups: dict[str, tuple[Head, list[str]]] = {}
    tables = Tables(results)
    heads = [table.head for tag in summary.collected.tags if (table := tables.of(tag)) is not None]
    for head in sorted(heads, key=lambda head: (head.created, head.tag)):
        same = json.dumps([dict(head.settings), head.conversations, head.codebook, head.skip_invalid], sort_keys=True)
        groups[same] = (head, [*groups.get(same, (head, []))[1], head.tag])
    return list(groups.values())


def _write_results(
    head: Head,
    tags: Sequence[str],
    results: Path,
    summary: CollectSummary,
    conversations: Path | None,
    codebook: Path | None,
    quick_scores: QuickScores | None,
) -> None:
    """Results of one run, and what is left of it. Raises AttuneBenchError for what stands in the way."""
    settings = _settings(head, results)
    if settings is None:
        raise DataError(f"The plan {head.tag} was made by another version ({head.attunebench_version}); use that one.")
    folder = conversations or _found(head.conversations, results, "conversations", "-d")
    summary.conversations = folder
    given = codebook or (_found(head.codebook, results, "codebook", "--codebook") if head.codebook else None)
    path = given or codebook_for(folder)
    book = load_codebook(path) if path else default_codebook()
    talks = list(load_conversations(folder, skip_invalid=head.skip_invalid))
    settings = settled(settings, Observer().warned, under_way=judges_asked(results))
    with claim(results, settings.em.provider, settings.em.model, settings.modes), Journal.read(results) as journal:
        again = head.again
        round_ = Round(settings, book, talks, journal, Observer(), quick_scores=quick_scores, run_again=again)
        asked = asyncio.run(_finish(round_, again, summary))
        there = {talk.conversation_id for talk in talks}
        summary.gone |= {name for tag, name in summary.collected.talks if tag in tags} - there
        tables = [Table(table_path(results, tag)) for tag in tags]
        summary.changed |= _changed(tables, asked, journal) & there
        if summary.collected.mended or summary.collected.known:
            # Results that went without an answer are made anew where a line has brought it, now or before a kill.
            settings = settings.model_copy(update={"retry_unanswered": True})
            round_ = Round(settings, book, talks, journal, Observer(), quick_scores=quick_scores, run_again=again)
            asyncio.run(_mend(round_, summary))


async def _mend(round_: Round, summary: CollectSummary) -> None:
    async for _ in round_.asks(changed_only=True):
        pass
    summary.written += round_.written


async def _finish(round_: Round, command: str, summary: CollectSummary) -> dict[tuple[str, str, int], str]:
    """Write what is done and note what is left: (model, call, ask) → the hash of each request that is open."""
    left = Left(command)
    asked: dict[tuple[str, str, int], str] = {}
    async for ask in round_.asks(changed_only=True):
        left.requests[ask.target.model] += 1
        left.again += ask.open.ask.number > 0
        asked[(ask.target.model, ask.open.call.id, ask.open.ask.number)] = ask.hashed.request
    left.waiting = round_.waiting
    summary.written += round_.written
    summary.complete += round_.complete
    if left.requests or left.waiting:
        summary.left.append(left)
    return asked


def _changed(tables: Sequence[Table], asked: Mapping[tuple[str, str, int], str], journal: Journal) -> set[str]:
    """The conversations of which the journal has answers to what is asked otherwise now."""
    changed = set()
    for row in (row for table in tables if asked for row in table.rows()):
        now = asked.get((row.model, row.call_id, row.ask), row.request_hash)
        if now != row.request_hash and journal.state(row.request_hash) is not None:
            changed.add(row.conversation_id)
    return changed


def _found(stored: str, results: Path, what: str, option: str) -> Path:
    """A path that a table holds. Raises DataError where nothing is there."""
    path = Path(os.path.normpath(results.resolve() / stored))
    if not stored or not path.exists():
        where = f" at {path}" if stored else ""
        raise DataError(f"The {what} of the plan are not there{where}; name them with {option}. The answers are kept.")
    return path
