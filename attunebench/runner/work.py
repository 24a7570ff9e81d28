"""What a run has to do, what it asks, and what becomes of the answers; decided before anything is sent. Every
conversation is planned once to compare hashes, and again when its turn comes, so that no prompt is held."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError
from attunebench.journal import claim
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import Call, Mode, Record
from attunebench.protocol.plan import plan_conversation, plan_warnings
from attunebench.results.assemble import assemble
from attunebench.results.schema import Stamp, now
from attunebench.results.votes import View, drafts_of, view_of, with_votes
from attunebench.runner import files
from attunebench.runner.events import RunSummary
from attunebench.runner.fingerprint import SCALE, Stamping, differences, other_scale
from attunebench.runner.job import Job, Known, Rules
from attunebench.runner.order import journal_name, order_words, part_of, stratified_order
from attunebench.runner.settings import RunSettings


class Task:
    """What is asked of each conversation and mode, and what becomes of the answers: the benchmark (spec 03). Other
    tasks override what they do otherwise."""

    name: str = ""
    """"" for the benchmark itself; else what keeps this task's lists and locks apart from those of others."""
    plan_inputs: tuple[str, ...] = ()
    """What its plans depend on beside conversation, templates, codebook and settings, as texts."""

    @property
    def prompt_set_sha256(self) -> str:
        return prompt_set_sha256()

    def plan(
        self, conversation: Conversation, mode: Mode, codebook: Codebook, settings: RunSettings
    ) -> tuple[Call, ...]:
        """All calls of a conversation in a mode, judges' calls among them. UsageError for settings that do not fit."""
        return plan_conversation(
            conversation,
            mode,
            codebook,
            judges=len(settings.judges),
            panas_strategy=settings.panas_strategy,
            judge_scale=settings.scale,
        )

    def warnings(self, conversations: Sequence[Conversation], codebook: Codebook) -> tuple[str, ...]:
        return plan_warnings(conversations, codebook)

    def assemble(
        self, conversation: Conversation, mode: Mode, records: Mapping[str, Record], facts: Mapping[str, Any]
    ) -> dict[str, Any]:
        """The content of the result file. `turns` is a list of objects with `turnNumber`, a draft and votes."""
        return assemble(conversation, mode, records, facts)


BENCHMARK = Task()


def with_scores(result: dict[str, Any], conversation: Conversation) -> dict[str, Any]:
    """The result with its `scores` block computed; one without such a block, or written by others, stays as it is."""
    if not isinstance(result.get("scores"), dict) or "attunebench_version" not in result:
        return result
    from attunebench.scorer.conversation import quick_scores  # numpy is not loaded before the first result

    return {**result, "scores": quick_scores(conversation, result)}


@dataclass(frozen=True, slots=True)
class Todo:
    """One conversation in one mode that is not complete. `votes`: its result lacks only votes; `again`: its unanswered
    items are asked again."""

    conversation: Conversation
    mode: Mode
    stamp: Stamp
    votes: bool = False
    again: bool = False


class Work:
    """What there is to do, and where its output is written. `made`: jobs with output.

    After `survey`: `todos` by job, `complete` counts what is done, `differing` is not empty where existing files
    conflict; `order`, `headline` ("" for that of a run), `notes` and `warnings` are for the user."""

    def __init__(self) -> None:
        self.todos: dict[tuple[str, ...], Any] = {}
        self.complete = 0
        self.differing: Counter[str] = Counter()
        self.made: set[tuple[str, ...]] = set()
        self.order = self.headline = ""
        self.notes: Sequence[str] = ()
        self.warnings: Sequence[str] = ()

    def enter(self, stack: ExitStack) -> str | None:
        """Lock the folder until `stack` closes; the name of the journal's part, None for the whole. Raises
        DataError."""
        raise NotImplementedError

    def survey(self) -> Iterator[tuple[Sequence[Call], bool]]:
        """Find what there is to do: the calls of each job, and whether they may be made (else they are `differing`)."""
        raise NotImplementedError

    def check(self, details: str = "") -> None:
        """Raises DataError where something is `differing`; `details`: sentences on what redoing it would take."""

    def jobs(self, rules: Rules, known: Known | None) -> Iterator[Job]:
        """Every job that is not done, planned when it is yielded. `Job.assemble` makes what is written."""
        raise NotImplementedError

    def is_news(self, job: Job) -> bool:
        """Whether the job's answers give anything else than what was written of it before."""
        return bool(job.records)

    def place(self, job: Job) -> Path:
        raise NotImplementedError

    def write(self, path: Path, content: Mapping[str, Any]) -> None:
        """Write what `Job.assemble` made, in a thread of its own. Raises DataError."""
        files.write_json(path, content)

    def written(self, job: Job) -> None:
        """The job's output is on disk; a job with calls left stays in `todos`."""
        if not job.left:
            del self.todos[job.key]

    def skip(self, job: Job, again: str) -> None:
        """Note that the job failed; `again` is the command that asks again."""

    def end(self, summary: RunSummary) -> None:
        """Fill in what the summary says of the folder."""
        summary.unreached = len(self.todos)


class ConversationWork(Work):
    """The results of `settings.em` on conversations. `assemble` makes the content of a result; without it others do
    what there is to do, each of whom locks its part. `differing` maps a setting to the results that were made with
    another one."""

    def __init__(
        self,
        conversations: Sequence[Conversation],
        settings: RunSettings,
        codebook: Codebook,
        task: Task,
        assemble: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        super().__init__()
        # Seeded and stratified, so that each beginning is a fair sample of all.
        self._whole = stratified_order(conversations, settings.order_seed)[: settings.limit]
        # The conversations in the order of the run; of a shard its own, once it is entered.
        self.chosen: Sequence[Conversation] = self._whole
        self._n_all = len(conversations)
        self._positions = {each.conversation_id: place for place, each in enumerate(self._whole)}
        self._settings, self._codebook, self._task, self._assemble = settings, codebook, task, assemble
        self._judges = tuple(judge.model for judge in settings.judges)
        self._stamping = Stamping(settings, codebook, task)

    def enter(self, stack: ExitStack) -> str | None:
        settings, em, task = self._settings, self._settings.em, self._task
        files.prepare_folder(settings.output)
        if self._assemble is None:
            self.look()
            return None
        shard = settings.shard.name if settings.shard else None
        stack.enter_context(claim(settings.output, em.provider, em.model, settings.modes, shard, task=task.name))
        self._skipped = files.SkippedFile(settings.output, em.provider, em.model, task.name, shard=shard or "")
        self.look(note=True)
        for identity in self._identities():  # settled by all shards alike
            self._folder.place(identity)
        return shard and journal_name(settings, shard, task.name)

    def look(self, *, note: bool = False) -> None:
        """Read what is in the folder, without locking it. `note`: write down what is dealt to shards."""
        settings = self._settings
        if settings.shard:
            self.chosen = part_of(self._whole, settings.shard, settings.output, note=note)
        task = self._task.name
        self._folder = files.ResultFolder(settings.output, partial(files.identity_of, task=task), task)

    def survey(self) -> Iterator[tuple[Sequence[Call], bool]]:
        settings, shard = self._settings, self._settings.shard
        part = f"shard {shard.number} of {shard.of}, {len(self.chosen)} conversations of" if shard else ""
        self.order = order_words(len(self._whole), self._n_all, settings.order_seed, part)
        self.warnings = self._task.warnings(self.chosen, self._codebook)
        # All modes of one conversation before the next one: a run that stops has the same conversations in each mode.
        for conversation in self.chosen:
            for mode in settings.modes:
                yield from self._survey(conversation, mode)

    def check(self, details: str = "") -> None:
        if not self.differing:
            return
        counts = self.differing.items()
        names = "; ".join(f"{name}, in {count} result{'s' if count > 1 else ''}" for name, count in counts)
        remedy = "Use another results folder, or --replace to redo them."
        if all(name.startswith(SCALE) for name in self.differing):
            remedy = (
                "Use --replace to replace only these votes, use another results folder to keep them, or omit "
                "--judge-scale."
            )
        raise DataError(
            f"{self._folder.folder} holds results of {self._settings.em.model} that were made with other settings: "
            f"{names}.{f' {details}' if details else ''} {remedy}"
        )

    def jobs(self, rules: Rules, known: Known | None) -> Iterator[Job]:
        for key, todo in tuple(self.todos.items()):
            calls: Sequence[Call] = self._plan(todo.conversation, todo.mode)
            drafts = None
            if todo.votes and (there := self._result_of(todo)) is not None:
                drafts, calls = drafts_of(there), self._missing(calls, view_of(there))
            content = partial(self._content, todo)
            yield Job(key, calls, rules, known=known, drafts=drafts, assemble=content, context=todo.conversation)

    def is_news(self, job: Job) -> bool:
        todo = self.todos[job.key]
        before = self._result_of(todo) if todo.again else None
        return bool(job.records) if before is None else not files.same_answers(before, self._content(todo, job))

    def place(self, job: Job) -> Path:
        return self._folder.place(self._identity(*job.key))

    def written(self, job: Job) -> None:
        self._skipped.remove(*job.key)
        if not (job.left or self.todos[job.key].again):  # asked again, more may come, and only changes are written
            del self.todos[job.key]

    def skip(self, job: Job, again: str) -> None:
        self._skipped.add(*job.key, reason=job.failed or "", tries=job.tries, when=now(), again=again)

    def end(self, summary: RunSummary) -> None:
        settings, identities = self._settings, self._identities()
        if not summary.stopped:  # what was asked again without anything new is as complete as it was
            left = [key for key, todo in self.todos.items() if todo.again and key not in self.made]
            summary.complete_before += sum(f"{name} ({mode})" not in summary.skipped for name, mode in left)
        summary.unreached = summary.jobs - summary.complete_before - summary.written - len(summary.skipped)
        reached = (summary.complete_before + summary.written) // len(settings.modes)
        if summary.stopped and reached:
            sample = f"a random sample stratified by topic and diagnosis (seed {settings.order_seed})"
            summary.sample = f"{reached} of {self._n_all} conversations, {sample}"
        summary.whole = (sum(self._folder.place(each).exists() for each in identities), len(identities))

    def _identity(self, name: str, mode: str) -> files.Identity:
        return name, self._settings.em.provider, self._settings.em.model, mode

    def _identities(self) -> list[files.Identity]:
        """The results of all shards of a run in its order; none where there is one process for all of it."""
        names = [each.conversation_id for each in self._whole] if self._settings.shard is not None else []
        return [self._identity(name, mode) for name in names for mode in self._settings.modes]

    def _result_of(self, todo: Todo) -> Mapping[str, Any] | None:
        identity = self._identity(todo.conversation.conversation_id, todo.mode)
        return self._folder.read(identity) if todo.votes or todo.again else None

    def _content(self, todo: Todo, job: Job) -> dict[str, Any]:
        assert self._assemble is not None
        there, conversation = self._result_of(todo), todo.conversation
        if todo.votes and there is not None:
            result = {**with_votes(there, job.records.values(), self._judges), **todo.stamp.as_keys}
            return with_scores(result, conversation)
        place = self._positions[conversation.conversation_id], self._n_all
        return self._assemble(job, conversation, self._settings, todo.stamp, place, task=self._task, before=there)

    def _survey(self, conversation: Conversation, mode: Mode) -> Iterator[tuple[Sequence[Call], bool]]:
        settings = self._settings
        existing = self._folder.views.get(self._identity(conversation.conversation_id, mode))
        if existing is not None and self._is_complete_unplanned(existing, conversation):
            self.complete += 1
            return
        calls: Sequence[Call] = self._plan(conversation, mode)
        stamp = self._stamping(calls, conversation.source_sha256)
        votes = again = False
        others: list[str] = []
        if existing is not None:
            others = differences(existing, stamp)
            if not others:
                again = settings.retry_unanswered and not existing.answered
                votes = not again
                calls = self._missing(calls, existing) if votes else calls
                if not calls:
                    self.complete += 1
                    return
            others += other_scale(existing, self._judges, settings.scale)
        if allowed := settings.replace or not others:
            self.todos[conversation.conversation_id, mode] = Todo(conversation, mode, stamp, votes, again)
        else:
            self.differing.update(others)
        yield calls, allowed

    def _missing(self, calls: Sequence[Call], there: View) -> list[Call]:
        """The judges' calls whose votes on the settings' scale are missing, where there is a draft."""
        voted = [there.voted.get(judge, {}) for judge in self._judges]
        judging = (call for call in calls if call.judge is not None and call.turn in there.drafted)
        return [call for call in judging if voted[call.judge or 0].get(call.turn) != self._settings.scale]

    def _plan(self, conversation: Conversation, mode: Mode) -> tuple[Call, ...]:
        return self._task.plan(conversation, mode, self._codebook, self._settings)

    def _is_complete_unplanned(self, existing: View, conversation: Conversation) -> bool:
        """Whether there is nothing to do, as far as that shows without the calls: most of a repeated command."""
        if self._judges or not conversation.source_sha256:  # votes need their calls; what is in no file has no digest
            return False
        if self._settings.retry_unanswered and not existing.answered:
            return False
        plan, wanted = existing.stamp.plan_sha256, replace(existing.stamp, parameters=self._settings.parameters)
        return plan == self._stamping.plan_sha256(conversation.source_sha256) and not differences(existing, wanted)
