"""One conversation and one result → all metrics of the conversation. Pure; knows no folder and no aggregate.

This is the one place that tells "not measured" from "not answered": a family of metrics whose block the result does not
have at all is left out here (None), so that in the metrics a missing prediction is always a wrong one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from attunebench.constants import PANAS_NEGATIVE, PANAS_POSITIVE, PANAS_SIMILARITY, Q3_OPTIONS
from attunebench.conversations.schema import Conversation
from attunebench.metrics import bertscore, binary, draft, emotion, four_branch, pairwise, panas, questions
from attunebench.metrics.binary import Confusion
from attunebench.metrics.composite import composite
from attunebench.metrics.means import mean_defined
from attunebench.metrics.registry import Rules, cards_of
from attunebench.metrics.text import tokens
from attunebench.results.parsing import parse_result
from attunebench.results.schema import BINARY_BLOCKS, Result, ResultTurn
from attunebench.results.votes import on_one_scale
from attunebench.scorer.alignment import MismatchError, aligned
from attunebench.scorer.answers import Answers, answers_of
from attunebench.scorer.closeness import DraftScores
from attunebench.scorer.released import score_released
from attunebench.scorer.tallies import Tallies, tallies_of
from attunebench.scorer.truth import Truth, TruthTurn, prepare

Values = dict[str, "float | None"]
Pooled = Mapping[str, "Mapping[str, Confusion] | None"]

TURN_METRICS = tuple(card.id for card in cards_of("attunebench").values() if card.level == "turn")
_ACCURACIES = {
    "binary_om": "binary_om_accuracy",
    "binary_hp": "binary_hp_accuracy",
    "binary_om_hp": "binary_om_accuracy_hp",
    "binary_hp_hp": "binary_hp_accuracy_hp",
}
_SIDES = (
    tuple(item.lower() for item in PANAS_POSITIVE),
    tuple(item.lower() for item in PANAS_NEGATIVE),
)


@dataclass(frozen=True, slots=True)
class ConversationScore:
    """All scores of one result. `metrics` and each of `turns` (turn number → values) hold every id of their level.

    `pooled`: block → category → counts, None for a block that was not measured.
    """

    conversation_id: str
    provider: str
    em_model: str
    mode: str
    epoch: int | None
    participant_id: str | None
    source_file: str
    metrics: Values
    turns: Mapping[int, Values]
    pooled: Pooled
    tallies: Tallies
    composite_complete: bool
    answers: Answers
    rules: Rules = "attunebench"

    @property
    def key(self) -> tuple[str, str, str, str, int | None]:
        """What no second result may share (spec 5.3)."""
        return (self.conversation_id, self.provider, self.em_model, self.mode, self.epoch)


def quick_scores(conversation: Conversation, result: Mapping[str, Any]) -> Values:
    """Metric id → value of one result as it was assembled, for the `scores` block of its file.

    Empty where the result answers other turns, texts or comparisons than the conversation has now.
    """
    try:
        return score_conversation(conversation, parse_result(dict(result), source_file="")).metrics
    except MismatchError:
        return {}


def score_conversation(conversation: Conversation, result: Result) -> ConversationScore:
    """All metrics of one result, of its votes those on one scale; MismatchError, a ValueError, where the result answers
    another conversation."""
    return score_prepared(prepare(conversation), on_one_scale(result))


def score_prepared(truth: Truth, result: Result, drafts: DraftScores | None = None) -> ConversationScore:
    """As `score_conversation`, with the labels prepared once for all results of the conversation.

    `drafts`: the BERTScores of its drafts, None where they were not asked for.
    """
    result = aligned(truth, result)
    given = {turn.number: turn for turn in result.turns}
    pairs = [(turn, given.get(turn.number) or ResultTurn(turn.number)) for turn in truth.turns]
    tallies = tallies_of(result, pairs)
    rules: Rules = "attunebench" if truth.released is None else "released"
    scored = _score_ours(truth, result, pairs, drafts) if truth.released is None else _score_released(truth, result)
    values = {**scored.metrics, **tallies.rates()}
    return ConversationScore(
        conversation_id=truth.conversation_id,
        provider=result.provider,
        em_model=result.em_model,
        mode=result.mode,
        epoch=result.epoch,
        participant_id=truth.participant_id,
        source_file=result.source_file,
        metrics={metric_id: values.get(metric_id) for metric_id in cards_of(rules)},
        turns=scored.turns,
        pooled=scored.pooled,
        tallies=tallies,
        composite_complete=scored.complete,
        answers=answers_of(result, {turn.number: turn.n_comparisons for turn in truth.turns}),
        rules=rules,
    )


class _Scored(NamedTuple):
    """What the rules make of a result: its metrics, those of its turns, its pooled counts, and whether all is there."""

    metrics: Values
    turns: dict[int, Values]
    pooled: Pooled
    complete: bool


def _score_released(truth: Truth, result: Result) -> _Scored:
    assert truth.released is not None
    metrics, found, pooled = score_released(truth.released, result)
    turns = {turn.number: {name: found.get(turn.number, {}).get(name) for name in TURN_METRICS} for turn in truth.turns}
    return _Scored(metrics, turns, pooled, complete=True)


def _score_ours(
    truth: Truth, result: Result, pairs: list[tuple[TruthTurn, ResultTurn]], drafts: DraftScores | None
) -> _Scored:
    turns = {turn.number: _turn_values(turn, answer, result) for turn, answer in pairs}
    if drafts is not None and "draft" in result.measured:
        for turn, answer in pairs:
            found = drafts.of(truth.conversation_id, turn.number, answer.draft)
            turns[turn.number].update(bertscore.turn_values(answer.draft is not None, turn.variants.keys(), found))
    changes = _panas_changes(truth, result)
    values: Values = {
        **_means(list(turns.values())),
        **_panas_values(truth, result, changes),
        **_wide_values(truth, result),
    }
    values["perspective_gap"] = binary.gap(values["binary_om_accuracy"], values["binary_hp_accuracy"])
    values["phrasing_gap"] = binary.gap(values["binary_hp_accuracy"], values["binary_hp_accuracy_hp"])
    measured_panas = "panas" in result.measured
    whole = composite(values, nothing_moved=measured_panas and panas.nothing_moved(changes))
    return _Scored({**values, **whole.values}, turns, _pooled(pairs, result), whole.complete)


def _means(turns: list[Values]) -> Values:
    columns = zip(*(turn.values() for turn in turns), strict=True)
    return dict(zip(TURN_METRICS, map(mean_defined, columns), strict=True)) if turns else dict.fromkeys(TURN_METRICS)


def _turn_values(truth: TruthTurn, answer: ResultTurn, result: Result) -> Values:
    measured = result.measured
    values: Values = dict.fromkeys(TURN_METRICS)
    values["neutral_turn_share"] = emotion.neutral_turn_share(truth.tags)
    if "tags" in measured:
        predicted = None if answer.tags is None else emotion.as_tags((t.emotion, t.intensity) for t in answer.tags)
        values.update(emotion.turn_values(truth.tags, predicted, PANAS_SIMILARITY))
    for block in BINARY_BLOCKS:
        if block in measured:
            values[_ACCURACIES[block]] = binary.binary_accuracy(*_binary_sides(block, truth, answer))
    if "pairwise" in measured:
        values["pairwise_accuracy"] = pairwise.pairwise_accuracy(truth.winners, answer.pairwise)
        values["kendall_tau"] = pairwise.kendall_tau(truth.sides, truth.winners, answer.pairwise)
    values.update(_draft_values(truth, answer, result))
    return values


def _binary_sides(block: str, truth: TruthTurn, answer: ResultTurn) -> tuple[Mapping[str, str], Mapping[str, str]]:
    if block.startswith("binary_om"):
        return truth.observed, answer.binary_om if block == "binary_om" else answer.binary_om_hp
    return truth.preferred, answer.binary_hp if block == "binary_hp" else answer.binary_hp_hp


def _draft_values(truth: TruthTurn, answer: ResultTurn, result: Result) -> Values:
    """Where drafts were not recorded at all, a vote shows that there was one."""
    values: Values = {}
    recorded = "draft" in result.measured
    has_draft = answer.draft is not None if recorded else bool(answer.voters)
    if result.judges and (recorded or has_draft):
        ratings = answer.ratings
        values["draft_judge"] = draft.draft_judge(has_draft, ratings)
        values.update(draft.parts(has_draft, ratings))
        values["draft_binary_alignment"] = draft.draft_binary_alignment(has_draft, truth.preferred, answer.assessments)
    if recorded:
        words = None if answer.draft is None else tokens(answer.draft)
        similarity = draft.response_similarity(words, truth.variants)
        values.update({f"response_similarity_{variant}": value for variant, value in similarity.items()})
        values["response_preference_alignment"] = draft.response_preference_alignment(
            similarity, truth.wins, answered=words is not None
        )
    return values


def _panas_changes(truth: Truth, result: Result) -> list[panas.Change]:
    stated = (result.panas.positive, result.panas.negative)
    return [
        panas.Change(pre, post, panas.total_of(result.panas.items, items, total))
        for pre, post, items, total in zip(truth.pre, truth.post, _SIDES, stated, strict=True)
    ]


def _panas_values(truth: Truth, result: Result, changes: list[panas.Change]) -> Values:
    if "panas" not in result.measured:
        return {}
    predicted = result.panas.items
    items = [panas.Change(truth.pre_items.get(i), post, predicted.get(i)) for i, post in truth.post_items.items()]
    return {
        "panas_baseline_adjusted": panas.mean_baseline_adjusted(changes),
        "panas_normalized": panas.panas_normalized(changes),
        "panas_item_normalized": panas.panas_item_normalized(truth.post_items, predicted),
        "panas_item_baseline_adjusted": panas.mean_baseline_adjusted(items),
    }


def _wide_values(truth: Truth, result: Result) -> Values:
    if "wide" not in result.measured:
        return {}
    wide, predicted = truth.wide, result.wide
    goals = questions.q1_goals(wide.q1, predicted.q1)
    follow_up = questions.q3_follow_up(wide.follow_up, predicted.follow_up)
    branches = {
        f"four_branch_{name}": four_branch.branch(wide.four_branch.get(name), predicted.four_branch.get(name))
        for name in four_branch.NAMES
    }
    return {
        "q1_goals": goals,
        "q1_goals_f1": questions.f1_of_overlap(goals),
        "q2_clarity": questions.same_option(wide.q2, predicted.q2),
        "q3_fit": questions.same_option(wide.q3, predicted.q3),
        "q3_fit_distance": questions.q3_fit_distance(wide.q3, predicted.q3, Q3_OPTIONS),
        "q3_follow_up": follow_up,
        "q3_follow_up_asked": follow_up if wide.follow_up else None,
        "q3_follow_up_false_alarm": questions.q3_follow_up_false_alarm(wide.follow_up, predicted.follow_up),
        "q3_follow_up_f1": questions.q3_follow_up_f1(wide.follow_up, predicted.follow_up),
        "four_branch": four_branch.four_branch(wide.four_branch, predicted.four_branch),
        **branches,
    }


def _with_cells(
    block: str, truth: TruthTurn, answer: ResultTurn
) -> tuple[Mapping[str, str], binary.Cells, Mapping[str, str]]:
    labels, answers = _binary_sides(block, truth, answer)
    return labels, truth.observed_cells if labels is truth.observed else truth.preferred_cells, answers


def _pooled(pairs: list[tuple[TruthTurn, ResultTurn]], result: Result) -> Pooled:
    return {
        block: binary.tally(_with_cells(block, *pair) for pair in pairs) if block in result.measured else None
        for block in BINARY_BLOCKS
    }
