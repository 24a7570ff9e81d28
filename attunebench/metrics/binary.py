"""Yes/no metrics: what the reply did (om) and what the person would have wanted (hp), in two phrasings.

Truth and answers have a letter for each question, as bytes in arrays: y, n, "." for no truth, "-" for not answered,
which counts as wrong. Leading axes of answers are free: they may hold phrasings, models or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from attunebench.metrics.card import OURS, CardMaker, Metric

Letters = NDArray[np.uint8]

UNCATEGORISED = "other"
"""The category of a question that the codebook does not know."""


@dataclass(frozen=True, slots=True, eq=False)
class BinaryTruth:
    """The labels of a conversation's questions, prepared once for all that is scored on it.

    `letters`: (sides, turns, questions); `asked`: (sides, turns), how many have truth, NaN for none. `missed`: (sides,
    categories × 4), the `Confusion` of each category when nothing is right; `gained`: (sides, turns × questions,
    categories × 4), by how much each right answer changes it.
    """

    letters: Letters
    asked: NDArray[np.float64]
    missed: NDArray[np.float32]
    gained: NDArray[np.float32]

    @classmethod
    def of(cls, letters: Letters, categories: NDArray[np.intp], count: int) -> BinaryTruth:
        """`categories`: of each question the place of its category among `count` of them."""
        sides, turns, _ = letters.shape
        belongs = np.tile(categories, turns)[:, None] == np.arange(count)
        yes, no = ((letters.reshape(sides, -1, 1) == ord(letter)) & belongs for letter in "yn")
        cells = np.stack([yes, no, no, yes], axis=-1).astype(np.float32).reshape(sides, -1, count * 4)
        is_miss = np.tile(np.array([0, 0, 1, 1], dtype=np.float32), count)
        asked = (letters != ord(".")).sum(axis=-1)
        return cls(letters, np.where(asked, asked, np.nan), cells.sum(axis=1) * is_miss, cells * (1 - 2 * is_miss))

    def right(self, answers: Letters) -> NDArray[np.bool_]:
        """Which answers are as the truth says: (…, sides, turns, questions)."""
        right: NDArray[np.bool_] = answers == self.letters
        return right

    def accuracies(self, right: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Share of each turn's questions that is right, in [0, 1]: (…, sides, turns); NaN without truth.
        Source: spec 4.1."""
        counts: NDArray[np.int64] = right.sum(axis=-1)
        return counts / self.asked

    def tally(self, right: NDArray[np.bool_]) -> NDArray[np.int64]:
        """The counts of each `Confusion` by question category over all turns: (…, sides, categories, 4). Not answered
        is fn where the truth is yes, fp where it is no."""
        rows = right.reshape(*right.shape[:-2], 1, -1).astype(np.float32)
        counts = (rows @ self.gained)[..., 0, :] + self.missed
        return counts.astype(np.int64).reshape(*counts.shape[:-1], -1, 4)


class Confusion(NamedTuple):
    """Counts with "yes" as the positive class. Every rate is 0 where its denominator is 0 and there is any truth.

    Without any truth (all four counts 0) the rates are None: undefined is not 0.
    """

    tp: int = 0
    tn: int = 0
    fp: int = 0
    fn: int = 0

    @property
    def rates(self) -> dict[str, float | None]:
        """accuracy, precision, recall, f1, and mcc, the Matthews correlation, in [−1, 1]."""
        tp, tn, fp, fn = self
        if not (total := tp + tn + fp + fn):
            return dict.fromkeys(("accuracy", "precision", "recall", "f1", "mcc"))
        spread = sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        return {
            "accuracy": (tp + tn) / total,
            "precision": tp / (tp + fp) if tp + fp else 0.0,
            "recall": tp / (tp + fn) if tp + fn else 0.0,
            "f1": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0,
            "mcc": (tp * tn - fp * fn) / spread if spread else 0.0,
        }


def gap(minuend: float | None, subtrahend: float | None) -> float | None:
    """minuend − subtrahend, in [−1, 1] for two shares; None where either is undefined. Source: spec 4.1."""
    return None if minuend is None or subtrahend is None else minuend - subtrahend


CARDS: list[Metric] = []
_of_turn = CardMaker(CARDS, group="turn", level="turn", chance=0.5, proportion=True)
_gap = CardMaker(CARDS, level="conversation", low=-1.0, unit="difference", higher_is_better=None)

_LABELS = {
    "om": (
        "Binary OM",
        "How often the model agrees with the person on what the original model's (OM's) reply did.",
        "observedBehavior yes or no on which em_binary_om_assessment",
    ),
    "hp": (
        "Binary HP",
        "How often the model correctly predicts what the person (HP, human participant) wanted the reply to do.",
        "preferredBehavior yes or no on which em_binary_human_prediction",
    ),
}
for _side, (_label, _meaning, _fields) in _LABELS.items():
    _definition = f"Share of the questions with {_fields} equals it; not answered is wrong."
    _of_turn(f"binary_{_side}_accuracy", _label, _meaning, _definition, status="canonical")
for _side, (_label, _, _fields) in _LABELS.items():
    _meaning = f"As {_label}, with the questions put the way the person read them."
    _definition = f"Share of the questions with {_fields}_hp equals it; not answered is wrong."
    _of_turn(f"binary_{_side}_accuracy_hp", f"{_label}, person's phrasing", _meaning, _definition, status="alongside")
_gap(
    "perspective_gap",
    "Perspective gap",
    "How much higher the model scores on what a reply did than on what the person wanted.",
    "binary_om_accuracy − binary_hp_accuracy of the conversation.",
    status="alongside",
    group="turn",
)
_gap(
    "phrasing_gap",
    "Phrasing gap",
    "Effect of the wording of the questions: observer's phrasing minus the person's.",
    "binary_hp_accuracy − binary_hp_accuracy_hp of the conversation.",
    status="diagnostic",
    group="diagnostic",
    source=OURS,
)
