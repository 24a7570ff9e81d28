"""Shares of verdicts or replies as cells, with their resamples, and differences of two of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from attunebench.analyses.sampling import cells_of
from attunebench.analyses.table import NOT_ESTIMABLE, Cell, Drill, Table, cell_of, number_of
from attunebench.arena.sampling import ArenaSettings
from attunebench.statistics.bootstrap import Floats, Labels, percentile_interval, ratio, ratio_of_sums, sum_by_cluster
from attunebench.statistics.intervals import wilson_interval


def sampled_cells(
    value: Floats,
    samples: Floats,
    n: Labels,
    units: Labels,
    settings: ArenaSettings,
    drills: Sequence[Drill | None] | None = None,
    *,
    share: bool = False,
    **more: Any,
) -> list[Cell]:
    """A cell for each value, with the percentile interval of its resamples: (resamples, values).

    `units` are behind each value: under two there is no interval, and neither is there one where an end is infinite. A
    `share` that is 0 or 1 in all units has Wilson's, each unit counting once.
    """
    with np.errstate(invalid="ignore"):
        ends = np.stack(percentile_interval(samples, settings.level))
    ends[:, ~np.isfinite(ends).all(axis=0) | (units < 2)] = np.nan
    if share:
        sure = np.isnan(ends[0]) & ((value == 0) | (value == 1)) & (units > 1)
        ends = np.where(sure, wilson_interval(value * units, units, settings.level), ends)
    return cells_of(value, ends[0], ends[1], n, units < settings.small, drills, units=units, **more)


def share_cells(
    sums: Callable[[Floats], Floats],
    unit: Labels,
    above: Floats,
    below: Floats,
    settings: ArenaSettings,
    drills: Sequence[Drill | None] | None = None,
) -> tuple[list[Cell], Floats]:
    """Σ above / Σ below of each column of rows, and its resamples: (resamples, columns). n counts rows.

    `sums` are those of `Draws`, `unit` says of which unit each row is.
    """
    size, drawn = above.shape[1], sums(np.hstack([above, below]))
    samples = ratio(drawn[:, :size], drawn[:, size:])
    units, n = (sum_by_cluster(below, unit) > 0).sum(axis=0), (below > 0).sum(axis=0)
    return sampled_cells(ratio_of_sums(above, below), samples, n, units, settings, drills, share=True), samples


def difference_cells(
    one: Sequence[Cell], other: Sequence[Cell], samples: Floats, settings: ArenaSettings, drills: Sequence[Drill | None]
) -> list[Cell]:
    """One minus the other, from cells of shares and the differences of their resamples. n is the smaller of the two."""
    low, high = percentile_interval(samples, settings.level)
    cells = []
    for place, (a, b) in enumerate(zip(one, other, strict=True)):
        value, n = (number_of(a), number_of(b)), min(a.n or 0, b.n or 0)
        if value[0] is None or value[1] is None:
            cells.append(Cell(None, n=n))
            continue
        ends = (low[place], high[place]) if a.low is not None and b.low is not None else (np.nan, np.nan)
        mark = NOT_ESTIMABLE if np.isnan(ends[0]) else ""
        small = a.small or b.small
        cells.append(cell_of(value[0] - value[1], *ends, n=n, small=small, mark=mark, drill=drills[place]))
    return cells


def excludes(cell: Cell, value: float = 0.0) -> bool:
    """Whether the interval of a cell lies to one side of the value, over enough units."""
    return not cell.small and cell.low is not None and cell.high is not None and not cell.low <= value <= cell.high


def without_empty_columns(table: Table) -> Table:
    """The table without columns that have no value in any row."""
    kept = [at for at in range(len(table.columns)) if any(row[at].value is not None for row in table.rows)]
    rows = tuple(tuple(row[at] for at in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[at] for at in kept), rows=rows)
