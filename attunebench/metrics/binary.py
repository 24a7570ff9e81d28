"""Yes/no metrics: what the reply did (om) and what the person would have wanted (hp), in two phrasings.

`truth` and `answers` have a letter for each question, in the same order: y, n, "." for no truth, "-" for not answered,
which counts as wrong. A block that was never asked is not passed to these functions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import sqrt
from typing import NamedTuple

from attunebench.metrics.card import OURS, CardMaker, Metric

Cells = tuple[tuple[str, int, int], ...]
"""Category, and a bit for each of its questions whose truth is yes, and for each whose truth is no; over many turns."""
_RIGHT = bytes([1, *[0] * 255])

UNCATEGORISED = "other"
"""The category of a question that the codebook does not know."""


def right_answers(truth: bytes, answers: bytes) -> bytes:
    """For each question 1 where it is answered as the truth says, else 0."""
    different = int.from_bytes(truth, "little") ^ int.from_bytes(answers, "little")
    return different.to_bytes(len(truth), "little").translate(_RIGHT)


def binary_accuracy(truth: bytes, answers: bytes) -> float | None:
    """Share of the questions answered as the truth says, in [0, 1]; None without truth. Source: spec 4.1."""
    asked = len(truth) - truth.count(b".")
    return right_answers(truth, answers).count(1) / asked if asked else None


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


def cells_of(questions: Iterable[tuple[str, str]]) -> Cells:
    """Questions of turns, as (category, letter of the truth), by category in alphabetical order; once for all models.

    Categories without a question that has truth are left out.
    """
    asked = list(questions)
    names = sorted({category for category, letter in asked if letter != "."})
    return tuple((name, _bits(asked, name, "y"), _bits(asked, name, "n")) for name in names)


def _bits(asked: Iterable[tuple[str, str]], name: str, letter: str) -> int:
    return int.from_bytes(bytes(cell == (name, letter) for cell in asked), "little")


def tally(cells: Cells, right: Iterable[bytes]) -> dict[str, Confusion]:
    """The counts by question category; not answered is fn where the truth is yes, fp where it is no.

    `right`: the `right_answers` of the turns of `cells`, in their order.
    """
    known, counts = int.from_bytes(b"".join(right), "little"), {}
    for category, yes, no in cells:
        tp, tn = (known & yes).bit_count(), (known & no).bit_count()
        counts[category] = Confusion(tp, tn, no.bit_count() - tn, yes.bit_count() - tp)
    return counts


def total(tallies: Mapping[str, Confusion]) -> Confusion:
    """The counts over all categories."""
    return Confusion(*map(sum, zip(*tallies.values(), strict=True)))


def gap(minuend: float | None, subtrahend: float | None) -> float | None:
    """minuend − subtrahend, in [−1, 1] for two shares; None where either is undefined. Source: spec 4.1."""
    return None if minuend is None or subtrahend is None else minuend - subtrahend


CARDS: list[Metric] = []
_of_turn = CardMaker(CARDS, group="turn", level="turn", chance=0.5, proportion=True)
_gap = CardMaker(CARDS, level="conversation", low=-1.0, unit="difference", higher_is_better=None)

_LABELS = {
    "om": (
        "Binary OM",
        "How often the model agrees with the person about what the reply of the original model (OM) did.",
        "observedBehavior yes or no on which em_binary_om_assessment",
    ),
    "hp": (
        "Binary HP",
        "How often the model knows what the person (HP, human participant) would have wanted the reply to do.",
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
    "How much better the model sees what a reply did than what the person would have wanted.",
    "binary_om_accuracy − binary_hp_accuracy of the conversation.",
    status="alongside",
    group="turn",
)
_gap(
    "phrasing_gap",
    "Phrasing gap",
    "How much the wording of the questions matters: observer's phrasing minus the person's own.",
    "binary_hp_accuracy − binary_hp_accuracy_hp of the conversation.",
    status="diagnostic",
    group="diagnostic",
    source=OURS,
)
