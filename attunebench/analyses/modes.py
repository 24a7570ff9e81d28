"""What a mode changes: each other mode minus the default one, model by model, over the conversations that both have.

A mode is an experiment on the same conversations, so differences are paired; ranks are compared over the conversations
that every model has in both modes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, known, text
from attunebench.analyses.testing import reach_text
from attunebench.constants import MODES
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import (
    Floats,
    mean_as_ratio,
    percentile_interval,
    resampled_ratios,
    sum_by_cluster,
)
from attunebench.statistics.permutation import permutations_needed
from attunebench.statistics.rank_tests import rank_shift_p
from attunebench.statistics.ranks import competition_ranks

METRICS = ("composite", *common.CANONICAL, "kendall_tau", "draft_judge", "draft_binary_alignment")
RANKED = ("composite", "pairwise_accuracy")
_SHIFT = 2
"""A model that moves so many ranks is named."""


@dataclass(frozen=True)
class _Pair:
    """Two modes of the same models: `base` and `other` have their groups in one order."""

    mode: str
    base_mode: str
    base: ScoreTable
    other: ScoreTable


def analyse(subject: Subject) -> Analysis:
    """For each other mode a table of differences per model and metric, and one of rank shifts."""
    begun = common.begun("modes")
    settings = subject.settings
    base_mode = common.primary_mode(subject.study)
    pairs = [pair for mode in _others(subject, base_mode) if (pair := _pair(subject, base_mode, mode)) is not None]
    if not pairs:
        return replace(begun, missing=_missing(subject, base_mode))
    tables: list[Table] = []
    shows: list[str] = []
    beyond: list[str] = []
    for pair in pairs:
        metrics = tuple(common.defined_metrics(pair.other, common.wanted_metrics(settings, METRICS)))
        if not metrics:
            continue
        cells = _differences(pair, metrics, settings)
        least = Sampling.of(pair.base, settings).least
        beyond += reach_text(np.full(len(metrics) * len(pair.base.groups), least), settings)
        ranked = [m for m in RANKED if m in metrics]
        ranks = {m: _ranks(pair, m, settings, len(ranked)) for m in ranked}
        tables.append(_difference_table(pair, metrics, cells, settings))
        if len(pair.base.groups) > 1:
            tables.append(_rank_table(pair, ranks, settings))
        shows.append(_shows(pair, metrics, cells, ranks, settings))
    if not tables:
        return replace(begun, missing="None of the metrics is defined for any conversation in another mode.")
    judged = any(column.id in JUDGED for table in tables for column in table.columns)
    return replace(
        begun,
        tables=tuple(tables),
        shows=" ".join(shows),
        cannot="Where a mode covers few conversations, differences smaller than a few points cannot be seen and no "
        "difference found is not none there. A change of the draft's score is also one of its judge.",
        warnings=(
            *common.comparability(_everyone(pairs), JUDGED if judged else ()),
            *dict.fromkeys(beyond),
        ),
        notes=(common.small_text(settings), *((common.judges_text(_everyone(pairs)),) if judged else ())),
    )


def _others(subject: Subject, base_mode: str) -> list[str]:
    modes = [mode for mode in subject.study.modes if mode != base_mode]
    wanted = subject.settings.mode
    if wanted and wanted != base_mode:
        modes = [mode for mode in modes if mode == wanted]
    return sorted(modes, key=lambda mode: (MODES.index(mode) if mode in MODES else len(MODES), mode))


def _pair(subject: Subject, base_mode: str, mode: str) -> _Pair | None:
    """None where no model has a conversation in both modes."""
    study = subject.study.models(baselines=subject.settings.baselines)
    base = {group.model_key: group for group in study.groups if group.mode == base_mode}
    other = {group.model_key: group for group in study.groups if group.mode == mode}
    both = [key for key in base if key in other]
    first, second = (study.with_groups([side[key] for key in both]) for side in (base, other))
    rows = np.flatnonzero((first.scored() & second.scored()).any(axis=1))
    if not len(rows):
        return None
    ids = [study.ids[row] for row in rows]
    return _Pair(mode, base_mode, first.with_conversations(ids), second.with_conversations(ids))


def _missing(subject: Subject, base_mode: str) -> str:
    if len(subject.study.modes) < 2:
        return f"All results are in one mode, {base_mode}; a second one is needed to compare with."
    return f"No model has a conversation both in mode {base_mode} and in another one."


def _everyone(pairs: Sequence[_Pair]) -> ScoreTable:
    """All groups that are compared, over the conversations of the first pair."""
    groups = dict.fromkeys(group for pair in pairs for group in (*pair.base.groups, *pair.other.groups))
    return pairs[0].base.with_groups(list(groups))


def _differences(pair: _Pair, metrics: Sequence[str], settings: Settings) -> dict[str, list[Cell]]:
    """Metric → a cell per model: the other mode minus the base one. All of them are one family of tests."""
    sampling = Sampling.of(pair.base, settings)
    a, b = (np.concatenate([side.values(m) for m in metrics], axis=1) for side in (pair.other, pair.base))
    tests = sampling.tests(f"modes {pair.mode}", a, b)
    cells = sampling.difference_cells(tests, common.corrected_p(tests, settings), a, b)
    defined, groups = np.asarray(~np.isnan(a - b)), pair.other.groups
    found = {}
    for place, metric_id in enumerate(metrics):
        columns = range(place * len(groups), (place + 1) * len(groups))
        found[metric_id] = [
            replace(
                cells[c],
                drill=Drill(group=g.key, metric=metric_id, conversations=_shared(pair, np.asarray(defined[:, c]))),
            )
            for c, g in zip(columns, groups, strict=True)
        ]
    return found


def _shared(pair: _Pair, rows: NDArray[np.bool_]) -> tuple[str, ...]:
    return tuple(pair.base.ids[row] for row in np.flatnonzero(rows))


def _difference_table(
    pair: _Pair, metrics: Sequence[str], cells: Mapping[str, list[Cell]], settings: Settings
) -> Table:
    columns = [Column("model", "model", "text"), Column("n", "conversations", "count", "Scored in both modes.")]
    for metric_id in metrics:
        card = REGISTRY[metric_id]
        digits = common.digits_of(metric_id)
        columns.append(Column(metric_id, card.label, "number", card.meaning, card.higher_is_better, digits))
    both = (pair.base.scored() & pair.other.scored()).sum(axis=0)
    rows = tuple(
        (text(group.label), Cell(int(both[i])), *(cells[metric_id][i] for metric_id in metrics))
        for i, group in enumerate(pair.base.groups)
    )
    return Table(
        f"{pair.mode}_minus_{pair.base_mode}",
        f"{pair.mode} − {pair.base_mode}",
        tuple(columns),
        rows,
        caption=f"Paired over the conversations of both modes: {common.sample_text(pair.base)}; Composite in points of "
        f"100. {common.intervals_text(settings)}; "
        f"{common.correction_text(settings, f'all {len(metrics) * len(rows)} differences')}.",
        chart=Chart("heatmap", "model", tuple(metrics), f"{pair.mode} − {pair.base_mode}", "difference"),
    )


@dataclass(frozen=True)
class _Ranks:
    """Ranks in both modes and the shift (positive: up), with its interval over resampled conversations.

    `p` is of the shifts, corrected over the models and metrics of the table; `small`: too little for a claim.
    """

    before: Floats
    after: Floats
    low: Floats
    high: Floats
    p: Floats
    n: int
    small: bool


def _ranks(pair: _Pair, metric_id: str, settings: Settings, metrics: int) -> _Ranks:
    """Over the conversations in which every model is defined in both modes; one of so many metrics."""
    base, other = pair.base.values(metric_id), pair.other.values(metric_id)
    whole = np.asarray(~np.isnan(base + other).any(axis=1))
    count = base.shape[1]
    if whole.sum() < 1:
        gap = np.full(count, np.nan)
        return _Ranks(gap, gap, gap, gap, gap, 0, small=False)
    shared = pair.base.with_conversations(_shared(pair, whole))
    sampling = Sampling.of(shared, settings)
    values = np.concatenate([base[whole], other[whole]], axis=1) * (1 if common.better(metric_id) else -1)
    before, after = (competition_ranks(part.mean(axis=0)) for part in (values[:, :count], values[:, count:]))
    above, below = mean_as_ratio(values)
    if sampling.clusters is not None:
        above, below = sum_by_cluster(above, sampling.clusters), sum_by_cluster(below, sampling.clusters)
    drawn = resampled_ratios(sampling.weights, above, below)
    shifts = competition_ranks(drawn[:, :count]) - competition_ranks(drawn[:, count:])
    low, high = percentile_interval(shifts, settings.level, keep_constant=True)
    if len(above) < 2:
        low, high = np.full(count, np.nan), np.full(count, np.nan)
    p = rank_shift_p(
        values[:, :count],
        values[:, count:],
        rng=settings.rng(f"rank shifts {pair.mode} {metric_id}"),
        permutations=permutations_needed(metrics, settings.alpha),
        clusters=sampling.clusters,
    )
    n, people = int(whole.sum()), len(np.unique(sampling.people))
    few = n < settings.small or people < 2 or sampling.least * metrics > settings.alpha
    return _Ranks(before, after, low, high, np.minimum(p * metrics, 1.0), n, small=few)


def _rank_table(pair: _Pair, ranks: Mapping[str, _Ranks], settings: Settings) -> Table:
    columns = [Column("model", "model", "text")]
    for metric_id in ranks:
        label = common.label_of(metric_id)
        columns += [
            Column(f"{metric_id}_before", f"{label}, {pair.base_mode}", "rank", "Rank in the base mode.", False),
            Column(f"{metric_id}_after", f"{label}, {pair.mode}", "rank", "Rank in the other mode.", False),
            Column(f"{metric_id}_shift", f"{label}, shift", "number", "Ranks gained; below 0: lost.", True, 0),
        ]
    rows = []
    for i, group in enumerate(pair.base.groups):
        cells: list[Cell] = [text(group.label)]
        for found in ranks.values():
            shift = Cell(
                known(found.before[i] - found.after[i]),
                known(found.low[i]),
                known(found.high[i]),
                n=found.n,
                p_corrected=known(found.p[i]),
                small=found.small,
            )
            cells += [Cell(known(found.before[i])), Cell(known(found.after[i])), shift]
        rows.append(tuple(cells))
    return Table(
        f"{pair.mode}_ranks",
        f"Ranks under {pair.base_mode} and {pair.mode}",
        tuple(columns),
        tuple(rows),
        caption="Over the conversations that every model has in both modes; equal means share the better rank. "
        f"{common.intervals_text(settings)}, which say how far places vary and not whether modes differ; p of a shift "
        "by exchanging the modes of conversations, corrected over all models and both rankings.",
        chart=Chart(
            "dumbbells",
            "model",
            tuple(f"{next(iter(ranks))}_{side}" for side in ("before", "after")) if ranks else (),
            f"Ranks under {pair.base_mode} and {pair.mode}",
            "rank",
        )
        if ranks
        else None,
    )


def _shows(
    pair: _Pair,
    metrics: Sequence[str],
    cells: Mapping[str, list[Cell]],
    ranks: Mapping[str, _Ranks],
    settings: Settings,
) -> str:
    said = f"{pair.mode} − {pair.base_mode}: "
    tested = [cell for metric_id in metrics for cell in cells[metric_id] if cell.p is not None and not cell.small]
    if not tested:
        return f"{said}too few conversations in both modes for a claim."
    changes = [
        f"{pair.base.labels[i]} on {common.label_of(m)} {common.with_interval(cell, common.digits_of(m), sign=True)}"
        for m in metrics
        for i, cell in enumerate(cells[m])
        if common.claimed(cell, settings)
    ]
    if changes:
        said += (
            f"{len(changes)} of {common.counted(len(tested), 'difference')} are told from 0: {common.listed(changes)}."
        )
    else:
        said += f"none of {common.counted(len(tested), 'difference')} is told from 0."
    return f"{said}{_moves(pair, ranks, settings)}"


def _moves(pair: _Pair, ranks: Mapping[str, _Ranks], settings: Settings) -> str:
    if len(pair.base.groups) < 2 or not ranks:
        return ""
    moved = []
    for metric_id, found in ranks.items():
        if found.small:
            continue
        for i, label in enumerate(pair.base.labels):
            shift = found.before[i] - found.after[i]
            if abs(shift) >= _SHIFT and found.p[i] <= settings.alpha:
                way = "up" if shift > 0 else "down"
                moved.append(f"{label} {way} {abs(shift):.0f} on {common.label_of(metric_id)}")
    if moved:
        return f" Ranks move by two or more: {common.listed(moved)}."
    return " No model moves two ranks or more beyond chance."
