"""A conversation's labels, made once for all results of it: as metrics take them, and as `scores.json` keeps them.

Items without truth are absent or marked, so that no metric has to know what "no truth" looks like. Knows no result; no
words of a conversation are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from attunebench.coerce import MOST, in_range, text
from attunebench.constants import BINARY_CATEGORY
from attunebench.conversations.groups import diagnosis_groups
from attunebench.conversations.schema import Conversation, ConversationWide, Panas, Turn
from attunebench.metrics.binary import UNCATEGORISED, BinaryTruth
from attunebench.metrics.emotion import as_tags
from attunebench.metrics.pairwise import VARIANTS, wins
from attunebench.metrics.registry import Rules
from attunebench.metrics.text import tokens
from attunebench.results.schema import PredictedPanas, PredictedWide
from attunebench.scorer.released import CATEGORIES
from attunebench.scores.schema import GroundTruthEntry, PanasState, Side, TurnTruth, WideAnswers

QUESTIONS = tuple(BINARY_CATEGORY)
"""The binary questions in the order of the strings of letters."""
_SIDES: tuple[Side, ...] = ("observed", "preferred")


@dataclass(frozen=True, slots=True, eq=False)
class TruthTurn:
    """The labels of one turn. Comparisons go by their index, as text.

    `preferred`: question → "yes" | "no"; `questions`: the binary questions that were asked, whichever side of their
    truth is known; `assignment`: of the comparisons that were asked, {"A": variant, "B": variant}; `indices`: of all
    comparisons; `sides`, `winners`: variants and letter of those with a winner; `wins`: variant → how many of these it
    won; `variants`: variant → the tokens of its text.
    """

    entry: TurnTruth
    preferred: Mapping[str, str]
    questions: frozenset[str]
    assignment: Mapping[str, Mapping[str, str]]
    indices: tuple[str, ...]
    sides: Mapping[str, tuple[str, str]]
    winners: Mapping[str, str]
    wins: Mapping[str, int]
    variants: Mapping[str, frozenset[str]]

    @property
    def number(self) -> int:
        return self.entry["turnNumber"]


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """The labels of one conversation; `released` has them for the released rules, None where ours apply.

    `blank`: question → "-", the `QUESTIONS` and behind them those that the codebook does not know; `binary`: the labels
    of these, by side and turn.
    """

    entry: GroundTruthEntry
    turns: tuple[TruthTurn, ...]
    blank: Mapping[str, str]
    binary: BinaryTruth
    source_sha256: str = ""
    asked_sha256: str = ""
    released: Conversation | None = None

    @property
    def conversation_id(self) -> str:
        return self.entry["conversationId"]


@dataclass(frozen=True, slots=True)
class Ground:
    """The ground truth by conversation id, in its order, and where it comes from."""

    truths: Mapping[str, Truth]
    sources: tuple[str, ...]

    @classmethod
    def of(cls, conversations: Iterable[Conversation], rules: Rules = "attunebench") -> Ground:
        """Reads each conversation once, so that a generator will do."""
        truths, sources = {}, set()
        for conversation in conversations:
            truths[conversation.conversation_id] = prepare(conversation, rules)
            if source := conversation.metadata.get("source"):
                sources.add(str(source))
        return cls(truths, tuple(sorted(sources)))

    @property
    def entries(self) -> list[GroundTruthEntry]:
        return [truth.entry for truth in self.truths.values()]


def prepare(conversation: Conversation, rules: Rules = "attunebench") -> Truth:
    """The labels of a conversation, ready for scoring any number of results by these rules."""
    entry = truth_entry(conversation)
    named = (judged.question_id for turn in conversation.turns for judged in turn.judgements)
    order = dict.fromkeys((*QUESTIONS, *named))
    labels = b"".join(_labels(turn, side, order) for side in _SIDES for turn in conversation.turns)
    table = np.frombuffer(labels, dtype=np.uint8).reshape(len(_SIDES), len(entry["turns"]), len(order))
    categories = [CATEGORIES.index(BINARY_CATEGORY.get(question, UNCATEGORISED)) for question in order]
    return Truth(
        entry=entry,
        turns=tuple(map(_turn, conversation.turns, entry["turns"])),
        blank=dict.fromkeys(order, "-"),
        binary=BinaryTruth.of(table, np.array(categories, dtype=np.intp), len(CATEGORIES)),
        source_sha256=conversation.source_sha256,
        asked_sha256=conversation.asked_sha256,
        released=conversation if rules == "released" else None,
    )


def truth_entry(conversation: Conversation) -> GroundTruthEntry:
    """A conversation's labels and what is known of its participant."""
    metadata, profile = conversation.metadata, conversation.profile
    category = metadata.get("category")
    categories = category if isinstance(category, (list, tuple)) else (category,)
    stated = profile.demographics.model_dump(exclude_none=True, mode="json") if profile else {}
    return {
        "conversationId": conversation.conversation_id,
        "source_file": conversation.source_file.replace("\\", "/").rsplit("/", 1)[-1],
        "participant_id": conversation.participant_id,
        "om_model": text(metadata.get("model")),
        "topics": [topic for raw in categories if (topic := text(raw))],
        "subtopic": text(metadata.get("subtopic")),
        "attitude": profile.conversation_topic_attitude if profile else None,
        "demographics": {key: value for key, value in stated.items() if value != [] and _is_plain(value)},
        "diagnosis_groups": list(diagnosis_groups(profile.demographics.diagnoses)) if profile else [],
        "computed_scores": dict(profile.computed_scores) if profile else {},
        "pre_panas": panas_state(conversation.pre_panas),
        "post_panas": panas_state(conversation.post_panas),
        "wide": wide_answers(conversation.wide),
        "turns": [_turn_entry(turn) for turn in conversation.turns],
    }


def letters(blocks: Iterable[Mapping[str, str]], blank: Mapping[str, str]) -> bytes:
    """Block by block a letter for each question of `blank`: y, n, or what stands there where there is no yes or no."""
    width = len(blank)  # questions that it lacks come behind
    words = ["".join(islice({**blank, **block}.values(), width)) for block in blocks]
    return "".join(words).encode().translate(None, b"eso")  # what "yes" and "no" have behind their first letters


def panas_state(state: Panas | PredictedPanas) -> PanasState:
    """A state as the scores file keeps it."""
    return {"positive": state.positive, "negative": state.negative, "items": dict(state.items)}


def wide_answers(wide: ConversationWide | PredictedWide) -> WideAnswers:
    """Answers about the whole conversation as the scores file keeps them."""
    return {
        "q1": None if wide.q1 is None else list(wide.q1),
        "q2": wide.q2,
        "q3": wide.q3,
        "follow_up": None if wide.follow_up is None else list(wide.follow_up),
        "four_branch": dict(wide.four_branch),
    }


def _turn_entry(turn: Turn) -> TurnTruth:
    return {
        "turnNumber": turn.number,
        "tags": None if turn.tags is None else as_tags((tag.emotion, tag.intensity) for tag in turn.tags),
        "observed": _labels(turn, "observed", QUESTIONS).decode(),
        "preferred": _labels(turn, "preferred", QUESTIONS).decode(),
        "comparisons": [[c.question_id, c.a, c.b, c.winner] for c in turn.comparisons],
    }


def _turn(turn: Turn, entry: TurnTruth) -> TruthTurn:
    texts = {variant: words for variant, words in turn.variants.items() if words and words.strip()}
    asked = {str(index): c for index, c in enumerate(turn.comparisons) if c.a in texts and c.b in texts}
    sides: dict[str, tuple[str, str]] = {index: (c.a, c.b) for index, c in asked.items() if c.winner is not None}
    winners: dict[str, str] = {index: c.winner for index, c in asked.items() if c.winner is not None}
    return TruthTurn(
        entry=entry,
        preferred={j.question_id: j.preferred for j in turn.judgements if j.preferred in ("yes", "no")},
        questions=frozenset(turn.applicable_questions),
        assignment={index: {"A": c.a, "B": c.b} for index, c in asked.items()},
        indices=tuple(map(str, range(len(turn.comparisons)))),
        sides=sides,
        winners=winners,
        wins=dict(zip(VARIANTS, wins(sides, winners), strict=True)),
        variants={variant: tokens(words) for variant, words in texts.items()},
    )


def _labels(turn: Turn, side: Side, order: Iterable[str]) -> bytes:
    labels = {judged.question_id: getattr(judged, side) for judged in turn.judgements}
    known = {question: label for question, label in labels.items() if label in ("yes", "no")}
    return letters([known], dict.fromkeys(order, "."))


def _is_plain(value: Any) -> bool:
    """Whether a value is of those by which conversations can be chosen: texts and numbers, no objects."""
    if isinstance(value, list):
        return all(isinstance(one, str) for one in value)
    return isinstance(value, str) or in_range(value, -MOST, MOST) is not None
