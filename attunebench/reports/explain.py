"""Tells what a metric is, from its card alone: for people who have never seen the benchmark."""

from __future__ import annotations

import re
import textwrap

from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY, Metric, metric
from attunebench.reports.rows import SECTIONS, explain_pooled

_STATUSES = {
    "canonical": "canonical: it enters the Composite",
    "alongside": "alongside: reported in the study, not part of the Composite",
    "diagnostic": "diagnostic: explains other scores, not part of the Composite",
    "released": "released: computed only by `score --rules released`, not part of the Composite",
}
_LABEL_WIDTH = 12
_INDENT = 2
_NARROWEST = 40
_ONE_LINE = 1000
SYMBOLS = "G is what the person gave, P what the model predicted, Δ their difference."
_SYMBOL = re.compile(r"\bG\b|\bP\b|n_[GP]|Δ")


def explain(metric_id: str, *, width: int | None = None) -> str:
    """A metric's card in words, wrapped at `width` (80 for None); `all` lists every metric with its meaning, one a line
    where `width` is None.

    Raises UsageError with near names for an unknown metric.
    """
    if metric_id.strip().lower() == "all":
        return _list(_ONE_LINE if width is None else max(width, _NARROWEST))
    width = max(width or 80, _NARROWEST)
    if (pooled := explain_pooled(metric_id)) is not None:
        return textwrap.fill(pooled, width) + "\n"
    card = metric(metric_id)
    facts = {
        "Meaning": card.meaning,
        "Definition": card.definition,
        **({"Symbols": SYMBOLS} if _SYMBOL.search(card.definition) else {}),
        "Range": f"{card.low:g} to {card.high:g} ({card.unit})",
        "How to read": _reading(card),
        "Shown under": SECTIONS[card.group][0],
        "Status": _STATUSES[card.status],
        "Source": card.source,
    }
    lines = [f"{card.label} ({card.id})"]
    for name, text in facts.items():
        indent = " " * (_LABEL_WIDTH + 2)
        lines += textwrap.wrap(f"{name:<{_LABEL_WIDTH}}  {text}", width, subsequent_indent=indent)
    return "\n".join(lines) + "\n"


def _list(width: int) -> str:
    """Ids in a column, meanings beside them; where that leaves too little room, right behind them."""
    widest = max(map(len, REGISTRY)) + 2 * _INDENT
    blocks = []
    for group, (title, _) in SECTIONS.items():
        lines = [title]
        for card in (card for card in REGISTRY.values() if card.group == group):
            head, indent = f"{' ' * _INDENT}{card.id}  ", " " * (widest if width >= 2 * widest else 2 * _INDENT)
            lines += textwrap.wrap(
                card.meaning, width, initial_indent=head.ljust(len(indent)), subsequent_indent=indent
            )
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n"


def _reading(card: Metric) -> str:
    if card.unit == "difference":
        parts = ["0 is no difference, and the sign shows which side is higher; neither direction is better."]
    elif card.higher_is_better is None:
        parts = ["Neither direction is better: it describes the conversations, not the model."]
    else:
        which, best, worst = (
            ("Higher", card.high, card.low) if card.higher_is_better else ("Lower", card.low, card.high)
        )
        parts = [f"{which} is better: {best:g} is the best, {worst:g} the worst."]
    if card.chance is not None:
        parts.append(f"Guessing at random scores {card.chance:g}, so compare scores with that.")
    if card.group == "diagnostic" and card.status == "alongside":
        parts.append("Pooled over everything that a model was asked, not averaged over conversations.")
    elif card.level == "turn":
        parts.append("Computed per turn, then averaged over the turns of a conversation and over conversations.")
    else:
        parts.append("Computed per conversation, then averaged over conversations.")
    if card.id in JUDGED:
        parts.append("Depends on the judge model: compare only values by the same judge on the same scale.")
    return " ".join(parts)
