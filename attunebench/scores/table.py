"""What a study is: models × conversations × turns as arrays whose axes are named here, and the facts beside them.

Axes: conversations in the order of the ground truth, groups in display order, turns conversation by conversation.
NaN is undefined, not measured or not there; it is never 0. Epochs of a conversation are averaged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from attunebench.errors import UsageError
from attunebench.metrics.registry import Rules
from attunebench.published import rules_of
from attunebench.scores.schema import TRUTH_OF_BLOCK as TRUTH_OF_BLOCK
from attunebench.scores.schema import Block as Block
from attunebench.scores.schema import ConversationEntry, GroundTruthEntry, TurnEntry
from attunebench.scores.schema import Side as Side
from attunebench.statistics.bootstrap import Floats as Floats
from attunebench.statistics.bootstrap import Labels as Labels
from attunebench.statistics.bootstrap import sum_by_cluster

if TYPE_CHECKING:
    import pandas as pd

Kind = Literal["model", "human", "baseline", "oracle"]
Key = tuple[str, str, str]
Entries = Mapping[tuple[Key, str], tuple[ConversationEntry, ...]]


def _table(otherwise: float) -> Floats:
    """Byte → what the letter means."""
    table = np.full(256, otherwise)
    table[ord("y")], table[ord("n")] = 1.0, 0.0
    return table


_GAP_IF_NONE = _table(np.nan)
_WRONG_IF_NONE = _table(-1.0)


@dataclass(frozen=True, slots=True, order=True)
class Group:
    """One (provider, model, mode), and the scores file that it comes from by its position among those read."""

    provider: str
    model: str
    mode: str
    label: str = field(default="", compare=False)
    """Short and unique among the models of the study; the mode is not part of it."""
    source: int = field(default=0, compare=False)

    @property
    def key(self) -> Key:
        return (self.provider, self.model, self.mode)

    @property
    def model_key(self) -> tuple[str, str]:
        """The model whatever its mode: what colours and modes are compared by."""
        return (self.provider, self.model)

    @property
    def kind(self) -> Kind:
        """Whether it is a model under test, a person who answered, or one of the built-in baselines."""
        if self.provider == "human":
            return "human"
        if self.provider == "baseline":
            return "oracle" if self.model == "oracle" else "baseline"
        return "model"


@dataclass(frozen=True, slots=True)
class Turn:
    """A turn: the row of its conversation, its number, and its place, the `position`-th (from 1) of `of`."""

    conversation: int
    number: int
    position: int
    of: int

    @property
    def third(self) -> int | None:
        """0 early, 1 middle, 2 late: ⌊3(k − 1)/T⌋ for turn k of T; None where a talk has under three turns."""
        return 3 * (self.position - 1) // self.of if self.of >= 3 else None


@dataclass(frozen=True, slots=True)
class ReferenceValues:
    """A score made from the ground truth alone: metric id → value per conversation (NaN where it has none)."""

    id: str
    label: str
    meaning: str
    values: Mapping[str, Floats]


@dataclass(frozen=True, slots=True)
class _Matrix:
    """Values of one group: (rows, columns), NaN where there is none; rows that stand several times are averaged."""

    rows: Mapping[Hashable, int]
    columns: Mapping[str, int]
    values: Floats

    @classmethod
    def of(cls, given: Iterable[tuple[Hashable, Mapping[str, float | None]]]) -> _Matrix:
        listed = list(given)
        names = dict.fromkeys(name for _, values in listed for name in values)
        rows = {key: row for row, key in enumerate(dict.fromkeys(key for key, _ in listed))}
        whole = np.array([[values.get(name) for name in names] for _, values in listed], dtype=np.float64)
        places = np.array([rows[key] for key, _ in listed], dtype=np.intp)
        columns = {name: column for column, name in enumerate(names)}
        return cls(rows, columns, _averaged(whole.reshape(len(listed), len(names)), places, len(rows)))

    def column(self, name: str, keys: Sequence[Hashable]) -> Floats:
        """One column for these rows, NaN for a row or a column that is not there."""
        if name not in self.columns or not self.rows:
            return np.full(len(keys), np.nan)
        places = np.array([self.rows.get(key, -1) for key in keys], dtype=np.intp)
        found: Floats = np.where(places < 0, np.nan, self.values[places, self.columns[name]])
        return found


class _Results:
    """The entries of all groups, and what is made of them once for all tables that are cut from the same scores."""

    def __init__(self, entries: Entries) -> None:
        self.entries = entries
        self._of_group = defaultdict[Key, list[tuple[str, ConversationEntry]]](list)
        for (key, conversation), found in entries.items():
            self._of_group[key] += ((conversation, entry) for entry in found)
        self._matrices: dict[tuple[str, Key], _Matrix] = {}

    def turns(self, key: Key) -> Iterator[tuple[tuple[str, int], TurnEntry]]:
        """((conversation id, turn number), turn) of each result of a group."""
        for conversation, entry in self._of_group.get(key, ()):
            for turn in entry["turns"]:
                yield (conversation, turn["turnNumber"]), turn

    def matrix(self, level: Literal["conversation", "turn"], key: Key) -> _Matrix:
        """The metrics of a group's results, or of their turns."""
        if (level, key) not in self._matrices:
            found: Any = self._of_group.get(key, ()) if level == "conversation" else self.turns(key)
            self._matrices[level, key] = _Matrix.of((place, holder["metrics"]) for place, holder in found)
        return self._matrices[level, key]


@dataclass(frozen=True, repr=False)
class ScoreTable:
    """One or more scores files over one ground truth, as arrays.

    `ground_truth` has an entry for each conversation of `ids`; it is empty for scores of an older version, which did
    not keep it, and then there are no labels, facts and turns beyond the scored ones. `metadata` holds the metadata of
    each file. `entries`: (group key, conversation id) → its entries, one for each epoch.
    """

    ids: tuple[str, ...]
    groups: tuple[Group, ...]
    entries: Entries
    ground_truth: Mapping[str, GroundTruthEntry]
    questions: tuple[str, ...]
    references: tuple[ReferenceValues, ...]
    metadata: tuple[Mapping[str, Any], ...]
    files: tuple[str, ...] = ()
    aggregates: Mapping[Key, Mapping[str, Any]] = field(default_factory=dict)
    relabelled: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Position of a file → conversations that it was scored on with other labels than those in `ground_truth`."""
    unlabelled: frozenset[int] = frozenset()
    """Positions of files that do not keep the labels that they were scored on: those of an older version."""
    _results: _Results = field(default=None, repr=False, compare=False)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if getattr(self._results, "entries", None) is not self.entries:  # `replace` hands on what was made of others
            object.__setattr__(self, "_results", _Results(self.entries))

    @property
    def rules(self) -> Rules:
        """Whose rules the scores follow; a study never mixes them."""
        return rules_of(self.metadata[0]) if self.metadata else "attunebench"

    def __repr__(self) -> str:
        names = [f"{group.label} ({group.mode})" for group in self.groups[:6]]
        more = [f"{len(self.groups) - 6} more"] if len(self.groups) > 6 else []
        return f"<{type(self).__name__} of {len(self.ids)} conversations: {', '.join([*names, *more])}>"

    # Data frames (extra `data`); docs/data-frames.md describes the columns

    def models_df(self) -> pd.DataFrame:
        """One row for each model, mode and metric: mean, n, standard error and interval."""
        return self._frame("models")

    def conversations_df(self) -> pd.DataFrame:
        """One row for each result, with a column for each metric."""
        return self._frame("conversations")

    def turns_df(self) -> pd.DataFrame:
        """One row for each turn of a result, with a column for each metric of turns."""
        return self._frame("turns")

    def answers_df(self) -> pd.DataFrame:
        """One row for each item that was asked, with the answer and the person's label."""
        return self._frame("answers")

    def _frame(self, name: str) -> pd.DataFrame:
        from attunebench.scores.frames import data_frame

        return data_frame(self, name)

    def of_mode(self, mode: str) -> ScoreTable:
        """The same study with the groups of one mode; UsageError names the modes there are."""
        groups = tuple(group for group in self.groups if group.mode == mode)
        if not groups:
            raise UsageError(f"Nothing was scored in mode {mode!r}; there is {', '.join(self.modes)}.")
        return replace(self, groups=groups)

    def with_groups(self, groups: Sequence[Group]) -> ScoreTable:
        """The same study with these groups, in this order."""
        return replace(self, groups=tuple(groups))

    def with_conversations(self, ids: Sequence[str]) -> ScoreTable:
        """The same study over these conversations, in the study's order."""
        chosen = frozenset(ids)
        kept = np.array([conversation in chosen for conversation in self.ids], dtype=bool)
        references = tuple(
            replace(reference, values={name: values[kept] for name, values in reference.values.items()})
            for reference in self.references
        )
        return replace(self, ids=tuple(i for i in self.ids if i in chosen), references=references)

    @property
    def modes(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(group.mode for group in self.groups))

    def models(self, *, baselines: bool = False, humans: bool = False) -> ScoreTable:
        """The study with its models alone, and with baselines (the oracle among them) or people where asked for.

        Where there is no model at all, baselines stand in for models, so that the demonstration shows everything.
        """
        wanted: set[Kind] = {"model"}
        if baselines or not any(group.kind == "model" for group in self.groups):
            wanted |= {"baseline", "oracle"}
        if humans:
            wanted.add("human")
        return self.with_groups([group for group in self.groups if group.kind in wanted])

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(group.label for group in self.groups)

    @cached_property
    def clusters(self) -> Labels:
        """A participant label 0 … k − 1 per conversation; a conversation of an unknown participant is its own."""
        seen: dict[tuple[str, str], int] = {}
        keys = [("p", who) if (who := self.participant(i)) is not None else ("c", i) for i in self.ids]
        return np.array([seen.setdefault(key, len(seen)) for key in keys], dtype=np.intp)

    def participant(self, conversation_id: str) -> str | None:
        """The participant's id, or None where it is not known."""
        if (truth := self.ground_truth.get(conversation_id)) is not None:
            return truth["participant_id"]
        for group in self.groups:
            for entry in self.entries.get((group.key, conversation_id), ()):
                return entry["participant_id"]
        return None

    def truths(self) -> tuple[GroundTruthEntry | None, ...]:
        """The ground truth of each conversation in order; None where the scores do not hold it."""
        return tuple(self.ground_truth.get(conversation) for conversation in self.ids)

    def values(self, metric_id: str) -> Floats:
        """A metric's values: (conversations, groups)."""
        return self._columns("conversation", metric_id, self.ids)

    def scored(self) -> NDArray[np.bool_]:
        """Which conversation was scored for which group: (conversations, groups)."""
        return np.array([[(g.key, i) in self.entries for g in self.groups] for i in self.ids], dtype=bool).reshape(
            len(self.ids), len(self.groups)
        )

    def entry_values(self, read: Callable[[ConversationEntry], float | None]) -> Floats:
        """A value of each entry, averaged over epochs: (conversations, groups). For costs, times and the like."""
        found = [[self.entries.get((group.key, place), ()) for group in self.groups] for place in self.ids]
        means = [[_mean([read(entry) for entry in entries]) for entries in row] for row in found]
        return np.array(means, dtype=np.float64).reshape(len(self.ids), len(self.groups))

    @cached_property
    def turns(self) -> tuple[Turn, ...]:
        """All turns, conversation by conversation: those of the ground truth, else those that were scored."""
        numbers = enumerate(map(self._turn_numbers, self.ids))
        return tuple(Turn(row, n, place, len(listed)) for row, listed in numbers for place, n in enumerate(listed, 1))

    def turn_values(self, metric_id: str) -> Floats:
        """A metric's values turn by turn: (turns, groups)."""
        return self._columns("turn", metric_id, self._turn_keys)

    def truth_tags(self) -> list[Mapping[str, float | None] | None]:
        """The person's tags of each turn: {} neutral, None no truth."""
        return [None if (truth := self._turn_truth(turn)) is None else truth["tags"] for turn in self.turns]

    def tags(self, group: Group) -> list[list[Mapping[str, float | None] | None]]:
        """A group's tags of each turn, one for each epoch that measured them: {} neutral, None not answered."""
        return [
            [
                given["answers"]["tags"]
                for entry in self.entries.get((group.key, self.ids[turn.conversation]), ())
                for given in entry["turns"]
                if given["turnNumber"] == turn.number and "tags" in given.get("answers", {})
            ]
            for turn in self.turns
        ]

    def truth_binary(self, side: Side) -> Floats:
        """The person's yes (1) and no (0): (turns, questions), NaN where there is no truth."""
        table = np.full((len(self.turns), len(self.questions)), np.nan)
        for row, turn in enumerate(self.turns):
            if (truth := self._turn_truth(turn)) is not None:
                table[row] = _GAP_IF_NONE[np.frombuffer(truth[side].encode(), dtype=np.uint8)]
        return table

    def answers(self, block: Block) -> Floats:
        """Share of epochs that answered yes, of those that answered: (turns, questions, groups), NaN without answer."""
        return self._letters(block, _GAP_IF_NONE)

    def right(self, block: Block) -> Floats:
        """Share of epochs that answered right: (turns, questions, groups).

        NaN where there is no truth or the block was not measured; not answered is wrong.
        """
        truth = self.truth_binary(TRUTH_OF_BLOCK[block])
        return self._letters(block, _WRONG_IF_NONE, truth)

    def clusters_of_turns(self) -> Labels:
        """The row of each turn's conversation: the cluster of turns."""
        return np.array([turn.conversation for turn in self.turns], dtype=np.intp)

    def _letters(self, block: Block, meaning: Floats, truth: Floats | None = None) -> Floats:
        width = len(self.questions)
        rows = {key: row for row, key in enumerate(self._turn_keys)}
        table = np.full((len(rows), width, len(self.groups)), np.nan)
        for column, group in enumerate(self.groups):
            told = [
                (rows[key], letters)
                for key, turn in self._results.turns(group.key)
                if key in rows and (letters := turn.get("answers", {}).get(block)) is not None and len(letters) == width
            ]
            if told and width:
                places = np.array([row for row, _ in told], dtype=np.intp)
                texts = np.frombuffer("".join(text for _, text in told).encode(), dtype=np.uint8)
                read = meaning[texts].reshape(len(told), width)
                if truth is not None:
                    known = truth[places]
                    read = np.where(np.isnan(known), np.nan, read == known)
                table[:, :, column] = _averaged(read, places, len(rows))
        return table

    def _columns(self, level: Literal["conversation", "turn"], metric_id: str, keys: Sequence[Hashable]) -> Floats:
        columns = [self._results.matrix(level, group.key).column(metric_id, keys) for group in self.groups]
        return np.stack(columns, axis=1) if columns else np.full((len(keys), 0), np.nan)

    @cached_property
    def _turn_keys(self) -> tuple[tuple[str, int], ...]:
        return tuple((self.ids[turn.conversation], turn.number) for turn in self.turns)

    def _turn_numbers(self, conversation_id: str) -> list[int]:
        if (truth := self.ground_truth.get(conversation_id)) is not None:
            return [turn["turnNumber"] for turn in truth["turns"]]
        for group in self.groups:
            for entry in self.entries.get((group.key, conversation_id), ()):
                return [turn["turnNumber"] for turn in entry["turns"]]
        return []

    def _turn_truth(self, turn: Turn) -> Any:
        truth = self.ground_truth.get(self.ids[turn.conversation])
        return None if truth is None else truth["turns"][turn.position - 1]


def _mean(values: Sequence[float | None]) -> float:
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else np.nan


def _averaged(values: Floats, places: Labels, rows: int) -> Floats:
    """The mean of the defined values that go to each of `rows` rows: (rows, columns), NaN where there are none."""
    defined = ~np.isnan(values)
    sums, counts = (sum_by_cluster(part, places, rows) for part in (np.where(defined, values, 0.0), defined))
    with np.errstate(invalid="ignore"):
        means: Floats = np.where(counts > 0, sums / counts, np.nan)
    return means
