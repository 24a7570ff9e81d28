"""The votes of judges in a result file: which are missing, new ones put in, old ones kept. `content` is a file's JSON,
of this package or of others, which name one judge or none. Ratings on two scales are never averaged, so a vote keeps
its scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import NoneType
from typing import Any

from attunebench import coerce
from attunebench.judging import JUDGE_SCALE, UNNAMED_SCALE, JudgeScale
from attunebench.protocol.calls import RATINGS, Record, Usage
from attunebench.results.parsing import stamp_of, turn_numbers, vote_blocks, votes_of
from attunebench.results.schema import BY_JUDGE, DRAFT, UNNAMED_JUDGE, VOTE_KEYS, Result, ResultTurn, Stamp, Vote


@dataclass(frozen=True, slots=True)
class View:
    """What a later run has to know of a result, so that a folder of them is held without their texts. `drafted`: turns
    with a draft; `voted`: judge → turn with a vote → its scale. `whole` is False for a file that somebody has edited
    into a shape that votes cannot be added to. `answered`: whether every item was."""

    stamp: Stamp
    drafted: frozenset[int]
    voted: Mapping[str, Mapping[int, JudgeScale]]
    whole: bool
    answered: bool


def check_editable(content: Mapping[str, Any]) -> None:
    """Raise ValueError, with a clause, for a file that somebody edited into a shape that no vote can be added to."""
    turns = [turn for _, turn in _numbered(content)]
    judges, usage = content.get("judge_models") or [], content.get("judge_usage") or {}
    blocks = [turn.get(key) for turn in turns for key in VOTE_KEYS]
    entries = [entry for turn in turns for key in BY_JUDGE.values() for entry in coerce.block(turn.get(key)).values()]
    if not (
        isinstance(judges, list)
        and all(isinstance(judge, str) for judge in judges)
        and isinstance(usage, dict)
        and all(type(count) in (int, NoneType) for count in usage.values())
        and type(content.get("judge_api_cost")) in (int, float, NoneType)
        and all(block is None or isinstance(block, dict) for block in (*blocks, *entries))
    ):
        raise ValueError("its votes do not follow the format")
    if not all(isinstance(turn.get(DRAFT), (str, NoneType)) for turn in turns):
        raise ValueError("its drafts are not text")


def drafts_of(content: Mapping[str, Any]) -> dict[int, str]:
    """Turn → its draft, of the turns that have one. The file is editable."""
    return {number: turn[DRAFT] for number, turn in _numbered(content) if coerce.text(turn.get(DRAFT)) is not None}


def votes_in(content: Mapping[str, Any]) -> dict[int, dict[str, Vote]]:
    """Turn → judge → its vote, for every turn of the editable file."""
    return {number: votes_of(turn, _first_judge(content)) for number, turn in _numbered(content)}


def judges_of(content: Mapping[str, Any]) -> tuple[str, ...]:
    """The judges that an editable file names, else those that voted."""
    named = content.get("judge_models") or (judge for votes in votes_in(content).values() for judge in votes)
    return tuple(dict.fromkeys(named))


def view_of(content: Mapping[str, Any]) -> View:
    """The view of any result, whole or not."""
    try:
        check_editable(content)
        whole = turn_numbers(content["turns"])[1] or not content["turns"]
    except ValueError:
        whole = False
    voted: dict[str, dict[int, JudgeScale]] = {}
    for number, votes in votes_in(content).items() if whole else ():
        for judge, vote in votes.items():
            voted.setdefault(judge, {})[number] = vote.scale
    drafted = frozenset(drafts_of(content) if whole else ())
    counts = coerce.block(content.get("calls"))
    answered = counts.get("answered_items") == counts.get("expected_items")
    return View(stamp_of(content), drafted, voted, whole=whole, answered=answered)


def with_votes(
    content: Mapping[str, Any], records: Iterable[Record], judge_models: Sequence[str], *, spare: bool = False
) -> dict[str, Any]:
    """An editable result with the judges' votes among `records` put in, and what they cost. A vote without a usable
    word has empty entries and counts as cast; with `spare` it replaces no older one. `judge_models`: by judge index."""
    votes = [record for record in records if record.call.judge is not None]
    judges = list(dict.fromkeys((*judges_of(content), *judge_models)))
    by_turn: dict[int, dict[str, Record]] = {}
    for record in votes:
        by_turn.setdefault(record.call.turn, {})[judge_models[record.call.judge or 0]] = record
    single, turns = _first_judge(content), []
    for number, turn in _numbered(content):
        blocks, new = vote_blocks(turn, single), {}
        for judge, record in by_turn.get(number, {}).items():
            vote = vote_of(record)
            if vote or not (spare and any(blocks[key].get(judge) for key in BY_JUDGE.values())):
                new[judge] = vote
                for entries, entry in zip(blocks.values(), (vote.ratings, vote.answers, vote.scale), strict=True):
                    entries[judge] = entry
        firsts = _firsts(blocks, judges[0]) if judges and judges[0] in new else {}
        turns.append({**turn, **blocks, **firsts} if new else turn)
    changed = {**content, "judge_models": judges, "turns": turns}
    if not votes:
        return changed
    usage, cost = spent(votes)
    if there := content.get("judge_usage"):
        earlier = Usage(**{name: there.get(name) for name in Usage.__slots__})
        usage, paid = asdict(earlier + Usage(**usage)), content.get("judge_api_cost")
        cost = None if cost is None or paid is None else paid + cost
    return {**changed, "judge_usage": usage, "judge_api_cost": cost}


def kept_votes(before: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """A result made anew, with the votes that it lacks and the editable one before it has on the same draft."""
    judges = list(dict.fromkeys((*judges_of(before), *result["judge_models"])))
    earlier, turns = dict(_numbered(before)), []
    for turn in result["turns"]:
        old = earlier.get(turn["turnNumber"], {})
        kept = vote_blocks(old if old.get(DRAFT) == turn[DRAFT] else {}, _first_judge(before))
        blocks = {key: {**entries, **turn[key]} for key, entries in kept.items()}
        turns.append({**turn, **blocks, **_firsts(blocks, judges[0] if judges else "")})
    spent = {key: before[key] for key in ("judge_usage", "judge_api_cost") if key in before}
    return {**spent, **result, "judge_models": judges, "turns": turns}


def vote_of(record: Record) -> Vote:
    """The vote that a judge's answer is."""
    values = record.answer.values
    ratings = {key: values[key] for key in RATINGS if values.get(key) is not None}
    return Vote(ratings, dict(values.get("draft_binary_assessment") or {}), record.call.asked.scale)


def spent(records: Sequence[Record]) -> tuple[dict[str, int | None], float | None]:
    """(tokens by the names of `Usage`, USD) of calls; the latter None where a part is unknown."""
    usage = sum((record.usage for record in records), Usage())
    costs = [record.cost for record in records]
    known = [cost for cost in costs if cost is not None]
    return asdict(usage), sum(known) if known and len(known) == len(costs) else None


def _first_judge(content: Mapping[str, Any]) -> str:
    """The judge whose votes are in the fields of a single judge."""
    return next(iter(content.get("judge_models") or ()), UNNAMED_JUDGE)


def _firsts(blocks: Mapping[str, Mapping[str, Any]], first: str) -> dict[str, Any]:
    return {key: blocks[many].get(first, {}) for key, many in BY_JUDGE.items()}


def _numbered(content: Mapping[str, Any]) -> list[tuple[int, Mapping[str, Any]]]:
    """The turns with their numbers; ValueError where these are none."""
    return list(zip(turn_numbers(content.get("turns"))[0], content["turns"], strict=True))


def on_one_scale(result: Result, wanted: JudgeScale | None = None) -> Result:
    """The result with its votes on one scale, the wanted or else the default one; `judge_scales` tells whose."""
    voted = {(judge, vote.scale) for turn in result.turns for judge, vote in turn.votes.items() if vote}
    there = {scale for _, scale in voted}
    scale = wanted or (JUDGE_SCALE if JUDGE_SCALE in there else next(iter(there), None))
    kept = {judge for judge, named in voted if named == scale}
    # Where no vote is left there are no judges; one that has not voted anywhere stays beside those that have.
    dropped = {judge for judge, _ in voted} - kept if kept or not there else set(result.judges)
    first = result.judges[0] if result.judges else UNNAMED_JUDGE

    def only(turn: ResultTurn) -> ResultTurn:  # the fields of a single judge hold the first one's votes
        votes = {judge: vote for judge, vote in turn.votes.items() if vote.scale == scale}
        if first in votes or (first not in turn.votes and scale == UNNAMED_SCALE):
            return turn._replace(votes=votes)
        return turn._replace(votes=votes, first_ratings={}, first_assessment=None)

    return result._replace(
        turns=tuple(map(only, result.turns)) if there - {scale} else result.turns,
        judges=tuple(judge for judge in result.judges if judge not in dropped),
        settings={**result.settings, "judge_scales": dict.fromkeys(sorted(kept), scale)},
        votes_left_out=tuple(sorted(there - {scale})),
    )
