"""Takes a run through a scenario and proves what must hold afterwards, against the run that nothing disturbed."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

from attunebench.codebook import default_codebook
from attunebench.conversations import load_conversations
from attunebench.conversations.bundled import demo_folder
from attunebench.errors import AttuneBenchError
from attunebench.protocol.calls import Call
from attunebench.protocol.plan import plan_conversation
from attunebench.selftest import checks, running
from attunebench.selftest.ledger import Ledger, Next
from attunebench.selftest.plans import UNDISTURBED, Phase, Scenario, call_key, fate, strikes
from attunebench.selftest.running import CONCURRENCY, KEY, MODELS, Ended, Server

AT_ONCE = 2
"""Scenarios under way together."""


@dataclass(frozen=True, slots=True)
class Proven:
    """How a scenario ended. `problems`: what does not hold; none where everything is proven.

    `requests` counts what the server was asked, `faults` what it did wrong; both are the same for the same seed but
    where calls were lost under way. `again` counts the answers that were under way at a kill, to be asked for again.
    """

    scenario: Scenario
    seed: int
    calls: int
    requests: int
    faults: int
    again: int
    unanswered: int
    problems: tuple[str, ...]
    seconds: float
    folder: Path


@dataclass(frozen=True, slots=True)
class _Reference:
    """What the undisturbed run gave."""

    results: Mapping[str, Any]
    scores: Mapping[str, Any]


class _Broken(Exception):  # noqa: N818 (a scenario that cannot be gone through is a finding, not an error)
    """A command did not end as it has to; nothing that comes after it says anything."""


class Proof:
    """The self-test over the conversations of `data`, in folders under `place`."""

    def __init__(self, place: Path, data: Path) -> None:
        self._place = place
        self._data = data
        conversations = load_conversations(data).conversations
        calls = [call for each in conversations for call in plan_conversation(each, "default", default_codebook())]
        self._prompts = {"\n\n".join(message.content for message in call.messages): call for call in calls}
        self._calls = self.calls(MODELS[0])
        self._votes = sum(call.kind == "draft" for call in calls)
        self._references: dict[bool, _Reference] = {}
        self.failed = False

    @property
    def size(self) -> str:
        """What is run each time, in words."""
        turns = {(call.conversation_id, call.turn) for call in self._calls.values() if call.turn}
        conversations = {call.conversation_id for call in self._calls.values()}
        return f"{len(conversations)} conversations, {len(turns)} turns, {len(self._calls)} calls"

    def calls(self, model: str) -> dict[str, Call]:
        """The calls to an evaluated model by their keys."""
        return {call_key(model, prompt): call for prompt, call in self._prompts.items()}

    def count(self, scenario: Scenario) -> int:
        """The calls of a scenario, votes of judges among them."""
        return (len(self._calls) + self._votes * scenario.judged) * scenario.models

    def run(self, tries: Sequence[tuple[Scenario, int]]) -> Iterator[Proven]:
        """The scenarios with their seeds, each as soon as it and those before it are through.

        Where even the undisturbed run fails that is all: without it nothing can be told.
        """
        with ThreadPoolExecutor(AT_ONCE) as pool:
            undisturbed = [replace(UNDISTURBED, judged=judged) for judged in {each.judged for each, _ in tries}]
            if failed := [proven for proven in pool.map(self._prove, undisturbed, repeat(0)) if proven.problems]:
                yield failed[0]
                return
            yield from pool.map(self._prove, *zip(*tries, strict=True))

    def _prove(self, scenario: Scenario, seed: int) -> Proven:
        began = time.monotonic()
        tried = _Tried(self, scenario, seed)
        try:
            tried.go()
            # The undisturbed run is measured by itself: what must hold without a comparison holds for it, too.
            reference = self._references.setdefault(scenario.judged, _Reference(tried.results, tried.scores()))
            problems = [*tried.problems, *tried.problems_of(reference)]
        except (_Broken, AttuneBenchError) as broken:
            problems = [*tried.problems, str(broken)]
        if problems:
            self.failed = True
        else:
            shutil.rmtree(tried.folder, ignore_errors=True)
        ledger = tried.ledgers[-1] if tried.ledgers else Ledger()
        return Proven(
            scenario=scenario,
            seed=seed,
            calls=self.count(scenario),
            requests=sum(page.asked for page in ledger.pages.values()),
            faults=ledger.faults,
            again=tried.again,
            unanswered=len(tried.hopeless),
            problems=tuple(problems),
            seconds=time.monotonic() - began,
            folder=tried.folder,
        )


class _Tried:
    """One scenario under way: its folder, the server's book and the journal after each command."""

    def __init__(self, proof: Proof, scenario: Scenario, seed: int) -> None:
        self.scenario = scenario
        self._seed = seed
        self._proof = proof
        self.folder = proof._place / f"{scenario.name.replace(' ', '-')}-{seed}{'-judged' * scenario.judged}"
        self.folder.mkdir()
        self.ledgers: list[Ledger] = []
        self.kept: list[Mapping[str, int]] = []
        self.problems: list[str] = []
        self.again = 0
        self.early: list[Mapping[str, Any]] = []
        self.dead = min(proof._calls, key=lambda key: (proof._calls[key].kind != "pairwise", key))
        self.hopeless = [call for key, call in proof._calls.items() if fate(scenario, seed, key).for_ever is not None]

    def go(self) -> None:
        """All commands of the scenario. Raises _Broken where one ends as it must not."""
        proof, scenario = self._proof, self.scenario
        after = strikes(scenario, self._seed, proof.count(scenario))
        with Server(scenario, self._seed) as server:
            for phase, answers in zip(scenario.phases, after, strict=True):
                coming = Next(
                    phase.event, phase.state, answers, dead=self.dead if phase.state == "one dead call" else ""
                )
                ended = running.run_phase(server, scenario, proof._data, self.folder, coming)
                self.ledgers.append(server.ledger())
                self.kept.append(running.kept(self.folder))
                self.early.append(self.results)
                for each in ended:
                    self._check(phase, each)

    @property
    def results(self) -> Mapping[str, Any]:
        """The first model's results as they are now, by conversation."""
        return running.results(self.folder, MODELS[0])

    def scores(self, model: str = MODELS[0]) -> Mapping[str, Any]:
        """What `score` makes of a model's results."""
        return running.scores(self._proof._data, self.folder, model)

    def _check(self, phase: Phase, ended: Ended) -> None:
        number = f"command {len(self.ledgers)}"
        self.problems += self._spills(ended)
        if ended.status != phase.status and not (phase.may_end and ended.status == 0):
            raise _Broken(f"{number} ended with {ended.status} and not {phase.status}: {_last_words(ended)}")
        if phase.says not in ended.err:
            self.problems.append(f"{number} does not say {phase.says!r}: {_last_words(ended)}")

    def problems_of(self, reference: _Reference) -> Iterator[str]:
        """What does not hold."""
        mended, hopeless = self.scenario.mended, self.hopeless
        for model in running.models(self.scenario):
            found = running.results(self.folder, model)
            yield from checks.same_predictions(reference.results, found, mended=mended, unanswered=hopeless)
            yield from checks.same_scores(reference.scores, self.scores(model), mended=mended, values=not hopeless)
            yield from checks.nothing_lost(self.ledgers[-1], self.kept[-1], self._proof.calls(model))
        yield from self._early(reference)
        yield from self._nothing_twice()
        yield from self._nothing_left()

    def _early(self, reference: _Reference) -> Iterator[str]:
        """What is written before the end is final, and a conversation without all of its answers is not written."""
        mended, hopeless = self.scenario.mended, self.hopeless
        for phase, early in zip(self.scenario.phases[:-1], self.early, strict=False):
            yield from checks.same_predictions(
                reference.results, early, mended=mended, unanswered=hopeless, partly=True
            )
            if phase.state == "one dead call":
                missing = set(reference.results) - set(early)
                if missing != {self._proof._calls[self.dead].conversation_id}:
                    yield f"{len(missing)} conversations are skipped, and not just that of the dead call"

    def _nothing_twice(self) -> Iterator[str]:
        """Every answer that went out whole is kept, but for those that were under way at a kill."""
        most = CONCURRENCY * (1 + self.scenario.judged) * self.scenario.models
        ledgers, kept = [Ledger(), *self.ledgers], [{}, *self.kept]
        for index, phase in enumerate(self.scenario.phases):
            yield from checks.asked_again(ledgers[index], ledgers[index + 1], kept[index])
            lost = checks.unkept(ledgers[index], ledgers[index + 1], kept[index], kept[index + 1])
            if lost > (most if phase.event == "kill" else 0):
                under_way = f", more than the {most} that can be under way" if phase.event == "kill" else ""
                yield f"{lost} answers to command {index + 1} are paid for and not kept{under_way}"
            self.again += lost

    def _nothing_left(self) -> Iterator[str]:
        """No list of skipped conversations and no half-written file, but for hidden ones of killed processes."""
        names = [path.name for path in (self.folder / "results").iterdir()]
        ends = (".json", ".lock", *((".part",) if self.scenario.kills else ()))
        whole = [name for name in names if name.endswith(ends) or ".sqlite3" in name]
        if left := sorted({*names} - {*whole} | {name for name in names if name.startswith("_skipped")}):
            yield f"files are left behind: {', '.join(left)}"

    def _spills(self, ended: Ended) -> Iterator[str]:
        """A key or a traceback, where a user or somebody else would see it."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        if KEY in ended.out + ended.err or any(KEY.encode() in path.read_bytes() for path in files):
            yield "the key is in a file or in what a command says"
        if "Traceback" in ended.err:
            yield "a command shows a traceback"


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


def _last_words(ended: Ended) -> str:
    lines = [line.strip() for line in (ended.err or ended.out).splitlines() if line.strip()]
    return lines[-1] if lines else "(it says nothing)"
