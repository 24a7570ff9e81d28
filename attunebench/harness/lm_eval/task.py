"""The benchmark as tasks of the framework. It builds every request before it sees a reply, so there is no judge, which
needs a draft, and no re-prompt."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.task import Task
from lm_eval.config.task import TaskConfig
from lm_eval.filters import build_filter_ensemble

from attunebench._version import __version__
from attunebench.backends.base import Reply
from attunebench.errors import DataError, UsageError
from attunebench.harness.common import EXAMPLES, Study, study_of
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.means import mean_defined
from attunebench.metrics.rates import ANSWERED_ENOUGH, percent
from attunebench.metrics.registry import cards_of
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import Call, Message
from attunebench.results.parsing import parse_result
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.scorer.folders import score
from attunebench.scorer.groups import ScoreSettings
from attunebench.scores import AggregateEntry

# Below the framework's own logger, which alone has a handler and a level.
_log = logging.getLogger("lm_eval.attunebench")

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


class AttuneBenchTask(Task):
    """The benchmark in one mode: a document is a conversation, its requests are all of its calls. The `metadata` of its
    configuration has `conversations`, `codebook`, `panas_strategy` and `cluster` as for `run` and `score`, `repeats`
    (the epochs of a conversation), and the model's own arguments. Raises DataError and UsageError."""

    VERSION = __version__
    OUTPUT_TYPE = "generate_until"

    def __init__(self, config: Mapping[str, Any]) -> None:
        # Not the base class's: it makes a configuration of its own, and warns of what that one lacks.
        self._instances = None
        self.fewshot_rnd = None
        metadata = {"repeats": config.get("repeats", 1), **(config.get("metadata") or {})}
        self._cluster = metadata.get("cluster")
        ScoreSettings(cluster=self._cluster)  # rejects an unknown cluster before anything is asked
        self.study = study = _study_of(config.get("mode", "default"), metadata)
        (self._mode,) = study.settings.modes
        self._found: AggregateEntry | None = None
        self._figures: dict[str, float] = {}
        name = str(config.get("task", "attunebench"))
        facts = {"prompt_set_sha256": prompt_set_sha256(), "codebook_sha256": study.codebook.sha256}
        if study.examples:
            facts["examples"] = EXAMPLES
            _log.warning("%s has conversations %s. Name your folder: --metadata conversations=FOLDER", name, EXAMPLES)
        self._config = TaskConfig(
            task=name,
            task_alias=f"{name} (examples)" if study.examples else None,
            output_type=self.OUTPUT_TYPE,
            generation_kwargs=dict(GENERATION),
            num_fewshot=0,
            repeats=metadata["repeats"],
            metadata={"conversations": "bundled", **metadata, **facts},
        )
        # No filter: every repeat is an epoch, where the framework's default takes the first alone.
        self._filters = [build_filter_ensemble("none", [])]

    def has_training_docs(self) -> bool:
        return False

    has_validation_docs = has_training_docs

    def has_test_docs(self) -> bool:
        return True

    def test_docs(self) -> list[Any]:
        """The conversations in a run's order, as the framework passes them around and logs them: no text is in them."""
        return [
            {"conversation_id": name, "mode": self._mode, "position": position}
            | {"calls": [call.id for call in self.study.calls(conversation, self._mode)]}
            for position, (name, conversation) in enumerate(self.study.conversations.items())
        ]

    def calls(self, doc: Mapping[str, Any]) -> tuple[Call, ...]:
        """All calls of a conversation, in the order of the replies that `results` takes."""
        return self.study.calls(self.study.conversation(doc["conversation_id"]), self._mode)

    def doc_to_text(self, doc: Mapping[str, Any]) -> str:
        """The first call as plain text; there is no one text of a conversation."""
        return str(rendered([self.calls(doc)[0].messages])[0])

    def doc_to_target(self, doc: Mapping[str, Any]) -> str:
        return ""  # people's answers stay out of the framework's logs

    def build_all_requests(self, **kwargs: Any) -> None:
        """As the framework does it, but without its cache: that knows a task by name alone and sends older prompts."""
        if kwargs.pop("cache_requests", False):
            _log.warning("%s: --cache_requests is ignored; requests are built anew.", self.config.task)
        kwargs.pop("rewrite_requests_cache", None)
        # Before anything is asked: the replies would be useless afterwards.
        self.under(generation_of(self.config.generation_kwargs))
        super().build_all_requests(**kwargs)

    def fewshot_context(self, doc: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        """The prompts of all calls of the conversation; there are no examples in them."""
        template = kwargs["chat_template"] if kwargs.get("apply_chat_template") else None
        messages = [call.messages for call in self.calls(doc)]
        return rendered(messages, template, kwargs.get("system_instruction") or "")

    def construct_requests(self, doc: Mapping[str, Any], ctx: Sequence[Any], *, metadata: Any, **_: Any) -> list[Any]:
        generation = generation_of(self.config.generation_kwargs)
        return [
            Instance(self.OUTPUT_TYPE, doc, (prompt, dict(generation)), place, metadata)
            for place, prompt in enumerate(ctx)
        ]

    def process_results(self, doc: Mapping[str, Any], results: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """The results, metrics (None: undefined) and places for errors: the same keys for each document."""
        found = self.results(doc, results, generation_of(self.config.generation_kwargs))
        values: dict[str, Any] = {"results": found}
        for card in METRICS:
            values[card.id] = mean_defined([result["scores"][card.id] for result in found])
            values[f"{card.id}_stderr"] = None
        return {**values, "coverage": None, "empty_replies": sum(not text for texts in results for text in texts)}

    def results(
        self, doc: Mapping[str, Any], replies: Sequence[Sequence[str | None]], generation: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """The contents of result files, one for each repeat. Raises ValueError where replies are missing."""
        study, repeats, results = self.under(generation), list(zip(*replies, strict=True)), []
        for repeat, texts in enumerate(repeats, start=1):
            job = study.job(study.conversation(doc["conversation_id"]), self._mode)
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

    def aggregation(self) -> Mapping[str, Callable[[Sequence[Any]], float]]:
        """How documents become values. A mean over the documents' own would be wrong: rates are quotients of sums."""
        names = [*(name for card in METRICS for name in (card.id, f"{card.id}_stderr")), "coverage"]
        figures: Any = {name: lambda _, name=name: self._figures[name] for name in names}
        # In the order of `process_results`, in which the framework calls them.
        return {"results": self._gather, **figures, "empty_replies": self._count_empty}

    def higher_is_better(self) -> dict[str, bool]:
        known = {card.id: card.higher_is_better for card in METRICS if card.higher_is_better is not None}
        return {**known, "coverage": True, "empty_replies": False}

    def dump_config(self) -> dict[str, Any]:
        """The task's settings, and after scoring all that `attune-bench score` says: every n, se and interval."""
        return {**self.config.to_dict(), **({"scores": self._found} if self._found is not None else {})}

    def _gather(self, documents: Sequence[Sequence[Mapping[str, Any]]]) -> float:
        results = [result for document in documents for result in document]
        # What `attune-bench score` says of these results, on all conversations of the task.
        scores = score(self.study.loaded, map(parse_result, results), cluster=self._cluster)
        self._found = found = scores["aggregates"][0]
        scored, coverage = found["n_conversations"], found["coverage"]
        for card in METRICS:
            metric = found["metrics"][card.id]
            self._figures[card.id] = Figure(metric["mean"], metric["n"], scored)
            self._figures[f"{card.id}_stderr"] = Figure(metric["se"], scored, scored)
        self._figures["coverage"] = coverage["scored"] / coverage["expected"]
        name, answered = self.config.task_alias or self.config.task, found["metrics"]["answered_rate"]["mean"]
        if answered is not None and answered < ANSWERED_ENOUGH:
            _log.warning(f"{name}: only {percent(answered)} of the items were answered; the others count as wrong.")
        composite, stated = found["metrics"]["composite"], "undefined"
        if composite["mean"] is not None:
            low, high = composite["ci_low"], composite["ci_high"]
            within = "" if low is None else f" (95 % interval {low:.1f} to {high:.1f})"
            stated = f"{composite['mean']:.1f}{within} over {composite['n']}"
        _log.warning(
            f"{name}: Composite {stated} of {coverage['expected']} "
            "conversations. No judge was called, and no call was re-prompted (as with `run --max-reasks 0`)."
        )
        return float(len(results))

    def _count_empty(self, documents: Sequence[int]) -> float:
        if empty := sum(documents):
            why = "The model wrote nothing, or the framework could not read the answer: see its warnings above."
            _log.warning(f"{self.config.task}: {empty} replies were empty and count as not answered. {why}")
        return float(empty)


def _study_of(mode: str, metadata: Mapping[str, Any]) -> Study:
    names = (*_OPTIONS, "cluster", "repeats")
    for name in metadata.keys() - {*names}:
        if near := get_close_matches(str(name).lower(), names, n=1, cutoff=0.8):
            raise UsageError(f"There is no key {name!r} for --metadata; you may mean {near[0]}.")
    if type(metadata["repeats"]) is not int or metadata["repeats"] < 1:
        raise UsageError(f"repeats must be a whole number from 1, not {metadata['repeats']!r}.")
    # A model's own arguments name it in one of these ways; an object that a script made has no name.
    model = str(metadata.get("model") or metadata.get("pretrained") or "unnamed")
    options = {name: metadata[name] for name in _OPTIONS if name in metadata}
    return study_of(
        ModelSettings(provider="lm-eval", model=model), modes=mode, structured="text", max_reasks=0, **options
    )


def generation_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A request's arguments with a single limit: the user's, under any of its names, else ours."""
    named = any(arguments.get(name) is not None for name in _LIMITS[1:])
    return {name: value for name, value in arguments.items() if not (named and name == _LIMITS[0])}


def rendered(
    calls: Sequence[Sequence[Message]], template: Callable[..., Any] | None = None, instruction: str = ""
) -> list[Any]:
    """The prompts of calls: through a chat template, or as plain text with a line for the answer where there is none.
    `instruction`: the user's own, before all else. Raises DataError where a template leaves part of a prompt out."""
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
