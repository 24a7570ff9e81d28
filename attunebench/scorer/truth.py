"""A conversation's labels in the form that the metrics take, made once and used for every result of it.

Items without truth are absent here, so that no metric has to know what "no truth" looks like in a file.
Knows no result.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from attunebench.constants import BINARY_CATEGORY
from attunebench.conversations.schema import Comparison, Conversation, ConversationWide, Turn
from attunebench.metrics.binary import Cells, cells_of
from attunebench.metrics.emotion import Tags, as_tags
from attunebench.metrics.pairwise import VARIANTS, wins
from attunebench.metrics.registry import Rules
from attunebench.metrics.text import tokens
from attunebench.scorer.released import Labels, labels_of


@dataclass(frozen=True, slots=True)
class TruthTurn:
    """The labels of one turn. `tags` None is no truth, {} is neutral.

    `observed`, `preferred`: question → "yes" | "no"; `sides`, `winners`: index → variants, letter, of the comparisons
    with a winner between two replies that have a text; `wins`: variant → its wins among those; `variants`: variant →
    the tokens of its text.
    """

    number: int
    tags: Tags | None
    observed: Mapping[str, str]
    preferred: Mapping[str, str]
    sides: Mapping[str, tuple[str, str]]
    winners: Mapping[str, str]
    wins: Mapping[str, int]
    variants: Mapping[str, frozenset[str]]
    questions: frozenset[str]
    """The binary questions that were asked, whichever side of their truth is known."""
    assignment: Mapping[str, Mapping[str, str]]
    """Index → {"A": variant, "B": variant}, of the comparisons that were asked."""
    comparisons: frozenset[str]
    """The comparisons that were asked, with and without a winner."""
    n_comparisons: int
    """All comparisons of the turn, also those that could not be asked."""
    observed_cells: Cells
    preferred_cells: Cells


@dataclass(frozen=True, slots=True)
class Truth:
    """The labels of one conversation; `pre` and `post` are (positive, negative) totals, None where unknown."""

    conversation_id: str
    participant_id: str | None
    turns: tuple[TruthTurn, ...]
    pre: tuple[float | None, float | None]
    post: tuple[float | None, float | None]
    pre_items: Mapping[str, float]
    post_items: Mapping[str, float]
    wide: ConversationWide
    source_sha256: str = ""
    asked_sha256: str = ""
    released: Labels | None = None
    """The same labels for the released rules; None where ours apply."""


def prepare(conversation: Conversation, rules: Rules = "attunebench") -> Truth:
    """The labels of a conversation, ready for scoring any number of results by these rules."""
    pre, post = conversation.pre_panas, conversation.post_panas
    return Truth(
        conversation_id=conversation.conversation_id,
        participant_id=conversation.participant_id,
        turns=tuple(map(_turn, conversation.turns)),
        pre=(pre.positive, pre.negative),
        post=(post.positive, post.negative),
        pre_items=dict(pre.items),
        post_items=dict(post.items),
        wide=conversation.wide,
        source_sha256=conversation.source_sha256,
        asked_sha256=conversation.asked_sha256,
        released=labels_of(conversation) if rules == "released" else None,
    )


def _turn(turn: Turn) -> TruthTurn:
    texts = {variant: text for variant, text in turn.variants.items() if text and text.strip()}
    asked = {str(i): c for i, c in enumerate(turn.comparisons) if c.a in texts and c.b in texts}
    decided: dict[str, Comparison] = {index: c for index, c in asked.items() if c.winner is not None}
    sides: dict[str, tuple[str, str]] = {index: (c.a, c.b) for index, c in decided.items()}
    winners: dict[str, str] = {index: c.winner for index, c in decided.items() if c.winner is not None}
    observed = {j.question_id: str(j.observed) for j in turn.judgements if j.observed in ("yes", "no")}
    preferred = {j.question_id: str(j.preferred) for j in turn.judgements if j.preferred in ("yes", "no")}
    return TruthTurn(
        number=turn.number,
        tags=None if turn.tags is None else as_tags((tag.emotion, tag.intensity) for tag in turn.tags),
        observed=observed,
        preferred=preferred,
        sides=sides,
        winners=winners,
        wins=dict(zip(VARIANTS, wins(sides, winners), strict=True)),
        variants={variant: tokens(text) for variant, text in texts.items()},
        questions=frozenset(turn.applicable_questions),
        assignment={index: {"A": c.a, "B": c.b} for index, c in asked.items()},
        comparisons=frozenset(asked),
        n_comparisons=len(turn.comparisons),
        observed_cells=cells_of(observed, BINARY_CATEGORY),
        preferred_cells=cells_of(preferred, BINARY_CATEGORY),
    )
