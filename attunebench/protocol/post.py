"""The `post_conversation` block of a result, and how a predicted change of the mood becomes a predicted state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attunebench.constants import PANAS_NEGATIVE, PANAS_POSITIVE
from attunebench.conversations.schema import Conversation, Panas
from attunebench.protocol.calls import BLIND, CHANGES, Record
from attunebench.protocol.schemas import FOLLOW_UP, FOUR_BRANCH, Q1, Q2, Q3, WIDE


def post_block(conversation: Conversation, record: Record) -> dict[str, Any]:
    """The block as spec 5.2 has it. `predicted_panas_delta` is null where the mood was asked for itself."""
    strategy, before, values = record.call.asked.panas, conversation.pre_panas, record.answer.values
    wide = values.get(WIDE) or {}
    change = _items(values.get("predicted_panas_delta")) if strategy in CHANGES else None
    return {
        "panas_strategy": strategy,
        "pre_panas_shown": None
        if strategy in BLIND or (before.positive is None and before.negative is None)
        else {"totalPositiveAffect": _plain(before.positive), "totalNegativeAffect": _plain(before.negative)},
        "predicted_post_panas": predicted_state(_items(values.get("predicted_post_panas")))
        if change is None
        else changed_state(before, change),
        "predicted_panas_delta": None if change is None else {"items": change},
        "predicted_conversation_wide": {
            **{key: wide.get(key) for key in (Q1, Q2, Q3, FOLLOW_UP)},
            FOUR_BRANCH: dict(wide.get(FOUR_BRANCH) or {}) or None,
        },
        "post_reasoning": record.answer.reasoning.get("reasoning"),
    }


def predicted_state(items: Mapping[str, float]) -> dict[str, Any]:
    """The state with its totals, each the sum of the ten items of its side, or None unless all ten are there."""
    return {
        "totalPositiveAffect": _total(items, PANAS_POSITIVE),
        "totalNegativeAffect": _total(items, PANAS_NEGATIVE),
        "items": dict(items),
    }


def changed_state(before: Panas, change: Mapping[str, float]) -> dict[str, Any]:
    """The state after a predicted change: each known item plus its change, clamped to 1–7, and the totals of these.

    Where an item of a side is not known from before, that side's total is the total from before plus the sum of the
    ten changes, clamped to 10–70; None where that total or a change is missing.
    """
    known = {item: before.items[item.lower()] + by for item, by in change.items() if item.lower() in before.items}
    state = predicted_state({item: _plain(min(max(value, 1), 7)) for item, value in known.items()})
    sides = (
        ("totalPositiveAffect", before.positive, PANAS_POSITIVE),
        ("totalNegativeAffect", before.negative, PANAS_NEGATIVE),
    )
    for key, total, side in sides:
        by = _total(change, side)
        if state[key] is None and total is not None and by is not None:
            state[key] = _plain(min(max(total + by, 10), 70))
    return state


def _items(block: Any) -> dict[str, float]:
    return dict((block or {}).get("items") or {})


def _total(items: Mapping[str, float], side: tuple[str, ...]) -> float | None:
    return _plain(sum(items[item] for item in side)) if all(item in items for item in side) else None


def _plain(value: Any) -> Any:
    """5.0 as 5: the labels are whole numbers, and so they stand in the file."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
