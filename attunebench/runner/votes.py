"""Judging again: the votes that are due on the drafts of result files, ours or others', as the work of a run.

Owns which files are judged and what is left alone and why (a conversation that is not there, a result that is there
twice, no drafts), and what new votes change in a file. The evaluated model is not asked.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, cast, get_args

from attunebench import eventloop
from attunebench._version import __version__
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import AttuneBenchError, DataError, UsageError
from attunebench.journal import claim
from attunebench.jsonfile import MAX_BYTES, parse_json
from attunebench.judging import BINARY_BY_JUDGE, SCALE_BY_JUDGE, SCORES_BY_JUDGE, JudgeScale, scale_of
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.assemble import add_votes
from attunebench.protocol.calls import RATINGS, Call, Mode, PanasStrategy, Record
from attunebench.protocol.modes import MODES
from attunebench.protocol.plan import plan_conversation, with_draft
from attunebench.results.parsing import UNNAMED_JUDGE, kind_of, parse_result
from attunebench.results.reading import Findings, Key, find_duplicates, result_files
from attunebench.results.schema import Result
from attunebench.runner.estimate import Estimate
from attunebench.runner.events import Observer, RunSummary, Silent
from attunebench.runner.files import identity_of
from attunebench.runner.job import Job
from attunebench.runner.live import Live
from attunebench.runner.order import order_words, stratified_order
from attunebench.runner.run import Run, now
from attunebench.runner.scales import settled
from attunebench.runner.settings import ModelSettings, RunSettings, check_judges
from attunebench.runner.stamps import calls_sha256, judge_calls_key

if TYPE_CHECKING:
    from attunebench.runner.exchange import Rules
    from attunebench.runner.job import Known
    from attunebench.runner.run import QuickScores
    from attunebench.runner.work import Seen

_PLANS = 64
"""Plans that are kept: results of one conversation come one after the other."""
_BLOCKS = {"em_draft_judge_scores": SCORES_BY_JUDGE, "em_draft_binary_assessment": BINARY_BY_JUDGE}
"""The key of a single judge's votes → the key of all judges'."""
_DRAFT = "em_drafted_response"


def rejudge_settings(results: str | Path, judges: Sequence[ModelSettings], **values: Any) -> RunSettings:
    """The settings of a run into `results` of which the judges alone are asked; `values` as `RunSettings` takes them.

    Raises pydantic's ValidationError for values that fit no run.
    """
    # Whoever asks what it costs gets to hear nothing where nobody costs anything.
    free = all(judge.provider == "baseline" for judge in judges)
    drafts = ModelSettings(provider="baseline" if free else "results", model="drafts")
    return RunSettings(em=drafts, judges=tuple(judges), output=Path(results), **values)


@dataclass(slots=True)
class RejudgeSummary:
    """How judging again ended. `run` has the counts that every run has; a job is one result file.

    `added` counts votes where there was none, `replaced` those in place of an older one, of which `changed` say
    something else and `rescaled` replace one on another scale; `kept` older ones whose judge had no usable answer this
    time. `left`: file → why it was left as it is. `without_draft`, `other_turns`: file → its turns without a draft, and
    those that the conversation does not have. `foreign`: results that hold votes of other judge prompts too, or of
    unknown ones.
    """

    run: RunSummary
    added: int = 0
    replaced: int = 0
    changed: int = 0
    rescaled: int = 0
    kept: int = 0
    left: dict[str, str] = field(default_factory=dict)
    without_draft: dict[str, tuple[int, ...]] = field(default_factory=dict)
    other_turns: dict[str, tuple[int, ...]] = field(default_factory=dict)
    foreign: int = 0


def rejudge_results(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    models: Sequence[str] = (),
    modes: Sequence[str] = (),
    observer: Observer | None = None,
    quick_scores: QuickScores | None = None,
    interruptible: bool = False,
) -> RejudgeSummary:
    """Have the judges of `rejudge_settings` rate the drafts of the results under `settings.output`; add their votes.

    Votes that are there stay; with `settings.replace` a judge of these votes again, and its older vote goes when the
    new one is there. `models` (by name or provider/model) and `modes` narrow. Raises UsageError, DataError (no
    results, or somebody else is at work on them) and ConfigurationError (a judge that cannot be asked); what is written
    by then stays, and the journal keeps what was answered.
    """
    observer = observer or Silent()
    if not settings.judges:
        raise UsageError("No judge is named; give at least one with --judge-model.")
    check_judges(settings)
    settings = settled(settings, observer.warned, within=True)
    live = Live(settings, observer, judges_only=True, interruptible=interruptible)
    work = VoteWork(conversations, settings, codebook, models, modes, quick_scores)
    work.summary.run = eventloop.run(Run(work, settings, codebook, observer).by(live))
    return work.summary


def estimate_rejudge(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    models: Sequence[str] = (),
    modes: Sequence[str] = (),
) -> Estimate:
    """The votes that would be asked; what the journal has is counted too. Opens, sends and writes nothing."""
    notes: list[str] = []
    settings = settled(settings, notes.append, within=True)
    work, estimate = VoteWork(conversations, settings, codebook, models, modes), Estimate(notes=notes)
    work.survey(estimate.add, lambda _: None)
    estimate.jobs, estimate.complete = len(work.todos), work.complete
    return estimate


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result file that was asked for; `run` is what a run of it would hold: provider, model, mode."""

    path: Path
    name: str
    conversation_id: str
    run: tuple[str, str, str]

    @property
    def key(self) -> tuple[str, ...]:
        return self.conversation_id, self.run[2], self.name

    @property
    def spellings(self) -> set[str]:
        """How a user may name its model."""
        provider, model, _ = self.run
        return {model.casefold(), f"{provider}/{model}".casefold()}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A result file as it is judged.

    `drafts`: turn → its draft; `votes`: turn → key of all judges' votes → judge → its entry, those of an unnamed or
    single judge among them. `judges`: those that the file names, else those that voted, in its order. `calls`: the
    judge calls of all turns, without drafts; `judge_calls_sha256` is their digest, None where there are none.
    """

    raw: bytes
    data: Mapping[str, Any]
    result: Result
    conversation: Conversation
    drafts: Mapping[int, str]
    votes: Mapping[int, Mapping[str, Mapping[str, Any]]]
    judges: tuple[str, ...]
    calls: Sequence[Call]
    judge_calls_sha256: str | None

    def vote(self, judge: str, turn: int) -> tuple[Any, Any] | None:
        """A judge's ratings and yes/no answers in a turn; None where it has not voted, empty where it said nothing."""
        blocks = self.votes.get(turn, {})
        entries = tuple(blocks[key].get(judge) for key in _BLOCKS.values()) if blocks else (None, None)
        return None if entries == (None, None) else (entries[0] or {}, entries[1] or {})

    def scale(self, judge: str, turn: int) -> JudgeScale | None:
        """The scale of a judge's vote in a turn; None where it has not voted."""
        return None if self.vote(judge, turn) is None else scale_of(self.votes[turn][SCALE_BY_JUDGE].get(judge))


class VoteWork:
    """The votes of `settings.judges` on the drafts under `settings.output`: a `runner.run.Work`.

    A job is one result file. `differing`: scale → votes of these judges on it, which is not the one they are asked for.
    Raises UsageError for a model that no result has, DataError where there is no result at all.
    """

    def __init__(
        self,
        conversations: Sequence[Conversation],
        settings: RunSettings,
        codebook: Codebook,
        models: Sequence[str] = (),
        modes: Sequence[str] = (),
        quick_scores: QuickScores | None = None,
    ) -> None:
        self.todos: dict[tuple[str, ...], Candidate] = {}
        self.complete = 0
        self.differing: Counter[str] = Counter()
        self.made: set[tuple[str, ...]] = set()
        self.summary = RejudgeSummary(RunSummary(settings.output))
        self._settings = settings
        self._codebook = codebook
        self._quick_scores = quick_scores
        self._judges = tuple(judge.model for judge in settings.judges)
        self._conversations = {conversation.conversation_id: conversation for conversation in conversations}
        self._plan = lru_cache(_PLANS)(self._planned)
        self._rescaled: Counter[str] = Counter()
        self._n_votes = 0
        candidates, self.summary.left = _candidates(settings.output, models, modes)
        self._candidates = self._ordered(candidates, conversations)

    def enter(self, stack: ExitStack) -> None:
        """See `Work.enter`: every run whose results are judged is kept out."""
        folder = self._settings.output
        try:
            with tempfile.NamedTemporaryFile(dir=folder, prefix=".attunebench-"):
                pass
        except OSError as error:
            raise DataError(
                f"The results in {folder} cannot be written ({error.strerror or error}); votes are added to them, so "
                "make the folder writable or judge a copy of it."
            ) from error
        for place, (provider, model, mode) in sorted({(each.path.parent, each.run) for each in self._candidates}):
            stack.enter_context(claim(place, provider, model, [mode]))

    def survey(self, seen: Seen, refused: Seen) -> None:
        """See `Work.survey`; `refused` gets the calls that `replace` makes for votes on other scales."""
        for candidate in self._candidates:
            sheet = self._sheet(candidate)
            if sheet is None:
                continue
            planned = {turn.number for turn in sheet.conversation.turns}
            if missing := tuple(sorted(planned - sheet.drafts.keys())):
                self.summary.without_draft[candidate.name] = missing
            if others := tuple(turn.number for turn in sheet.result.turns if turn.number not in planned):
                self.summary.other_turns[candidate.name] = others
            drafted = self._drafted(sheet)
            rescaled = [call for call in drafted if self._scale(sheet, call) not in (None, self._settings.scale)]
            self._rescaled.update(str(self._scale(sheet, call)) for call in rescaled)
            if rescaled and not self._settings.replace:
                self.differing.update(self._rescaled)
                refused(rescaled)
            due = [call for call in drafted if self._is_due(sheet, call)]
            if due or not set(self._judges) <= set(sheet.judges):
                self.todos[candidate.key] = candidate
                self._n_votes += len(due)
                seen(due)
            else:
                self.complete += 1

    def check(self, details: str = "") -> None:
        """Raises DataError where votes on another scale would be replaced. `details`: what that would cost."""
        if self.differing:
            there = " and ".join(sorted(self._rescaled))
            raise DataError(
                f"{self._settings.output} holds {sum(self._rescaled.values()):,} votes of {', '.join(self._judges)} on "
                f"the {there} scale. {details} --replace replaces them by votes on the {self._settings.scale} scale, "
                f"and --judge-scale {there} keeps them."
            )

    def jobs(self, rules: Rules, known: Known | None) -> Iterator[Job]:
        """See `Work.jobs`; a file is read when its turn comes."""
        for candidate in tuple(self.todos.values()):
            sheet = self._sheet(candidate)
            if sheet is None:
                del self.todos[candidate.key]
                continue
            due = [call for call in self._drafted(sheet) if self._is_due(sheet, call)]
            content = partial(self._content, candidate, sheet)
            yield Job(candidate.key, due, rules, known=known, assemble=content, context=sheet.conversation)

    def place(self, job: Job) -> Path:
        """See `Work.place`."""
        return self.todos[job.key].path

    def written(self, job: Job) -> None:
        """See `Work.written`."""
        if not job.left:
            del self.todos[job.key]

    def skip(self, job: Job, again: str) -> None:
        """See `Work.skip`: without the evaluated model no job fails."""

    def words(self) -> tuple[str, str, Sequence[str]]:
        """See `Work.words`."""
        votes = "1 vote" if self._n_votes == 1 else f"{self._n_votes:,} votes"
        results = "1 result" if len(self.todos) == 1 else f"{len(self.todos):,} results"
        headline = (
            f"{votes} of {', '.join(self._judges)} to ask for, on the drafts of {results} in {self._settings.output} "
            f"({self._order}); {self.complete} complete"
        )
        replacing = [f"{n:,} of these votes replace votes on the {scale} scale." for scale, n in self._rescaled.items()]
        return self._order, headline, replacing

    def end(self, summary: RunSummary) -> None:
        """See `Work.end`."""
        summary.unreached = len(self.todos)

    def _ordered(self, candidates: Sequence[Candidate], conversations: Sequence[Conversation]) -> list[Candidate]:
        """All results of one conversation before those of the next; `limit` counts conversations that have results."""
        settings = self._settings
        by_conversation: dict[str, list[Candidate]] = {}
        for candidate in candidates:
            by_conversation.setdefault(candidate.conversation_id, []).append(candidate)
        ordered = [each.conversation_id for each in stratified_order(conversations, settings.order_seed)]
        known = [name for name in ordered if name in by_conversation]
        unknown = [name for name in by_conversation if name not in self._conversations]
        chosen = known[: settings.limit]
        self._order = order_words(len(chosen), len(known), settings.order_seed)
        return [candidate for name in (*chosen, *unknown) for candidate in by_conversation[name]]

    def _drafted(self, sheet: Sheet) -> list[Call]:
        """The judge calls on drafts that are there, with these in them."""
        drafts = sheet.drafts
        return [replace(with_draft(call, drafts[call.turn]), needs=None) for call in sheet.calls if call.turn in drafts]

    def _scale(self, sheet: Sheet, call: Call) -> JudgeScale | None:
        return sheet.scale(self._judges[call.judge or 0], call.turn)

    def _is_due(self, sheet: Sheet, call: Call) -> bool:
        """Whether the vote is missing, or to be replaced, or lacks something that was asked and is to be had."""
        vote = sheet.vote(self._judges[call.judge or 0], call.turn)
        if vote is None or self._settings.replace:
            return True
        ratings, answers = vote
        return self._settings.retry_unanswered and (
            any(ratings.get(name) is None for name in (RATINGS if call.asked.rated else ()))
            or any(answers.get(question) is None for question in call.asked.questions)
        )

    def _sheet(self, candidate: Candidate) -> Sheet | None:
        """The file as it is now, or None (and noted) where it is left as it is."""
        try:
            raw = _bytes(candidate.path)
            data = _parsed(raw)
            conversation = self._conversations.get(candidate.conversation_id)
            if conversation is None:
                raise ValueError("its conversation is not among those given")
            result = parse_result(data, candidate.name)
            if not _takes_votes(data):
                raise ValueError("its votes are not as this format has them")
            mode = candidate.run[2]
            if mode not in MODES:
                raise ValueError(f"its mode {mode!r} is none of {', '.join(MODES)}")
            if _DRAFT not in result.measured:
                raise ValueError("it holds no drafts")
            calls, own, digest = self._plan(candidate.conversation_id, mode, _strategy(data))
            today = (prompt_set_sha256(), self._codebook.sha256)
            asked = data.get("calls_sha256")
            if (data.get("prompt_set_sha256"), data.get("codebook_sha256")) == today and asked not in (None, own):
                raise ValueError("it was made with other conversation texts")
        except ValueError as reason:
            self.summary.left[candidate.name] = str(reason)
            return None
        turns = dict(zip((turn.number for turn in result.turns), data["turns"], strict=True))
        named = data.get("judge_models")
        votes = {number: _votes_in(turn, str(named[0]) if named else UNNAMED_JUDGE) for number, turn in turns.items()}
        voted = (judge for blocks in votes.values() for key in _BLOCKS.values() for judge in blocks[key])
        return Sheet(
            raw=raw,
            data=data,
            result=result,
            conversation=conversation,
            drafts={turn.number: turns[turn.number][_DRAFT] for turn in result.turns if turn.draft is not None},
            votes=votes,
            judges=tuple(dict.fromkeys(named or voted)),
            calls=calls,
            judge_calls_sha256=digest,
        )

    def _planned(
        self, conversation_id: str, mode: Mode, strategy: PanasStrategy
    ) -> tuple[tuple[Call, ...], str, str | None]:
        """The judge calls of a conversation, the digest of all others, and that of one judge's."""
        try:
            plan = plan_conversation(
                self._conversations[conversation_id],
                mode,
                self._codebook,
                judges=len(self._judges),
                panas_strategy=strategy,
                judge_scale=self._settings.scale,
            )
        except AttuneBenchError as error:
            raise ValueError(str(error).rstrip(".")) from None
        calls = tuple(call for call in plan if call.judge is not None)
        own = calls_sha256(call for call in plan if call.judge is None)
        return calls, own, calls_sha256(call for call in calls if call.judge == 0) if calls else None

    def _content(self, candidate: Candidate, sheet: Sheet, job: Job) -> dict[str, Any] | None:
        """The file with the job's votes; None where nothing in it is to change.

        A new answer that says nothing takes the place of no older vote. An answer that was paid for before, and is the
        vote that stands already, is not counted as spent again.
        """
        if job.calls and not job.records:
            return None
        summary, taken, spent, replaced, rescaled = self.summary, list[Record](), list[Record](), 0, 0
        for record in job.records.values():
            before, now_ = sheet.vote(self._judges[record.call.judge or 0], record.call.turn), _vote_of(record)
            other = before is not None and self._scale(sheet, record.call) != record.call.asked.scale
            same = before == now_ and not other
            if not same or record.call.id in job.fetched:
                spent.append(record)
            if before is None:
                summary.added += 1
                taken.append(record)
            elif not any(now_) and any(before):
                summary.kept += 1
            else:
                replaced, rescaled = replaced + 1, rescaled + other
                summary.changed += not same
                taken += [] if same else [record]
        summary.replaced += replaced
        summary.rescaled += rescaled
        content = self._with_votes(sheet, taken, spent)
        if content == sheet.data:
            return None
        if _bytes(candidate.path) != sheet.raw:
            self.summary.left[candidate.name] = (
                "it was changed while its drafts were judged; the same command puts the votes in"
            )
            return None
        key = judge_calls_key(self._settings.scale)
        if sheet.judge_calls_sha256 is not None and sheet.data.get(key) != sheet.judge_calls_sha256:
            alike = sum(
                sheet.scale(judge, turn) == self._settings.scale for turn in sheet.votes for judge in _voters(sheet)
            )
            if alike == replaced - rescaled:  # none is left that was asked otherwise
                content[key] = sheet.judge_calls_sha256
            else:
                summary.foreign += 1
        earlier = sheet.data.get("rejudged")
        content["rejudged"] = [
            *(earlier if isinstance(earlier, list) else ()),
            self._note(votes=len(job.records), replaced=replaced),
        ]
        # The block of somebody else's scores is not ours to compute.
        ours = isinstance(content.get("scores"), dict) and "attunebench_version" in content
        if self._quick_scores is not None and ours:
            content["scores"] = dict(self._quick_scores(sheet.conversation, content))
        return content

    def _with_votes(self, sheet: Sheet, taken: Sequence[Record], spent: Sequence[Record]) -> dict[str, Any]:
        """The file with these votes and with what all answers took; what it says beside them stays.

        The fields of a single judge hold the file's first judge, and change where that one voted anew.
        """
        turns = [
            {**turn, "turnNumber": number, **votes}
            for (number, votes), turn in zip(sheet.votes.items(), sheet.data["turns"], strict=True)
        ]
        named = {**sheet.data, "turns": turns, "judge_models": list(sheet.judges)}
        whole = add_votes(named, taken, self._judges)
        money = add_votes(named, spent, self._judges)
        voted = {(record.call.turn, self._judges[record.call.judge or 0]) for record in taken}
        first = next(iter(whole["judge_models"]), "")
        written = []
        for number, old, new in zip(sheet.votes, sheet.data["turns"], whole["turns"], strict=True):
            keys = [*_BLOCKS.values(), SCALE_BY_JUDGE] if any(turn == number for turn, _ in voted) else []
            keys += [*_BLOCKS] if (number, first) in voted else []
            written.append({**old, **{key: new[key] for key in keys}})
        content = {**sheet.data, "turns": written, "judge_models": whole["judge_models"]}
        return content | {str(key): money[key] for key in ("judge_usage", "judge_api_cost") if key in money}

    def _note(self, *, votes: int, replaced: int) -> dict[str, Any]:
        """How these votes were made, for the file."""
        parameters = {name: value for name, value in self._settings.parameters.items() if name != "panas_strategy"}
        return {
            "timestamp": now(),
            "attunebench_version": __version__,
            "judge_providers": {judge.model: judge.provider for judge in self._settings.judges},
            "parameters": {**parameters, "judge_scale": self._settings.scale},
            "prompt_set_sha256": prompt_set_sha256(),
            "codebook_sha256": self._codebook.sha256,
            "votes": votes,
            "replaced": replaced,
        }


def _candidates(folder: Path, models: Sequence[str], modes: Sequence[str]) -> tuple[list[Candidate], dict[str, str]]:
    """The result files under the folder, of these models and modes where some are named; and file → why it is left."""
    found: dict[str, tuple[Candidate, Key]] = {}
    left: dict[str, str] = {}
    for path, name in result_files(folder, Findings()):
        try:
            data = _parsed(_bytes(path))
        except ValueError as error:
            left[name] = str(error)
            continue
        identity = identity_of(data) if kind_of(data) == "result" else None
        if identity is not None:
            epoch = data.get("epoch")
            key = (*identity, epoch if isinstance(epoch, int) else None)
            found[name] = (Candidate(path, name, identity[0], identity[1:]), key)
    if not found:
        raise DataError(f"There is no result in {folder}; name the folder that `attune-bench run` wrote to.")
    known = {spelling for candidate, _ in found.values() for spelling in candidate.spellings}
    for model in models:
        if model.strip().casefold() not in known:
            there = ", ".join(dict.fromkeys(candidate.run[1] for candidate, _ in found.values()))
            raise UsageError(f"There is no result of a model {model}; there is {there}.")
    for duplicate in find_duplicates((key, candidate.name) for candidate, key in found.values()):
        others = ", ".join(duplicate.files)
        left.update(dict.fromkeys(duplicate.files, f"the same result is there more than once ({others})"))
    wanted = {name.strip().casefold() for name in models}
    chosen = [
        candidate
        for name, (candidate, _) in found.items()
        if name not in left
        and (not wanted or wanted & candidate.spellings)
        and (not modes or candidate.run[2] in modes)
    ]
    return chosen, left


def _takes_votes(data: Mapping[str, Any]) -> bool:
    """Whether what a file says of judges has the shape that votes can be added to."""
    judges, usage = data.get("judge_models"), data.get("judge_usage")
    blocks = [turn.get(key) for turn in data["turns"] for key in (*_BLOCKS, *_BLOCKS.values(), SCALE_BY_JUDGE)]
    entries = [
        entry
        for turn in data["turns"]
        for key in _BLOCKS.values()
        if isinstance(votes := turn.get(key), dict)
        for entry in votes.values()
    ]
    return (
        (judges is None or (isinstance(judges, list) and all(isinstance(judge, str) for judge in judges)))
        and (usage is None or (isinstance(usage, dict) and all(type(n) in (int, NoneType) for n in usage.values())))
        and type(data.get("judge_api_cost")) in (int, float, NoneType)
        and all(block is None or isinstance(block, dict) for block in (*blocks, *entries))
    )


def _votes_in(turn: Mapping[str, Any], single: str) -> dict[str, dict[str, Any]]:
    """Key of all judges' votes → judge → entry; where no judge's entry says anything, the field of the `single` judge
    counts, as for the scorer. With the scales as they are stated."""
    found: dict[str, dict[str, Any]] = {SCALE_BY_JUDGE: dict(turn.get(SCALE_BY_JUDGE) or {})}
    for alone, key in _BLOCKS.items():
        entries = dict(turn.get(key) or {})
        if not any(entries.values()) and turn.get(alone):
            entries[single] = turn[alone]
        found[key] = entries
    return found


def _voters(sheet: Sheet) -> set[str]:
    """The judges with an entry in any turn."""
    return {judge for votes in sheet.votes.values() for key in _BLOCKS.values() for judge in votes[key]}


def _vote_of(record: Record) -> tuple[dict[str, Any], dict[str, Any]]:
    values = record.answer.values
    ratings = {key: values[key] for key in RATINGS if values.get(key) is not None}
    return ratings, dict(values.get("draft_binary_assessment") or {})


def _strategy(data: Mapping[str, Any]) -> PanasStrategy:
    """How a result asked for the mood afterwards, which judges never see; needed to know its calls again."""
    parameters = data.get("parameters")
    stated = parameters.get("panas_strategy") if isinstance(parameters, dict) else None
    return cast(PanasStrategy, stated) if stated in get_args(PanasStrategy) else "absolute"


def _bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ValueError(f"it is larger than {MAX_BYTES // 1024 // 1024} MB, which is no file of this format")
        return path.read_bytes()
    except OSError as error:
        raise ValueError(f"it cannot be read ({error.strerror or error})") from None


def _parsed(raw: bytes) -> Any:
    try:
        return parse_json(raw, lenient=True)
    except ValueError as error:
        raise ValueError(f"it {error}" if str(error).startswith("holds") else f"it is {error}") from None
