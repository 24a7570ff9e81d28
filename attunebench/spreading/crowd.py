"""Keeps as many workers at a run as were asked for: starts them, hears them, replaces the dead, ends them together.

Knows no cluster: `Hands` starts a worker somewhere and tells what became of it. What a worker does is `worker`'s.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from attunebench import errors
from attunebench.errors import ConfigurationError
from attunebench.runner.engine import GRACE
from attunebench.runner.spending import Spending
from attunebench.runner.totals import Totals
from attunebench.spreading.desk import Life, News
from attunebench.spreading.shares import Money
from attunebench.spreading.worker import Refused

if TYPE_CHECKING:
    from attunebench.runner.events import Stop
    from attunebench.runner.stint import Done, Gathered

LIVES = 3
"""Lives of a worker in a row that may end without a job done, before the run is given up."""
ROUNDS = 3
"""How often what is left of --max-cost is divided anew, once all have come to the end of their parts."""
LEAVE = 5.0
"""Seconds after a second interruption until workers that are still there are ended."""


class Died(Exception):  # noqa: N818 (an outcome)
    """A worker's process is gone; the text says how."""


class Hands(Protocol):
    """A cluster, seen from a run. A worker that is started looks at the folder first, and then works."""

    def start(self, life: Life, money: float | None) -> None:
        """Have this life begin."""

    def ended(self, seconds: float) -> Sequence[Life]:
        """Those whose work is over, after so many seconds at most."""

    def outcome(self, life: Life) -> Done | Refused:
        """How it ended. Raises Died."""

    def interrupt(self, lives: Sequence[Life]) -> int:
        """As Ctrl-C in each of them; returns how many calls are under way."""

    def end(self, lives: Sequence[Life]) -> None:
        """End them at once."""

    def close(self) -> None:
        """Let the desk hand out nothing more."""

    def bury(self, life: Life) -> bool:
        """`Desk.bury`."""

    def news(self) -> Sequence[tuple[Life, News]]:
        """`Desk.news`."""

    def waiting(self) -> int:
        """`Desk.waiting`."""

    def pending(self) -> Collection[Life]:
        """Those that were started and have found no room yet."""

    def warnings(self) -> Sequence[str]:
        """What the user should know of the cluster, each once."""


@dataclass(slots=True)
class _Place:
    """One worker's place: its life, what that may spend, and lives in a row that got nothing done."""

    life: Life
    money: float | None
    alive: bool = True
    unlucky: int = 0
    unfinished: bool = False
    begun: Totals = field(default_factory=Totals)


class Crowd:
    """One run by `workers` workers. `interruptions()` counts the user's Ctrl-C so far."""

    def __init__(
        self,
        hands: Hands,
        gathered: Gathered,
        *,
        workers: int,
        max_cost: float | None,
        interruptions: Callable[[], int] = lambda: 0,
    ) -> None:
        self._hands = hands
        self._gathered = gathered
        self._money = Money(max_cost)
        self._interruptions = interruptions
        self._heeded = 0
        self._last_heeded = 0.0
        self._spending: dict[Life, Spending] = {}
        self._paces: dict[tuple[str, int], tuple[int, int, int]] = {}
        self._stopped: Stop = ""
        self._failure: BaseException | None = None
        self._answered: set[str] = set()
        self._places = [_Place(Life(1 + i, 1), self._money.take(workers - i)) for i in range(workers)]

    def work(self) -> Stop:
        """Until everything is done, or nothing more is to be. Returns why it ended before its time, and raises what a
        worker was refused with; ConfigurationError where workers die and die."""
        for place in self._places:
            self._hands.start(place.life, place.money)
        for _ in range(ROUNDS):
            replies = self._replies
            self._wait()
            if not self._next_round(replies):
                break
        for place in self._places:
            self._gathered.totals.join(place.begun)
        if self._failure is not None:
            raise self._failure
        if self._heeded:
            return "interrupted"
        return self._stopped or ("max-cost" if self._something_left() else "")

    def _wait(self) -> None:
        """Until no worker is alive."""
        while any(place.alive for place in self._places):
            self._heed()
            ended = self._hands.ended(0.2)
            self._hear()
            for warning in self._hands.warnings():
                self._gathered.observer.warned(warning)
            for life in ended:
                self._bury(self._places[life.worker - 1])
            self._dismiss()

    @property
    def _alive(self) -> list[Life]:
        return [place.life for place in self._places if place.alive]

    @property
    def _replies(self) -> int:
        return self._gathered.spending.model.replies + self._gathered.spending.judges.replies

    def _heed(self) -> None:
        """Pass on what the user has interrupted since the last look."""
        if self._heeded < (count := self._interruptions()):
            first, self._heeded = self._heeded == 0, count
            self._last_heeded = time.monotonic()
            self._hands.close()
            under_way = self._hands.interrupt(self._alive)
            self._gathered.observer.interrupted(under_way, GRACE if first else 0.0)
        if self._heeded > 1 and time.monotonic() - self._last_heeded > LEAVE:
            self._hands.end(self._alive)

    def _hear(self) -> None:
        """Tell the run what has happened."""
        news = self._hands.news()
        for life, (what, about) in news:
            self._tell(life, what, about)
        if news:
            self._gathered.spending.become(self._spending.values())

    def _tell(self, life: Life, what: str, about: tuple[Any, ...]) -> None:
        observer = self._gathered.observer
        if what == "ended":
            self._places[life.worker - 1].unlucky = 0
            self._gathered.totals.join(about[1])
        elif what == "spending":
            self._spending[life] = about[0]
        elif what == "noted":
            conversation_id, mode, reason, tries, when, again = about
            self._gathered.skipped.add(conversation_id, mode, reason=reason, tries=tries, when=when, again=again)
        elif what == "struck":
            self._gathered.skipped.remove(*about)
        elif what == "pacing":
            model, *numbers = about
            self._paces[(model, life.worker)] = (numbers[0], numbers[1], numbers[2])
            same = [pace for (name, _), pace in self._paces.items() if name == model]
            observer.pacing(model, *(sum(column) for column in zip(*same, strict=True)))
        elif what != "answered" or about[0].id not in self._answered:
            # A successor replays what its predecessor has been told of.
            self._answered.update([about[0].id] if what == "answered" else [])
            getattr(observer, what)(*about)

    def _bury(self, place: _Place) -> None:
        """A life is over: note how. Another one goes on where its work is not done and nothing speaks against that."""
        place.alive, place.begun = False, Totals()
        try:
            outcome = self._hands.outcome(place.life)
        except Died as death:
            self._hear()
            place.unfinished = self._hands.bury(place.life)
            self._mourn(place, str(death))
            return
        except Exception as error:  # a bug of ours: raised when the others have ended
            self._fail(error)
            return
        self._hear()
        place.unfinished = self._hands.bury(place.life)
        if isinstance(outcome, Refused):
            self._fail(getattr(errors, outcome.kind, ConfigurationError)(outcome.sentence))
            return
        self._money.give_back(place.money, outcome.spent)
        self._spending[place.life] = outcome.spending
        self._gathered.spending.become(self._spending.values())
        place.begun = outcome.begun
        if outcome.stopped == "outage":
            self._stopped = "outage"

    def _mourn(self, place: _Place, how: str) -> None:
        place.unlucky += 1
        if self._heeded or self._failure is not None or not (place.unfinished or self._hands.waiting()):
            return
        name = f"Worker {place.life.worker}"
        if place.unlucky >= LIVES:
            self._fail(
                ConfigurationError(
                    f"{name} died {LIVES} times in a row without getting anything done, the last time so: {how} What "
                    "was answered is kept; see to the cluster and repeat the command."
                )
            )
        elif self._money.is_bound:
            self._gathered.observer.warned(
                f"{name} died: {how} What it might have spent counts as spent; its conversations wait for what the "
                "others leave of --max-cost."
            )
        else:
            self._gathered.observer.warned(f"{name} died: {how} Another one goes on from its journal.")
            self._revive(place, None)

    def _revive(self, place: _Place, money: float | None) -> None:
        place.life = Life(place.life.worker, place.life.number + 1)
        place.money, place.alive, place.begun = money, True, Totals()
        self._hands.start(place.life, money)

    def _fail(self, error: BaseException) -> None:
        """End all, and raise this when they have ended."""
        if self._failure is None:
            self._failure = error
            self._hands.close()
            self._hands.interrupt(self._alive)

    def _next_round(self, replies: int) -> bool:
        """Whether those whose part of the money was too small go on with what all have left."""
        if self._heeded or self._failure or self._stopped or not self._money.is_bound:
            return False
        if not (self._something_left() and self._money.some_left and self._replies > replies):
            return False
        poor = [place for place in self._places if place.unfinished] or self._places[:1]
        for number, place in enumerate(poor):
            self._revive(place, self._money.take(len(poor) - number))
        return True

    def _something_left(self) -> bool:
        return any(place.unfinished for place in self._places) or self._hands.waiting() > 0

    def _dismiss(self) -> None:
        """End those who have found no room on the cluster, when there is nothing to do for them any more."""
        pending = self._hands.pending()
        idle = [place for place in self._places if place.alive and place.life in pending]
        if not idle:
            return
        over = bool(self._heeded) or self._failure is not None
        if not over:
            busy = len(idle) < len(self._alive) or any(place.unfinished for place in idle)
            over = not busy and not self._hands.waiting()
        if over:
            self._hands.end([place.life for place in idle])
            for place in idle:
                place.alive = False
                self._money.give_back(place.money, 0.0)
