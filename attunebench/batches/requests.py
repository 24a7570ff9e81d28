"""Request files in the OpenAI batch format: one line an ask, one model a file, within the limits of the service.

Takes asks as they come and streams them into files; keeps no prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attunebench.backends.base import Request
from attunebench.backends.chat import encoded

if TYPE_CHECKING:
    from attunebench.batches.rounds import ToAsk
    from attunebench.runner.settings import RunSettings

URL = "/v1/chat/completions"


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may hold at most: lines, bytes, and characters of an id."""

    lines: int = 50_000
    bytes: int = 200_000_000
    id_characters: int = 64


SERVICE = Limits()
"""What OpenAI's batch service takes (50,000 requests and 200 MB a file); engines that read its files take no less."""


def request_line(custom_id: str, asked: ToAsk, settings: RunSettings) -> bytes:
    """The line of one ask, with its end."""
    request = Request(
        call=asked.open.call,
        messages=asked.open.ask.messages,
        max_tokens=asked.open.ask.max_tokens,
        temperature=settings.temperature,
        seed=settings.seed,
        timeout=settings.call_timeout,
        reask=asked.open.ask.number,
    )
    body = {"model": asked.target.model, **asked.target.terms.body(request)}
    return encoded({"custom_id": custom_id, "method": "POST", "url": URL, "body": body}) + b"\n"


class Ids:
    """Custom ids of one plan, in order: `attune-<tag>-<number>`. The tag keeps the ids of different plans apart."""

    def __init__(self, tag: str) -> None:
        self._tag = tag
        self._last = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self._last += 1
        return f"attune-{self._tag}-{self._last:06d}"


_ID = re.compile(r"attune-([0-9a-z]{1,32})-([0-9]{6,12})")


def tag_of(custom_id: str) -> str | None:
    """The tag in a custom id of ours; None for somebody else's."""
    found = _ID.fullmatch(custom_id)
    return found[1] if found else None


def number_of(custom_id: str) -> int | None:
    """The number in a custom id of ours, from 1; None for somebody else's."""
    found = _ID.fullmatch(custom_id)
    return int(found[2]) if found else None
