"""What the task's arguments come to: conversations in the run's order, their codebook, and a session for each model.

Knows no Inspect. The same arguments give the same study, which is loaded once in a process.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import Conversation, load_conversations
from attunebench.conversations.bundled import demo_folder
from attunebench.errors import DataError, UsageError
from attunebench.harness.common import Session
from attunebench.judging import JUDGE_SCALE, JudgeScale
from attunebench.protocol.calls import Mode, PanasStrategy
from attunebench.protocol.modes import parse_modes
from attunebench.protocol.plan import plan_conversation, plan_warnings
from attunebench.runner.order import stratified_order
from attunebench.runner.settings import ModelSettings, RunSettings, Structured

STRUCTURED = ("auto", "schema", "text")
"""What of `--structured` an engine can do that constrains output by a schema or not at all."""


@dataclass(frozen=True, slots=True)
class Choices:
    """The task's arguments that say what is asked. `conversations` None: the demonstration. Modes in their order."""

    conversations: str | None = None
    modes: tuple[Mode, ...] = ("default",)
    panas_strategy: PanasStrategy = "absolute"
    judge_scale: JudgeScale = JUDGE_SCALE
    max_reasks: int = 2
    structured: Structured = "auto"
    order_seed: int = 0
    codebook: str | None = None
    skip_invalid: bool = False

    @classmethod
    def of(cls, *, modes: str | Sequence[str] = "default", **others: Any) -> Choices:
        """Checked choices. Raises UsageError for a value that does not exist or does not go with another."""
        if unknown := others.keys() - {field.name for field in fields(cls)}:
            raise UsageError(f"There is no argument {', '.join(sorted(unknown))}.")
        # Inspect makes a number of `25` and a list of what has a comma in it.
        named: dict[str, Any] = {
            name: _path(name, others[name]) for name in ("conversations", "codebook") if name in others
        }
        words = modes if isinstance(modes, (list, tuple)) else (modes,)
        choices = cls(modes=parse_modes(map(str, words)), **{**others, **named})
        if not isinstance(choices.skip_invalid, bool):
            raise UsageError(f"skip_invalid is true or false, not {choices.skip_invalid!r}.")
        if choices.structured not in STRUCTURED:
            raise UsageError(
                f"There is no structured={choices.structured} with Inspect, which can constrain an answer by its "
                f"schema or not at all; choose {', '.join(STRUCTURED)}."
            )
        choices.settings(ModelSettings(provider="inspect", model="none"))
        return choices

    def arguments(self) -> dict[str, Any]:
        """As plain values, for a log."""
        return {**asdict(self), "modes": list(self.modes)}

    def settings(self, em: ModelSettings, judges: Sequence[ModelSettings] = (), **sampling: Any) -> RunSettings:
        """The settings of a run with these choices. Raises UsageError."""
        try:
            return RunSettings(
                em=em,
                judges=tuple(judges),
                modes=self.modes,
                panas_strategy=self.panas_strategy,
                judge_scale=self.judge_scale,
                max_reasks=self.max_reasks,
                structured=self.structured,
                order_seed=self.order_seed,
                **sampling,
            )
        except ValidationError as error:
            first = error.errors()[0]
            raise UsageError(f"{first['loc'][0]}: {first['msg']}, not {first['input']!r}.") from None


def _path(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise UsageError(f"{name} must name one {'folder' if name == 'conversations' else 'file'}, not {value!r}.")


@dataclass(frozen=True, slots=True)
class Study:
    """The conversations of a task in the order in which a run takes them, by id as well."""

    choices: Choices
    folder: Path
    conversations: tuple[Conversation, ...]
    by_id: Mapping[str, Conversation]
    codebook: Codebook
    notes: tuple[str, ...]
    """What a user should know before anything is asked."""

    def conversation(self, conversation_id: str) -> Conversation:
        """The conversation of that id. Raises DataError where a log is of other conversations."""
        if conversation_id not in self.by_id:
            raise DataError(
                f"Conversation {conversation_id} is not in {self.folder}; give its folder as conversations."
            )
        return self.by_id[conversation_id]

    def session(self, em: ModelSettings, judges: Sequence[ModelSettings] = (), **sampling: Any) -> Session:
        """A session of one model and its judges. Raises UsageError where a judge is named twice."""
        names = [judge.model for judge in judges]
        if len(set(names)) < len(names):
            raise UsageError("A judge model is given twice; votes are kept by model name, so name each once.")
        settings = self.choices.settings(em, judges, **sampling)
        return Session(settings, self.codebook, self.conversations, n_all=len(self.conversations))


@lru_cache(maxsize=8)
def study_of(choices: Choices) -> Study:
    """The study of these choices. Raises DataError (folder, codebook) and UsageError (modes against a strategy)."""
    folder = Path(choices.conversations).expanduser() if choices.conversations else demo_folder()
    loaded = load_conversations(folder, skip_invalid=choices.skip_invalid)
    path = Path(choices.codebook).expanduser() if choices.codebook else codebook_for(folder)
    codebook = load_codebook(path) if path else default_codebook()
    conversations = tuple(stratified_order(loaded.conversations, choices.order_seed))
    for mode in choices.modes:
        settings = choices.settings(ModelSettings(provider="inspect", model="none"))
        plan_conversation(conversations[0], mode, codebook, panas_strategy=settings.panas_strategy)
    return Study(
        choices=choices,
        folder=folder,
        conversations=conversations,
        by_id={conversation.conversation_id: conversation for conversation in conversations},
        codebook=codebook,
        notes=(
            *(() if choices.conversations else (_DEMO.format(n=len(conversations)),)),
            *((f"Codebook: {path}.",) if codebook.sha256 != default_codebook().sha256 else ()),
            *(f"Left out {file.file}: {'; '.join(file.reasons)}" for file in loaded.skipped),
            *(text.replace("--codebook FILE", "-T codebook=FILE") for text in plan_warnings(conversations, codebook)),
        ),
    )


_DEMO = (
    "No -T conversations=FOLDER is given: these are the {n} demonstration conversations, written examples and no human "
    "data, which are not comparable with published scores."
)


def model_named(full: str) -> ModelSettings:
    """A model by Inspect's name for it: `openai/gpt-4o` is model gpt-4o of provider openai, as `run` would name it."""
    provider, _, model = full.partition("/")
    return ModelSettings(provider=provider, model=model) if model else ModelSettings(provider="inspect", model=full)
