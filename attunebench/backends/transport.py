"""The client for one address, the openai SDK over httpx2 over aiohttp, all slow to import: which headers leave, how
long a response may take and how much of it is read. `caught` reads its errors."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable
from functools import lru_cache
from io import BytesIO
from typing import Any

import aiohttp
import httpx2
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, Omit, OpenAIError

from attunebench.backends import session
from attunebench.backends.providers import Endpoint
from attunebench.errors import ConfigurationError

CLIENT_ERRORS: tuple[type[Exception], ...] = (APIConnectionError, ValueError, *session.CATCHABLE)
"""Exceptions of an SDK request without a response; any other is a bug of ours."""
_STAINLESS = ("Arch", "Async", "Lang", "OS", "Package-Version", "Runtime", "Runtime-Version")
# Headers that the SDK need not build, since none of its own are sent: saves a sixth of its time.
_LEFT_OUT: Any = dict.fromkeys(("Accept", "User-Agent", *(f"X-Stainless-{name}" for name in _STAINLESS)), Omit())
_url = lru_cache(httpx2.URL)


def open_client(endpoint: Endpoint, *, connections: int) -> AsyncOpenAI:
    """The SDK's client for an endpoint in one running loop; sends nothing yet. Raises ConfigurationError."""
    http_client = HttpClient(endpoint, connections)
    query = {"api-version": endpoint.api_version} if endpoint.api_version else None
    key = endpoint.key.get_secret_value()
    try:
        return AsyncOpenAI(
            api_key=key, base_url=endpoint.base_url, max_retries=0, default_headers=_LEFT_OUT, default_query=query,
            http_client=http_client,
        )  # fmt: skip
    except (OpenAIError, httpx2.InvalidURL) as error:
        raise ConfigurationError(f"The openai SDK rejects the base URL {endpoint.base_url!r}: {error}") from None


async def response_of(call: Awaitable[httpx2.Response], seconds: float | None = None) -> httpx2.Response:
    """The response to a request, whatever its status, within so many seconds. Raises what the client raises."""
    try:
        return await (call if seconds is None else asyncio.wait_for(call, seconds))
    except APIStatusError as error:
        return error.response


class HttpClient(httpx2.AsyncClient):
    """Sends to one endpoint with its headers and no others. httpx2 itself would log each request, keep cookies, read
    the environment and follow redirects. A request's read timeout is for the whole response; files have none."""

    def __init__(self, endpoint: Endpoint, connections: int) -> None:
        super().__init__(transport=httpx2.AsyncBaseTransport(), trust_env=False)
        self._route = session.route_to(endpoint)
        self._sent_headers = endpoint.credentials
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    def build_request(self, method: str, url: Any, *, timeout: Any = None, **content: Any) -> httpx2.Request:
        times = httpx2.Timeout(timeout).as_dict()
        return httpx2.Request(method, _url(url), extensions={"timeout": times}, **content)

    async def send(self, request: httpx2.Request, *, stream: bool = False, **_: Any) -> httpx2.Response:
        if self._session is None:
            self._session = session.open_session(self._route, connections=self._connections)
        total, connect = (request.extensions["timeout"][name] for name in ("read", "connect"))
        timeout = aiohttp.ClientTimeout(
            total=None if total is None else total + 0.5,  # after the callers' own
            sock_connect=min(connect or session.LONGEST_CONNECT, session.LONGEST_CONNECT),
            sock_read=session.IDLE if total is None else None,
        )
        content, headers = _content(request)
        headers |= self._sent_headers
        if request.headers.get("Accept-Encoding") == "identity":
            headers["Accept-Encoding"] = "identity"
        answer = await self._session.request(
            request.method, str(request.url), data=content, headers=headers, timeout=timeout, **self._route.options
        )
        is_file = total is None and answer.status < 300
        response = httpx2.Response(
            answer.status,
            # aiohttp has decompressed the body, so httpx2 must not see that it was compressed.
            headers=[(name, value) for name, value in answer.raw_headers if name.lower() != b"content-encoding"],
            stream=_Body(answer, most=None if is_file else session.MOST_BYTES),
            extensions={"encoding": answer.headers.get("Content-Encoding")},
            request=request,
        )
        try:
            if not stream:
                await response.aread()
        except BaseException:
            await response.aclose()
            raise
        return response

    async def aclose(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            await session.close()


class _Body(httpx2.AsyncByteStream):
    """A response's bytes. Raises TooLargeError beyond `most`."""

    def __init__(self, answer: aiohttp.ClientResponse, most: int | None) -> None:
        self._answer, self._most = answer, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        async for part in self._answer.content.iter_any():
            size += len(part)
            if self._most is not None and size > self._most:
                raise session.TooLargeError(f"the body is larger than {self._most >> 20} MB")
            yield part

    async def aclose(self) -> None:
        self._answer.release()


def _content(request: httpx2.Request) -> tuple[Any, dict[str, str]]:
    """The request's content for aiohttp, and the headers that describe it."""
    try:
        body = request.content
    except httpx2.RequestNotRead:
        return request.stream, {name: request.headers[name] for name in ("Content-Type", "Content-Length")}
    headers = {"Content-Type": "application/json"} if body else {}
    # Larger bodies aiohttp writes piece by piece, so that the other calls go on.
    return (body if len(body) < 1 << 20 else BytesIO(body)) or None, headers
