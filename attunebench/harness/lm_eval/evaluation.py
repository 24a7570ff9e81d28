"""One task without the framework: which conversations in which order, their calls, what the replies come to.

Reads the conversations once; all else is pure. The framework builds every request before it sees a reply: so there is
no judge, which would need a draft, and no reask.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from attunebench.api import quick_scores
from attunebench.backends.base import Reply
from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import Conversation, load_conversations
from attunebench.conversations.bundled import demo_folder
from attunebench.errors import UsageError
from attunebench.harness.common import Session, scores_of
from attunebench.harness.lm_eval.options import Options
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import cards_of
from attunebench.protocol.calls import Call, Mode
from attunebench.protocol.plan import plan_conversation
from attunebench.runner.order import stratified_order
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.scores import AggregateEntry

PROVIDER = "lm-eval"
"""The provider that results name: what was asked how is the framework's knowledge."""
METRICS = tuple(card for card in cards_of("attunebench").values() if not card.optional and card.id not in JUDGED)
"""What can be measured without a judge and without another model, in the registry's order."""
_EXAMPLE = "synthetic-demo"
_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""The framework's names for the limit of a reply, the one that it prefers first."""
_OURS = frozenset((*_LIMITS, "temperature"))
"""What of the framework's arguments of a request stands among a run's own parameters."""


GENERATION: Mapping[str, Any] = {
    "max_gen_toks": RunSettings.model_fields["max_tokens"].default,
    "temperature": RunSettings.model_fields["temperature"].default,
    "do_sample": False,
    "until": [],
}
"""The framework's arguments of a request, as `run` has them. No text ends a reply: any could stand in one."""


class Doc(TypedDict):
    """A conversation as the framework passes it around and logs it: nothing of it but its name and its place."""

    conversation_id: str
    mode: str
    position: int
    calls: list[str]


class Evaluation:
    """The conversations of a task, in the order of a run, asked in one mode."""

    def __init__(self, mode: Mode, options: Options) -> None:
        """Raises DataError and UsageError as `run` does: conversations, codebook, a strategy that does not fit."""
        folder = options.conversations or demo_folder()
        self.mode = mode
        self.options = options
        self.codebook = _codebook(options.codebook or codebook_for(folder))
        order_seed = RunSettings.model_fields["order_seed"].default
        # Intervals depend on the order in which a folder is read, documents on that of a run.
        self._loaded = load_conversations(folder).conversations
        self.conversations = tuple(stratified_order(self._loaded, order_seed))
        self._by_id = {conversation.conversation_id: conversation for conversation in self.conversations}
        self.docs: list[Doc] = [
            {
                "conversation_id": conversation.conversation_id,
                "mode": mode,
                "position": position,
                "calls": [call.id for call in self._plan(conversation)],
            }
            for position, conversation in enumerate(self.conversations)
        ]

    @property
    def examples(self) -> bool:
        """Whether there are conversations among these that were written for demonstration and are no human data."""
        return any(conversation.metadata.get("source") == _EXAMPLE for conversation in self.conversations)

    def calls(self, doc: Mapping[str, Any]) -> tuple[Call, ...]:
        """All calls of a conversation, in the order of the replies that `results` takes."""
        return self._plan(self._by_id[doc["conversation_id"]])

    def results(
        self, doc: Mapping[str, Any], replies: Sequence[Sequence[str | None]], generation: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Result files' contents, one for each repeat. `replies`: what came back each time for each call, or None.

        `generation` are the framework's arguments of the requests. Raises ValueError where replies are missing.
        """
        conversation = self._by_id[doc["conversation_id"]]
        session = Session(self._settings(generation), self.codebook, self.conversations, n_all=len(self.conversations))
        repeats = list(zip(*replies, strict=True))
        results = []
        for repeat, texts in enumerate(repeats, start=1):
            walk = session.walk(conversation, self.mode)
            for asked, text in zip(walk.open, texts, strict=True):
                walk.add(session.entry(asked, Reply(text=text)))
            epoch = repeat if len(repeats) > 1 else None
            result = session.result(walk, epoch=epoch, quick_scores=quick_scores)
            results.append({**result, "parameters": {**result["parameters"], **_further(generation)}})
        return results

    def check(self, generation: Mapping[str, Any]) -> None:
        """Raises UsageError for arguments of requests under which no result could be made of the replies."""
        self._settings(generation)

    def summary(self, results: Iterable[Mapping[str, Any]]) -> AggregateEntry:
        """What `attune-bench score` says of these results, on all conversations of the task."""
        return scores_of(self._loaded, results, cluster=self.options.cluster)["aggregates"][0]

    def _plan(self, conversation: Conversation) -> tuple[Call, ...]:
        strategy = self.options.panas_strategy
        return plan_conversation(conversation, self.mode, self.codebook, panas_strategy=strategy)

    def _settings(self, generation: Mapping[str, Any]) -> RunSettings:
        limit = next((generation[name] for name in _LIMITS if generation.get(name) is not None), None)
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise UsageError(f"The limit of a reply must be a whole number from 1, not {limit!r}; give max_gen_toks.")
        temperature = generation.get("temperature")
        if temperature is not None and not _is_temperature(temperature):
            raise UsageError(f"The temperature must be a number from 0, not {temperature!r}.")
        return RunSettings(
            em=ModelSettings(provider=PROVIDER, model=self.options.model),
            modes=(self.mode,),
            panas_strategy=self.options.panas_strategy,
            temperature=temperature,
            max_tokens=limit,
            structured="text",
            max_reasks=0,
        )


def generation_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A request's arguments with one limit alone: a user's, by whichever of its names, and not ours beside it."""
    named = any(arguments.get(name) is not None for name in _LIMITS[1:])
    return {name: value for name, value in arguments.items() if not (named and name == _LIMITS[0])}


def _is_temperature(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < math.inf


def _further(generation: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a request beside a run's own that change what a model says: those that differ from our defaults."""
    return {
        name: value
        for name, value in generation.items()
        if name not in _OURS and value is not None and value != GENERATION.get(name)
    }


def _codebook(path: Path | None) -> Codebook:
    return default_codebook() if path is None else load_codebook(path)
