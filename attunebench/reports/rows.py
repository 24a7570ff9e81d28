"""Rows of the table model: a metric's, from its card, and those of pooled yes/no answers, which have no card.

Knows how a row is labelled and rounded; not where it is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from attunebench.analyses.table import Cell
from attunebench.metrics.registry import REGISTRY, Metric
from attunebench.reports.model import Group, Row

_TAGGED = "_tagged"
NEUTRAL = "neutral_turn_share"
"""How many turns carry no emotion: the one metric that describes the data and not a model."""
SECTIONS = {
    "pillar": ("Composite and pillars", "The overall score (0–100) and its three pillars (0–1)."),
    "turn": ("Turn by turn", "Agreement with the person's labels of each turn, averaged over the conversation."),
    "conversation": (
        "Conversation-wide",
        "Agreement with the person's answers about the whole conversation.",
    ),
    "draft": ("Drafted replies", "Scores of the model's own replies. Not part of the Composite."),
    "diagnostic": ("Diagnostics", "Explains other scores. Not part of the Composite."),
    "released": ("Released scorer only", "Computed only by the released scorer. Not part of the Composite."),
}
"""Group of metrics → heading of its section, and what it is."""
BLOCKS = {
    "binary_om": "Binary OM",
    "binary_hp": "Binary HP",
    "binary_om_hp": "Binary OM, person's phrasing",
    "binary_hp_hp": "Binary HP, person's phrasing",
}
_STATISTICS = {
    "counts": ("tp/tn/fp/fn", "Judgements by label and answer: yes-yes, no-no, no-yes, yes-no."),
    "accuracy": ("accuracy", "Share of correct judgements."),
    "precision": ("precision", "Share of yes answers that are correct."),
    "recall": ("recall", "Share of yes labels that are answered yes."),
    "f1": ("F1", "Harmonic mean of precision and recall of the answer yes."),
    "mcc": (
        "MCC",
        "Matthews correlation of answers and labels, from −1 to 1. Always giving the same answer scores 0.",
    ),
}


def rows_of(cards: Iterable[Metric], groups: Sequence[Group]) -> tuple[Row, ...]:
    """The rows of the metrics, each `…_tagged` right behind its plain form; what the scores lack is undefined."""
    by_id = {card.id: card for card in cards}
    ordered = [
        one
        for card in by_id.values()
        if not (card.id.endswith(_TAGGED) and card.id.removesuffix(_TAGGED) in by_id)
        for one in (card, by_id.get(card.id + _TAGGED))
        if one
    ]
    return tuple(Row(card, tuple(group.values.get(card.id, Cell(None)) for group in groups)) for card in ordered)


def stands_beside(card: Metric) -> bool:
    """Whether a diagnostic is shown with the metrics of a turn: the rule for turns without an emotion decides much of
    the emotion averages, so their values over tagged turns and the share of neutral turns always go with them."""
    plain = REGISTRY.get(card.id.removesuffix(_TAGGED))
    return card.id == NEUTRAL or (card.id.endswith(_TAGGED) and plain is not None and plain.group == "turn")


def pooled_rows(
    groups: Sequence[Group], block: str, statistics: Sequence[str], *, category: str | None = None
) -> list[Row]:
    """Rows of a pooled block ("binary_om" …), in all or of one question category.

    Their ids are `<block>_<statistic>_pooled`, with `.<category>` behind; such values have no interval.
    """
    where = f".{category}" if category else ""
    name = f"{category.replace('_', ' ').capitalize()}: " if category else f"{BLOCKS[block]} "

    found = [group.pooled.get(block, {}) for group in groups]
    if category:
        found = [whole.get("by_category", {}).get(category, {}) for whole in found]
    rows = []
    for statistic in statistics:
        label, meaning = _STATISTICS[statistic]
        id = f"{block}_{statistic}_pooled{where}"
        rows.append(
            Row(
                Metric(id, f"{name}{label}", meaning, meaning, "diagnostic", "alongside", "turn"),
                tuple(_pooled(counted, statistic) for counted in found),
                pooled=True,
                n_shown="counts" not in statistics,
                kind=(label, f"…_{statistic}_pooled{where and '.…'}"),
            )
        )
    return rows


def _pooled(counted: Mapping[str, Any], statistic: str) -> Cell:
    """One statistic of a pooled block ("counts": "300/50/30/32") over the sum of its counts; undefined over none."""
    counts = [counted[name] for name in ("tp", "tn", "fp", "fn")] if counted else []
    if not sum(counts):
        return Cell(None)
    return Cell("/".join(map(str, counts)) if statistic == "counts" else counted[statistic], n=sum(counts))


def explain_pooled(row_id: str) -> str | None:
    """The meaning of a pooled row by its id, None for an id that is none of theirs."""
    for block, name in BLOCKS.items():
        for statistic, (label, meaning) in _STATISTICS.items():
            if row_id == f"{block}_{statistic}_pooled":
                return f"{name} {label}, over the answers of all conversations together. {meaning}"
    return None
