"""Downloads an archive over HTTP: retried where the connection breaks, and bounded throughout."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import httpx2
from tenacity import Retrying, retry_if_exception, stop_after_attempt, wait_exponential

from attunebench.datasets.archives import MOST_ARCHIVE_BYTES, megabytes
from attunebench.errors import DataError, TransientError
from attunebench.text import address_text, printable

TRIES = 6
WAIT = wait_exponential(max=15)
MOST_REDIRECTS = 5
_TIMEOUT = httpx2.Timeout(60, connect=20)
_TRANSIENT = frozenset((408, 421, 425, 429))

Progress = Callable[[str, int, int | None], None]
"""Told what happens, how many bytes of it are done, and of how many (None: unknown)."""


def download(url: str, path: Path, progress: Progress) -> None:
    """Download the archive at an http(s) address into the file `path`.

    Raises DataError: the server refuses or cannot be reached, a redirect leaves TLS, or the archive is too large.
    """
    retrying = Retrying(
        stop=stop_after_attempt(TRIES),
        wait=WAIT,
        retry=retry_if_exception(_is_transient),
        before_sleep=lambda state: progress(
            f"{state.outcome and state.outcome.exception()}; trying again in {state.upcoming_sleep:.0f} s.", 0, None
        ),
        reraise=True,
    )
    try:
        with httpx2.Client(timeout=_TIMEOUT, max_redirects=MOST_REDIRECTS) as client:
            retrying(_receive, client, url, path, progress)
    except (httpx2.HTTPError, httpx2.InvalidURL, TransientError, ImportError, ValueError) as error:
        # The last two are of a proxy in the environment that cannot be used.
        reason = printable(str(error), 200).rstrip(".") or type(error).__name__
        raise DataError(
            f"{address_text(url)} cannot be downloaded: {reason}. Rerun the command later, or download it by other "
            "means and give the file with --from."
        ) from None


def _is_transient(error: BaseException) -> bool:
    """A second try does not help where a host is unknown, refuses connections or shows a wrong certificate."""
    kinds = (httpx2.TransportError, TransientError)
    return isinstance(error, kinds) and not isinstance(error, (httpx2.ConnectError, httpx2.UnsupportedProtocol))


def _receive(client: httpx2.Client, url: str, path: Path, progress: Progress) -> None:
    # The bytes as they are on the server: a checksum of anything else means nothing.
    headers = {"Accept-Encoding": "identity"}
    with client.stream("GET", url, headers=headers, follow_redirects=True) as response, path.open("wb") as file:
        _check(response, url)
        length = response.headers.get("Content-Length", "")
        total = int(length) if length.isdecimal() else None
        done = 0
        for piece in response.iter_raw():
            done += len(piece)
            if max(done, total or 0) > MOST_ARCHIVE_BYTES:
                raise DataError(
                    f"{address_text(url)} is larger than {megabytes(MOST_ARCHIVE_BYTES)}; check the address."
                )
            file.write(piece)
            progress("Downloading", done, total)


def _check(response: httpx2.Response, url: str) -> None:
    """Refuse what is not the archive, or came by a way on which anybody could have changed it."""
    way = [step.url.scheme for step in (*response.history, response)]
    if ("https", "http") in pairwise(way):
        raise DataError(f"{address_text(url)} redirects from https to http: give the address it leads to with --from.")
    status = response.status_code
    if status in _TRANSIENT or status >= 500:
        raise TransientError(f"The server answered {status}")
    if status != 200:
        raise DataError(
            f"{address_text(url)} answered {status} {response.reason_phrase}. Check the address, or download the "
            "archive by other means and give the file or the unpacked folder with --from."
        )
