"""The fault server of one scenario, as a program: it misbehaves as planned, and keeps the book that proves things.

`python -m attunebench.selftest.faulty SCENARIO --seed N` prints its URL and serves until its stdin ends. Two paths
beside the chat API belong to the self-test: `/selftest/ledger` is the book, `/selftest/phase` is told what comes next.
Whether a run did well is not judged here.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import random
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from attunebench.selftest import faults
from attunebench.selftest.answers import varied_text
from attunebench.selftest.behaviours import Answer, Asked, Behaviour, Broken, Hang, Status
from attunebench.selftest.ledger import Next
from attunebench.selftest.plans import SCENARIOS, UNDISTURBED, Scenario, call_key, fate, request_key
from attunebench.selftest.server import FakeServer

_LONGEST_DELAY = 0.03
"""Seconds at most from an answer to the kill that it sets off."""


@dataclass(slots=True)
class _Page:
    """One request: of which call it is, how often it came, and how often its answer went out whole."""

    call: str
    asked: int = 0
    whole: int = 0

    def answered(self) -> None:
        self.whole += 1


class Misbehaving:
    """The script of a scenario, and its ledger. Called in the server's thread alone."""

    def __init__(self, scenario: Scenario, seed: int) -> None:
        self._scenario = scenario
        self._seed = seed
        self._pages: dict[str, _Page] = {}
        self._ahead: dict[str, list[str]] = {}
        self._faults = 0
        self._next = Next()
        self._phases = 0
        self._answers = 0

    def __call__(self, asked: Asked) -> Behaviour:
        """What is done to this request."""
        if asked.path.endswith("/chat/completions"):
            picked = faults.refused(asked.body) if self._scenario.picky else None
            return picked or self._asked(asked)
        if asked.path == "/selftest/ledger":
            return Status(200, self._ledger())
        if asked.path == "/selftest/phase":
            self._next, self._answers = Next(**asked.body), 0
            self._phases += 1
            return Status(200, {})
        return Status(404, {"error": {"message": "Not Found"}})

    def _asked(self, asked: Asked) -> Behaviour:
        call = call_key(asked.model, asked.prompt)
        limit = asked.body.get("max_tokens") or asked.body.get("max_completion_tokens") or 0
        key = request_key(asked.model, asked.prompt, limit)
        page = self._pages.setdefault(key, _Page(call))
        page.asked += 1
        if self._next.dead == call:
            return faults.dead()
        if self._next.state == "no money" and self._answers >= self._next.after:
            return faults.no_money()
        met = fate(self._scenario, self._seed, call)
        ahead = self._ahead.setdefault(call, list(met.faults))
        text = varied_text(asked.prompt)
        answer = faults.ODD[met.odd](text) if met.odd else Answer(text)
        if ahead or met.for_ever:
            self._faults += 1
            name = ahead.pop(0) if ahead else met.for_ever or ""
            if name in faults.LINE:
                return faults.LINE[name]()
            answer = {**faults.MODEL, **faults.FOR_EVER}[name](text)
        self._answers += 1
        answer = replace(answer, headers={"x-request-id": key}, then=page.answered)
        return self._struck(answer, page) if self._next.event and self._answers == self._next.after + 1 else answer

    def _struck(self, answer: Answer, page: _Page) -> Behaviour:
        """The answer around which the process is struck: in its place, in its middle, at its end or soon after it."""
        rng = random.Random(f"{self._seed} {self._scenario.name} {self._phases}")
        how = rng.choice(("instead", "midway", "behind", "later")) if self._next.event == "kill" else "behind"
        delay = rng.uniform(0.0, _LONGEST_DELAY)
        strike = _striker(self._next)
        if how == "instead":
            strike()
            return Hang()
        if how == "midway":
            return Broken("length", rng.random(), then=strike)

        def end() -> None:
            page.answered()
            if how == "behind":
                strike()
            else:
                asyncio.get_running_loop().call_later(delay, strike)

        return replace(answer, then=end)

    def _ledger(self) -> dict[str, Any]:
        pages = {key: [page.call, page.asked, page.whole] for key, page in self._pages.items()}
        return {"pages": pages, "faults": self._faults}


def _striker(next_: Next) -> Callable[[], None]:
    number = signal.SIGKILL if next_.event == "kill" else signal.SIGINT

    def strike() -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(next_.pid, number)

    return strike


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description="The fault server of one scenario of the self-test.")
    parser.add_argument("scenario", help="one that is not listed is without faults")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    scenario = SCENARIOS.get(options.scenario, UNDISTURBED)
    with FakeServer(Misbehaving(scenario, options.seed), keep=False) as server:
        print(server.url, flush=True)
        # The pipe from the self-test ends with it, however it ends, and the server with the pipe.
        with contextlib.suppress(KeyboardInterrupt):
            sys.stdin.read()


if __name__ == "__main__":
    main()
