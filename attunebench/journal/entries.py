"""One row of the journal: a request that is finished, and what came back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

from attunebench.backends.base import Reply
from attunebench.protocol.calls import Usage
from attunebench.protocol.endings import TOO_LONG
from attunebench.text import encodable

LONGEST_TEXT = 1_000_000
"""Characters of a reply: a quarter of a million tokens, beyond every limit that a model has for an answer."""
BEGINNING = 10_000
"""Characters that are kept of a longer one, for who wants to see what it was."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished request: the `ask`-th time (0 is the first) that a call was put to a model.

    `reply` is what came back; None where the server can never take this request, and then `error` says why and
    `error_outcome` is the outcome of the answer. `tries` counts the requests that were sent, `lost` those of them that
    got no usable reply and may be billed all the same; `seconds` is the time from the first of them, None where nobody
    took it (a batch). `parameters` is the JSON of what the user set.
    """

    request_hash: str
    call_id: str
    conversation_id: str
    mode: str
    turn: int
    kind: str
    judge: int | None
    ask: int
    provider: str
    base_url: str
    model: str
    prompt_sha256: str
    schema_sha256: str
    parameters: str
    max_tokens: int
    sent_at: str
    seconds: float | None
    tries: int
    lost: int
    attunebench_version: str
    reply: Reply | None = None
    error: str | None = None
    error_outcome: str | None = None

    def __post_init__(self) -> None:
        """Bounds what is kept of a reply, here since every reply passes here before anybody reads it."""
        if self.reply is not None:
            object.__setattr__(self, "reply", _bounded(self.reply))


def _bounded(reply: Reply) -> Reply:
    """The reply as it is kept: of a text that is longer than any answer the beginning, and that it was so."""
    text = reply.text
    if text is not None and len(text) > LONGEST_TEXT:
        text = text.strip()
        if len(text) > LONGEST_TEXT:
            reply = replace(reply, finish_reason=TOO_LONG)
            text = text[:BEGINNING]
    reasoning, refusal = _shortened(reply.reasoning), _shortened(reply.refusal)
    if text is reply.text and reasoning is reply.reasoning and refusal is reply.refusal:
        return reply
    return replace(reply, text=text, reasoning=reasoning, refusal=refusal)


def _shortened(text: str | None) -> str | None:
    return text if text is None or len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1]}…"


_OWN = tuple(name for name in Entry.__slots__ if name != "reply")
_OF_REPLY = ("text", "finish_reason", "refusal", "reasoning", "cost", "latency", "structured")
_COLUMN_TYPES = {
    **dict.fromkeys(("turn", "judge", "ask", "max_tokens", "tries", "lost", *Usage.__slots__, "crc32"), "INTEGER"),
    **dict.fromkeys(("seconds", "cost", "latency"), "REAL"),
}
COLUMNS: tuple[str, ...] = (
    *(*_OWN, *_OF_REPLY, "served_model", "served_provider", *Usage.__slots__),
    *("notes", "headers", "crc32"),
)
"""The journal's columns in order; `notes` and `headers` are JSON, `crc32` tells a row that the disk has changed."""
DECLARED = ", ".join(
    f"{name} {_COLUMN_TYPES.get(name, 'TEXT')}{' PRIMARY KEY' if name == 'request_hash' else ''}" for name in COLUMNS
)


def to_row(entry: Entry) -> tuple[Any, ...]:
    """The values of `COLUMNS`."""
    row = [getattr(entry, name) for name in _OWN]
    if (reply := entry.reply) is not None:
        row += [getattr(reply, name) for name in _OF_REPLY]
        row += [reply.model, reply.provider]
        row += [getattr(reply.usage, name) for name in Usage.__slots__]
        row += [json.dumps(dict(each)) if each else None for each in (reply.notes, reply.headers)]
    row += [None] * (len(COLUMNS) - 1 - len(row))
    values = tuple(map(_storable, COLUMNS, row))
    return (*values, _checksum(values))


def from_row(row: Sequence[Any]) -> Entry:
    """The entry of a row of `COLUMNS`. Raises ValueError for a row that is not as it was written."""
    if row[-1] != _checksum(row[:-1]):
        raise ValueError(f"its row of {row[1]!r} is damaged")
    values = dict(zip(COLUMNS, row, strict=True))
    reply = None
    if values["error_outcome"] is None:
        reply = Reply(
            **{name: values[name] for name in _OF_REPLY},
            usage=Usage(**{name: values[name] for name in Usage.__slots__}),
            model=values["served_model"],
            provider=values["served_provider"],
            notes=json_object(values["notes"]),
            headers=json_object(values["headers"]),
        )
    return Entry(**{name: values[name] for name in _OWN}, reply=reply)


def _storable(column: str, value: Any) -> Any:
    if isinstance(value, str):
        return encodable(value)
    # As it comes back out of a column of that type, so that the checksum is of the same value.
    return float(value) if value is not None and _COLUMN_TYPES.get(column) == "REAL" else value


def _checksum(values: Sequence[Any]) -> int:
    return crc32(ascii(tuple(values)).encode())


def json_object(text: str | None) -> dict[str, Any]:
    """The object that a text of the journal is the JSON of; an empty one for all else."""
    try:
        data = json.loads(text or "")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
