"""Runs by batches against a local server: in this process, or in one that may be killed."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from attunebench.batches.executor import BatchExecutor
from attunebench.batches.ledger import Submission
from attunebench.codebook import default_codebook
from attunebench.conversations import load_conversations
from attunebench.runner import ModelSettings, Observer, RunSettings, RunSummary
from attunebench.runner.run import run_by

if TYPE_CHECKING:
    from multiprocessing.context import ForkServerProcess

BY_THE_WAY = ("run_timestamp", "duration_seconds", "rejudged")
"""Keys of a result that say when and how fast it came about."""


class BatchRun(NamedTuple):
    """How a run by batches ended, and what continues at the service."""

    summary: RunSummary
    under_way: Sequence[Submission]


@dataclass
class Heard(Observer):
    """A watcher that remembers."""

    warnings: list[str] = field(default_factory=list)
    looks: list[Sequence[Submission]] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)

    def warned(self, message: str) -> None:
        self.warnings.append(message)

    def pausing(self, model: str, reason: str, seconds: float) -> None:
        self.waits.append(seconds)

    def looked(self, batches: Sequence[Submission], seconds: float) -> None:
        self.looks.append(batches)

    @property
    def said(self) -> str:
        return " ".join(self.warnings)


def settings_at(url: str, output: Path, *, judges: Sequence[str] = (), **values: Any) -> RunSettings:
    """Settings of a run of `fake-model` and judges at a local server."""

    def model(name: str) -> ModelSettings:
        return ModelSettings(provider="local", model=name, base_url=url)

    return RunSettings(em=model("fake-model"), judges=tuple(map(model, judges)), output=output, **values)


def run_by_batches(
    data: Path, settings: RunSettings, *, watcher: Heard | None = None, interruptible: bool = False, **options: Any
) -> BatchRun:
    """A run by batches that does not wait between two looks."""
    opened = partial(BatchExecutor, interruptible=interruptible, **{"interval": 0.0, **options})
    talks, again = list(load_conversations(data)), "attune-bench run … --batch"
    summary, executor = run_by(opened, talks, settings, default_codebook(), observer=watcher, run_again=again)
    return BatchRun(summary, executor.under_way)


def start_run(data: Path, url: str, output: Path, judges: Sequence[str]) -> ForkServerProcess:
    """The same in a process of its own, which may be killed."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["attunebench.batches.executor", "attunebench.api", "attunebench.backends.chat"])
    process = context.Process(target=_run, args=(data, url, output, tuple(judges)), daemon=True)
    process.start()
    return process


def _run(data: Path, url: str, output: Path, judges: Sequence[str]) -> None:
    run_by_batches(data, settings_at(url, output, judges=judges))


def predictions(folder: Path) -> dict[str, str]:
    """File name → the result without what depends on the clock, its keys in order: judges' votes may come later."""
    found = {}
    for path in sorted(folder.glob("[!_]*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        kept = {key: value for key, value in result.items() if key not in BY_THE_WAY}
        found[path.name] = json.dumps(kept, sort_keys=True)
    return found
