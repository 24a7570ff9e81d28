"""Scores as tidy rows: one row per metric, result, turn or answer. For data frames and for export.

What is undefined, not measured or not answered is None.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

from attunebench.errors import UsageError
from attunebench.scores.table import TRUTH_OF_BLOCK

if TYPE_CHECKING:
    import pandas as pd

    from attunebench.scores.schema import ConversationEntry, GroundTruthEntry, TurnAnswers, TurnTruth
    from attunebench.scores.table import Group, ScoreTable

Row = dict[str, Any]
Kind = Literal["text", "whole", "number", "truth"]

COLUMNS: Mapping[str, Kind] = {
    **dict.fromkeys(("provider", "model", "mode", "metric", "conversation_id", "participant_id"), "text"),
    **dict.fromkeys(("block", "item", "answer", "label"), "text"),
    **dict.fromkeys(("epoch", "turn", "n", "n_turns"), "whole"),
    **dict.fromkeys(("composite_complete", "answered"), "truth"),
}
"""Column → what is in it; every other column holds numbers."""
_RESULT = ("provider", "model", "mode", "conversation_id", "epoch")
_METRICS_BEHIND = {
    "conversations": (
        *_RESULT,
        *("participant_id", "n_turns", "composite_complete", "api_cost", "duration_seconds"),
    ),
    "turns": (*_RESULT, "turn"),
}
_FIXED = {
    "models": ("provider", "model", "mode", "metric", "mean", "n", "se", "ci_low", "ci_high"),
    "answers": (*_RESULT, "turn", "block", "item", "answered", "answer", "label", "rating", "label_rating"),
}
_WORDS = {"y": "yes", "n": "no"}


def model_rows(table: ScoreTable) -> Iterator[Row]:
    """One row for each model, mode and metric: `metric`, `mean`, `n` (conversations in which it is defined), `se`,
    `ci_low` and `ci_high`, as in `aggregates` of the scores file."""
    for group in table.groups:
        for name, estimate in table.aggregates.get(group.key, {}).get("metrics", {}).items():
            figures = {key: estimate.get(key) for key in ("mean", "n", "se", "ci_low", "ci_high")}
            yield {**_key(group), "metric": name, **figures}


def conversation_rows(table: ScoreTable) -> Iterator[Row]:
    """One row for each result: `conversation_id`, `epoch`, `participant_id`, `n_turns`, `composite_complete`,
    `api_cost` (USD), `duration_seconds`, and a column for each metric."""
    for group, entry in _entries(table):
        yield {
            **_key_of(group, entry),
            "participant_id": entry["participant_id"],
            "n_turns": len(entry["turns"]),
            **{key: entry.get(key) for key in ("composite_complete", "api_cost", "duration_seconds")},
            **entry["metrics"],
        }


def turn_rows(table: ScoreTable) -> Iterator[Row]:
    """One row for each turn of a result: `conversation_id`, `epoch`, `turn`, and a column for each metric of turns."""
    for group, entry in _entries(table):
        for turn in entry["turns"]:
            yield {**_key_of(group, entry), "turn": turn["turnNumber"], **turn["metrics"]}


def answer_rows(table: ScoreTable) -> Iterator[Row]:
    """One row for each item that was asked and measured: `conversation_id`, `epoch`, `turn` (None after the
    conversation), `block`, `item`, whether it was `answered`, `answer` and the person's `label` where these are words,
    `rating` and `label_rating` where they are numbers from 1 to 7.

    | block | item | what |
    | --- | --- | --- |
    | tags | PANAS item that the model or the person names | ratings: the intensities |
    | binary_om, binary_hp, binary_om_hp, binary_hp_hp | question | yes or no |
    | pairwise | place of the comparison in its turn, from 0 | A or B |
    | post_panas | PANAS item | ratings |
    | q1, follow_up | option that the model or the person chooses | yes or no |
    | q2, q3 | q2, q3 | the option |
    | four_branch | branch | ratings |
    """
    for group, entry in _entries(table):
        truth = table.ground_truth.get(entry["conversationId"])
        turns = {turn["turnNumber"]: turn for turn in truth["turns"]} if truth is not None else {}
        key = _key_of(group, entry)
        for turn in entry["turns"]:
            number = turn["turnNumber"]
            for cells in _of_turn(turn.get("answers") or {}, turns.get(number), table.questions):
                yield {**key, "turn": number, **cells}
        for cells in _afterwards(entry, truth):
            yield {**key, "turn": None, **cells}


ROWS: Mapping[str, Callable[[ScoreTable], Iterator[Row]]] = {
    "models": model_rows,
    "conversations": conversation_rows,
    "turns": turn_rows,
    "answers": answer_rows,
}
"""Name of a data frame, and of its file in an export → its rows."""


def columns_of(table: ScoreTable, name: str) -> tuple[str, ...]:
    """The columns of the rows of that name, in order."""
    if name in _METRICS_BEHIND:
        entries = (entry for _, entry in _entries(table))
        holders = entries if name == "conversations" else (turn for entry in entries for turn in entry["turns"])
        metrics = dict.fromkeys(metric for holder in holders for metric in holder["metrics"])
        return (*_METRICS_BEHIND[name], *metrics)
    return _FIXED[name]


def data_frame(table: ScoreTable, name: str) -> pd.DataFrame:
    """The rows of that name as a pandas.DataFrame. Raises UsageError where pandas is not installed."""
    pandas = require_pandas()
    # "string", since "str" makes the word "None" of None before pandas 3.
    types = {"text": "string", "whole": "Int64", "number": "float64", "truth": "boolean"}
    frame: pd.DataFrame = pandas.DataFrame(list(ROWS[name](table)), columns=pandas.Index(columns_of(table, name)))
    return frame.astype({column: types[COLUMNS.get(column, "number")] for column in frame})


def require_pandas() -> Any:
    """The module; UsageError that names the extra where it is not installed."""
    try:
        return import_module("pandas")
    except ImportError as error:
        raise UsageError('Data frames require pandas: pip install ".[data]" in the checkout of attunebench.') from error


def _key(group: Group) -> Row:
    return {"provider": group.provider, "model": group.model, "mode": group.mode}


def _key_of(group: Group, entry: ConversationEntry) -> Row:
    return {**_key(group), "conversation_id": entry["conversationId"], "epoch": entry.get("epoch")}


def _entries(table: ScoreTable) -> Iterator[tuple[Group, ConversationEntry]]:
    for group in table.groups:
        for conversation in table.ids:
            for entry in table.entries.get((group.key, conversation), ()):
                yield group, entry


def _of_turn(answers: TurnAnswers, truth: TurnTruth | None, questions: tuple[str, ...]) -> Iterator[Row]:
    if "tags" in answers:
        yield from _ratings("tags", answers["tags"], truth["tags"] if truth is not None else None)
    for block, side in TRUTH_OF_BLOCK.items():
        labels = truth[side] if truth is not None else "." * len(questions)
        letters = answers.get(block, "")
        assert isinstance(letters, str)
        for question, letter, label in zip(questions, letters, labels, strict=False):
            if letter != "-" or label != ".":
                yield _choice(block, question, _WORDS.get(letter), _WORDS.get(label))
    comparisons = truth["comparisons"] if truth is not None else []
    for place, letter in enumerate(answers.get("pairwise", "")):
        winner = comparisons[place][3] if place < len(comparisons) else None
        if letter != "-" or winner is not None:
            yield _choice("pairwise", str(place), letter if letter != "-" else None, winner)


def _afterwards(entry: ConversationEntry, truth: GroundTruthEntry | None) -> Iterator[Row]:
    answers = entry.get("answers") or {}
    if panas := answers.get("post_panas"):
        yield from _ratings("post_panas", panas["items"], truth["post_panas"]["items"] if truth is not None else None)
    if wide := answers.get("wide"):
        label = truth["wide"] if truth is not None else None
        yield from _options("q1", wide["q1"], label and label["q1"])
        yield _choice("q2", "q2", wide["q2"], label and label["q2"])
        yield _choice("q3", "q3", wide["q3"], label and label["q3"])
        yield from _options("follow_up", wide["follow_up"], label and label["follow_up"])
        yield from _ratings("four_branch", wide["four_branch"], label and label["four_branch"])


def _ratings(
    block: str, given: Mapping[str, float | None] | None, felt: Mapping[str, float | None] | None
) -> Iterator[Row]:
    for item in {**(felt or {}), **(given or {})}:
        ratings = {"rating": (given or {}).get(item), "label_rating": (felt or {}).get(item)}
        answered = given is not None if block == "tags" else ratings["rating"] is not None
        yield {"block": block, "item": item, "answered": answered, "answer": None, "label": None, **ratings}


def _options(block: str, chosen: Iterable[str] | None, wanted: Iterable[str] | None) -> Iterator[Row]:
    for option in dict.fromkeys((*(wanted or ()), *(chosen or ()))):
        answer, label = (None if each is None else ("no", "yes")[option in each] for each in (chosen, wanted))
        yield _choice(block, option, answer, label)


def _choice(block: str, item: str, answer: str | None, label: str | None) -> Row:
    words = {"answered": answer is not None, "answer": answer, "label": label}
    return {"block": block, "item": item, **words, "rating": None, "label_rating": None}
