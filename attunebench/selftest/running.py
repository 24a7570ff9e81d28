"""The processes of the self-test: a scenario's server, and the commands that a user would type. Judges nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

from attunebench.journal import Journal
from attunebench.scorer import score_folders
from attunebench.scores import write_scores
from attunebench.selftest.ledger import Ledger, Next, Page
from attunebench.selftest.plans import Scenario

MODELS, JUDGE = ("fake-model", "another-model"), "fake-judge"
CONCURRENCY = 16
KEY = "-".join(("selftest", "c0ffee", "not", "a", "key"))
"""Goes into every command, and must be in no file and no line of output."""
_RESAMPLES = 100
LONGEST = 180.0
"""Seconds after which a command that has not ended is ended."""
_FOREIGN = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY", "RLVR_PRIME_API_KEY", "PRIME_API_KEY")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended; `status` is None where it had to be ended from outside."""

    status: int | None
    out: str
    err: str


class Server:
    """The fault server of a scenario, in a process of its own. A context manager."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        command = [sys.executable, "-m", "attunebench.selftest.faulty", scenario.name, "--seed", str(seed)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout is not None
        self.url = self._process.stdout.readline().strip()
        if not self.url:
            raise RuntimeError("the fault server did not start")
        self._root = self.url.removesuffix("/v1")
        self._opener = build_opener(ProxyHandler({}))

    def __enter__(self) -> Server:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._process:  # closes its stdin, which ends it
            pass

    def ledger(self) -> Ledger:
        """The book as it is now."""
        found = self._get("/selftest/ledger")
        return Ledger({key: Page(*page) for key, page in found["pages"].items()}, found["faults"])

    def tell(self, coming: Next) -> None:
        """What the server is to do from now on."""
        self._get("/selftest/phase", asdict(coming))

    def _get(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with self._opener.open(Request(self._root + path, data), timeout=60) as response:
            return json.load(response)


def run_phase(server: Server, scenario: Scenario, data: Path, folder: Path, coming: Next) -> list[Ended]:
    """One `attune-bench run` for each of the scenario's models, all at once; what is `coming` strikes the first."""
    words = ["run", "local", data, "-o", "results", "--base-url", server.url, "--api-key", KEY]
    words += ["--concurrency", CONCURRENCY]
    if scenario.judged:
        words += ["--judge-model", JUDGE]
    if scenario.call_timeout is not None:
        words += ["--call-timeout", scenario.call_timeout]
    processes = [_start([*words[:2], model, *words[2:]], folder) for model in models(scenario)]
    server.tell(replace(coming, pid=processes[0].pid))
    return [_end(process) for process in processes]


def models(scenario: Scenario) -> tuple[str, ...]:
    """The models that are run."""
    return MODELS[: scenario.models]


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
    return {
        part: [entry for entry in found[part] if entry["em_model"] == model] for part in ("conversations", "aggregates")
    }


def kept(folder: Path) -> Mapping[str, int]:
    """How many replies the journal has to each request, by the key that the server gave it."""
    if not (folder / "results").exists():
        return {}
    with Journal.read(folder / "results") as journal:
        replies = (entry.reply for entry in journal.entries())
        return Counter(reply.headers.get("x-request-id", "") for reply in replies if reply is not None)


def _start(words: Sequence[object], folder: Path) -> subprocess.Popen[bytes]:
    environment = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return subprocess.Popen(
        [sys.executable, "-m", "attunebench.cli.main", *map(str, words)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**environment, "NO_COLOR": "1", "PYTHONIOENCODING": "utf-8"},
    )


def _end(process: subprocess.Popen[bytes]) -> Ended:
    status: int | None
    try:
        out, err = process.communicate(timeout=LONGEST)
        status = process.returncode
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        status = None
    return Ended(status, out.decode(errors="replace"), err.decode(errors="replace"))
