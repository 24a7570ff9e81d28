"""Judge the drafts of existing results, ours or others', and add the votes: a run whose work is `VoteWork`. Owns which
files are judged, which are left and why, and what new votes change in a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, get_args

from attunebench import eventloop
from attunebench._version import __version__
from attunebench.codebook import Codebook
from attunebench.conversations.schema import Conversation
from attunebench.errors import AttuneBenchError, DataError, UsageError
from attunebench.journal import claim
from attunebench.jsonfile import parse_json
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import RATINGS, Call, PanasStrategy
from attunebench.protocol.modes import MODES
from attunebench.protocol.plan import with_draft
from attunebench.results.folder import Findings, find_duplicates, read_content, result_files
from attunebench.results.parsing import parse_result, stamp_of
from attunebench.results.schema import Vote, judge_calls_key, now
from attunebench.results.votes import check_editable, drafts_of, judges_of, vote_of, votes_in, with_votes
from attunebench.runner.events import Observer, RunSummary
from attunebench.runner.files import identity_of, prepare_folder
from attunebench.runner.fingerprint import calls_sha256, settled
from attunebench.runner.job import Job, Known, Rules
from attunebench.runner.live import Live
from attunebench.runner.order import order_words, stratified_order
from attunebench.runner.pricing import Estimate, estimate_work
from attunebench.runner.run import Run
from attunebench.runner.settings import RESULTS, ModelSettings, RunSettings
from attunebench.runner.work import BENCHMARK, Work, with_scores


@dataclass(slots=True)
class RejudgeSummary:
    """How judging again ended. `run`: counts of a run whose jobs are result files. `added` counts votes where there was
    none, `replaced` those in place of an older one, of which `changed` say something else; `kept` older ones whose
    judge had no usable answer. `left`: file → why it was left. `without_draft`, `other_turns`: file → its turns without
    a draft, and those that the conversation does not have. `foreign`: results that also hold votes of other, or
    unknown, judge prompts."""

    run: RunSummary
    added: int = 0
    replaced: int = 0
    changed: int = 0
    kept: int = 0
    left: dict[str, str] = field(default_factory=dict)
    without_draft: dict[str, tuple[int, ...]] = field(default_factory=dict)
    other_turns: dict[str, tuple[int, ...]] = field(default_factory=dict)
    foreign: int = 0


def rejudge_settings(results: str | Path, judges: Sequence[ModelSettings], **values: Any) -> RunSettings:
    """The settings of a run into `results` in which only the judges are called; `values` are those of `RunSettings`.
    Raises pydantic's ValidationError, and UsageError for a judge that is named twice."""
    drafts = ModelSettings(provider=RESULTS, model="drafts")
    return RunSettings(em=drafts, judges=tuple(judges), output=Path(results), **values)


def rejudge_results(
    conversations: Sequence[Conversation],
    settings: RunSettings,
    codebook: Codebook,
    *,
    models: Sequence[str] = (),
    modes: Sequence[str] = (),
    observer: Observer | None = None,
    interruptible: bool = False,
) -> RejudgeSummary:
    """Have the judges of `rejudge_settings` rate the drafts of the results under `settings.output`; add their votes.

    Existing votes stay, unless `settings.replace`. `models` (by name or provider/model) and `modes` narrow. Raises
    UsageError, DataError (no results, or another process works on them) and ConfigurationError (a judge that cannot be
    called); what is written by then stays."""
    observer = observer or Observer()
    if not settings.judges:
        raise UsageError("No judge is named; give at least one with --judge-model.")
    settings = settled(settings, observer.warned, within=True)
    live = Live(settings, observer, interruptible=interruptible)
    work = VoteWork(conversations, settings, codebook, models, modes)
    work.summary.run = eventloop.run(Run(work, settings, codebook, observer).by(live))
    return work.summary


def estimate_rejudge(
    conversations: Sequence[Conversation], settings: RunSettings, codebook: Codebook, **narrow: Sequence[str]
) -> Estimate:
    """The votes that would be requested, including those that the journal has; `narrow` as for `rejudge_results`.
    Raises what that would raise before it sends anything."""
    notes: list[str] = []
    settings = settled(settings, notes.append, within=True)
    return estimate_work(VoteWork(conversations, settings, codebook, **narrow), notes)


class Candidate(NamedTuple):
    """A selected result file; `run` is what a run of it would hold: provider, model, mode."""

    path: Path
    name: str
    conversation_id: str
    run: tuple[str, str, str]

    @property
    def models(self) -> set[str]:
        """The names by which a user may select it."""
        provider, model, _ = self.run
        return {model.casefold(), f"{provider}/{model}".casefold()}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A result file as it is judged. `calls` have their drafts; `votes`: call id → the vote that is there; `due`: those
    of the calls that are to be made; `judge_calls_sha256`: of one judge's, as planned."""

    content: Mapping[str, Any]
    conversation: Conversation
    calls: Sequence[Call]
    votes: Mapping[str, Vote | None]
    due: Sequence[Call]
    judge_calls_sha256: str | None


class VoteWork(Work):
    """The votes of `settings.judges` on the drafts under `settings.output`; a job is one result file. `differing`:
    scale → existing votes of these judges on it. Raises UsageError for a model that no result has, DataError without
    any result."""

    def __init__(
        self,
        conversations: Sequence[Conversation],
        settings: RunSettings,
        codebook: Codebook,
        models: Sequence[str] = (),
        modes: Sequence[str] = (),
    ) -> None:
        super().__init__()
        self.summary = RejudgeSummary(RunSummary(settings.output))
        self._settings, self._codebook = settings, codebook
        self._judges = tuple(judge.model for judge in settings.judges)
        self._conversations = {conversation.conversation_id: conversation for conversation in conversations}
        parameters = {name: value for name, value in settings.parameters.items() if name != "panas_strategy"}
        self._how = {
            "attunebench_version": __version__,
            "judge_providers": {judge.model: judge.provider for judge in settings.judges},
            "parameters": {**parameters, "judge_scale": settings.scale},
            "prompt_set_sha256": prompt_set_sha256(),
            "codebook_sha256": codebook.sha256,
        }
        candidates, self.summary.left = _candidates(settings.output, models, modes)
        # All results of one conversation before those of the next; `limit` counts conversations that have results.
        there = dict.fromkeys(each.conversation_id for each in candidates)
        ordered = [each.conversation_id for each in stratified_order(conversations, settings.order_seed)]
        known = [name for name in ordered if name in there]
        chosen = known[: settings.limit]
        self.order = order_words(len(chosen), len(known), settings.order_seed)
        unknown = (name for name in there if name not in self._conversations)
        places = {name: place for place, name in enumerate([*chosen, *unknown])}
        candidates = [each for each in candidates if each.conversation_id in places]
        self._candidates = sorted(candidates, key=lambda each: places[each.conversation_id])

    def enter(self, stack: ExitStack) -> None:
        prepare_folder(self._settings.output)
        for place, (provider, model, mode) in sorted({(each.path.parent, each.run) for each in self._candidates}):
            stack.enter_context(claim(place, provider, model, [mode]))

    def survey(self) -> Iterator[tuple[Sequence[Call], bool]]:
        settings, judges = self._settings, ", ".join(self._judges)
        n_votes, rescaled = 0, Counter[str]()
        for candidate in self._candidates:
            if (sheet := self._sheet(candidate)) is None:
                continue
            others = {name: vote.scale for name, vote in sheet.votes.items() if vote and vote.scale != settings.scale}
            rescaled.update(others.values())
            if others and not settings.replace:
                yield [call for call in sheet.calls if call.id in others], False
            if sheet.due or not set(self._judges) <= set(judges_of(sheet.content)):
                self.todos[candidate.conversation_id, candidate.run[2], candidate.name] = candidate
                n_votes += len(sheet.due)
                yield sheet.due, True
            else:
                self.complete += 1
        if settings.replace:
            self.notes = [f"{n:,} of these votes replace votes on the {scale} scale." for scale, n in rescaled.items()]
        else:
            self.differing = rescaled
        asked = "1 vote" if n_votes == 1 else f"{n_votes:,} votes"
        results = "1 result" if len(self.todos) == 1 else f"{len(self.todos):,} results"
        self.headline = (
            f"{asked} of {judges} pending on the drafts of {results} in {settings.output} ({self.order}); "
            f"{self.complete} complete"
        )

    def check(self, details: str = "") -> None:
        if self.differing:
            there = " and ".join(sorted(self.differing))
            raise DataError(
                f"{self._settings.output} holds {self.differing.total():,} votes of {', '.join(self._judges)} on the "
                f"{there} scale. {details} --replace replaces them by votes on the {self._settings.scale} scale, and "
                f"--judge-scale {there} keeps them."
            )

    def jobs(self, rules: Rules, known: Known | None) -> Iterator[Job]:
        for key, candidate in tuple(self.todos.items()):
            if (sheet := self._sheet(candidate)) is None:
                del self.todos[key]
                continue
            content = partial(self._content, candidate, sheet)
            yield Job(key, sheet.due, rules, known=known, assemble=content, context=sheet.conversation)

    def place(self, job: Job) -> Path:
        path: Path = self.todos[job.key].path
        return path

    def _sheet(self, candidate: Candidate) -> Sheet | None:
        """The file as it is now, or None (and noted) where it is left as it is."""
        settings, mode, summary = self._settings, candidate.run[2], self.summary
        try:
            content = parse_json(candidate.path.read_bytes())  # strictly: nothing of it (NaN, say) may be lost
            if not isinstance(content, dict):
                raise ValueError("it contains no results")
            if (conversation := self._conversations.get(candidate.conversation_id)) is None:
                raise ValueError("its conversation is missing")
            measured = parse_result(content, candidate.name).measured
            check_editable(content)
            if mode not in MODES:
                raise ValueError(f"its mode {mode!r} is not one of {', '.join(MODES)}")
            if "draft" not in measured:
                raise ValueError("it contains no drafts")
            stamp = stamp_of(content)
            strategy = stamp.parameters.get("panas_strategy")  # which judges never see
            if strategy in get_args(PanasStrategy):
                settings = settings.model_copy(update={"panas_strategy": strategy})
            plan = BENCHMARK.plan(conversation, mode, self._codebook, settings)
            same = (stamp.prompt_set_sha256, stamp.codebook_sha256) == (prompt_set_sha256(), self._codebook.sha256)
            own = calls_sha256(call for call in plan if call.judge is None)
            if same and stamp.calls_sha256 not in (None, own):
                raise ValueError("it was made from different conversation texts")
        except (ValueError, OSError, AttuneBenchError) as reason:
            summary.left[candidate.name] = str(reason).rstrip(".")
            return None
        drafts, there, planned = drafts_of(content), votes_in(content), {turn.number for turn in conversation.turns}
        if missing := tuple(sorted(planned - drafts.keys())):
            summary.without_draft[candidate.name] = missing
        if others := tuple(sorted(there.keys() - planned)):
            summary.other_turns[candidate.name] = others
        calls = [call for call in plan if call.judge is not None]
        digest = calls_sha256(call for call in calls if call.judge == 0) if calls else None
        whole = [replace(with_draft(call, drafts[call.turn]), needs=None) for call in calls if call.turn in drafts]
        votes = {call.id: there[call.turn].get(self._judges[call.judge or 0]) for call in whole}
        due = [call for call in whole if self._is_due(call, votes[call.id])]
        return Sheet(content, conversation, whole, votes, due, digest)

    def _is_due(self, call: Call, vote: Vote | None) -> bool:
        """Whether the vote is missing, to be replaced, or lacks answers that are to be asked for again."""
        if vote is None or self._settings.replace:
            return True
        wanted = {*(RATINGS if call.asked.rated else ()), *call.asked.questions}
        return self._settings.retry_unanswered and not wanted <= {*vote.ratings, *vote.answers}

    def _content(self, candidate: Candidate, sheet: Sheet, job: Job) -> dict[str, Any] | None:
        """The file with the job's votes; None where nothing changes. An empty answer never replaces an older vote, and
        an answer that was paid for before, and is the vote already, is not counted as spent again."""
        summary, scale = self.summary, self._settings.scale
        pairs = [(record, sheet.votes[record.call.id], vote_of(record)) for record in job.records.values()]
        new = [record for record, before, vote in pairs if before != vote or record.call.id in job.fetched]
        content = with_votes(sheet.content, new, self._judges, spare=True)
        changes = (job.records or not job.calls) and content != sheet.content
        if changes and read_content(candidate.path, candidate.name) != sheet.content:
            changed = "it was changed while its drafts were judged; rerun the command to add the votes"
            summary.left[candidate.name] = changed
            return None
        replaced = anew = 0
        for _, before, vote in pairs:
            if before is None:
                summary.added += 1
            elif before and not vote:
                summary.kept += 1
            else:
                replaced, anew = replaced + 1, anew + (before.scale == scale)
                summary.changed += (before.ratings, before.answers) != (vote.ratings, vote.answers)
        summary.replaced += replaced
        if not changes:
            return None
        key, digest = judge_calls_key(scale), sheet.judge_calls_sha256
        if digest is not None and sheet.content.get(key) != digest:
            alike = sum(vote.scale == scale for votes in votes_in(sheet.content).values() for vote in votes.values())
            if alike == anew:  # no vote is left from other judge calls
                content[key] = digest
            else:
                summary.foreign += 1
        note = {"timestamp": now(), **self._how, "votes": len(job.records), "replaced": replaced}
        earlier = content.get("rejudged")
        content["rejudged"] = [*(earlier if isinstance(earlier, list) else ()), note]
        return with_scores(content, sheet.conversation)


def _candidates(folder: Path, models: Sequence[str], modes: Sequence[str]) -> tuple[list[Candidate], dict[str, str]]:
    """The result files under the folder, of these models and modes where some are named; and file → why it is left."""
    findings = Findings()
    found: dict[str, Candidate] = {}
    keys = []
    for path, name in result_files(folder, findings):
        content = read_content(path, name)
        if not isinstance(content, dict):
            findings.add(content)
        elif (identity := identity_of(content)) is not None:
            epoch = content.get("epoch")
            keys.append(((*identity, epoch if isinstance(epoch, int) else None), name))
            found[name] = Candidate(path, name, identity[0], identity[1:])
    if not found:
        raise DataError(f"There is no result in {folder}; name the folder that `attune-bench run` wrote to.")
    wanted = {model.strip().casefold(): model for model in models}
    for spelling, model in wanted.items():
        if not any(spelling in each.models for each in found.values()):
            there = ", ".join(dict.fromkeys(each.run[1] for each in found.values()))
            raise UsageError(f"There is no result of a model {model}; there is {there}.")
    left = {each.file: f"it {each.reason}" for each in findings.unreadable}
    for duplicate in find_duplicates(iter(keys)):
        others = ", ".join(duplicate.files)
        left.update(dict.fromkeys(duplicate.files, f"the same result exists more than once ({others})"))
    chosen = [each for name, each in found.items() if name not in left and (each.models & wanted.keys() or not models)]
    return [each for each in chosen if not modes or each.run[2] in modes], left
