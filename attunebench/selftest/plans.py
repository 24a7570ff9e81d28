"""What each scenario of the self-test does to a run, and which fault meets which call: decided by hashes, by nothing
else.

A call's fate follows from the seed, the scenario and the call itself. Order of arrival, time and number of workers
have no say in it, so the same seed gives the same faults on any machine. Knows no socket and no process.
"""

from __future__ import annotations

import hashlib
import os
import random
from dataclasses import dataclass
from typing import Literal

from attunebench.selftest.answers import first_ask
from attunebench.selftest.faults import (
    BARE,
    BODIES,
    CUT,
    FOR_EVER,
    MODEL,
    ODD,
    RATE,
    SLOW,
    STATUSES,
    TRUNCATED,
    UNUSABLE,
)

Event = Literal["", "kill", "interrupt"]
"""What the server does to the process that asks it: nothing; SIGKILL; SIGINT."""
State = Literal["", "no money", "one dead call"]
"""What ails the server as a whole: nothing; it wants to be paid; one call is always refused with 503."""


_KILLED = "same predictions and scores, none lost, none twice but what was under way at a kill"

_TWO = "both the same, none lost, none asked twice"
_STUBBORN = "just these calls' items are not answered, every n is the same"


@dataclass(frozen=True, slots=True)
class Phase:
    """One command of a scenario. `status`: how it has to end; `says`: words that its stderr has to hold.

    `event` strikes the process after a number of answers that is drawn from `share` of all calls.
    """

    status: int = 0
    says: str = ""
    event: Event = ""
    state: State = ""
    may_end: bool = False
    """Whether the command may be done before it is struck."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is done to a run. `faults`: families of faults by name, each with the odds that a call meets one of it."""

    name: str
    done: str
    """What is done, in a few words for the reader."""
    faults: tuple[tuple[tuple[str, ...], float], ...] = ()
    for_ever: float = 0.0
    """Odds that a call is never answered usably."""
    odd: float = 0.0
    """Odds that a good answer comes in an unusual shape."""
    picky: bool = False
    """Whether the server takes no schema, no temperature, no `max_tokens` and no system role."""
    judged: bool = False
    call_timeout: float | None = None
    models: int = 1
    """Models that are run into the folder at the same time, each by a process of its own."""
    phases: tuple[Phase, ...] = (Phase(),)
    margin: int = 20
    """Answers that are on their way beside the one that an event waits for: it comes so long before the end."""
    proves: str = "same predictions and scores, none lost, none asked twice"
    """What is proven when all holds, for the reader."""

    @property
    def kills(self) -> int:
        """Commands that are killed."""
        return sum(phase.event == "kill" for phase in self.phases)

    @property
    def mended(self) -> bool:
        """Whether answers are cut or broken, so that some are asked for again or read out of a mended text."""
        return self.for_ever > 0 or any(name in MODEL for family, _ in self.faults for name in family)

    @property
    def counted(self) -> bool:
        """Whether the number of requests is the same each time: not where calls are lost under way, or feel out what
        a server takes."""
        return not self.picky and all(not phase.event and not phase.state for phase in self.phases)


@dataclass(frozen=True, slots=True)
class Fate:
    """What one call meets: `faults` one after the other, then `for_ever` (or good answers, in an `odd` shape)."""

    faults: tuple[str, ...] = ()
    for_ever: str | None = None
    odd: str | None = None


def call_key(model: str, prompt: str) -> str:
    """Names a call by what it asks, the same for each of its reasks."""
    return _digest(model, first_ask(prompt))


def request_key(model: str, prompt: str, max_tokens: int) -> str:
    """Names one request of a call: what is paid for once."""
    return _digest(model, prompt, str(max_tokens))


def fate(scenario: Scenario, seed: int, call: str) -> Fate:
    """What the call of this key meets."""
    rng = random.Random(f"{seed} {scenario.name} {call}")
    met = [rng.choice(family) for family, odds in scenario.faults if rng.random() < odds]
    rng.shuffle(met)
    return Fate(
        tuple(met),
        for_ever=rng.choice(tuple(FOR_EVER)) if rng.random() < scenario.for_ever else None,
        odd=rng.choice(tuple(ODD)) if rng.random() < scenario.odd else None,
    )


def strikes(scenario: Scenario, seed: int, calls: int) -> list[int]:
    """After how many answers each phase's event (or the end of the money) comes, counted from the phase's start.

    Even the last one comes before a run of so many calls is over.
    """
    rng = random.Random(f"{seed} {scenario.name} strikes")
    struck = [phase.event != "" or phase.state == "no money" for phase in scenario.phases]
    most = max(1, calls // max(1, sum(struck)) - scenario.margin)
    return [rng.randrange(most) if strike else 0 for strike in struck]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


def _scenarios() -> dict[str, Scenario]:
    rate, bare, cut, slow, bodies, statuses = (tuple(each) for each in (RATE, BARE, CUT, SLOW, BODIES, STATUSES))
    model = tuple(MODEL)
    again = Phase()
    killed = Phase(status=-9, event="kill")
    everything = ((rate, 0.1), (bare, 0.02), (cut, 0.1), (slow, 0.02), (bodies, 0.1), (statuses, 0.1), (model, 0.1))
    listed = (
        Scenario("calm", "nothing; answers in every shape that servers give them", odd=0.9),
        Scenario("limits", "a storm of 429, with and without a time to wait", ((rate, 0.5), (rate, 0.3), (bare, 0.03))),
        Scenario("bodies", "errors under status 200, bodies without an answer", ((bodies, 0.5), (bodies, 0.3))),
        Scenario("statuses", "408, 500, 502, 503, 504, 520, 529", ((statuses, 0.5), (statuses, 0.3))),
        Scenario("cuts", "bodies cut, connections reset, broken gzip", ((cut, 0.4), (cut, 0.2))),
        Scenario("slow", "answers that drip, stall or never come", ((slow, 0.06),), call_timeout=3.0),
        Scenario("truncation", "answers cut at the limit of tokens", ((tuple(TRUNCATED), 0.4),)),
        Scenario("nonsense", "prose, broken JSON, empty answers", ((tuple(UNUSABLE), 0.4), (tuple(UNUSABLE), 0.2))),
        Scenario(
            "stubborn",
            "some calls are never answered usably",
            for_ever=0.15,
            proves=_STUBBORN,
        ),
        Scenario("picky", "schema, temperature, max_tokens and system role refused", picky=True, judged=True),
        Scenario("two at once", "two models run into one folder together", models=2, proves=_TWO),
        Scenario(
            "money",
            "402 in the middle, then topped up",
            phases=(Phase(status=2, says="no money", state="no money"), again),
            proves="stopped at once (exit 2); then the same, none lost, none asked twice",
        ),
        Scenario(
            "dead call",
            "one call refused for ever, then healed",
            phases=(Phase(status=1, says="skipped", state="one dead call"), again),
            proves="its conversation skipped and not scored (exit 1); then the same, none lost",
        ),
        Scenario(
            "Ctrl-C",
            "interrupted once, then the same command",
            judged=True,
            phases=(Phase(status=130, says="Go on with", event="interrupt"), again),
            proves="what was under way is kept (exit 130); then the same, none asked twice",
        ),
        Scenario(
            "kills",
            "kill -9, each time the same command again",
            judged=True,
            phases=(killed,) * 6 + (again,),
            proves=_KILLED,
        ),
        Scenario(
            "everything",
            "all of these faults, and kill -9",
            everything,
            odd=0.3,
            judged=True,
            call_timeout=3.0,
            phases=(killed,) * 3 + (again,),
            proves=_KILLED,
        ),
    )
    # Where a process cannot be struck by signals, these scenarios have nothing to say.
    struck = os.name == "posix"
    return {each.name: each for each in listed if struck or not any(phase.event for phase in each.phases)}


UNDISTURBED = Scenario("undisturbed", "nothing")
"""What all others are compared with."""
ONE_KILL = Scenario(
    "one kill",
    "kill -9 at any point, then the same command",
    judged=True,
    phases=(Phase(status=-9, event="kill", may_end=True), Phase()),
    margin=0,
    proves=_KILLED,
)
"""For small runs and many seeds."""
SCENARIOS = _scenarios()
"""In the order in which they are shown."""
