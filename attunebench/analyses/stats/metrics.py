"""Every metric of one model: its mean, how it spreads over conversations, and where it is best and worst."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Cell, Column, Table, text
from attunebench.analyses.stats.one import One
from attunebench.metrics import rates
from attunebench.metrics.registry import REGISTRY
from attunebench.scores import ConversationEntry
from attunebench.statistics.bootstrap import Floats
from attunebench.text import printable

_TITLES = {
    "pillar": "The three pillars of the Composite",
    "turn": "Turn by turn",
    "conversation": "Conversation-wide",
    "draft": "Drafted replies (not in the Composite)",
    "diagnostic": "Diagnostics (not in the Composite)",
}
_PLACES = 3
"""So many best and worst conversations are listed of the first metric, and one of each of the others."""
_LONGEST_ID = 100
TIES = (
    "Of conversations with the same value the first in the order of the scores is named; “alike” says how many have it."
)

_POOLED = frozenset(card.id for card in rates.CARDS)
"""Rates of a group count over all its items or calls, whichever conversation they are of."""


@dataclass(frozen=True, slots=True)
class Files:
    """Where a result file is: as people read it, and as a URL for a screen that can open it ("" for none)."""

    shown: str
    url: str = ""


Locate = Callable[[int, str], Files]
"""(position of the scores file, name of the result file in its results folder) → where it is."""


def metric_tables(one: One, metric_ids: Sequence[str]) -> tuple[list[Table], list[str]]:
    """A table for each group of metrics, and the labels of those that were not measured and are no canonical ones."""
    measured, absent = [], []
    for metric_id in metric_ids:
        if REGISTRY[metric_id].status == "canonical" or not np.isnan(one.values(metric_id)).all():
            measured.append(metric_id)
        else:
            absent.append(common.label_of(metric_id))
    tables = []
    if "composite" in measured:
        tables.append(_table(one, "composite", "Composite (0–100)", ["composite"]))
    for group, title in _TITLES.items():
        members = [m for m in measured if REGISTRY[m].group == group and m != "composite"]
        if members:
            tables.append(_table(one, group, title, members))
    return tables, absent


def _table(one: One, table_id: str, title: str, metric_ids: Sequence[str]) -> Table:
    digits = common.digits_of(metric_ids[0])
    spread = ("sd", "lowest", "quarter", "median", "three_quarters", "highest")
    meanings = ("Standard deviation over conversations (n − 1).", *("Quantile over conversations.",) * 5)
    columns = (
        Column("metric", "metric", "text"),
        Column("n", "n", "count", "Conversations in which the metric is defined."),
        Column("mean", "mean", "number", "As `score` wrote it.", None, digits),
        *(Column(i, i.replace("_", " "), "number", m, None, digits) for i, m in zip(spread, meanings, strict=True)),
        Column("id", "id", "text", "What --metric and `report --explain` take."),
    )
    cells = {metric_id: one.mean(metric_id) for metric_id in metric_ids}
    rows = tuple(
        (text(common.label_of(m)), Cell(cell.n), cell, *map(Cell, spread_of(one.values(m))), text(m))
        for m, cell in cells.items()
    )
    notes = []
    if any(cell.mark == common.ZERO_INFLATED for cell in cells.values()):
        notes.append(common.ZERO_INFLATED_NOTE)
    if pooled := [common.label_of(m) for m in metric_ids if m in _POOLED]:
        notes.append(f"Means over all items or calls together, spread over conversations: {', '.join(pooled)}.")
    if table_id == "draft":
        notes.append(common.judges_text(one.study))
    if lower := [common.label_of(m) for m in metric_ids if REGISTRY[m].higher_is_better is False]:
        notes.append(f"Lower is better: {', '.join(lower)}.")
    return Table(table_id, title, columns, rows, notes=tuple(notes))


def intervals_text(one: One) -> str:
    """How means and intervals were made, for the notes."""
    made = one.metadata.get("intervals") or {}
    method, unit = printable(str(made.get("method", "bootstrap")), 40), printable(str(made.get("unit", "")), 40)
    over = f" over {unit}s" if unit else ""
    said = (
        f"Means and [low, high], the 95 % {method} interval{over}, are those of `score`; spread is over conversations."
    )
    talks = np.bincount(one.study.clusters)
    several = int((talks > 1).sum())
    if unit != "conversation" or not several:
        return said
    return (
        f"{said} {several} of {common.counted(len(talks), 'participant')} {'has' if several == 1 else 'have'} several "
        "conversations: if these are alike, intervals are too narrow; `score --cluster participant` takes participants."
    )


def spread_of(values: Floats) -> tuple[float | None, ...]:
    """sd, lowest, quarter, median, three quarters, highest of the defined values; None where there is none."""
    defined = values[~np.isnan(values)]
    if not defined.size:
        return (None,) * 6
    sd = float(defined.std(ddof=1)) if defined.size > 1 else None
    return (sd, *(float(q) for q in np.quantile(defined, (0.0, 0.25, 0.5, 0.75, 1.0))))


def extremes_table(one: One, metric_ids: Sequence[str], locate: Locate) -> Table | None:
    """The best and worst conversations of each metric, with their result files; None where nothing is defined."""
    rows: list[tuple[Cell, ...]] = []
    for metric_id in metric_ids:
        first = not rows
        rows += list(_extremes(one, metric_id, locate, _PLACES if first else 1))
    if not rows:
        return None
    return Table(
        "extremes",
        "Best and worst conversations",
        (
            Column("metric", "metric", "text"),
            Column("end", "end", "text", "best and worst; lowest and highest where neither is better."),
            Column("value", "value", "number", digits=3),
            Column("alike", "alike", "count", "Conversations with that very value."),
            Column("conversation", "conversation", "text"),
            Column("talk", "labels", "text", "The file of the conversation."),
            Column("file", "result file", "text"),
        ),
        tuple(rows),
        caption=TIES,
    )


def _extremes(one: One, metric_id: str, locate: Locate, places: int) -> Iterator[tuple[Cell, ...]]:
    values = one.values(metric_id)
    count = int((~np.isnan(values)).sum())
    ends = _ends(metric_id)
    if not count:
        return
    if np.nanmin(values) == np.nanmax(values):
        ends, places = (("only" if count == 1 else "all alike", ends[0][1]),), 1
    else:
        places = min(places, count // 2)
    for end, highest_first in ends:
        for position in common.by_value(values, higher_is_better=highest_first)[:places]:
            alike = int((values == values[position]).sum())
            yield (
                text(common.label_of(metric_id)),
                text(end),
                Cell(float(values[position])),
                Cell(alike),
                *_where(one, one.study.ids[position], locate),
            )


def _ends(metric_id: str) -> tuple[tuple[str, bool], ...]:
    """What the two ends are called, and whether the highest value is there."""
    better = REGISTRY[metric_id].higher_is_better
    if better is None:
        return ("highest", True), ("lowest", False)
    return ("best", better), ("worst", not better)


def _where(one: One, conversation_id: str, locate: Locate) -> tuple[Cell, Cell, Cell]:
    runs = one.entries_of(conversation_id)
    files = _file_of(one, runs[0], locate)
    truth = one.study.ground_truth.get(conversation_id)
    return (
        Cell(printable(conversation_id, _LONGEST_ID), link=files.url),
        Cell(None if truth is None else printable(truth["source_file"], _LONGEST_ID)),
        Cell(files.shown or None, mark=f"and {len(runs) - 1} more" if len(runs) > 1 else "", link=files.url),
    )


def _file_of(one: One, entry: ConversationEntry, locate: Locate) -> Files:
    name = entry.get("source_file")
    return locate(one.group.source, name) if name else Files("")


def best_and_worst(one: One, metric_id: str) -> tuple[str, str] | None:
    """The names of the best and the worst conversation, the file's where it is known; None where all are alike."""
    values = one.values(metric_id)
    defined = values[~np.isnan(values)]
    if not defined.size or defined.min() == defined.max():
        return None
    better = common.better(metric_id)
    places = (common.by_value(values, higher_is_better=best)[0] for best in (better, not better))
    best, worst = (f"{_name(one, p)} ({common.number(values[p], common.digits_of(metric_id))})" for p in places)
    return best, worst


def _name(one: One, position: int) -> str:
    conversation = one.study.ids[position]
    truth = one.study.ground_truth.get(conversation)
    return printable(conversation if truth is None else truth["source_file"].removesuffix(".json"), _LONGEST_ID)
