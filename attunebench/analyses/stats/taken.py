"""What one model's results took: calls and how they ended, money, time and tokens. What is not stated is never 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attunebench.analyses.model import Cell, Column, Table, Unit, known, text
from attunebench.analyses.stats.metrics import spread_of
from attunebench.analyses.stats.one import One
from attunebench.scores import ConversationEntry

NOT_STATED = "not stated"
_SHARES = (
    ("items answered", "answered", "expected"),
    ("calls mended", "mended", "made"),
    ("calls refused", "refused", "made"),
    ("calls cut at the limit of tokens", "truncated", "made"),
    ("calls asked again", "reasked", "made"),
)
_TOKENS = {
    "prompt_tokens": "prompt",
    "cached_tokens": "of them cached",
    "completion_tokens": "reply",
    "reasoning_tokens": "of them reasoning",
}


@dataclass(frozen=True, slots=True)
class Share:
    """Part of a whole over all results that state both; `n` results do, and without any the share is None."""

    part: float
    whole: float
    n: int

    @property
    def value(self) -> float | None:
        return self.part / self.whole if self.whole else None


@dataclass(frozen=True, slots=True)
class Amount:
    """Something that results state: the `total` of the `n` of `of` that do, and the mean of a conversation."""

    total: float | None
    n: int
    of: int
    mean: float | None


Read = Callable[[ConversationEntry], "float | None"]


def share_of(one: One, part: str, whole: str) -> Share:
    """Sums over calls, so that a conversation of many calls counts for more: as `score` makes its rates."""
    pairs = [
        (above, below)
        for entry in one.entries()
        if (above := (entry.get("calls") or {}).get(part)) is not None
        and (below := (entry.get("calls") or {}).get(whole)) is not None
    ]
    return Share(sum(above for above, _ in pairs), sum(below for _, below in pairs), len(pairs))


def amount_of(one: One, read: Read) -> Amount:
    """All epochs are in the total; a conversation's amount is the mean of its epochs."""
    stated = [value for entry in one.entries() if (value := read(entry)) is not None]
    values = one.per_conversation(read)
    mean = known(float(np.nanmean(values))) if stated else None
    return Amount(sum(stated) if stated else None, len(stated), sum(1 for _ in one.entries()), mean)


def cost(entry: ConversationEntry) -> float | None:
    """US dollars of a result, None where it does not say."""
    return entry.get("api_cost")


def seconds(entry: ConversationEntry) -> float | None:
    """How long a result took, None where it does not say."""
    return entry.get("duration_seconds")


def tokens(kind: str) -> Read:
    """A reader of one kind of tokens."""
    return lambda entry: (entry.get("usage") or {}).get(kind)


def taken_tables(one: One) -> list[Table]:
    """How calls ended; cost, time and tokens."""
    calls = _calls(one)
    return [
        *([calls] if calls else []),
        _amounts(one, "cost", "Cost", "usd", {"US dollars": cost}),
        _amounts(one, "time", "Time", "seconds", {"seconds": seconds}),
        _amounts(one, "tokens", "Tokens", "count", {name: tokens(kind) for kind, name in _TOKENS.items()}),
    ]


def _calls(one: One) -> Table | None:
    shares = {name: share_of(one, part, whole) for name, part, whole in _SHARES}
    if not any(share.n for share in shares.values()):
        return None
    rows = tuple((text(name), Cell(share.n), Cell(share.value), *_counts(share)) for name, share in shares.items())
    return Table(
        "calls",
        "Answers and calls",
        (
            Column("what", "what", "text"),
            Column("n", "results", "count", "Results that state both counts."),
            Column("share", "share", "share", "Sum over sum."),
            Column("count", "count", "count"),
            Column("of", "of", "count", "Items expected, or calls made."),
        ),
        rows,
        caption="Judges are not among them. What is not answered counts as wrong, and says little of empathy.",
    )


def _counts(share: Share) -> tuple[Cell, Cell]:
    return (Cell(share.part), Cell(share.whole)) if share.n else (Cell(None), Cell(None))


def _amounts(one: One, table_id: str, title: str, unit: Unit, readers: dict[str, Read]) -> Table:
    rows = [_row(one, name, read) for name, read in readers.items()]
    digits = 0 if unit == "count" else None
    each = ("mean", "median", "lowest", "highest")
    partial = [row for row in rows if row[1].value not in (0, row[2].value)]
    return Table(
        table_id,
        title,
        (
            Column("what", "what", "text"),
            Column("n", "stated", "count", "Results that say it."),
            Column("of", "of results", "count"),
            Column("total", "total", unit, "Over the results that say it.", None, digits),
            *(Column(i, i, unit, "Per conversation.", None, digits) for i in each),
        ),
        tuple(rows),
        caption="Judges apart; total over all results that say it, the rest per conversation.",
        notes=("The total is a part of what was spent: not all results say theirs.",) if partial else (),
    )


def _row(one: One, name: str, read: Read) -> tuple[Cell, ...]:
    amount = amount_of(one, read)
    head = (text(name), Cell(amount.n), Cell(amount.of))
    if amount.total is None:
        return (*head, Cell(None, mark=NOT_STATED), *_empty(4))
    _, lowest, _, median, _, highest = spread_of(one.per_conversation(read))
    return (*head, Cell(amount.total), Cell(amount.mean), Cell(median), Cell(lowest), Cell(highest))


def _empty(count: int) -> Sequence[Cell]:
    return (Cell(None),) * count
