"""Takes a run through a scenario and proves what must hold afterwards, against the run that nothing disturbed."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from attunebench.codebook import default_codebook
from attunebench.conversations import load_conversations
from attunebench.conversations.bundled import demo_folder
from attunebench.protocol.plan import plan_conversation
from attunebench.selftest import proofs, running
from attunebench.selftest.ledger import Ledger
from attunebench.selftest.plans import UNDISTURBED, Phase, Scenario, call_key, fate, strikes
from attunebench.selftest.running import CONCURRENCY, KEY, MODEL, Ended, Server

AT_ONCE = 2
"""Scenarios under way together."""


@dataclass(frozen=True, slots=True)
class Proven:
    """How a scenario ended. `problems`: what does not hold; none where everything is proven.

    `requests` counts what the server was asked, `faults` what it did wrong; both are the same for the same seed but
    where calls were lost under way. `again` counts the answers that were under way at a kill, to be asked for again.
    """

    scenario: Scenario
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

    def __init__(self, seed: int, place: Path, data: Path) -> None:
        self.seed = seed
        self._place = place
        self._data = data
        conversations = load_conversations(data).conversations
        calls = [call for each in conversations for call in plan_conversation(each, "default", default_codebook())]
        self._calls = {call_key(MODEL, "\n\n".join(m.content for m in call.messages)): call for call in calls}
        self._votes = sum(call.kind == "draft" for call in calls)
        self._references: dict[bool, _Reference] = {}

    def run(self, scenarios: Sequence[Scenario]) -> Iterator[Proven]:
        """The scenarios, each as soon as it and those before it are through. Raises RuntimeError where even the
        undisturbed run fails: then nothing can be told."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            judged = sorted({scenario.judged for scenario in scenarios})
            self._references = dict(zip(judged, pool.map(self._reference, judged), strict=True))
            yield from pool.map(self._prove, scenarios)

    def _reference(self, judged: bool) -> _Reference:
        tried = _Tried(self, replace(UNDISTURBED, judged=judged))
        try:
            tried.go()
        except _Broken as broken:
            raise RuntimeError(f"Even the undisturbed run fails: {broken} (kept in {tried.folder}).") from None
        return _Reference(tried.results, tried.scores)

    def _prove(self, scenario: Scenario) -> Proven:
        began = time.monotonic()
        tried = _Tried(self, scenario)
        try:
            tried.go()
            problems = [*tried.problems, *tried.proofs(self._references[scenario.judged])]
        except _Broken as broken:
            problems = [*tried.problems, str(broken)]
        ledger = tried.ledgers[-1] if tried.ledgers else Ledger()
        return Proven(
            scenario=scenario,
            calls=len(self._calls) + self._votes * scenario.judged,
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

    def __init__(self, proof: Proof, scenario: Scenario) -> None:
        self.scenario = scenario
        self._proof = proof
        self.folder = proof._place / f"{scenario.name.replace(' ', '-')}{'-judged' * scenario.judged}"
        self.folder.mkdir()
        self.ledgers: list[Ledger] = []
        self.kept: list[Mapping[str, int]] = []
        self.ended: list[Ended] = []
        self.problems: list[str] = []
        self.again = 0
        self.results: Mapping[str, Any] = {}
        self.scores: Mapping[str, Any] = {}
        self.hopeless = [
            call for key, call in proof._calls.items() if fate(scenario, proof.seed, key).for_ever is not None
        ]

    def go(self) -> None:
        """All commands of the scenario, and `score` at the end. Raises _Broken where one ends as it must not."""
        proof, scenario = self._proof, self.scenario
        calls = len(proof._calls) + proof._votes * scenario.judged
        after = strikes(scenario, proof.seed, calls)
        dead = min(proof._calls, key=lambda key: (proof._calls[key].kind != "pairwise", key))
        with Server(scenario, proof.seed) as server:
            for phase, answers in zip(scenario.phases, after, strict=True):
                ended = running.run_phase(server, scenario, phase, proof._data, self.folder, after=answers, dead=dead)
                self.ended.append(ended)
                self.ledgers.append(server.ledger())
                self.kept.append(running.kept(self.folder))
                self._check(phase, ended)
        ended, self.scores = running.score(proof._data, self.folder)
        if ended.status != 0:
            raise _Broken(f"score ended with {ended.status}: {_last_words(ended)}")
        self.ended.append(ended)
        self.results = running.results(self.folder)

    def _check(self, phase: Phase, ended: Ended) -> None:
        number = f"command {len(self.ended)}"
        self.problems += self._spills(ended)
        if ended.status != phase.status:
            raise _Broken(f"{number} ended with {ended.status} and not {phase.status}: {_last_words(ended)}")
        if phase.says not in ended.err:
            self.problems.append(f"{number} does not say {phase.says!r}: {_last_words(ended)}")

    def proofs(self, reference: _Reference) -> Iterator[str]:
        """What does not hold."""
        mended, hopeless = self.scenario.mended, self.hopeless
        yield from proofs.same_predictions(reference.results, self.results, mended=mended, unanswered=hopeless)
        yield from proofs.same_scores(reference.scores, self.scores, mended=mended, values=not hopeless)
        yield from proofs.nothing_lost(self.ledgers[-1], self.kept[-1], self._proof._calls)
        yield from self._nothing_twice()
        yield from self._nothing_left()

    def _nothing_twice(self) -> Iterator[str]:
        """Every answer that went out whole is kept, but for those that were under way at a kill."""
        most = CONCURRENCY * (1 + self.scenario.judged)
        ledgers, kept = [Ledger(), *self.ledgers], [{}, *self.kept]
        for index, phase in enumerate(self.scenario.phases):
            lost = proofs.unkept(ledgers[index], ledgers[index + 1], kept[index], kept[index + 1])
            if lost > (most if phase.event == "kill" else 0):
                under_way = f", more than the {most} that can be under way" if phase.event == "kill" else ""
                yield f"{lost} answers to command {index + 1} are paid for and not kept{under_way}"
            self.again += lost

    def _nothing_left(self) -> Iterator[str]:
        """No list of skipped conversations and no half-written file."""
        names = [path.name for path in (self.folder / "results").iterdir()]
        whole = [name for name in names if name.endswith((".json", ".lock")) or ".sqlite3" in name]
        if left := sorted({*names} - {*whole} | {name for name in names if name.startswith("_skipped")}):
            yield f"files are left behind: {', '.join(left)}"

    def _spills(self, ended: Ended) -> Iterator[str]:
        """A key or a traceback, where a user or somebody else would see it."""
        files = (path for path in self.folder.rglob("*") if path.is_file())
        if KEY in ended.out + ended.err or any(KEY.encode() in path.read_bytes() for path in files):
            yield "the key is in a file or in what a command says"
        if "Traceback" in ended.err:
            yield "a command shows a traceback"


def selftest(
    seed: int, scenarios: Sequence[Scenario], each: Callable[[Proven], None], *, data: Path | None = None
) -> Path | None:
    """Goes through the scenarios and hands each to `each`; the folder of what failed, or None where all is proven."""
    place = Path(tempfile.mkdtemp(prefix="attunebench-selftest-"))
    failed = True
    try:
        outcomes: Iterable[Proven] = Proof(seed, place, data or demo_folder()).run(scenarios)
        problems = 0
        for proven in outcomes:
            each(proven)
            problems += len(proven.problems)
        failed = problems > 0
    finally:
        if not failed:
            shutil.rmtree(place, ignore_errors=True)
    return place if failed else None


def _last_words(ended: Ended) -> str:
    lines = [line.strip() for line in (ended.err or ended.out).splitlines() if line.strip()]
    return lines[-1] if lines else "(it says nothing)"
