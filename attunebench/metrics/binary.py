"""Yes/no metrics: what the reply did (om) and what the person would have wanted (hp), in two phrasings.

`truth` maps question → "yes" | "no" and holds only questions that have one of the two. `predicted` maps question →
"yes" | "no"; a question that is missing, or `predicted` None, is not answered and counts as wrong. A block that was
never asked is not passed to these functions.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, compress
from math import sqrt
from operator import eq
from sys import intern

from attunebench.metrics.card import OURS, README, Metric

Truth = Mapping[str, str]
Predicted = Mapping[str, str] | None
Cells = tuple[str, ...]

UNCATEGORISED = "other"
"""The category of a question that the codebook does not know."""


def binary_accuracy(truth: Truth, predicted: Predicted) -> float | None:
    """Share of the questions answered as the truth says, in [0, 1]; None without a question. Source: spec 4.1."""
    if not truth:
        return None
    if not predicted:
        return 0.0
    return sum(_right(truth, predicted)) / len(truth)


def _right(truth: Truth, predicted: Mapping[str, str]) -> Iterator[bool]:
    """Whether each question of the truth is answered as it says."""
    return map(eq, truth.values(), map(predicted.get, truth))


@dataclass(frozen=True, slots=True)
class Confusion:
    """Counts with "yes" as the positive class. Every rate is 0 where its denominator is 0 and there is any truth.

    Without any truth (all four counts 0) the rates are None: undefined is not 0.
    """

    tp: int = 0
    tn: int = 0
    fp: int = 0
    fn: int = 0

    def __add__(self, other: Confusion) -> Confusion:
        return Confusion(self.tp + other.tp, self.tn + other.tn, self.fp + other.fp, self.fn + other.fn)

    @property
    def total(self) -> int:
        return self.tp + self.tn + self.fp + self.fn

    @property
    def accuracy(self) -> float | None:
        return self._rate(self.tp + self.tn, self.total)

    @property
    def precision(self) -> float | None:
        return self._rate(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        return self._rate(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        return self._rate(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    @property
    def mcc(self) -> float | None:
        """Matthews correlation, in [−1, 1]."""
        tp, tn, fp, fn = self.tp, self.tn, self.fp, self.fn
        return self._rate(tp * tn - fp * fn, sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))

    def _rate(self, numerator: float, denominator: float) -> float | None:
        if not self.total:
            return None
        return numerator / denominator if denominator else 0.0


def cells_of(truth: Truth, categories: Mapping[str, str]) -> Cells:
    """Each question's "category/answer" in the order of the truth, made once for all models."""
    return tuple(intern(f"{categories.get(question, UNCATEGORISED)}/{answer}") for question, answer in truth.items())


def tally(turns: Iterable[tuple[Truth, Cells, Predicted]]) -> dict[str, Confusion]:
    """The counts over all turns by question category; not answered is fn where the truth is yes, fp where it is no.

    Each turn comes with the `cells_of` its truth. Categories without a question that has truth are left out.
    """
    listed = list(turns)
    right = Counter(
        chain.from_iterable(compress(cells, _right(truth, predicted or {})) for truth, cells, predicted in listed)
    )
    counts = {}
    for category, yes, asked_yes, no, asked_no in _asked(tuple(cells for _, cells, _ in listed)):
        tp, tn = right[yes], right[no]
        counts[category] = Confusion(tp=tp, tn=tn, fp=asked_no - tn, fn=asked_yes - tp)
    return counts


@lru_cache(maxsize=4096)
def _asked(turns: tuple[Cells, ...]) -> tuple[tuple[str, str, int, str, int], ...]:
    """Category, its cell of yes and how often that was asked, and the same of no; in alphabetical order.

    Every model is asked the same, so a conversation is counted once.
    """
    asked = Counter(chain.from_iterable(turns))
    names = sorted({cell.rpartition("/")[0] for cell in asked})
    return tuple((name, yes := f"{name}/yes", asked[yes], no := f"{name}/no", asked[no]) for name in names)


def total(tallies: Mapping[str, Confusion]) -> Confusion:
    """The counts over all categories."""
    return sum(tallies.values(), Confusion())


def gap(minuend: float | None, subtrahend: float | None) -> float | None:
    """minuend − subtrahend, in [−1, 1] for two shares; None where either is undefined. Source: spec 4.1."""
    return None if minuend is None or subtrahend is None else minuend - subtrahend


def _accuracy_card(metric_id: str, label: str, meaning: str, field: str, truth: str, *, canonical: bool) -> Metric:
    return Metric(
        id=metric_id,
        label=label,
        group="turn",
        status="canonical" if canonical else "alongside",
        level="turn",
        low=0.0,
        high=1.0,
        meaning=meaning,
        definition=f"Share of the questions with {truth} yes or no on which em_{field} equals it; "
        "not answered is wrong.",
        source=README,
        chance=0.5,
        proportion=True,
    )


def _gap_card(metric_id: str, label: str, meaning: str, definition: str, source: str, *, shown: bool) -> Metric:
    return Metric(
        id=metric_id,
        label=label,
        group="turn" if shown else "diagnostic",
        status="alongside" if shown else "diagnostic",
        level="conversation",
        low=-1.0,
        high=1.0,
        meaning=meaning,
        definition=definition,
        source=source,
        unit="difference",
        higher_is_better=None,
    )


CARDS: tuple[Metric, ...] = (
    _accuracy_card(
        "binary_om_accuracy",
        "Binary OM",
        "How often the model agrees with the person about what the reply of the original model (OM) did.",
        "binary_om_assessment",
        "observedBehavior",
        canonical=True,
    ),
    _accuracy_card(
        "binary_hp_accuracy",
        "Binary HP",
        "How often the model knows what the person (HP, human participant) would have wanted the reply to do.",
        "binary_human_prediction",
        "preferredBehavior",
        canonical=True,
    ),
    _accuracy_card(
        "binary_om_accuracy_hp",
        "Binary OM, person's phrasing",
        "As Binary OM, with the questions put the way the person read them.",
        "binary_om_assessment_hp",
        "observedBehavior",
        canonical=False,
    ),
    _accuracy_card(
        "binary_hp_accuracy_hp",
        "Binary HP, person's phrasing",
        "As Binary HP, with the questions put the way the person read them.",
        "binary_human_prediction_hp",
        "preferredBehavior",
        canonical=False,
    ),
    _gap_card(
        "perspective_gap",
        "Perspective gap",
        "How much better the model sees what a reply did than what the person would have wanted.",
        "binary_om_accuracy − binary_hp_accuracy of the conversation.",
        README,
        shown=True,
    ),
    _gap_card(
        "phrasing_gap",
        "Phrasing gap",
        "How much the wording of the questions matters: observer's phrasing minus the person's own.",
        "binary_hp_accuracy − binary_hp_accuracy_hp of the conversation.",
        OURS,
        shown=False,
    ),
)
