"""The script of the fault server for one scenario: it misbehaves as planned, and keeps the ledger for the proof."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from attunebench.selftest import faults
from attunebench.selftest.answers import varied_text
from attunebench.selftest.behaviours import Answer, Asked, Behaviour, Broken, Hang, Status
from attunebench.selftest.checks import Ledger
from attunebench.selftest.plans import Phase, Scenario, call_key, fate, form_key, request_key

_LONGEST_DELAY = 0.03
"""Seconds at most from an answer to the kill that it sets off."""

_LINE = {name: behaviour for family in faults.LINE.values() for name, behaviour in family.items()}
_MODEL = {**faults.MODEL["model"], **faults.FOR_EVER}


class FaultScript:
    """What the server does to each request of a scenario. Called in the server's thread, but for `begin`.

    `ledger` is its book, `faults` counts those that were handed out, `dead` is the key of the call that a dead server
    refuses, `schemas` has the answer's by `form_key`, for requests without."""

    def __init__(self, scenario: Scenario, seed: int, schemas: Mapping[str, Mapping[str, Any]], dead: str) -> None:
        self.ledger = Ledger()
        self.faults = 0
        self._scenario = scenario
        self._seed = seed
        self._schemas = schemas
        self._dead = dead
        self._ahead: dict[str, list[str]] = {}
        self._phase, self._after, self._pid = Phase(), 0, 0
        self._phases = 0
        self._answers = 0

    def begin(self, phase: Phase, after: int, pid: int) -> None:
        """A command has begun: its event comes after so many answers, signals go to the process `pid`."""
        self._phase, self._after, self._pid = phase, after, pid
        self._phases += 1
        self._answers = 0

    def __call__(self, asked: Asked) -> Behaviour:
        """What is done to this request."""
        if not asked.path.endswith("/chat/completions"):
            return Status(404, {"error": {"message": "Not Found"}})
        if self._scenario.picky and (refusal := faults.refused(asked.body)):
            return refusal
        call = call_key(asked.model, asked.prompt)
        limit = asked.body.get("max_tokens") or asked.body.get("max_completion_tokens") or 0
        key = request_key(asked.model, asked.prompt, limit)
        self.ledger.calls[key] = call
        self.ledger.asked[key] += 1
        event = self._phase.event
        if event == "dead call" and call == self._dead:
            return faults.DEAD
        if event == "no money" and self._answers >= self._after:
            return faults.NO_MONEY
        met = fate(self._scenario, self._seed, call)
        ahead = self._ahead.setdefault(call, list(met.faults))
        text = varied_text(asked, self._schemas[form_key(asked.prompt)])
        answer = faults.ODD[met.odd](text) if met.odd else Answer(text)
        if name := ahead.pop(0) if ahead else met.for_ever:
            self.faults += 1
            if name in _LINE:
                return _LINE[name]
            answer = _MODEL[name](text)
        self._answers += 1
        answered = partial(self.ledger.whole.update, (key,))
        answer = replace(answer, headers={"x-request-id": key}, then=answered)
        is_last = event in ("kill", "interrupt") and self._answers == self._after + 1
        return self._struck(answer, answered) if is_last else answer

    def _struck(self, answer: Answer, answered: Callable[[], None]) -> Behaviour:
        """The answer around which the process is struck: in its place, in its middle, at its end or soon after it."""
        rng = random.Random(f"{self._seed} {self._scenario.name} {self._phases}")
        is_kill = self._phase.event == "kill"
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
