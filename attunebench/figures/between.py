"""Figures that put models side by side: rankings, metrics per mode, profiles, modes, win rates and correlations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from attunebench.analyses.base import (
    CANONICAL,
    NO_CORRELATION,
    better,
    by_value,
    defined_metrics,
    label_of,
    levels,
    primary_mode,
    value_of,
)
from attunebench.analyses.sampling import mean_over_models
from attunebench.analyses.table import (
    Cell,
    Chart,
    Column,
    Missing,
    Plot,
    PlotRow,
    Table,
    column,
    number_of,
    plot,
    table,
    words,
)
from attunebench.analyses.verdicts import judges_text, listed, sample_text
from attunebench.figures.sheets import HeatMap, Panel, Sheet, n_text
from attunebench.figures.source import Source, cells, charted, has, percent, signed, unit_words
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable
from attunebench.text import number

TURN = (*(m for m in CANONICAL if REGISTRY[m].level == "turn"), "kendall_tau")
POST = tuple(
    m
    for card in CANONICAL
    if REGISTRY[card].level == "conversation" and card != "composite"
    for m in ((card, "q3_follow_up_asked") if card == "q3_follow_up" else (card,))
)
"""The follow-up is asked only where something felt off, so its value there always goes with it."""
DRAFT = ("draft_judge", "draft_binary_alignment")
_TOP = 3
_SHIFT = 2
"""Ranks that a shift must have to be written beside it."""
_EACH_RANK = 11
"""Ranks that have room for a tick each."""
_ONE_MODE = "No model has a second mode to compare."


def leaderboard(source: Source) -> Iterator[Sheet]:
    """Both rankings with intervals, tiers as bands, and each model's rank with the ranks it could have had."""
    tables = [one for one in source.analysis("leaderboard").tables if one.id in REGISTRY]
    if not tables:
        raise Missing("Neither the Composite nor Pairwise is defined for any conversation.")
    panels = [
        Panel(
            charted(one),
            f"{unit_words(one.id)}, {n_text(cells(one, 'score'))}",
            beside=[
                (5, "tier", list(map(_rank, cells(one, "tier")))),
                (25, "rank", list(map(_rank, cells(one, "rank")))),
            ],
        )
        for one in tables
    ]
    yield Sheet(panels, tables=tables[:1])


def _rank(cell: Cell) -> str:
    rank = number(number_of(cell), 0)
    return rank if cell.low is None or cell.high is None else f"{rank} ({cell.low:g}–{cell.high:g})"


def _per_mode(source: Source, name: str, metrics: Sequence[str]) -> Iterator[Sheet]:
    """A figure per mode: a panel per metric, a row per model in the order of the Composite."""
    shown = {mode: study for mode in source.modes if defined_metrics(study := source.models(mode), metrics)}
    if not shown:
        raise Missing(f"These scores contain no values for {listed([label_of(m) for m in metrics])}.")
    for mode, study in shown.items():
        defined = tuple(defined_metrics(study, metrics))
        panels = [metric_panel(study, m, study.labels, source.means(study, m)) for m in defined]
        notes = [judges_text(study)] if set(defined) & set(DRAFT) else []
        id = f"{name}-{mode}" if len(source.modes) > 1 else ""
        yield Sheet(panels, notes=notes, sample=sample_text(study), id=id, of=f"{mode} mode")


turn_metrics = partial(_per_mode, name="turn-metrics", metrics=TURN)
post_metrics = partial(_per_mode, name="post-metrics", metrics=POST)
draft_metrics = partial(_per_mode, name="draft-metrics", metrics=DRAFT)


def metric_panel(study: ScoreTable, metric_id: str, labels: Sequence[str], values: Sequence[Cell]) -> Panel:
    """A metric's mean per model, beside chance and the base rate where it has them."""
    axis = f"{unit_words(metric_id)}{'' if better(metric_id) else ', lower is better'}, {n_text(values, '')}"
    rows = tuple(PlotRow(label, (cell,)) for label, cell in zip(labels, values, strict=True))
    card = REGISTRY[metric_id]
    drawn = Plot("intervals", card.label, axis, (Column(metric_id, card.label),), rows, levels(study, metric_id))
    return Panel(drawn, axis, bounds=(card.low, card.high))


def top_three(source: Source) -> Iterator[Sheet]:
    """The three best means in each metric; a star only where the first differs significantly from all others."""
    means = source.table("leaders", "means")
    if len(means.rows) < 2:
        raise Missing("This figure requires two models; these scores contain one.")
    panels = []
    for one in (one for one in means.columns if one.id in REGISTRY):
        values, card = cells(means, one.id), REGISTRY[one.id]
        order = by_value(np.array(list(map(value_of, values))), higher_is_better=better(one.id))
        best = [place for place in order if values[place].value is not None][:_TOP]
        rows = replace(means, rows=tuple(means.rows[place] for place in best))
        axis = f"{unit_words(one.id)}, {n_text((values[place] for place in best), '')}"
        if best:
            drawn = plot(rows, Chart("intervals", "model", (one.id,), card.label))
            panels.append(Panel(drawn, axis, bounds=(card.low, card.high), above=True))
    yield Sheet(panels, tables=[means])


def profiles(source: Source) -> Iterator[Sheet]:
    """A panel per model with a bar for each metric of the Composite, and the mean over models across it."""
    study = source.models()
    metrics = tuple(m for m in defined_metrics(study, CANONICAL) if m != "composite")
    if not metrics:
        raise Missing("None of the metrics of the Composite is defined.")
    means = [source.means(study, m) for m in metrics]
    names = words("metric", [REGISTRY[m].label.removesuffix(", baseline-adjusted") for m in metrics])
    average = mean_over_models(np.array([list(map(value_of, row)) for row in means]))
    axis = f"mean, {n_text((cell for row in means for cell in row), '')}"
    middle = column("middle", average, "mean over all models")
    panels = []
    for place, label in enumerate(study.labels):
        own = table(label, label, names, column("own", [row[place] for row in means]), middle)
        drawn = plot(own, Chart("bars", "metric", ("own", "middle")))
        panels.append(Panel(replace(drawn, panels=()), axis, of=label))
    low = max(min(0.0, *(panel.plot.span()[0] for panel in panels)), -1.0)
    panels = [replace(panel, limits=(low, 1.0)) for panel in panels]
    yield Sheet(panels)


def mode_differences(source: Source) -> Iterator[HeatMap]:
    """Each other mode minus the primary one, per model and metric; all in points of 100."""
    tables = [one for one in source.analysis("modes").tables if "_minus_" in one.id]
    if not tables:
        raise Missing(_ONE_MODE)
    for one in tables:
        metrics = tuple(column.id for column in one.columns if column.id in REGISTRY)
        scaled = replace(one, rows=tuple(tuple(map(_in_points, row, one.columns)) for row in one.rows))
        drawn = plot(scaled, Chart("heatmap", "model", metrics))
        axis = f"difference in hundredths of the metric (Composite: points), {n_text(cells(one, 'n'))}"
        ends = max(map(abs, drawn.span(intervals=False)))
        yield HeatMap(
            replace(drawn, axis=axis),
            [[signed(number_of(cell)) for cell in row.cells] for row in drawn.rows],
            source.bold(drawn),
            (-ends, ends),
            diverging=True,
            id=f"mode-differences-{one.id.partition('_minus_')[0]}",
            of=one.title,
            tables=[one],
        )


def _in_points(cell: Cell, of: Column) -> Cell:
    """The value in points of 100, where the metric is not already."""
    scaled = of.id in REGISTRY and REGISTRY[of.id].unit != "points" and cell.value is not None
    return replace(cell, value=100 * value_of(cell)) if scaled else cell


def mode_ranks(source: Source) -> Iterator[Sheet]:
    """Rank in the primary mode and in each other one, by Composite and by Pairwise."""
    tables = [one for one in source.analysis("modes").tables if one.id.endswith("_ranks")]
    if not tables:
        raise Missing(_ONE_MODE)
    metrics = [m for m in ("composite", "pairwise_accuracy") if all(has(one, f"{m}_before") for one in tables)]
    panels = [_ranks(one, metric_id) for one in tables for metric_id in metrics]
    shown = [replace(one, caption=f"{one.title}: {one.caption}") for one in tables]
    yield Sheet(panels, {"wide": len(metrics)}, tables=shown, of="")


def _ranks(ranks: Table, metric_id: str) -> Panel:
    ends = (f"{metric_id}_before", f"{metric_id}_after")
    before, after = (np.array(list(map(value_of, cells(ranks, end)))) for end in ends)
    order = by_value(before, higher_is_better=False)
    change = ranks.title.removeprefix("Ranks under ").replace(" and ", " → ")
    chart = Chart("dumbbells", "model", ends, f"{label_of(metric_id)}: {change}", "rank (1 is best)")
    drawn = plot(replace(ranks, rows=tuple(ranks.rows[place] for place in order)), chart)
    names = ("primary mode", "other mode")
    drawn = replace(drawn, columns=tuple(map(lambda one, name: replace(one, label=name), drawn.columns, names)))
    shifts = (before - after)[order]
    written = [f"{abs(x):g} {'up' if x > 0 else 'down'}" if abs(x) >= _SHIFT else "" for x in shifts]
    ticks = range(1, len(order) + 1, 1 if len(order) <= _EACH_RANK else 2)
    return Panel(drawn, drawn.axis, [(6, "", written)], limits=(0.5, len(order) + 0.5), ticks=ticks, spread=0.4)


def mode_composites(source: Source) -> Iterator[Sheet]:
    """Each model's Composite in its modes, joined, over the conversations that it has in all of them."""
    study, primary = source.study.models(baselines=source.settings.baselines), primary_mode(source.study)
    modes = sorted(study.modes, key=lambda mode: mode != primary)
    rows, sizes = list[tuple[str, dict[str, Cell]]](), list[int]()
    for label in dict.fromkeys(study.labels):
        own = study.with_groups([group for group in study.groups if group.label == label])
        whole = ~np.isnan(own.values("composite")).any(axis=1)
        if len(own.groups) > 1 and whole.any():
            common = own.with_conversations([own.ids[row] for row in np.flatnonzero(whole)])
            rows.append((label, dict(zip(own.modes, source.means(common, "composite"), strict=True))))
            sizes.append(len(common.ids))
    if not rows:
        raise Missing(_ONE_MODE)
    filled = [column(mode, [of.get(mode, Cell(None)) for _, of in rows], mode) for mode in modes]
    order = by_value(np.array([value_of(of.get(primary, Cell(None))) for _, of in rows]))
    labels = words("model", [label for label, _ in rows])
    made = table("modes", "Composite by mode", labels, *filled, order=order)
    written = [f"{sizes[place]}" for place in order]
    drawn = plot(
        made, Chart("dumbbells", "model", tuple(modes), axis="points of 100", lines=levels(study, "composite"))
    )
    yield Sheet([Panel(drawn, drawn.axis, [(6, "n", written)], spread=0.6)], of="", sample=sample_text(study))


def win_rates(source: Source) -> Iterator[HeatMap]:
    """Share of conversations in which the row's model is higher than the column's."""
    matrix = source.table("win-rates", "matrix")
    against = tuple(one.id for one in matrix.columns if one.id.startswith("against_"))
    n = [cell.n for one in against for cell in cells(matrix, one) if cell.n]
    if not n:
        raise Missing("No two models have a conversation in common, so there is nothing to compare.")
    over = f"{min(n)}" if min(n) == max(n) else f"{min(n)}–{max(n)}"
    drawn = plot(matrix, Chart("matrix", "model", against, axis=f"% won by the row's model, n = {over} per pair"))
    texts = [[percent(number_of(cell), undefined="") for cell in row.cells] for row in drawn.rows]
    yield HeatMap(drawn, texts, source.bold(drawn), (0.0, 1.0), diverging=True, row=0.26, tables=[matrix])


def skill_correlations(source: Source) -> Iterator[HeatMap | Sheet]:
    """Rank correlations over models between capabilities and between metrics, with reliabilities on the diagonal."""
    tables = {one.id: one for one in source.analysis("independence").tables}
    names, reliable = (cells(tables["reliability"], one) for one in ("ranking", "reliability"))
    reliability = {str(name.value): cell for name, cell in zip(names, reliable, strict=True)}
    if (pairs := tables.get("capabilities")) is not None:
        ends = list(zip(*([str(cell.value) for cell in cells(pairs, side)] for side in ("a", "b")), strict=True))
        rho, clean = (dict(zip(ends, cells(pairs, one), strict=True)) for one in ("rho", "corrected"))
        yield _triangle(source, pairs, reliability, rho, clean, f"capabilities, {source.mode} mode")
        limit = source.settings.threshold
        lines = {f"threshold |ρ| = {limit:g}": limit, "−threshold": -limit, **NO_CORRELATION}
        drawn = plot(pairs, Chart("intervals", "b", ("rho",), axis="Spearman's ρ over models", lines=lines))
        beside = [(6, f"|ρ| < {limit:g}?", [str(cell.value) for cell in cells(pairs, "verdict")])]
        of = f"pairs, {source.mode} mode"
        panel = Panel(drawn, drawn.axis, beside, limits=(-1, 1))
        yield Sheet([panel], id="skill-correlations-pairs", tables=[pairs], of=of)
    if (matrix := tables.get("metrics")) is not None:
        columns = {one.label: cells(matrix, one.id) for one in matrix.columns if one.id.startswith("with_")}
        rho = {(a, b): cell for b, of in columns.items() for a, cell in zip(columns, of, strict=True)}
        yield _triangle(
            source, matrix, reliability, rho, {}, f"metrics, {source.mode} mode", "skill-correlations-metrics"
        )


def _triangle(
    source: Source,
    shown: Table,
    reliability: Mapping[str, Cell],
    rho: Mapping[tuple[str, str], Cell],
    clean: Mapping[tuple[str, str], Cell],
    of: str = "",
    id: str = "",
) -> HeatMap:
    """Observed correlations below the diagonal, reliabilities on it, correlations corrected for them above it."""
    names, limit = list(dict.fromkeys(name for pair in rho for name in pair)), source.settings.threshold
    either = {**{(b, a): cell for (a, b), cell in rho.items()}, **rho}
    nothing, texts, grid = Cell(None), list[list[str]](), list[list[Cell]]()
    for y, a in enumerate(names):
        below = [either[a, b] for b in names[:y]]
        above = [clean.get((a, b), nothing) for b in names[y + 1 :]]
        grid.append([*below, nothing, *above])
        texts.append([f"{_rho(cell.value)}\n{_between(cell)}" for cell in below])
        texts[-1] += [f"{_rho(reliability[a].value)}\nreliability"]
        texts[-1] += [f"{_rho(cell.value)}\ncorrected" if cell.value is not None else "" for cell in above]
    within = [[c.low is not None and max(-value_of(c), -c.low, c.high or 0.0) < limit for c in row] for row in grid]
    over = len(source.models().labels)
    axis = f"Spearman's ρ over {over} models; bold: interval within the threshold |ρ| < {limit:g}"
    short = [name.removesuffix(", baseline-adjusted") for name in names]
    drawn = Plot("matrix", "", axis, tuple(Column(a, a) for a in short), tuple(map(PlotRow, short, map(tuple, grid))))
    return HeatMap(
        drawn, texts, within, (-1.0, 1.0), diverging=True, row=0.3, cell=0.5, names=0.95, id=id, of=of, tables=[shown]
    )


def _rho(value: float | int | str | None) -> str:
    """Two digits without the zero before the point, as correlations are printed."""
    written = number(value, 2) if isinstance(value, (int, float)) else "–"
    return written.replace("-", "−").replace("0.", ".", 1)


def _between(cell: Cell) -> str:
    return "" if cell.low is None else f"{_rho(cell.low)}, {_rho(cell.high)}"
