"""The class behind the task files, which alone imports the framework; `evaluation` decides on calls and results."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.task import Task
from lm_eval.config.task import TaskConfig
from lm_eval.filters import build_filter_ensemble

from attunebench._version import __version__
from attunebench.harness.common import EXAMPLES
from attunebench.harness.lm_eval.evaluation import GENERATION, METRICS, Evaluation, Figure, generation_of, rendered
from attunebench.metrics.means import mean_defined
from attunebench.metrics.rates import ANSWERED_ENOUGH, percent
from attunebench.prompts import prompt_set_sha256
from attunebench.scores import AggregateEntry

# Below the framework's own logger, which alone has a handler and a level.
_log = logging.getLogger("lm_eval.attunebench")


class AttuneBenchTask(Task):
    """The benchmark in one mode: a document is a conversation, its requests are all of its calls."""

    VERSION = __version__
    OUTPUT_TYPE = "generate_until"

    def __init__(self, config: Mapping[str, Any]) -> None:
        # Not the base class's: it makes a configuration of its own, and warns of what that one lacks.
        self._instances = None
        self.fewshot_rnd = None
        metadata = {"repeats": config.get("repeats", 1), **(config.get("metadata") or {})}
        self._evaluation = evaluation = Evaluation(config.get("mode", "default"), metadata)
        self._found: AggregateEntry | None = None
        self._figures: dict[str, float] = {}
        name, study = str(config.get("task", "attunebench")), evaluation.study
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
            repeats=evaluation.repeats,
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
        return list(self._evaluation.docs)

    def doc_to_text(self, doc: Mapping[str, Any]) -> str:
        """The first call as plain text; there is no one text of a conversation."""
        return str(rendered([self._evaluation.calls(doc)[0].messages])[0])

    def doc_to_target(self, doc: Mapping[str, Any]) -> str:
        return ""  # people's answers stay out of the framework's logs

    def build_all_requests(self, **kwargs: Any) -> None:
        """As the framework does it, but without its cache: that knows a task by name alone and sends older prompts."""
        if kwargs.pop("cache_requests", False):
            _log.warning("%s: --cache_requests is ignored; requests are built anew.", self.config.task)
        kwargs.pop("rewrite_requests_cache", None)
        # Before anything is asked: the replies would be useless afterwards.
        self._evaluation.under(generation_of(self.config.generation_kwargs))
        super().build_all_requests(**kwargs)

    def fewshot_context(self, doc: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        """The prompts of all calls of the conversation; there are no examples in them."""
        template = kwargs["chat_template"] if kwargs.get("apply_chat_template") else None
        messages = [call.messages for call in self._evaluation.calls(doc)]
        return rendered(messages, template, kwargs.get("system_instruction") or "")

    def construct_requests(self, doc: Mapping[str, Any], ctx: Sequence[Any], *, metadata: Any, **_: Any) -> list[Any]:
        generation = generation_of(self.config.generation_kwargs)
        return [
            Instance(self.OUTPUT_TYPE, doc, (prompt, dict(generation)), place, metadata)
            for place, prompt in enumerate(ctx)
        ]

    def process_results(self, doc: Mapping[str, Any], results: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """The results, metrics (None: undefined) and places for errors: the same keys for each document."""
        found = self._evaluation.results(doc, results, generation_of(self.config.generation_kwargs))
        values: dict[str, Any] = {"results": found}
        for card in METRICS:
            values[card.id] = mean_defined([result["scores"][card.id] for result in found])
            values[f"{card.id}_stderr"] = None
        return {**values, "coverage": None, "empty_replies": sum(not text for texts in results for text in texts)}

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
        self._found = found = self._evaluation.summary(results)
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
