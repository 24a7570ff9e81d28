"""What every baseline is given, and how it stands behind the seam for I/O. No baseline reads a prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attunebench.backends.base import Reply
from attunebench.backends.prices import Prices
from attunebench.constants import PANAS_NEGATIVE, PANAS_POSITIVE

if TYPE_CHECKING:
    from attunebench.backends.base import Request
    from attunebench.backends.baselines.majority import Majority
    from attunebench.conversations.schema import Panas


class Scene:
    """What a baseline may look at: the call and, where the caller gave it, the conversation with its labels.

    `turn` is the one that the call is about; None for the whole conversation, or where no conversation was given.
    """

    def __init__(self, request: Request) -> None:
        self.request = request
        self.asked = request.call.asked
        self.conversation = request.conversation
        turns = request.conversation.turns if request.conversation else ()
        self.turn = next((turn for turn in turns if turn.number == request.call.turn), None)


def mood_levels(panas: Panas) -> dict[str, float]:
    """Display name → 1–7, known ones only; for an unknown item a tenth of its side's total stands in."""
    levels: dict[str, float] = {}
    for side, total in ((PANAS_POSITIVE, panas.positive), (PANAS_NEGATIVE, panas.negative)):
        for item in side:
            level = panas.items.get(item.lower(), None if total is None else total / len(side))
            if level is not None:
                levels[item] = level
    return levels


class BaselineBackend:
    """A baseline behind the seam for I/O. It is free, and known to be."""

    provider = "baseline"
    base_url = ""
    payer: str | None = None

    def __init__(self, model: str, baseline: Majority) -> None:
        self.model = model
        self._baseline = baseline

    async def complete(self, request: Request) -> Reply:
        """The baseline's answer as a model would send it. Never fails."""
        text = json.dumps(self._baseline.answer(Scene(request)), ensure_ascii=False)
        return Reply(
            text=text, finish_reason="stop", cost=0.0, model=self.model, provider=self.provider, structured="text"
        )

    def learned(self) -> Mapping[str, Any]:
        """Nothing: there is no server to learn from."""
        return {}

    async def prices(self) -> Prices:
        """Nothing costs anything here."""
        return Prices(prompt=0.0, completion=0.0)

    async def aclose(self) -> None:
        """Nothing is held open."""

    def __repr__(self) -> str:
        return f"BaselineBackend({self.model!r})"
