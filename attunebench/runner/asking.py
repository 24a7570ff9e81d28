"""Ask one model one call until there is an answer: retries against the line, reasks against the model.

Owns the difference between the two. What the line does (`TransientError`) is tried again with backoff and never
reaches the answer; what the model does is read, asked again within bounds, and then stands as not answered.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt
from tenacity.stop import stop_base

from attunebench.backends.base import Backend, Reply, Request
from attunebench.errors import ItemError, TransientError
from attunebench.protocol.calls import Answer, Call, Message, Record, Usage
from attunebench.protocol.plan import reask
from attunebench.protocol.read import merge_answers, read_reply

if TYPE_CHECKING:
    from attunebench.codebook import Codebook
    from attunebench.conversations.schema import Conversation
    from attunebench.runner.events import Observer
    from attunebench.runner.settings import RunSettings

LONGEST_WAIT = 120.0
"""Seconds: a server that asks for a longer pause is asked again after this one."""
FIRST_BACKOFF = 0.5
"""Seconds: ceiling of the first random wait; it doubles with every try."""
LENGTH_FACTOR = 4
"""A reply that was cut at the token limit is asked for once more with so many times the limit."""


@dataclass(slots=True)
class _Tally:
    """What one call has taken so far, over all that was sent for it."""

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    unpriced: bool = False
    models: list[str] = field(default_factory=list)
    providers: list[str] = field(default_factory=list)
    structured: str | None = None
    adapted: dict[str, Any] = field(default_factory=dict)

    def add(self, reply: Reply) -> None:
        self.usage += reply.usage
        self.unpriced = self.unpriced or reply.cost is None
        self.cost = None if self.unpriced else (self.cost or 0.0) + (reply.cost or 0.0)
        for name, seen in ((reply.model, self.models), (reply.provider, self.providers)):
            if name and name not in seen:
                seen.append(name)
        self.structured = reply.structured or self.structured
        self.adapted.update(reply.notes)

    def record(self, call: Call, answer: Answer, *, reasks: int, seconds: float) -> Record:
        return Record(
            call=call,
            answer=answer,
            requests=self.requests,
            reasks=reasks,
            usage=self.usage,
            cost=self.cost,
            seconds=seconds,
            models=tuple(self.models),
            providers=tuple(self.providers),
            structured=self.structured,
            adapted=self.adapted,
        )


class Asker:
    """Asks one model. `observer` hears of every retry and reask; `rng` spreads the waits (full jitter)."""

    def __init__(
        self,
        backend: Backend,
        settings: RunSettings,
        codebook: Codebook,
        observer: Observer,
        rng: random.Random | None = None,
    ) -> None:
        self.backend = backend
        self._settings = settings
        self._codebook = codebook
        self._observer = observer
        self._rng = rng or random.Random()

    async def ask(self, call: Call, conversation: Conversation) -> Record:
        """The call's final answer.

        Raises TransientError when the line never healed within `max_tries` and `total_timeout`, and
        ConfigurationError at once. A call that the server can never accept is answered by nothing.
        """
        loop = asyncio.get_running_loop()
        start = loop.time()
        deadline = start + self._settings.total_timeout
        tally = _Tally()
        answer: Answer | None = None
        messages, max_tokens, reasks = call.messages, self._settings.max_tokens, 0
        while True:
            request = self._request(call, messages, max_tokens, reasks, conversation)
            try:
                reply = await self._send(request, deadline, tally)
            except ItemError as error:
                answer = answer or _nothing(call, self._codebook, error)
                break
            except TransientError as error:
                error.tries = tally.requests
                raise
            tally.add(reply)
            read = read_reply(call.asked, reply, self._codebook)
            answer = read if answer is None else merge_answers(call.asked, answer, read)
            longer = read.outcome == "truncated" and max_tokens == self._settings.max_tokens
            if not _worth_asking_again(read, answer, longer) or reasks >= self._settings.max_reasks:
                break
            reasks += 1
            self._observer.reasking(call, len(answer.missing))
            if longer:
                max_tokens *= LENGTH_FACTOR
            else:
                messages = reask(call, answer.missing)
        return tally.record(call, answer, reasks=reasks, seconds=loop.time() - start)

    def _request(
        self, call: Call, messages: tuple[Message, ...], max_tokens: int, reasks: int, conversation: Conversation
    ) -> Request:
        return Request(
            call=call,
            messages=messages,
            max_tokens=max_tokens,
            temperature=self._settings.temperature,
            seed=self._settings.seed,
            timeout=self._settings.call_timeout,
            reask=reasks,
            conversation=conversation,
        )

    async def _send(self, request: Request, deadline: float, tally: _Tally) -> Reply:
        """One reply, however many tries the line needs."""
        loop = asyncio.get_running_loop()
        retrying = AsyncRetrying(
            retry=retry_if_exception_type(TransientError),
            stop=stop_after_attempt(self._settings.max_tries) | _Past(deadline, loop.time),
            wait=self._wait,
            before_sleep=lambda state: self._tell(request.call, state),
            reraise=True,
        )
        async for attempt in retrying:
            with attempt:
                tally.requests += 1
                return await self._try(request, deadline - loop.time())
        raise AssertionError("tenacity either returns or raises")

    async def _try(self, request: Request, remaining: float) -> Reply:
        """One try under a total deadline: a server that drips a byte now and then ends here too."""
        seconds = max(0.01, min(request.timeout, remaining))
        try:
            return await asyncio.wait_for(self.backend.complete(request), seconds)
        except asyncio.TimeoutError as error:
            raise TransientError(f"no complete answer within {seconds:.0f} s") from error

    def _wait(self, state: RetryCallState) -> float:
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, TransientError) else None
        ceiling = FIRST_BACKOFF * 2.0 ** (state.attempt_number - 1)
        # What the server asks for is a lower bound; the jitter on top keeps the waiting calls from returning at once.
        return min(LONGEST_WAIT, (asked or 0.0) + self._rng.uniform(0.0, min(ceiling, 30.0)))

    def _tell(self, call: Call, state: RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        self._observer.retrying(call, str(error), state.upcoming_sleep)


class _Past(stop_base):
    """Stop where the next wait would end after the deadline."""

    def __init__(self, deadline: float, clock: Callable[[], float]) -> None:
        self._deadline = deadline
        self._clock = clock

    def __call__(self, retry_state: RetryCallState) -> bool:
        return self._clock() + retry_state.upcoming_sleep >= self._deadline


def _worth_asking_again(read: Answer, answer: Answer, longer: bool) -> bool:
    """A refusal is final, and so is a reply that the larger limit cut as well; what is missing is asked for again."""
    if not answer.missing or read.outcome == "refused":
        return False
    return read.outcome != "truncated" or longer


def _nothing(call: Call, codebook: Codebook, error: ItemError) -> Answer:
    refusal = str(error) if error.outcome == "refused" else None
    return read_reply(call.asked, Reply(text=None, refusal=refusal), codebook)
