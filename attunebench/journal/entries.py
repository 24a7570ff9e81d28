"""One row of the journal: a request that is finished, and what came back. And what makes two requests the same: the
call's identity, messages, the answer's schema, the user's own parameters (before any negotiation), provider, address,
model, number of the ask. A change to any gets no stale reply; nothing else, such as a corrected label, requires a new
call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import attrgetter
from typing import Any
from zlib import crc32

from pydantic_core import to_json

from attunebench.backends.base import Reply
from attunebench.protocol.calls import Call, Message, Usage
from attunebench.protocol.endings import TOO_LONG
from attunebench.text import encodable

LONGEST_TEXT = 1_000_000
"""Characters of a reply: a quarter of a million tokens, beyond every limit that a model has for an answer."""
BEGINNING = 10_000  # characters that are kept of a longer one
_MOST_SCHEMAS = 1024
# Calls of one shape share one schema, so it is known by its identity, which is kept alive beside its digest.
_digests: dict[int, tuple[Mapping[str, Any], str]] = {}
_FORMER_PLACES = 8  # places among the judges under which the journal used to keep a judge's replies


@dataclass(frozen=True, slots=True)
class Entry:
    """A finished request: the `ask`-th time (0 is the first) that a call was put to a model.

    `reply` is None where the server can never answer this request; then `error` says why and `error_outcome` is the
    outcome of the answer. `tries` counts the requests that were sent, `lost` those without a usable reply, which may be
    billed; `seconds` is the time from the first, None in a batch. `parameters`: JSON of what the user set."""

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


@dataclass(frozen=True, slots=True)
class RequestHash:
    """The hash, and digests of its parts by which a change can be explained: hexadecimal SHA-256. `of_judge`: what the
    hash of a judge's request is made of, the call's identity first."""

    request: str
    prompt: str
    schema: str
    of_judge: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every hash under which a reply may be found: earlier versions kept a judge's by its place in the command."""
        if not self.of_judge:
            return (self.request,)
        identity, *parts = self.of_judge
        return (self.request, *(_digest([former, *parts]) for former in _former(identity)))


class Hasher:
    """Hashes the requests to one model. `parameters`: what the user set and what changes a request, for JSON."""

    def __init__(self, *, provider: str, base_url: str, model: str, parameters: Mapping[str, Any]) -> None:
        self.provider = provider
        self.base_url = base_url
        self.model = model
        self.parameters = json.dumps(dict(parameters), sort_keys=True)
        self._target = _digest([provider, base_url, model, self.parameters])

    def __call__(self, call: Call, messages: tuple[Message, ...], ask: int) -> RequestHash:
        """The hash of asking this call for the `ask`-th time (0 is the first) with these messages."""
        prompt, schema = prompt_digest(messages), schema_digest(call.schema)
        parts = (call.identity, prompt, schema, self._target, str(ask))
        return RequestHash(_digest(parts), prompt, schema, parts if call.judge is not None else ())


def identities(call: Call) -> list[str]:
    """The call's identity, and those under which earlier versions kept it."""
    return [call.identity, *(_former(call.identity) if call.judge is not None else ())]


def call_digest(call: Call) -> str:
    """The digest of a call as it is planned, for any model: id, messages and schema."""
    return _digest([call.id, prompt_digest(call.messages), schema_digest(call.schema)])


def prompt_digest(messages: tuple[Message, ...]) -> str:
    """The digest of messages, roles included."""
    return _digest([part for message in messages for part in (message.role, message.content)])


def schema_digest(schema: Mapping[str, Any]) -> str:
    """The digest of an answer's schema. The order of its keys is part of it: models answer in it."""
    known = _digests.get(id(schema))
    if known is None or known[0] is not schema:
        if len(_digests) >= _MOST_SCHEMAS:
            _digests.clear()
        known = _digests[id(schema)] = schema, sha256(to_json(schema)).hexdigest()
    return known[1]


def name_digest(*parts: str) -> str:
    """The digest that distinguishes files whose names cannot hold all of these parts."""
    return sha256("\0".join(parts).encode("utf-8", "backslashreplace")).hexdigest()


def _former(identity: str) -> list[str]:
    return [f"{identity}/{place}" for place in range(_FORMER_PLACES)]


def _digest(parts: Sequence[str]) -> str:
    """SHA-256 over the parts, each behind its length, so that no two lists of parts run into each other."""
    encoded = [part.encode("utf-8", "surrogatepass") for part in parts]
    return sha256(b"".join([b"%d:%b" % (len(data), data) for data in encoded])).hexdigest()
