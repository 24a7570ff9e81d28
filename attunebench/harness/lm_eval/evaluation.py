"""One task without the framework: the form of its prompts, the results of its replies, how numbers are shown. The
framework builds every request before it sees a reply, so there is no judge, which needs a draft, and no re-prompt.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from attunebench.backends.base import Reply
from attunebench.errors import DataError, UsageError
from attunebench.harness.common import Study, study_of
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import cards_of
from attunebench.protocol.calls import Call, Message
from attunebench.results.parsing import parse_result
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.scorer.folders import score
from attunebench.scorer.groups import Resampling
from attunebench.scores import AggregateEntry

METRICS = tuple(card for card in cards_of("attunebench").values() if not card.optional and card.id not in JUDGED)
"""What can be measured without a judge and another model, in the registry's order."""
GENERATION: Mapping[str, Any] = {
    "max_gen_toks": RunSettings.model_fields["max_tokens"].default,
    "temperature": RunSettings.model_fields["temperature"].default,
    "do_sample": False,
    "until": [],
}
"""The framework's arguments of a request, as `run` has them. There are no stop strings: any could occur in a reply."""
_OPTIONS = ("conversations", "codebook", "panas_strategy")
_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")  # names for a reply's limit
_ANSWER = "Answer:\n"  # the last line of a plain prompt, after which a model without a chat template continues


class Evaluation:
    """The conversations of a task, in the order of a run, asked in one mode. `metadata` has `conversations`,
    `codebook`, `panas_strategy` and `cluster` as for `run` and `score`, `repeats` (the epochs of a conversation), and
    the model's own arguments, so that unknown keys are no mistake. Raises DataError and UsageError.
    """

    def __init__(self, mode: str, metadata: Mapping[str, Any] | None = None) -> None:
        metadata = metadata or {}
        names = (*_OPTIONS, "cluster", "repeats")
        for name in metadata.keys() - {*names}:
            if near := get_close_matches(str(name).lower(), names, n=1, cutoff=0.8):
                raise UsageError(f"There is no key {name!r} for --metadata; you may mean {near[0]}.")
        self.repeats = metadata.get("repeats", 1)
        if type(self.repeats) is not int or self.repeats < 1:
            raise UsageError(f"repeats must be a whole number from 1, not {self.repeats!r}.")
        self.cluster = metadata.get("cluster")
        Resampling(cluster=self.cluster)  # rejects an unknown cluster before anything is asked
        # A model's own arguments name it in one of these ways; an object that a script made has no name.
        model = str(metadata.get("model") or metadata.get("pretrained") or "unnamed")
        options = {name: metadata[name] for name in _OPTIONS if name in metadata}
        em = ModelSettings(provider="lm-eval", model=model)
        self.study = study_of(em, modes=mode, structured="text", max_reasks=0, **options)
        (self.mode,) = self.study.settings.modes
        # Conversations as the framework passes them around and logs them: only their names and positions.
        self.docs: list[dict[str, Any]] = [
            {"conversation_id": name, "mode": self.mode, "position": position}
            | {"calls": [call.id for call in self.study.calls(conversation, self.mode)]}
            for position, (name, conversation) in enumerate(self.study.conversations.items())
        ]

    def calls(self, doc: Mapping[str, Any]) -> tuple[Call, ...]:
        """All calls of a conversation, in the order of the replies that `results` takes."""
        return self.study.calls(self.study.conversation(doc["conversation_id"]), self.mode)

    def results(
        self, doc: Mapping[str, Any], replies: Sequence[Sequence[str | None]], generation: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """The contents of result files, one for each repeat. Raises ValueError where replies are missing."""
        study, repeats, results = self.under(generation), list(zip(*replies, strict=True)), []
        for repeat, texts in enumerate(repeats, start=1):
            job = study.job(study.conversation(doc["conversation_id"]), self.mode)
            for asked, text in zip(job.open, texts, strict=True):
                job.add(asked, study.entry(asked, Reply(text=text)))
            results.append(study.result(job, epoch=repeat if len(repeats) > 1 else None))
        return results

    def under(self, generation: Mapping[str, Any]) -> Study:
        """The study under these arguments of requests. Raises UsageError where no result can be made under them."""
        limit = next((generation[name] for name in _LIMITS if generation.get(name) is not None), None)
        # Arguments beside a run's own that change what a model says: those that differ from our defaults.
        further = {
            name: value
            for name, value in generation.items()
            if name not in (*_LIMITS, "temperature") and value is not None and value != GENERATION.get(name)
        }
        return self.study.under(further, temperature=generation.get("temperature"), max_tokens=limit)

    def summary(self, results: Iterable[Mapping[str, Any]]) -> AggregateEntry:
        """What `attune-bench score` says of these results, on all conversations of the task."""
        return score(self.study.loaded, map(parse_result, results), cluster=self.cluster)["aggregates"][0]


def generation_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A request's arguments with a single limit: the user's, under any of its names, else ours."""
    named = any(arguments.get(name) is not None for name in _LIMITS[1:])
    return {name: value for name, value in arguments.items() if not (named and name == _LIMITS[0])}


def rendered(
    calls: Sequence[Sequence[Message]], template: Callable[..., Any] | None = None, instruction: str = ""
) -> list[Any]:
    """The prompts of calls: through a chat template, or as plain text with a line for the answer where there is none.
    `instruction`: the user's own, before all else. Raises DataError where a template leaves part of a prompt out.
    """
    before = [instruction.strip()] if instruction.strip() else []
    if template is None:
        return ["\n\n".join([*before, *(each.content.strip() for each in call), _ANSWER]) for call in calls]

    def chat(call: Sequence[Message], *, fold: bool) -> list[dict[str, str]]:
        system, *rest = ({"role": each.role, "content": each.content} for each in call)
        system["content"] = "\n\n".join([*before, system["content"]])
        if not fold:
            return [system, *rest]
        return [{**rest[0], "content": f"{system['content']}\n\n{rest[0]['content']}"}, *rest[1:]]

    # Where a template knows no system role, the framework or the template leaves that message out without a word: then
    # it goes into the user's. One line identifies it, and has no line break that a template could change.
    line = calls[0][0].content.strip().splitlines()[0]
    for fold in (False, True):
        if line in str(template(chat(calls[0], fold=fold))):
            return [template(chat(call, fold=fold)) for call in calls]
    raise DataError("The chat template leaves out part of the prompt; give another --apply_chat_template, or none.")


class Figure(float):
    """A number, NaN where undefined, that the framework's table shows with its `n` of `of` conversations."""

    n: int
    of: int

    def __new__(cls, value: float | None, n: int = 0, of: int = 0) -> Figure:  # as copies are made, by value alone
        figure = super().__new__(cls, math.nan if value is None else value)
        figure.n, figure.of = n, of
        return figure

    def __format__(self, spec: str) -> str:
        text = "–" if math.isnan(self) else super().__format__(spec)
        return text if self.n == self.of else f"{text} (n {self.n})"
