"""A live run that gets no answer says so, says what is waited for, and nothing else."""

from __future__ import annotations

import asyncio

from lines import Told, now
from model_clients import run_live, settings_for
from talks import parsed, small_file
from virtual_time import run_virtual

from attunebench.backends.base import Reply, Request
from attunebench.codebook import default_codebook
from attunebench.protocol.plan import plan_conversation
from attunebench.runner.exchange import Rules
from attunebench.runner.job import Job

CALLS = plan_conversation(parsed(small_file()), "default", default_codebook())


def stalls(*seconds: float) -> list[tuple[str, float]]:
    """What is told of a run whose calls, one at a time, are answered after so many seconds; and when."""

    class Stalled(Told):
        def stalled(self, waiting_for: str, seconds: float) -> None:
            self.stalls.append((f"{now():.0f} s: {waiting_for}", seconds))

    told, waits = Stalled(), iter(seconds)

    async def send(_: Request) -> Reply:
        await asyncio.sleep(next(waits))
        return Reply("{}")

    settings = settings_for(concurrency=1, max_reasks=0, call_timeout=10_000, total_timeout=10_000)
    job = Job(("talk", "default"), CALLS[: len(seconds)], Rules(default_codebook(), 100, 0))
    run_virtual(run_live(send, job, settings=settings, observer=told))
    return told.stalls


def test_silence_is_told_after_a_minute_and_whenever_it_has_doubled() -> None:
    told = stalls(400)
    assert [60, 120, 240] == [seconds for _, seconds in told]
    assert [f"{seconds} s: 1 calls to m, the oldest ({CALLS[0].id}) for {seconds} s" for seconds in (60, 120, 240)] == [
        words for words, _ in told
    ]


def test_every_answer_begins_the_minute_anew() -> None:
    assert [60, 120, 60] == [seconds for _, seconds in stalls(50, 50, 130, 70)]
