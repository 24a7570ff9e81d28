"""The part of a comparison of a subset with the rest that fits on a screen: the first table of the first mode."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from attunebench.analyses.table import Analysis, Table
from attunebench.analyses.verdicts import legend


def on_screen(made: Sequence[Analysis]) -> Sequence[Analysis]:
    """What a screen shows first of a comparison: the first table of the first mode, and what else there is."""
    head, *modes = made
    first = next((one for one in modes if any(table.id.startswith("beside-") for table in one.tables)), None)
    if first is None:
        return made
    others = [one.title for one in modes if one is not first and one.tables]
    left = [*(table.title for table in first.tables[1:]), *others]
    more = (f"Not shown: {'; '.join(left)}: --full, --metric or another --format has them.",) if left else ()
    sides = [row[1].value for row in head.tables[0].rows]
    head = replace(head, question="", tables=(), notes=())
    lead = _without_base_rate(first.tables[0], *sides[:2])
    return head, replace(first, question="", tables=(lead,), notes=(*legend((lead,)), *more))


def _without_base_rate(table: Table, subset: object, rest: object) -> Table:
    """The table without the base rate, and without an n that is that of its whole side, which the caption states."""
    kept = [at for at, column in enumerate(table.columns) if column.id != "beyond"]
    whole = {at: {"subset": subset, "rest": rest}.get(column.id) for at, column in enumerate(table.columns)}
    rows = (
        tuple(replace(row[at], n=None) if row[at].n in (None, whole[at]) else row[at] for at in kept)
        for row in table.rows
    )
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=tuple(rows))
