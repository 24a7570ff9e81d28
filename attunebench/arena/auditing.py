"""Makes a judge audit: its arena, the judges' verdicts or ratings, and audit.json (spec 10.4). What is computed of them
is in `audit`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

from pydantic import Field

from attunebench._version import __version__
from attunebench.analyses.table import Analysis
from attunebench.arena.asking import VerdictWork
from attunebench.arena.audit import GENERAL, Audit, audit_analysis, choices_of, pairs_of
from attunebench.arena.ceiling import ceiling
from attunebench.arena.folder import (
    Arena,
    add_histories,
    add_pairs,
    add_replies,
    lines_file,
    note_step,
    read_arena,
    read_lines,
    write_lines,
)
from attunebench.arena.histories import histories_of
from attunebench.arena.objects import Line, Name, Outcome, Verdict
from attunebench.arena.replies import candidates_of
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.work import ArenaWork, Key, Planned
from attunebench.codebook import Codebook
from attunebench.coerce import block
from attunebench.conversations.schema import Conversation
from attunebench.errors import DataError
from attunebench.files import atomic_write
from attunebench.judging import UNNAMED_SCALE
from attunebench.prompts import prompt_set_sha256
from attunebench.protocol.calls import Call, Record
from attunebench.protocol.plan import plan_conversation, with_draft
from attunebench.reports.analyses import render
from attunebench.results.votes import vote_of
from attunebench.runner.fingerprint import settled
from attunebench.runner.order import stratified_order
from attunebench.runner.rejudge import rejudge_settings
from attunebench.runner.settings import ModelSettings, RunSettings
from attunebench.scores.audits import FILE, SCHEMA_VERSION, AuditTask, JudgeAudit

PARTICIPANT = "participant"
PEOPLE_AGREE = 0.722
"""How often the best annotator of the published study agrees with participants: what the ceiling is computed from."""
_FAR = 2.0
"""Ratings that lie so far apart are a strong preference."""


class Rating(Line):
    """A judge's ratings of one reply of a turn, 1–7, by the prompt of the draft judge."""

    history: Name
    author: Name
    rater: Name
    ratings: Mapping[str, float] = Field(default_factory=dict)
    outcome: Outcome = "answered"
    seconds: float | None = None


def make_arena(folder: Path, conversations: Sequence[Conversation], task: AuditTask, *, every: bool = False) -> None:
    """The arena of an audit: turns, their replies, and the pairs between which the participant chose, in the general
    question or, with `every`, in any. What is there stays. Raises DataError where the folder has other texts, or nobody
    chose."""
    choices = choices_of(conversations)
    wanted = {one.pair for one in choices if every or one.question == GENERAL}
    pairs = {id: pair for talk in conversations for turn in talk.turns for id, pair in pairs_of(talk, turn).items()}
    chosen = [pair for id, pair in pairs.items() if id in wanted]
    if not chosen:
        raise DataError("No participant chose between two replies in these conversations, so no judge can be audited.")
    turns = {pair.history for pair in chosen}
    add_histories(folder, (one for one in histories_of(conversations) if one.id in turns))
    add_replies(folder, "candidates", (one for one in candidates_of(conversations) if one.history in turns))
    add_pairs(folder, chosen)
    note_step(folder, {"command": "judge-audit", "task": task})


def audit_settings(results: Path, judges: Sequence[ModelSettings], **values: Any) -> RunSettings:
    """The settings of an audit. The scale of ratings is that of the votes in `results`, unless `values` name one.

    Raises as `rejudge_settings`."""
    settings = settled(rejudge_settings(results, judges, **values), lambda _: None, within=True)
    return settings.model_copy(update={"judge_scale": settings.scale})


def sampled(conversations: Sequence[Conversation], settings: RunSettings) -> list[Conversation]:
    """The conversations that are audited: the beginning of the order in which a run takes them."""
    return list(stratified_order(conversations, settings.order_seed)[: settings.limit])


def audit_work(
    folder: Path, conversations: Sequence[Conversation], settings: RunSettings, codebook: Codebook, task: AuditTask
) -> ArenaWork:
    """What the judges of `settings` are to be asked about the turns of these conversations in the arena in the folder,
    for `ask_work`. Raises DataError."""
    settings = settings.model_copy(update={"limit": None})  # which was one of conversations
    if task == "rating":
        return RatingWork(folder, settings, conversations, codebook)
    settings = settings.model_copy(update={"judge_scale": UNNAMED_SCALE})
    turns = {f"{talk.conversation_id}/{turn.number}" for talk in conversations for turn in talk.turns}
    return VerdictWork(folder, settings, own_family=True, only=turns)


class RatingWork(ArenaWork):
    """The judges' ratings of every reply in an arena of turns, each by the very call that rates a draft."""

    kind, part = Rating, "ratings"

    def __init__(
        self, folder: Path, settings: RunSettings, conversations: Sequence[Conversation], codebook: Codebook
    ) -> None:
        turns = {
            f"{talk.conversation_id}/{turn.number}": (talk, turn.number)
            for talk in conversations
            for turn in talk.turns
        }
        super().__init__(folder, settings, {judge.model: judge for judge in settings.judges}, turns.keys())
        scale = "judging/quality" if settings.scale == "quality" else "judge"
        self.templates = (scale, "judge_system", "reask", "transcript", "turn")
        self._codebook = codebook
        self._turns = {name: turn for name, turn in turns.items() if name in self.histories}
        self._authors: dict[str, list[str]] = {}
        for history, author in self.arena.replies:
            self._authors.setdefault(history, []).append(author)
        self._planned: tuple[str, dict[int, Call]] = ("", {})

    def keys(self) -> Iterator[Key]:
        return ((name, "ratings") for name in self._turns)

    def plan(self, key: Key) -> list[Planned]:
        history, planned = key[0], list[Planned]()
        if (asked := self._call(*self._turns[history])) is None:
            return []
        for author in self._authors.get(history, ()):
            whole = replace(with_draft(asked, self.arena.replies[history, author].text), needs=None)
            for place, name in enumerate(self.models):
                call = replace(whole, id=f"{asked.identity}/{author}/{place}", judge=place)
                planned.append(Planned(name, (history, author), call, None, {"scale": self.settings.scale}))
        return planned

    def key(self, line: Rating) -> Key:
        return line.history, line.author

    def line(self, planned: Planned, record: Record, made: Mapping[str, Any]) -> Rating:
        history, author = planned.key
        ratings, outcome = vote_of(record).ratings, record.answer.outcome
        return Rating(history=history, author=author, rater=planned.name, ratings=ratings, outcome=outcome, **made)

    def noted(self, name: str, lines: Iterable[Any]) -> dict[str, Any]:
        return {"judge_scale": self.settings.scale, "benchmark_prompt_set_sha256": prompt_set_sha256()}

    def _call(self, talk: Conversation, number: int) -> Call | None:
        """The draft judge's call of a turn without its draft; None where the turn takes none."""
        if self._planned[0] != talk.conversation_id:
            calls = plan_conversation(talk, "default", self._codebook, judges=1, judge_scale=self.settings.scale)
            judging = {call.turn: call for call in calls if call.kind == "judge" and call.asked.rated}
            self._planned = talk.conversation_id, judging
        return self._planned[1].get(number)


def rated_verdicts(arena: Arena, ratings: Sequence[Rating]) -> Iterator[Verdict]:
    """The preferences that ratings come to: their difference, each the mean of a reply's dimensions as in draft scores.

    A pair with one rating has no preference; one that is not rated at all is none of them."""
    rated = {(one.history, one.author, one.rater): one for one in ratings}
    for pair in arena.pairs.values():
        for rater in dict.fromkeys(one.rater for one in ratings):
            two = [one for author in (pair.left, pair.right) if (one := rated.get((pair.history, author, rater)))]
            if len(two) < 2:
                continue
            means = [fmean(given) if (given := [*one.ratings.values()]) else None for one in two]
            said: dict[str, Any] = {"ratings": means, "preference": None}
            if means[0] is None or means[1] is None:
                said["outcome"] = next(one.outcome for one in two if not one.ratings)
            elif difference := means[0] - means[1]:
                said["preference"] = (1 if difference > 0 else -1) * (2 if abs(difference) >= _FAR else 1)
            else:
                said["preference"] = 0
            yield Verdict(pair=pair.id, rater=rater, rater_kind="judge", **said)


def make_audit(
    folder: Path,
    conversations: Sequence[Conversation],
    task: AuditTask,
    settings: ArenaSettings,
    *,
    every: bool = False,
) -> Analysis:
    """Compute the audit of what judges have said in the arena, and write audit.json into its folder, and beside the
    judges' verdicts the participants' own.

    Raises Missing where no judge has said anything, DataError for an arena that cannot be read."""
    arena = read_arena(folder)
    for path in sorted(folder.glob("ratings/*.jsonl")) if task == "rating" else ():
        ratings = read_lines(path, Rating)
        for rater in dict.fromkeys(one.rater for one in ratings):
            own = [one for one in ratings if one.rater == rater]
            write_lines(lines_file(folder, "verdicts", rater), rated_verdicts(arena, own))
    own_choices = (
        Verdict(pair=one.pair, rater=PARTICIPANT, rater_kind="human", preference=one.chosen)
        for one in choices_of(conversations)
        if one.question == GENERAL and one.pair in arena.pairs
    )
    write_lines(lines_file(folder, "verdicts", PARTICIPANT), own_choices)
    arena = read_arena(folder)
    audit = Audit(conversations, arena, settings, every=every)
    analysis = audit_analysis(audit, task, ceiling(PEOPLE_AGREE, {1: 1.0}))
    analysis = replace(analysis, warnings=(*analysis.warnings, *arena.problems))
    judges = [_entry(audit, judge, task, arena.made) for judge in audit.judges]
    content = {
        "schema_version": SCHEMA_VERSION,
        "judges": [one.model_dump(mode="json") for one in judges],
        "settings": {"questions": "all" if every else GENERAL, "seed": settings.seed, "resamples": settings.resamples},
        "analyses": json.loads(render([analysis], "json"))["analyses"],
    }
    with atomic_write(folder / FILE) as file:
        file.write(json.dumps(content, ensure_ascii=False, indent=1).encode() + b"\n")
    return analysis


def _entry(audit: Audit, judge: str, task: AuditTask, made: Mapping[str, Any]) -> JudgeAudit:
    """What audit.json says of a judge: how far it agrees, and by which prompt."""
    how = block(block(made.get("ratings" if task == "rating" else "verdicts")).get(judge))
    score, (rule, to_beat) = audit.scores[judge], audit.bar(judge)
    values = (score.agreement.value, score.agreement.low, score.agreement.high, score.kappa.value)
    agreement, low, high, kappa = (None if value != value else value for value in values)
    return JudgeAudit(
        judge=judge,
        provider=how.get("provider", ""),
        task=task,
        scale=how.get("judge_scale"),
        agreement=agreement,
        low=low,
        high=high,
        kappa=kappa,
        n=score.n,
        conversations=score.agreement.clusters,
        rule=rule,
        rule_agreement=to_beat,
        passed=audit.passed(judge),
        prompt_sha256=how.get("prompt_set_sha256", ""),
        prompt_set_sha256=how.get("benchmark_prompt_set_sha256", ""),
        attunebench_version=how.get("attunebench_version", __version__),
    )
