"""The turn level of the released rules, straight from the text of spec 09. See `released_oracle`."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

Json = Mapping[str, Any]
Values = dict[str, float | None]
Counts = dict[str, int]

CODEBOOK = json.loads((Path(__file__).parents[2] / "annotation_codebook.json").read_text("utf-8"))
VA = {entry["item"].lower(): (entry["valence"], entry["arousal"]) for entry in CODEBOOK["panas"]["items"]}
BINARY = {
    "binary_om": ("em_binary_om_assessment", ("observedBehavior", "llmValue")),
    "binary_human": ("em_binary_human_prediction", ("preferredBehavior", "observedBehavior")),
    "binary_om_hp": ("em_binary_om_assessment_hp", ("observedBehavior", "llmValue")),
    "binary_human_hp": ("em_binary_human_prediction_hp", ("preferredBehavior", "observedBehavior")),
}
ACCURACY = {
    "binary_om": "binary_om_accuracy",
    "binary_human": "binary_human_accuracy",
    "binary_om_hp": "binary_om_accuracy_hp",
    "binary_human_hp": "binary_human_accuracy_hp",
}


def plain(value: object) -> str:
    """Trimmed and lower-cased; a missing text is the empty one."""
    return value.strip().lower() if isinstance(value, str) else ""


def mean(values: Iterable[float | None]) -> float | None:
    """Of the defined values; None without any."""
    defined = [value for value in values if value is not None]
    return sum(defined) / len(defined) if defined else None


def half_up(value: float, digits: int) -> float:
    return math.floor(value * 10**digits + 0.5) / 10**digits


# --- Emotions: "names compared trimmed and lower-cased"


def f1_of(truth: set[str], predicted: set[str]) -> tuple[float, float, float]:
    """F1, precision, recall. "both empty 1; truth empty and something predicted 0; else set F1"."""
    if not truth and not predicted:
        return 1.0, 1.0, 1.0
    common = len(truth & predicted)
    precision = common / len(predicted) if predicted else 0.0
    recall = common / len(truth) if truth else 0.0
    return (2 * precision * recall / (precision + recall) if common else 0.0), precision, recall


def va_similarity(a: str, b: str) -> float:
    """Spec 04: round(1 - distance / sqrt 2, 4). "unknown name: 0"."""
    if a not in VA or b not in VA:
        return 0.0
    return round(1 - math.dist(VA[a], VA[b]) / math.sqrt(2), 4)


def closeness(a: float | None, b: float | None) -> float | None:
    return None if a is None or b is None else 1 - abs(a - b) / 6


def assigned(truth: Sequence[Any], predicted: Sequence[Any], similarity: Any) -> float:
    """Both empty 1, one empty 0; optimal one-to-one matching; the sum over the larger number."""
    if not truth and not predicted:
        return 1.0
    if not truth or not predicted:
        return 0.0
    table = np.array([[similarity(a, b) for b in predicted] for a in truth])
    rows, columns = linear_sum_assignment(table, maximize=True)
    return float(table[rows, columns].sum()) / max(len(truth), len(predicted))


def emotions(turn: Json, answer: Json) -> Values:
    truth, predicted = (
        [(plain(tag.get("emotion")), tag.get("intensity")) for tag in tags or []]
        for tags in (turn.get("moodShiftTags"), answer.get("em_emotion_tags"))
    )
    names, said = {name for name, _ in truth}, {name for name, _ in predicted}
    f1, precision, recall = f1_of(names, said)
    # OPEN: a name that stands twice with two intensities; the tests give it one.
    felt, guessed = dict(truth), dict(predicted)
    both = [(felt[name], guessed[name]) for name in names & said if None not in (felt[name], guessed[name])]
    apart = [abs(a - b) for a, b in both]
    near = mean(1 - each / 6 for each in apart) or 0.0
    hit_rate = recall if names else (0.0 if said else 1.0)

    def combined(a: tuple[str, float | None], b: tuple[str, float | None]) -> float:
        return 0.7 * va_similarity(a[0], b[0]) + 0.3 * (closeness(a[1], b[1]) or 0.0)

    return {
        "emotion_hit_rate": hit_rate,
        "emotion_hit_rate_tagged_only": hit_rate if names else None,
        "emotion_f1": f1,
        "emotion_precision": precision,
        "emotion_recall": recall,
        "emotion_f1_intensity": f1 if not names or not said else f1 * near,
        "emotion_intensity_mae": mean(apart),
        "emotion_va_score": assigned(truth, predicted, lambda a, b: va_similarity(a[0], b[0])),
        "emotion_va_intensity_score": assigned(truth, predicted, combined),
    }


# --- Yes and no


def truths(turn: Json, keys: Sequence[str]) -> dict[str, str]:
    """Question → yes or no: the first of the keys that is not null; `na` is no truth."""
    found = {}
    for judgement in turn["annotations"].get("binaryJudgements") or []:
        value = next((judgement[key] for key in keys if judgement.get(key) is not None), None)
        if plain(value) in ("yes", "no"):
            found[judgement["questionId"]] = plain(value)
    return found


def confusion(truth: Json, answers: Json | None) -> Counts:
    """Missing or `na`: "counted FN where the truth is yes, TN where the truth is no"."""
    counts = dict.fromkeys(("tp", "tn", "fp", "fn"), 0)
    for question, value in truth.items():
        said = plain((answers or {}).get(question)) == "yes"
        counts["tp" if said and value == "yes" else "fn" if value == "yes" else "fp" if said else "tn"] += 1
    return counts


def ratio(a: float, b: float) -> float:
    """ "every ratio 0 where its denominator is 0"."""
    return a / b if b else 0.0


def accuracy(counts: Counts) -> float:
    return ratio(counts["tp"] + counts["tn"], sum(counts.values()))


def of_counts(counts: Counts) -> dict[str, float]:
    """The pooled figures."""
    tp, tn, fp, fn = (counts[key] for key in ("tp", "tn", "fp", "fn"))
    precision, recall = ratio(tp, tp + fp), ratio(tp, tp + fn)
    return {
        "accuracy": accuracy(counts),
        "precision": precision,
        "recall": recall,
        "f1": ratio(2 * precision * recall, precision + recall),
        "mcc": ratio(tp * tn - fp * fn, math.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))),
    }


def summed(counts: Iterable[Counts]) -> Counts:
    total = dict.fromkeys(("tp", "tn", "fp", "fn"), 0)
    for each in counts:
        for key, value in each.items():
            total[key] += value
    return total


def binary(turn: Json, answer: Json) -> tuple[Values, dict[str, Counts]]:
    """ "1.0 for a turn without any judgement"; participant wording "0 for a turn without any judgement"."""
    values: Values = {}
    counts = {}
    judged = bool(turn["annotations"].get("binaryJudgements"))
    for name, (block, keys) in BINARY.items():
        counts[name] = confusion(truths(turn, keys), answer.get(block))
        nothing = 0.0 if name.endswith("_hp") else 1.0
        values[ACCURACY[name]] = accuracy(counts[name]) if judged else nothing
    return values, counts


# --- Pairwise


def comparisons_of(turn: Json) -> list[Json]:
    return list(turn["annotations"].get("pairwiseComparisons") or [])


def wins(comparisons: Sequence[Json], letters: Sequence[str | None]) -> Counter[str]:
    chosen = zip(comparisons, letters, strict=True)
    return Counter(each["responseA" if letter == "A" else "responseB"] for each, letter in chosen if letter)


def letter(value: object) -> str | None:
    return value.strip().upper() if isinstance(value, str) and value.strip().upper() in ("A", "B") else None


def tau(labels: Iterable[str], truth: Mapping[str, int], predicted: Mapping[str, int]) -> float:
    """Each side ranked by wins, ties in alphabetical order; (concordant - discordant) / all pairs."""
    places = [
        {label: place for place, label in enumerate(sorted(labels, key=lambda label: (-side.get(label, 0), label)))}
        for side in (truth, predicted)
    ]
    names = sorted(places[0])
    signs = [
        1 if all(place[a] < place[b] for place in places) or all(place[a] > place[b] for place in places) else -1
        for index, a in enumerate(names)
        for b in names[index + 1 :]
    ]
    return sum(signs) / len(signs)


def pairwise(turn: Json, answer: Json) -> Values:
    comparisons = comparisons_of(turn)
    given = answer.get("em_pairwise_selections") or {}
    winners = [letter(each.get("winner")) for each in comparisons]
    selected = [letter(given.get(str(index))) for index in range(len(comparisons))]
    equal = [a is not None and a == b for a, b in zip(winners, selected, strict=True)]
    # OPEN: which labels there are; here those that the turn compares.
    labels = {each[side] for each in comparisons for side in ("responseA", "responseB")}
    ranked = len(labels) >= 2 and any(selected)
    return {
        "pairwise_accuracy": sum(equal) / len(equal) if equal else 1.0,
        "pairwise_kendall_tau": tau(labels, wins(comparisons, winners), wins(comparisons, selected))
        if ranked
        else None,
    }


# --- Drafts


def tokens(text: str) -> set[str]:
    return set(text.lower().split())


def jaccard(a: str, b: str) -> float:
    union = tokens(a) | tokens(b)
    return len(tokens(a) & tokens(b)) / len(union) if union else 1.0


def drafts(turn: Json, answer: Json) -> Values:
    scores = answer.get("em_draft_judge_scores") or {}
    ratings = [scores.get(key) for key in ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match")]
    rated = mean(ratings)
    assessment = answer.get("em_draft_binary_assessment")
    wished = truths(turn, BINARY["binary_human"][1])
    aligned = None
    if wished and assessment is not None:
        aligned = sum(plain(assessment.get(question)) == value for question, value in wished.items()) / len(wished)
    return {
        "draft_judge_score": None if rated is None else min(1.0, max(0.0, (rated - 1) / 6)),
        "draft_binary_alignment": aligned,
        **closeness_of_draft(turn, answer.get("em_drafted_response")),
    }


def closeness_of_draft(turn: Json, draft: str | None) -> Values:
    if not draft:
        return {"response_similarity": 0.0, "response_preference_alignment": 0.0}
    others = turn["annotations"].get("alternateResponses") or {}
    texts = {
        "original": turn.get("llmResponse"),
        "alternate": others.get("llmImproved"),
        "human": others.get("humanEdited"),
    }
    near = {label: jaccard(draft, text) for label, text in texts.items() if text}
    largest = max(near.values(), default=0.0)
    comparisons = comparisons_of(turn)
    won = wins(comparisons, [letter(each.get("winner")) for each in comparisons])
    weight = sum(won[label] for label in near)
    # OPEN: winners, but none of them has a text; here as without a winner.
    weighted = sum(won[label] * value for label, value in near.items()) / weight if weight else largest
    return {"response_similarity": largest, "response_preference_alignment": weighted}


def turn_scores(turn: Json, answer: Json) -> tuple[Values, dict[str, Counts]]:
    values, counts = binary(turn, answer)
    return {**emotions(turn, answer), **values, **pairwise(turn, answer), **drafts(turn, answer)}, counts
