"""One conversation and one result → the entry of the scores file, with all metrics. Pure; knows no folder.

This is the one place that tells "not measured" from "not answered": a family of metrics whose block the result does not
have at all is left out here (None), so that in the metrics a missing prediction is always a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from attunebench.constants import PANAS_NEGATIVE, PANAS_POSITIVE, PANAS_SIMILARITY, Q3_OPTIONS
from attunebench.conversations.schema import Conversation
from attunebench.metrics import bertscore, binary, draft, emotion, four_branch, pairwise, panas, questions
from attunebench.metrics.composite import composite
from attunebench.metrics.means import mean_defined
from attunebench.metrics.rates import rate
from attunebench.metrics.registry import Rules, cards_of
from attunebench.metrics.text import tokens
from attunebench.results.parsing import parse_result
from attunebench.results.schema import BINARY_BLOCKS, PredictedTag, Result
from attunebench.results.votes import on_one_scale
from attunebench.scorer.alignment import MismatchError, aligned
from attunebench.scorer.answers import (
    RATES,
    Pair,
    counts_of,
    pairs_of,
    pooled_json,
    turn_answers,
    usage_of,
    whole_answers,
)
from attunebench.scorer.closeness import DraftScores
from attunebench.scorer.released import ACCURACIES, TURN_METRICS, Scored, score_released
from attunebench.scorer.truth import Truth, TruthTurn, prepare
from attunebench.scores.schema import ConversationEntry

Values = dict[str, "float | None"]

_NOTHING: Values = dict.fromkeys(TURN_METRICS)
_SIMILARITIES = tuple(f"response_similarity_{variant}" for variant in (*pairwise.VARIANTS, "max"))
_SIDES = tuple(
    (side, tuple(item.lower() for item in items))
    for side, items in (("positive", PANAS_POSITIVE), ("negative", PANAS_NEGATIVE))
)


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
    return score_prepared(prepare(conversation), on_one_scale(result))


def score_prepared(truth: Truth, result: Result, drafts: DraftScores | None = None) -> ConversationEntry:
    """As `score_conversation`, with the labels prepared once for all results of the conversation.

    `drafts`: the BERTScores of its drafts, None where they were not asked for.
    """
    result = aligned(truth, result)
    pairs = pairs_of(truth, result)
    counts = counts_of(result, pairs)
    rules: Rules = "attunebench" if truth.released is None else "released"
    scored = _score(truth, result, pairs, drafts) if truth.released is None else score_released(truth.released, result)
    rates = {metric_id: rate(counts[part], counts[whole]) for metric_id, (part, whole) in RATES.items()}
    values = {**scored.metrics, **rates}
    return {
        "conversationId": truth.conversation_id,
        "provider": result.provider,
        "em_model": result.em_model,
        "mode": result.mode,
        "epoch": result.epoch,
        "source_file": result.source_file,
        "participant_id": truth.entry["participant_id"],
        "n_turns": len(pairs),
        "metrics": {metric_id: values.get(metric_id) for metric_id in cards_of(rules)},
        "turns": [
            {
                "turnNumber": pair.truth.number,
                "metrics": scored.turns.get(pair.truth.number) or _NOTHING.copy(),
                "answers": turn_answers(pair, result.measured),
            }
            for pair in pairs
        ],
        "pooled": pooled_json(scored.pooled, rules),
        "calls": counts,
        "composite_complete": scored.complete,
        "answers": whole_answers(result),
        "usage": usage_of(result),
        "api_cost": result.api_cost,
        "duration_seconds": result.duration_seconds,
    }


def _score(truth: Truth, result: Result, pairs: Sequence[Pair], drafts: DraftScores | None) -> Scored:
    turns = {pair.truth.number: _turn_values(pair, result) for pair in pairs}
    pooled = {block: _tally(truth, block, pairs) if block in result.measured else None for block in BINARY_BLOCKS}
    if drafts is not None and "draft" in result.measured:
        for turn, answer, _, _ in pairs:
            found = drafts.of(truth.conversation_id, turn.number, answer.draft)
            turns[turn.number].update(bertscore.turn_values(answer.draft is not None, turn.variants.keys(), found))
    columns = zip(*(values.values() for values in turns.values()), strict=True)
    changes = _panas_changes(truth, result)
    values: Values = {
        **_NOTHING,
        **dict(zip(TURN_METRICS, map(mean_defined, columns), strict=False)),  # no columns without a turn
        **(_panas_values(truth, result, changes) if "panas" in result.measured else {}),
        **(_wide_values(truth, result) if "wide" in result.measured else {}),
    }
    values["perspective_gap"] = binary.gap(values["binary_om_accuracy"], values["binary_hp_accuracy"])
    values["phrasing_gap"] = binary.gap(values["binary_hp_accuracy"], values["binary_hp_accuracy_hp"])
    whole = composite(values, nothing_moved="panas" in result.measured and panas.nothing_moved(changes))
    return Scored({**values, **whole.values}, turns, pooled, whole.complete)


def _tally(truth: Truth, block: str, pairs: Iterable[Pair]) -> dict[str, binary.Confusion]:
    answers = b"".join([pair.binary[block] for pair in pairs])
    return binary.tally(truth.cells[block], [binary.right_answers(truth.binary[block], answers)])


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


def _turn_values(pair: Pair, result: Result) -> Values:
    (truth, answer, letters, chosen), measured = pair, result.measured
    values: Values = _NOTHING.copy()
    for block, given in letters.items():
        values[ACCURACIES[block]] = binary.binary_accuracy(truth.binary[block], given)
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


def _panas_changes(truth: Truth, result: Result) -> list[panas.Change]:
    pre, post, predicted = truth.entry["pre_panas"], truth.entry["post_panas"], result.panas
    return [
        panas.Change(pre[side], post[side], panas.total_of(predicted.items, items, getattr(predicted, side)))  # type: ignore[literal-required]
        for side, items in _SIDES
    ]


def _panas_values(truth: Truth, result: Result, changes: list[panas.Change]) -> Values:
    pre, post, predicted = truth.entry["pre_panas"]["items"], truth.entry["post_panas"]["items"], result.panas.items
    items = [panas.Change(pre.get(item), rating, predicted.get(item)) for item, rating in post.items()]
    return {
        "panas_baseline_adjusted": panas.mean_baseline_adjusted(changes),
        "panas_normalized": panas.panas_normalized(changes),
        "panas_item_normalized": panas.panas_item_normalized(post, predicted),
        "panas_item_baseline_adjusted": panas.mean_baseline_adjusted(items),
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
