"""The commands of the self-test, as a user would type them, and what they leave in their folder. Judges nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attunebench.journal import Journal
from attunebench.scorer import score_folders
from attunebench.scores import write_scores
from attunebench.selftest.plans import Scenario

MODELS, _JUDGE = ("fake-model", "another-model"), "fake-judge"
CONCURRENCY = 16
KEY = "-".join(("selftest", "c0ffee", "not", "a", "key"))
"""Goes into every command, and must be in no file and no line of output."""
_RESAMPLES = 100
_LONGEST = 180.0
"""Seconds after which a command that has not ended is ended."""
_FOREIGN = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY", "RLVR_PRIME_API_KEY", "PRIME_API_KEY")


Ended = subprocess.CompletedProcess[str]
"""How a command ended."""
_NOT_ENDED = 124
"""The status of a command that had to be ended from outside, as of timeout(1)."""


def start(model: str, scenario: Scenario, url: str, data: Path, folder: Path) -> subprocess.Popen[str]:
    """`attune-bench run` of a model in a folder."""
    words = ["run", "local", model, str(data), "-o", "results", "--base-url", url, "--api-key", KEY]
    words += ["--concurrency", str(CONCURRENCY)]
    if scenario.judged:
        words += ["--judge-model", _JUDGE]
    if scenario.call_timeout is not None:
        words += ["--call-timeout", str(scenario.call_timeout)]
    environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return subprocess.Popen(
        [sys.executable, "-m", "attunebench.cli.main", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        env={**environment, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    )


def end(process: subprocess.Popen[str]) -> Ended:
    """Wait for its end."""
    try:
        out, err = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        return subprocess.CompletedProcess(process.args, _NOT_ENDED, *process.communicate())
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def results(folder: Path, model: str) -> dict[str, Any]:
    """A model's results by conversation."""
    paths = sorted((folder / "results").glob("[!_.]*.json"))
    found = [json.loads(path.read_bytes()) for path in paths]
    return {result["conversationId"]: result for result in found if result["em_model"] == model}


def scores(data: Path, folder: Path, model: str) -> dict[str, Any]:
    """A model's part of the scores of the folder's results, which are kept beside them. Raises AttuneBenchError."""
    path = folder / "scores.json"
    if not path.exists():
        # As `attune-bench score` does it, without another start of the interpreter.
        write_scores(path, score_folders(folder / "results", data, resamples=_RESAMPLES))
    found = json.loads(path.read_bytes())
    parts = ("conversations", "aggregates")
    return {part: [entry for entry in found[part] if entry["em_model"] == model] for part in parts}


def kept(folder: Path) -> Mapping[str, int]:
    """How many replies the journal has to each request, by the key that the server gave it."""
    if not (folder / "results").exists():
        return {}
    with Journal.read(folder / "results") as journal:
        replies = (entry.reply for entry in journal.entries())
        return Counter(reply.headers.get("x-request-id", "") for reply in replies if reply is not None)
