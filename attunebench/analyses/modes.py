"""What a mode changes: each other mode minus the default one, model by model, over the conversations that both have.

Differences are paired; ranks are compared over the conversations that every model has in both modes.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Settings, Subject, label_of, value_of
from attunebench.analyses.sampling import Sampling, cells_of, claimed
from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    Drill,
    Filled,
    Missing,
    Table,
    column,
    counts,
    ranks,
    table,
    words,
)
from attunebench.analyses.within import in_rows
from attunebench.constants import MODES
from attunebench.metrics.draft import JUDGED
from attunebench.scores.table import ScoreTable
from attunebench.statistics.permutation import permutations_needed
from attunebench.statistics.rank_tests import rank_shift_p
from attunebench.statistics.ranks import competition_ranks

METRICS = ("composite", *base.CANONICAL, "kendall_tau", "draft_judge", "draft_binary_alignment")
RANKED = ("composite", "pairwise_accuracy")
_DRAWN = ("composite", "emotion_va", "binary_hp_accuracy", "pairwise_accuracy")
"""Metrics whose differences are drawn."""
_SHIFT = 2
"""A model that moves so many ranks is named."""


def analyse(subject: Subject) -> Analysis:
    """For each other mode a table of differences per model and metric, and one of rank shifts."""
    settings, pairs = subject.settings, _pairs(subject)
    tables, shows, beyond, shown = list[Table](), list[str](), list[str](), set[str]()
    for first, other in pairs:
        cells = _differences(first, other, settings)
        if not cells:
            continue
        ranked = [metric_id for metric_id in RANKED if metric_id in cells]
        columns = {m: _rank_columns(first, other, m, settings, len(ranked)) for m in ranked}
        tables.append(_difference_table(first, other, cells, settings))
        tables += [_rank_table(first, other, columns)] if ranked and len(first.groups) > 1 else []
        shows.append(_shows(first, other, cells, {m: filled[-1].cells for m, filled in columns.items()}, settings))
        least = np.full(len(cells) * len(first.groups), Sampling.of(first, settings).least)
        beyond += verdicts.reach_text(least, settings)
        shown.update(cells)
    if not tables:
        raise Missing("None of the metrics is defined in another mode.")
    groups = dict.fromkeys(group for pair in pairs for study in pair for group in study.groups)
    everyone = pairs[0][0].with_groups(list(groups))
    return Analysis(
        tables=tuple(tables),
        shows=" ".join(shows),
        cannot="With few conversations in a mode, differences of a few points cannot be detected, so finding none does "
        "not show that there is none. A change in the draft's score also reflects its judge.",
        warnings=(*verdicts.comparability(everyone, JUDGED if JUDGED & shown else ()), *dict.fromkeys(beyond)),
        notes=verdicts.judges_note(everyone, shown),
    )


def _pairs(subject: Subject) -> list[tuple[ScoreTable, ScoreTable]]:
    """The primary mode and each other one of the same models, in one order, over the conversations of both."""
    study = subject.study.models(baselines=subject.settings.baselines)
    primary, wanted = base.primary_mode(subject.study), subject.settings.mode
    modes = [mode for mode in subject.study.modes if mode != primary]
    if not modes:
        raise Missing(f"All results are in one mode, {primary}; a comparison requires two.")
    if wanted and wanted != primary:
        modes = [mode for mode in modes if mode == wanted]
    pairs = []
    for mode in sorted(modes, key=lambda mode: (MODES.index(mode) if mode in MODES else len(MODES), mode)):
        sides = [{g.model_key: g for g in study.groups if g.mode == one} for one in (primary, mode)]
        both = [key for key in sides[0] if key in sides[1]]
        first, other = (study.with_groups([side[key] for key in both]) for side in sides)
        ids = [study.ids[row] for row in np.flatnonzero((first.scored() & other.scored()).any(axis=1))]
        if ids:
            pairs.append((first.with_conversations(ids), other.with_conversations(ids)))
    if not pairs:
        raise Missing(f"No model has the same conversation in mode {primary} and in another mode.")
    return pairs


def _differences(first: ScoreTable, other: ScoreTable, settings: Settings) -> dict[str, list[Cell]]:
    """Metric → a cell per model: the other mode minus the first one. All of them are one family of tests."""
    metrics = tuple(base.defined_metrics(other, base.wanted_metrics(settings, METRICS)))
    if not metrics:
        return {}
    a, b = (np.concatenate([side.values(m) for m in metrics], axis=1) for side in (other, first))
    defined, ids = ~np.isnan(a - b).T, np.array(first.ids, dtype=object)
    keys = [(group.key, m) for m in metrics for group in other.groups]
    drills = [Drill(key, m, conversations=tuple(ids[row])) for (key, m), row in zip(keys, defined, strict=True)]
    cells = Sampling.of(first, settings).paired(f"modes {other.modes[0]}", a, b, drills)
    return dict(zip(metrics, in_rows(cells, len(other.groups)), strict=True))


def _difference_table(
    first: ScoreTable, other: ScoreTable, cells: Mapping[str, list[Cell]], settings: Settings
) -> Table:
    both, modes = (first.scored() & other.scored()).sum(axis=0), (other.modes[0], first.modes[0])
    return table(
        "_minus_".join(modes),
        " − ".join(modes),
        words("model", first.labels),
        counts("n", both, "conversations", "Conversations scored in both modes."),
        *(base.metric_column(metric_id, column_cells, difference=True) for metric_id, column_cells in cells.items()),
        caption=f"Paired over the conversations in both modes: {verdicts.sample_text(first)}; Composite in points out "
        f"of 100. {verdicts.correction_text(settings, f'all {len(cells) * len(both)} differences')}.",
        chart=Chart("intervals", "model", _DRAWN, " − ".join(modes), "difference", base.NO_DIFFERENCE),
    )


def _rank_columns(
    first: ScoreTable, other: ScoreTable, metric_id: str, settings: Settings, metrics: int
) -> list[Filled]:
    """The ranks in both modes and the ranks gained, over the conversations that every model has in both.

    p is corrected over the models of a metric by `rank_shift_p`, and over so many metrics here.
    """
    sides = [side.values(metric_id) * (1 if base.better(metric_id) else -1) for side in (first, other)]
    whole = ~np.isnan(sides[0] + sides[1]).any(axis=1)
    n, places = np.full(len(first.groups), whole.sum()), [np.full(len(first.groups), np.nan)] * 2
    shifts = cells_of(places[0], n=n)
    if whole.any():
        sampling = Sampling.of(first.with_conversations(np.array(first.ids, dtype=object)[whole].tolist()), settings)
        sides = [side[whole] for side in sides]
        rng, draws = (
            settings.rng(f"rank shifts {other.modes[0]} {metric_id}"),
            permutations_needed(metrics, settings.alpha),
        )
        p = np.minimum(rank_shift_p(*sides, rng=rng, permutations=draws, clusters=sampling.clusters) * metrics, 1.0)
        few = sampling.small(sides[0]) | (sampling.least * metrics > settings.alpha)
        shifts = cells_of(*sampling.rank_shifts(*sides), n, few, p_corrected=p)
        places = [competition_ranks(side.mean(axis=0)) for side in sides]
    label = label_of(metric_id)
    return [
        ranks(f"{metric_id}_before", places[0], f"{label}, {first.modes[0]}"),
        ranks(f"{metric_id}_after", places[1], f"{label}, {other.modes[0]}"),
        column(f"{metric_id}_shift", shifts, f"{label}, shift", meaning="Ranks gained.", better=True, digits=0),
    ]


def _rank_table(first: ScoreTable, other: ScoreTable, columns: Mapping[str, list[Filled]]) -> Table:
    title, lead = f"Ranks under {first.modes[0]} and {other.modes[0]}", next(iter(columns))
    return table(
        f"{other.modes[0]}_ranks",
        title,
        words("model", first.labels),
        *(one for filled in columns.values() for one in filled),
        caption="Over the conversations that every model has in both modes; equal means share the better rank. "
        "Intervals show how much ranks vary, not whether modes differ. p of a shift "
        "is by exchanging the modes of conversations, corrected over all models and both rankings.",
        chart=Chart("dumbbells", "model", (f"{lead}_before", f"{lead}_after"), title, "rank"),
    )


def _shows(
    first: ScoreTable,
    other: ScoreTable,
    cells: Mapping[str, list[Cell]],
    shifts: Mapping[str, list[Cell]],
    settings: Settings,
) -> str:
    named, ranked = (
        [(f"{label} on {label_of(m)}", cell) for m in found for label, cell in zip(first.labels, found[m], strict=True)]
        for found in (cells, shifts)
    )
    sentence = f"{other.modes[0]} − {first.modes[0]}: {verdicts.claims_sentence(named, settings, digits=2)}"
    if len(first.labels) < 2 or all(cell.small for _, cell in ranked):
        return sentence
    far = [(name, value_of(cell)) for name, cell in ranked if claimed(cell, settings)]
    moved = [f"{name} {shift:+.0f}" for name, shift in far if abs(shift) >= _SHIFT]
    return f"{sentence} Significant shifts of two ranks or more: {verdicts.listed(moved) or 'none'}."
