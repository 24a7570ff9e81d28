"""Figures that put models side by side: rankings, metrics per mode, profiles, modes and win rates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attunebench.analyses.base import CANONICAL, better, by_value, defined_metrics, label_of, reference_of, value_of
from attunebench.analyses.sampling import claimed, mean_of, mean_over_models
from attunebench.analyses.table import Cell, Table
from attunebench.analyses.verdicts import intervals_text, judges_text, listed, sample_text
from attunebench.figures import canvas
from attunebench.figures.heat import Heat, heat_map
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.panels import Page, Panel, compose
from attunebench.figures.source import Points, Source, column, counts, has, means, n_text, points, words
from attunebench.metrics.registry import REGISTRY, cards_of
from attunebench.scores import BASE_RATE
from attunebench.scores.table import ScoreTable

TURN = (*(m for m in CANONICAL if REGISTRY[m].level == "turn"), "kendall_tau")
POST = tuple(
    m
    for card in CANONICAL
    if REGISTRY[card].level == "conversation" and card != "composite"
    for m in ((card, "q3_follow_up_asked") if card == "q3_follow_up" else (card,))
)
"""The follow-up is asked only where something felt off, so its value there always goes with it."""
DRAFT = ("draft_judge", "draft_binary_alignment")
MEANINGS = {"chance": "chance (blind guessing)", "base rate": "base rate of the other conversations"}
_TOP = 3
_SHIFT = 2
"""Ranks that a shift must have to be written beside it."""
_ONE_MODE = "There is no second mode of the same models to compare with the first."


def leaderboard(source: Source) -> list[Picture]:
    """Both rankings with intervals, tiers as bands, and each model's rank with the ranks it could have had."""
    analysis = source.analysis("leaderboard")
    tables = [table for table in analysis.tables if table.id in REGISTRY]
    if not tables:
        raise LackingError("Neither the Composite nor Pairwise is defined for any conversation.")
    panels = []
    for table in tables:
        score, tiers = points(table, "score"), column(table, "tier")
        assert table.chart is not None
        panels.append(
            Panel(
                "intervals",
                table.title,
                f"{canvas.unit_words(table.id)}, {n_text(score.n)}",
                words(table, "model"),
                [score],
                lines=table.chart.lines,
                bands=[value_of(cell) % 2 == 1 for cell in tiers],
                beside=[
                    (5, "tier", [_whole(cell) for cell in tiers]),
                    (25, "rank", [_rank(cell) for cell in column(table, "rank")]),
                ],
            )
        )
    title = f"Composite and Pairwise, {source.mode} mode"
    caption = (
        "Mean per model, best first, with its interval. Bands are tiers: models of a tier do not differ significantly "
        "from its best. On the right the rank, and in brackets the ranks over resamples. Hollow: too few conversations "
        "for a claim; no line: the interval is not estimable.",
        tables[0].caption,
        analysis.shows,
        analysis.cannot,
    )
    return [compose(source, "leaderboard", title, panels, Page(len(tables), meanings=MEANINGS), caption)]


def _whole(cell: Cell) -> str:
    value = value_of(cell)
    return "–" if np.isnan(value) else f"{value:g}"


def _rank(cell: Cell) -> str:
    rank = _whole(cell)
    return rank if rank == "–" or cell.low is None or cell.high is None else f"{rank} ({cell.low:g}–{cell.high:g})"


def turn_metrics(source: Source) -> list[Picture]:
    """The metrics of single turns."""
    return _per_mode(source, "turn-metrics", "Turn by turn", TURN)


def post_metrics(source: Source) -> list[Picture]:
    """The metrics of whole conversations."""
    return _per_mode(source, "post-metrics", "Whole conversation", POST)


def draft_metrics(source: Source) -> list[Picture]:
    """How judges scored drafted replies, with the judges named."""
    return _per_mode(source, "draft-metrics", "Drafted replies", DRAFT)


def _per_mode(source: Source, name: str, heading: str, metrics: Sequence[str]) -> list[Picture]:
    """A figure per mode: a panel per metric, a row per model in the order of the Composite."""
    pictures = []
    for mode in source.modes:
        study = source.models(mode)
        defined = tuple(defined_metrics(study, metrics))
        if not defined:
            continue
        order = by_value(means(study, "composite", source.settings).value)
        labels = [study.labels[i] for i in order]
        panels = [metric_panel(study, m, labels, means(study, m, source.settings).take(order)) for m in defined]
        caption = (
            "Mean per model with its interval, models in the order of the Composite; n counts conversations in which "
            "the metric is defined. Each panel has its own axis.",
            f"{sample_text(study)}. {intervals_text(source.settings)}. Nothing is controlled for.",
            judges_text(study) if set(defined) & set(DRAFT) else "",
            "Hollow: too few conversations for a claim; no line: the interval is not estimable (the same value in all "
            "conversations). Overlapping intervals are no test of a difference: `compare` tests the pairs.",
        )
        id = f"{name}-{mode}" if len(source.modes) > 1 else name
        page = Page(3, 2, row=0.175, head=0.62, top=0.55, meanings=MEANINGS)
        pictures.append(compose(source, id, f"{heading}, {mode} mode", panels, page, caption))
    if not pictures:
        raise LackingError(f"None of {listed([label_of(m) for m in metrics])} is defined here.")
    return pictures


def metric_panel(study: ScoreTable, metric_id: str, labels: Sequence[str], values: Points, kind: str = "") -> Panel:
    """A metric's mean per model, beside chance and the base rate where it has them."""
    chance = cards_of(study.rules)[metric_id].chance
    lines = {} if chance is None else {"chance": chance}
    reference = reference_of(study, BASE_RATE)
    if reference is not None and metric_id in reference.values:
        base = mean_of(list(reference.values[metric_id][:, None])).item()
        lines |= {} if np.isnan(base) else {"base rate": base}
    unit = "share" if kind else canvas.unit_words(metric_id)
    axis = f"{unit}, {n_text(values.n, '')}{'' if better(metric_id) else chr(10) + 'lower is better'}"
    bounds = (REGISTRY[metric_id].low, REGISTRY[metric_id].high)
    return Panel(
        "bars" if kind else "intervals",
        label_of(metric_id),
        axis,
        labels,
        [values],
        lines=lines,
        within=bounds,
        limits=(0, 1) if kind else None,
    )


def top_three(source: Source) -> list[Picture]:
    """The three best means in each metric; a star only where the first differs significantly from all others."""
    analysis, table = source.analysis("leaders"), source.table("leaders", "means")
    labels = words(table, "model")
    if len(labels) < 2:
        raise LackingError("The first three need two models; only one was scored here.")
    panels = []
    for metric_id in (one.id for one in table.columns if one.id in REGISTRY):
        values = points(table, metric_id)
        order = [i for i in by_value(values.value, higher_is_better=better(metric_id)) if values.known[i]][:_TOP]
        if order:
            top = values.take(order)
            axis = f"{canvas.unit_words(metric_id)}, {n_text(top.n, '')}"
            bounds = (REGISTRY[metric_id].low, REGISTRY[metric_id].high)
            panels.append(Panel("podium", label_of(metric_id), axis, [labels[i] for i in order], [top], within=bounds))
    title = f"First {min(_TOP, len(labels))} in each metric, {source.mode} mode"
    caption = (
        "The highest means of each metric with their intervals (the lowest where lower is better). ★: differs "
        "significantly from all other models; without it the order may be chance. n counts conversations. The axes "
        "differ between panels.",
        table.caption,
        analysis.shows,
        analysis.cannot,
    )
    page = Page(4, 2, high=0.62 + 0.24 * min(_TOP, len(labels)), names=0.0)
    return [compose(source, "top-three", title, panels, page, caption)]


def profiles(source: Source) -> list[Picture]:
    """A panel per model with a bar for each metric of the Composite, and the mean over models across it."""
    study = source.models()
    metrics = tuple(m for m in defined_metrics(study, CANONICAL) if m != "composite")
    if not metrics:
        raise LackingError("None of the metrics of the Composite is defined here.")
    order = by_value(means(study, "composite", source.settings).value)
    found = [means(study, m, source.settings).take(order) for m in metrics]
    values, lows, highs = (np.array([getattr(one, end) for one in found]) for end in ("value", "low", "high"))
    middle = Points.bare(mean_over_models(values))
    low = max(min(0.0, float(np.nanmin(np.concatenate([values, lows])))), -1.0)
    steps = [REGISTRY[m].label.removesuffix(", baseline-adjusted") for m in metrics]
    panels = []
    for at, i in enumerate(order):
        own = Points.bare(values[:, at], lows[:, at], highs[:, at])
        label = study.labels[i]
        panels.append(
            Panel(
                "profile",
                source.names[label],
                "",
                [label],
                [own, middle],
                steps=steps,
                limits=(low, 1.0),
                colour=source.styles[label].colour,
            )
        )
    caption = (
        "Each bar is a mean of the model with its interval; the black line across is the mean over all models shown. "
        "All metrics run to 1; PANAS is 0 where predicting no change would have done as well, and can be negative.",
        f"{sample_text(study)}. {intervals_text(source.settings)}. Nothing is controlled for.",
    )
    page = Page(4, 2, high=0.42 + len(metrics) * 0.155, top=0.55, names=0.8, share={"sharex": True})
    picture = compose(source, "profiles", f"Profiles, {source.mode} mode", panels, page, caption)
    n = n_text(np.concatenate([one.n for one in found]))
    picture.figure.supxlabel(f"mean of the metric (1 is best), {n}", fontsize=canvas.TYPE)
    return [picture]


def mode_differences(source: Source) -> list[Picture]:
    """Each other mode minus the primary one, per model and metric; all in points of 100."""
    analysis = source.analysis("modes")
    tables = [table for table in analysis.tables if "_minus_" in table.id and table.rows]
    if not tables:
        raise LackingError(_ONE_MODE)
    return [_differences(source, table) for table in tables]


def _differences(source: Source, table: Table) -> Picture:
    analysis = source.analysis("modes")
    metrics = [one.id for one in table.columns if one.id in REGISTRY]
    scale = np.array([1.0 if REGISTRY[m].unit == "points" else 100.0 for m in metrics])
    values = np.array([points(table, m).value for m in metrics]).T * scale
    ends = float(np.nanmax(np.abs(values))) if not np.isnan(values).all() else 1.0
    labels = words(table, "model")
    heat = Heat(
        [source.names[label] for label in labels],
        [label_of(m) for m in metrics],
        values,
        [[canvas.signed(x) for x in row] for row in values],
        np.array([[claimed(cell, source.settings) for cell in column(table, m)] for m in metrics]).T,
        -ends,
        ends,
        f"difference in hundredths of the metric (Composite: points), {n_text(counts(table, 'n'))}",
        diverging=True,
    )
    caption = (
        "Mean paired difference per model and metric; the Composite in points of 100, all others in hundredths, so "
        "+1.0 is one point. Bold: significant after correction.",
        table.caption,
        analysis.shows,
        analysis.cannot,
    )
    id = f"mode-differences-{table.id.partition('_minus_')[0]}"
    return heat_map(source, id, f"Difference between modes, {table.title}", heat, caption, labels)


def mode_ranks(source: Source) -> list[Picture]:
    """Rank in the primary mode and in each other one, by Composite and by Pairwise."""
    analysis = source.analysis("modes")
    tables = [table for table in analysis.tables if table.id.endswith("_ranks") and table.rows]
    if not tables:
        raise LackingError(_ONE_MODE)
    metrics = [m for m in ("composite", "pairwise_accuracy") if all(has(table, f"{m}_before") for table in tables)]
    panels = []
    for table in tables:
        for metric_id in metrics:
            before, after = points(table, f"{metric_id}_before"), points(table, f"{metric_id}_after")
            order = by_value(before.value, higher_is_better=False)
            shifts = (before.value - after.value)[order]
            change = table.title.removeprefix("Ranks under ").replace(" and ", " → ")
            panels.append(
                Panel(
                    "dumbbells",
                    f"{label_of(metric_id)}: {change}",
                    "rank (1 is best)",
                    [words(table, "model")[i] for i in order],
                    [before.take(order), after.take(order)],
                    beside=[
                        (6, "", [f"{abs(x):g} {'up' if x > 0 else 'down'}" if abs(x) >= _SHIFT else "" for x in shifts])
                    ],
                    limits=(0.5, len(order) + 0.5),
                )
            )
    caption = (
        "Hollow circle: rank in the primary mode; the model's own marker: rank in the other mode. Models in the order "
        f"of the primary mode. Shifts of {_SHIFT} ranks or more are written beside it.",
        *(f"{table.title}: {table.caption}" for table in tables),
        analysis.shows,
        analysis.cannot,
    )
    page = Page(len(metrics), row=0.17)
    picture = compose(source, "mode-ranks", "Ranks in each mode", panels, page, caption)
    for axes, panel in zip(picture.figure.axes, panels, strict=False):
        count = len(panel.labels)
        axes.set_xticks(range(1, count + 1, 1 if count <= 11 else 2))
    return [picture]


def win_rates(source: Source) -> list[Picture]:
    """Share of conversations in which the row's model is higher than the column's."""
    analysis, table = source.analysis("win-rates"), source.table("win-rates", "matrix")
    labels = words(table, "model")
    ids = [one.id for one in table.columns if one.id.startswith("against_")]
    values = np.array([points(table, one).value for one in ids]).T
    n = np.array([cell.n or 0 for one in ids for cell in column(table, one)])
    n = n[n > 0]
    if not n.size:
        raise LackingError("No two models have a conversation in common, so there is nothing to compare.")
    over = f"{n.min()}" if n.min() == n.max() else f"{n.min()}–{n.max()}"
    heat = Heat(
        [source.names[label] for label in labels],
        [source.names[one.removeprefix("against_")] for one in ids],
        values,
        [["" if i == j else canvas.percent(x) for j, x in enumerate(row)] for i, row in enumerate(values)],
        np.array([[claimed(cell, source.settings) for cell in column(table, one)] for one in ids]).T,
        0.0,
        1.0,
        f"% won by the row's model, n = {over} per pair",
        diverging=True,
        row=0.26,
        top=1.75,
    )
    caption = (
        "In how many of the conversations of both the row's model is closer to the person than the column's. Bold: "
        "differs significantly from one half after correction. 50 is what two equal models give.",
        table.caption,
        analysis.shows,
        analysis.cannot,
    )
    return [heat_map(source, "win-rates", f"{table.title}, {source.mode} mode", heat, caption, labels)]
