"""A run in rounds: everything that can be asked now, and the results of what is done. Nothing is sent here.

One `Round` looks at a results folder once: it takes what the journal knows, writes the results of the conversations
whose calls are done, and yields the asks that are open. After their answers are in the journal the next one follows.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attunebench.backends.negotiation import Terms, first_terms
from attunebench.backends.providers import Endpoint, unsent
from attunebench.batches.learning import own_terms
from attunebench.errors import UsageError
from attunebench.journal import Hasher, Journal, RequestHash
from attunebench.protocol.read import expected_items
from attunebench.results.votes import view_of
from attunebench.runner.files import ResultFolder
from attunebench.runner.results import QuickScores, Results, Writing
from attunebench.runner.run import choose
from attunebench.runner.skipped import SkippedFile
from attunebench.runner.task import BENCHMARK, Task
from attunebench.runner.totals import Totals
from attunebench.runner.walk import Open, Walk
from attunebench.runner.work import Planner

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.protocol.calls import Call
    from attunebench.runner.engine import Job
    from attunebench.runner.events import Observer
    from attunebench.runner.replay import Ask
    from attunebench.runner.settings import ModelSettings, RunSettings


@dataclass(frozen=True, slots=True)
class Target:
    """A model that is asked: where, and how its requests are told from others. `terms`: how they are put."""

    endpoint: Endpoint
    hasher: Hasher
    terms: Terms

    @property
    def model(self) -> str:
        return self.endpoint.model

    @property
    def place(self) -> tuple[str, str, str]:
        """(provider, address, model)"""
        return (self.endpoint.provider, self.endpoint.base_url, self.endpoint.model)


@dataclass(frozen=True, slots=True)
class ToAsk:
    """An ask that is open, and for whom."""

    open: Open
    hashed: RequestHash
    target: Target


def targets_of(settings: RunSettings, journal: Journal | None = None) -> list[Target]:
    """The evaluated model, then the judges, with what the journal remembers of their servers. Needs no key.

    Raises UsageError and ConfigurationError for what has no address.
    """

    def target(model: ModelSettings, *, judge: bool = False) -> Target:
        endpoint = unsent(model)
        memory = journal.terms(endpoint.provider, endpoint.base_url, endpoint.model) if journal is not None else None
        hasher = Hasher(
            provider=endpoint.provider,
            base_url=endpoint.base_url,
            model=endpoint.model,
            parameters=settings.request_parameters(judge=judge),
        )
        terms = first_terms(endpoint.provider, settings.structured, memory)
        # A file's answers come in files, whatever the server wants of live requests.
        return Target(endpoint, hasher, replace(terms, given_up=terms.given_up - {"stream"}))

    judges = [judge.model for judge in settings.judges]
    if len(set(judges)) < len(judges):
        raise UsageError("A judge model is given twice; votes are kept by model name, so name each once.")
    return [target(settings.em), *(target(judge, judge=True) for judge in settings.judges)]


class Round:
    """One look at what a run has to do. `journal` is open for as long as the round is used.

    `todo` counts (conversation, mode) pairs without a whole result before it, `complete` the others. After `asks` is
    exhausted: `waiting` judges' calls have no draft yet, `open` asks were yielded, and `written` results were written;
    `writing.totals` counts what they took, `unfinished` what there is of the others.
    """

    def __init__(
        self,
        settings: RunSettings,
        codebook: Codebook,
        conversations: Sequence[Conversation],
        journal: Journal,
        observer: Observer,
        *,
        task: Task = BENCHMARK,
        quick_scores: QuickScores | None = None,
        run_again: str = "",
    ) -> None:
        em = settings.em
        self.settings = settings
        self.targets = targets_of(settings, journal)
        self.open = self.waiting = 0
        self._as_before = 0
        self.unfinished = Totals()
        self._codebook = codebook
        self._journal = journal
        folder = ResultFolder(settings.output, task.identity_of, task.result_name)
        chosen = choose(conversations, settings)
        results = Results(settings, chosen, n_all=len(conversations), task=task, quick_scores=quick_scores)
        skipped = SkippedFile(settings.output, em.provider, em.model, task.name)
        self.writing = Writing(results, settings, folder, skipped, observer, run_again=run_again)
        self._planner = Planner(settings, codebook, folder, task)
        self._work = self._planner.check(self._planner.survey(chosen))

    @property
    def todo(self) -> int:
        return len(self._work.todos)

    @property
    def complete(self) -> int:
        return self._work.complete + self._as_before

    @property
    def written(self) -> int:
        return self.writing.totals.written

    async def asks(self, *, again: bool = False, changed_only: bool = False) -> AsyncIterator[ToAsk]:
        """The open asks, conversation by conversation; results that can be written are, before their asks come.

        With `again` calls whose answers are final and incomplete are asked once more. With `changed_only` a result that
        lacks answers stays where nothing of them is new, and counts as complete. Raises DataError where a result cannot
        be written.
        """
        todos = self._work.todos
        for todo, job in zip(todos, self._planner.jobs(todos), strict=True):
            walk = self._walk(job, again=again)
            # Votes come when they come; the evaluated model's answers make a result without them.
            if changed_only and todo.again and walk.answered and not self._is_changed(job):
                self._as_before += 1
            elif walk.answered and (job.earlier is None or job.records):
                job.owed.update(dict.fromkeys((call.id for call in self._missing(walk)), "it is not answered yet"))
                await self.writing.done(job, todo.stamp)
            else:
                self.writing.count(job, self.unfinished)
            self.waiting += len(walk.waiting)
            self.open += len(walk.open)
            for each in walk.open:
                yield self._to_ask(each)

    def _walk(self, job: Job, *, again: bool) -> Walk:
        settings = self.settings
        return Walk(
            job,
            self._codebook,
            max_tokens=settings.max_tokens,
            max_reasks=settings.max_reasks,
            known=lambda call, ask: self._journal.find(self._hash(call, ask).request),
            again=again,
        )

    def _hash(self, call: Call, ask: Ask) -> RequestHash:
        hasher = self.targets[0 if call.judge is None else call.judge + 1].hasher
        return hasher(call, ask.messages, ask.number)

    def _to_ask(self, each: Open) -> ToAsk:
        hashed, target = self._hash(each.call, each.ask), self.targets[each.who]
        terms = own_terms(target.terms, self._journal, target.place, hashed.request)
        return ToAsk(each, hashed, replace(target, terms=terms))

    @staticmethod
    def _missing(walk: Walk) -> Iterator[Call]:
        yield from walk.waiting
        yield from (each.call for each in walk.open if each.who)

    def _is_changed(self, job: Job) -> bool:
        """Whether the answers of a job come to anything else than those in the result that is there."""
        before: Mapping[str, Any] = job.before or {}
        counted = before.get("calls")
        own = [record for record in job.records.values() if record.call.judge is None]
        answered = sum(len(expected_items(record.call.asked)) - len(record.answer.missing) for record in own)
        now = (answered, sum(record.reasks > 0 for record in own))
        if not isinstance(counted, Mapping) or now != (counted.get("answered_items"), counted.get("reasked")):
            return True
        cast = view_of(before).voted
        judged = (record.call for record in job.records.values() if record.call.judge is not None)
        return any(call.turn not in cast.get(self.settings.judges[call.judge or 0].model, ()) for call in judged)
