"""Takes a run through a scenario and proves what must hold afterwards, against the run that nothing disturbed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from attunebench.codebook import default_codebook
from attunebench.conversations import load_conversations
from attunebench.conversations.loading import demo_folder
from attunebench.errors import AttuneBenchError
from attunebench.journal import Journal
from attunebench.protocol.plan import plan_calls
from attunebench.scorer import score_folders
from attunebench.scores import write_scores
from attunebench.selftest import checks
from attunebench.selftest.checks import Books
from attunebench.selftest.faults import FOR_EVER
from attunebench.selftest.plans import ENDS, UNDISTURBED, FaultScript, Scenario, call_key, fate, strikes
from attunebench.selftest.server import FakeServer

_MODELS, _JUDGE = ("fake-model", "another-model"), "fake-judge"
_CONCURRENCY = 16
_KEY = "-".join(("selftest", "c0ffee", "not", "a", "key"))
"""Goes into every command, and must be in no file and no line of output."""
_RESAMPLES = 100
_LONGEST = 180.0
"""Seconds after which a command that has not ended is ended, with the status of timeout(1)."""
_NOT_ENDED = 124
_FOREIGN = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY", "RLVR_PRIME_API_KEY", "PRIME_API_KEY")
_AT_ONCE = 2
"""Scenarios under way together."""


class Proof:
    """The self-test over the conversations of `data`, in folders under `place`. `failed`: something is not proven."""

    def __init__(self, place: Path, data: Path) -> None:
        self.place = place
        self.data = data
        planned = plan_calls(load_conversations(data).conversations, ["default"], default_codebook(), judges=1)
        asks = [("\n\n".join(message.content for message in call.messages), call) for call in planned]
        self.calls = {
            model: {call_key(model, prompt): call for prompt, call in asks if (call.judge is None) == (model != _JUDGE)}
            for model in (*_MODELS, _JUDGE)
        }
        """By model and key."""
        self.references: dict[bool, tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
        """Results and scores of the undisturbed run, without a judge and with one."""
        self.failed = False

    @property
    def size(self) -> str:
        """What is run each time, in words."""
        calls = self.calls[_MODELS[0]].values()
        turns = {(call.conversation_id, call.turn) for call in calls if call.turn}
        return f"{len({call.conversation_id for call in calls})} conversations, {len(turns)} turns, {len(calls)} calls"

    def run(self, tries: Sequence[tuple[Scenario, int]]) -> Iterator[Trial]:
        """The scenarios with their seeds, each as soon as it and those before it are through.

        Where even the undisturbed run fails that is all: without it nothing can be told.
        """
        missing = {each.judged for each, _ in tries} - set(self.references)
        undisturbed = [(replace(UNDISTURBED, judged=judged), 0) for judged in missing]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            if failed := [trial for trial in pool.map(self._prove, undisturbed) if trial.problems]:
                yield failed[0]
                return
            yield from pool.map(self._prove, tries)

    def _prove(self, attempt: tuple[Scenario, int]) -> Trial:
        trial = Trial(self, *attempt)
        trial.prove()
        if trial.problems:
            self.failed = True
        else:
            shutil.rmtree(trial.folder, ignore_errors=True)
        return trial


class Trial:
    """One scenario: what became of it. `problems`: what does not hold; none where everything is proven.

    `requests` counts what the server was asked, `faults` what it did wrong; both are the same for the same seed but
    where calls were lost under way. `again` counts the answers that were under way at a kill, to be asked for again;
    `unanswered` are the calls that are never answered usably.
    """

    def __init__(self, proof: Proof, scenario: Scenario, seed: int) -> None:
        own = proof.calls[_MODELS[0]]
        self.scenario = scenario
        self.seed = seed
        self.folder = proof.place / f"{scenario.name.replace(' ', '-')}-{seed}{'-judged' * scenario.judged}"
        self.folder.mkdir()
        self.unanswered = [call for key, call in own.items() if fate(scenario, seed, key)[-1] in FOR_EVER]
        self.problems: list[str] = []
        self.requests = self.faults = self.again = 0
        self.seconds = 0.0
        self._proof = proof
        self._asked = (*_MODELS[: scenario.models], *((_JUDGE,) if scenario.judged else ()))
        self.calls = sum(len(proof.calls[model]) for model in self._asked)
        schemas = {key: call.schema for calls in proof.calls.values() for key, call in calls.items()}
        dead = min(own, key=lambda key: (own[key].kind != "pairwise", key))
        self._only_missing = own[dead].conversation_id
        self._script = FaultScript(scenario, seed, schemas, dead)

    def prove(self) -> None:
        """Go through all commands of the scenario, and find the problems."""
        began = time.monotonic()
        try:
            self.problems.extend(self._found())
        except AttuneBenchError as error:
            self.problems.append(str(error))
        self.requests, self.faults = self._script.asked.total(), self._script.faults
        self.seconds = time.monotonic() - began

    def _found(self) -> Iterator[str]:
        """The problems: nothing that comes after a command that did not end as it has to says anything."""
        scenario, books = self.scenario, [Books()]
        models = _MODELS[: scenario.models]
        answers = strikes(scenario, self.seed, self.calls)
        with FakeServer(self._script, keep=False) as server:
            for number, (event, after) in enumerate(zip(scenario.phases, answers, strict=True), start=1):
                commands = [_start(model, scenario, server.url, self._proof.data, self.folder) for model in models]
                self._script.begin(event, after, commands[0].pid)
                ended = [_end(command) for command in commands]
                asked, whole = self._script.asked.copy(), self._script.whole.copy()
                books.append(Books(asked, whole, _kept(self.folder), _results(self.folder, _MODELS[0])))
                for each in ended:
                    yield from self._said_wrong(f"command {number}", event, each)
                wanted = {ENDS[event].status, *(() if scenario.margin else (0,))}
                if wrong := [each for each in ended if each.returncode not in wanted]:
                    how = f"ended with {wrong[0].returncode} and not {ENDS[event].status}: {_last_line(wrong[0])}"
                    yield f"command {number} {how}"
                    return
        # The undisturbed run is measured by itself: what must hold without a comparison holds for it, too.
        own = books[-1].results, _scores(self._proof.data, self.folder, _MODELS[0])
        yield from self._unlike(books, *self._proof.references.setdefault(scenario.judged, own))
        yield from self._bought_twice(books)
        names = {path.name for path in (self.folder / "results").iterdir()}
        ends = (".json", ".lock", *((".part",) if scenario.kills else ()))
        whole_files = {name for name in names if name.endswith(ends) or ".sqlite3" in name}
        if left := sorted(names - whole_files | {name for name in names if name.startswith("_skipped")}):
            yield f"files are left behind: {', '.join(left)}"

    def _said_wrong(self, command: str, event: str, ended: subprocess.CompletedProcess[str]) -> Iterator[str]:
        """A key or a traceback where a user or somebody else would see it; a missing word."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        if _KEY in ended.stdout + ended.stderr or any(_KEY.encode() in path.read_bytes() for path in files):
            yield "the key is in a file or in what a command says"
        if "Traceback" in ended.stderr:
            yield "a command shows a traceback"
        if ended.returncode == ENDS[event].status and ENDS[event].words not in ended.stderr:
            yield f"{command} does not say {ENDS[event].words!r}: {_last_line(ended)}"

    def _unlike(self, books: list[Books], results: Mapping[str, Any], scores: Mapping[str, Any]) -> Iterator[str]:
        """Predictions and scores that are not those of the undisturbed run, and answers that are lost."""
        mended, hopeless = self.scenario.mended, self.unanswered
        for model in _MODELS[: self.scenario.models]:
            found, numbers = _results(self.folder, model), _scores(self._proof.data, self.folder, model)
            yield from checks.same_predictions(results, found, mended=mended, unanswered=hopeless)
            yield from checks.same_scores(scores, numbers, mended=mended, values=not hopeless)
        for model in self._asked:
            yield from checks.nothing_lost(books[-1], self._proof.calls[model])
        # What is written before the end is final, and a conversation without all of its answers is not written.
        for event, early in zip(self.scenario.events, (book.results for book in books[1:]), strict=False):
            yield from checks.same_predictions(results, early, mended=mended, unanswered=hopeless, partly=True)
            missing = set(results) - set(early)
            if event == "dead call" and missing != {self._only_missing}:
                yield f"{len(missing)} conversations are skipped, and not just that of the dead call"

    def _bought_twice(self, books: list[Books]) -> Iterator[str]:
        """Answers that went out whole and are not kept, but for those that were under way at a kill."""
        for number, (event, (before, after)) in enumerate(zip(self.scenario.phases, pairwise(books), strict=True), 1):
            yield from checks.asked_again(before, after)
            lost = checks.unkept(before, after)
            if lost > (most := _CONCURRENCY * len(self._asked) if event == "kill" else 0):
                yield f"{lost} answers to command {number} are paid for and not kept, and {most} can be under way"
            self.again += lost


def _start(model: str, scenario: Scenario, url: str, data: Path, folder: Path) -> subprocess.Popen[str]:
    """`attune-bench run` of a model in a folder."""
    words = ["run", "local", model, str(data), "-o", "results", "--base-url", url, "--api-key", _KEY]
    words += ["--concurrency", str(_CONCURRENCY)]
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


def _end(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    """Wait for its end."""
    try:
        out, err = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        return subprocess.CompletedProcess(process.args, _NOT_ENDED, *process.communicate())
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _last_line(ended: subprocess.CompletedProcess[str]) -> str:
    lines = (ended.stderr or ended.stdout).split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "(it says nothing)")


def _results(folder: Path, model: str) -> dict[str, Any]:
    """A model's results by conversation."""
    results = (json.loads(path.read_bytes()) for path in sorted((folder / "results").glob("[!_.]*.json")))
    return {result["conversationId"]: result for result in results if result["em_model"] == model}


def _scores(data: Path, folder: Path, model: str) -> dict[str, Any]:
    """A model's part of the scores of the folder's results, which are kept beside them. Raises AttuneBenchError."""
    path = folder / "scores.json"
    if not path.exists():
        # As `attune-bench score` does it, without another start of the interpreter.
        write_scores(path, score_folders(folder / "results", data, resamples=_RESAMPLES))
    scores = json.loads(path.read_bytes())
    parts = ("conversations", "aggregates")
    return {part: [entry for entry in scores[part] if entry["em_model"] == model] for part in parts}


def _kept(folder: Path) -> Counter[str]:
    """How many replies the journal has to each request, by the key that the server gave it."""
    if not (folder / "results").exists():
        return Counter()
    with Journal.read(folder / "results") as journal:
        replies = (entry.reply for entry in journal.entries())
        return Counter(reply.headers.get("x-request-id", "") for reply in replies if reply is not None)


@contextmanager
def selftest(data: Path | None = None) -> Iterator[tuple[Proof, Path]]:
    """A self-test over the conversations of `data` (the demonstration's without it) and the folder that it works in.

    What was not proven stays in the folder.
    """
    place = Path(tempfile.mkdtemp(prefix="attunebench-selftest-"))
    proof = Proof(place, data or demo_folder())
    try:
        yield proof, place
    finally:
        if not proof.failed:
            shutil.rmtree(place, ignore_errors=True)
