"""What every framework is given: conversations as jobs, replies as entries, finished jobs as results.

The frameworks do the asking. A result that is made here is the one that `run` would have written for these replies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import Conversation, ConversationSet, load_conversations
from attunebench.conversations.bundled import demo_folder
from attunebench.errors import DataError, UsageError
from attunebench.journal import Hasher
from attunebench.runner.exchange import Rules, entry_of
from attunebench.runner.fingerprint import Stamping
from attunebench.runner.job import Job, Known, Open
from attunebench.runner.order import stratified_order
from attunebench.runner.run import assembled
from attunebench.runner.settings import RunSettings, check_judges
from attunebench.runner.task import BENCHMARK
from attunebench.scorer.scoring import Cluster, resampling_of

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.errors import ItemError
    from attunebench.journal import Entry
    from attunebench.protocol.calls import Call, Mode


@dataclass(frozen=True, slots=True)
class Study:
    """Conversations, and the settings under which somebody else asks about them.

    `loaded`: the conversations in the order of their folder, on which intervals depend. `conversations`: by id, in the
    order of a run. `codebook_file`: None for this package's own codebook. `further`: what beside the settings changes a
    model's answers.
    """

    settings: RunSettings
    folder: Path
    loaded: ConversationSet
    conversations: Mapping[str, Conversation]
    codebook: Codebook
    codebook_file: Path | None
    further: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def load(
        cls, settings: RunSettings, folder: Path | None, codebook: Path | None, *, skip_invalid: bool = False
    ) -> Study:
        """The study of a folder (None: the bundled examples) with a codebook (None: the one beside it, or ours).

        Raises DataError for a folder or codebook that cannot be used, UsageError for a mode that does not go with the
        strategy.
        """
        folder = folder or demo_folder()
        loaded, file = load_conversations(folder, skip_invalid=skip_invalid), codebook or codebook_for(folder)
        ordered = stratified_order(loaded.conversations, settings.order_seed)
        by_id = {conversation.conversation_id: conversation for conversation in ordered}
        study = cls(settings, folder, loaded, by_id, load_codebook(file) if file else default_codebook(), file)
        for mode in settings.modes:
            study.calls(ordered[0], mode)
        return study

    def under(self, further: Mapping[str, Any] | None = None, **settings: Any) -> Study:
        """The study with these in place of its own settings. Raises UsageError for settings that fit no run."""
        changed = settings_of(self.settings, **settings)
        check_judges(changed)
        return replace(self, settings=changed, further=further or {})

    def conversation(self, conversation_id: str) -> Conversation:
        """The conversation of that id. Raises DataError where a log is of other conversations."""
        if found := self.conversations.get(conversation_id):
            return found
        raise DataError(f"Conversation {conversation_id} is not in {self.folder}; give its folder as conversations.")

    def calls(self, conversation: Conversation, mode: Mode) -> tuple[Call, ...]:
        """All calls of the conversation, judges' calls among them."""
        return BENCHMARK.plan(conversation, mode, self.codebook, self.settings)

    def job(self, conversation: Conversation, mode: Mode, known: Known | None = None) -> Job:
        """The conversation before its first call, or behind the asks of which the reply is `known`."""
        rules = Rules(self.codebook, self.settings.max_tokens, self.settings.max_reasks)
        key = (conversation.conversation_id, mode)
        return Job(key, self.calls(conversation, mode), rules, known=known, context=conversation)

    def entry(self, asked: Open, reply: Reply | None, *, error: ItemError | None = None, sent_at: str = "") -> Entry:
        """What came back for an open ask: a reply, or the error for which there can never be one."""
        model, ask = (self.settings.em, *self.settings.judges)[asked.who], asked.ask
        # Addresses are the framework's business; the hash tells asks of one study apart.
        parameters = self.settings.request_parameters(judge=asked.who > 0)
        hasher = Hasher(provider=model.provider, base_url="", model=model.model, parameters=parameters)
        hashed = hasher(asked.call, ask.messages, ask.number)
        seconds = reply.latency if reply is not None else None
        return entry_of(asked.call, ask, hashed, hasher, sent_at=sent_at, seconds=seconds, reply=reply, error=error)

    def result(self, job: Job, *, epoch: int | None = None) -> dict[str, Any]:
        """The result file's content of a job whose `answered` is true. Raises ValueError otherwise."""
        settings, conversation = self.settings, job.context
        stamp = Stamping(settings, self.codebook, BENCHMARK)(job.calls, conversation.source_sha256)
        place = [*self.conversations].index(conversation.conversation_id), len(self.conversations)
        result = assembled(job, conversation, settings, stamp, place, epoch=epoch)
        return {**result, "parameters": {**result["parameters"], **self.further}}


def settings_of(base: RunSettings | None = None, **named: Any) -> RunSettings:
    """The settings of a run with what is named in place of the base's. Raises UsageError for a value that fits none."""
    try:
        return RunSettings(**{**(dict(base) if base else {}), **named})
    except ValidationError as error:
        first = error.errors()[0]
        raise UsageError(f"{first['loc'][0]}: {first['msg']}, not {first['input']!r}.") from None


def cluster_of(value: Any) -> Cluster | None:
    """What standard errors are taken over. Raises UsageError for what there is not."""
    resampling_of(0, 1, value, "percentile")
    cluster: Cluster | None = value
    return cluster


def path_of(name: str, value: Any) -> Path | None:
    """The path that a framework hands over under this name, None for none. Raises UsageError for what is no path."""
    if value is None:
        return None
    # Frameworks make a number of a folder that is called 25, and a list of a name that has a comma in it.
    if isinstance(value, bool) or not isinstance(value, (str, int, Path)) or not str(value).strip():
        raise UsageError(f"{name} must name one {'folder' if name == 'conversations' else 'file'}, not {value!r}.")
    return Path(str(value)).expanduser()
