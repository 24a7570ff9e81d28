"""The table of judged scores on the page: whose drafts, by which judges on which scale. Lays out; computes nothing."""

from __future__ import annotations

from collections.abc import Sequence

from attunebench.analyses.model import Cell, Column, Drill, Table, text
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.reports.model import Estimate, Group
from attunebench.reports.notes import judges_of


def judged_table(groups: Sequence[Group]) -> Table | None:
    """What judges say of the drafts of each group, None where no draft was judged."""
    cards = [card for card in REGISTRY.values() if card.id in JUDGED]
    judged = [group for group in groups if any(_scored(group, card.id).mean is not None for card in cards)]
    if not judged:
        return None
    columns = (
        Column("model", "model", "text"),
        Column("mode", "mode", "text"),
        Column("judges", "judged by", "text"),
        Column("conversations", "n", "count", "Conversations with a value of the draft judge."),
        *(Column(card.id, card.label, "share", card.meaning, True) for card in cards),
    )
    return Table(
        "judged",
        "Judged drafts",
        columns,
        tuple(_row(group, [card.id for card in cards]) for group in judged),
        caption="The replies that the model wrote itself. Not part of the Composite.",
        notes=(judges_of(judged),),
    )


def _row(group: Group, metric_ids: Sequence[str]) -> tuple[Cell, ...]:
    cells = [_scored(group, metric_id) for metric_id in metric_ids]
    key = (group.provider, group.model, group.mode)
    return (
        text(group.model),
        text(group.mode),
        text("; ".join(group.judges) or "not named"),
        Cell(cells[0].n),
        *(
            Cell(cell.mean, cell.ci_low, cell.ci_high, n=cell.n, drill=Drill(key, metric_id) if cell.n else None)
            for cell, metric_id in zip(cells, metric_ids, strict=True)
        ),
    )


def _scored(group: Group, metric_id: str) -> Estimate:
    return group.values.get(metric_id, Estimate())
