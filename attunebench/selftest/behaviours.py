"""What can be asked of the fault server and what it can do then. A script decides: a function from `Asked` to a
`Behaviour`, a list of behaviours (one for each request, the last one for ever), or None: a complete answer every time.
Every `delay` is in seconds; `then` is called when all of it is sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import orjson

Break = Literal["length", "chunked", "reset", "no gzip", "cut gzip"]
"""How a good answer fails to arrive: shorter than its content-length says; without the last chunk; by a reset of the
connection; announced as gzip and sent plain; as gzip without its end (these two are sent to their last byte)."""


@dataclass(frozen=True)
class Asked:
    """One request as it arrived. `number` counts from 0; header names are in lower case."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    content: bytes = field(default=b"", repr=False)

    @cached_property
    def body(self) -> Any:
        """The JSON of the request, or None where it is none."""
        try:
            return orjson.loads(self.content)
        except ValueError:
            return None

    @property
    def model(self) -> str:
        """The model that was asked for."""
        return str(self.body.get("model", "")) if isinstance(self.body, dict) else ""

    @cached_property
    def prompt(self) -> str:
        """All message texts, one after the other."""
        messages = self.body.get("messages", []) if isinstance(self.body, dict) else []
        return "\n\n".join(str(message.get("content")) for message in messages)

    @property
    def schema(self) -> Any:
        """The schema of the response format, or None."""
        wanted = self.body.get("response_format") if isinstance(self.body, dict) else None
        return (wanted or {}).get("json_schema", {}).get("schema")


@dataclass(frozen=True)
class Answer:
    """A completion. `text` None: a complete answer to what was asked.

    `message` and `extra` add to or override the message and the body; `cost` (USD) is stated in the usage; `before`
    stands before the JSON; `gzip` compresses it.
    """

    text: str | None = None
    delay: float = 0.0
    finish_reason: str | None = "stop"
    message: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    cost: float | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    before: bytes = b""
    gzip: bool = False
    then: Callable[[], None] | None = None


@dataclass(frozen=True)
class Status:
    """A response with this status. `body` is sent as JSON, or as it is where it is a string or bytes."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass(frozen=True)
class Raw:
    """These bytes and the end of the connection, whatever was asked; b"" closes without a word. `goes_on`: they are a
    whole response, and the connection stays open for the next request."""

    content: bytes = b""
    delay: float = 0.0
    goes_on: bool = False


@dataclass(frozen=True)
class Broken:
    """A good answer that does not arrive: the first `share` (0 to 1) of its body, and the end of the connection."""

    how: Break
    share: float = 0.5
    then: Callable[[], None] | None = None


@dataclass(frozen=True)
class Drip:
    """A good answer, one byte every `every` seconds."""

    every: float = 0.05


@dataclass(frozen=True)
class Together:
    """A good answer as soon as so many requests have been under way at once."""

    count: int


@dataclass(frozen=True)
class Hang:
    """No answer, or only the first `share` (0 to 1) of one, and silence until the client leaves or the server ends."""

    share: float = 0.0


Behaviour = Answer | Status | Raw | Broken | Drip | Together | Hang
Script = Callable[[Asked], Behaviour] | Sequence[Behaviour] | None
