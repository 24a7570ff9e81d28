"""The class behind the task files: the framework's `Task`, and no more than that of everything it is.

Which calls there are and what replies come to is `evaluation`'s. This is the only module that imports the framework.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from lm_eval.api.instance import Instance
from lm_eval.api.task import Task
from lm_eval.config.task import TaskConfig
from lm_eval.filters import build_filter_ensemble

from attunebench._version import __version__
from attunebench.errors import UsageError
from attunebench.harness.lm_eval.evaluation import (
    GENERATION,
    METRICS,
    Evaluation,
    Figure,
    generation_of,
    rendered,
    sentences,
)
from attunebench.metrics.means import mean_defined
from attunebench.metrics.rates import percent
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.modes import parse_modes
from attunebench.scores import AggregateEntry

# Below the framework's own logger, which alone has a handler and a level.
_log = logging.getLogger("lm_eval.attunebench")

RESULTS = "results"
"""The name of what carries whole results from documents to the scores. It comes before every metric."""
EMPTY = "empty_replies"
_EXAMPLES = "written for demonstration: no human data, and no score is comparable with published ones"


class AttuneBenchTask(Task):
    """The benchmark in one mode. A document is a conversation; its requests are all of its calls.

    `config` is the content of a task file with the framework's `--metadata` under "metadata" (see `Evaluation`).
    """

    VERSION = __version__
    OUTPUT_TYPE = "generate_until"

    def __init__(self, config: Mapping[str, Any]) -> None:
        # Not the base class's: it makes a configuration of its own, and warns of what that one lacks.
        self._instances = None
        self.fewshot_rnd = None
        (mode,) = parse_modes(str(config.get("mode", "default")))
        metadata = {"repeats": config.get("repeats", 1), **(config.get("metadata") or {})}
        with sentences():
            self._evaluation = evaluation = Evaluation(mode, metadata)
        self._found: AggregateEntry | None = None
        self._values: dict[str, float] = {}
        name, study = str(config.get("task", "attunebench")), evaluation.study
        facts: dict[str, Any] = {
            "version": __version__,
            "mode": mode,
            "conversations": str(study.folder) if metadata.get("conversations") is not None else "bundled",
            **({"examples": _EXAMPLES} if evaluation.examples else {}),
            "n_conversations": len(evaluation.docs),
            "panas_strategy": study.settings.panas_strategy,
            "cluster": evaluation.cluster,
            "judges": [],
            "max_reasks": 0,
            "prompt_set_sha256": prompt_set_sha256(),
            "codebook_sha256": study.codebook.sha256,
        }
        self._config = TaskConfig(
            task=name,
            task_alias=f"{name} (examples)" if evaluation.examples else None,
            output_type=self.OUTPUT_TYPE,
            generation_kwargs=dict(GENERATION),
            num_fewshot=0,
            repeats=evaluation.repeats,
            metadata={**metadata, **facts},
        )
        # No filter: every repeat is an epoch, where the framework's default takes the first alone.
        self._filters = [build_filter_ensemble("none", [])]
        if evaluation.examples:
            _log.warning("%s has examples %s. Name your folder: --metadata conversations=FOLDER", name, _EXAMPLES)

    def has_training_docs(self) -> bool:
        return False

    def has_validation_docs(self) -> bool:
        return False

    def has_test_docs(self) -> bool:
        return True

    def test_docs(self) -> list[Any]:
        return list(self._evaluation.docs)

    def doc_to_text(self, doc: Mapping[str, Any]) -> str:
        """The first call as plain text; there is no one text of a conversation."""
        return str(rendered([self._evaluation.calls(doc)[0].messages])[0])

    def doc_to_target(self, doc: Mapping[str, Any]) -> str:
        """Nothing: what people answered stays out of what the framework writes down."""
        return ""

    def build_all_requests(self, **kwargs: Any) -> None:
        """As the framework does it, but never from its cache of requests.

        That cache knows a task by its name, and would put the prompts of other conversations or of an older version to
        the model and have the replies scored as answers to these.
        """
        if kwargs.pop("cache_requests", False):
            _log.warning("%s: --cache_requests is passed over; requests are built anew.", self.config.task)
        kwargs.pop("rewrite_requests_cache", None)
        with sentences():
            if kwargs.get("limit") == 0:
                raise UsageError("--limit 0 leaves no conversation; give a number from 1.")
            # Before anything is asked, for nothing could be made of the replies afterwards.
            self._evaluation.under(generation_of(self.config.generation_kwargs))
            super().build_all_requests(**kwargs)

    def fewshot_context(self, doc: Mapping[str, Any], *args: Any, **kwargs: Any) -> list[Any]:
        """The prompts of all calls of the conversation; there are no examples in them."""
        template = kwargs.get("chat_template") if kwargs.get("apply_chat_template") else None
        messages = [call.messages for call in self._evaluation.calls(doc)]
        return rendered(messages, template, kwargs.get("system_instruction") or "")

    def construct_requests(self, doc: Mapping[str, Any], ctx: Sequence[Any], **kwargs: Any) -> list[Instance]:
        metadata = kwargs.get("metadata", (self.config.task, None, self.config.repeats))
        return [
            Instance(self.OUTPUT_TYPE, doc, (prompt, generation_of(self.config.generation_kwargs)), place, metadata)
            for place, prompt in enumerate(ctx)
        ]

    def process_results(self, doc: Mapping[str, Any], results: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """The conversation's results, its metrics for the log (None where undefined), and places for standard errors.

        Every document has the same keys: the framework loses or trips over others when it gathers what several
        processes found.
        """
        # The framework puts a text of the user's choice in place of what a server left out.
        stand_in = os.environ.get("LMEVAL_MODEL_NONE_ANSWER_PLACEHOLDER", "")
        replies = [
            [reply if isinstance(reply, str) and reply != stand_in else None for reply in repeats]
            for repeats in results
        ]
        found = self._evaluation.results(doc, replies, generation_of(self.config.generation_kwargs))
        values: dict[str, Any] = {RESULTS: found}
        for card in METRICS:
            values[card.id] = mean_defined([result["scores"][card.id] for result in found])
            values[f"{card.id}_stderr"] = None
        return {**values, "coverage": None, EMPTY: sum(not text for repeats in replies for text in repeats)}

    def aggregation(self) -> Mapping[str, Callable[[Sequence[Any]], float]]:
        """How documents become the task's values.

        All but `results` ignore the documents' own values: a mean over them would be wrong where a conversation has
        several results or a rate is a quotient of sums. The framework calls them in the order of `process_results`.
        """
        names = [name for card in METRICS for name in (card.id, f"{card.id}_stderr")]
        values = {name: partial(self._value, name) for name in (*names, "coverage")}
        return {RESULTS: self._gather, **values, EMPTY: self._count_empty}

    def higher_is_better(self) -> dict[str, bool]:
        known = {card.id: card.higher_is_better for card in METRICS if card.higher_is_better is not None}
        return {**known, "coverage": True, EMPTY: False}

    def dump_config(self) -> dict[str, Any]:
        """The task's settings, and after scoring all that `attune-bench score` says: every n, se and interval."""
        found = {"scores": self._found} if self._found is not None else {}
        return {**self.config.to_dict(), **found}

    def _gather(self, documents: Sequence[Sequence[Mapping[str, Any]]]) -> float:
        results = [result for document in documents for result in document]
        self._found = found = self._evaluation.summary(results)
        scored, coverage = found["n_conversations"], found["coverage"]
        for card in METRICS:
            metric = found["metrics"][card.id]
            self._values[card.id] = Figure(metric["mean"], metric["n"], scored)
            self._values[f"{card.id}_stderr"] = Figure(metric["se"], scored, scored)
        self._values["coverage"] = coverage["scored"] / coverage["expected"]
        return float(len(results))

    def _value(self, name: str, _: Sequence[Any]) -> float:
        return self._values[name]

    def _count_empty(self, documents: Sequence[int]) -> float:
        """As the framework asks for it last, what has to stand beside the numbers is said here."""
        assert self._found is not None, "results are gathered first"
        empty, metrics, name = sum(documents), self._found["metrics"], self.config.task_alias or self.config.task
        answered, composite = metrics["answered_rate"]["mean"], metrics["composite"]
        if answered is not None and answered < 0.95:
            _log.warning(f"{name}: only {percent(answered)} of the items were answered; the others count as wrong.")
        if empty:
            _log.warning(
                f"{name}: {empty} replies were empty and count as not answered. The framework does not say whether "
                "the model wrote nothing or the server's answer could not be read; look for its warnings above."
            )
        stated = "undefined"
        if composite["mean"] is not None:
            low, high = composite["ci_low"], composite["ci_high"]
            within = "" if low is None else f" (95 % interval {low:.1f} to {high:.1f})"
            stated = f"{composite['mean']:.1f}{within} over {composite['n']}"
        _log.warning(
            f"{name}: Composite {stated} of {self._found['coverage']['expected']} conversations. "
            "No judge was asked, and no reply was asked for again (as `run --max-reasks 0`)."
        )
        return float(empty)
