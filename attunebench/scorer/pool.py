"""Result files scored by one process or by several: the same outcomes in the same order, at another pace.

Owns the processes: how many, what they are given, what happens when they cannot be started, die or are interrupted.
Processes hand over finished lines and rows of numbers alone, so that gathering costs little.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attunebench.results.folder import NoResult, read_result
from attunebench.results.schema import Result
from attunebench.scorer.assembling import Scored, Unknown, score_one
from attunebench.scorer.closeness import DraftScores
from attunebench.scorer.groups import Columns, Resampling
from attunebench.scorer.truth import Truth
from attunebench.scores.files import line_of
from attunebench.scores.schema import Aggregate

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor

Item = TypeVar("Item")
Made = TypeVar("Made")
File = tuple[Path, str]
Outcome = Scored | Unknown | NoResult

FILES_PER_PROCESS = 250
"""With fewer files for each, starting a process takes longer than it saves."""
_MOST_PROCESSES = 16
_CHUNK = 32
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
_AHEAD = 3
"""Chunks that are under way for each process: enough that none waits, and few enough to bound the memory."""


@dataclass(frozen=True, slots=True)
class Task:
    """What every process needs: the labels, how scores are made, and the BERTScores where they were asked for."""

    truths: Mapping[str, Truth]
    resampling: Resampling
    drafts: DraftScores | None = None
    as_lines: bool = True
    """Whether entries are handed over as the lines of the file."""


def processes_for(files: int) -> int:
    """How many processes are worth their start for so many files on this machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores, _MOST_PROCESSES, files // FILES_PER_PROCESS))


class Scorers:
    """`processes` that score files and estimate groups; with 1, or where none can be started, this one does.

    A context manager: leaving it, also by an interrupt, ends the processes after the chunks in their hands.
    """

    def __init__(self, task: Task, processes: int) -> None:
        self._task = task
        self._processes = processes
        # A process for each core leaves none for threads of BLAS, which wait for each other by spinning.
        self._set = [name for name in _THREADS if processes > 1 and name not in os.environ]
        os.environ.update(dict.fromkeys(self._set, "1"))
        self._executor = _executor(task, processes) if processes > 1 else None

    def __enter__(self) -> Scorers:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
        for name in self._set:
            os.environ.pop(name, None)

    def score(self, files: Sequence[File]) -> Iterator[Outcome]:
        """The outcome of each file, in their order."""
        under_way: deque[tuple[Sequence[File], Future[list[Outcome]] | None]] = deque()
        for start in range(0, len(files), _CHUNK):
            chunk = files[start : start + _CHUNK]
            under_way.append((chunk, self._submit(_score_files, chunk)))
            if len(under_way) > self._processes * _AHEAD or self._executor is None:
                yield from self._result(_score_files, *under_way.popleft())
        while under_way:
            yield from self._result(_score_files, *under_way.popleft())

    def estimate(self, columns: Sequence[Columns | None]) -> Iterator[dict[str, Aggregate]]:
        """The estimates of each group, in their order; the processes begin at once."""
        under_way = [(group, self._submit(_estimate, group)) for group in columns]
        return (self._result(_estimate, group, future) for group, future in under_way)

    def _submit(self, work: Callable[[Task, Item], Made], item: Item) -> Future[Made] | None:
        """None where this process has to do it itself."""
        if self._executor is None:
            return None
        try:
            return self._executor.submit(_in_process, work, item)
        except (OSError, RuntimeError):  # no process can be started (any more), or one has died
            self._give_up()
            return None

    def _result(self, work: Callable[[Task, Item], Made], item: Item, future: Future[Made] | None) -> Made:
        from concurrent.futures import BrokenExecutor, CancelledError

        if future is not None:
            try:
                return future.result()
            except (BrokenExecutor, CancelledError):  # killed for its memory, say: nothing of its chunk is lost
                self._give_up()
        return work(self._task, item)

    def _give_up(self) -> None:
        executor, self._executor = self._executor, None
        if executor is not None:
            executor.shutdown(wait=False, cancel_futures=True)


def _executor(task: Task, processes: int) -> ProcessPoolExecutor | None:
    """Fresh interpreters on every system: a copy of a process with threads (BLAS has some) may hang."""
    try:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        context = multiprocessing.get_context("spawn")
        return ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(task,))
    except (ImportError, NotImplementedError, OSError, ValueError):  # a system without semaphores or processes
        return None


_task: Task | None = None
"""What a process of the pool was given when it began."""


def _begin(task: Task) -> None:
    """Make this process one of the pool: interrupts are the parent's to handle, and it ends with its parent."""
    global _task
    _task = task
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Results and scores are trees: the cyclic collector would walk them over and over and free nothing.
    gc.disable()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    from multiprocessing import parent_process

    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)


def _in_process(work: Callable[[Task, Any], Made], item: Any) -> Made:
    assert _task is not None
    return work(_task, item)


def _score_files(task: Task, files: Sequence[File]) -> list[Outcome]:
    return [_outcome(task, path, name) for path, name in files]


def _outcome(task: Task, path: Path, name: str) -> Outcome:
    result = read_result(path, name)
    if not isinstance(result, Result):
        return result
    scored = score_one(task.truths, result, task.drafts, task.resampling.judge_scale)
    if task.as_lines and isinstance(scored, Scored):
        scored.entry = line_of(scored.entry)
    return scored


def _estimate(task: Task, columns: Columns | None) -> dict[str, Aggregate]:
    return task.resampling.estimate(columns)
