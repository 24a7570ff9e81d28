"""Runs in a notebook's kernel: interrupted in the middle by its stop button, and resumed by running the cell again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations

from attunebench.selftest.server import Answer, FakeServer

client_module = pytest.importorskip("jupyter_client", reason="needs nbclient and ipykernel")
pytest.importorskip("ipykernel", reason="needs ipykernel")
pytestmark = pytest.mark.slow

FREE = 4
"""Calls that are answered before the server holds the others."""


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[tuple[Any, Any]]:
    manager, client = client_module.manager.start_new_kernel(cwd=str(tmp_path), startup_timeout=60)
    yield manager, client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


def cell(client: Any, code: str) -> str:
    """Run a cell, which must not fail; what it printed."""
    printed: list[str] = []

    def take(message: Any) -> None:
        printed.append(message["content"].get("text", ""))

    reply = client.execute_interactive(code, timeout=60, output_hook=take)
    assert "ok" == reply["content"]["status"], reply["content"]
    return "".join(printed)


@pytest.mark.parametrize("call", ["attunebench.run", "await attunebench.run_async"])
def test_an_interrupted_cell_is_resumed(kernel: tuple[Any, Any], server: FakeServer, tmp_path: Path, call: str) -> None:
    manager, client = kernel
    write_conversations(tmp_path / "data", 3, turns=1)
    em = f'ModelSettings(provider="local", model="fake-model", base_url="{server.url}")'
    cell(client, "import attunebench; from attunebench import ModelSettings, RunSettings")
    cell(client, f'settings = RunSettings(em={em}, output="results", concurrency=2)')

    def script(asked: Any) -> Answer:
        if len(server.bodies) == FREE + 1:
            manager.interrupt_kernel()
        return Answer(delay=30.0 if len(server.bodies) > FREE else 0.0)

    server.script = script
    run = f'{call}("data", settings, progress=True)'
    reply = client.execute_interactive(run, timeout=60, output_hook=lambda _: None)
    assert reply["content"].get("ename") in ("KeyboardInterrupt", "CancelledError")
    server.script = None
    assert "3 written" in cell(client, f'print(({run}).written, "written")')
    assert len(server.bodies) <= 15 + 2  # asked again: those in flight when the cell was interrupted
