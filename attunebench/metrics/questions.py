"""The questions about the whole conversation: Q1 goals, Q2 clarity, Q3 fit and its follow-up. Source: spec 4.2.

As `truth` None means no truth; as `predicted` None means not answered: credit 0, also where the truth is empty. An
empty collection is an answer on both sides. A conversation that was never asked is not passed here.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from attunebench.metrics.card import OURS, PUBLIC_CODE, CardMaker, Metric
from attunebench.metrics.matching import matched_total
from attunebench.metrics.means import overlap_end
from attunebench.metrics.text import jaccard, normalised, tokens

LEAST_SIMILARITY = 0.3
"""Token overlap under which two follow-up entries have nothing in common."""
WORST_FIT_DISTANCE = 3.0

CARDS: list[Metric] = []
_canonical = CardMaker(CARDS, status="canonical", group="conversation", level="conversation")
_diagnostic = CardMaker(CARDS, status="diagnostic", group="diagnostic", level="conversation", source=OURS)


@_canonical.of("Q1 goals", "How well the model predicts what the person was looking for in the conversation.")
def q1_goals(truth: Collection[str] | None, predicted: Collection[str] | None) -> float | None:
    """Selected options in common / options selected by either; both empty 1; not answered 0."""
    if not truth or not predicted:
        return overlap_end(truth, predicted)
    return jaccard(set(map(normalised, truth)), set(map(normalised, predicted)))


for _id, _label, _meaning in (
    ("q2_clarity", "Q2 clarity", "How often the model correctly predicts how clear the person's feelings were."),
    ("q3_fit", "Q3 fit", "How often the model correctly predicts how well the replies fitted what the person needed."),
):
    _definition = "1 if the option is the person's, else 0; not answered 0."
    _canonical(_id, _label, _meaning, _definition, chance=0.25, proportion=True)


def same_option(truth: str | None, predicted: str | None) -> float | None:
    """1 if the two options are equal, else 0: Q2 clarity, Q3 fit."""
    if truth is None:
        return None
    return float(predicted is not None and normalised(truth) == normalised(predicted))


@_canonical.of("Q3 follow-up", "How well the model predicts what felt off to the person, if anything did.")
def q3_follow_up(truth: Sequence[str] | None, predicted: Sequence[str] | None) -> float | None:
    """S / (n_G + n_P − S) with S the best matching of entries by token overlap (equal 1, under 0.3 nothing); both
    empty 1, exactly one empty 0; not answered 0."""
    if not truth or not predicted:
        return overlap_end(truth, predicted)
    matched = _matched_entries(truth, predicted)
    return matched / (len(truth) + len(predicted) - matched)


def _matched_entries(truth: Sequence[str], predicted: Sequence[str]) -> float:
    return matched_total([[entry_similarity(felt, guess) for guess in predicted] for felt in truth])


@lru_cache(maxsize=4096)
def entry_similarity(one: str, other: str) -> float:
    """1 if equal, else the token Jaccard where it is at least 0.3, else 0."""
    if normalised(one) == normalised(other):
        return 1.0
    share = jaccard(tokens(one), tokens(other))
    return share if share >= LEAST_SIMILARITY else 0.0


@_diagnostic.of(
    "Q3 fit distance",
    "Distance between predicted and reported fit, in steps of the four ordered answers.",
    high=WORST_FIT_DISTANCE,
    unit="steps",
    higher_is_better=False,
)
def q3_fit_distance(truth: str | None, predicted: str | None, options: Sequence[str]) -> float | None:
    """Distance of the two options in the ordered list; 3 where not answered.

    3 too where answered with no option of the list; None where the truth is none of them.
    """
    order = _order(tuple(options))
    right = None if truth is None else order.get(normalised(truth))
    if right is None:
        return None
    guess = None if predicted is None else order.get(normalised(predicted))
    return WORST_FIT_DISTANCE if guess is None else float(abs(right - guess))


@lru_cache(maxsize=64)
def _order(options: tuple[str, ...]) -> dict[str, int]:
    return {normalised(option): position for position, option in enumerate(options)}


_diagnostic(
    "q3_follow_up_asked",
    "Q3 follow-up, where something felt off",
    "Q3 follow-up over only the conversations in which something felt off.",
    "q3_follow_up over the conversations whose truth is not empty.",
    group="conversation",
)


@_diagnostic.of(
    "Q3 follow-up false alarms",
    "How often the model predicts that something felt off where nothing did.",
    higher_is_better=False,
    proportion=True,
)
def q3_follow_up_false_alarm(truth: Sequence[str] | None, predicted: Sequence[str] | None) -> float | None:
    """Share of the conversations with an empty truth where an entry was predicted; not answered counts as one."""
    return None if truth is None or truth else float(predicted is None or bool(predicted))


_diagnostic(
    "q1_goals_f1",
    "Q1 goals, F1 form",
    "Q1 goals in the form that some implementations use.",
    "2·o/(1 + o) of the overlap o.",
    source=PUBLIC_CODE,
)


def f1_of_overlap(share: float | None) -> float | None:
    """The F1 of two sets from their intersection over union."""
    return None if share is None else 2 * share / (1 + share)


@_diagnostic.of("Q3 follow-up, F1 form", "Q3 follow-up in the form that some implementations use.", source=PUBLIC_CODE)
def q3_follow_up_f1(truth: Sequence[str] | None, predicted: Sequence[str] | None) -> float | None:
    """2S / (n_G + n_P); both empty 1; not answered 0."""
    if not truth or not predicted:
        return overlap_end(truth, predicted)
    return 2 * _matched_entries(truth, predicted) / (len(truth) + len(predicted))
