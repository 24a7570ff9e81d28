"""The rules of the released scorer, for comparison with published numbers: plain data in, values out.

Source: spec 09, row by row, in its order. Shares no code with our own metrics, so that each can be read against its
source. Our ids name the quantities; what only the released scorer computes keeps its name there. Knows no file.

An answer that is missing is missing, whatever the reason: these rules do not tell "not measured" from "not answered".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import NamedTuple

Tags = Sequence[tuple[str, "float | None"]]
"""(name, intensity 1–7 or None); a name may stand in it twice."""
Similarity = Mapping[str, Mapping[str, float]]
"""Lower-case name → lower-case name → similarity."""
Answers = Mapping[str, str]
Values = dict[str, "float | None"]

FIT_UNKNOWN, BRANCH_MISSING, TOTAL_MISSING = 3.0, 4.0, 40.0
LEAST_JACCARD = 0.3
RATINGS = ("overall", "appropriateness", "helpfulness", "tone")
BRANCHES = ("perceiving", "facilitating", "understanding", "managing")


# Turn level


def _name(text: str) -> str:
    return text.strip().lower()


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return _ratio(sum(listed), len(listed))


def _mean_defined(values: Iterable[float | None]) -> float | None:
    defined = [value for value in values if value is not None]
    return _mean(defined) if defined else None


def emotions(truth: Tags, predicted: Tags, similarity: Similarity) -> Values:
    """`emotion_hit_rate`, `_f1`, `_precision`, `_recall`, `_f1_intensity`, `_intensity_mae`, `emotion_va_score` and
    `emotion_va_intensity_score` of a turn, and `emotion_hit_rate_tagged_only` (None on a turn without tags)."""
    felt, guessed = {_name(name) for name, _ in truth}, {_name(name) for name, _ in predicted}
    shared = len(felt & guessed)
    empty = float(not felt and not guessed)
    both = bool(felt and guessed)
    hit_rate = shared / len(felt) if felt else empty
    f1 = 2 * shared / (len(felt) + len(guessed)) if both else empty
    strengths, guesses = _intensities(truth), _intensities(predicted)
    distances = [abs(strengths[name] - guesses[name]) for name in strengths.keys() & guesses.keys()]
    mae = _mean(distances) if distances else None
    return {
        "emotion_hit_rate": hit_rate,
        "emotion_hit_rate_tagged": hit_rate if felt else None,
        "emotion_f1": f1,
        "emotion_precision": shared / len(guessed) if both else empty,
        "emotion_recall": shared / len(felt) if both else empty,
        "emotion_f1_intensity": (0.0 if mae is None else f1 * (1 - mae / 6)) if both else empty,
        "emotion_intensity_mae": mae,
        "emotion_va": _matched(truth, predicted, similarity, intensity=0.0) if both else empty,
        "emotion_va_intensity": _matched(truth, predicted, similarity, intensity=0.3) if both else empty,
    }


def _intensities(tags: Tags) -> dict[str, float]:
    """Name → intensity; the higher where a name stands there twice, which the source leaves open."""
    known: dict[str, float] = {}
    for name, intensity in tags:
        if intensity is not None:
            known[_name(name)] = max(intensity, known.get(_name(name), intensity))
    return known


def _matched(truth: Tags, predicted: Tags, similarity: Similarity, intensity: float) -> float:
    """Similarity of the optimal assignment over the larger number of tags; `intensity` is that part's weight."""
    from scipy.optimize import linear_sum_assignment

    table = [
        [
            (1 - intensity) * similarity.get(_name(felt), {}).get(_name(guess), 0.0)
            + intensity * (0.0 if strength is None or guessed is None else 1 - abs(strength - guessed) / 6)
            for guess, guessed in predicted
        ]
        for felt, strength in truth
    ]
    pairs = zip(*linear_sum_assignment(table, maximize=True), strict=True)
    return float(sum(table[row][column] for row, column in pairs)) / max(len(truth), len(predicted))


class Judgement(NamedTuple):
    """The labels of a binary question as the file has them: yes, no, na, or None where it has null."""

    question: str
    observed: str | None
    llm_value: str | None
    preferred: str | None

    @property
    def om(self) -> str | None:
        """Truth of Binary OM; `na` is none."""
        return self.llm_value if self.observed is None else self.observed

    @property
    def hp(self) -> str | None:
        """Truth of Binary HP; `na` is none."""
        return self.observed if self.preferred is None else self.preferred


class Confusion(NamedTuple):
    """Counts with "yes" as the positive class."""

    tp: int = 0
    tn: int = 0
    fp: int = 0
    fn: int = 0

    @property
    def accuracy(self) -> float:
        return _ratio(self.tp + self.tn, sum(self))

    @property
    def mcc(self) -> float:
        tp, tn, fp, fn = self
        return _ratio(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)))


def confusion(truth: Answers, predicted: Answers) -> Confusion:
    """Counts over the questions whose truth is yes or no; a prediction that is missing or `na` is FN or TN."""
    yes = [predicted.get(question) == "yes" for question, answer in truth.items() if answer == "yes"]
    no = [predicted.get(question) == "yes" for question, answer in truth.items() if answer == "no"]
    return Confusion(tp=sum(yes), tn=len(no) - sum(no), fp=sum(no), fn=len(yes) - sum(yes))


def total(counts: Iterable[Confusion]) -> Confusion:
    """Counts summed, for the pooled figures."""
    return Confusion(*map(sum, zip(Confusion(), *counts, strict=True)))


def accuracy(counts: Confusion, *, judged: bool, participant: bool) -> float:
    """Of a turn; without any judgement 1, in the participant's wording (`…_hp`) 0."""
    return counts.accuracy if judged else float(not participant)


class Comparison(NamedTuple):
    """Two reply labels and the side that won, None without a winner."""

    a: str
    b: str
    winner: str | None


def pairwise_accuracy(comparisons: Sequence[Comparison], selections: Answers) -> float:
    """Share of all comparisons whose selection equals the winner; 1 without comparisons."""
    right = [one.winner is not None and selections.get(str(i)) == one.winner for i, one in enumerate(comparisons)]
    return _mean(right) if right else 1.0


def wins(comparisons: Sequence[Comparison], letters: Sequence[str | None]) -> dict[str, int]:
    """How often each label was chosen; a comparison without a letter counts nowhere."""
    counts = {label: 0 for one in comparisons for label in (one.a, one.b)}
    for one, letter in zip(comparisons, letters, strict=True):
        if letter is not None:
            counts[one.b if letter == "B" else one.a] += 1
    return counts


def kendall_tau(truth: Mapping[str, int], predicted: Mapping[str, int]) -> float | None:
    """τ of two rankings by wins, ties in alphabetical order; None for fewer than two labels or without a selection."""
    if len(truth) < 2 or not any(predicted.values()):
        return None
    places = [
        {label: place for place, label in enumerate(sorted(counts, key=lambda label: (-counts[label], label)))}
        for counts in (truth, predicted)
    ]
    pairs = list(combinations(truth, 2))
    agreed = sum((places[0][one] < places[0][other]) == (places[1][one] < places[1][other]) for one, other in pairs)
    return (2 * agreed - len(pairs)) / len(pairs)


def draft_judge(ratings: Mapping[str, float]) -> float | None:
    """`draft_judge_score` from the first judge's ratings 1–7; None without any."""
    given = _mean_defined(ratings.get(name) for name in RATINGS)
    return None if given is None else min(1.0, max(0.0, (given - 1) / 6))


def draft_binary_alignment(truth: Answers, assessment: Answers | None) -> float | None:
    """Share of the preferences that the assessment of the draft meets; missing is wrong."""
    known = {question: answer for question, answer in truth.items() if answer in ("yes", "no")}
    if not known or assessment is None:
        return None
    return _mean(assessment.get(question) == answer for question, answer in known.items())


def jaccard(one: str, other: str) -> float:
    """Token Jaccard: lower case, split at white space."""
    left, right = set(one.lower().split()), set(other.lower().split())
    return _ratio(len(left & right), len(left | right))


def response_similarity(draft: str | None, texts: Mapping[str, str], won: Mapping[str, int]) -> Values:
    """The draft's Jaccard with each variant, the largest (`response_similarity`), and `response_preference_alignment`.

    0 without a draft; without a winner among the variants that have a text the alignment is the largest.
    """
    near = {label: 0.0 if draft is None else jaccard(draft, text) for label, text in texts.items()}
    largest = max(near.values(), default=0.0)
    share = sum(won.get(label, 0) for label in near)
    weighted = sum(value * won.get(label, 0) for label, value in near.items())
    return {
        **{f"response_similarity_{label}": near.get(label) for label in ("original", "alternate", "human")},
        "response_similarity_max": largest,
        "response_preference_alignment": weighted / share if share else largest,
    }


# Conversation level


@dataclass(frozen=True, slots=True)
class Panas:
    """A state: the file's two totals (positive, negative) or None, and the items of each side that are there."""

    stated: tuple[float | None, float | None] = (None, None)
    positive: Mapping[str, float] = field(default_factory=dict)
    negative: Mapping[str, float] = field(default_factory=dict)

    @property
    def totals(self) -> tuple[float | None, float | None]:
        """The file's total, clamped to 10–70 and rounded; where it is missing, the sum of the items that are there."""
        sides = zip(self.stated, (self.positive, self.negative), strict=True)
        return tuple(  # type: ignore[return-value]
            (sum(items.values()) if items else None) if stated is None else _half_up(min(70.0, max(10.0, stated)), 0)
            for stated, items in sides
        )

    @property
    def items(self) -> dict[str, float]:
        return {**self.positive, **self.negative}


def _half_up(value: float, digits: int) -> float:
    scale = 10.0**digits
    return math.floor(value * scale + 0.5) / scale


def _adjusted(pre: float | None, post: float | None, predicted: float | None, span: float) -> float | None:
    if pre is None or post is None or predicted is None or post == pre:
        return None
    raw, naive = max(0.0, 1 - abs(post - predicted) / span), max(0.0, 1 - abs(post - pre) / span)
    return max(-1.0, min(1.0, (raw - naive) / (1 - naive)))


def panas(pre: Panas, post: Panas, predicted: Panas) -> Values:
    """`panas_mae`, `panas_normalized` (also per side), `panas_baseline_adjusted`, and the three over items."""
    sides = list(zip(pre.totals, post.totals, predicted.totals, strict=True))
    errors = [
        None
        if actual is None and guess is None
        else abs((TOTAL_MISSING if actual is None else actual) - (TOTAL_MISSING if guess is None else guess))
        for _, actual, guess in sides
    ]
    mae = _mean_defined(errors) or 0.0
    per_side = [None if error is None else max(0.0, 1 - error / 60) for error in errors]
    items = [(pre.items.get(i), value, predicted.items[i]) for i, value in post.items.items() if i in predicted.items]
    item_mae = _mean_defined(abs(actual - guess) for _, actual, guess in items)
    return {
        "panas_mae": mae,
        "panas_normalized": max(0.0, 1 - mae / 60),
        "panas_normalized_positive": per_side[0],
        "panas_normalized_negative": per_side[1],
        "panas_baseline_adjusted": _mean_defined(_adjusted(*side, 60) for side in sides),
        "panas_item_mae": item_mae,
        "panas_item_normalized": None if item_mae is None else 1 - item_mae / 6,
        "panas_item_baseline_adjusted": _mean_defined(_adjusted(*item, 6) for item in items),
    }


@dataclass(frozen=True, slots=True)
class Wide:
    """The answers about the whole conversation, labelled or predicted; what is missing is empty."""

    q1: Sequence[str] = ()
    q2: str = ""
    q3: str = ""
    follow_up: Sequence[str] = ()
    branches: Mapping[str, float] = field(default_factory=dict)


def questions(truth: Wide, predicted: Wide, fit_options: Sequence[str]) -> Values:
    """The four questions: `q1_looking_for_score` (F1) and its Jaccard beside, Q2, Q3, its distance, the follow-up."""
    wanted, guessed = set(map(_name, truth.q1)), set(map(_name, predicted.q1))
    shared = len(wanted & guessed)
    order = {_name(option): float(place) for place, option in enumerate(fit_options)}
    right, guess = order.get(_name(truth.q3)), order.get(_name(predicted.q3))
    unknown = 0.0 if right is None and guess is None else FIT_UNKNOWN
    return {
        "q1_goals": 2 * shared / (len(wanted) + len(guessed)) if wanted or guessed else 1.0,
        "q1_jaccard": shared / len(wanted | guessed) if wanted or guessed else 1.0,
        "q2_clarity": float(_name(truth.q2) == _name(predicted.q2)),
        "q3_fit": float(_name(truth.q3) == _name(predicted.q3)),
        "q3_fit_distance": unknown if right is None or guess is None else abs(right - guess),
        "q3_follow_up": follow_up(truth.follow_up, predicted.follow_up),
    }


def follow_up(truth: Sequence[str], predicted: Sequence[str]) -> float:
    """`q3_follow_up_score`: F1 of fuzzy recall and precision; many entries may meet the same one."""
    if not truth or not predicted:
        return float(not truth and not predicted)
    recall, precision = _credit(truth, predicted), _credit(predicted, truth)
    return _ratio(2 * recall * precision, recall + precision)


def _credit(entries: Sequence[str], others: Sequence[str]) -> float:
    """Mean credit of the entries: 1 if the other side has it, else its best Jaccard where that is at least 0.3."""
    held = set(map(_name, others))
    best = [1.0 if _name(entry) in held else max(jaccard(entry, other) for other in others) for entry in entries]
    return _mean(credit if credit >= LEAST_JACCARD else 0.0 for credit in best)


def four_branch(truth: Mapping[str, float], predicted: Mapping[str, float]) -> Values:
    """1 − MAE/6 over the branches that have a truth, a missing prediction being 4; 1 without any truth."""
    errors = {name: abs(truth[name] - predicted.get(name, BRANCH_MISSING)) for name in BRANCHES if name in truth}
    single = {f"four_branch_{name}": 1 - errors[name] / 6 if name in errors else None for name in BRANCHES}
    return {"four_branch": 1 - _mean(errors.values()) / 6, **single}


def perspective(observer: Confusion, participant: Confusion, accuracy: float, accuracy_hp: float) -> Values:
    """`hp_perspective_gap` (our `phrasing_gap`) and `hp_perspective_alignment`, and both on the pooled MCC."""
    mcc, mcc_hp = observer.mcc, participant.mcc
    return {
        "phrasing_gap": accuracy - accuracy_hp,
        "hp_perspective_alignment": accuracy_hp / accuracy if accuracy > 0 else 0.0,
        "hp_perspective_gap_mcc": mcc - mcc_hp,
        "hp_perspective_alignment_mcc": mcc_hp / mcc if mcc > 0 else 0.0,
    }


def composite(values: Mapping[str, float | None]) -> Values:
    """The pillars, `composite_score` and `equal_weight_composite` (both 0–100, two decimals) and the two averages."""

    def value(metric_id: str) -> float:
        return values[metric_id] or 0.0

    adjusted = values["panas_baseline_adjusted"]
    mood = 0.5 if adjusted is None else (adjusted + 1) / 2
    tracking = 0.5 * value("emotion_f1") + 0.5 * value("emotion_va")
    binary = (value("binary_om_accuracy") + value("binary_hp_accuracy")) / 2
    asked = _mean(map(value, ("q1_goals", "q2_clarity", "q3_fit", "q3_follow_up")))
    evaluation = 0.5 * binary + 0.5 * value("pairwise_accuracy")
    comprehension = 0.4 * mood + 0.3 * asked + 0.3 * value("four_branch")
    turn_level = _mean((tracking, binary, value("pairwise_accuracy")))
    conversation_wide = _mean((mood, asked, value("four_branch")))
    return {
        "emotion_tracking": tracking,
        "evaluation_quality": evaluation,
        "holistic_comprehension": comprehension,
        "turn_level_average": turn_level,
        "conversation_wide_average": conversation_wide,
        "composite": _half_up(100 * (0.24 * tracking + 0.49 * evaluation + 0.27 * comprehension), 2),
        "equal_weight_composite": _half_up((turn_level + conversation_wide) / 2 * 100, 2),
    }


def z_scores(composites: Sequence[float]) -> list[float]:
    """`z_score` of each model × mode among all; 0 with fewer than two or without spread; four decimals."""
    mean = _mean(composites)
    spread = math.sqrt(_ratio(sum((one - mean) ** 2 for one in composites), len(composites) - 1))
    return [_half_up(_ratio(one - mean, spread), 4) for one in composites]
