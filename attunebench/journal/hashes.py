"""What makes two requests the same: the call's identity, messages, the answer's schema, the user's own parameters
(before any negotiation), provider, address, model, number of the ask. A change to any gets no stale reply; nothing
else, such as a corrected label, requires a new call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from pydantic_core import to_json

from attunebench.protocol.calls import Call, Message

_MOST_SCHEMAS = 1024
# Calls of one shape share one schema, so it is known by its identity, which is kept alive beside its digest.
_digests: dict[int, tuple[Mapping[str, Any], str]] = {}
_FORMER_PLACES = 8  # places among the judges under which the journal used to keep a judge's replies


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


@lru_cache(maxsize=256)  # a request is hashed when it is looked up, and again when its reply is kept
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
