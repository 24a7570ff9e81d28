"""A result file as a judge's sheet: its drafts, the votes on them, which are due, and what new ones change in the file.

Pure. Takes results of this package and of others, which name one judge or none and number their turns as they like.
Owns which keys of a file votes may touch; refuses to know who is asked, and where files lie.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import NoneType
from typing import Any

from attunebench.judging import BINARY_BY_JUDGE, SCALE_BY_JUDGE, SCORES_BY_JUDGE, JudgeScale, scale_of
from attunebench.protocol.assemble import add_votes
from attunebench.protocol.calls import RATINGS, Call, Record
from attunebench.results.parsing import UNNAMED_JUDGE, parse_result
from attunebench.results.schema import Result
from attunebench.runner.splice import Path

SCORES, BINARY = "em_draft_judge_scores", "em_draft_binary_assessment"
BY_MODEL = {SCORES: SCORES_BY_JUDGE, BINARY: BINARY_BY_JUDGE}
DRAFT = "em_drafted_response"


@dataclass(frozen=True, slots=True)
class Sheet:
    """What judges need of a result file.

    `drafts`: turn → its draft; `votes`: turn → key of `BY_MODEL` → judge → its entry, those of an unnamed or single
    judge among them; `scales`: turn → judge → the scale that its vote names. `judges`: those that the file names, else
    those that voted, in its order. `recorded`: whether the file holds drafts at all, so that one that is missing was
    not given.
    """

    data: Mapping[str, Any]
    result: Result
    drafts: Mapping[int, str]
    votes: Mapping[int, Mapping[str, Mapping[str, Any]]]
    scales: Mapping[int, Mapping[str, Any]]
    judges: tuple[str, ...]
    recorded: bool

    def vote(self, judge: str, turn: int) -> tuple[Any, Any] | None:
        """A judge's ratings and yes/no answers in a turn; None where it has not voted, empty where it said nothing."""
        blocks = self.votes.get(turn, {})
        entries = tuple(blocks[key].get(judge) for key in BY_MODEL) if blocks else (None, None)
        return None if entries == (None, None) else (entries[0] or {}, entries[1] or {})

    def scale(self, judge: str, turn: int) -> JudgeScale | None:
        """The scale of a judge's vote in a turn; None where it has not voted."""
        return None if self.vote(judge, turn) is None else scale_of(self.scales[turn].get(judge))

    @property
    def voters(self) -> set[str]:
        """The judges with an entry in any turn."""
        return {judge for blocks in self.votes.values() for entries in blocks.values() for judge in entries}


def sheet_of(data: Mapping[str, Any], source_file: str = "") -> Sheet:
    """The sheet of a result; ValueError says in a clause why votes cannot be added to it."""
    result = parse_result(data, source_file)
    named = data.get("judge_models")
    if not _is_whole(data):
        raise ValueError("its votes are not as this format has them")
    turns = dict(zip((turn.number for turn in result.turns), data["turns"], strict=True))
    single = str(named[0]) if named else UNNAMED_JUDGE
    votes = {number: {key: _entries(turn, key, single) for key in BY_MODEL} for number, turn in turns.items()}
    voted = [judge for blocks in votes.values() for entries in blocks.values() for judge in entries]
    return Sheet(
        data=data,
        result=result,
        drafts={turn.number: turns[turn.number][DRAFT] for turn in result.turns if turn.draft is not None},
        votes=votes,
        scales={number: turn.get(SCALE_BY_JUDGE) or {} for number, turn in turns.items()},
        judges=tuple(dict.fromkeys(named or voted)),
        recorded=DRAFT in result.measured,
    )


def _is_whole(data: Mapping[str, Any]) -> bool:
    judges, usage = data.get("judge_models"), data.get("judge_usage")
    blocks = [turn.get(key) for turn in data["turns"] for key in (*BY_MODEL, *BY_MODEL.values(), SCALE_BY_JUDGE)]
    return (
        (judges is None or (isinstance(judges, list) and all(isinstance(judge, str) for judge in judges)))
        and (usage is None or (isinstance(usage, dict) and all(type(n) in (int, NoneType) for n in usage.values())))
        and type(data.get("judge_api_cost")) in (int, float, NoneType)
        and all(block is None or isinstance(block, dict) for block in blocks)
        and all(entry is None or isinstance(entry, dict) for turn in data["turns"] for entry in _all_entries(turn))
    )


def _all_entries(turn: Mapping[str, Any]) -> list[Any]:
    return [entry for key in BY_MODEL.values() for entry in (turn.get(key) or {}).values()]


def _entries(turn: Mapping[str, Any], key: str, single: str) -> Mapping[str, Any]:
    """Judge → entry; where no judge's entry says anything, the field of the single judge counts, as for the scorer."""
    entries = dict(turn.get(BY_MODEL[key]) or {})
    if not any(entries.values()) and turn.get(key):
        entries[single] = turn[key]
    return entries


def due_votes(
    sheet: Sheet, calls: Iterable[Call], judges: Sequence[str], *, replace: bool = False, retry: bool = False
) -> list[Call]:
    """Of the planned judge calls those to make: on a draft that is there, without a vote of that judge.

    `replace`: also where there is one. `retry`: also where it lacks something that was asked.
    """
    due = []
    for call in calls:
        if call.judge is None or call.turn not in sheet.drafts:
            continue
        vote = sheet.vote(judges[call.judge], call.turn)
        if vote is None or replace or (retry and _lacks(vote, call)):
            due.append(call)
    return due


def _lacks(vote: tuple[Any, Any], call: Call) -> bool:
    ratings, answers = vote
    wanted = RATINGS if call.asked.rated else ()
    return any(ratings.get(name) is None for name in wanted) or any(
        answers.get(question) is None for question in call.asked.questions
    )


@dataclass(frozen=True, slots=True)
class Marked:
    """What new votes come to. `changes`: object in the file → key → value, for `splice`; nothing where all stays.

    `data` is the result with them. `added` counts votes where there was none, `replaced` those in place of an older
    one, of which `changed` say something else and `rescaled` replace one on another scale; `kept` older ones stay since
    the new answer could not be used.
    """

    changes: Mapping[Path, Mapping[str, Any]]
    data: Mapping[str, Any]
    added: int = 0
    replaced: int = 0
    changed: int = 0
    rescaled: int = 0
    kept: int = 0


def marked(
    sheet: Sheet, records: Iterable[Record], judges: Sequence[str], free: frozenset[str] = frozenset()
) -> Marked:
    """The sheet with these records' votes; `judges` names them by judge index.

    A new answer that says nothing takes the place of no older vote. `free`: ids of calls whose answer was paid for
    before; where such a vote is the one that stands already, it is not counted as spent again.
    """
    taken: list[Record] = []
    spent: list[Record] = []
    replaced = changed = rescaled = kept = 0
    for record in records:
        judge = judges[record.call.judge or 0]
        before, now = sheet.vote(judge, record.call.turn), _vote_of(record)
        other = before is not None and sheet.scale(judge, record.call.turn) != record.call.asked.scale
        same = before == now and not other
        if not (same and record.call.id in free):
            spent.append(record)
        if before is None:
            taken.append(record)
        elif not any(now) and any(before):
            kept += 1
        else:
            replaced, changed, rescaled = replaced + 1, changed + (not same), rescaled + other
            taken += [] if same else [record]
    whole = _with_spending(sheet, taken, spent, judges)
    changes = _changes(sheet, whole, {(record.call.turn, judges[record.call.judge or 0]) for record in taken})
    data = applied(sheet.data, changes)
    added = len(taken) - changed
    return Marked(changes, data, added, replaced=replaced, changed=changed, rescaled=rescaled, kept=kept)


def _vote_of(record: Record) -> tuple[dict[str, Any], dict[str, Any]]:
    values = record.answer.values
    ratings = {key: values[key] for key in RATINGS if values.get(key) is not None}
    return ratings, dict(values.get("draft_binary_assessment") or {})


def _with_spending(
    sheet: Sheet, taken: Sequence[Record], spent: Sequence[Record], judges: Sequence[str]
) -> dict[str, Any]:
    """The result with the new votes and with what all answers took, in the shape that `assemble` gives it."""
    turns = [
        {**turn, "turnNumber": number, **{BY_MODEL[key]: entries for key, entries in sheet.votes[number].items()}}
        for number, turn in zip(sheet.votes, sheet.data["turns"], strict=True)
    ]
    named = {**sheet.data, "turns": turns, "judge_models": list(sheet.judges)}
    money = {key: value for key, value in add_votes(named, spent, judges).items() if key.startswith("judge_")}
    return {**add_votes(named, taken, judges), **money}


def _changes(sheet: Sheet, whole: Mapping[str, Any], taken: set[tuple[int, str]]) -> dict[Path, dict[str, Any]]:
    """The keys that are to change: those of the turns with a new vote, and what the file says of its judges.

    The fields of a single judge hold the file's first judge, and change where that one voted anew.
    """
    first = whole["judge_models"][0] if whole["judge_models"] else ""
    changes: dict[Path, dict[str, Any]] = {}
    for place, (number, old, new) in enumerate(zip(sheet.votes, sheet.data["turns"], whole["turns"], strict=True)):
        voted = {judge for turn, judge in taken if turn == number}
        keys = [*BY_MODEL.values(), SCALE_BY_JUDGE, *(BY_MODEL if first in voted else ())] if voted else []
        values = {key: new[key] for key in sorted(keys) if key not in old or old[key] != new[key]}
        if values:
            changes["turns", place] = values
    top = {key: whole[key] for key in ("judge_models", "judge_usage", "judge_api_cost") if key in whole}
    top = {key: value for key, value in top.items() if key not in sheet.data or sheet.data[key] != value}
    if top:
        changes[()] = top
    return changes


def applied(data: Mapping[str, Any], changes: Mapping[Path, Mapping[str, Any]]) -> dict[str, Any]:
    """The result with these changes, as it reads once they are in its file."""
    turns = [{**turn, **changes.get(("turns", place), {})} for place, turn in enumerate(data["turns"])]
    return {**data, "turns": turns, **changes.get((), {})}
