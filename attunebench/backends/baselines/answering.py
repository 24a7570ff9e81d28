"""The frame of every baseline: which answers a call wants, and the reply text that carries them.

A baseline decides single items; the shape of the answer is here, once. No baseline reads a prompt.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attunebench.backends.base import Reply
from attunebench.backends.prices import Prices
from attunebench.constants import PANAS_NEGATIVE, PANAS_POSITIVE
from attunebench.protocol.calls import CHANGES, PREDICTED_PROFILE, RATINGS

if TYPE_CHECKING:
    from attunebench.backends.base import Request
    from attunebench.conversations.schema import Conversation, Letter, Panas, Turn
    from attunebench.conversations.traits import Trait
    from attunebench.protocol.calls import Asked, YesNo


@dataclass(frozen=True, slots=True)
class Scene:
    """What a baseline may look at: the call and, where the caller gave it, the conversation with its labels."""

    request: Request

    @property
    def asked(self) -> Asked:
        return self.request.call.asked

    @property
    def conversation(self) -> Conversation | None:
        return self.request.conversation

    @property
    def turn(self) -> Turn | None:
        """The turn that the call is about; None for the whole conversation, or where no conversation was given."""
        turns = self.conversation.turns if self.conversation else ()
        return next((turn for turn in turns if turn.number == self.request.call.turn), None)


class Baseline(ABC):
    """Decides items. `wanted`: whether the participant would have liked it, instead of whether the reply did it."""

    reasoning = "This answer comes from a built-in baseline, which gives no reasons."

    @abstractmethod
    def draft(self, scene: Scene) -> str:
        """A reply to the participant's message."""

    @abstractmethod
    def tags(self, scene: Scene) -> list[dict[str, Any]]:
        """The emotions of the turn, as {emotion, intensity 1–7}."""

    @abstractmethod
    def judgement(self, scene: Scene, question: str, *, wanted: bool) -> YesNo:
        """One binary question about the reply."""

    @abstractmethod
    def winner(self, scene: Scene, index: str) -> Letter:
        """The preferred side of one comparison."""

    @abstractmethod
    def mood(self, scene: Scene) -> dict[str, float]:
        """Display name → 1–7 after the conversation, all twenty."""

    @abstractmethod
    def mood_change(self, scene: Scene) -> dict[str, float]:
        """Display name → change from before to after, −6…6, all twenty."""

    @abstractmethod
    def wide(self, scene: Scene) -> dict[str, Any]:
        """The answers about the whole conversation, by their keys in the answer format."""

    @abstractmethod
    def rating(self, scene: Scene, name: str) -> int:
        """A judge's rating of a draft, 1–7."""

    @abstractmethod
    def trait(self, scene: Scene, trait: Trait) -> str | list[str] | int:
        """One trait of the participant's profile: an answer of it, a list of them for groups, a number."""

    def answer(self, scene: Scene) -> dict[str, Any]:
        """The answer object of the call, in the keys of the answer format (spec 3.2)."""
        asked = scene.asked
        reasons = ["reasoning"] if asked.verbose and asked.kind != "judge" else []
        if reasons and asked.kind == "review":
            reasons += ["emotion_reasoning", "binary_reasoning"] if asked.questions else ["emotion_reasoning"]
        return {**dict.fromkeys(reasons, self.reasoning), **self._items(scene)}

    def _items(self, scene: Scene) -> dict[str, Any]:
        asked = scene.asked
        if asked.kind == "draft":
            return {"drafted_response": self.draft(scene)}
        if asked.kind == "review":
            return {"emotion_tags": self.tags(scene), **self._judgements(scene)}
        if asked.kind == "binary_hp":
            return self._judgements(scene)
        if asked.kind == "pairwise":
            return {"pairwise_selections": {index: self.winner(scene, index) for index in asked.comparisons}}
        if asked.kind == "post":
            return {**self._panas(scene), "conversation_wide": self.wide(scene)}
        if asked.kind == "profile":
            return {PREDICTED_PROFILE: {trait.id: self.trait(scene, trait) for trait in asked.traits}}
        ratings = {name: self.rating(scene, name) for name in RATINGS} if asked.rated else {}
        # A judge looks at a draft, which none of the baselines reads: what would be liked is the best guess.
        binary = {question: self.judgement(scene, question, wanted=True) for question in asked.questions}
        return {**ratings, "draft_binary_assessment": binary} if binary else ratings

    def _judgements(self, scene: Scene) -> dict[str, Any]:
        questions = scene.asked.questions
        if not questions:
            return {}
        return {
            "binary_om_assessment": {question: self.judgement(scene, question, wanted=False) for question in questions},
            "binary_human_prediction": {
                question: self.judgement(scene, question, wanted=True) for question in questions
            },
        }

    def _panas(self, scene: Scene) -> dict[str, Any]:
        if scene.asked.panas in CHANGES:
            return {"predicted_panas_delta": {"items": self.mood_change(scene)}}
        return {"predicted_post_panas": {"items": self.mood(scene)}}


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

    def __init__(self, model: str, baseline: Baseline) -> None:
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
