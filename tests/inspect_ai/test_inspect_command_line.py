"""The commands of the documentation, as typed: Inspect's own command line finds the task by its entry point."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from attunebench.cli.main import app

pytest.importorskip("inspect_ai", reason="needs inspect_ai, the extra `inspect`")


def test_eval_and_import_as_typed(talks, tmp_path):
    inspect = str(Path(sys.executable).with_name("inspect"))
    task = ["attunebench/attunebench", "--model", "baseline/lexicon", "-T", f"conversations={talks}"]
    command = [inspect, "eval", *task, "-T", "modes=verbose", "--limit", "2", "--display", "plain"]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ, capture_output=True, text=True, check=False)
    assert 0 == done.returncode, done.stdout + done.stderr
    assert "composite_stderr" in done.stdout
    imported = CliRunner().invoke(app, ["import-inspect", str(tmp_path / "logs"), "-o", str(tmp_path / "results")])
    assert "2 results written" in imported.output
