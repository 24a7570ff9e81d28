"""A worker's process: looks whether it sees the results folder, does its stint, and sends home what happens.

Made by Ray on some machine of the cluster. Keys come as arguments of one call, which Ray keeps in no file and shows on
no dashboard; nothing here prints.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attunebench
from attunebench import api, eventloop
from attunebench.errors import AttuneBenchError
from attunebench.runner.stint import Done, Handed, Stint

if TYPE_CHECKING:
    from attunebench.protocol.calls import Call, Record
    from attunebench.runner.events import RunPlan, RunSummary
    from attunebench.runner.settings import RunSettings
    from attunebench.runner.totals import Totals
    from attunebench.runner.work import Todo
    from attunebench.spreading.desk import Life, News

SHIPPED_EVERY = 0.2
"""Seconds between two parcels of news."""
SEEN_WITHIN = 10.0
"""Seconds within which a file that one machine writes has to be seen by another; network file systems take a few."""
LOCK_PATIENCE = 120.0
"""Seconds: a network file system takes that long to notice that a machine with a lock is gone."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What a worker found when it came up: where it is, its version of this package, and what is wrong with the folder
    ("" for nothing)."""

    node: str
    version: str
    problem: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A stint that could not be done: the name of the error's class, and its sentence."""

    kind: str
    sentence: str


def probe_name(token: str, worker: int | None = None) -> str:
    """The file by which the driver (or a worker) shows that it writes to the same folder as the others."""
    return f".attunebench-probe-{token}{'' if worker is None else f'-{worker}'}"


def appears(path: Path, content: str) -> bool:
    """Whether the file with this content is seen in good time."""
    until = time.monotonic() + SEEN_WITHIN
    while True:
        try:
            any(path.parent.iterdir())  # has a network file system look again
            if path.read_text(encoding="ascii") == content:
                return True
        except OSError:
            pass
        if time.monotonic() > until:
            return False
        time.sleep(0.1)


class Worker:
    """Ray calls `look`, then `work`, and `interrupt` beside it."""

    def __init__(self) -> None:
        self._stint: Stint | None = None
        self._interruptions = 0

    def look(self, folder: str, token: str, worker: int) -> Seen:
        """See whether this process reads what the driver has written into the folder, and write into it."""
        problem = ""
        if not appears(Path(folder) / probe_name(token), token):
            problem = "does not see what was written to it"
        else:
            try:
                (Path(folder) / probe_name(token, worker)).write_text(token, encoding="ascii")
            except OSError as error:
                problem = f"cannot write to it ({error.strerror or error})"
        return Seen(socket.gethostname(), attunebench.__version__, problem)

    def work(
        self, handed: Handed, settings: RunSettings, environment: Mapping[str, str], part: str, desk: Any, life: Life
    ) -> Done | Refused:
        """Do jobs of the desk until there are none. `settings` are this worker's share, with its keys."""
        os.environ.update(environment)
        courier = Courier(desk, life)
        self._stint = stint = Stint(
            replace(handed, settings=settings),
            part,
            courier,
            courier,
            ended=courier.ended,
            quick_scores=api.quick_scores,
            patience=LOCK_PATIENCE if life.number > 1 else 5.0,
        )
        for _ in range(self._interruptions):
            stint.interrupt()
        with courier.going(stint):
            try:
                return eventloop.run(stint.run(courier.jobs()))
            except AttuneBenchError as error:
                return Refused(type(error).__name__, str(error))

    def interrupt(self) -> int:
        """As Ctrl-C; returns how many calls are under way."""
        self._interruptions += 1
        return self._stint.interrupt() if self._stint is not None else 0


class Courier:
    """Takes jobs from the desk, and sends it what an observer and a list of skipped conversations are told."""

    def __init__(self, desk: Any, life: Life) -> None:
        self._desk = desk
        self._life = life
        self._news: deque[News] = deque()

    def jobs(self) -> Iterator[tuple[int, Todo]]:
        """The jobs, each fetched when there is room for it."""
        import ray

        while (taken := ray.get(self._desk.take.remote(self._life))) is not None:
            yield taken

    def going(self, stint: Stint) -> _Going:
        """News goes home while the block lasts, and all of it is home after it."""
        return _Going(self, stint)

    def send(self, stint: Stint) -> None:
        """Send what is new."""
        import ray

        # The loop's thread goes on adding to the other end.
        news = [self._news.popleft() for _ in range(len(self._news))]
        ray.get(self._desk.tell.remote(self._life, [*news, ("spending", (stint.spending,))]))

    def ended(self, number: int, totals: Totals) -> None:
        """A job is done or given up."""
        self._news.append(("ended", (number, totals)))

    def add(self, conversation_id: str, mode: str, *, reason: str, tries: int, when: str, again: str) -> None:
        """For the run's list of skipped conversations, which the driver alone writes."""
        self._news.append(("noted", (conversation_id, mode, reason, tries, when, again)))

    def remove(self, conversation_id: str, mode: str) -> None:
        """For the same list."""
        self._news.append(("struck", (conversation_id, mode)))

    def started(self, plan: RunPlan) -> None:
        """The driver says so itself."""

    def retrying(self, call: Call, reason: str, wait: float) -> None:
        self._news.append(("retrying", (call, reason, wait)))

    def reasking(self, call: Call, missing: int) -> None:
        self._news.append(("reasking", (call, missing)))

    def answered(self, call: Call, record: Record) -> None:
        self._news.append(("answered", (call, record)))

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        self._news.append(("written", (conversation_id, mode, path)))

    def skipped(self, conversation_id: str, mode: str, reason: str) -> None:
        self._news.append(("skipped", (conversation_id, mode, reason)))

    def warned(self, message: str) -> None:
        self._news.append(("warned", (message,)))

    def pausing(self, model: str, reason: str, seconds: float) -> None:
        self._news.append(("pausing", (model, reason, seconds)))

    def pacing(self, model: str, under_way: int, limit: int, ceiling: int) -> None:
        self._news.append(("pacing", (model, under_way, limit, ceiling)))

    def stalled(self, waiting_for: str, seconds: float) -> None:
        self._news.append(("stalled", (waiting_for, seconds)))

    def interrupted(self, under_way: int, grace: float) -> None:
        """The driver says so itself, of all workers together."""

    def finished(self, summary: RunSummary) -> None:
        """The driver says so itself."""


class _Going:
    """A thread that sends a courier's news, and the last of it at the end."""

    def __init__(self, courier: Courier, stint: Stint) -> None:
        self._courier = courier
        self._stint = stint
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._send, name="news", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._courier.send(self._stint)

    def _send(self) -> None:
        while not self._over.wait(SHIPPED_EVERY):
            self._courier.send(self._stint)
