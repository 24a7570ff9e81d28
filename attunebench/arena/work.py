"""What requests for replies and for verdicts have in common: the work of a run whose output is lines of an arena.

Each model has a file of lines, which is written whole when the run ends or stops; until then, what is paid for is in
the journal."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from attunebench._version import __version__
from attunebench.arena.folder import change_made, lines_file, read_arena, read_lines, write_lines
from attunebench.arena.objects import Line, Reply, Verdict, family_of
from attunebench.coerce import block
from attunebench.errors import DataError, UsageError
from attunebench.journal import claim
from attunebench.journal.entries import prompt_digest, schema_digest
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.arena import Shown
from attunebench.protocol.calls import Call, Record
from attunebench.results.schema import now
from attunebench.runner.events import RunSummary
from attunebench.runner.files import prepare_folder
from attunebench.runner.job import Job, Known, Rules
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.runner.work import Work
from attunebench.text import counted

Key = tuple[str, ...]
_MADE_OF = "made_of"  # the key of a line that holds the digest of the prompt, answer format and parameters behind it


class Planned(NamedTuple):
    """A call with the line that it makes: of the model `name`, known by `key` in its file. `extra` goes into it."""

    name: str
    key: Key
    call: Call
    shown: Shown | None = None
    extra: Mapping[str, Any] = {}


class ArenaWork(Work):
    """The lines of `models` in an arena, by the names under which they stand there; a job is a history or a pair.

    Lines that are there stay. `differing`: those, by file, that were made of other texts, prompts or parameters; they
    are asked for again with `settings.replace`, and incomplete ones with `settings.retry_unanswered`. `only`: of these
    histories."""

    kind: type[Line]
    part: str  # the folder of the files, and the key of arena.json under which it is noted how a model was asked
    templates: tuple[str, ...]

    def __init__(
        self,
        folder: Path,
        settings: RunSettings,
        models: Mapping[str, ModelSettings],
        only: Set[str] | None = None,
    ) -> None:
        super().__init__()
        if settings.shard is not None:
            raise UsageError("An arena is not divided into shards; omit --shard.")
        self.settings, self.arena = settings.model_copy(update={"output": folder}), read_arena(folder)
        self.models, self.warnings = models, self.arena.problems
        # In random order, so that each beginning is a fair sample of all.
        names = sorted(self.arena.histories if only is None else only & self.arena.histories.keys())
        random.Random(f"{settings.order_seed}/arena").shuffle(names)
        self.histories = {name: self.arena.histories[name] for name in names[: settings.limit]}
        self.order = f"{len(self.histories):,} of {counted(len(names), 'history', 'histories')} in random order"
        self.there: dict[str, dict[Key, Any]] = {}
        self._files = {name: lines_file(folder, self.part, name) for name in models}
        for name, path in self._files.items():
            provider = block(block(self.arena.made.get(self.part)).get(name)).get("provider", models[name].provider)
            if provider != models[name].provider and path.is_file():
                raise DataError(
                    f"{path} was made by {name} of the provider {provider}, not {models[name].provider}; use another "
                    "arena, or move the file away."
                )
            there = self.there[name] = {}
            for number, line in enumerate(read_lines(path, self.kind) if path.is_file() else ()):
                key = self.key(line)
                there[key if key not in there else (*key, str(number))] = line  # no line is lost, repeated or not
        self._new: dict[str, dict[Key, Any]] = {}  # of those that were asked

    def keys(self) -> Iterator[Key]:
        """Of all jobs, in their order."""
        raise NotImplementedError

    def plan(self, key: Key) -> list[Planned]:
        """The calls of a job, whether they are done or not."""
        raise NotImplementedError

    def key(self, line: Any) -> Key:
        """What no other line of the file has: its history or pair, then more."""
        raise NotImplementedError

    def line(self, planned: Planned, record: Record, made: Mapping[str, Any]) -> Line | None:
        """What a record comes to, with the keys `made`; None for nothing that could be compared."""
        raise NotImplementedError

    def enter(self, stack: ExitStack) -> None:
        prepare_folder(self.settings.output)
        for model in sorted(self.models.values(), key=lambda each: (each.provider, each.model)):
            stack.enter_context(claim(self.settings.output, model.provider, model.model, ["default"], task=self.part))
        stack.callback(self._save)

    def survey(self) -> Iterator[tuple[Sequence[Call], bool]]:
        pending = 0
        for key in self.keys():
            states = [(each, self._state(each)) for each in self.plan(key)]
            if differing := [each for each, state in states if state == "differing"]:
                self.differing.update(str(self._files[each.name]) for each in differing)
                yield [each.call for each in differing], False
            if due := [each.call for each, state in states if state == "due"]:
                self.todos[key] = None
                pending += len(due)
                yield due, True
            else:
                self.complete += 1
        noun = "reply" if self.kind is Reply else self.part.removesuffix("s")
        asked = f"{counted(pending, noun, self.part)} of {', '.join(self.models)}"
        self.headline = f"{asked} pending in {self.settings.output} ({self.order}); {self.complete:,} complete"

    def check(self, details: str = "") -> None:
        if self.differing:
            files = " and ".join(f"{counted(n, 'line')} of {path}" for path, n in self.differing.items())
            raise DataError(
                f"The texts, the prompts or the parameters behind {files} have changed. {details} --replace requests "
                "them again."
            )

    def jobs(self, rules: Rules, known: Known | None) -> Iterator[Job]:
        for key in tuple(self.todos):
            due = {each.call.id: each for each in self.plan(key) if self._state(each) == "due"}
            calls, shown = [each.call for each in due.values()], {e.call.identity: e.shown for e in due.values()}
            yield Job(key, calls, rules, known=known, assemble=partial(self._lines, due), context=shown)

    def place(self, job: Job) -> Path:
        return self.settings.output / self.part

    def write(self, path: Path, content: Mapping[str, Any]) -> None:
        """Keep the lines until the run ends: each is in the journal already."""
        for name, line in content["lines"]:
            self._new[name][self.key(line)] = line

    def skip(self, job: Job, again: str) -> None:
        """The summary names it, and the next run asks again."""

    def end(self, summary: RunSummary) -> None:
        summary.unreached = len(self.todos) - len(summary.skipped)

    def _state(self, planned: Planned) -> str:
        line = self.there[planned.name].get(planned.key)
        if line is None:
            return "due"
        if (line.model_extra or {}).get(_MADE_OF) not in (None, self._made_of(planned.call)):
            return "due" if self.settings.replace else "differing"
        lacking = getattr(line, "outcome", "answered") != "answered"
        return "due" if lacking and self.settings.retry_unanswered else "done"

    def _made_of(self, call: Call) -> str:
        parameters = json.dumps(self.settings.request_parameters(judge=call.judge is not None), sort_keys=True)
        parts = prompt_digest(call.messages), schema_digest(call.schema), parameters
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]

    def _lines(self, due: Mapping[str, Planned], job: Job) -> dict[str, Any] | None:
        lines = []
        for name, record in job.records.items():
            self._new.setdefault(due[name].name, {})
            made = {"seconds": record.seconds, _MADE_OF: self._made_of(due[name].call), **due[name].extra}
            if (line := self.line(due[name], record, made)) is not None:
                lines.append((due[name].name, line))
        return {"lines": lines} if lines else None

    def _save(self) -> None:
        """Write the files with new lines, in the order of the histories or pairs. Raises DataError."""
        things = self.arena.pairs if self.kind is Verdict else self.arena.histories
        places = {thing: place for place, thing in enumerate(things)}
        for name, new in self._new.items():
            self.there[name] |= new
            lines = self.there[name]
            try:
                ordered = sorted(lines, key=lambda key: (places.get(key[0], len(places)), key))
                if new:
                    write_lines(self._files[name], (lines[key] for key in ordered))
            except OSError as error:
                raise DataError(
                    f"{self._files[name]} cannot be written ({error.strerror or error}); free some space and rerun the "
                    "command: paid replies are in the journal."
                ) from error
            self._note(name)

    def _note(self, name: str) -> None:
        """Note in arena.json how the model was asked."""
        model = self.models[name]
        noted = {
            "provider": model.provider,
            "model": model.model,
            "family": family_of(model.provider, model.model),
            "parameters": self.settings.request_parameters(judge=self.kind is not Reply),
            "prompt_set_sha256": prompt_set_sha256(self.templates),
            "attunebench_version": __version__,
            "timestamp": now(),
            **self.noted(name, self.there[name].values()),
        }
        change_made(self.settings.output, lambda made: {**made, self.part: {**block(made.get(self.part)), name: noted}})

    def noted(self, name: str, lines: Iterable[Any]) -> dict[str, Any]:
        """What else is noted of a model in arena.json; `lines` are all of its file."""
        raise NotImplementedError
