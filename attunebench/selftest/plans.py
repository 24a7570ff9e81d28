"""What each scenario of the self-test does to a run, which fault meets which call, and the script that does it: decided
by hashes of the seed, the scenario and the call alone, so the same seed gives the same faults on any machine, in any
order of arrival."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from attunebench.selftest.answers import first_ask, varied_text
from attunebench.selftest.behaviours import Answer, Asked, Behaviour, Broken, Hang, Status
from attunebench.selftest.faults import DEAD, FAULTS, NO_MONEY, ODD, refused

_LAST = ("odd", "for ever")
"""Families of what a call gets again and again, once all else is over."""


class End(NamedTuple):
    """How a command ends that meets an event: its status, words that its stderr holds, and what the scenario proves."""

    status: int
    words: str
    proves: str


ENDS = {
    "": End(0, "", "same predictions and scores, no answer lost, none requested twice"),
    "kill": End(-9, "", "same predictions and scores, no answer lost, only calls in flight repeated"),
    "interrupt": End(130, "Interrupted", "calls in flight kept (exit 130); then the same, none requested twice"),
    "no money": End(2, "no balance", "stopped at once (exit 2); then the same, none lost, none requested twice"),
    "dead call": End(1, "skipped", "its conversation skipped and not scored (exit 1); then the same, none lost"),
}
"""By event: none; SIGKILL; SIGINT; a server that wants to be paid; one call that is always refused."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is done to a run: `done` says it to the reader.

    `faults` are families of faults, each with the odds that a call meets one of it. A `picky` server takes no schema,
    no temperature, no `max_tokens` and no system role. `models` run into the folder at the same time, each by a process
    of its own. Each of `events` meets one command, and after the last one the command runs to its end. A signal or the
    end of the money comes after a number of answers that is drawn, at the latest `margin` before the last answer: so
    many are on their way beside it. Without a margin the command may be done before.
    """

    name: str
    done: str
    faults: tuple[tuple[str, float], ...] = ()
    picky: bool = False
    judged: bool = False
    call_timeout: float | None = None
    models: int = 1
    events: tuple[str, ...] = ()
    margin: int = 20

    @property
    def phases(self) -> tuple[str, ...]:
        """The event of each command."""
        return (*self.events, "")

    @property
    def kills(self) -> int:
        """Commands that are killed."""
        return self.events.count("kill")

    @property
    def proves(self) -> str:
        """What holds where nothing is found, in words."""
        if any(family == "for ever" for family, _ in self.faults):
            return "only the items of these calls are not answered, every n is the same"
        return ENDS[self.phases[0]].proves

    @property
    def mended(self) -> bool:
        """Whether answers are cut or broken, so that some are asked for again or read out of a repaired text."""
        return any(family in ("truncated", "unusable", "model", "for ever") for family, _ in self.faults)

    @property
    def counted(self) -> bool:
        """Whether the number of requests is the same each time: not where calls are lost under way, or feel out what
        a server takes."""
        return not self.picky and not self.events


def call_key(model: str, prompt: str) -> str:
    """Names a call by what it asks, the same for each of its re-prompts and for any draft that a judge is shown."""
    return _digest(model, first_ask(prompt).partition("\n<draft")[0].rstrip())


def request_key(model: str, prompt: str, max_tokens: int) -> str:
    """Names one request, what is paid for once: the key of its call, "-" and what else tells it from others."""
    return f"{call_key(model, prompt)}-{_digest(prompt, str(max_tokens))}"


def fate(scenario: Scenario, seed: int, call: str) -> tuple[str, ...]:
    """The names of the faults that the call of this key meets, one after the other; the last one, "" where its answer
    is good, for ever."""
    rng = random.Random(f"{seed} {scenario.name} {call}")
    met = [(family, rng.choice(tuple(FAULTS[family]))) for family, odds in scenario.faults if rng.random() < odds]
    rng.shuffle(met)
    last = next((name for family, name in met if family in _LAST), "")
    return (*(name for family, name in met if family not in _LAST), last)


def strikes(scenario: Scenario, seed: int, calls: int) -> list[int]:
    """After how many answers each phase's signal (or the end of the money) comes, counted from the phase's start.

    Even the last one comes before a run of so many calls is over.
    """
    rng = random.Random(f"{seed} {scenario.name} strikes")
    struck = [event not in ("", "dead call") for event in scenario.phases]
    most = max(1, calls // max(1, sum(struck)) - scenario.margin)
    return [rng.randrange(most) if strike else 0 for strike in struck]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


UNDISTURBED = Scenario("undisturbed", "nothing")
"""What all others are compared with."""
ONE_KILL = Scenario("one kill", "kill -9 at any point, then the same command", judged=True, events=("kill",), margin=0)
"""For small runs and many seeds."""
_RARE = (("bare", 0.02), ("slow", 0.02))
_STORM = (("rate", 0.5), ("rate", 0.3), ("bare", 0.03))
_SCENARIOS = (
    Scenario("calm", "no faults; answers in every format that servers use", (("odd", 0.9),)),
    Scenario("limits", "many 429, with and without a time to wait", _STORM),
    Scenario("bodies", "errors under status 200, bodies without an answer", (("bodies", 0.5), ("bodies", 0.3))),
    Scenario("statuses", "408, 500, 502, 503, 504, 520, 529", (("statuses", 0.5), ("statuses", 0.3))),
    Scenario("cuts", "truncated bodies, reset connections, broken gzip", (("cut", 0.4), ("cut", 0.2))),
    Scenario("slow", "answers that are slow, stall or never arrive", (("slow", 0.06),), call_timeout=3.0),
    Scenario("truncation", "answers truncated at the token limit", (("truncated", 0.4),)),
    Scenario("nonsense", "prose, broken JSON, empty answers", (("unusable", 0.4), ("unusable", 0.2))),
    Scenario("stubborn", "some calls never get a usable answer", (("for ever", 0.15),)),
    Scenario("picky", "schema, temperature, max_tokens and system role rejected", picky=True, judged=True),
    Scenario("two at once", "two models run into one folder at once", models=2),
    Scenario("money", "402 during the run, then topped up", events=("no money",)),
    Scenario("dead call", "one call always rejected, then accepted", events=("dead call",)),
    Scenario("Ctrl-C", "interrupted once, then the same command", judged=True, events=("interrupt",)),
    Scenario("kills", "kill -9 several times, each time the same command again", judged=True, events=("kill",) * 6),
    Scenario(
        "everything",
        "all of these faults, and kill -9",
        (*((family, 0.1) for family in ("rate", "cut", "bodies", "statuses", "model")), *_RARE, ("odd", 0.3)),
        judged=True,
        call_timeout=3.0,
        events=("kill",) * 3,
    ),
)
# Where a process cannot be struck by signals, scenarios with events have nothing to say.
SCENARIOS = {each.name: each for each in _SCENARIOS if os.name == "posix" or not each.events}
"""In the order in which they are shown."""

_LONGEST_DELAY = 0.03
"""Seconds at most from an answer to the kill that it sets off."""
_BY_NAME = {name: fault for family in FAULTS.values() for name, fault in family.items()}


class FaultScript:
    """What the server does to each request of a scenario. Called in the server's thread, but for `begin`.

    `asked` and `whole` count by request key how often it came and how often its answer went out whole, `faults` those
    that were handed out; `dead` is the key of the call that a dead server refuses; `schemas` has the answer's by the
    key of the call, for requests without."""

    def __init__(self, scenario: Scenario, seed: int, schemas: Mapping[str, Mapping[str, Any]], dead: str) -> None:
        self.asked: Counter[str] = Counter()
        self.whole: Counter[str] = Counter()
        self.faults = 0
        self._scenario = scenario
        self._seed = seed
        self._schemas = schemas
        self._dead = dead
        self._ahead: dict[str, list[str]] = {}
        self._event, self._after, self._pid = "", 0, 0
        self._phases = 0
        self._answers = 0

    def begin(self, event: str, after: int, pid: int) -> None:
        """A command has begun: its event comes after so many answers, signals go to the process `pid`."""
        self._event, self._after, self._pid = event, after, pid
        self._phases += 1
        self._answers = 0

    def __call__(self, asked: Asked) -> Behaviour:
        """What is done to this request."""
        if not asked.path.endswith("/chat/completions"):
            return Status(404, {"error": {"message": "Not Found"}})
        if self._scenario.picky and (refusal := refused(asked.body)):
            return refusal
        call = call_key(asked.model, asked.prompt)
        limit = asked.body.get("max_tokens") or asked.body.get("max_completion_tokens") or 0
        key = request_key(asked.model, asked.prompt, limit)
        self.asked[key] += 1
        if self._event == "dead call" and call == self._dead:
            return DEAD
        if self._event == "no money" and self._answers >= self._after:
            return NO_MONEY
        ahead = self._ahead.setdefault(call, list(fate(self._scenario, self._seed, call)))
        name = ahead.pop(0) if len(ahead) > 1 else ahead[0]
        self.faults += name not in ("", *ODD)
        text = varied_text(asked, self._schemas[call])
        fault = _BY_NAME.get(name, Answer(text))
        behaviour = fault(text) if callable(fault) else fault
        if not isinstance(behaviour, Answer):
            return behaviour
        self._answers += 1
        answered = partial(self.whole.update, (key,))
        answer = replace(behaviour, headers={"x-request-id": key}, then=answered)
        is_last = self._event in ("kill", "interrupt") and self._answers == self._after + 1
        return self._struck(answer, answered) if is_last else answer

    def _struck(self, answer: Answer, answered: Callable[[], None]) -> Behaviour:
        """The answer around which the process is struck: in its place, in its middle, at its end or soon after it."""
        rng = random.Random(f"{self._seed} {self._scenario.name} {self._phases}")
        is_kill = self._event == "kill"
        how = rng.choice(("instead", "midway", "behind", "later")) if is_kill else "behind"
        delay = rng.uniform(0.0, _LONGEST_DELAY)
        strike = partial(_strike, self._pid, signal.SIGKILL if is_kill else signal.SIGINT)
        if how == "instead":
            strike()
            return Hang()
        if how == "midway":
            return Broken("length", rng.random(), then=strike)

        def end() -> None:
            answered()
            if how == "behind":
                strike()
            else:
                asyncio.get_running_loop().call_later(delay, strike)

        return replace(answer, then=end)


def _strike(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
