"""The backend for every OpenAI-compatible server: one request, one reply, no retries.

Owns what goes over the wire and how a body is read. What a failure means stands in `faults`, what can be given up to
be understood in `negotiation`, how a host is reached in `session`; a call's meaning is none of its business.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticSerializationError, to_json

from attunebench.backends.caught import (
    CATCHABLE,
    fault_of_exception,
    kept_headers,
    located,
    outcome_of,
    without_key,
)
from attunebench.backends.faults import Fault, error_for, rule_for
from attunebench.backends.negotiation import adapted, first_terms, guessed
from attunebench.backends.session import open_session, read_body, route_to, timeouts
from attunebench.text import encodable

if TYPE_CHECKING:
    from aiohttp import ClientSession

    from attunebench.backends.base import Reply, Request
    from attunebench.backends.negotiation import Terms
    from attunebench.backends.prices import Prices
    from attunebench.backends.providers import Endpoint
    from attunebench.runner.settings import Structured

_LARGE = 1 << 20
"""Bytes: the client writes larger bodies piece by piece, so that the other calls go on."""
_UNREADABLE = 2
"""So many answers that cannot be unpacked, and compression is done without."""


class ChatBackend:
    """One model at one endpoint. What the server turned out not to accept is remembered for this object's life.

    `memory` is what `learned` gave after an earlier run with the same provider, address and model, and `taken` says how
    the output was constrained in requests that were answered then ("schema", "object", "text"); empty where none was.
    Connections are opened with the first call, in its loop; the object is of use in that loop only, until `aclose`.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        *,
        structured: Structured = "auto",
        concurrency: int = 16,
        memory: Mapping[str, Any] | None = None,
        taken: Collection[str] = (),
    ) -> None:
        self.provider = endpoint.provider
        self.model = endpoint.model
        self.base_url = endpoint.base_url
        self.payer = endpoint.payer
        self._endpoint = endpoint
        self._terms = first_terms(endpoint.provider, structured, memory)
        self._taken_before = frozenset(taken)
        self._taken: set[str] = set()
        self._unreadable = 0
        self._under_way = self._doubting = 0
        self._news = asyncio.Event()
        self._concurrency = concurrency
        self._url = f"{endpoint.base_url}/chat/completions"
        self._route = route_to(endpoint)
        key = endpoint.key.get_secret_value()
        self._headers = {"Content-Type": "application/json", **self._route.headers(endpoint, f"Bearer {key}")}
        self._session: ClientSession | None = None

    def __repr__(self) -> str:
        return f"ChatBackend({self.provider!r}, {self.model!r}, {self.base_url!r})"

    async def complete(self, request: Request) -> Reply:
        """One try; where the server rejects a parameter, again at once without it. A rejection that says nothing of the
        kind is first heard a second time.

        Raises TransientError, RejectedError, ItemError or ConfigurationError; their texts hold no part of the key.
        """
        terms, heard = self._terms, False
        self._under_way += 1
        try:
            while True:
                outcome = await self._tried(request, terms)
                if not isinstance(outcome, Fault):
                    return outcome
                further = adapted(terms, request, outcome)
                if further is None and not heard:
                    heard = True
                    if await self._is_worth_repeating(outcome, terms):
                        continue
                further = further or guessed(terms, outcome, self._taken | self._taken_before)
                if further is None:
                    outcome = replace(outcome, known=self._known)
                    # The client's exceptions may hold the proxy's address, so they do not travel along as the cause.
                    raise error_for(outcome, self._endpoint) from None
                terms = further
        finally:
            self._under_way -= 1
            self._news.set()

    async def _tried(self, request: Request, terms: Terms) -> Reply | Fault:
        """One request on these terms."""
        clock = asyncio.get_running_loop().time  # which leaves out the time that this process slept
        start = clock()
        outcome = await self._send(request, terms)
        elapsed = clock() - start
        if not isinstance(outcome, Fault):
            self._taken.add(terms.rung)
            self._news.set()
            learned = self._terms.learned(terms)
            # What one request had to do without and others were answered with is that request's own.
            self._terms = replace(learned, given_up=learned.given_up - self._taken)
            reply = without_key(outcome, self._endpoint)
            return replace(reply, latency=elapsed, structured=terms.rung, notes=terms.notes(request))
        if outcome.line == "encoding":
            self._do_without_compression()
        answered = bool(self._taken)
        return located(
            outcome, self._endpoint, answered=answered, known=self._known, reask=request.reask, elapsed=elapsed
        )

    @property
    def _known(self) -> bool:
        """Whether this model has ever answered at this address, so that a rejection can only be one request's."""
        return bool(self._taken or self._taken_before)

    async def _is_worth_repeating(self, fault: Fault, terms: Terms) -> bool:
        """Whether the same request goes out once more before its rejection counts.

        Before anything was answered a rejection concerns all requests or this one, and those that are under way tell.
        """
        if rule_for(fault).name == "rejected":
            self._doubting += 1
            try:
                while not self._known and self._under_way > self._doubting:
                    self._news.clear()
                    await self._news.wait()
            finally:
                self._doubting -= 1
                self._news.set()
            return self._known or guessed(terms, fault, ()) is not None
        return rule_for(fault).doubtful

    def learned(self) -> Mapping[str, Any]:
        """What the server was found not to take, for JSON and a later `memory`; empty where it takes everything."""
        return self._terms.as_memory()

    async def prices(self) -> Prices | None:
        """What the provider's list says that this model costs; None where it says nothing that can be relied on."""
        from attunebench.backends.prices import fetch_prices

        return await fetch_prices(self._endpoint)

    async def aclose(self) -> None:
        """Close the connections and let them end."""
        session, self._session = self._session, None
        if session is not None:
            await session.close()

    def _do_without_compression(self) -> None:
        self._unreadable += 1
        if self._unreadable >= _UNREADABLE:
            self._terms = replace(self._terms, given_up=self._terms.given_up | {"compression"})

    async def _send(self, request: Request, terms: Terms) -> Reply | Fault:
        body = encoded({"model": self.model, **terms.body(request)})
        headers = self._headers
        if "compression" in terms.given_up:
            headers = {**headers, "Accept-Encoding": "identity"}
        try:
            async with self._opened().post(
                self._url,
                data=body if len(body) < _LARGE else BytesIO(body),
                headers=headers,
                timeout=timeouts(request.timeout),
                **self._route.options,
            ) as response:
                content = await read_body(response)
        except CATCHABLE as error:
            return fault_of_exception(error)
        outcome = outcome_of(response.status, content)
        if not isinstance(outcome, Fault):
            return replace(outcome, headers=kept_headers(response.headers, self._endpoint))
        if outcome.line == "body" and response.headers.get("Content-Encoding", "identity") != "identity":
            outcome = replace(outcome, line="encoding")  # a compressed body that was cut shows as a cut body
        return replace(outcome, headers={name.lower(): value for name, value in response.headers.items()})

    def _opened(self) -> ClientSession:
        if self._session is None:
            self._session = open_session(self._route, connections=self._concurrency)
        return self._session


def encoded(body: Mapping[str, Any]) -> bytes:
    """The body as JSON in UTF-8; halves of surrogate pairs are mended, since no request can carry them."""
    try:
        return to_json(body)
    except (PydanticSerializationError, UnicodeError):
        return encodable(json.dumps(body, ensure_ascii=False, separators=(",", ":"))).encode()
