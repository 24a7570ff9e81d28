"""How near in meaning each draft is to the replies of its turn: which pairs there are, and each of them scored once.

Made before anything else is scored, by one process that holds the model, and looked up by all. Pure but for what the
encoder does; knows neither torch nor a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Protocol

from attunebench.conversations.schema import Conversation
from attunebench.metrics.bertscore import Embedded, bertscore
from attunebench.results.schema import Result

Progress = Callable[[int, int], None]
"""Called with how many texts have been read, and how many there are."""
Pair = tuple[str, str]
Turn = tuple[str, int]

_BLOCK_TEXTS = 128
"""Texts whose tokens are held at the same time: with 512 tokens of 1,024 numbers each they take 256 MB."""


class Encodes(Protocol):
    """What is asked of a language model."""

    facts: dict[str, Any]
    cut: set[str]

    def encode(self, texts: Sequence[str], told: Callable[[int], None] | None = None) -> list[Embedded]:
        """The tokens of each text; `told` is called with the number of texts of a batch whenever one is done."""
        ...


@dataclass(frozen=True, slots=True)
class DraftScores:
    """BERTScores by conversation, turn and draft; `facts` say with which model, and how many texts it read."""

    facts: Mapping[str, Any]
    _found: Mapping[tuple[str, int, bytes], Mapping[str, float]] = field(repr=False)

    def of(self, conversation_id: str, turn: int, draft: str | None) -> Mapping[str, float]:
        """Variant → BERTScore of the draft with it; empty for a draft that was not among those scored."""
        return {} if draft is None else self._found.get((conversation_id, turn, _mark(draft)), {})


def draft_scores(
    conversations: Iterable[Conversation],
    results: Iterable[Result],
    encoder: Encodes,
    progress: Progress | None = None,
) -> DraftScores:
    """The BERTScores of all drafts of the results with the replies of their turns.

    Each pair of texts is scored once, however many results share it.
    """
    replies = {
        (conversation.conversation_id, turn.number): {
            str(variant): text for variant, text in turn.variants.items() if text and text.strip()
        }
        for conversation in conversations
        for turn in conversation.turns
    }
    drafts = _drafts(replies, results)
    pairs = dict.fromkeys(
        (draft, reply) for turn in drafts for draft in drafts[turn] for reply in replies[turn].values()
    )
    scored = _scored(list(pairs), encoder, progress)
    found = {
        (*turn, _mark(draft)): {variant: scored[draft, reply] for variant, reply in replies[turn].items()}
        for turn, given in drafts.items()
        for draft in given
    }
    texts = {text for pair in pairs for text in pair}
    return DraftScores({**encoder.facts, "texts": len(texts), "texts_cut": len(texts & encoder.cut)}, found)


def _drafts(replies: Mapping[Turn, Any], results: Iterable[Result]) -> dict[Turn, list[str]]:
    """The distinct drafts of each turn, in an order that no file name decides."""
    drafts: dict[Turn, set[str]] = {}
    for result in results:
        for answer in result.turns:
            turn = (result.conversation_id, answer.number)
            if answer.draft is not None and turn in replies:
                drafts.setdefault(turn, set()).add(answer.draft)
    return {turn: sorted(drafts[turn]) for turn in replies if turn in drafts}


def _scored(pairs: Sequence[Pair], encoder: Encodes, progress: Progress | None) -> dict[Pair, float]:
    blocks = list(_blocks(pairs))
    total, done = sum(len(texts) for texts, _ in blocks), 0

    def told(count: int) -> None:
        nonlocal done
        done += count
        if progress is not None:
            progress(done, total)

    scored: dict[Pair, float] = {}
    for texts, members in blocks:
        embedded = dict(zip(texts, encoder.encode(texts, told), strict=True))
        scored |= {(draft, reply): bertscore(embedded[draft], embedded[reply]) for draft, reply in members}
    return scored


def _blocks(pairs: Sequence[Pair]) -> Iterator[tuple[list[str], list[Pair]]]:
    """The pairs in runs of few distinct texts, with these texts."""
    texts: dict[str, None] = {}
    members: list[Pair] = []
    for pair in pairs:
        if members and len(texts.keys() | pair) > _BLOCK_TEXTS:
            yield list(texts), members
            texts, members = {}, []
        texts.update(dict.fromkeys(pair))
        members.append(pair)
    if members:
        yield list(texts), members


def _mark(draft: str) -> bytes:
    """What a draft is looked up by: the table goes to every scoring process, the texts need not."""
    return blake2b(draft.encode("utf-8", "surrogatepass"), digest_size=16).digest()
