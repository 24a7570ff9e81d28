"""What a result answered, in the compact form of `scores.json`: answers, counts of calls and items, pooled yes/no.

Copies, abbreviates and counts; computes no metric. No words of a draft or a reason are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

from attunebench.coerce import amount
from attunebench.constants import BRANCHES, PANAS_ITEMS, PANAS_NEGATIVE, PANAS_POSITIVE
from attunebench.metrics import binary
from attunebench.metrics.binary import Confusion
from attunebench.metrics.emotion import as_tags
from attunebench.metrics.registry import Rules
from attunebench.results.schema import BINARY_BLOCKS, TURN_BLOCKS, Result, ResultTurn
from attunebench.scorer.truth import QUESTIONS, Truth, TruthTurn, letters, panas_state, wide_answers
from attunebench.scores.schema import ConversationAnswers, Pooled, PooledBlock, PooledCell, TurnAnswers

COUNTS = ("answered", "expected", "made", "refused", "mended", "reasked", "truncated")
"""What is counted of a result; judges and reasoning are not among it. None is unknown.

`reasked`: calls that were asked again at least once; `truncated`: calls cut at the limit of tokens for good.
"""
RATES = {
    "answered_rate": ("answered", "expected"),
    "refusal_rate": ("refused", "made"),
    "mended_rate": ("mended", "made"),
}
"""Metric id → the two counts whose ratio it is; over several conversations both are summed first."""
_USAGE = ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
_SIDES = ((PANAS_POSITIVE, "positive"), (PANAS_NEGATIVE, "negative"))


class Pair(NamedTuple):
    """The labels of a turn and its answers, also as letters: those of each yes/no block that the result has, and those
    of its comparisons."""

    truth: TruthTurn
    turn: ResultTurn
    binary: Mapping[str, bytes]
    chosen: str


def pairs_of(truth: Truth, result: Result) -> list[Pair]:
    """Every turn of a conversation with what an aligned result answers there."""
    answered = {turn.number: turn for turn in result.turns}
    blocks = [block for block in BINARY_BLOCKS if block in result.measured]
    pairs = []
    for labels in truth.turns:
        turn = answered.get(labels.number) or ResultTurn(labels.number)
        binary = {block: letters(getattr(turn, block), labels.blank) for block in blocks}
        pairs.append(Pair(labels, turn, binary, "".join(map(turn.pairwise.get, labels.indices, repeat("-")))))
    return pairs


def turn_answers(pair: Pair, measured: frozenset[str]) -> TurnAnswers:
    """What was answered in a turn; a block that the result does not have is absent."""
    answers: TurnAnswers = {}
    if "tags" in measured:
        answers["tags"] = None if pair.turn.tags is None else as_tags(pair.turn.tags)
    for block, known in pair.binary.items():
        answers[block] = known[: len(QUESTIONS)].decode()  # type: ignore[literal-required]
    if "pairwise" in measured:
        answers["pairwise"] = pair.chosen
    return answers


def whole_answers(result: Result) -> ConversationAnswers:
    """What was answered about the whole conversation."""
    return {
        "post_panas": panas_state(result.panas) if "panas" in result.measured else None,
        "wide": wide_answers(result.wide) if "wide" in result.measured else None,
    }


def usage_of(result: Result) -> dict[str, float]:
    """The tokens that a result states."""
    return {name: known for name in _USAGE if (known := amount(result.usage.get(name))) is not None}


def counts_of(result: Result, pairs: Iterable[Pair]) -> dict[str, float | None]:
    """The `COUNTS` of a result: the file's own where they are sound, else those of what is in it."""
    stated = {name: amount(result.calls.get(name)) for name in COUNTS[2:]}
    answered, expected = amount(result.calls.get("answered_items")), amount(result.calls.get("expected_items"))
    if answered is None or not expected or answered > expected:
        answered, expected = _items(result, pairs)
    made = stated["made"]
    sound = {
        name: count if count is not None and made is not None and count <= made else None
        for name, count in stated.items()
    }
    return {"answered": answered, "expected": expected, **sound}


def _items(result: Result, pairs: Iterable[Pair]) -> tuple[float, float]:
    """(answered, expected) over the blocks that the result has."""
    answered = expected = 0
    for truth, turn, _, _ in pairs:
        for block in TURN_BLOCKS.keys() & result.measured:
            answer = getattr(turn, block)
            if block in ("draft", "tags"):
                answered, expected = answered + (answer is not None), expected + 1
            else:
                asked = truth.assignment.keys() if block == "pairwise" else truth.questions
                answered, expected = answered + len(asked & answer.keys()), expected + len(asked)
    if "panas" in result.measured:
        for items, side in _SIDES:  # a side for which only the total is given counts as answered
            stated = getattr(result.panas, side) is not None
            answered += len(items) if stated else len({item.lower() for item in items} & result.panas.items.keys())
        expected += len(PANAS_ITEMS)
    if "wide" in result.measured:
        wide = result.wide
        answered += sum(answer is not None for answer in (wide.q1, wide.q2, wide.q3, wide.follow_up))
        answered += len(wide.four_branch)
        expected += 4 + len(BRANCHES)
    return answered, expected


def pooled_json(pooled: Mapping[str, Mapping[str, Confusion] | None], rules: Rules = "attunebench") -> Pooled:
    """Block → counts by category, None for a block that was not measured → these and their rates, in all and by
    category."""
    return {block: None if counts is None else _block(counts, rules) for block, counts in pooled.items()}


def _block(counts: Mapping[str, Confusion], rules: Rules) -> PooledBlock:
    cells = {category: _cell(confusion, rules).copy() for category, confusion in counts.items()}
    return {**_cell(binary.total(counts), rules), "by_category": cells}


@lru_cache(maxsize=65_536)
def _cell(counts: Confusion, rules: Rules) -> PooledCell:
    """Nine in ten have stood in an earlier entry. Without truth rates are undefined, and 0 by the released rules."""
    rates = counts.rates
    if rules == "released" and not any(counts):
        rates = dict.fromkeys(rates, 0.0)
    return {**counts._asdict(), **rates}  # type: ignore[typeddict-item]
