"""What a run has to do, decided before anything is sent: what is complete, what is new, which votes are owed.

Plans every conversation once to compare hashes, keeps no prompt, and plans a conversation again when its turn comes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError
from attunebench.protocol.calls import Call, Mode
from attunebench.runner.engine import Job
from attunebench.runner.files import ResultFolder
from attunebench.runner.settings import RunSettings
from attunebench.runner.stamps import SCALE, Found, Stamp, Stamping, differences, missing_votes, other_scale
from attunebench.runner.task import Task


@dataclass(frozen=True, slots=True)
class Todo:
    """One conversation in one mode that is not complete. `owed`: judge → turns to vote on, where there is a result;
    `again`: there is a result, and its unanswered items are asked for again."""

    conversation: Conversation
    mode: Mode
    stamp: Stamp
    n_calls: int
    owed: Mapping[str, set[int]] | None = None
    again: bool = False


@dataclass(frozen=True, slots=True)
class Work:
    """All that a run has to do, and how many (conversation, mode) pairs were complete before.

    `differing`: setting → results that were made with another one, so that nothing may be done without `replace`.
    """

    todos: tuple[Todo, ...]
    complete: int
    differing: Mapping[str, int] = field(default_factory=dict)


def stamping(settings: RunSettings, codebook: Codebook, task: Task) -> Stamping:
    """Stamps what a run of the task with these settings makes."""
    return Stamping(
        settings.parameters,
        settings.panas_strategy,
        *task.plan_inputs,
        prompt_set_sha256=task.prompt_set_sha256,
        codebook_sha256=codebook.sha256,
        judged=bool(settings.judges),
        judge_scale=settings.scale,
    )


class Planner:
    """Plans conversations for one task under one run's settings."""

    def __init__(self, settings: RunSettings, codebook: Codebook, folder: ResultFolder, task: Task) -> None:
        self._settings = settings
        self._codebook = codebook
        self._folder = folder
        self._task = task
        self._judges = tuple(judge.model for judge in settings.judges)
        self._stamping = stamping(settings, codebook, task)

    def survey(
        self,
        conversations: Sequence[Conversation],
        seen: Callable[[Sequence[Call]], None] = lambda _: None,
        refused: Callable[[Sequence[Call]], None] = lambda _: None,
    ) -> Work:
        """What is to do, in the order given; `seen` is handed the calls of each job that is, and `refused` those that
        `replace` would make of results with other settings."""
        todos: list[Todo] = []
        differing: dict[str, int] = {}
        # All modes of one conversation before the next one: a run that stops has the same conversations in each mode.
        pairs = [(conversation, mode) for conversation in conversations for mode in self._settings.modes]
        for conversation, mode in pairs:
            existing = self._find(conversation, mode)
            if existing is not None and self._is_complete_unplanned(existing, conversation):
                continue
            calls: Sequence[Call] = self.calls(conversation, mode)
            stamp = self._stamping(calls, conversation.source_sha256)
            named = differences(existing, stamp, judged=bool(self._judges)) if existing else []
            rescaled = other_scale(existing, self._judges, self._settings.scale) if existing else None
            again, owed = False, None
            if existing is not None and not named:
                again = self._settings.retry_unanswered and not existing.answered
                judging = (call.turn for call in calls if call.kind == "judge")
                owed = None if again else missing_votes(existing, self._judges, judging, self._settings.scale)
                if not (again or owed):
                    continue
            if owed is not None:
                calls = self._votes(calls, owed)
            if (named or rescaled) and not self._settings.replace:
                for name in filter(None, (*named, rescaled)):
                    differing[name] = differing.get(name, 0) + 1
                refused(calls)
                continue
            seen(calls)
            todos.append(Todo(conversation, mode, stamp, len(calls), owed, again))
        return Work(tuple(todos), len(pairs) - len(todos), differing)

    def check(self, work: Work, details: str = "") -> Work:
        """The work; raises DataError where results were made with other settings. `details`: sentences about the
        calls that are new."""
        if work.differing:
            raise DataError(self._refusal(work.differing, details))
        return work

    def jobs(self, todos: Iterable[Todo]) -> Iterator[Job]:
        """The jobs, each planned when it is taken."""
        em = self._settings.em
        for todo in todos:
            calls: Sequence[Call] = self.calls(todo.conversation, todo.mode)
            there = todo.owed is not None or todo.again
            identity = (todo.conversation.conversation_id, em.provider, em.model, todo.mode)
            existing = self._folder.read(identity) if there else None
            if existing is None or todo.owed is None:
                yield Job(todo.conversation, todo.mode, calls, before=existing)
                continue
            drafts = {turn["turnNumber"]: turn.get("em_drafted_response") for turn in existing["turns"]}
            votes = self._votes(calls, todo.owed)
            yield Job(todo.conversation, todo.mode, votes, earlier=existing, drafts=drafts)

    def _votes(self, calls: Sequence[Call], owed: Mapping[str, set[int]]) -> list[Call]:
        turns = [owed.get(judge, set()) for judge in self._judges]
        return [call for call in calls if call.judge is not None and call.turn in turns[call.judge]]

    def calls(self, conversation: Conversation, mode: Mode) -> tuple[Call, ...]:
        """All calls of one conversation in one mode."""
        return self._task.plan(conversation, mode, self._codebook, self._settings)

    def _is_complete_unplanned(self, existing: Found, conversation: Conversation) -> bool:
        """Whether there is nothing to do, as far as that shows without the calls: most of a repeated command."""
        if self._judges or not conversation.source_sha256:  # votes need their calls; what is in no file has no digest
            return False
        if self._settings.retry_unanswered and not existing.answered:
            return False
        wanted = self._stamping.unplanned(str(existing.calls_sha256), conversation.source_sha256)
        return existing.plan_sha256 == wanted.plan_sha256 and not differences(existing, wanted, judged=False)

    def _find(self, conversation: Conversation, mode: Mode) -> Found | None:
        em = self._settings.em
        return self._folder.find((conversation.conversation_id, em.provider, em.model, mode))

    def _refusal(self, differing: Mapping[str, int], details: str) -> str:
        names = "; ".join(f"{name}, in {count} result{'s' if count > 1 else ''}" for name, count in differing.items())
        remedy = "Use another results folder, or --replace to make them anew."
        if all(name.startswith(SCALE) for name in differing):
            remedy = (
                "Use --replace to replace these votes and nothing else, another results folder to keep them, or leave "
                "--judge-scale out."
            )
        return (
            f"{self._folder.folder} holds results of {self._settings.em.model} that were made with other settings: "
            f"{names}.{f' {details}' if details else ''} {remedy}"
        )
