"""The released rules, straight from the text of spec 09: a second implementation, for the tests alone.

It shares no code with the package and reads the two files' JSON. Keys are those of the released scorer; the words of
the text stand beside what they ask for. What it leaves open is marked OPEN, with the reading that is taken here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from released_turns import (
    BINARY,
    CODEBOOK,
    VA,
    Counts,
    Json,
    Values,
    f1_of,
    half_up,
    jaccard,
    mean,
    of_counts,
    plain,
    ratio,
    summed,
    turn_scores,
)

SIDES = {
    side: [entry["item"].lower() for entry in CODEBOOK["panas"]["items"] if entry["polarity"] == side]
    for side in ("positive", "negative")
}
TOTAL = {"positive": "totalPositiveAffect", "negative": "totalNegativeAffect"}
FIT_OPTIONS = [
    "very well-matched and adaptive",
    "mostly well-matched",
    "mixed, some good moments, some misses",
    "mostly off-target or intrusive",
]
BRANCHES = ("perceiving", "facilitating", "understanding", "managing")
STANDARD_ERRORS = (
    "emotion_hit_rate",
    "binary_om_accuracy",
    "binary_human_accuracy",
    "pairwise_accuracy",
    "panas_normalized",
    "composite_score",
)


# --- PANAS


def items_of(block: Json, *names: str) -> dict[str, float]:
    given = next((block[name] for name in names if block.get(name) is not None), {})
    return {plain(name): value for name, value in given.items() if value is not None and plain(name) in VA}


def total_of(block: Json, side: str, items: Mapping[str, float]) -> float | None:
    """The file's total, clamped to 10-70 and rounded; where missing, the sum of the items of that side that are there.

    OPEN: which way a half is rounded; here up, as the Composite's.
    """
    stated = block.get(TOTAL[side])
    if stated is not None:
        return half_up(min(70, max(10, stated)), 0)
    known = [items[item] for item in SIDES[side] if item in items]
    return sum(known) if known else None


def adjusted(post: float | None, predicted: float | None, pre: float | None, width: float) -> float | None:
    if post is None or predicted is None or pre is None or post == pre:
        return None
    raw, naive = max(0.0, 1 - abs(post - predicted) / width), max(0.0, 1 - abs(post - pre) / width)
    return min(1.0, max(-1.0, (raw - naive) / (1 - naive)))


def panas(conversation: Json, result: Json) -> Values:
    post, pre = conversation.get("postPanas") or {}, conversation.get("prePanas") or {}
    predicted = (result.get("post_conversation") or {}).get("predicted_post_panas") or {}
    after, before, said = items_of(post, "responses", "items"), items_of(pre, "responses", "items"), {}
    said = items_of(predicted, "items")
    errors, by_side, sides = [], {}, []
    for side in SIDES:
        ends = total_of(post, side, after), total_of(predicted, side, said), total_of(pre, side, before)
        sides.append(adjusted(*ends, 60))
        by_side[side] = None
        if ends[0] is not None or ends[1] is not None:
            actual, guess = (40.0 if value is None else value for value in ends[:2])
            errors.append(abs(actual - guess))
            by_side[side] = max(0.0, 1 - errors[-1] / 60)
    mae = mean(errors) or 0.0
    both = sorted(after.keys() & said.keys())
    item_mae = mean(abs(after[item] - said[item]) for item in both)
    return {
        "panas_mae": mae,
        "panas_normalized": max(0.0, 1 - mae / 60),
        "panas_normalized_positive": by_side["positive"],
        "panas_normalized_negative": by_side["negative"],
        "panas_baseline_adjusted": mean(sides),
        "panas_item_mae": item_mae,
        "panas_item_normalized": None if item_mae is None else max(0.0, 1 - item_mae / 6),
        "panas_item_baseline_adjusted": mean(adjusted(after[item], said[item], before.get(item), 6) for item in both),
    }


# --- Questions about the whole


def entry_credit(entry: str, others: Sequence[str]) -> float:
    """1 if the other side has it, else its best token Jaccard if that is at least 0.3, else 0."""
    best = max(jaccard(entry, other) for other in others)
    return 1.0 if entry in others else best if best >= 0.3 else 0.0


def follow_up(truth: Sequence[str], predicted: Sequence[str]) -> float:
    if not truth and not predicted:
        return 1.0
    if not truth or not predicted:
        return 0.0
    recall = sum(entry_credit(entry, predicted) for entry in truth) / len(truth)
    precision = sum(entry_credit(entry, truth) for entry in predicted) / len(predicted)
    return ratio(2 * precision * recall, precision + recall)


def index_of_fit(value: object) -> int | None:
    return FIT_OPTIONS.index(plain(value)) if plain(value) in FIT_OPTIONS else None


def wide(conversation: Json, result: Json) -> Values:
    truth = conversation.get("conversationWideQuestions") or {}
    said = (result.get("post_conversation") or {}).get("predicted_conversation_wide") or {}
    looking = [{plain(option) for option in block.get("q1_lookingFor") or []} for block in (truth, said)]
    q1, _, _ = f1_of(*looking)
    fits = [index_of_fit(block.get("q3_modelFit")) for block in (truth, said)]
    distance = 0.0 if fits == [None, None] else 3.0 if None in fits else float(abs(fits[0] - fits[1]))  # type: ignore[operator]
    felt_off = [[plain(entry) for entry in block.get("q3_followUp_whatFeltOff") or []] for block in (truth, said)]
    union = looking[0] | looking[1]
    scores, guessed = truth.get("fourBranchScores") or {}, said.get("fourBranchScores") or {}
    errors = [
        abs(scores[branch] - (4 if guessed.get(branch) is None else guessed[branch]))
        for branch in BRANCHES
        if scores.get(branch) is not None
    ]
    return {
        "q1_looking_for_score": q1,
        "q1_jaccard": len(looking[0] & looking[1]) / len(union) if union else 1.0,
        "q2_match": float(plain(truth.get("q2_emotionClarity")) == plain(said.get("q2_emotionClarity"))),
        "q3_match": float(plain(truth.get("q3_modelFit")) == plain(said.get("q3_modelFit"))),
        "q3_model_fit_ordinal_distance": distance,
        "q3_follow_up_score": follow_up(*felt_off),
        "four_branch_normalized": 1 - (mean(errors) or 0.0) / 6,
    }


# --- Conversations and aggregates


def conversation_scores(conversation: Json, result: Json) -> dict[str, Any]:
    """`values` by key, `turns` by number, `counts` by block: over "the turns that both files have, in turn order"."""
    answers = {answer["turnNumber"]: answer for answer in result["turns"]}
    common = sorted(
        (turn for turn in conversation["turns"] if turn["turnNumber"] in answers), key=lambda turn: turn["turnNumber"]
    )
    scored = {turn["turnNumber"]: turn_scores(turn, answers[turn["turnNumber"]]) for turn in common}
    turns = {number: values for number, (values, _) in scored.items()}
    counts = {name: summed(counts[name] for _, counts in scored.values()) for name in BINARY}
    keys = next(iter(turns.values()), {})
    values: Values = {key: mean(turn[key] for turn in turns.values()) for key in keys}
    values |= {**panas(conversation, result), **wide(conversation, result)}
    if turns:
        values |= perspective(values, counts)
        values |= composites(values)
    return {"values": values, "turns": turns, "counts": counts}


def perspective(values: Values, counts: Mapping[str, Counts]) -> Values:
    """Observer wording beside participant wording, of Binary HP."""
    pairs = {
        "": (values["binary_human_accuracy"], values["binary_human_accuracy_hp"]),
        "_mcc": tuple(of_counts(counts[name])["mcc"] for name in ("binary_human", "binary_human_hp")),
    }
    found: Values = {}
    for ending, (observer, participant) in pairs.items():
        assert observer is not None
        assert participant is not None
        found[f"hp_perspective_gap{ending}"] = observer - participant
        found[f"hp_perspective_alignment{ending}"] = participant / observer if observer > 0 else 0.0
    return found


def composites(values: Mapping[str, float | None]) -> Values:
    def of(key: str) -> float:
        value = values[key]
        assert value is not None
        return value

    tracking = (of("emotion_f1") + of("emotion_va_score")) / 2
    yes_no = (of("binary_om_accuracy") + of("binary_human_accuracy")) / 2
    preferred, branches = of("pairwise_accuracy"), of("four_branch_normalized")
    change = values["panas_baseline_adjusted"]
    mood = 0.5 if change is None else (change + 1) / 2
    questions = (of("q1_looking_for_score") + of("q2_match") + of("q3_match") + of("q3_follow_up_score")) / 4
    turn_level, conversation_wide = (tracking + yes_no + preferred) / 3, (mood + questions + branches) / 3
    holistic = 0.4 * mood + 0.3 * questions + 0.3 * branches
    composite = 100 * (0.24 * tracking + 0.49 * (0.5 * yes_no + 0.5 * preferred) + 0.27 * holistic)
    return {
        "turn_level_average": turn_level,
        "conversation_wide_average": conversation_wide,
        "composite_score": half_up(composite, 2),
        "equal_weight_composite": half_up((turn_level + conversation_wide) / 2 * 100, 2),
    }


def aggregate(scored: Sequence[Json]) -> dict[str, Any]:
    """`values`: plain means of the defined values; `errors`: the six standard errors; `pooled` by block."""
    keys = {key for each in scored for key in each["values"]}
    columns = {key: [each["values"].get(key) for each in scored] for key in keys}
    return {
        "values": {key: mean(column) for key, column in columns.items()},
        "errors": {key: standard_error(columns[key]) for key in STANDARD_ERRORS if key in columns},
        "pooled": {name: of_counts(summed(each["counts"][name] for each in scored)) for name in BINARY},
    }


def standard_error(column: Iterable[float | None]) -> float | None:
    """sd / sqrt(n) with n - 1 in sd; undefined for one conversation."""
    values = [value for value in column if value is not None]
    return float(np.std(values, ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else None


def z_scores(composites_of_groups: Sequence[float]) -> list[float]:
    """Of each model × mode; 0 with fewer than two or sd 0; four decimals. OPEN: which sd; here n - 1, as above."""
    if len(composites_of_groups) < 2 or not (sd := float(np.std(composites_of_groups, ddof=1))):
        return [0.0] * len(composites_of_groups)
    centre = sum(composites_of_groups) / len(composites_of_groups)
    return [half_up((value - centre) / sd, 4) for value in composites_of_groups]
