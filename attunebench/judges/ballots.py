"""The votes of a folder's results, draft by draft, and the two judged metrics under any of the judges.

Owns which votes count; what is made of them is for `report` and `agreement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path

import numpy as np

from attunebench.conversations.schema import Conversation
from attunebench.judging import JUDGE_SCALES, JudgeScale
from attunebench.metrics.draft import draft_binary_alignment, draft_judge
from attunebench.metrics.means import mean_defined
from attunebench.results.folder import Findings, find_duplicates, read_results
from attunebench.results.schema import Result, ResultTurn, Vote
from attunebench.statistics.bootstrap import Floats, Labels

Group = tuple[str, str, str]
"""(provider, model, mode)"""
METRICS = ("draft_judge", "draft_binary_alignment")


@dataclass(frozen=True, slots=True)
class Draft:
    """A turn in which a draft was asked for: the places of its result, conversation and group, the judges that its
    result names, what the person preferred, and judge → vote, of those that said something."""

    result: int
    row: int
    group: int
    judges: frozenset[str]
    there: bool
    preferred: Mapping[str, str]
    votes: Mapping[str, Vote]

    def value(self, metric: str, judges: frozenset[str]) -> float | None:
        """One of `METRICS` by these judges alone, as the scorer has it."""
        voted = ResultTurn(0, votes={judge: vote for judge, vote in self.votes.items() if judge in judges})
        if metric == "draft_judge":
            return draft_judge(self.there, voted.ratings)
        return draft_binary_alignment(self.there, self.preferred, voted.assessments)


@dataclass(frozen=True, slots=True)
class Ballots:
    """All votes. `people` labels the participants of the conversations `ids`, `judges` are in order of appearance,
    `drafts` result by result."""

    groups: tuple[Group, ...]
    ids: tuple[str, ...]
    people: Labels
    judges: tuple[str, ...]
    drafts: tuple[Draft, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """A name for each group's model: with its provider where two have a model of that name."""
        models = {(provider, model) for provider, model, _ in self.groups}
        names = [model for _, model in models]
        return tuple(m if names.count(m) == 1 else f"{m} ({provider})" for provider, m, _ in self.groups)

    @property
    def scales(self) -> tuple[JudgeScale, ...]:
        """The scales on which there are votes."""
        there = {vote.scale for draft in self.drafts for vote in draft.votes.values()}
        return tuple(scale for scale in JUDGE_SCALES if scale in there)

    def on(self, scale: JudgeScale) -> Ballots:
        """The votes on one scale, and the judges that have some."""
        voted: dict[int, frozenset[str]] = {}
        drafts = []
        for draft in self.drafts:
            votes = {judge: vote for judge, vote in draft.votes.items() if vote.scale == scale}
            voted[draft.result] = voted.get(draft.result, frozenset()) | votes.keys()
            drafts.append(replace(draft, votes=votes))
        everybody = frozenset[str]().union(*voted.values())
        return replace(
            self,
            judges=tuple(judge for judge in self.judges if judge in everybody),
            drafts=tuple(replace(draft, judges=voted[draft.result]) for draft in drafts),
        )

    def values(self, metric: str, judges: Sequence[str], over: Ballots | None = None) -> Floats:
        """One of `METRICS` by these judges alone: (conversations, groups) of `over` (these ballots), NaN undefined.

        As the scorer has it for a result with just these judges; over the epochs of a conversation the mean.
        """
        wanted, over, found = frozenset(judges), over or self, dict[tuple[str, Group], list[float]]()
        for _, drafts in groupby(self.drafts, attrgetter("result")):
            turns = [draft for draft in drafts if wanted & draft.judges]
            value = mean_defined([draft.value(metric, wanted) for draft in turns])
            if value is not None:
                found.setdefault((self.ids[turns[0].row], self.groups[turns[0].group]), []).append(value)
        means = {place: sum(values) / len(values) for place, values in found.items()}
        table = [[means.get((name, group), np.nan) for group in over.groups] for name in over.ids]
        return np.array(table).reshape(len(over.ids), len(over.groups))


def read_ballots(
    results: str | Path, conversations: Iterable[Conversation], *, wanted: Callable[[Result], bool] = lambda _: True
) -> Ballots:
    """The votes in the results under a folder, of those that are `wanted` and whose conversation is there.

    Results that are there twice do not count. Raises DataError where there is no such folder.
    """
    by_id = {conversation.conversation_id: conversation for conversation in conversations}
    read = []
    for one in read_results(results, Findings()):
        if one.conversation_id in by_id and wanted(one):
            # One that its votes do not name is the first judge, under the name that `rejudge` gives it.
            named = dict.fromkeys((*one.judges, *(judge for turn in one.turns for judge in turn.voters)))
            turns = list(_turns(one, by_id[one.conversation_id]))
            read.append((one.key, one.source_file, (one.provider, one.em_model, one.mode), named, turns))
    doubtful = {duplicate.key for duplicate in find_duplicates(entry[:2] for entry in read)}
    read = [entry for entry in read if entry[0] not in doubtful]
    there = {key[0] for key, *_ in read}
    rows = {name: row for row, name in enumerate(filter(there.__contains__, by_id))}
    groups = {group: place for place, group in enumerate(sorted({group for _, _, group, *_ in read}))}
    people = [by_id[name].participant_id or f"\0{name}" for name in rows]  # one of an unknown participant is their own
    labels = {person: label for label, person in enumerate(dict.fromkeys(people))}
    return Ballots(
        groups=tuple(groups),
        ids=tuple(rows),
        people=np.array([labels[person] for person in people], dtype=np.intp),
        judges=tuple(dict.fromkeys(judge for *_, named, _ in read for judge in named)),
        drafts=tuple(
            Draft(number, rows[key[0]], groups[group], frozenset(named), *turn)
            for number, (key, _, group, named, turns) in enumerate(read)
            for turn in turns
        ),
    )


def _turns(result: Result, conversation: Conversation) -> Iterator[tuple[bool, dict[str, str], dict[str, Vote]]]:
    """Whether there is a draft, what the person preferred, and the votes, of each turn with a draft asked for."""
    answers = {turn.number: turn for turn in result.turns}
    recorded = "draft" in result.measured
    for turn in conversation.turns:
        answer = answers.get(turn.number)
        votes = {judge: answer.votes[judge] for judge in answer.voters} if answer else {}
        # Where drafts were not recorded at all, a vote shows that there was one.
        there = answer is not None and (answer.draft is not None if recorded else bool(votes))
        if recorded or there:
            preferred = {j.question_id: str(j.preferred) for j in turn.judgements if j.preferred in ("yes", "no")}
            yield there, preferred, votes
