"""Result files scored by one process or by several: the same outcomes in the same order, at another pace.

Owns the processes: how many, what they are given, what happens when they cannot be started, die or are interrupted.
Processes hand over finished lines and rows of numbers alone, so that gathering costs little.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from threadpoolctl import threadpool_limits

from attunebench.results.folder import read_result
from attunebench.scorer.assembling import Outcome, Task, score_results
from attunebench.scorer.groups import Columns
from attunebench.scores.schema import Aggregate

if TYPE_CHECKING:
    from concurrent.futures import Future, ProcessPoolExecutor

Item = TypeVar("Item")
Made = TypeVar("Made")
File = tuple[Path, str]

FILES_PER_PROCESS = 250
"""With fewer files for each, starting a process takes longer than it saves."""
_MOST_PROCESSES = 16
_CHUNK = 32


def processes_for(files: int) -> int:
    """How many processes are worth their start for so many files on this machine."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    return max(1, min(cores, _MOST_PROCESSES, files // FILES_PER_PROCESS))


class Scorers:
    """`processes` that score files and estimate groups, of which this one is one, or all where none can be started.

    A context manager: leaving it, also by an interrupt, ends the others after the chunks in their hands.
    """

    def __init__(self, task: Task, processes: int) -> None:
        self._task = task
        # A process for each core leaves none for threads of BLAS, which wait for each other by spinning.
        self._threads = threadpool_limits(1)
        self._executor = _executor(task, processes - 1) if processes > 1 else None
        self._ahead = (processes - 1) * _AHEAD

    def __enter__(self) -> Scorers:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
        self._threads.restore_original_limits()

    def score(self, files: Sequence[File]) -> Iterator[Outcome]:
        """The outcome of each file, in their order."""
        chunks = [files[start : start + _CHUNK] for start in range(0, len(files), _CHUNK)]
        return chain.from_iterable(self._map(_score_files, chunks))

    def estimate(self, columns: Sequence[Columns | None]) -> Iterator[dict[str, Aggregate]]:
        """The estimates of each group, in their order; the other processes begin at once."""
        return self._map(_estimate, columns)

    def _map(self, work: Callable[[Task, Item], Made], items: Sequence[Item]) -> Iterator[Made]:
        """The work on each item, in their order; the others are some items ahead, and this process takes the next one
        that nobody has begun instead of waiting for them."""
        from concurrent.futures import BrokenExecutor

        rest = iter(range(len(items)))
        theirs: dict[int, Future[Made]] = {}
        ours: dict[int, Made] = {}

        def hand_out() -> None:
            while self._executor is not None and len(theirs) < self._ahead:
                if (place := next(rest, None)) is None:
                    return
                try:
                    theirs[place] = self._executor.submit(_in_process, work, items[place])
                except (OSError, RuntimeError):  # no process can be started, or one has died
                    self._ahead, ours[place] = 0, work(self._task, items[place])

        def take(place: int) -> Made:
            while place not in ours and not (place in theirs and theirs[place].done()):
                hand_out()
                if (free := next(rest, None)) is None:
                    break
                ours[free] = work(self._task, items[free])
            if place in ours:
                return ours.pop(place)
            try:
                return theirs.pop(place).result()
            except BrokenExecutor:  # a process was killed for its memory, say: nothing of its chunk is lost
                return work(self._task, items[place])

        hand_out()
        return map(take, range(len(items)))


def _executor(task: Task, processes: int) -> ProcessPoolExecutor | None:
    """Copies of this process, which cost nothing to start, or fresh interpreters where a copy might hang: beside other
    threads, and outside Linux. (BLAS ends its own threads before a copy.)"""
    try:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        is_alone = sys.platform == "linux" and threading.active_count() == 1
        context = multiprocessing.get_context("fork" if is_alone else "spawn")
        return ProcessPoolExecutor(processes, mp_context=context, initializer=_begin, initargs=(task,))
    except (ImportError, NotImplementedError, OSError, ValueError):  # a system without semaphores or processes
        return None


_AHEAD = 4  # chunks that are begun for each process
_task: Task | None = None
"""What a process of the pool was given when it began."""


def _begin(task: Task) -> None:
    """Make this process one of the pool: interrupts are the parent's to handle, and it ends with its parent."""
    global _task
    _task = task
    threadpool_limits(1)
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
    return list(score_results(task, (read_result(path, name) for path, name in files)))


def _estimate(task: Task, columns: Columns | None) -> dict[str, Aggregate]:
    return task.settings.estimate(columns)
