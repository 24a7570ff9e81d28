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
from itertools import repeat
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
from attunebench.selftest.checks import Ledger
from attunebench.selftest.faulty import FaultScript
from attunebench.selftest.plans import UNDISTURBED, Phase, Scenario, call_key, fate, form_key, strikes
from attunebench.selftest.server import FakeServer

_MODELS, _JUDGE = ("fake-model", "another-model"), "fake-judge"
_CONCURRENCY = 16
_KEY = "-".join(("selftest", "c0ffee", "not", "a", "key"))
"""Goes into every command, and must be in no file and no line of output."""
_RESAMPLES = 100
_LONGEST = 180.0
"""Seconds after which a command that has not ended is ended."""
_FOREIGN = ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENROUTER_API_KEY", "RLVR_PRIME_API_KEY", "PRIME_API_KEY")


_Ended = subprocess.CompletedProcess[str]
"""How a command ended."""
_NOT_ENDED = 124
"""The status of a command that had to be ended from outside, as of timeout(1)."""
_AT_ONCE = 2
"""Scenarios under way together."""


class Proof:
    """The self-test over the conversations of `data`, in folders under `place`. `failed`: something is not proven."""

    def __init__(self, place: Path, data: Path) -> None:
        self.place = place
        self.data = data
        conversations = load_conversations(data).conversations
        planned = plan_calls(conversations, ["default"], default_codebook(), judges=1)
        asks = {"\n\n".join(message.content for message in call.messages): call for call in planned}
        self.schemas = {form_key(prompt): call.schema for prompt, call in asks.items()}
        own = {prompt: call for prompt, call in asks.items() if call.judge is None}
        self.calls = {model: {call_key(model, prompt): call for prompt, call in own.items()} for model in _MODELS}
        self.votes = len(asks) - len(own)
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
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            missing = {each.judged for each, _ in tries} - set(self.references)
            undisturbed = [replace(UNDISTURBED, judged=judged) for judged in missing]
            if failed := [trial for trial in pool.map(self._prove, undisturbed, repeat(0)) if trial.problems]:
                yield failed[0]
                return
            yield from pool.map(self._prove, *zip(*tries, strict=True))

    def _prove(self, scenario: Scenario, seed: int) -> Trial:
        trial = Trial(self, scenario, seed)
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
        calls = proof.calls[_MODELS[0]]
        self.scenario = scenario
        self.seed = seed
        self.folder = proof.place / f"{scenario.name.replace(' ', '-')}-{seed}{'-judged' * scenario.judged}"
        self.folder.mkdir()
        self.calls = (len(calls) + proof.votes * scenario.judged) * scenario.models
        self.unanswered = [call for key, call in calls.items() if fate(scenario, seed, key).for_ever is not None]
        self.problems: list[str] = []
        self.again = 0
        self.seconds = 0.0
        self._proof = proof
        self._dead = min(calls, key=lambda key: (calls[key].kind != "pairwise", key))
        self._script = FaultScript(scenario, seed, proof.schemas, self._dead)
        self._ledgers = [Ledger()]
        self._kept: list[Counter[str]] = [Counter()]
        self._early: list[Mapping[str, Any]] = []

    @property
    def requests(self) -> int:
        """How many the server was asked."""
        return self._ledgers[-1].asked.total()

    @property
    def faults(self) -> int:
        """How many the server handed out."""
        return self._script.faults

    def prove(self) -> None:
        """Go through all commands of the scenario, and find the problems."""
        began = time.monotonic()
        try:
            if self._runs():
                own = _results(self.folder, _MODELS[0]), self._scores(_MODELS[0])
                # The undisturbed run is measured by itself: what must hold without a comparison holds for it, too.
                results, scores = self._proof.references.setdefault(self.scenario.judged, own)
                self.problems += [
                    *self._unlike(results, scores),
                    *self._unlike_early(results),
                    *self._bought_twice(),
                    *self._left_behind(),
                ]
        except AttuneBenchError as error:
            self.problems.append(str(error))
        self.seconds = time.monotonic() - began

    def _runs(self) -> bool:
        """All commands; whether each ended as it has to: nothing that comes after one that did not says anything."""
        proof, scenario = self._proof, self.scenario
        answers = strikes(scenario, self.seed, self.calls)
        with FakeServer(self._script, keep=False) as server:
            for number, (phase, after) in enumerate(zip(scenario.phases, answers, strict=True), start=1):
                models = _MODELS[: scenario.models]
                commands = [_start(model, scenario, server.url, proof.data, self.folder) for model in models]
                self._script.begin(phase, after, commands[0].pid)
                ended = [_end(command) for command in commands]
                self._ledgers.append(self._script.ledger.copy())
                self._kept.append(_kept(self.folder))
                self._early.append(_results(self.folder, _MODELS[0]))
                for each in ended:
                    self.problems += self._said_wrong(f"command {number}", phase, each)
                    if each.returncode != phase.status and not (phase.may_end and each.returncode == 0):
                        how = f"ended with {each.returncode} and not {phase.status}: {_last_line(each)}"
                        self.problems.append(f"command {number} {how}")
                        return False
        return True

    def _said_wrong(self, command: str, phase: Phase, ended: _Ended) -> Iterator[str]:
        """A key or a traceback where a user or somebody else would see it; a missing word."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        if _KEY in ended.stdout + ended.stderr or any(_KEY.encode() in path.read_bytes() for path in files):
            yield "the key is in a file or in what a command says"
        if "Traceback" in ended.stderr:
            yield "a command shows a traceback"
        if ended.returncode == phase.status and phase.says not in ended.stderr:
            yield f"{command} does not say {phase.says!r}: {_last_line(ended)}"

    def _scores(self, model: str) -> Mapping[str, Any]:
        return _scores(self._proof.data, self.folder, model)

    def _unlike(self, results: Mapping[str, Any], scores: Mapping[str, Any]) -> Iterator[str]:
        """Predictions and scores that are not those of the undisturbed run, and answers that are lost."""
        mended, hopeless = self.scenario.mended, self.unanswered
        for model in _MODELS[: self.scenario.models]:
            found = _results(self.folder, model)
            yield from checks.same_predictions(results, found, mended=mended, unanswered=hopeless)
            yield from checks.same_scores(scores, self._scores(model), mended=mended, values=not hopeless)
            yield from checks.nothing_lost(self._ledgers[-1], self._kept[-1], self._proof.calls[model])

    def _unlike_early(self, results: Mapping[str, Any]) -> Iterator[str]:
        """What is written before the end is final, and a conversation without all of its answers is not written."""
        mended, hopeless = self.scenario.mended, self.unanswered
        for phase, early in zip(self.scenario.phases[:-1], self._early, strict=False):
            yield from checks.same_predictions(results, early, mended=mended, unanswered=hopeless, partly=True)
            missing = set(results) - set(early)
            dead = self._proof.calls[_MODELS[0]][self._dead].conversation_id
            if phase.event == "dead call" and missing != {dead}:
                yield f"{len(missing)} conversations are skipped, and not just that of the dead call"

    def _bought_twice(self) -> Iterator[str]:
        """Answers that went out whole and are not kept, but for those that were under way at a kill."""
        most = _CONCURRENCY * (1 + self.scenario.judged) * self.scenario.models
        ledgers, kept = self._ledgers, self._kept
        for index, phase in enumerate(self.scenario.phases):
            yield from checks.asked_again(ledgers[index], ledgers[index + 1], kept[index])
            lost = checks.unkept(ledgers[index], ledgers[index + 1], kept[index], kept[index + 1])
            if lost > (most if phase.event == "kill" else 0):
                under_way = f", more than the {most} that can be under way" if phase.event == "kill" else ""
                yield f"{lost} answers to command {index + 1} are paid for and not kept{under_way}"
            self.again += lost

    def _left_behind(self) -> Iterator[str]:
        """A list of skipped conversations or a half-written file, but for hidden ones of killed processes."""
        names = {path.name for path in (self.folder / "results").iterdir()}
        ends = (".json", ".lock", *((".part",) if self.scenario.kills else ()))
        whole = {name for name in names if name.endswith(ends) or ".sqlite3" in name}
        if left := sorted(names - whole | {name for name in names if name.startswith("_skipped")}):
            yield f"files are left behind: {', '.join(left)}"


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


def _end(process: subprocess.Popen[str]) -> _Ended:
    """Wait for its end."""
    try:
        out, err = process.communicate(timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        process.kill()
        return subprocess.CompletedProcess(process.args, _NOT_ENDED, *process.communicate())
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def _results(folder: Path, model: str) -> dict[str, Any]:
    """A model's results by conversation."""
    paths = sorted((folder / "results").glob("[!_.]*.json"))
    found = [json.loads(path.read_bytes()) for path in paths]
    return {result["conversationId"]: result for result in found if result["em_model"] == model}


def _scores(data: Path, folder: Path, model: str) -> dict[str, Any]:
    """A model's part of the scores of the folder's results, which are kept beside them. Raises AttuneBenchError."""
    path = folder / "scores.json"
    if not path.exists():
        # As `attune-bench score` does it, without another start of the interpreter.
        write_scores(path, score_folders(folder / "results", data, resamples=_RESAMPLES))
    found = json.loads(path.read_bytes())
    parts = ("conversations", "aggregates")
    return {part: [entry for entry in found[part] if entry["em_model"] == model] for part in parts}


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


def small_conversations(folder: Path, turns: Sequence[int] = (2, 1, 1)) -> Path:
    """The first demonstration conversations, each cut to so many turns, for loops of many small runs."""
    folder.mkdir()
    for path, count in zip(sorted(demo_folder().glob("*.json")), turns, strict=False):
        conversation = json.loads(path.read_bytes())
        conversation["turns"] = conversation["turns"][:count]
        (folder / path.name).write_text(json.dumps(conversation), encoding="utf-8")
    return folder


def _last_line(ended: _Ended) -> str:
    lines = [line.strip() for line in (ended.stderr or ended.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else "(it says nothing)"
