"""The blind candidates of a turn: which reply is shown under which label, which comparisons can be asked.

Pure functions of the conversation's id, the turn's number and the texts."""

from __future__ import annotations

import hashlib
from itertools import permutations
from typing import get_args

from attunebench.conversations.schema import Comparison, Conversation, Turn, Variant

_ORDERS: tuple[tuple[Variant, ...], ...] = tuple(permutations(get_args(Variant)))


def askable_comparisons(turn: Turn) -> dict[str, Comparison]:
    """Index in the data → comparison, where both replies have a text; whether a winner is known plays no part."""
    shown = {variant for variant, text in turn.variants.items() if text and text.strip()}
    return {str(i): c for i, c in enumerate(turn.comparisons) if c.a in shown and c.b in shown}


def reply_labels(conversation: Conversation, turn: Turn) -> dict[str, Variant]:
    """ "Reply 1" … → variant, in the order shown, which only the conversation's id and the turn's number decide."""
    digest = hashlib.sha256(f"{conversation.conversation_id}\n{turn.number}".encode("utf-8", "surrogatepass")).digest()
    order = _ORDERS[int.from_bytes(digest, "big") % len(_ORDERS)]
    texts = turn.variants
    shown = [variant for variant in order if (texts[variant] or "").strip()]
    return {f"Reply {place}": variant for place, variant in enumerate(shown, 1)}
