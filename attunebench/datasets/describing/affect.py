"""How people felt before and after: PANAS totals, items and their change. Published norms are for another scale."""

from __future__ import annotations

from collections.abc import Callable

from attunebench.analyses.common import counted, number
from attunebench.analyses.model import Analysis, Cell, Column, Table
from attunebench.conversations import Conversation
from attunebench.datasets.describing.tables import Data, Quantity, spread_table

_SIDES = {"positive": "Positive affect", "negative": "Negative affect"}


def describe(data: Data) -> Analysis:
    """Totals before, after and their change; and each item."""
    totals = _totals(data)
    change = {row[0].value: row[2].value for row in totals.rows}
    words = [
        f"{label} changes by {number(value, 2, sign=True)} on average"
        for label in _SIDES.values()
        if isinstance(value := change.get(f"{label}, change"), (int, float))
    ]
    return Analysis(
        "affect",
        "Affect before and after",
        "How did people feel before the talk, and after it?",
        shows=f"{'; '.join(words)}." if words else "",
        tables=(totals, _items(data)),
        notes=("Totals run from 10 to 70 here (items 1–7). Published norms are for items 1–5 and do not apply.",),
        cannot="No change can be laid to the talk: nobody was asked without one. Positive and negative affect are two "
        "scales, not the ends of one.",
    )


def _totals(data: Data) -> Table:
    quantities = []
    for side, label in _SIDES.items():
        quantities.append(_quantity(data, f"{label}, before", _total("pre_panas", side)))
        quantities.append(_quantity(data, f"{label}, after", _total("post_panas", side)))
        quantities.append(
            _quantity(data, f"{label}, change", _change(_total("pre_panas", side), _total("post_panas", side)))
        )
    return spread_table(
        "totals",
        "PANAS totals",
        quantities,
        what="Total",
        caption="Over conversations. Change: after minus before, where both are known.",
        mask_below=data.mask_below,
    )


Read = Callable[[Conversation], "float | None"]


def _total(state: str, side: str) -> Read:
    return lambda conversation: getattr(getattr(conversation, state), side)


def _item(state: str, item: str) -> Read:
    return lambda conversation: getattr(conversation, state).items.get(item)


def _change(before: Read, after: Read) -> Read:
    def change(conversation: Conversation) -> float | None:
        then, now = before(conversation), after(conversation)
        return None if then is None or now is None else now - then

    return change


def _quantity(data: Data, label: str, read: Read) -> Quantity:
    values = [read(conversation) for conversation in data.conversations]
    known = [value for value in values if value is not None]
    return Quantity(label, known, len(values) - len(known))


def _items(data: Data) -> Table:
    rows = []
    for item in data.codebook.panas:
        before, after = _item("pre_panas", item.lower()), _item("post_panas", item.lower())
        quantities = [_quantity(data, item, read) for read in (before, after, _change(before, after))]
        spread = spread_table("", "", quantities, mask_below=data.mask_below)
        means = [
            Cell(
                row[2].value, n=len(quantity.values) if quantity.missing and not row[2].mark else None, mark=row[2].mark
            )
            for row, quantity in zip(spread.rows, quantities, strict=True)
        ]
        rows.append((Cell(item), Cell("positive" if item in data.codebook.panas_positive else "negative"), *means))
    return Table(
        "items",
        "PANAS items",
        (
            Column("item", "Item", "text"),
            Column("side", "Side", "text"),
            Column("before", "Before", digits=2),
            Column("after", "After", digits=2),
            Column("change", "Change", digits=2),
        ),
        tuple(rows),
        caption=f"Means over {counted(len(data.conversations), 'conversation')}, from 1 to 7; n is told where some are "
        "unknown.",
    )
