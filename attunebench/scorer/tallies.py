"""How many items were expected and answered, how many calls made, refused and mended, for one result.

The file's own counts are taken where they are sound; a file without them is counted from what is in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from attunebench.coerce import amount
from attunebench.constants import BRANCHES, PANAS_ITEMS, PANAS_NEGATIVE, PANAS_POSITIVE
from attunebench.metrics.rates import rate
from attunebench.results.schema import Result, ResultTurn
from attunebench.scorer.truth import TruthTurn

RATES = {
    "answered_rate": ("answered", "expected"),
    "refusal_rate": ("refused", "made"),
    "mended_rate": ("mended", "made"),
}
"""Metric id → the two counts whose ratio it is; over several conversations both are summed first."""

Pairs = Sequence[tuple[TruthTurn, ResultTurn]]


@dataclass(frozen=True, slots=True)
class Tallies:
    """Counts of one result; None is unknown. Judges and reasoning are not among them.

    `reasked`: calls that were asked again at least once; `truncated`: calls cut at the limit of tokens for good.
    """

    answered: float | None = None
    expected: float | None = None
    made: float | None = None
    refused: float | None = None
    mended: float | None = None
    reasked: float | None = None
    truncated: float | None = None

    def as_json(self) -> dict[str, float | None]:
        """The counts by name, in the order of the fields."""
        return {name: getattr(self, name) for name in self.__slots__}

    def rates(self) -> dict[str, float | None]:
        """The rates by metric id, in [0, 1]."""
        return {
            metric_id: rate(getattr(self, part), getattr(self, whole)) for metric_id, (part, whole) in RATES.items()
        }


def tallies_of(result: Result, pairs: Pairs) -> Tallies:
    """The counts of a result; `pairs` are its turns beside the turns of the truth."""
    calls = result.calls
    answered, expected = amount(calls.get("answered_items")), amount(calls.get("expected_items"))
    if answered is None or not expected or answered > expected:
        answered, expected = _counted(result, pairs)
    made = amount(calls.get("made"))
    parts = {name: _part(calls.get(name), made) for name in ("refused", "mended", "reasked", "truncated")}
    return Tallies(answered, expected, made, **parts)


def _part(value: object, whole: float | None) -> float | None:
    known = amount(value)
    return known if known is not None and whole is not None and known <= whole else None


def _counted(result: Result, pairs: Pairs) -> tuple[float, float]:
    """(answered, expected) over the blocks that the result has."""
    answered = expected = 0
    for truth, answer in pairs:
        for key, given, asked in (
            ("draft", int(answer.draft is not None), 1),
            ("tags", int(answer.tags is not None), 1),
            ("binary_om", _among(truth.questions, answer.binary_om), len(truth.questions)),
            ("binary_hp", _among(truth.questions, answer.binary_hp), len(truth.questions)),
            ("binary_om_hp", _among(truth.questions, answer.binary_om_hp), len(truth.questions)),
            ("binary_hp_hp", _among(truth.questions, answer.binary_hp_hp), len(truth.questions)),
            ("pairwise", _among(truth.comparisons, answer.pairwise), len(truth.comparisons)),
        ):
            if key in result.measured:
                answered += given
                expected += asked
    if "panas" in result.measured:
        answered += _answered_items(result)
        expected += len(PANAS_ITEMS)
    if "wide" in result.measured:
        wide = result.wide
        answered += sum(answer is not None for answer in (wide.q1, wide.q2, wide.q3, wide.follow_up))
        answered += len(wide.four_branch)
        expected += 4 + len(BRANCHES)
    return answered, expected


def _among(asked: Set[str], answers: Mapping[str, object]) -> int:
    return len(asked & answers.keys())


def _answered_items(result: Result) -> int:
    """Items of PANAS that were answered; a side for which only the total is given counts as answered."""
    answered = 0
    for side, total in ((PANAS_POSITIVE, result.panas.positive), (PANAS_NEGATIVE, result.panas.negative)):
        answered += len(side) if total is not None else _among({item.lower() for item in side}, result.panas.items)
    return answered
