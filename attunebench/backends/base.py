"""The one seam for I/O: `Backend.complete(request) -> Reply`. A backend owns the wire and nothing but the wire: it does
not retry, count or store, and only the built-in baselines look at `Request.conversation`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from attunebench.protocol.calls import Call, Message, Usage

if TYPE_CHECKING:
    from attunebench.backends.prices import Prices
    from attunebench.conversations.schema import Conversation
    from attunebench.protocol.arena import Shown


@dataclass(frozen=True, slots=True)
class Request:
    """What goes over the wire once. `timeout`: total seconds for this try, whatever the server drips."""

    call: Call
    messages: tuple[Message, ...]
    max_tokens: int
    temperature: float | None
    seed: int | None
    timeout: float
    reask: int = 0
    conversation: Conversation | Shown | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `text` is None where the server sent no content; `finish_reason` is "length" at the limit.
    `cost`: USD as the provider states it; None is unknown, never 0. `structured`: "schema", "object" or "text".
    `notes`: what was adapted, such as {"temperature": "not accepted"}. `headers`: in lower case."""

    text: str | None
    finish_reason: str | None = None
    refusal: str | None = None
    reasoning: str | None = None
    usage: Usage = field(default_factory=Usage)
    cost: float | None = None
    model: str | None = None
    provider: str | None = None
    latency: float | None = None
    structured: str | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class Backend(Protocol):
    """A way to get replies for one model. `base_url`: "" for what is built in. `payer`: whose money it is, in words."""

    provider: str
    model: str
    base_url: str
    payer: str | None

    async def complete(self, request: Request) -> Reply:
        """One try. Raises TransientError, RejectedError, ItemError or ConfigurationError; nothing else on purpose."""

    def learned(self) -> Mapping[str, Any]:
        """What the server was found not to take, for JSON; what a later backend is opened with as its `memory`."""
        return {}

    async def prices(self) -> Prices | None:
        """What the provider lists as the model's prices, or None. Never raises."""
        return None

    async def aclose(self) -> None:
        """Release connections; a client of the user's stays as it is."""
        return
