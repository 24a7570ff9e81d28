"""An archive over HTTP to a file: resumed where the server can, tried again where the line fails, bounded throughout.

Owns the conversation with the server: redirects, ranges, tries. Which bytes belong together is `partfile`'s, what a
failure is called `failures`'.
"""

from __future__ import annotations

import asyncio
import re
from base64 import b64encode
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit, urlunsplit

import aiohttp
from pydantic import SecretStr
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type

from attunebench import eventloop
from attunebench.backends.providers import Endpoint
from attunebench.backends.session import CATCHABLE, IDLE, LONGEST_CONNECT, open_session, route_to
from attunebench.datasets import bounds
from attunebench.datasets.failures import OTHERWISE, error_of_exception, error_of_status, given_up, next_address
from attunebench.datasets.partfile import PartFile, Version
from attunebench.datasets.sources import Address
from attunebench.errors import DataError, TransientError

if TYPE_CHECKING:
    from attunebench.datasets.watching import Watcher

TRIES = 5
"""Tries in a row that bring nothing new, before the download is given up."""
MOST_TRIES = 20
"""Tries in all: a line that always breaks after a few bytes is none."""
MOST_REDIRECTS = 5
LONGEST_WAIT = 60.0
"""Seconds that a server may ask to wait before the next try; whoever asks for more is asked again by the user."""
_REDIRECTS = frozenset((301, 302, 303, 307, 308))

Pause = Callable[[float], Awaitable[None]]
"""Waits so many seconds."""


def download(address: Address, part: PartFile, watcher: Watcher, *, pause: Pause | None = None) -> None:
    """Bring all bytes of the address into `part`, going on with what is there where that is the same version.

    Raises DataError (the server refuses, the address leads nowhere, the archive is too large, the disk is full, or the
    line failed too often: `part` keeps what has come) and ConfigurationError (proxy or certificate settings).
    """
    eventloop.run(_Download(address, part, watcher, pause or asyncio.sleep).run())


class _Download:
    """One download over all its tries. `furthest` is the most bytes that any of them had."""

    def __init__(self, address: Address, part: PartFile, watcher: Watcher, pause: Pause) -> None:
        self._address = address
        self._part = part
        self._watcher = watcher
        self._pause = pause
        self._furthest = part.size
        self._fruitless = 0
        self._with_range = True

    async def run(self) -> None:
        retrying = AsyncRetrying(
            sleep=self._pause,
            stop=self._is_enough,
            wait=_wait,
            retry=retry_if_exception_type(TransientError),
            before_sleep=self._tell,
            reraise=True,
        )
        try:
            await retrying(self._try)
        except TransientError as error:
            keeps = (version := self._part.known()) is not None and bool(version.validator)
            kept = f"{bounds.megabytes(self._part.size)} have come and are kept. " if keeps else ""
            raise given_up(error, retrying.statistics["attempt_number"], kept) from None

    def _is_enough(self, state: RetryCallState) -> bool:
        asked = getattr(state.outcome and state.outcome.exception(), "retry_after", None) or 0
        return self._fruitless >= TRIES or state.attempt_number >= MOST_TRIES or asked > LONGEST_WAIT

    def _tell(self, state: RetryCallState) -> None:
        reason = state.outcome and state.outcome.exception()
        self._watcher.note(f"{str(reason)[:1].upper()}{str(reason)[1:]}; trying again in {state.upcoming_sleep:.0f} s.")

    async def _try(self) -> None:
        try:
            await self._follow()
        except TransientError:
            self._judge()
            raise

    def _judge(self) -> None:
        size = self._part.size
        self._fruitless = 0 if size > self._furthest else self._fruitless + 1
        self._furthest = max(self._furthest, size)

    async def _follow(self) -> None:
        here = self._address
        for _ in range(MOST_REDIRECTS + 1):
            location = await self._ask(here)
            if location is None:
                return
            here = next_address(here, location)
        raise DataError(f"{self._address} redirects more than {MOST_REDIRECTS} times: {OTHERWISE}.")

    async def _ask(self, here: Address) -> str | None:
        """Ask for the archive; where to go instead, or None once it is here."""
        bare, authorization = _without_credentials(here.url)
        route = route_to(Endpoint("", "", bare, SecretStr(""), "none"))
        known = self._part.known()
        headers = {**authorization, **self._conditions(known)}
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=LONGEST_CONNECT, sock_read=IDLE)
        try:
            async with (
                open_session(route, connections=1) as session,
                # As the bytes lie on the server: a range of them, and their checksum, mean nothing else.
                session.get(bare, headers=headers, timeout=timeout, auto_decompress=False, **route.options) as response,
            ):
                if response.status in _REDIRECTS and (location := response.headers.get("Location")):
                    return location
                await self._take(response, known, here)
        except CATCHABLE as error:
            raise error_of_exception(error, here) from error
        return None

    def _conditions(self, known: Version | None) -> dict[str, str]:
        headers = {"Accept": "*/*", "Accept-Encoding": "identity"}
        if known is None or not self._with_range:
            return headers
        if known.whole:
            condition = {"If-None-Match": known.etag} if known.etag else {"If-Modified-Since": known.modified}
            return headers | (condition if any(condition.values()) else {})
        if known.validator:
            return headers | {"Range": f"bytes={self._part.size}-", "If-Range": known.validator}
        return headers

    async def _take(self, response: aiohttp.ClientResponse, known: Version | None, here: Address) -> None:
        headers = {name.lower(): value for name, value in response.headers.items()}
        if response.status == 304 and known is not None and known.whole:
            self._watcher.note("The archive is here already, and has not changed.")
        elif response.status in (206, 416) and known is not None and self._with_range:
            start, total = _range(headers.get("content-range", ""))
            version = self._part.version(headers, total)
            if not _goes_on(known, version) or (start if response.status == 206 else total) != self._part.size:
                self._with_range = False
                raise TransientError(f"{here.host} sent something else than the rest")
            if response.status == 206:
                await self._stream(response, version)
            self._part.remember(replace(version, total=self._part.size, whole=True))
        elif response.status == 200:
            await self._begin(response, known, self._part.version(headers, response.content_length))
        else:
            raise error_of_status(response.status, headers, here)

    async def _begin(self, response: aiohttp.ClientResponse, known: Version | None, version: Version) -> None:
        """Take all of it, whatever is here."""
        same = known is not None and _goes_on(known, version)
        if self._part.size:
            why = "The server does not go on with what is here" if same else "The archive is another one by now"
            self._watcher.note(f"{why}; the download begins anew.")
        self._furthest = self._furthest if same else 0
        self._part.begin(version)
        await self._stream(response, version)
        self._part.remember(replace(version, total=self._part.size, whole=True))

    async def _stream(self, response: aiohttp.ClientResponse, version: Version) -> None:
        done = self._part.size
        self._bound(version.total or 0)
        self._watcher.step("Downloading", version.total, unit="bytes")
        self._watcher.reached(done)
        with self._part.opened() as append:
            async for piece in response.content.iter_any():
                done += len(piece)
                self._bound(done)
                append(piece)
                self._watcher.reached(done)
        if version.total is not None and done != version.total:
            raise TransientError(f"{done:,} of {version.total:,} bytes came")

    def _bound(self, size: int) -> None:
        if size > bounds.MOST_ARCHIVE_BYTES:
            self._part.discard()
            raise bounds.refuse_archive(str(self._address))


def _wait(state: RetryCallState) -> float:
    asked = getattr(state.outcome and state.outcome.exception(), "retry_after", None)
    return float(asked or min(2.0 ** (state.attempt_number - 1), 15.0))


def _goes_on(known: Version, now: Version) -> bool:
    """Whether these can be the bytes that are here, as far as the response says which they are."""
    return all(not new or new == old for old, new in ((known.etag, now.etag), (known.modified, now.modified))) and (
        known.total is None or now.total is None or known.total == now.total
    )


def _range(header: str) -> tuple[int | None, int | None]:
    """First byte and total of a Content-Range; None for what it does not say."""
    match = re.fullmatch(r"bytes (?:(\d{1,15})-\d{1,15}|\*)/(?:(\d{1,15})|\*)", header.strip())
    if match is None:
        return None, None
    return (int(match[1]) if match[1] else None), (int(match[2]) if match[2] else None)


def _without_credentials(url: str) -> tuple[str, dict[str, str]]:
    """The address as it is asked for, and the header that user and password in it make, if there are any."""
    parts = urlsplit(url)
    bare = urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2], fragment=""))
    if parts.username is None:
        return bare, {}
    pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return bare, {"Authorization": f"Basic {b64encode(pair.encode('utf-8', 'replace')).decode()}"}
