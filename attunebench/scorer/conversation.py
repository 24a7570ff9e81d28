"""One conversation and one result → the entry of the scores file, with all metrics. Pure; knows no folder.

This is the one place that tells "not measured" from "not answered": a family of metrics whose block the result does not
have at all is left out here (None), so that in the metrics a missing prediction is always a wrong one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from attunebench.constants import PANAS_SIMILARITY, Q3_OPTIONS
from attunebench.conversations.schema import Conversation
from attunebench.metrics import bertscore, binary, draft, emotion, four_branch, pairwise, panas, questions
from attunebench.metrics.composite import composite
from attunebench.metrics.rates import rate
from attunebench.metrics.registry import Rules, cards_of
from attunebench.metrics.text import tokens
from attunebench.results.parsing import parse_result
from attunebench.results.schema import BINARY_BLOCKS, PredictedTag, Result, ResultTurn
from attunebench.results.votes import on_one_scale
from attunebench.scorer.answers import PANAS_SIDES, RATES, Answers, MismatchError, answers_of, counts_of, usage_of
from attunebench.scorer.closeness import DraftScores
from attunebench.scorer.released import ACCURACIES, CATEGORIES, TURN_METRICS, Counts, RuleValues, score_released
from attunebench.scorer.truth import Truth, TruthTurn, prepare
from attunebench.scores.schema import ConversationEntry, Pooled, PooledBlock, PooledCell
from attunebench.statistics.bootstrap import Floats, mean_as_ratio, ratio_of_sums

Values = dict[str, "float | None"]

_NOTHING: Values = dict.fromkeys(TURN_METRICS)
_PHRASINGS = len(BINARY_BLOCKS) // 2
_SIMILARITIES = tuple(f"response_similarity_{variant}" for variant in (*pairwise.VARIANTS, "max"))


def quick_scores(conversation: Conversation, result: Mapping[str, Any]) -> Values:
    """Metric id → value of one result as it was assembled, for the `scores` block of its file.

    Empty where the result answers other turns, texts or comparisons than the conversation has now.
    """
    try:
        return score_conversation(conversation, parse_result(dict(result), source_file=""))["metrics"]
    except MismatchError:
        return {}


def score_conversation(conversation: Conversation, result: Result) -> ConversationEntry:
    """All scores of one result, of its votes those on one scale; MismatchError, a ValueError, where the result answers
    another conversation."""
    return score_prepared(prepare(conversation), on_one_scale(result))[0]


def score_prepared(truth: Truth, result: Result, drafts: DraftScores | None = None) -> tuple[ConversationEntry, Floats]:
    """As `score_conversation`, with the labels prepared once for all results of the conversation; and the entry as one
    row of numbers: its metrics in registry order, its `COUNTS`, its pooled counts; NaN is undefined.

    `drafts`: the BERTScores of its drafts, None where they were not asked for.
    """
    (scored,) = score_together(truth, [answers_of(truth, result)], drafts)
    return scored


def score_together(
    truth: Truth, several: Sequence[Answers], drafts: DraftScores | None = None
) -> list[tuple[ConversationEntry, Floats]]:
    """`score_prepared` of several results of a conversation, as arrays that cost little more than those of one."""
    if not several:
        return []
    rules: Rules = "attunebench" if truth.released is None else "released"
    scored = (
        _score(truth, several, drafts)
        if truth.released is None
        else [score_released(truth.released, answers.result) for answers in several]
    )
    entries = [_entry(truth, answers, values, rules) for answers, values in zip(several, scored, strict=True)]
    figures = [[*entry["metrics"].values(), *counts.values()] for entry, counts in entries]
    measured = np.array([[block in values.measured for block in BINARY_BLOCKS] for values in scored])
    pooled = np.array([values.pooled for values in scored]).reshape(*measured.shape, -1)
    known = np.where(measured[..., None], pooled, np.nan).reshape(len(scored), -1)
    rows = np.hstack([np.array(figures, dtype=np.float64), known])
    return [(entry, row) for (entry, _), row in zip(entries, rows, strict=True)]


def _entry(
    truth: Truth, answers: Answers, scored: RuleValues, rules: Rules
) -> tuple[ConversationEntry, dict[str, float | None]]:
    """The entry, and the counts in it."""
    result, counts = answers.result, counts_of(truth, answers)
    rates = {metric_id: rate(counts[part], counts[whole]) for metric_id, (part, whole) in RATES.items()}
    values = {**scored.metrics, **rates}
    turns = zip(truth.turns, answers.of_turns(), strict=True)
    return {
        "conversationId": truth.conversation_id,
        "provider": result.provider,
        "em_model": result.em_model,
        "mode": result.mode,
        "epoch": result.epoch,
        "source_file": result.source_file,
        "participant_id": truth.entry["participant_id"],
        "n_turns": len(truth.turns),
        "metrics": dict(zip(cards_of(rules), map(values.get, cards_of(rules)), strict=True)),
        "turns": [
            {"turnNumber": turn.number, "metrics": scored.turns.get(turn.number) or _NOTHING.copy(), "answers": given}
            for turn, given in turns
        ],
        "pooled": pooled_json(scored.pooled, scored.measured, rules),
        "calls": counts,
        "composite_complete": scored.complete,
        "answers": answers.of_conversation(),
        "usage": usage_of(result),
        "api_cost": result.api_cost,
        "duration_seconds": result.duration_seconds,
    }, counts


def _score(truth: Truth, several: Sequence[Answers], drafts: DraftScores | None) -> list[RuleValues]:
    letters = np.frombuffer(b"".join([answers.letters for answers in several]), dtype=np.uint8)
    right = truth.binary.right(letters.reshape(len(several), _PHRASINGS, *truth.binary.letters.shape))
    of_blocks = (len(several), len(BINARY_BLOCKS))
    shares = truth.binary.accuracies(right).reshape(*of_blocks, -1).swapaxes(1, 2).tolist()
    pooled = truth.binary.tally(right).reshape(*of_blocks, len(CATEGORIES), -1)
    turns = [_turns(truth, answers, of_turns, drafts) for answers, of_turns in zip(several, shares, strict=True)]
    table = np.array([[*values.values()] for each in turns for values in each.values()], dtype=np.float64)
    table = table.reshape(len(several), len(truth.turns), len(TURN_METRICS)).swapaxes(0, 1)
    means = ratio_of_sums(*mean_as_ratio(table)).tolist()
    return [_of_result(truth, *each) for each in zip(several, turns, means, pooled, strict=True)]


def _turns(
    truth: Truth, answers: Answers, shares: Sequence[Sequence[float]], drafts: DraftScores | None
) -> dict[int, Values]:
    """Turn number → its values; `shares`: those of each turn's blocks that are right."""
    measured, turns = answers.measured, {}
    blocks = [(row, ACCURACIES[block]) for row, block in enumerate(BINARY_BLOCKS) if block in measured]
    for labels, answer, chosen, row in zip(truth.turns, answers.turns, answers.pairwise, shares, strict=True):
        values = turns[labels.number] = _turn_values(labels, answer, chosen, answers.result)
        for place, metric_id in blocks:
            values[metric_id] = _none_if_nan(row[place])
        if drafts is not None and "draft" in measured:
            found = drafts.of(truth.conversation_id, labels.number, answer.draft)
            values.update(bertscore.turn_values(answer.draft is not None, labels.variants.keys(), found))
    return turns


def _of_result(
    truth: Truth, answers: Answers, turns: Mapping[int, Values], means: Sequence[float], pooled: Counts
) -> RuleValues:
    measured, result = answers.measured, answers.result
    values: Values = {
        **dict(zip(TURN_METRICS, map(_none_if_nan, means), strict=True)),
        **(_panas_values(truth, result) if "panas" in measured else {}),
        **(_wide_values(truth, result) if "wide" in measured else {}),
    }
    values["perspective_gap"] = binary.gap(values["binary_om_accuracy"], values["binary_hp_accuracy"])
    values["phrasing_gap"] = binary.gap(values["binary_hp_accuracy"], values["binary_hp_accuracy_hp"])
    pre, post = ([truth.entry[state][side] for side in PANAS_SIDES] for state in ("pre_panas", "post_panas"))  # type: ignore[literal-required]
    whole = composite(values, nothing_moved="panas" in measured and panas.nothing_moved(pre, post))
    return RuleValues({**values, **whole.values}, turns, pooled, measured, whole.complete)


def _none_if_nan(value: float) -> float | None:
    return None if value != value else value


# Files of a conversation come one after the other, and models often say the same of a turn.
@lru_cache(maxsize=4096)
def _tag_values(truth: TruthTurn, tags: tuple[PredictedTag, ...] | None) -> Values:
    predicted = None if tags is None else emotion.as_tags(tags)
    return emotion.turn_values(truth.entry["tags"], predicted, PANAS_SIMILARITY)


@lru_cache(maxsize=4096)
def _choice_values(truth: TruthTurn, letters: str) -> Values:
    chosen = {index: letter for index, letter in zip(truth.indices, letters, strict=True) if letter != "-"}
    return {
        "pairwise_accuracy": pairwise.pairwise_accuracy(truth.winners, chosen),
        "kendall_tau": pairwise.kendall_tau(truth.sides, truth.winners, chosen),
    }


def _turn_values(truth: TruthTurn, answer: ResultTurn, chosen: str, result: Result) -> Values:
    """All values of a turn but for those of yes and no."""
    values, measured = _NOTHING.copy(), result.measured
    values["neutral_turn_share"] = emotion.neutral_turn_share(truth.entry["tags"])
    if "tags" in measured:
        values.update(_tag_values(truth, answer.tags))
    if "pairwise" in measured:
        values.update(_choice_values(truth, chosen))
    # Where drafts were not recorded at all, a vote shows that there was one.
    recorded = "draft" in measured
    has_draft = answer.draft is not None if recorded else bool(answer.voters)
    if result.judges and (recorded or has_draft):
        ratings, preferred = answer.ratings, truth.preferred
        values["draft_judge"] = draft.draft_judge(has_draft, ratings)
        values.update(draft.parts(has_draft, ratings))
        values["draft_binary_alignment"] = draft.draft_binary_alignment(has_draft, preferred, answer.assessments)
    if recorded:
        words = None if answer.draft is None else tokens(answer.draft)
        similarity = draft.response_similarity(words, truth.variants)
        values.update(zip(_SIMILARITIES, similarity.values(), strict=True))
        values["response_preference_alignment"] = draft.response_preference_alignment(
            similarity, truth.wins, answered=words is not None
        )
    return values


def _panas_values(truth: Truth, result: Result) -> Values:
    pre, post, predicted = truth.entry["pre_panas"], truth.entry["post_panas"], result.panas
    befores, afters = ([state[side] for side in PANAS_SIDES] for state in (pre, post))  # type: ignore[literal-required]
    totals = [panas.total_of(predicted.items, items, getattr(predicted, side)) for side, items in PANAS_SIDES.items()]
    items = list(post["items"].values())
    known, guesses = ([*map(state.get, post["items"])] for state in (pre["items"], predicted.items))
    return {
        "panas_baseline_adjusted": panas.mean_baseline_adjusted(befores, afters, totals),
        "panas_normalized": panas.panas_normalized(afters, totals),
        "panas_item_normalized": panas.panas_item_normalized(items, guesses),
        "panas_item_baseline_adjusted": panas.mean_baseline_adjusted(known, items, guesses),
    }


def _wide_values(truth: Truth, result: Result) -> Values:
    wide, predicted = truth.entry["wide"], result.wide
    goals = questions.q1_goals(wide["q1"], predicted.q1)
    follow_up = questions.q3_follow_up(wide["follow_up"], predicted.follow_up)
    ratings, guesses = wide["four_branch"], predicted.four_branch
    return {
        "q1_goals": goals,
        "q1_goals_f1": questions.f1_of_overlap(goals),
        "q2_clarity": questions.same_option(wide["q2"], predicted.q2),
        "q3_fit": questions.same_option(wide["q3"], predicted.q3),
        "q3_fit_distance": questions.q3_fit_distance(wide["q3"], predicted.q3, Q3_OPTIONS),
        "q3_follow_up": follow_up,
        "q3_follow_up_asked": follow_up if wide["follow_up"] else None,
        "q3_follow_up_false_alarm": questions.q3_follow_up_false_alarm(wide["follow_up"], predicted.follow_up),
        "q3_follow_up_f1": questions.q3_follow_up_f1(wide["follow_up"], predicted.follow_up),
        "four_branch": four_branch.four_branch(ratings, guesses),
        **{f"four_branch_{n}": four_branch.branch(ratings.get(n), guesses.get(n)) for n in four_branch.NAMES},
    }


def pooled_json(counts: Counts, measured: Collection[str], rules: Rules = "attunebench") -> Pooled:
    """Counts (blocks, categories, 4) → these and their rates, in all and by category; None for a block that was not
    measured."""
    rows = zip(BINARY_BLOCKS, counts.sum(axis=1).tolist(), counts.tolist(), strict=True)
    return {block: _block(total, cells, rules) if block in measured else None for block, total, cells in rows}


def _block(total: list[int], cells: list[list[int]], rules: Rules) -> PooledBlock:
    asked = ((name, counts) for name, counts in zip(CATEGORIES, cells, strict=True) if any(counts))
    return {
        **_cell(rules, *total),
        "by_category": {name: _cell(rules, *counts).copy() for name, counts in asked},
    }


@lru_cache(maxsize=65_536)
def _cell(rules: Rules, tp: int, tn: int, fp: int, fn: int) -> PooledCell:
    """Nine in ten have stood in an earlier entry. Without truth rates are undefined, and 0 by the released rules."""
    counts = binary.Confusion(tp, tn, fp, fn)
    rates = dict.fromkeys(counts.rates, 0.0) if rules == "released" and not any(counts) else counts.rates
    return {**counts._asdict(), **rates}  # type: ignore[typeddict-item]
