"""The client for one address, the openai SDK over httpx2 over aiohttp, all slow to import: through which proxy and with
which certificates, by the environment; which headers leave, how long a response may take and how much of it is read.
`caught` reads its errors."""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache, partial
from io import BytesIO
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, getproxies_environment, proxy_bypass

import aiohttp
import certifi
import httpx2
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError
from openai import APIConnectionError, APIStatusError, AsyncOpenAI, Omit, OpenAIError

from attunebench._version import __version__
from attunebench.backends.providers import Endpoint
from attunebench.errors import ConfigurationError

try:
    import aiohttp_socks
except ImportError:
    aiohttp_socks = None

LONGEST_CONNECT = 30.0  # seconds for making a connection
IDLE = 60.0  # seconds without a byte, once the answer has begun
MOST_BYTES = 64 * 1024 * 1024  # of one decompressed body, to bound memory; no answer is larger
_KEPT_ALIVE = 4.0  # seconds; many servers close idle connections after 5, and a request sent meanwhile is lost
_LONGEST_HEADER = 64 * 1024
_SOCKS = ("socks", "socks4", "socks4a", "socks5", "socks5h")


class TooLargeError(ValueError):
    """A body is larger than it may be."""


CLIENT_ERRORS: tuple[type[Exception], ...] = (
    APIConnectionError, ValueError, aiohttp.ClientError, HttpProcessingError, OSError, asyncio.TimeoutError, EOFError,
    *((aiohttp_socks.ProxyError, aiohttp_socks.ProxyConnectionError, aiohttp_socks.ProxyTimeoutError)
      if aiohttp_socks else ()),
)  # fmt: skip
"""Exceptions of an SDK request without a response (see `caught.fault_of_exception`); any other is a bug of ours."""
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
        self._route = route_to(endpoint)
        self._sent_headers = endpoint.credentials
        self._connections = connections
        self._session: aiohttp.ClientSession | None = None

    def build_request(self, method: str, url: Any, *, timeout: Any = None, **content: Any) -> httpx2.Request:
        times = httpx2.Timeout(timeout).as_dict()
        return httpx2.Request(method, _url(url), extensions={"timeout": times}, **content)

    async def send(self, request: httpx2.Request, *, stream: bool = False, **_: Any) -> httpx2.Response:
        if self._session is None:
            self._session = open_session(self._route, connections=self._connections)
        total, connect = (request.extensions["timeout"][name] for name in ("read", "connect"))
        timeout = aiohttp.ClientTimeout(
            total=None if total is None else total + 0.5,  # after the callers' own
            sock_connect=min(connect or LONGEST_CONNECT, LONGEST_CONNECT),
            sock_read=IDLE if total is None else None,
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
            stream=_Body(answer, most=None if is_file else MOST_BYTES),
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
                raise TooLargeError(f"the body is larger than {self._most >> 20} MB")
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


@dataclass(frozen=True, slots=True)
class Route:
    """The route to a host: the options of every request to it. No redirect is followed."""

    certificates: ssl.SSLContext | None = None
    socks: str | None = field(default=None, repr=False)
    options: Mapping[str, Any] = field(default_factory=lambda: {"allow_redirects": False}, repr=False)


def route_to(endpoint: Endpoint) -> Route:
    """How the endpoint is reached by this process's environment. Raises ConfigurationError, which shows no value."""
    variable, proxy = ("", "") if endpoint.is_this_machine else _proxy_setting(endpoint.base_url)
    tls = endpoint.base_url.lower().startswith("https:")
    certificates = _certificates() if tls or proxy.lower().startswith("https:") else None
    if not proxy:
        return Route(certificates)
    try:
        parts = urlsplit(proxy)
        usable = parts.scheme in ("http", "https", *_SOCKS) and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        raise ConfigurationError(
            f"{variable} is not a proxy address such as http://proxy.example:3128; correct or unset it."
        )
    if parts.scheme in _SOCKS:
        if aiohttp_socks is None:
            raise ConfigurationError(
                f"{variable} names a SOCKS proxy, which requires aiohttp-socks; install or unset it."
            )
        if parts.port is None:
            raise ConfigurationError(f"{variable} names a SOCKS proxy without a port; add it, such as :1080.")
        return Route(certificates, f"{'socks4' if parts.scheme.startswith('socks4') else 'socks5'}://{parts.netloc}")
    return Route(certificates, options={"allow_redirects": False, "proxy": f"{parts.scheme}://{parts.netloc}"})


def _proxy_setting(url: str) -> tuple[str, str]:
    """The variable that names the proxy for this address, and its value; two empty texts where there is none."""
    parts, proxies = urlsplit(url), getproxies()
    if proxy_bypass(parts.netloc) or _is_excepted(parts, getproxies_environment().get("no", "")):
        return "", ""
    kind = parts.scheme if proxies.get(parts.scheme) else "all"
    value = (proxies.get(kind) or "").strip()
    variable = next(filter(os.environ.get, (f"{kind}_proxy", f"{kind}_PROXY".upper())), "The system's proxy setting")
    return variable, value if "://" in value or not value else f"http://{value}"


def _is_excepted(url: SplitResult, no_proxy: str) -> bool:
    """Whether NO_PROXY names it: names with their subdomains, `*`, addresses and networks, with a port or without."""
    host, port = (url.hostname or "").rstrip("."), url.port or (443 if url.scheme == "https" else 80)
    for entry in re.split(r"[,\s]+", no_proxy.lower()):
        with_port = re.fullmatch(r"\[([^]]*)\](?::(\d+))?|([^:]*):(\d+)", entry)
        name = (with_port[1] or with_port[3] or "") if with_port else entry
        its_port = (with_port[2] or with_port[4]) if with_port else None
        if not name or (its_port and int(its_port) != port):
            continue
        with suppress(ValueError):  # one of the two is a name
            address = ip_address(host.partition("%")[0])
            if (getattr(address, "ipv4_mapped", None) or address) in ip_network(name, strict=False):
                return True
        if fnmatchcase(host, name) or fnmatchcase(host, f"*.{name.removeprefix('*').strip('.')}"):
            return True
    return False


def _certificates() -> ssl.SSLContext:
    """The authorities that are trusted: those that the environment names, else the certifi package's."""
    file, folder = os.environ.get("SSL_CERT_FILE") or None, os.environ.get("SSL_CERT_DIR") or None
    if folder and not any(Path(part).is_dir() for part in folder.split(os.pathsep)):
        raise ConfigurationError("SSL_CERT_DIR is not a folder; correct or unset it.")
    try:
        context = ssl.create_default_context(cafile=file or (None if folder else certifi.where()), capath=folder)
    except (OSError, ValueError) as error:
        reason = "no such file" if isinstance(error, FileNotFoundError) else "it holds no certificates"
        raise ConfigurationError(f"SSL_CERT_FILE cannot be used ({reason}); correct or unset it.") from None
    context.set_alpn_protocols(["http/1.1"])
    return context


def open_session(route: Route, *, connections: int) -> aiohttp.ClientSession:
    """A session of up to `connections` connections for one running loop, without cookies and the environment."""
    socks = route.socks and partial(aiohttp_socks.ProxyConnector.from_url, route.socks)
    connector = (socks or partial(aiohttp.TCPConnector, ttl_dns_cache=300))(
        limit=connections, ssl=route.certificates or True, keepalive_timeout=_KEPT_ALIVE
    )
    connector._factory = partial(_Handler, loop=asyncio.get_running_loop())
    return aiohttp.ClientSession(
        connector=connector,
        headers={"User-Agent": f"attunebench/{__version__}", "Accept": "application/json"},
        cookie_jar=aiohttp.DummyCookieJar(),
        trust_env=False,
        max_line_size=_LONGEST_HEADER,
        max_field_size=_LONGEST_HEADER,
    )


class _Handler(ResponseHandler):
    """Waits `IDLE` seconds for more of an answer; reads a Content-Length given twice, which aiohttp refuses."""

    def data_received(self, data: bytes) -> None:
        if data.startswith(b"HTTP/1."):
            self.read_timeout = IDLE
            head, end, rest = data.partition(b"\r\n\r\n")
            lines = head.split(b"\r\n")
            lengths = [line for line in lines if line[:15].lower() == b"content-length:"]
            if len(lengths) > 1 and len({line[15:].strip() for line in lengths}) == 1:
                lines = [line for line in lines if line not in lengths]
                data = b"\r\n".join([*lines, lengths[0]]) + end + rest
        super().data_received(data)
