"""Results that another framework's log holds → files in a results folder, where nothing that is there is ever replaced.

Knows no framework: a log is read elsewhere and comes in as a `Source`. What it could not finish is listed as a run's
skipped conversations are.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from functools import cache
from pathlib import Path
from typing import Any

from attunebench.errors import DataError
from attunebench.journal import claim
from attunebench.judging import JUDGE_SCALES
from attunebench.prompts import prompt_set_sha256
from attunebench.results.parsing import parse_result
from attunebench.results.schema import VOTE_KEYS, judge_calls_key
from attunebench.runner.files import Identity, ResultFolder, identity_of, prepare_folder, write_json
from attunebench.runner.skipped import SkippedFile

_OF_JUDGES = frozenset(
    ("judge_models", "judge_usage", "judge_api_cost", "rejudged", "scores", *map(judge_calls_key, JUDGE_SCALES))
)
_OF_THE_HOUR = frozenset(("run_timestamp", "duration_seconds", "attunebench_version"))


@dataclass(frozen=True, slots=True)
class Failure:
    """A result that a log does not have: whose it would be, in which epoch, why not, and after how many tries."""

    identity: Identity
    reason: str
    epoch: int | None = None
    tries: int = 1


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
        self._folder = ResultFolder(folder, _filed)
        self._finished: set[Identity] = set()
        self._failures: dict[Identity, tuple[Failure, str]] = {}
        self._planned: set[Hashable] = set()
        self._ended: set[Hashable] = set()

    def take(self, source: Source) -> None:
        """Write what is new in a source.

        Raises DataError, with nothing of the source written, where a result cannot be read or another one of the same
        conversation, provider, model, mode and epoch is there.
        """
        news: dict[Identity, Mapping[str, Any]] = {}
        for result in source.results:
            filed = _checked(result, source)
            there = news.get(filed) or self._folder.read(filed)
            if there is None:
                news[filed] = result
            elif _answers(there) != _answers(result):
                which = "{}, {}/{}, {}".format(*filed)
                if filed in news:
                    raise DataError(
                        f"{source.name} holds two different results of {which}; nothing of it was imported."
                    )
                raise DataError(
                    f"There is another result of {which} in {self._folder.folder} already, and it is never replaced: "
                    f"nothing of {source.name} was imported. Give another folder with --output."
                )
        models = sorted({identity[1:] for identity in map(identity_of, news.values()) if identity})
        with ExitStack() as stack:
            for provider, model, mode in models:
                stack.enter_context(claim(self._folder.folder, provider, model, [mode]))
            for filed, result in news.items():
                write_json(self._folder.place(filed), result)
        self.done.written += len(news)
        self.done.same += len(source.results) - len(news)
        self._planned |= source.planned
        self._ended |= source.ended
        self._finished |= {identity for identity in map(identity_of, source.results) if identity}
        for failure in source.failures:
            self._failures[_with_epoch(failure.identity, failure.epoch)] = failure, source.again
        others = sum(result.get("prompt_set_sha256") != prompt_set_sha256() for result in source.results)
        if others:
            self.done.notes.append(
                f"{source.name}: {others} of {len(source.results)} results were made with other prompts than this "
                "version's (their prompt_set_sha256 says so). They are imported as they are; do not compare them with "
                "new ones."
            )

    def close(self) -> Imported:
        """List what is failed still, once all sources are taken, and take from the list what has its result now."""
        list_of = cache(lambda provider, model: SkippedFile(self._folder.folder, provider, model))
        failed = [found for filed, found in self._failures.items() if self._folder.read(filed) is None]
        for name, provider, model, mode in self._finished - {failure.identity for failure, _ in failed}:
            list_of(provider, model).remove(name, mode)
        for failure, again in failed:
            name, provider, model, mode = failure.identity
            reason = failure.reason if failure.epoch is None else f"epoch {failure.epoch}: {failure.reason}"
            when = datetime.now(timezone.utc).isoformat(timespec="seconds")
            list_of(provider, model).add(name, mode, reason=reason, tries=failure.tries, when=when, again=again)
            self.done.failed[f"{name} ({mode})"] = reason
        self.done.unreached = len(self._planned - self._ended)
        return self.done


def _with_epoch(identity: Identity, epoch: Any) -> Identity:
    """As results and their files are told apart here: epochs of one conversation as if they were modes."""
    return (*identity[:3], f"{identity[3]}_epoch{epoch}") if type(epoch) is int else identity


def _filed(result: Mapping[str, Any]) -> Identity | None:
    identity = identity_of(result)
    return _with_epoch(identity, result.get("epoch")) if identity else None


def _checked(result: Mapping[str, Any], source: Source) -> Identity:
    """Whose result it is. Raises DataError for what is none, or could not be written as JSON."""
    try:
        parse_result(result)
        json.dumps(result, allow_nan=False)
        filed = _filed(result)
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(
            f"{source.name} holds a result that cannot be read ({error}); nothing of it was imported."
        ) from None
    if filed is None:
        raise DataError(f"{source.name} holds a result of another task; nothing of it was imported.")
    return filed


def _answers(result: Mapping[str, Any]) -> dict[str, Any]:
    """A result without what judges say about it, which may be added after it was imported, and without its hour: the
    same replies to the same calls may be in two logs, where an engine keeps replies and is started again."""
    own = {key: value for key, value in result.items() if key not in _OF_JUDGES | _OF_THE_HOUR}
    turns = own.get("turns")
    if isinstance(turns, list):
        named = [turn if isinstance(turn, dict) else {} for turn in turns]
        own["turns"] = [{key: value for key, value in turn.items() if key not in VOTE_KEYS} for turn in named]
    return own
