"""An Inspect log → the results in it, and what it could not finish. Reads no event and no prompt of it.

The result of a sample was made while it ran, and is taken as it stands in the sample's store.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attunebench.errors import DataError, UsageError
from attunebench.harness.importing import Failure, Source
from attunebench.harness.inspect_ai.study import model_named
from attunebench.text import printable

STORE = "attunebench"
"""Under this key a sample's store holds its `result` (the content of a result file), and the `replies` behind it."""
_SUFFIXES = (".eval", ".json")
_NO_LOGS = {"eval-set.json", "logs.json"}
"""What Inspect writes beside the logs of an evaluation set."""
_NOT_NEEDED = {"events", "messages", "attachments", "timelines", "events_data"}


class ForeignLogError(DataError):
    """A readable log of another task."""


def log_files(places: list[Path]) -> Iterator[tuple[Path, bool]]:
    """The log files at these places, each with whether it was named itself. Raises UsageError where there are none."""
    for place in places:
        if place.is_file():
            yield place, True
            continue
        files = [path for path in sorted(place.rglob("*")) if path.suffix in _SUFFIXES and path.name not in _NO_LOGS]
        if not files:
            raise UsageError(f"There is no log (.eval or .json) in {place}.")
        yield from ((file, False) for file in files if file.is_file())


def read_log(path: Path) -> Source:
    """What is in a log. Raises UsageError where Inspect is missing, DataError for a file that is no log of ours."""
    try:
        from inspect_ai.log import read_eval_log
    except ImportError:
        raise UsageError(
            'Reading an Inspect log needs inspect_ai: pip install ".[inspect]" in the checkout of attunebench.'
        ) from None
    if path.suffix not in _SUFFIXES:
        raise DataError(f"{path} is no Inspect log; those end in .eval or .json.")
    try:
        log = read_eval_log(str(path), exclude_fields=_NOT_NEEDED)
    except Exception as error:  # whatever a damaged archive or a foreign JSON makes Inspect raise
        raise DataError(
            f"{path} cannot be read as an Inspect log ({printable(f'{type(error).__name__}: {error}', 200)}). If its "
            f"evaluation was killed, `inspect log recover {shlex.quote(str(path))}` may mend it."
        ) from None
    samples, names = log.samples or [], filter(None, (log.eval.task_registry_name, log.eval.task))
    if not any(STORE in each.store for each in samples) and "attunebench" not in {n.split("/")[-1] for n in names}:
        raise ForeignLogError(f"{path} is a log of the task {printable(str(log.eval.task), 100)}, not of attunebench.")
    task, epochs, results, failures = log.eval.task_id, log.eval.config.epochs or 1, [], []
    for sample in samples:
        # A run of one epoch says nothing of epochs, in a log as without one.
        epoch = sample.epoch if epochs > 1 else None
        result = None if sample.error or sample.invalidation else _result(path, sample)
        if result is not None:
            results.append({**result, "epoch": epoch})
        else:
            failures.append(_failure(sample, log.eval.model, epoch))
    ids = log.eval.dataset.sample_ids or [sample.id for sample in samples]
    return Source(
        name=path.name,
        results=results,
        failures=failures,
        planned=frozenset((task, str(name), epoch) for name in ids for epoch in range(1, epochs + 1)),
        ended=frozenset((task, str(sample.id), sample.epoch) for sample in samples),
        again=f"inspect eval-retry {shlex.quote(str(path))}",
    )


def _result(path: Path, sample: Any) -> dict[str, Any] | None:
    """The result in a sample's store. A log that was recovered after a crash has stores in its events alone."""
    kept = sample.store.get(STORE)
    if kept is None and sample.limit is None:
        from inspect_ai.log import read_eval_log_sample

        whole = read_eval_log_sample(str(path), sample.id, sample.epoch, resolve_attachments="full")
        changes = [change for event in whole.events if event.event == "store" for change in event.changes]
        kept = next((change.value for change in reversed(changes) if change.path == f"/{STORE}"), None)
    result = kept.get("result") if isinstance(kept, dict) else None
    return result if isinstance(result, dict) else None


def _failure(sample: Any, model: str, epoch: int | None) -> Failure:
    if sample.invalidation is not None:
        reason = "declared invalid in Inspect"
    elif sample.error is not None:
        reason = f"Inspect: {printable(sample.error.message, 500)}"
    elif sample.limit is not None:
        reason = f"a limit of Inspect ended it ({sample.limit.type})"
    else:
        reason = "its log holds no result"
    em = model_named(model)
    name, mode = sample.metadata.get("conversation", sample.id), sample.metadata.get("mode", "default")
    tries = 1 + len(sample.error_retries or ())
    return Failure((str(name), em.provider, em.model, str(mode)), reason, epoch, tries)
