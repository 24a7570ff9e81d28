"""The script of the fault server for one scenario: it misbehaves as planned, and keeps book for the proof."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from attunebench.selftest.answers import varied_text
from attunebench.selftest.behaviours import Answer, Asked, Behaviour, Broken, Hang, Status
from attunebench.selftest.faults import DEAD, FAULTS, NO_MONEY, ODD, refused
from attunebench.selftest.plans import Scenario, call_key, fate, request_key

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
