"""HTTP sessions to one host: through which proxy, trusting which certificates, with how many connections, by the
environment's settings. aiohttp is slow to import.
"""

from __future__ import annotations

import asyncio
import os
import re
import ssl
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any
from urllib.parse import SplitResult, urlsplit
from urllib.request import getproxies, getproxies_environment, proxy_bypass

import aiohttp
import certifi
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import HttpProcessingError

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


CATCHABLE: tuple[type[Exception], ...] = (
    aiohttp.ClientError, HttpProcessingError, OSError, asyncio.TimeoutError, EOFError, TooLargeError,
    *((aiohttp_socks.ProxyError, aiohttp_socks.ProxyConnectionError, aiohttp_socks.ProxyTimeoutError)
      if aiohttp_socks else ()),
)  # fmt: skip
"""Exceptions of a request for network errors: see `caught.fault_of_exception`."""


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
