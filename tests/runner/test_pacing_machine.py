"""Whatever calls do and whenever they are cancelled: the line keeps its promises."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import hypothesis.strategies as st
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from lines import NoJitter, Told, trouble, waiting
from virtual_time import VirtualLoop

from attunebench.errors import TransientError, Trouble
from attunebench.runner.pacing import RateLimiter

KINDS: tuple[Trouble, ...] = ("rate", "money", "starting", "server", "gateway", "connect", "line", "timeout", "body")
ENDS = st.one_of(
    st.none(), st.builds(trouble, st.sampled_from(KINDS), st.one_of(st.none(), st.sampled_from((0.5, 20.0, 500.0))))
)


@dataclass(eq=False)
class Try:
    """One try of somebody's: waiting until `sent_at` is set, over when the task is."""

    again: bool
    end: asyncio.Future[None]
    task: asyncio.Task[None] | None = None
    sent_at: float | None = None

    @property
    def over(self) -> bool:
        return self.task is not None and self.task.done()


@dataclass
class Seen:
    """The line as it was at the last look."""

    limit: int
    sent: int = 0
    open_since: int | None = None
    tries: list[Try] = field(default_factory=list)


class Line(RuleBasedStateMachine):
    @initialize(ceiling=st.integers(1, 5), rpm=st.sampled_from((None, 60.0)))
    def begin(self, ceiling: int, rpm: float | None) -> None:
        self.loop = VirtualLoop()
        self.pace = RateLimiter("m", ceiling, observer=Told(), rng=NoJitter(), rpm=rpm)
        self.tries: list[Try] = []
        self.sent: list[Try] = []
        self.held_until = 0.0
        self.seen = Seen(ceiling)

    @rule(again=st.booleans(), how_many=st.integers(1, 4))
    def ask(self, again: bool, how_many: int) -> None:
        for _ in range(how_many):
            one = Try(again, self.loop.create_future())
            one.task = self.loop.create_task(self.live(one))
            self.tries.append(one)

    async def live(self, one: Try) -> None:
        try:
            with await self.pace.slot(again=one.again):
                one.sent_at = self.loop.time()
                self.sent.append(one)
                assert one.sent_at >= self.held_until - 1e-6
                await one.end
        except TransientError:
            pass

    @precondition(lambda self: self.under_way())
    @rule(data=st.data(), error=ENDS, together_with_a_cancellation=st.booleans())
    def end(self, data: st.DataObject, error: TransientError | None, together_with_a_cancellation: bool) -> None:
        one = data.draw(st.sampled_from(self.under_way()))
        if error is None:
            one.end.set_result(None)
        else:
            one.end.set_exception(error)
        if together_with_a_cancellation and self.waiting():
            # At one of the moments between the end and the next one's waking up.
            self.loop.settle(data.draw(st.integers(0, 3)))
            self.cancel_one(data.draw(st.sampled_from(self.tries)))
        if error is not None and error.retry_after and error.kind in ("rate", "money"):
            self.loop.settle()
            self.held_until = max(self.held_until, self.loop.time() + min(120.0, error.retry_after))

    @precondition(lambda self: self.tries)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        self.cancel_one(data.draw(st.sampled_from(self.tries)))

    def cancel_one(self, one: Try) -> None:
        assert one.task is not None
        one.task.cancel()

    @rule(seconds=st.sampled_from((0.0, 0.3, 5.0, 60.0)))
    def pass_time(self, seconds: float) -> None:
        self.loop.pass_time(seconds)

    def under_way(self) -> list[Try]:
        return [one for one in self.tries if one.sent_at is not None and not one.over and not one.end.done()]

    def waiting(self) -> list[Try]:
        return [one for one in self.tries if one.sent_at is None and not one.over]

    @invariant()
    def promises_are_kept(self) -> None:
        if not hasattr(self, "loop"):
            return
        self.loop.settle()
        for one in self.tries:
            if one.over and one.task is not None and not one.task.cancelled():
                one.task.result()  # an assertion of its own
        self.tries = [one for one in self.tries if not one.over]
        assert len(self.under_way()) == self.pace.under_way
        assert len(self.waiting()) == waiting(self.pace)
        if len(self.sent) > self.seen.sent:
            assert self.pace.under_way <= max(self.seen.limit, self.pace.limit)
        assert 1 <= self.pace.limit <= self.pace.ceiling
        self.turns_came_in_order()
        self.one_probe_at_most()
        self.seen.limit, self.seen.sent = self.pace.limit, len(self.sent)

    def turns_came_in_order(self) -> None:
        for again in (True, False):
            mine = [one.sent_at is not None for one in self.tries if one.again is again]
            assert sorted(mine, reverse=True) == mine, "one that asked later has had its turn before"

    def one_probe_at_most(self) -> None:
        if not self.pace.open:
            self.seen.open_since = None
        elif self.seen.open_since is None:
            self.seen.open_since = len(self.sent)
        else:
            probes = [one for one in self.sent[self.seen.open_since :] if not one.over]
            assert len(probes) <= 1
            assert (self.pace.probe is not None) == bool(probes)

    def teardown(self) -> None:
        """Nobody waits for ever: with a server that is well again, everybody gets a turn."""
        if not hasattr(self, "loop"):
            return
        for _ in range(20 + len(self.tries)):
            for one in self.under_way():
                one.end.set_result(None)
            self.loop.pass_time(125)
        left = self.pace.under_way, waiting(self.pace)
        self.loop.finish()
        assert (0, 0) == left


TestLine = Line.TestCase
TestLine.settings = settings(max_examples=30, stateful_step_count=40, deadline=None)
