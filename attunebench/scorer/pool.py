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
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from attunebench.results.folder import read_result
from attunebench.results.schema import Result
from attunebench.scorer.assembling import Outcome, Scored, score_one
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

FILES_PER_PROCESS = 250
"""With fewer files for each, starting a process takes longer than it saves."""
_MOST_PROCESSES = 16
_CHUNK = 32
_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


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
        # A process for each core leaves none for threads of BLAS, which wait for each other by spinning.
        self._set = [name for name in _THREADS if processes > 1 and name not in os.environ]
        os.environ.update(dict.fromkeys(self._set, "1"))
        self._executor = _executor(task, processes) if processes > 1 else None
        self._ahead = processes * _AHEAD

    def __enter__(self) -> Scorers:
        return self

    def __exit__(self, *_error: object) -> None:
        if self._executor is not None:
            self._executor.shutdown(wait=True, cancel_futures=True)
        for name in self._set:
            os.environ.pop(name, None)

    def score(self, files: Sequence[File]) -> Iterator[Outcome]:
        """The outcome of each file, in their order."""
        chunks = [files[start : start + _CHUNK] for start in range(0, len(files), _CHUNK)]
        return chain.from_iterable(self._map(_score_files, chunks))

    def estimate(self, columns: Sequence[Columns | None]) -> Iterator[dict[str, Aggregate]]:
        """The estimates of each group, in their order; the processes begin at once."""
        return self._map(_estimate, columns)

    def _map(self, work: Callable[[Task, Item], Made], items: Sequence[Item]) -> Iterator[Made]:
        """The work on each item: begun by the processes at once, and done here where there are none (any more)."""
        made: Iterator[Made] = iter(())
        if self._executor is not None:
            with suppress(OSError, RuntimeError):  # no process can be started, or one has died
                made = _in_order(self._executor, partial(_in_process, work), items, self._ahead)
        return self._finished(work, items, made)

    def _finished(
        self, work: Callable[[Task, Item], Made], items: Sequence[Item], made: Iterator[Made]
    ) -> Iterator[Made]:
        from concurrent.futures import BrokenExecutor

        done = 0
        with suppress(BrokenExecutor):  # a process was killed for its memory, say: nothing of its chunk is lost
            for one in made:
                done += 1
                yield one
        for item in items[done:]:
            yield work(self._task, item)


def _in_order(
    executor: ProcessPoolExecutor, work: Callable[[Item], Made], items: Sequence[Item], ahead: int
) -> Iterator[Made]:
    """As `executor.map`, at most `ahead` items at once: what is done and not yet taken stays small."""
    rest = iter(items)
    begun = deque(executor.submit(work, item) for item in islice(rest, ahead))

    def taken() -> Iterator[Made]:
        while begun:
            yield begun.popleft().result()
            begun.extend(executor.submit(work, item) for item in islice(rest, 1))

    return taken()


def _executor(task: Task, processes: int) -> ProcessPoolExecutor | None:
    """Fresh interpreters on every system: a copy of a process with threads (BLAS has some) may hang."""
    try:
        import multiprocessing
        from concurrent.futures import ProcessPoolExecutor

        context = multiprocessing.get_context("spawn")
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


def _estimate(task: Task, columns: Columns | None) -> dict[str, Aggregate]:
    return task.resampling.estimate(columns)


def _outcome(task: Task, path: Path, name: str) -> Outcome:
    result = read_result(path, name)
    if not isinstance(result, Result):
        return result
    scored = score_one(task.truths, result, task.drafts, task.resampling.judge_scale)
    if task.as_lines and isinstance(scored, Scored):
        scored.entry = line_of(scored.entry)
    return scored
