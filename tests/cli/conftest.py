"""Runs the command line in this process: fast, and with the exit status, stdout and stderr of a real call."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from factory import write_conversations
from keys import TELLING

from attunebench.cli.main import main


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str


Command = Callable[..., Ended]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Command:
    """`cli("run", "baseline", …)` in an empty folder, without any key in the environment."""
    monkeypatch.chdir(tmp_path)
    for variable in ("OPENAI_API_KEY", "OPENROUTER_API_KEY", "RLVR_PRIME_API_KEY", "PRIME_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))

    def call(*words: str | Path) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        assert [] == [part for part in TELLING if part.decode() in captured.out + captured.err]
        return Ended(int(ended.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with three conversations."""
    return write_conversations(tmp_path / "data", 3, seed=7)
