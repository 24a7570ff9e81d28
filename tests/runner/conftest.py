"""A folder of conversations, a real server, and runs against it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations
from keys import KEY, TELLING
from pydantic import SecretStr

import attunebench
from attunebench.cli.main import main
from attunebench.cli.progress import display
from attunebench.runner import ModelSettings, RunSettings, RunSummary, pacing
from attunebench.selftest.server import FakeServer

TURNS = 3


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two conversations of three turns."""
    return write_conversations(tmp_path / "data", 2, seed=3, turns=TURNS)


@pytest.fixture
def run(data: Path, server: FakeServer, tmp_path: Path) -> Callable[..., RunSummary]:
    """`run(judges=[…], max_tries=2, …)`: one run of `fake-model` over `data` into `results`."""

    def call(*, judges: tuple[str, ...] = (), model: str = "fake-model", **settings: Any) -> RunSummary:
        def at_server(name: str) -> ModelSettings:
            return ModelSettings(provider="local", model=name, base_url=url, api_key=SecretStr(KEY))

        observer = settings.pop("observer", None)
        url = settings.pop("url", server.url)
        values = {"output": tmp_path / "results", "max_tries": 3, **settings}
        return attunebench.run(
            data, RunSettings(em=at_server(model), judges=tuple(map(at_server, judges)), **values), observer=observer
        )

    return call


@pytest.fixture
def results(tmp_path: Path) -> Callable[[], list[dict[str, Any]]]:
    """The result files as they are now, by file name."""

    def read() -> list[dict[str, Any]]:
        paths = sorted((tmp_path / "results").glob("[!_]*.json"))
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]

    return read


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit status, and what the user read on stderr, in one line."""

    status: int
    read: str


Command = Callable[..., Ended]


@pytest.fixture
def one_turn(tmp_path: Path) -> Path:
    """One conversation of one turn: five calls."""
    return write_conversations(tmp_path / "one", 1, seed=3, turns=1)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits that nobody asked for are short, and a run that ends soon tells all the same why it tried again."""
    monkeypatch.setattr(pacing, "FIRST_BACKOFF", 0.02)
    monkeypatch.setattr(pacing, "RAMP", 0.02)
    monkeypatch.setattr(pacing, "WORTH_TELLING", 0.01)
    monkeypatch.setattr(pacing, "FIRST_PAUSE", 0.02)
    monkeypatch.setattr(pacing, "LONGEST_PAUSE", 0.05)
    monkeypatch.setattr(pacing, "LOADING_PAUSE", 0.05)
    monkeypatch.setattr(display, "SOONEST", 0.0)
    monkeypatch.setattr(display, "LATEST", 0.0)
    monkeypatch.setattr(display, "PAUSE_WORTH_A_LINE", 0.0)


@pytest.fixture
def command(
    one_turn: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, quick: None
) -> Command:
    """`command(server, *options)`: `run` in this process, one call at a time unless the options say otherwise.

    Nothing of the machine's own keys and proxies is in the environment. What it writes never holds the key.
    """
    for name in os.environ:
        if name.upper().endswith(("_API_KEY", "_PROXY", "_BASE_URL", "_TEAM_ID")) or name.startswith("SSL_CERT"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)

    def call(
        server: FakeServer | str, *options: str, provider: str = "local", key: str | None = KEY, data: Path = one_turn
    ) -> Ended:
        url = server if isinstance(server, str) else server.url
        words = ["run", provider, "fake-model", str(data), "-o", str(tmp_path / "results"), "--base-url", url]
        words += ["--concurrency", "1", *(("--api-key", key) if key else ()), *options]
        monkeypatch.setattr("sys.argv", ["attune-bench", *words])
        with pytest.raises(SystemExit) as ended:
            main(words)
        captured = capsys.readouterr()
        assert [] == [part for part in TELLING if part.decode() in captured.out + captured.err]
        return Ended(int(ended.value.code or 0), " ".join(captured.err.split()))

    return call
