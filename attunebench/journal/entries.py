"""One row of the journal: a request that is finished, and what came back."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any
from zlib import crc32

from attunebench.backends.base import Reply
from attunebench.protocol.calls import Usage
from attunebench.protocol.endings import TOO_LONG
from attunebench.text import encodable

LONGEST_TEXT = 1_000_000
"""Characters of a reply: a quarter of a million tokens, beyond every limit that a model has for an answer."""
BEGINNING = 10_000  # characters that are kept of a longer one


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished request: the `ask`-th time (0 is the first) that a call was put to a model.

    `reply` is None where the server can never answer this request; then `error` says why and `error_outcome` is the
    outcome of the answer. `tries` counts the requests that were sent, `lost` those without a usable reply, which may be
    billed; `seconds` is the time from the first, None in a batch. `parameters`: JSON of what the user set.
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

    @property
    def who(self) -> int:
        """Who was asked: 0 for the evaluated model, judges count from 1."""
        return 0 if self.judge is None else self.judge + 1

    def __post_init__(self) -> None:
        """Truncates overlong replies, here since every reply passes here before it is read."""
        if (reply := self.reply) is None:
            return
        changes: dict[str, Any] = {
            name: f"{text[: LONGEST_TEXT - 1]}…"
            for name in ("reasoning", "refusal")
            if (text := getattr(reply, name)) is not None and len(text) > LONGEST_TEXT
        }
        if reply.text is not None and len(reply.text) > LONGEST_TEXT:
            changes["text"] = text = reply.text.strip()
            if len(text) > LONGEST_TEXT:
                changes |= {"text": text[:BEGINNING], "finish_reason": TOO_LONG}
        if changes:
            object.__setattr__(self, "reply", replace(reply, **changes))


_OWN = tuple(name for name in Entry.__slots__ if name != "reply")
_OF_REPLY = ("text", "finish_reason", "refusal", "reasoning", "cost", "latency", "structured")
_SOURCES = {
    **{name: name for name in _OWN},
    **{name: f"reply.{name}" for name in _OF_REPLY},
    **{"served_model": "reply.model", "served_provider": "reply.provider"},
    **{name: f"reply.usage.{name}" for name in Usage.__slots__},
    **{name: f"reply.{name}" for name in ("notes", "headers")},
}
COLUMNS: tuple[str, ...] = (*_SOURCES, "crc32")
"""The journal's columns in order; `notes` and `headers` are JSON, `crc32` detects a row that the disk has changed."""
_values_of = attrgetter(*_SOURCES.values())
_TYPES = {
    **dict.fromkeys(("turn", "judge", "ask", "max_tokens", "tries", "lost", *Usage.__slots__, "crc32"), "INTEGER"),
    **dict.fromkeys(("seconds", "cost", "latency"), "REAL"),
}
DECLARED = ", ".join(
    f"{name} {_TYPES.get(name, 'TEXT')}{' PRIMARY KEY' if name == 'request_hash' else ''}" for name in COLUMNS
)


def to_row(entry: Entry) -> tuple[Any, ...]:
    """The values of `COLUMNS`, each as it comes back out of its column, so that the checksum is of the same value."""
    values = _values_of(entry if entry.reply is not None else replace(entry, reply=Reply(text=None)))
    row = []
    for column, value in zip(_SOURCES, values, strict=True):
        if isinstance(value, Mapping):
            value = json.dumps(dict(value)) if value else None
        elif isinstance(value, str):
            value = encodable(value)
        elif value is not None and _TYPES.get(column) == "REAL":
            value = float(value)
        row.append(value)
    return (*row, _checksum(row))


def from_row(row: Sequence[Any]) -> Entry:
    """The entry of a row of `COLUMNS`. Raises ValueError for a row that is not as it was written."""
    if row[-1] != _checksum(row[:-1]):
        raise ValueError(f"its row of {row[1]!r} is damaged")
    values = dict(zip(COLUMNS, row, strict=True))
    reply = Reply(
        **{name: values[name] for name in _OF_REPLY},
        usage=Usage(**{name: values[name] for name in Usage.__slots__}),
        model=values["served_model"],
        provider=values["served_provider"],
        notes=json_object(values["notes"]),
        headers=json_object(values["headers"]),
    )
    return Entry(**{name: values[name] for name in _OWN}, reply=reply if values["error_outcome"] is None else None)


def _checksum(values: Sequence[Any]) -> int:
    return crc32(ascii(tuple(values)).encode())


def json_object(text: str | None) -> dict[str, Any]:
    """The JSON object in a text of the journal; an empty one for anything else."""
    try:
        data = json.loads(text or "")
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}
