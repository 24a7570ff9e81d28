"""What the task's arguments come to: conversations to ask about, under the settings of a run.

Knows no Inspect. The same arguments give the same study, which is loaded once in a process.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from attunebench.codebook import default_codebook
from attunebench.errors import UsageError
from attunebench.harness.common import Study, path_of, settings_of
from attunebench.judging import JUDGE_SCALE
from attunebench.protocol.modes import parse_modes
from attunebench.protocol.plan import plan_warnings
from attunebench.runner.settings import ModelSettings

STORE = "attunebench"
"""Under this key a sample's store holds its `result` (the content of a result file), and the `replies` behind it."""
_SETTINGS = frozenset(("panas_strategy", "max_reasks", "structured", "order_seed"))
_STRUCTURED = ("auto", "schema", "text")
_load = lru_cache(maxsize=8)(Study.load)


def study_of(
    *,
    conversations: Any = None,
    codebook: Any = None,
    skip_invalid: Any = False,
    modes: str | Sequence[str] = "default",
    judge_scale: Any = JUDGE_SCALE,
    **others: Any,
) -> Study:
    """The study of these arguments; without `conversations` the demonstration's. Its settings name no model.

    Raises UsageError for a value that does not exist or does not go with another, DataError for a folder or codebook
    that cannot be used.
    """
    if unknown := others.keys() - _SETTINGS:
        raise UsageError(f"There is no argument {', '.join(sorted(unknown))}.")
    if not isinstance(skip_invalid, bool):
        raise UsageError(f"skip_invalid is true or false, not {skip_invalid!r}.")
    if others.get("structured", "auto") not in _STRUCTURED:
        raise UsageError(
            f"There is no structured={others['structured']} with Inspect, which can constrain an answer by its schema "
            f"or not at all; choose {', '.join(_STRUCTURED)}."
        )
    words = modes if isinstance(modes, (list, tuple)) else (modes,)
    em = ModelSettings(provider="inspect", model="none")
    settings = settings_of(em=em, modes=parse_modes(map(str, words)), judge_scale=judge_scale, **others)
    paths = path_of("conversations", conversations), path_of("codebook", codebook)
    return _load(settings, *paths, skip_invalid=skip_invalid)


def notes_of(study: Study, *, demo: bool) -> list[str]:
    """What a user should know before anything is asked. `demo`: whether these are the demonstration's conversations."""
    conversations = list(study.conversations.values())
    own = study.codebook.sha256 == default_codebook().sha256
    warnings = plan_warnings(conversations, study.codebook)
    return [
        *([_DEMO.format(n=len(conversations))] if demo else ()),
        *(() if own else (f"Codebook: {study.codebook_file}.",)),
        *(f"Left out {file.file}: {'; '.join(file.reasons)}" for file in study.loaded.skipped),
        *(text.replace("--codebook FILE", "-T codebook=FILE") for text in warnings),
    ]


_DEMO = (
    "No -T conversations=FOLDER is given: these are the {n} demonstration conversations, written examples and no human "
    "data, which are not comparable with published scores."
)


def model_named(full: str) -> ModelSettings:
    """A model by Inspect's name for it: `openai/gpt-4o` is model gpt-4o of provider openai, as `run` would name it."""
    provider, _, model = full.partition("/")
    return ModelSettings(provider=provider, model=model) if model else ModelSettings(provider="inspect", model=full)
