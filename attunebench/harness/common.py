"""Shared by all frameworks: conversations as jobs, replies as entries, finished jobs as results of a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from attunebench.backends.base import Reply
from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import Conversation, ConversationSet, load_conversations
from attunebench.conversations.loading import demo_folder
from attunebench.errors import DataError, ItemError, UsageError
from attunebench.journal import Entry
from attunebench.protocol.calls import Call, Mode
from attunebench.protocol.modes import parse_modes
from attunebench.runner.clients import hasher_of
from attunebench.runner.fingerprint import Stamping
from attunebench.runner.job import Ask, Job, Rules, entry_of
from attunebench.runner.order import stratified_order
from attunebench.runner.run import assembled
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.runner.work import BENCHMARK

STORE = "attunebench"  # under this key the store of an Inspect sample holds its `result`, a result file's content
EXAMPLES = "written for demonstration: no human data, and scores cannot be compared with published ones"


@dataclass(frozen=True, slots=True)
class Study:
    """Conversations, and the settings under which a framework asks about them. `loaded` is in the order of the folder,
    on which intervals depend; `conversations`, by id, in a run's. `further`: parameters beside the settings."""

    settings: RunSettings
    folder: Path
    loaded: ConversationSet
    conversations: Mapping[str, Conversation]
    codebook: Codebook
    further: Mapping[str, Any] = field(default_factory=dict)

    @property
    def examples(self) -> bool:
        """Whether some of the conversations are `EXAMPLES`."""
        return any(each.metadata.get("source") == "synthetic-demo" for each in self.loaded.conversations)

    def under(self, further: Mapping[str, Any] | None = None, **settings: Any) -> Study:
        """The study with these in place of its own settings. Raises UsageError for settings that fit no run."""
        return replace(self, settings=_checked({**dict(self.settings), **settings}), further=further or {})

    def conversation(self, conversation_id: str) -> Conversation:
        """The conversation of that id. Raises DataError where a log is of other conversations."""
        if found := self.conversations.get(conversation_id):
            return found
        raise DataError(f"Conversation {conversation_id} is not in {self.folder}; give its folder as conversations.")

    def calls(self, conversation: Conversation, mode: Mode) -> tuple[Call, ...]:
        """All calls of the conversation, including judges' calls."""
        return BENCHMARK.plan(conversation, mode, self.codebook, self.settings)

    def job(self, conversation: Conversation, mode: Mode) -> Job:
        """The conversation before its first call."""
        rules = Rules(self.codebook, self.settings.max_tokens, self.settings.max_reasks)
        key = (conversation.conversation_id, mode)
        return Job(key, self.calls(conversation, mode), rules, context=conversation)

    def entry(self, asked: Ask, outcome: Reply | ItemError) -> Entry:
        """What came back for an open ask: a reply, or the error for which there can never be one."""
        model, seconds = self.settings.asked(asked.who), outcome.latency if isinstance(outcome, Reply) else None
        # The framework handles addresses.
        hasher = hasher_of((model.provider, "", model.model), self.settings, judge=asked.who > 0)
        return entry_of(asked, hasher, outcome, seconds=seconds)

    def result(self, job: Job, *, epoch: int | None = None) -> dict[str, Any]:
        """The result file's content of a job whose `answered` is true. Raises ValueError otherwise."""
        settings, conversation = self.settings, job.context
        stamp = Stamping(settings, self.codebook, BENCHMARK)(job.calls, conversation.source_sha256)
        place = [*self.conversations].index(conversation.conversation_id), len(self.conversations)
        result = assembled(job, conversation, settings, stamp, place)
        return {**result, "epoch": epoch, "parameters": {**result["parameters"], **self.further}}


def study_of(
    em: ModelSettings, *, conversations: Any = None, codebook: Any = None, skip_invalid: Any = False,
    modes: Any = "default", **settings: Any,
) -> Study:  # fmt: skip
    """The study of a task's arguments as a framework hands them over. UsageError: bad values; DataError: bad files."""
    words = modes if isinstance(modes, (list, tuple)) else (modes,)
    checked = _checked({"em": em, "modes": parse_modes(map(str, words)), **settings})
    if checked.structured == "object":
        raise UsageError("structured=object is not available in other frameworks; choose auto, schema or text.")
    if not isinstance(skip_invalid, bool):
        raise UsageError(f"skip_invalid must be true or false, not {skip_invalid!r}.")
    folder = _path("conversations", conversations) or demo_folder()
    file = _path("codebook", codebook) or codebook_for(folder)
    loaded = load_conversations(folder, skip_invalid=skip_invalid)
    ordered = stratified_order(loaded.conversations, checked.order_seed)
    by_id = {conversation.conversation_id: conversation for conversation in ordered}
    study = Study(checked, folder, loaded, by_id, load_codebook(file) if file else default_codebook())
    for mode in checked.modes:
        study.calls(ordered[0], mode)  # a strategy that the mode gives away is refused before anything is asked
    return study


def model_named(full: str) -> ModelSettings:
    """A model by Inspect's name for it: `openai/gpt-4o` is model gpt-4o of provider openai, as `run` would name it."""
    provider, _, model = full.partition("/")
    return ModelSettings(provider=provider if model else "inspect", model=model or full)


def _checked(settings: Mapping[str, Any]) -> RunSettings:
    try:
        return RunSettings(**settings)
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{first['loc'][0]}: {first['msg']}, not {first['input']!r}.") from None


def _path(name: str, value: Any) -> Path | None:
    if value is None:
        return None
    # Frameworks turn a folder named 25 into a number, and a name with a comma into a list.
    if isinstance(value, bool) or not isinstance(value, (str, int, Path)) or not str(value).strip():
        raise UsageError(f"{name} must name one {'folder' if name == 'conversations' else 'file'}, not {value!r}.")
    return Path(str(value)).expanduser()
