"""A folder of conversations, a real server, and runs against it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations
from pydantic import SecretStr

import attunebench
from attunebench.runner import ModelSettings, RunSettings, RunSummary
from attunebench.selftest.server import FakeServer

TURNS = 3
KEY = "-".join(("sk", "test-4f9c2b7d81e05a63"))  # in two parts: no scanner of secrets shall take it for one


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two conversations of three turns."""
    return write_conversations(tmp_path / "data", 2, seed=3, turns=TURNS)


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer() as server:
        yield server


@pytest.fixture
def run(data: Path, server: FakeServer, tmp_path: Path) -> Callable[..., RunSummary]:
    """`run(judges=[…], max_tries=2, …)`: one run of `fake-model` over `data` into `results`."""

    def call(*, judges: tuple[str, ...] = (), model: str = "fake-model", **settings: Any) -> RunSummary:
        def at_server(name: str) -> ModelSettings:
            return ModelSettings(provider="local", model=name, base_url=server.url, api_key=SecretStr(KEY))

        observer = settings.pop("observer", None)
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
