"""Runs in several processes against a server that counts: a script that holds calls, and what runs have in common."""

from __future__ import annotations

import json
import threading
from pathlib import Path

from attunebench.selftest.server import Answer, Asked, Behaviour, Status

TOOK_PLACE = ("run_timestamp", "duration_seconds", "scores", "usage", "api_cost")


class Gate:
    """A script that answers `free` calls and then holds every one, and says when `holds` are held."""

    def __init__(self, free: int, *, holds: int = 1, seconds: float = 30.0) -> None:
        self.free = free
        self.holds = holds
        self.seconds = seconds
        self.held = threading.Event()
        self.count = 0

    def __call__(self, asked: Asked) -> Behaviour:
        if not asked.path.endswith("/chat/completions"):
            return Status(404, {})
        self.count += 1
        if self.count >= self.free + self.holds:
            self.held.set()
        return Answer(delay=self.seconds if self.count > self.free else 0.0)


def predicted(folder: Path) -> dict[str, str]:
    """Everything in a folder's results that does not tell of one run's own time."""
    results = {path.name: json.loads(path.read_text()) for path in folder.glob("[!_.]*.json")}
    return {name: json.dumps({key: r[key] for key in r if key not in TOOK_PLACE}) for name, r in results.items()}
