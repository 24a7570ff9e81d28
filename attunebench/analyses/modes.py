"""What a mode changes: each other mode minus the default one, model by model, over the conversations that both have.

Differences are paired; ranks are compared over the conversations that every model has in both modes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Settings, Subject, label_of, value_of
from attunebench.analyses.sampling import Sampling, cells_of, claimed, corrected_p
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, ranks, table, words
from attunebench.constants import MODES
from attunebench.metrics.draft import JUDGED
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.permutation import permutations_needed
from attunebench.statistics.rank_tests import rank_shift_p
from attunebench.statistics.ranks import competition_ranks

METRICS = ("composite", *base.CANONICAL, "kendall_tau", "draft_judge", "draft_binary_alignment")
RANKED = ("composite", "pairwise_accuracy")
_SHIFT = 2
"""A model that moves so many ranks is named."""


class _Pair(NamedTuple):
    """Two modes of the same models, with their groups in one order."""

    first_mode: str
    mode: str
    first: ScoreTable
    other: ScoreTable

    @property
    def name(self) -> str:
        return f"{self.mode} − {self.first_mode}"


class _Ranks(NamedTuple):
    """The models' ranks in both modes, and the ranks gained."""

    first: Floats
    other: Floats
    shift: list[Cell]


def analyse(subject: Subject) -> Analysis:
    """For each other mode a table of differences per model and metric, and one of rank shifts."""
    settings, pairs = subject.settings, _pairs(subject)
    tables, shows, beyond, shown = list[Table](), list[str](), list[str](), set[str]()
    for pair in pairs:
        metrics = tuple(base.defined_metrics(pair.other, base.wanted_metrics(settings, METRICS)))
        if not metrics:
            continue
        shown.update(metrics)
        cells = _differences(pair, metrics, settings)
        ranked = [metric_id for metric_id in RANKED if metric_id in metrics]
        moves = {metric_id: _ranks(pair, metric_id, settings, len(ranked)) for metric_id in ranked}
        tables.append(_difference_table(pair, cells, settings))
        tables += [_rank_table(pair, moves, settings)] if moves and len(pair.first.groups) > 1 else []
        shows.append(_shows(pair, cells, moves, settings))
        least = np.full(len(metrics) * len(pair.first.groups), Sampling.of(pair.first, settings).least)
        beyond += verdicts.reach_text(least, settings)
    if not tables:
        raise Missing("None of the metrics is defined for any conversation in another mode.")
    groups = dict.fromkeys(group for pair in pairs for group in (*pair.first.groups, *pair.other.groups))
    everyone = pairs[0].first.with_groups(list(groups))
    return Analysis(
        tables=tuple(tables),
        shows=" ".join(shows),
        cannot="Where a mode covers few conversations, differences of a few points are not detectable, and none found "
        "does not mean none there. A change of the draft's score is also one of its judge.",
        warnings=(*verdicts.comparability(everyone, JUDGED if JUDGED & shown else ()), *dict.fromkeys(beyond)),
        notes=verdicts.judges_note(everyone, shown),
    )


def _pairs(subject: Subject) -> list[_Pair]:
    """The modes to compare, each with the primary one over the models and conversations of both."""
    study = subject.study.models(baselines=subject.settings.baselines)
    first_mode, wanted = base.primary_mode(subject.study), subject.settings.mode
    modes = [mode for mode in subject.study.modes if mode != first_mode]
    if not modes:
        raise Missing(f"All results are in one mode, {first_mode}; a comparison takes two.")
    if wanted and wanted != first_mode:
        modes = [mode for mode in modes if mode == wanted]
    pairs = []
    for mode in sorted(modes, key=lambda mode: (MODES.index(mode) if mode in MODES else len(MODES), mode)):
        sides = [{g.model_key: g for g in study.groups if g.mode == one} for one in (first_mode, mode)]
        both = [key for key in sides[0] if key in sides[1]]
        first, other = (study.with_groups([side[key] for key in both]) for side in sides)
        ids = [study.ids[row] for row in np.flatnonzero((first.scored() & other.scored()).any(axis=1))]
        if ids:
            pairs.append(_Pair(first_mode, mode, first.with_conversations(ids), other.with_conversations(ids)))
    if not pairs:
        raise Missing(f"No model has a conversation both in mode {first_mode} and in another one.")
    return pairs


def _differences(pair: _Pair, metrics: Sequence[str], settings: Settings) -> dict[str, list[Cell]]:
    """Metric → a cell per model: the other mode minus the first one. All of them are one family of tests."""
    sampling = Sampling.of(pair.first, settings)
    a, b = (np.concatenate([side.values(m) for m in metrics], axis=1) for side in (pair.other, pair.first))
    tests = sampling.tests(f"modes {pair.mode}", a, b)
    cells = zip(sampling.difference_cells(tests, corrected_p(tests, settings), a, b), ~np.isnan(a - b).T, strict=True)
    found: dict[str, list[Cell]] = {metric_id: [] for metric_id in metrics}
    for metric_id in metrics:
        for group in pair.other.groups:
            cell, defined = next(cells)
            shared = tuple(pair.first.ids[row] for row in np.flatnonzero(defined))
            drill = Drill(group=group.key, metric=metric_id, conversations=shared)
            found[metric_id].append(replace(cell, drill=drill))
    return found


def _difference_table(pair: _Pair, cells: Mapping[str, list[Cell]], settings: Settings) -> Table:
    both = (pair.first.scored() & pair.other.scored()).sum(axis=0)
    family = f"all {len(cells) * len(both)} differences"
    return table(
        f"{pair.mode}_minus_{pair.first_mode}",
        pair.name,
        words("model", pair.first.labels),
        counts("n", both, "conversations", "Scored in both modes."),
        *(base.metric_column(metric_id, column_cells, difference=True) for metric_id, column_cells in cells.items()),
        caption=f"Paired over the conversations of both modes: {verdicts.sample_text(pair.first)}; Composite in points "
        f"of 100. {verdicts.intervals_text(settings)}; {verdicts.correction_text(settings, family)}.",
        chart=Chart("heatmap", "model", tuple(cells), pair.name, "difference"),
    )


def _ranks(pair: _Pair, metric_id: str, settings: Settings, metrics: int) -> _Ranks:
    """Over the conversations in which every model is defined in both modes.

    p is corrected over the models of a metric by `rank_shift_p`, and over so many metrics here.
    """
    sides = [side.values(metric_id) * (1 if base.better(metric_id) else -1) for side in (pair.first, pair.other)]
    whole = ~np.isnan(sides[0] + sides[1]).any(axis=1)
    if not whole.any():
        gap = np.full(len(pair.first.groups), np.nan)
        return _Ranks(gap, gap, cells_of(gap, n=np.zeros(len(gap), dtype=np.int64)))
    ids = [pair.first.ids[row] for row in np.flatnonzero(whole)]
    sampling = Sampling.of(pair.first.with_conversations(ids), settings)
    first, other = (side[whole] for side in sides)
    rng, draws = settings.rng(f"rank shifts {pair.mode} {metric_id}"), permutations_needed(metrics, settings.alpha)
    p = rank_shift_p(first, other, rng=rng, permutations=draws, clusters=sampling.clusters)
    shift, low, high = sampling.rank_shifts(first, other)
    n, few = np.full(len(shift), len(ids)), sampling.small(first) | (sampling.least * metrics > settings.alpha)
    cells = cells_of(shift, low, high, n, few, p_corrected=np.minimum(p * metrics, 1.0))
    return _Ranks(competition_ranks(first.mean(axis=0)), competition_ranks(other.mean(axis=0)), cells)


def _rank_table(pair: _Pair, moves: Mapping[str, _Ranks], settings: Settings) -> Table:
    columns = []
    for m, found in moves.items():
        label, gained = label_of(m), "Ranks gained; below 0: lost."
        columns += [
            ranks(f"{m}_before", found.first, f"{label}, {pair.first_mode}"),
            ranks(f"{m}_after", found.other, f"{label}, {pair.mode}"),
            column(f"{m}_shift", found.shift, f"{label}, shift", meaning=gained, better=True, digits=0),
        ]
    title, first = f"Ranks under {pair.first_mode} and {pair.mode}", next(iter(moves))
    return table(
        f"{pair.mode}_ranks",
        title,
        words("model", pair.first.labels),
        *columns,
        caption="Over the conversations that every model has in both modes; equal means share the better rank. "
        f"{verdicts.intervals_text(settings)}, which say how far ranks vary and not whether modes differ; p of a shift "
        "by exchanging the modes of conversations, corrected over all models and both rankings.",
        chart=Chart("dumbbells", "model", (f"{first}_before", f"{first}_after"), title, "rank"),
    )


def _shows(pair: _Pair, cells: Mapping[str, list[Cell]], moves: Mapping[str, _Ranks], settings: Settings) -> str:
    labels = pair.first.labels
    named = [(f"{labels[i]} on {label_of(m)}", cell) for m, found in cells.items() for i, cell in enumerate(found)]
    sentence = f"{pair.name}: {verdicts.claims_sentence(named, settings, digits=2)}"
    shifts = [(labels[i], m, cell) for m, found in moves.items() for i, cell in enumerate(found.shift)]
    if len(labels) < 2 or all(cell.small for _, _, cell in shifts):
        return sentence
    significant = [one for one in shifts if claimed(one[2], settings) and abs(value_of(one[2])) >= _SHIFT]
    moved = [f"{label} {value_of(cell):+.0f} on {label_of(m)}" for label, m, cell in significant]
    return f"{sentence} Significant shifts of two ranks or more: {verdicts.listed(moved) or 'none'}."
