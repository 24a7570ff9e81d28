"""The votes of a folder's results, draft by draft and judge by judge, and the two judged metrics under any of them.

Owns which votes count. What is made of them is for `moves` and `agreeing`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from attunebench.conversations.schema import Conversation
from attunebench.judging import JUDGE_SCALE, JUDGE_SCALES, JudgeScale
from attunebench.metrics.draft import draft_binary_alignment, draft_judge
from attunebench.metrics.means import mean_defined
from attunebench.protocol.calls import RATINGS
from attunebench.results.folder import Findings, Key, find_duplicates, read_results
from attunebench.results.schema import Result, ResultTurn, Vote
from attunebench.statistics.bootstrap import Floats, Labels

Group = tuple[str, str, str]
"""(provider, model, mode)"""
METRICS = ("draft_judge", "draft_binary_alignment")


@dataclass(frozen=True, slots=True)
class CastTurn:
    """The votes on one draft by judge, of those that said something, and what the person preferred."""

    has_draft: bool
    preferred: Mapping[str, str]
    votes: Mapping[str, Vote]

    def on(self, scale: JudgeScale) -> CastTurn:
        """The votes on one scale."""
        return replace(self, votes={judge: vote for judge, vote in self.votes.items() if vote.scale == scale})


@dataclass(frozen=True, slots=True)
class Cast:
    """The votes on the drafts of one result; `row` and `group` are places in `Ballots`, `judges` those it names."""

    row: int
    group: int
    judges: frozenset[str]
    turns: tuple[CastTurn, ...]


@dataclass(frozen=True, slots=True)
class Units:
    """What judges were asked, one row each: `values` is (units, judges), NaN not answered; yes is 1, no is 0.

    `rows` and `groups`: which conversation and which model and mode a unit is of.
    """

    values: Floats
    rows: Labels
    groups: Labels


@dataclass(frozen=True, slots=True)
class Ballots:
    """All votes. `people` labels the participants of the conversations `ids`, `judges` are in order of appearance."""

    groups: tuple[Group, ...]
    ids: tuple[str, ...]
    people: Labels
    judges: tuple[str, ...]
    casts: tuple[Cast, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each group's model: with its provider where two have a model of that name."""
        providers: dict[str, set[str]] = {}
        for provider, model, _ in self.groups:
            providers.setdefault(model, set()).add(provider)
        return tuple(
            model if len(providers[model]) == 1 else f"{model} ({provider})" for provider, model, _ in self.groups
        )

    @property
    def scales(self) -> tuple[JudgeScale, ...]:
        """The scales on which there are votes."""
        there = {vote.scale for cast in self.casts for turn in cast.turns for vote in turn.votes.values()}
        return tuple(scale for scale in JUDGE_SCALES if scale in there)

    def on(self, scale: JudgeScale) -> Ballots:
        """The votes on one scale, and the judges that have some."""
        turns = [tuple(turn.on(scale) for turn in cast.turns) for cast in self.casts]
        voted = [frozenset(judge for turn in each for judge in turn.votes) for each in turns]
        everybody = frozenset[str]().union(*voted)
        return replace(
            self,
            judges=tuple(judge for judge in self.judges if judge in everybody),
            casts=tuple(
                replace(cast, judges=judges, turns=each)
                for cast, judges, each in zip(self.casts, voted, turns, strict=True)
            ),
        )

    def values(self, metric: str, judges: Sequence[str]) -> Floats:
        """`draft_judge` or `draft_binary_alignment` by these judges alone: (conversations, groups), NaN undefined.

        As the scorer has it for a result with just these judges; over the epochs of a conversation the mean.
        """
        found: dict[tuple[int, int], list[float]] = {}
        wanted = frozenset(judges)
        for cast in self.casts:
            if wanted & cast.judges and (value := _value(metric, cast, wanted)) is not None:
                found.setdefault((cast.row, cast.group), []).append(value)
        table = np.full((len(self.ids), len(self.groups)), np.nan)
        for place, values in found.items():
            table[place] = sum(values) / len(values)
        return table

    def ratings(self) -> Mapping[str, Units]:
        """Dimension → the ratings of all drafts on it, a unit for each draft that anybody rated."""
        drafts = [
            (cast, [votes.get(judge, _NO_VOTE).ratings for judge in self.judges])
            for cast, votes in self._turns()
            if any(vote.ratings for vote in votes.values())
        ]
        return {
            name: self._units((cast, [given.get(name) for given in all_]) for cast, all_ in drafts) for name in RATINGS
        }

    def answers(self) -> Units:
        """The yes/no answers about all drafts, a unit for each question on a draft."""
        return self._units(
            (cast, [_CODES.get(votes.get(judge, _NO_VOTE).answers.get(question, "")) for judge in self.judges])
            for cast, votes in self._turns()
            for question in dict.fromkeys(question for vote in votes.values() for question in vote.answers)
        )

    def _turns(self) -> Iterator[tuple[Cast, Mapping[str, Vote]]]:
        return ((cast, turn.votes) for cast in self.casts for turn in cast.turns)

    def _units(self, units: Iterable[tuple[Cast, list[float | None]]]) -> Units:
        listed = list(units)
        values = np.array([values for _, values in listed], dtype=np.float64).reshape(len(listed), len(self.judges))
        return Units(values, _places(cast.row for cast, _ in listed), _places(cast.group for cast, _ in listed))


_CODES = {"yes": 1.0, "no": 0.0}
_NO_VOTE = Vote({}, {}, JUDGE_SCALE)


def _places(places: Iterable[int]) -> NDArray[np.intp]:
    return np.fromiter(places, dtype=np.intp)


def _value(metric: str, cast: Cast, judges: frozenset[str]) -> float | None:
    values = []
    for turn in cast.turns:
        voted = ResultTurn(0, votes={judge: vote for judge, vote in turn.votes.items() if judge in judges})
        if metric == "draft_judge":
            values.append(draft_judge(turn.has_draft, voted.ratings))
        else:
            values.append(draft_binary_alignment(turn.has_draft, turn.preferred, voted.assessments))
    return mean_defined(values)


def read_ballots(
    results: str | Path, conversations: Iterable[Conversation], *, wanted: Callable[[Result], bool] = lambda _: True
) -> Ballots:
    """The votes in the results under a folder, of those that are `wanted` and whose conversation is there.

    Results that are there twice do not count. Raises DataError where there is no such folder.
    """
    by_id = {conversation.conversation_id: conversation for conversation in conversations}
    keyed: list[tuple[Key, str]] = []
    found: list[tuple[Key, Group, tuple[str, ...], tuple[CastTurn, ...]]] = []
    for result in read_results(results, Findings()):
        if result.conversation_id in by_id and wanted(result):
            keyed.append((result.key, result.source_file))
            turns = _turns(result, by_id[result.conversation_id])
            found.append((result.key, (result.provider, result.em_model, result.mode), _judges(result), turns))
    doubtful = {duplicate.key for duplicate in find_duplicates(iter(keyed))}
    found = [each for each in found if each[0] not in doubtful]
    there = {key[0] for key, *_ in found}
    rows = {name: row for row, name in enumerate(name for name in by_id if name in there)}
    groups = {group: place for place, group in enumerate(sorted({group for _, group, *_ in found}))}
    return Ballots(
        groups=tuple(groups),
        ids=tuple(rows),
        people=_people([by_id[name] for name in rows]),
        judges=tuple(dict.fromkeys(judge for _, _, judges, _ in found for judge in judges)),
        casts=tuple(Cast(rows[key[0]], groups[group], frozenset(judges), turns) for key, group, judges, turns in found),
    )


def _judges(result: Result) -> tuple[str, ...]:
    """The judges of a result under the names that `rejudge` gives them: one that its votes do not name is its first."""
    return tuple(dict.fromkeys((*result.judges, *(judge for turn in result.turns for judge in turn.voters))))


def _turns(result: Result, conversation: Conversation) -> tuple[CastTurn, ...]:
    given = {turn.number: turn for turn in result.turns}
    recorded = "draft" in result.measured
    turns = []
    for turn in conversation.turns:
        answer = given.get(turn.number)
        votes = {judge: answer.votes[judge] for judge in answer.voters} if answer else {}
        # Where drafts were not recorded at all, a vote shows that there was one.
        has_draft = answer is not None and (answer.draft is not None if recorded else bool(votes))
        if not (recorded or has_draft):
            continue
        preferred = {j.question_id: str(j.preferred) for j in turn.judgements if j.preferred in ("yes", "no")}
        turns.append(CastTurn(has_draft, preferred, votes))
    return tuple(turns)


def _people(conversations: Sequence[Conversation]) -> Labels:
    """Participants as 0 … k − 1; a conversation of nobody known is of somebody of its own."""
    names = [conversation.participant_id or f"\0{place}" for place, conversation in enumerate(conversations)]
    known = {name: label for label, name in enumerate(dict.fromkeys(names))}
    return np.array([known[name] for name in names], dtype=np.intp)
