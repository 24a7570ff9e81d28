"""Workers that end in every way, on a cluster that does as it is told: who goes on, what it costs, what is said."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest
from attunebench.runner.totals import Totals

from attunebench.errors import ConfigurationError
from attunebench.runner.events import Observer
from attunebench.runner.stint import Done, Gathered
from attunebench.spreading.crowd import LIVES, Crowd, Died
from attunebench.spreading.desk import Desk, Life, News
from attunebench.spreading.worker import Refused

Script = Callable[["Scripted", Life, "float | None"], Any]


class Scripted:
    """`Hands` whose workers do their whole life when somebody waits for them, as `script(self, life, money)` says."""

    def __init__(self, jobs: int, script: Script, *, pending: Sequence[int] = ()) -> None:
        self.desk = Desk(range(jobs))
        self.started: list[tuple[Life, float | None]] = []
        self.interrupted: list[Life] = []
        self._script = script
        self._pending = set(pending)
        self._alive: dict[Life, float | None] = {}

    def start(self, life: Life, money: float | None) -> None:
        self.started.append((life, money))
        self._alive[life] = money
        self.desk.begin(life)

    def ended(self, seconds: float) -> Sequence[Life]:
        return [life for life in self._alive if life.worker not in self._pending]

    def outcome(self, life: Life) -> Done | Refused:
        outcome = self._script(self, life, self._alive.pop(life))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def interrupt(self, lives: Sequence[Life]) -> int:
        self.interrupted += lives
        return len(lives)

    def end(self, lives: Sequence[Life]) -> None:
        for life in lives:
            self._alive.pop(life)

    def pending(self) -> set[Life]:
        return {life for life in self._alive if life.worker in self._pending}

    def close(self) -> None:
        self.desk.close()

    def bury(self, life: Life) -> bool:
        return self.desk.bury(life)

    def news(self) -> Sequence[tuple[Life, News]]:
        return self.desk.news()

    def waiting(self) -> int:
        return self.desk.waiting

    def warnings(self) -> Sequence[str]:
        return []

    def do(self, life: Life, jobs: int = 99) -> int:
        """So many jobs, or as many as there are."""
        count = 0
        while count < jobs and (taken := self.desk.take(life)) is not None:
            self.desk.tell(life, [("ended", (taken[0], Totals(written=1)))])
            count += 1
        return count


class Heard(Observer):
    def __init__(self) -> None:
        self.said: list[str] = []
        self.paces: list[tuple[int, int, int]] = []

    def warned(self, message: str) -> None:
        self.said.append(message)

    def pacing(self, model: str, under_way: int, limit: int, ceiling: int) -> None:
        self.paces.append((under_way, limit, ceiling))


class NoList:
    def add(self, *_: Any, **__: Any) -> None: ...
    def remove(self, *_: Any) -> None: ...


def done(stopped: Any = "", replies: int = 0, spent: float = 0.0) -> Done:
    return Done(stopped, Spending(model=Share(replies=replies, cost=spent)), spent)


def crowd(hands: Scripted, **more: Any) -> tuple[Crowd, Gathered, Heard]:
    heard = Heard()
    gathered = Gathered(heard, Totals(), Spending(), NoList())
    return Crowd(hands, gathered, **{"workers": 2, "max_cost": None, **more}), gathered, heard


def test_all_jobs_are_done_and_counted_once() -> None:
    hands = Scripted(7, lambda hands, life, _: done(replies=hands.do(life)))
    run, gathered, heard = crowd(hands)
    assert "" == run.work()
    assert (7, 7, []) == (gathered.totals.written, gathered.spending.model.replies, heard.said)


def test_a_dead_worker_has_a_successor_that_does_the_rest() -> None:
    def script(hands: Scripted, life: Life, _: float | None) -> Any:
        if life == Life(1, 1):
            hands.do(life, 2)
            hands.desk.take(life)
            return Died("gone.")
        if life.worker == 2:
            return done()
        return done(replies=hands.do(life))

    run, gathered, heard = crowd(Scripted(5, script))
    assert "" == run.work()
    assert 5 == gathered.totals.written
    assert ["Worker 1 died: gone. Another one goes on from its journal."] == heard.said


def test_a_worker_that_dies_and_dies_ends_the_run_with_a_sentence() -> None:
    hands = Scripted(5, lambda _hands, life, _money: Died("gone.") if life.worker == 1 else done())
    run, _, _ = crowd(hands)
    with pytest.raises(ConfigurationError, match=f"Worker 1 died {LIVES} times in a row"):
        run.work()
    assert LIVES == sum(life.worker == 1 for life, _ in hands.started)


def test_what_one_worker_is_refused_with_ends_all_and_is_raised() -> None:
    def script(hands: Scripted, life: Life, _: float | None) -> Any:
        return Refused("ConfigurationError", "No such model.") if life.worker == 1 else done("interrupted")

    hands = Scripted(5, script)
    run, _, _ = crowd(hands)
    with pytest.raises(ConfigurationError, match=r"No such model\."):
        run.work()
    assert hands.desk.take(Life(2, 1)) is None


def test_what_the_others_have_left_goes_to_those_whose_part_of_the_money_was_too_small() -> None:
    def script(hands: Scripted, life: Life, money: float | None) -> Any:
        assert money is not None
        count = hands.do(life, int(money) if life == Life(2, 1) else min(1, int(money)))
        hands.desk.take(life)
        return done("max-cost" if hands.waiting() else "", replies=count, spent=float(count))

    hands = Scripted(20, script)
    run, gathered, _ = crowd(hands, max_cost=8.0)
    assert "max-cost" == run.work()
    assert [4.0, 4.0, 1.5, 1.5] == [money for _, money in hands.started][:4]
    assert gathered.spending.model.cost <= 8.0


def test_the_money_of_a_dead_worker_counts_as_spent() -> None:
    def script(hands: Scripted, life: Life, money: float | None) -> Any:
        if life == Life(1, 1):
            hands.desk.take(life)
            return Died("gone.")
        count = hands.do(life)
        return done(replies=count, spent=1.0 if count else 0.0)

    hands = Scripted(4, script)
    run, gathered, heard = crowd(hands, max_cost=10.0)
    assert "" == run.work()
    assert [(Life(1, 1), 5.0), (Life(2, 1), 5.0), (Life(1, 2), 4.0)] == hands.started
    assert 4 == gathered.totals.written
    assert "counts as spent" in heard.said[0]


def test_the_first_ctrl_c_reaches_all_and_nothing_more_is_begun() -> None:
    hands = Scripted(4, lambda hands, life, _: done("interrupted", replies=hands.do(life)))
    run, gathered, _ = crowd(hands, interruptions=lambda: 1)
    assert "interrupted" == run.work()
    assert [Life(1, 1), Life(2, 1)] == hands.interrupted
    assert 0 == gathered.totals.written


def test_nobody_waits_for_a_worker_that_has_found_no_room() -> None:
    hands = Scripted(4, lambda hands, life, _: done(replies=hands.do(life)), pending=[2])
    run, gathered, _ = crowd(hands)
    assert "" == run.work()
    assert 4 == gathered.totals.written


def test_paces_of_one_model_are_told_in_sum() -> None:
    def script(hands: Scripted, life: Life, _: float | None) -> Any:
        hands.desk.tell(life, [("pacing", ("m", 1, 3, 8))])
        return done(replies=hands.do(life))

    run, _, heard = crowd(Scripted(1, script))
    run.work()
    assert [(1, 3, 8), (2, 6, 16)] == heard.paces
