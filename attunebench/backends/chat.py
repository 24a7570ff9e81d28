"""The backend for every OpenAI-compatible server: one request, one reply, no retries. `faults` decides what a failure
means, `negotiation` what can be given up; `transport` reaches the host."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import httpx2
from openai import AsyncOpenAI
from openai._types import RequestOptions
from pydantic import SecretStr

from attunebench.backends.base import Reply, Request
from attunebench.backends.caught import fault_of_exception, kept_headers, located, without_key
from attunebench.backends.faults import Fault, error_for, rule_for
from attunebench.backends.negotiation import Terms, adapted, first_terms, guessed
from attunebench.backends.prices import Prices, fetch_prices
from attunebench.backends.providers import Endpoint
from attunebench.backends.transport import CLIENT_ERRORS, open_client, response_of
from attunebench.backends.wire import encoded, outcome_of, tidy

if TYPE_CHECKING:
    from attunebench.runner.settings import Structured


class ChatBackend:
    """One model at one endpoint, in the loop of its first call until `aclose`. What the server turned out not to accept
    is remembered for this object's life; the arguments are those of `open_backend`."""

    def __init__(
        self, endpoint: Endpoint, structured: Structured, concurrency: int, memory: Mapping[str, Any] | None,
        taken: Collection[str], client: AsyncOpenAI | None
    ) -> None:  # fmt: skip
        self._endpoint = endpoint
        self.provider, self.model = endpoint.provider, endpoint.model
        self.base_url, self.payer = endpoint.base_url, endpoint.payer
        self._terms = first_terms(endpoint.provider, structured, memory)
        self._taken_before, self._taken = frozenset(taken), set[str]()
        self._under_way = self._doubting = self._unreadable = 0
        self._news = asyncio.Event()
        self._is_users = client is not None
        self._client = client or open_client(endpoint, connections=concurrency)

    async def complete(self, request: Request) -> Reply:
        """One try; where the server rejects a parameter, again at once without it. A rejection that says nothing of the
        kind is first heard a second time. Raises as `Backend.complete`; their texts never contain the key."""
        terms, repeated = self._terms, False
        self._under_way += 1
        try:
            while not isinstance(outcome := await self._try(request, terms), Reply):
                further = adapted(terms, request, outcome)
                if further is None and not repeated:
                    repeated = True
                    if await self._is_worth_repeating(outcome, terms):
                        continue
                further = further or guessed(terms, outcome, self._taken | self._taken_before)
                if further is None:
                    # The client's exceptions may hold the proxy's address, so they do not travel along as the cause.
                    raise error_for(replace(outcome, known=self._known), self._endpoint) from None
                terms = further
            return outcome
        finally:
            self._under_way -= 1
            self._news.set()

    async def _try(self, request: Request, terms: Terms) -> Reply | Fault:
        """One request on these terms."""
        clock = asyncio.get_running_loop().time  # which leaves out the time that this process slept
        start = clock()
        outcome = await self._send(request, terms)
        elapsed = clock() - start
        if isinstance(outcome, Fault):
            self._unreadable += outcome.line == "encoding"
            if outcome.line == "encoding" and self._unreadable >= 2:
                self._terms = replace(self._terms, given_up=self._terms.given_up | {"compression"})
            answered = bool(self._taken)
            return located(outcome, self._endpoint, answered, request.reask, known=self._known, elapsed=elapsed)
        self._taken.add(terms.rung)
        self._news.set()
        learned = self._terms.learned(terms)
        # What one request had to do without and others were answered with is that request's own.
        self._terms = replace(learned, given_up=learned.given_up - self._taken)
        reply = without_key(outcome, self._endpoint)
        return replace(reply, latency=elapsed, structured=terms.rung, notes=terms.notes(request))

    @property
    def _known(self) -> bool:
        """Whether this model has ever answered at this address, so that a rejection can only be one request's."""
        return bool(self._taken or self._taken_before)

    async def _is_worth_repeating(self, fault: Fault, terms: Terms) -> bool:
        """Whether the same request goes out once more before its rejection counts."""
        if (rule := rule_for(fault)).name != "rejected":
            return rule.doubtful
        # Before anything was answered it concerns all requests or this one, and those that are under way tell.
        self._doubting += 1
        try:
            while not self._known and self._under_way > self._doubting:
                self._news.clear()
                await self._news.wait()
        finally:
            self._doubting -= 1
            self._news.set()
        return self._known or guessed(terms, fault, ()) is not None

    def learned(self) -> Mapping[str, Any]:
        return self._terms.as_memory()

    async def prices(self) -> Prices | None:
        if self._is_users:
            return await fetch_prices(self._client, self.model)
        async with open_client(self._endpoint, connections=1) as client:
            return await fetch_prices(client, self.model)

    async def aclose(self) -> None:
        if not self._is_users:
            await self._client.close()

    async def _send(self, request: Request, terms: Terms) -> Reply | Fault:
        options: RequestOptions = {"timeout": request.timeout, "max_retries": 0}
        if "compression" in terms.given_up:
            options["headers"] = {"Accept-Encoding": "identity"}
        body = {"model": self.model, **terms.body(request)}
        try:
            response = await self._post(encoded(body), options, request.timeout)
        except CLIENT_ERRORS as error:
            return fault_of_exception(error)
        except Exception as error:
            if not self._is_users:
                raise
            # Such as of the function that fetches its tokens.
            return Fault(line="client", message=tidy(f"{type(error).__name__}: {error}"))
        outcome = outcome_of(response.status_code, response.content)
        if isinstance(outcome, Reply):
            return replace(outcome, headers=kept_headers(response.headers, self._endpoint))
        packing = response.extensions.get("encoding") or response.headers.get("content-encoding")
        if outcome.line == "body" and packing not in (None, "identity"):
            outcome = replace(outcome, line="encoding")  # a compressed body that was cut shows as a cut body
        return replace(outcome, headers=dict(response.headers))

    async def _post(self, content: bytes, options: RequestOptions, seconds: float) -> httpx2.Response:
        """What the server answers, whatever its status."""
        if not self._is_users:
            # Bytes and a whole address are quicker than what the SDK makes of objects and a path.
            url = f"{self.base_url}/chat/completions"
            return await response_of(self._client.post(url, content=content, cast_to=httpx2.Response, options=options))
        # Azure's client reads the deployment in the body, and keeps no time for the whole of a response.
        body = json.loads(content)
        call = self._client.post("/chat/completions", body=body, cast_to=httpx2.Response, options=options)
        response = await response_of(call, seconds)
        sent = response.request.headers
        if key := sent.get("api-key") or sent.get("authorization", "").partition(" ")[2]:
            # Whatever its client sent it by, the server may repeat it.
            self._endpoint = replace(self._endpoint, key=SecretStr(key))
        return response
