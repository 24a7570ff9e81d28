"""How near in meaning each draft is to the replies of its turn: which pairs there are, and each of them scored once.

Made before anything else is scored, by one process that holds the model, and looked up by all. Pure but for what the
encoder does; knows neither torch nor a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from attunebench.conversations.schema import Conversation
from attunebench.metrics.bertscore import bertscore
from attunebench.results.schema import Result

if TYPE_CHECKING:
    from attunebench.scorer.encoder import Encoder

Progress = Callable[[int, int], None]
"""Called with how many texts have been read, and how many there are."""
Turn = tuple[str, int]
Texts = dict[str, None]

_BLOCK_TEXTS = 128
"""Texts whose tokens are held at the same time: with 512 tokens of 1,024 numbers each they take 256 MB."""


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
    encoder: Encoder,
    progress: Progress | None = None,
) -> DraftScores:
    """The BERTScores of all drafts of the results with the replies of their turns, each draft of a turn once."""
    replies: dict[Turn, dict[str, str]] = {
        (conversation.conversation_id, turn.number): {
            str(variant): text for variant, text in turn.variants.items() if text and text.strip()
        }
        for conversation in conversations
        for turn in conversation.turns
    }
    drafts: dict[Turn, set[str]] = {}
    for result in results:
        for answer in result.turns:
            turn = (result.conversation_id, answer.number)
            if answer.draft is not None and replies.get(turn):
                drafts.setdefault(turn, set()).add(answer.draft)
    # The order of turns is that of the conversations: no file name decides which texts share a batch.
    blocks = list(_blocks({turn: sorted(drafts[turn]) for turn in replies if turn in drafts}, replies))
    total, done = sum(len(texts) for _, texts in blocks), 0
    found: dict[tuple[str, int, bytes], dict[str, float]] = {}
    for turns, texts in blocks:
        embedded = dict(zip(texts, encoder.encode(list(texts)), strict=True))
        for turn in turns:
            for draft in drafts[turn]:
                found[turn[0], turn[1], _mark(draft)] = {
                    variant: bertscore(embedded[draft], embedded[reply]) for variant, reply in replies[turn].items()
                }
        done += len(texts)
        if progress is not None:
            progress(done, total)
    read = {text for _, texts in blocks for text in texts}
    return DraftScores({**encoder.facts, "texts": len(read), "texts_cut": len(read & encoder.cut)}, found)


def _blocks(
    drafts: Mapping[Turn, Sequence[str]], replies: Mapping[Turn, Mapping[str, str]]
) -> Iterator[tuple[list[Turn], Texts]]:
    """Runs of turns with few distinct texts, and these texts."""
    turns: list[Turn] = []
    texts: Texts = {}
    for turn, given in drafts.items():
        more = dict.fromkeys((*given, *replies[turn].values()))
        if turns and len(texts | more) > _BLOCK_TEXTS:
            yield turns, texts
            turns, texts = [], {}
        turns.append(turn)
        texts |= more
    if turns:
        yield turns, texts


def _mark(draft: str) -> bytes:
    """What a draft is looked up by: the table goes to every scoring process, the texts need not."""
    return blake2b(draft.encode("utf-8", "surrogatepass"), digest_size=16).digest()
