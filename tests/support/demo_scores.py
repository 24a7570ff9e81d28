"""The demonstration's scores.json, made once in a test run."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from attunebench.demo import run_demo
from attunebench.scores import write_scores


@cache
def demo_scores_file() -> Path:
    """Scores of every built-in baseline on the bundled conversations, in a folder that goes with the test run."""
    folder = Path(tempfile.mkdtemp(prefix="attunebench-demo-scores-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    write_scores(folder / "scores.json", run_demo(folder))
    return folder / "scores.json"
