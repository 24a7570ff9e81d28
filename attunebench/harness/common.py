"""What every framework is given: conversations as jobs, replies as entries, finished jobs as results and scores.

The frameworks do the asking. A result that is made here is the one that `run` would have written for these replies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from attunebench.api import quick_scores
from attunebench.codebook import Codebook, codebook_for, default_codebook, load_codebook
from attunebench.conversations import Conversation, ConversationSet, load_conversations
from attunebench.conversations.bundled import demo_folder
from attunebench.errors import DataError, UsageError
from attunebench.journal import Hasher
from attunebench.results.parsing import parse_result
from attunebench.runner.exchange import Rules, entry_of
from attunebench.runner.job import Job, Known, Open
from attunebench.runner.order import stratified_order
from attunebench.runner.run import assembled
from attunebench.runner.settings import RunSettings, check_judges
from attunebench.runner.task import BENCHMARK
from attunebench.runner.work import stamping
from attunebench.scorer.scoring import Cluster, resampling_of, score

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.errors import ItemError
    from attunebench.journal import Entry
    from attunebench.protocol.calls import Call, Mode
    from attunebench.scores import Scores


@dataclass(frozen=True, slots=True)
class Study:
    """Conversations to ask about, and the settings of a run under which that is done.

    `loaded`: the conversations in the order of their folder, on which intervals depend. `conversations`: by id, in the
    order of a run. `codebook_file`: None for this package's own codebook.
    """

    settings: RunSettings
    folder: Path
    loaded: ConversationSet
    conversations: Mapping[str, Conversation]
    codebook: Codebook
    codebook_file: Path | None

    @classmethod
    def load(
        cls,
        settings: RunSettings,
        conversations: Path | None = None,
        codebook: Path | None = None,
        *,
        skip_invalid: bool = False,
    ) -> Study:
        """The study of a folder (None: the bundled examples) with a codebook (None: the one beside it, or ours).

        Raises DataError for a folder or codebook that cannot be used, UsageError for a mode that does not go with the
        strategy.
        """
        folder = conversations or demo_folder()
        loaded = load_conversations(folder, skip_invalid=skip_invalid)
        file = codebook or codebook_for(folder)
        ordered = stratified_order(loaded.conversations, settings.order_seed)
        by_id = {conversation.conversation_id: conversation for conversation in ordered}
        study = cls(settings, folder, loaded, by_id, load_codebook(file) if file else default_codebook(), file)
        for mode in settings.modes:
            study.session().calls(ordered[0], mode)
        return study

    def conversation(self, conversation_id: str) -> Conversation:
        """The conversation of that id. Raises DataError where a log is of other conversations."""
        if conversation_id not in self.conversations:
            raise DataError(
                f"Conversation {conversation_id} is not in {self.folder}; give its folder as conversations."
            )
        return self.conversations[conversation_id]

    def session(self, further: Mapping[str, Any] | None = None, **settings: Any) -> Session:
        """A session under the study's settings with these in place of theirs; `further`: what else was set that changes
        a model's answers. Raises UsageError for settings that fit no run."""
        changed = settings_of(self.settings, **settings)
        check_judges(changed)
        return Session(self, changed, further or {})


@dataclass(frozen=True, slots=True)
class Session:
    """One model (and judges) over a study, asked by somebody else."""

    study: Study
    settings: RunSettings
    further: Mapping[str, Any]

    def calls(self, conversation: Conversation, mode: Mode) -> tuple[Call, ...]:
        """All calls of the conversation, judges' calls among them."""
        return BENCHMARK.plan(conversation, mode, self.study.codebook, self.settings)

    def job(self, conversation: Conversation, mode: Mode, known: Known | None = None) -> Job:
        """The conversation before its first call, or behind the asks of which the reply is `known`."""
        rules = Rules(self.study.codebook, self.settings.max_tokens, self.settings.max_reasks)
        key = (conversation.conversation_id, mode)
        return Job(key, self.calls(conversation, mode), rules, known=known, context=conversation)

    def entry(self, asked: Open, reply: Reply | None, *, error: ItemError | None = None, sent_at: str = "") -> Entry:
        """What came back for an open ask: a reply, or the error for which there can never be one."""
        settings, ask = self.settings, asked.ask
        model = (settings.em, *settings.judges)[asked.who]
        # Addresses are the framework's business; the hash tells asks of one session apart.
        hasher = Hasher(
            provider=model.provider,
            base_url=model.base_url or "",
            model=model.model,
            parameters=settings.request_parameters(judge=asked.who > 0),
        )
        hashed = hasher(asked.call, ask.messages, ask.number)
        seconds = reply.latency if reply is not None else None
        return entry_of(asked.call, ask, hashed, hasher, sent_at=sent_at, seconds=seconds, reply=reply, error=error)

    def result(self, job: Job, *, epoch: int | None = None) -> dict[str, Any]:
        """The result file's content of a job whose `answered` is true. Raises ValueError otherwise."""
        study, conversation = self.study, job.context
        stamp = stamping(self.settings, study.codebook, BENCHMARK)(job.calls, conversation.source_sha256)
        place = [*study.conversations].index(conversation.conversation_id), len(study.conversations)
        result = assembled(job, conversation, self.settings, stamp, place, epoch=epoch, quick_scores=quick_scores)
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
    return value


def path_of(name: str, value: Any) -> Path | None:
    """The path that a framework hands over under this name, None for none. Raises UsageError for what is no path."""
    if value is None:
        return None
    # Frameworks make a number of a folder that is called 25, and a list of a name that has a comma in it.
    if isinstance(value, bool) or not isinstance(value, (str, int, Path)) or not str(value).strip():
        raise UsageError(f"{name} must name one {'folder' if name == 'conversations' else 'file'}, not {value!r}.")
    return Path(str(value)).expanduser()


def scores_of(
    conversations: Iterable[Conversation],
    results: Iterable[Mapping[str, Any]],
    *,
    resamples: int = 10_000,
    cluster: Cluster | None = None,
) -> Scores:
    """What `attune-bench score` makes of results with this content."""
    return score(conversations, map(parse_result, results), resamples=resamples, cluster=cluster)
