"""An arena, a server, and judges that are asked about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from asked_arenas import Judge, make_arena, models

from attunebench.arena.asking import ask_verdicts, verdict_settings
from attunebench.runner import RunSummary, pacing
from attunebench.selftest.server import FakeServer


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return make_arena(tmp_path / "arena")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that nobody asked for are short."""
    for name in ("FIRST_BACKOFF", "RAMP", "FIRST_PAUSE", "LONGEST_PAUSE"):
        monkeypatch.setattr(pacing, name, 0.02)


@pytest.fixture
def judge(server: FakeServer, folder: Path, quick: None) -> Judge:
    """`judge("ann", orders=1, …)`: judges of these names on the arena; other values are settings."""

    def call(*names: str, into: Path = folder, **values: Any) -> RunSummary:
        how = {name: values.pop(name) for name in ("orders", "own_family", "observer", "by") if name in values}
        settings = verdict_settings(into, models(server, *names), **{"max_tries": 3, **values})
        return ask_verdicts(into, settings, **how)

    return call
