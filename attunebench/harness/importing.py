"""Results that another framework's log holds → files in a results folder, where nothing that is there is ever replaced.

Knows no framework: a log is read elsewhere and comes in as a `Source`. What it could not finish is listed as a run's
skipped conversations are.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attunebench.errors import DataError
from attunebench.journal import claim
from attunebench.judging import JUDGE_SCALES
from attunebench.prompts import prompt_set_sha256
from attunebench.results.parsing import parse_result
from attunebench.results.schema import VOTE_KEYS, judge_calls_key
from attunebench.runner.files import (
    Identity,
    identity_of,
    prepare_folder,
    read_object,
    result_name,
    short_name,
    write_json,
)
from attunebench.runner.results import now
from attunebench.runner.skipped import SkippedFile

Key = tuple[Identity, "int | None"]
"""Whose result it is, and which epoch of it."""

_OF_JUDGES = frozenset(
    ("judge_models", "judge_usage", "judge_api_cost", "rejudged", "scores", *map(judge_calls_key, JUDGE_SCALES))
)
_OF_THE_HOUR = frozenset(("run_timestamp", "duration_seconds", "attunebench_version"))


@dataclass(frozen=True, slots=True)
class Failure:
    """A conversation, in a mode and an epoch, of which a log has no result: why, and after how many tries."""

    conversation_id: str
    provider: str
    model: str
    mode: str
    reason: str
    epoch: int | None = None
    tries: int = 1

    @property
    def key(self) -> Key:
        return (self.conversation_id, self.provider, self.model, self.mode), self.epoch


@dataclass(frozen=True, slots=True)
class Source:
    """What is in one log. `planned` and `ended` name what it was to do and what it came to the end of, in any form in
    which another log of the same evaluation names the same. `again`: the command that asks for the rest."""

    name: str
    results: Sequence[Mapping[str, Any]]
    failures: Sequence[Failure] = ()
    planned: frozenset[Hashable] = frozenset()
    ended: frozenset[Hashable] = frozenset()
    again: str = ""


@dataclass(slots=True)
class Imported:
    """What became of it. `failed`: conversation and mode → why there is no result of it in any log or in the folder;
    `unreached` counts what no log came to the end of."""

    written: int = 0
    same: int = 0
    unreached: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class Importing:
    """Puts sources into one results folder. Raises DataError where the folder cannot be written."""

    def __init__(self, folder: Path) -> None:
        prepare_folder(folder)
        self.done = Imported()
        self._folder = folder
        self._there = {key: path for path in sorted(folder.glob("*.json")) if (key := _key(read_object(path)))}
        self._names = {path.name.casefold() for path in folder.glob("*.json")}
        self._failures: dict[Key, tuple[Failure, Source]] = {}
        self._planned: set[Hashable] = set()
        self._ended: set[Hashable] = set()

    def take(self, source: Source) -> None:
        """Write what is new in a source.

        Raises DataError, with nothing of the source written, where a result cannot be read or another one of the same
        conversation, provider, model, mode and epoch is there.
        """
        news: dict[Key, Mapping[str, Any]] = {}
        same = 0
        for result in source.results:
            key = _checked(result, source)
            there = news.get(key) or (read_object(self._there[key]) if key in self._there else None)
            if there is None:
                news[key] = result
            elif _answers(there) == _answers(result):
                same += 1
            else:
                raise DataError(self._refusal(key, source, within=key in news))
        self._write(news)
        self.done.written += len(news)
        self.done.same += same
        self._planned |= source.planned
        self._ended |= source.ended
        self.done.notes += _notes(source)
        self._failures.update({failure.key: (failure, source) for failure in source.failures})

    def close(self) -> Imported:
        """List what is failed still, once all sources are taken, and take from the list what has its result now."""
        failed = {key: found for key, found in self._failures.items() if key not in self._there}
        of_models = {identity[1:3] for identity, _ in (*self._there, *failed)}
        lists = {of_model: SkippedFile(self._folder, *of_model) for of_model in of_models}
        for identity in {identity for identity, _ in self._there} - {identity for identity, _ in failed}:
            lists[identity[1:3]].remove(identity[0], identity[3])
        for (identity, epoch), (failure, source) in failed.items():
            reason = failure.reason if epoch is None else f"epoch {epoch}: {failure.reason}"
            lists[identity[1:3]].add(
                identity[0], identity[3], reason=reason, tries=failure.tries, when=now(), again=source.again
            )
            self.done.failed[f"{identity[0]} ({identity[3]})"] = reason
        self.done.unreached = len(self._planned - self._ended)
        return self.done

    def _write(self, news: Mapping[Key, Mapping[str, Any]]) -> None:
        with ExitStack() as stack:
            for provider, model, mode in sorted({identity[1:] for identity, _ in news}):
                stack.enter_context(claim(self._folder, provider, model, [mode]))
            for key, result in news.items():
                path = self._folder / self._free_name(key)
                write_json(path, result)
                self._there[key] = path
                self._names.add(path.name.casefold())

    def _free_name(self, key: Key) -> str:
        name = result_file_name(*key)
        if name.casefold() not in self._names:
            return name
        stem, (identity, epoch) = name.removesuffix(".json"), key
        return f"{short_name(f'{stem}_{len(self._names)}', *identity, str(epoch))}.json"

    def _refusal(self, key: Key, source: Source, *, within: bool) -> str:
        (name, provider, model, mode), epoch = key
        which = f"{name}, {provider}/{model}, {mode}{'' if epoch is None else f', epoch {epoch}'}"
        if within:
            return f"{source.name} holds two different results of {which}; nothing of it was imported."
        return (
            f"There is another result of {which} in {self._folder} already, and it is never replaced: nothing of "
            f"{source.name} was imported. Give another folder with --output."
        )


def result_file_name(identity: Identity, epoch: int | None) -> str:
    """The name of a result's file; epochs of one conversation have their number in it."""
    name = result_name(identity)
    return name if epoch is None else f"{name.removesuffix('.json')}_epoch{epoch}.json"


def _key(result: Mapping[str, Any] | None) -> Key | None:
    identity = identity_of(result) if result is not None else None
    if result is None or identity is None:
        return None
    epoch = result.get("epoch")
    return identity, epoch if type(epoch) is int else None


def _checked(result: Mapping[str, Any], source: Source) -> Key:
    """Whose result it is. Raises DataError for what is none, or could not be written as JSON."""
    try:
        parse_result(result)
        json.dumps(result, allow_nan=False)
        key = _key(result)
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(
            f"{source.name} holds a result that cannot be read ({error}); nothing of it was imported."
        ) from None
    if key is None:
        raise DataError(f"{source.name} holds a result of another task; nothing of it was imported.")
    return key


def _answers(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what judges say about it, which may be added after it was imported, and without its hour: the
    same replies to the same calls may be in two logs, where an engine keeps replies and is started again."""
    own = {key: value for key, value in result.items() if key not in _OF_JUDGES | _OF_THE_HOUR}
    turns = own.get("turns")
    if isinstance(turns, list):
        own["turns"] = [
            {key: value for key, value in turn.items() if key not in VOTE_KEYS} if isinstance(turn, dict) else turn
            for turn in turns
        ]
    return own


def _notes(source: Source) -> list[str]:
    others = sum(result.get("prompt_set_sha256") != prompt_set_sha256() for result in source.results)
    if not others:
        return []
    return [
        f"{source.name}: {others} of {len(source.results)} results were made with other prompts than this version's "
        "(their prompt_set_sha256 says so). They are imported as they are; do not compare them with new ones."
    ]
