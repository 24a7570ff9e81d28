"""The part of a comparison of a subset with the rest that fits on a screen: the first table of the first mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attunebench.analyses.table import Analysis, Table


def on_screen(made: Sequence[Analysis]) -> Sequence[Analysis]:
    """What a screen shows first of a comparison: the first table of the first mode, and what else there is."""
    head, *modes = made
    first = next((one for one in modes if any(table.id.startswith("beside-") for table in one.tables)), None)
    if first is None:
        return made
    others = [one.title for one in modes if one is not first and one.tables]
    left = [*(table.title for table in first.tables[1:]), *others]
    more = (f"Not shown: {'; '.join(left)}: --full, --metric or another --format has them.",) if left else ()
    head = replace(head, question="", tables=(), notes=())
    return head, replace(first, question="", tables=(_plain(first.tables[0]),), notes=more)


def _plain(table: Table) -> Table:
    """The table without the base rate, and without an n that is the one of the caption."""
    kept = [at for at, column in enumerate(table.columns) if column.id != "beyond"]
    sides = [at for at, column in enumerate(table.columns) if column.id in ("subset", "rest")]
    most = {at: max((row[at].n or 0 for row in table.rows), default=0) for at in sides}
    rows = (
        tuple(replace(row[at], n=None) if at in most and row[at].n == most[at] else row[at] for at in kept)
        for row in table.rows
    )
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=tuple(rows))
