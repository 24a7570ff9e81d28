"""Logs of other frameworks → files in a results folder, where existing files are never replaced. Results are imported
unchanged; samples without one are listed like a run's skipped conversations."""

from __future__ import annotations

import json
import shlex
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attunebench.errors import DataError, UsageError
from attunebench.harness.common import STORE, model_named
from attunebench.journal import claim
from attunebench.jsonfile import parse_json
from attunebench.judging import JUDGE_SCALES
from attunebench.prompts import prompt_set_sha256
from attunebench.results.parsing import parse_result
from attunebench.results.schema import VOTE_KEYS, judge_calls_key, now
from attunebench.runner.files import Identity, ResultFolder, SkippedFile, identity_of, prepare_folder, write_json
from attunebench.text import printable

_NOT_READ = {"events", "messages", "attachments", "timelines", "events_data"}  # parts of an Inspect log
_NO_LOGS = {"eval-set.json", "logs.json"}  # what Inspect writes beside the logs of an evaluation set
_NO_ANSWERS = {"judge_models", "judge_usage", "judge_api_cost", "rejudged", "scores", *VOTE_KEYS}
_NO_ANSWERS |= {"run_timestamp", "duration_seconds", "attunebench_version", *map(judge_calls_key, JUDGE_SCALES)}
"""What judges say about a result, which may be added after it was imported, and its time: two logs may hold the same
replies, where an engine caches them and is restarted."""


Failures = dict[tuple[Identity, "int | None"], dict[str, Any]]
"""(whose result, epoch) that a log does not have → what `SkippedFile.add` is told of it: reason, tries, again."""


@dataclass(frozen=True, slots=True)
class Source:
    """What is in one log. `ended`: sample, by a name that it has in all logs of an evaluation → whether it ended."""

    name: str
    results: Sequence[Mapping[str, Any]]
    failures: Failures = field(default_factory=dict)
    ended: Mapping[Hashable, bool] = field(default_factory=dict)


class ForeignLogError(DataError):
    """A readable log of another task."""


class Importing:
    """Puts sources into one results folder. Raises DataError where the folder cannot be written. Counts results that
    were `written`, and those that were the `same` as existing ones. After `close`, `failed` maps conversation and mode
    to why there is no result anywhere, and `unreached` counts what no log came to the end of."""

    def __init__(self, folder: Path) -> None:
        prepare_folder(folder)
        self.written = self.same = self.unreached = 0
        self.failed: dict[str, str] = {}
        self.notes: list[str] = []
        self._folder = ResultFolder(folder, _identity_with_epoch)
        self._finished: set[Identity] = set()
        self._failures: Failures = {}
        self._ended: dict[Hashable, bool] = {}

    def take(self, source: Source) -> None:
        """Write what is new in a source. Raises DataError, with nothing of it written, where a result cannot be read or
        another one of the same conversation, provider, model, mode and epoch is there."""
        new: dict[Identity, Mapping[str, Any]] = {}
        for result in source.results:
            identity = _checked(result, source)
            there = new.get(identity) or self._folder.read(identity)
            if there is None:
                new[identity] = result
            elif _answers(there) != _answers(result):
                place = source.name if identity in new else self._folder.folder
                raise DataError(
                    f"Nothing of {source.name} was imported: another result of {'{}, {}/{}, {}'.format(*identity)} "
                    f"exists in {place}, and results are never replaced. Name another folder with --output."
                )
        identities = {identity for identity in map(identity_of, source.results) if identity}
        with ExitStack() as stack:
            for provider, model, mode in sorted({identity[1:] for identity in identities if new}):
                stack.enter_context(claim(self._folder.folder, provider, model, [mode]))
            for identity, result in new.items():
                write_json(self._folder.place(identity), result)
        self.written += len(new)
        self.same += len(source.results) - len(new)
        self._finished |= identities
        self._failures |= source.failures
        self._ended |= {name: ended or self._ended.get(name, False) for name, ended in source.ended.items()}
        if others := sum(result.get("prompt_set_sha256") != prompt_set_sha256() for result in source.results):
            self.notes.append(
                f"{source.name}: {others} of {len(source.results)} results were made with other prompts than this "
                "version's (prompt_set_sha256). They are imported unchanged; do not compare them with new ones."
            )

    def close(self) -> Importing:
        """Once all sources are read, list what still failed, and remove from the list what has a result now."""
        failed = {key: how for key, how in self._failures.items() if self._folder.read(_with_epoch(*key)) is None}
        missing = {identity for identity, _ in failed}
        models = {identity[1:3] for identity in self._finished | missing}
        lists = {names: SkippedFile(self._folder.folder, *names) for names in models}
        for name, provider, model, mode in self._finished - missing:
            lists[provider, model].remove(name, mode)
        for ((name, provider, model, mode), _), how in failed.items():
            lists[provider, model].add(name, mode, when=now(), **how)
            self.failed[f"{name} ({mode})"] = how["reason"]
        self.unreached = [*self._ended.values()].count(False)
        return self


def _with_epoch(identity: Identity, epoch: Any) -> Identity:
    """As results and their files are distinguished here: epochs of one conversation as if they were modes."""
    return (*identity[:3], f"{identity[3]}_epoch{epoch}") if type(epoch) is int else identity


def _identity_with_epoch(result: Mapping[str, Any]) -> Identity | None:
    identity = identity_of(result)
    return _with_epoch(identity, result.get("epoch")) if identity else None


def _checked(result: Mapping[str, Any], source: Source) -> Identity:
    """Whose result it is. Raises DataError for what is none, or could not be written as JSON."""
    try:
        parse_result(result)
        json.dumps(result, allow_nan=False)
        if identity := _identity_with_epoch(result):
            return identity
        raise ValueError("it belongs to another task")
    except (ValueError, TypeError, RecursionError) as error:
        raise DataError(f"{source.name} holds a result that cannot be read ({error}): nothing was imported.") from None


def _answers(block: Any) -> Any:
    """A result, or a turn of one, without `_NO_ANSWERS`."""
    if not isinstance(block, Mapping):
        return block
    own = {name: value for name, value in block.items() if name not in _NO_ANSWERS}
    return {**own, "turns": [*map(_answers, own["turns"])]} if isinstance(own.get("turns"), list) else own


def log_files(places: Sequence[Path], patterns: Sequence[str], hint: str) -> Iterator[tuple[Path, bool]]:
    """The files at these places, each with whether it was named itself. UsageError, with the `hint`: there are none."""
    for place in places:
        found = {path for pattern in patterns for path in place.rglob(pattern) if path.is_file()}
        files = [place] if place.is_file() else sorted(path for path in found if path.name not in _NO_LOGS)
        if not files:
            raise UsageError(f"There is no log in {place}; {hint}.")
        yield from ((path, place.is_file()) for path in files)


def read_inspect_log(path: Path) -> Source:
    """What is in an Inspect log. Raises UsageError without Inspect, DataError for a file that is no log of ours."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise UsageError('An Inspect log requires inspect_ai: pip install ".[inspect]" in the checkout.') from None
    if path.suffix not in (".eval", ".json"):
        raise DataError(f"{path} is not an Inspect log, which ends in .eval or .json.")
    try:
        log = read_eval_log(str(path), exclude_fields=_NOT_READ)
    except Exception as error:  # whatever a damaged archive or a foreign JSON makes Inspect raise
        raise DataError(
            f"{path} cannot be read as an Inspect log ({printable(f'{type(error).__name__}: {error}', 200)}). If its "
            f"evaluation was killed, `inspect log recover {shlex.quote(str(path))}` may repair it."
        ) from None
    samples, names = log.samples or [], filter(None, (log.eval.task_registry_name, log.eval.task))
    if not any(STORE in each.store for each in samples) and "attunebench" not in {n.split("/")[-1] for n in names}:
        raise ForeignLogError(f"{path} is a log of the task {printable(str(log.eval.task), 100)}, not of attunebench.")
    task, epochs, results, failures = log.eval.task_id, log.eval.config.epochs or 1, [], Failures()
    em, again = model_named(log.eval.model), f"inspect eval-retry {shlex.quote(str(path))}"
    for sample in samples:
        # A run of one epoch says nothing of epochs, in a log as without one.
        epoch, outcome, facts = sample.epoch if epochs > 1 else None, _outcome(path, sample), sample.metadata
        if isinstance(outcome, str):
            name, mode = str(facts.get("conversation", sample.id)), str(facts.get("mode", "default"))
            reason = outcome if epoch is None else f"epoch {epoch}: {outcome}"
            failed = {"reason": reason, "tries": 1 + len(sample.error_retries or ()), "again": again}
            failures[(name, em.provider, em.model, mode), epoch] = failed
        else:
            results.append({**outcome, "epoch": epoch})
    ids = log.eval.dataset.sample_ids or [sample.id for sample in samples]
    ended: dict[Hashable, bool] = {(task, str(id), epoch): False for id in ids for epoch in range(1, epochs + 1)}
    ended |= {(task, str(sample.id), sample.epoch): True for sample in samples}
    return Source(path.name, results, failures, ended)


def _outcome(path: Path, sample: Any) -> dict[str, Any] | str:
    """The result in a sample's store, or why there is none."""
    if sample.invalidation is not None:
        return "declared invalid in Inspect"
    if sample.error is not None:
        return f"Inspect: {printable(sample.error.message, 500)}"
    kept = sample.store.get(STORE)
    if kept is None and sample.limit is None:
        # A log that was recovered after a crash has stores in its events alone.
        from inspect_ai.log import read_eval_log_sample

        whole = read_eval_log_sample(str(path), sample.id, sample.epoch, resolve_attachments="full")
        changes = [change for event in whole.events if event.event == "store" for change in event.changes]
        kept = next((change.value for change in reversed(changes) if change.path == f"/{STORE}"), None)
    result = kept.get("result") if isinstance(kept, dict) else None
    if isinstance(result, dict):
        return result
    return f"an Inspect limit ended it ({sample.limit.type})" if sample.limit else "its log holds no result"


def read_lm_eval_log(path: Path) -> Source:
    """What is in lm_eval's log of samples. Raises DataError for a file that is no log of ours."""
    results: list[dict[str, Any]] = []
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                results += _results_in(line, f"{path}, line {number}") if line.strip() else ()
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path} cannot be read ({getattr(error, 'strerror', None) or error}).") from None
    if not results:
        raise DataError(f"{path} holds no samples.")
    return Source(path.name, results)


def _results_in(line: str, place: str) -> list[dict[str, Any]]:
    try:
        sample = parse_json(line.encode(), lenient=True)
    except ValueError:
        raise DataError(f"{place} is damaged; nothing of the file was imported.") from None
    found = sample.get("results") if isinstance(sample, dict) else None
    if isinstance(found, list) and found and all(isinstance(result, dict) for result in found):
        return found
    raise DataError(f"{place} holds no results of attunebench: it is another task's, or made with --predict_only.")
