"""The tour: the turns in which models are farthest from the person, and those in which they are farthest apart.

Rules, not taste: `RULES` states them, and the page prints them. Studies in, stops out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from attunebench.analyses.sampling import mean_of, mean_over_models
from attunebench.constants import BINARY_QUESTION_TEXT
from attunebench.scores.table import TRUTH_OF_BLOCK, Block, ScoreTable
from attunebench.statistics.bootstrap import Floats

METRICS = ("emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy")
STOPS = 12
PER_TALK = 2
ITEMS = 3
_BLOCKS: tuple[Block, ...] = ("binary_om", "binary_hp")
_FEWEST = 3
"""A turn on which fewer yes/no answers can be compared says little about models among each other."""

RULES = {
    "person": f"Disagreement with the person: the {STOPS} turns with the lowest mean over models of Emotion VA, Binary "
    f"OM, Binary HP and Pairwise (where defined), at most {PER_TALK} per conversation.",
    "models": f"Disagreement among models: the {STOPS} turns with the highest mean of 4·p·(1 − p) over their yes/no "
    f"questions, where p is the share of models that answer yes (1: evenly split, 0: all equal), at most {PER_TALK} "
    "per conversation.",
}


class Item(NamedTuple):
    """A yes/no question of a stop: what the person said, and how many of the models that could say yes did."""

    question: str
    text: str
    block: str
    truth: str
    yes: int
    of: int


class Stop(NamedTuple):
    """A turn of the tour: row of the conversation, number of the turn, why (a key of `RULES`) and how much."""

    row: int
    turn: int
    position: int
    of: int
    why: str
    value: float
    items: tuple[Item, ...]


def tour(study: ScoreTable) -> tuple[Stop, ...]:
    """The stops over the groups of a study (one mode's models), first those against the person; () without turns."""
    if not study.turns or not study.groups:
        return ()
    yes = np.stack([study.answers(block) for block in _BLOCKS])
    right = np.stack([study.right(block) for block in _BLOCKS])
    truth = np.stack([study.truth_binary(TRUTH_OF_BLOCK[block]) for block in _BLOCKS])
    agreement = mean_of([mean_over_models(study.turn_values(m)) for m in METRICS])
    least = {"person": agreement, "models": -_split(yes)} if len(study.groups) > 1 else {"person": agreement}
    return tuple(
        _stop(study, turn, why, abs(float(values[turn])), yes, right, truth)
        for why, values in least.items()
        for turn in _chosen(study, values)
    )


def _split(yes: Floats) -> Floats:
    """How divided the models are on each turn, in [0, 1]; NaN where too few questions can be compared."""
    share = mean_over_models(yes)
    apart = 4 * share * (1 - share)
    apart[(~np.isnan(yes)).sum(axis=3) < 2] = np.nan
    flat = np.concatenate(list(apart), axis=1)
    values = mean_over_models(flat)
    values[(~np.isnan(flat)).sum(axis=1) < _FEWEST] = np.nan
    return values


def _chosen(study: ScoreTable, values: Floats) -> list[int]:
    """Turns with the lowest values, few of each conversation; equal ones as they stand."""
    taken: dict[int, int] = {}
    chosen: list[int] = []
    for turn in np.argsort(values, kind="stable"):
        if len(chosen) == STOPS or np.isnan(values[turn]):
            break
        row = study.turns[turn].conversation
        if taken.get(row, 0) < PER_TALK:
            taken[row] = taken.get(row, 0) + 1
            chosen.append(int(turn))
    return chosen


def _stop(study: ScoreTable, turn: int, why: str, value: float, yes: Floats, right: Floats, truth: Floats) -> Stop:
    """A stop with the items that say most: where most models are wrong, or where they are most divided."""
    share = mean_over_models(yes[:, turn])
    worth = 1 - mean_over_models(right[:, turn]) if why == "person" else share * (1 - share)
    items = []
    for place in np.argsort(-np.nan_to_num(worth, nan=-1.0), axis=None, kind="stable")[:ITEMS]:
        block, question = np.unravel_index(place, worth.shape)
        if worth[block, question] > 0:
            name, answered = study.questions[question], yes[block, turn, question]
            label = {1.0: "yes", 0.0: "no"}.get(truth[block, turn, question], "")
            said = int((answered > 0.5).sum()), int((~np.isnan(answered)).sum())
            items.append(Item(name, BINARY_QUESTION_TEXT.get(name, name), _BLOCKS[block], label, *said))
    where = study.turns[turn]
    return Stop(where.conversation, where.number, where.position, where.of, why, value, tuple(items))
