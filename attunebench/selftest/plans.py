"""What each scenario of the self-test does to a run, and which fault meets which call: decided by hashes alone.

A call's fate follows from the seed, the scenario and the call itself. Order of arrival, time and number of workers
have no say in it, so the same seed gives the same faults on any machine. Knows no socket and no process.
"""

from __future__ import annotations

import hashlib
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from attunebench.selftest import faults
from attunebench.selftest.answers import first_ask

Event = Literal["", "kill", "interrupt", "no money", "dead call"]
"""What a command meets: nothing; SIGKILL; SIGINT; a server that wants to be paid; one call that is always refused."""


@dataclass(frozen=True, slots=True)
class Phase:
    """One command of a scenario. `status`: how it has to end; `says`: words that its stderr has to hold.

    A signal and the end of the money come after a number of answers that is drawn. `may_end`: the command may be done
    before.
    """

    status: int = 0
    says: str = ""
    event: Event = ""
    may_end: bool = False


@dataclass(frozen=True, slots=True)
class Scenario:
    """What is done to a run: `done` and `proves` say it to the reader.

    `faults` are families of faults, each with the odds that a call meets one of it; `for_ever` the odds that a
    call is never answered usably; `odd` those that a good answer comes in an unusual shape. A `picky` server takes no
    schema, no temperature, no `max_tokens` and no system role. `models` run into the folder at the same time, each by a
    process of its own. An event comes `margin` answers before the end: so many are on their way beside it.
    """

    name: str
    done: str
    faults: tuple[tuple[str, float], ...] = ()
    for_ever: float = 0.0
    odd: float = 0.0
    picky: bool = False
    judged: bool = False
    call_timeout: float | None = None
    models: int = 1
    phases: tuple[Phase, ...] = (Phase(),)
    margin: int = 20
    proves: str = "same predictions and scores, none lost, none asked twice"

    @property
    def kills(self) -> int:
        """Commands that are killed."""
        return sum(phase.event == "kill" for phase in self.phases)

    @property
    def mended(self) -> bool:
        """Whether answers are cut or broken, so that some are asked for again or read out of a repaired text."""
        return self.for_ever > 0 or any(family in faults.MODEL for family, _ in self.faults)

    @property
    def counted(self) -> bool:
        """Whether the number of requests is the same each time: not where calls are lost under way, or feel out what
        a server takes."""
        return not self.picky and not any(phase.event for phase in self.phases)


class Fate(NamedTuple):
    """What one call meets: `faults` one after the other, then `for_ever` (or good answers, in an `odd` shape)."""

    faults: tuple[str, ...]
    for_ever: str | None
    odd: str | None


def call_key(model: str, prompt: str) -> str:
    """Names a call by what it asks, the same for each of its re-prompts."""
    return _digest(model, first_ask(prompt))


def request_key(model: str, prompt: str, max_tokens: int) -> str:
    """Names one request of a call: what is paid for once."""
    return _digest(model, prompt, str(max_tokens))


def form_key(prompt: str) -> str:
    """Names what a prompt wants: its first ask, without the draft that a judge is shown."""
    return _digest(first_ask(prompt).partition("\n<draft")[0].rstrip())


def fate(scenario: Scenario, seed: int, call: str) -> Fate:
    """What the call of this key meets."""
    families: dict[str, Iterable[str]] = {**faults.LINE, **faults.MODEL}
    rng = random.Random(f"{seed} {scenario.name} {call}")
    met = [rng.choice(tuple(families[family])) for family, odds in scenario.faults if rng.random() < odds]
    rng.shuffle(met)
    return Fate(
        tuple(met),
        for_ever=rng.choice(tuple(faults.FOR_EVER)) if rng.random() < scenario.for_ever else None,
        odd=rng.choice(tuple(faults.ODD)) if rng.random() < scenario.odd else None,
    )


def strikes(scenario: Scenario, seed: int, calls: int) -> list[int]:
    """After how many answers each phase's signal (or the end of the money) comes, counted from the phase's start.

    Even the last one comes before a run of so many calls is over.
    """
    rng = random.Random(f"{seed} {scenario.name} strikes")
    struck = [phase.event not in ("", "dead call") for phase in scenario.phases]
    most = max(1, calls // max(1, sum(struck)) - scenario.margin)
    return [rng.randrange(most) if strike else 0 for strike in struck]


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:20]


_KILLED = "same predictions and scores, none lost, none twice but what was under way at a kill"
_KILL, _AGAIN = Phase(status=-9, event="kill"), Phase()
UNDISTURBED = Scenario("undisturbed", "nothing")
"""What all others are compared with."""
ONE_KILL = Scenario(
    "one kill",
    "kill -9 at any point, then the same command",
    judged=True,
    phases=(Phase(status=-9, event="kill", may_end=True), _AGAIN),
    margin=0,
    proves=_KILLED,
)
"""For small runs and many seeds."""
_SCENARIOS = (
    Scenario("calm", "nothing; answers in every shape that servers give them", odd=0.9),
    Scenario(
        "limits", "a storm of 429, with and without a time to wait", (("rate", 0.5), ("rate", 0.3), ("bare", 0.03))
    ),
    Scenario("bodies", "errors under status 200, bodies without an answer", (("bodies", 0.5), ("bodies", 0.3))),
    Scenario("statuses", "408, 500, 502, 503, 504, 520, 529", (("statuses", 0.5), ("statuses", 0.3))),
    Scenario("cuts", "bodies cut, connections reset, broken gzip", (("cut", 0.4), ("cut", 0.2))),
    Scenario("slow", "answers that drip, stall or never come", (("slow", 0.06),), call_timeout=3.0),
    Scenario("truncation", "answers cut at the limit of tokens", (("truncated", 0.4),)),
    Scenario("nonsense", "prose, broken JSON, empty answers", (("unusable", 0.4), ("unusable", 0.2))),
    Scenario(
        "stubborn",
        "some calls are never answered usably",
        for_ever=0.15,
        proves="just these calls' items are not answered, every n is the same",
    ),
    Scenario("picky", "schema, temperature, max_tokens and system role refused", picky=True, judged=True),
    Scenario(
        "two at once",
        "two models run into one folder together",
        models=2,
        proves="both the same, none lost, none asked twice",
    ),
    Scenario(
        "money",
        "402 in the middle, then topped up",
        phases=(Phase(status=2, says="no money", event="no money"), _AGAIN),
        proves="stopped at once (exit 2); then the same, none lost, none asked twice",
    ),
    Scenario(
        "dead call",
        "one call refused for ever, then healed",
        phases=(Phase(status=1, says="skipped", event="dead call"), _AGAIN),
        proves="its conversation skipped and not scored (exit 1); then the same, none lost",
    ),
    Scenario(
        "Ctrl-C",
        "interrupted once, then the same command",
        judged=True,
        phases=(Phase(status=130, says="Interrupted", event="interrupt"), _AGAIN),
        proves="what was under way is kept (exit 130); then the same, none asked twice",
    ),
    Scenario(
        "kills",
        "kill -9, each time the same command again",
        judged=True,
        phases=(_KILL,) * 6 + (_AGAIN,),
        proves=_KILLED,
    ),
    Scenario(
        "everything",
        "all of these faults, and kill -9",
        (
            ("rate", 0.1),
            ("bare", 0.02),
            ("cut", 0.1),
            ("slow", 0.02),
            ("bodies", 0.1),
            ("statuses", 0.1),
            ("model", 0.1),
        ),
        odd=0.3,
        judged=True,
        call_timeout=3.0,
        phases=(_KILL,) * 3 + (_AGAIN,),
        proves=_KILLED,
    ),
)
SCENARIOS = {
    each.name: each
    for each in _SCENARIOS
    # Where a process cannot be struck by signals, these scenarios have nothing to say.
    if os.name == "posix" or not any(phase.event for phase in each.phases)
}
"""In the order in which they are shown."""
