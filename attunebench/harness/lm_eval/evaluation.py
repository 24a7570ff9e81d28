"""One task without the framework: what is asked in which form, what the replies come to, how numbers and errors show.

Reads the conversations once; all else is pure. The framework builds every request before it sees a reply: so there is
no judge, which would need a draft, and no reask.
"""

from __future__ import annotations

import logging
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from functools import partial
from types import TracebackType
from typing import Any

from attunebench.backends.base import Reply
from attunebench.errors import AttuneBenchError, DataError, UsageError
from attunebench.harness.common import Study, cluster_of, path_of, settings_of
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import cards_of
from attunebench.protocol.calls import Call, Message, Mode
from attunebench.results.parsing import parse_result
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.scorer.scoring import score
from attunebench.scores import AggregateEntry

PROVIDER = "lm-eval"
"""The provider that results name: what was asked how is the framework's knowledge."""
METRICS = tuple(card for card in cards_of("attunebench").values() if not card.optional and card.id not in JUDGED)
"""What can be measured without a judge and without another model, in the registry's order."""
GENERATION: Mapping[str, Any] = {
    "max_gen_toks": RunSettings.model_fields["max_tokens"].default,
    "temperature": RunSettings.model_fields["temperature"].default,
    "do_sample": False,
    "until": [],
}
"""The framework's arguments of a request, as `run` has them. No text ends a reply: any could stand in one."""
ANSWER = "Answer:"
"""The last line of a plain prompt, behind which a model without a chat template goes on."""

_NAMES = ("conversations", "codebook", "panas_strategy", "cluster", "repeats")
_LIMITS = ("max_gen_toks", "max_new_tokens", "max_tokens", "max_completion_tokens")
"""The framework's names for the limit of a reply, the one that it prefers first."""

Template = Callable[["list[dict[str, str]]"], Any]
"""Makes of a chat what the model takes: a string, or a form of the framework's own for servers with a chat API."""


class Evaluation:
    """The conversations of a task, in the order of a run, asked in one mode.

    `metadata` is the framework's, with the model's own arguments mixed in, so that keys which are not ours are no
    mistake. `conversations`: a folder, else the bundled examples. `codebook`, `panas_strategy`, `cluster`: as for `run`
    and `score`. `repeats`: how often each call is put to the model; they become the epochs of a conversation. Raises
    DataError and UsageError as `run` does, and UsageError for a misspelt key.
    """

    def __init__(self, mode: Mode, metadata: Mapping[str, Any] | None = None) -> None:
        told = metadata or {}
        for name in told:
            near = get_close_matches(str(name).lower(), _NAMES, n=1, cutoff=0.8)
            if near and name not in _NAMES:
                raise UsageError(f"There is no key {name!r} for --metadata; you may mean {near[0]}.")
        self.repeats = told.get("repeats", 1)
        if type(self.repeats) is not int or self.repeats < 1:
            raise UsageError(f"repeats must be a whole number from 1, not {self.repeats!r}.")
        self.mode = mode
        self.cluster = cluster_of(told.get("cluster"))
        settings = settings_of(
            # A model's own arguments name it in one of these ways; an object that a script made has no name.
            em=ModelSettings(provider=PROVIDER, model=str(told.get("model") or told.get("pretrained") or "unnamed")),
            modes=(mode,),
            panas_strategy=told.get("panas_strategy", "absolute"),
            structured="text",
            max_reasks=0,
        )
        paths = (path_of(name, told.get(name)) for name in ("conversations", "codebook"))
        self.study = Study.load(settings, *paths)
        conversations = self.study.conversations.values()
        self.docs: list[dict[str, Any]] = [
            {"conversation_id": each.conversation_id, "mode": mode, "position": position}
            for position, each in enumerate(conversations)
        ]
        """Conversations as the framework passes them around and logs them: nothing of them but name and place."""
        for doc in self.docs:
            doc["calls"] = [call.id for call in self.calls(doc)]
        self.examples = any(each.metadata.get("source") == "synthetic-demo" for each in conversations)
        """Whether some of these conversations were written for demonstration and are no human data."""

    def calls(self, doc: Mapping[str, Any]) -> tuple[Call, ...]:
        """All calls of a conversation, in the order of the replies that `results` takes."""
        return self.study.calls(self.study.conversation(doc["conversation_id"]), self.mode)

    def results(
        self, doc: Mapping[str, Any], replies: Sequence[Sequence[str | None]], generation: Mapping[str, Any]
    ) -> list[dict[str, Any]]:
        """Result files' contents, one for each repeat. `replies`: what came back each time for each call, or None.

        `generation` are the framework's arguments of the requests. Raises ValueError where replies are missing.
        """
        study, repeats = self.under(generation), list(zip(*replies, strict=True))
        results = []
        for repeat, texts in enumerate(repeats, start=1):
            job = study.job(study.conversation(doc["conversation_id"]), self.mode)
            for asked, text in zip(job.open, texts, strict=True):
                job.add(asked, study.entry(asked, Reply(text=text)))
            results.append(study.result(job, epoch=repeat if len(repeats) > 1 else None))
        return results

    def under(self, generation: Mapping[str, Any]) -> Study:
        """The study under these arguments of requests. Raises UsageError where no result can be made under them."""
        limit = next((generation[name] for name in _LIMITS if generation.get(name) is not None), None)
        if type(limit) is not int or limit < 1:
            raise UsageError(f"The limit of a reply must be a whole number from 1, not {limit!r}; give max_gen_toks.")
        temperature = generation.get("temperature")
        if isinstance(temperature, (bool, str)):
            raise UsageError(f"The temperature must be a number from 0, not {temperature!r}.")
        # Arguments beside a run's own that change what a model says: those that differ from our defaults.
        further = {
            name: value
            for name, value in generation.items()
            if name not in (*_LIMITS, "temperature") and value is not None and value != GENERATION.get(name)
        }
        return self.study.under(further, temperature=temperature, max_tokens=limit)

    def summary(self, results: Iterable[Mapping[str, Any]]) -> AggregateEntry:
        """What `attune-bench score` says of these results, on all conversations of the task."""
        return score(self.study.loaded, map(parse_result, results), cluster=self.cluster)["aggregates"][0]


def generation_of(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """A request's arguments with one limit alone: a user's, by whichever of its names, and not ours beside it."""
    named = any(arguments.get(name) is not None for name in _LIMITS[1:])
    return {name: value for name, value in arguments.items() if not (named and name == _LIMITS[0])}


def rendered(calls: Sequence[Sequence[Message]], template: Template | None = None, instruction: str = "") -> list[Any]:
    """The prompts of calls: through a chat template, or as plain text with a line for the answer where there is none.

    `instruction`: the user's own, before all else. Many templates know no system role: some refuse it, and the
    framework then leaves that message out without a word to the task; some drop it themselves. What a model is told
    would be gone, so it then goes into the user's message. Raises DataError where a template leaves it out there too.
    """
    before = [instruction.strip()] if instruction.strip() else []
    if template is None:
        return ["\n\n".join([*before, *(each.content.strip() for each in call), ANSWER]) + "\n" for call in calls]
    # One line is enough to know it by, and has no line break that a template's own form would spell otherwise.
    line = calls[0][0].content.strip().splitlines()[0]
    for fold in (False, True):
        prompts = []
        for system, *rest in calls:
            told = "\n\n".join([*before, system.content])
            chat = [{"role": message.role, "content": message.content} for message in rest]
            if fold:
                chat[0]["content"] = f"{told}\n\n{chat[0]['content']}"
            else:
                chat.insert(0, {"role": "system", "content": told})
            prompts.append(template(chat))
            if line not in str(prompts[0]):
                break
        else:
            return prompts
    raise DataError(
        "The model's chat template leaves out part of the prompt; "
        "give another with --apply_chat_template NAME, or none."
    )


class Figure(float):
    """A number that knows over how many conversations it was taken. As a float it is that number, NaN where undefined.

    `n` of `of` conversations. The framework formats the values of its table by `__format__` alone and writes floats to
    its files: so people read the n beside the number, and programs read a number.
    """

    n: int
    of: int

    def __new__(cls, value: float | None, n: int, of: int) -> Figure:
        figure = super().__new__(cls, math.nan if value is None else value)
        figure.n, figure.of = n, of
        return figure

    def __format__(self, spec: str) -> str:
        text = "–" if math.isnan(self) else super().__format__(spec)
        return text if self.n == self.of else f"{text} (n {self.n})"

    def __reduce__(self) -> tuple[type[Figure], tuple[float, int, int]]:
        return Figure, (float(self), self.n, self.of)


@contextmanager
def sentences() -> Iterator[None]:
    """Errors of ours that leave this block, and then the program, are shown without their traceback: the framework has
    no exception for a sentence to the user. A caller in Python gets the exception as it is."""
    try:
        yield
    except AttuneBenchError:
        if getattr(sys.excepthook, "func", None) is not _last_words:
            sys.excepthook = partial(_last_words, sys.excepthook)
        raise


def _last_words(
    before: Callable[..., Any], kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    # Who debugs the framework (LMEVAL_LOG_LEVEL=debug) wants to see the way here.
    if isinstance(error, AttuneBenchError) and not logging.getLogger("lm_eval").isEnabledFor(logging.DEBUG):
        print(f"attunebench: {error}", file=sys.stderr)
    else:
        before(kind, error, trace)
