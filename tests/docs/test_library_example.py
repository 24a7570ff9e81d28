"""The example in the package's docstring runs as it stands there."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

import attunebench


def test_the_example_of_the_docstring_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    samples = Path(__file__).resolve().parents[2] / "Test Samples" / "Demo12"
    (tmp_path / "path" / "to").mkdir(parents=True)
    (tmp_path / "path" / "to" / "conversations").symlink_to(samples)
    monkeypatch.chdir(tmp_path)
    lines = (attunebench.__doc__ or "").splitlines()
    exec(textwrap.dedent("\n".join(line for line in lines if line.startswith("    ") or not line)))
    assert capsys.readouterr().out.startswith("12 ")
