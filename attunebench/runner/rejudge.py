"""Judge the drafts of results that are there, with more judges or with the same ones again, and add their votes.

The evaluated model is not asked. Owns the order of things: hold the results, see which votes are due, have them asked,
put them into the files. What a vote changes in a file is settled by `sheets`, how calls are made by the engine.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attunebench import eventloop
from attunebench._version import __version__
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError, UsageError
from attunebench.journal import claim
from attunebench.jsonfile import parse_json
from attunebench.prompts import prompt_set_sha256
from attunebench.runner.asking import hasher
from attunebench.runner.crew import Crew
from attunebench.runner.due import Bought, Desk
from attunebench.runner.engine import Engine, Job
from attunebench.runner.estimate import Counted, Estimate
from attunebench.runner.events import Observer, RunPlan, RunSummary, Silent
from attunebench.runner.pages import Page, find_candidates
from attunebench.runner.pricing import KnownPrices
from attunebench.runner.scales import settled
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.runner.sheets import Marked, applied, marked
from attunebench.runner.splice import Path as Place
from attunebench.runner.splice import spliced
from attunebench.runner.stamps import judge_calls_key
from attunebench.runner.totals import Totals, counted
from attunebench.wholefile import whole_file

if TYPE_CHECKING:
    from attunebench.protocol.calls import Call
    from attunebench.runner.results import QuickScores


def rejudge_settings(results: str | Path, judges: Sequence[ModelSettings], **values: Any) -> RunSettings:
    """The settings of a run into `results` of which the judges alone are asked; `values` as `RunSettings` takes them.

    Raises pydantic's ValidationError for values that fit no run.
    """
    # Whoever asks what it costs gets to hear nothing where nobody costs anything.
    free = all(judge.provider == "baseline" for judge in judges)
    drafts = ModelSettings(provider="baseline" if free else "results", model="drafts")
    return RunSettings(em=drafts, judges=tuple(judges), output=Path(results), **values)


@dataclass(slots=True)
class RejudgeSummary:
    """How judging again ended. `run` has the counts that every run has; a job is one result file.

    `added` counts votes where there was none, `replaced` those in place of an older one, of which `changed` say
    something else and `rescaled` replace one on another scale; `kept` older ones whose judge had no usable answer this
    time. `left`: file → why it was left as it is. `without_draft`, `other_turns`: file → its turns without a draft, and
    those that the conversation does not have. `foreign`: results that hold votes of other judge prompts too, or of
    unknown ones.
    """

    run: RunSummary
    added: int = 0
    replaced: int = 0
    changed: int = 0
    rescaled: int = 0
    kept: int = 0
    left: dict[str, str] = field(default_factory=dict)
    without_draft: dict[str, tuple[int, ...]] = field(default_factory=dict)
    other_turns: dict[str, tuple[int, ...]] = field(default_factory=dict)
    foreign: int = 0


def rejudge_results(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    models: Sequence[str] = (),
    modes: Sequence[str] = (),
    observer: Observer | None = None,
    quick_scores: QuickScores | None = None,
    interruptible: bool = False,
) -> RejudgeSummary:
    """Have the judges of `rejudge_settings` rate the drafts of the results under `settings.output`; add their votes.

    Votes that are there stay; with `settings.replace` a judge of these votes again, and its older vote goes when the
    new one is there. `models` (by name or provider/model) and `modes` narrow. Raises UsageError, DataError (no
    results, or somebody else is at work on them) and ConfigurationError (a judge that cannot be asked); what is written
    by then stays, and the journal keeps what was answered.
    """
    return eventloop.run(
        _Rejudge(settings, codebook, observer or Silent(), quick_scores).run(
            conversations, models, modes, interruptible
        )
    )


def estimate_rejudge(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    models: Sequence[str] = (),
    modes: Sequence[str] = (),
) -> Estimate:
    """The votes that would be asked; what the journal has is counted too. Opens, sends and writes nothing."""
    notes: list[str] = []
    settings = settled(settings, notes.append, within=True)
    candidates, _ = find_candidates(settings.output, models, modes)
    desk, counted = Desk(candidates, conversations, settings, codebook), Counted()
    desk.survey(counted.add)
    return Estimate(jobs=len(desk.todo), complete=desk.complete, counted=counted, notes=tuple(notes))


@dataclass(frozen=True, slots=True)
class _Open:
    """A page whose votes are being asked; `free`: calls whose first reply the journal has."""

    page: Page
    free: frozenset[str]


class _Rejudge:
    """One judging again; lives for one call of `rejudge_results`."""

    def __init__(
        self, settings: RunSettings, codebook: Codebook, observer: Observer, quick_scores: QuickScores | None
    ) -> None:
        self._settings = settings
        self._codebook = codebook
        self._observer = observer
        self._quick_scores = quick_scores
        self._totals = Totals()
        self._counted = Counted()
        self._open: dict[Job, _Open] = {}
        self._marks = {"added": 0, "replaced": 0, "changed": 0, "rescaled": 0, "kept": 0}
        self._journalled = self._foreign = self._ended = 0

    async def run(
        self,
        conversations: Sequence[Conversation],
        models: Sequence[str],
        modes: Sequence[str],
        interruptible: bool,
    ) -> RejudgeSummary:
        started = time.monotonic()
        _check_judges([judge.model for judge in self._settings.judges])
        self._settings = settings = settled(self._settings, self._observer.warned, within=True)
        self._crew = crew = Crew(settings, self._codebook, self._observer, judges_only=True)
        candidates, left = find_candidates(settings.output, models, modes)
        _check_writable(settings.output)
        async with AsyncExitStack() as stack:
            for folder, (provider, model, mode) in sorted({(each.path.parent, each.claim) for each in candidates}):
                stack.enter_context(claim(folder, provider, model, [mode]))
            await crew.settle_in(stack, settings.output)
            hashers = [hasher(backend, settings, judge=True) for backend in crew.backends if backend is not None]
            self._bought = Bought(crew.journal, hashers)
            self._desk = desk = Desk(candidates, conversations, settings, self._codebook)
            desk.left.update(left)
            desk.survey(self._seen)
            if desk.rescaled and not settings.replace:
                raise DataError(self._refusal(await crew.listed_prices()))
            if desk.todo:
                await crew.set_prices()
            engine = crew.engine(self._jobs(), self._done)
            self._observer.started(self._plan())
            await crew.work(engine, interruptible=interruptible)
        summary = self._summary(engine, time.monotonic() - started)
        self._observer.finished(summary.run)
        return summary

    def _refusal(self, known: KnownPrices) -> str:
        """That votes on another scale would be replaced, and what that would cost."""
        desk, settings = self._desk, self._settings
        cost = desk.anew.in_words(known.prices, settings.max_tokens)
        there = " and ".join(sorted(desk.rescaled))
        return (
            f"{settings.output} holds {sum(desk.rescaled.values()):,} votes of {', '.join(desk.judges)} on the {there} "
            f"scale. {cost} --replace replaces them by votes on the {settings.scale} scale, and --judge-scale {there} "
            "keeps them."
        )

    def _seen(self, calls: Sequence[Call]) -> None:
        placed, free = self._bought.placed(calls)
        self._counted.add(placed)
        self._journalled += len(free)

    def _jobs(self) -> Iterator[Job]:
        """The jobs, each read when it is taken."""
        for candidate in self._desk.todo:
            page = self._desk.page(candidate)
            if page is None:
                self._ended += 1
                continue
            calls, free = self._bought.placed(self._desk.due(page))
            job = Job(page.conversation, page.mode, calls, earlier=page.sheet.data)
            self._open[job] = _Open(page, free)
            yield job

    async def _done(self, job: Job) -> None:
        """The votes of a result are in, or owed."""
        opened = self._open.pop(job)
        self._ended += 1
        self._count(job)
        self._totals.votes_owed += len(job.owed)
        if job.calls and not job.records:
            return
        records = [job.records[call.id] for call in job.calls if call.id in job.records]
        page = opened.page
        marks = marked(page.sheet, records, self._desk.judges, opened.free)
        for name in self._marks:
            self._marks[name] += getattr(marks, name)
        if not marks.changes:
            return
        changes = self._changes(page, marks, len(records))
        if reason := await asyncio.to_thread(_write, page, changes):
            self._desk.left[page.candidate.name] = reason
            return
        self._totals.written += 1
        self._observer.written(page.candidate.conversation_id, page.mode, page.candidate.path)

    def _count(self, job: Job) -> None:
        for record in job.records.values():
            self._totals.add(record, self._desk.judges[record.call.judge or 0])

    def _changes(self, page: Page, marks: Marked, asked: int) -> dict[Place, Mapping[str, Any]]:
        """What is to change in the file: the votes, and what follows from them."""
        data, sheet, top = page.sheet.data, page.sheet, dict(marks.changes.get((), {}))
        scale, key = self._settings.scale, judge_calls_key(self._settings.scale)
        alike = sum(sheet.scale(judge, turn) == scale for judge in sheet.voters for turn in sheet.votes)
        if data.get(key) != page.judge_calls_sha256 and page.judge_calls_sha256 is not None:
            if alike == marks.replaced - marks.rescaled:  # none is left that was asked otherwise
                top[key] = page.judge_calls_sha256
            else:
                self._foreign += 1
        earlier = data.get("rejudged")
        top["rejudged"] = [*(earlier if isinstance(earlier, list) else ()), self._note(marks, asked)]
        # The block of somebody else's scores is not ours to compute.
        if self._quick_scores is not None and isinstance(data.get("scores"), dict) and "attunebench_version" in data:
            top["scores"] = dict(self._quick_scores(page.conversation, marks.data))
        return {**marks.changes, (): top}

    def _note(self, marks: Marked, asked: int) -> dict[str, Any]:
        """How these votes were made, for the file."""
        parameters = {name: value for name, value in self._settings.parameters.items() if name != "panas_strategy"}
        parameters["judge_scale"] = self._settings.scale
        return {
            "timestamp": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "attunebench_version": __version__,
            "judge_providers": {judge.model: judge.provider for judge in self._settings.judges},
            "parameters": parameters,
            "prompt_set_sha256": prompt_set_sha256(),
            "codebook_sha256": self._codebook.sha256,
            "votes": asked,
            "replaced": marks.replaced,
        }

    def _plan(self) -> RunPlan:
        desk, settings, crew = self._desk, self._settings, self._crew
        counted, costs = self._counted, crew.costs and bool(desk.todo)
        calls = sum(kind.calls for kind in counted.kinds())
        votes = "1 vote" if calls == 1 else f"{calls:,} votes"
        results = "1 result" if len(desk.todo) == 1 else f"{len(desk.todo):,} results"
        return RunPlan(
            jobs=len(desk.todo) + desk.complete,
            complete=desk.complete,
            calls=calls,
            order=desk.order,
            spending=crew.spending,
            prompt_tokens=counted.prompt_tokens if costs else None,
            price=counted.price(crew.prices.prices, settings.max_tokens) if costs else None,
            price_source=crew.prices.source,
            journalled=self._journalled,
            notes=[*self._replacing(), *crew.payers],
            headline=f"{votes} of {', '.join(desk.judges)} to ask for, on the drafts of {results} in {settings.output} "
            f"({desk.order}); {desk.complete} complete",
        )

    def _replacing(self) -> list[str]:
        """That votes on another scale are about to be replaced."""
        return [
            f"{count:,} of these votes replace votes on the {scale} scale."
            for scale, count in self._desk.rescaled.items()
        ]

    def _summary(self, engine: Engine, seconds: float) -> RejudgeSummary:
        for job in engine.open:  # what was answered of the results that a stop has left unfinished
            self._count(job)
        totals, desk = self._totals, self._desk
        run = RunSummary(
            **counted(totals, self._crew.spending),
            jobs=len(desk.todo) + desk.complete,
            written=totals.written,
            complete_before=desk.complete,
            skipped={},
            votes_owed=totals.votes_owed,
            seconds=seconds,
            interrupted=engine.stopped == "interrupted",
            output=self._settings.output,
            stopped=engine.stopped,
            unreached=len(desk.todo) - self._ended,
        )
        return RejudgeSummary(
            run,
            **self._marks,
            left=desk.left,
            without_draft=desk.without_draft,
            other_turns=desk.other_turns,
            foreign=self._foreign,
        )


def _check_judges(names: Sequence[str]) -> None:
    """Raises UsageError where nobody is asked, or somebody twice."""
    if not names:
        raise UsageError("No judge is named; give at least one with --judge-model.")
    if len(set(names)) < len(names):
        raise UsageError("A judge model is given twice; votes are kept by model name, so name each once.")


def _check_writable(folder: Path) -> None:
    """Raises DataError where results could not be written, before anything has been paid for."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".attunebench-"):
            pass
    except OSError as error:
        raise DataError(
            f"The results in {folder} cannot be written ({error.strerror or error}); votes are added to them, so make "
            "the folder writable or judge a copy of it."
        ) from error


def _write(page: Page, changes: Mapping[Place, Mapping[str, Any]]) -> str:
    """Put the changes into the file, whole or not at all; "" where that was done, else why the file stays as it is."""
    path = page.candidate.path
    try:
        if path.read_bytes() != page.raw:
            return "it was changed while its drafts were judged; the same command puts the votes in"
        byte_order_mark = b"\xef\xbb\xbf" if page.raw.startswith(b"\xef\xbb\xbf") else b""
        text = spliced(page.raw.decode("utf-8-sig"), changes)
        # Half a surrogate pair in a name is no reason to lose a vote: it is escaped.
        data = byte_order_mark + text.encode("utf-8", "backslashreplace")
        if parse_json(data, lenient=True) != applied(page.sheet.data, changes):
            return "its JSON is laid out so that votes cannot be put in"
        with whole_file(path) as file:
            file.write(data)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror or error}); make room, and repeat the command: what was "
            "answered is kept."
        ) from error
    return ""
