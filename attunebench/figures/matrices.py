"""Win rates of models against each other, and accuracy question by question, as heat maps with their numbers."""

from __future__ import annotations

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Table
from attunebench.figures import canvas
from attunebench.figures.heat import Heat, heat_map, roomy
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.source import Floats, Source, column, points, words
from attunebench.text import printable

_BESIDE, _WORDS = "against_", 40
_BLOCKS = {"binary_om": "what the reply did (Binary OM)", "binary_hp": "what the person wanted (Binary HP)"}


def win_rates(source: Source) -> list[Picture]:
    """Share of talks in which the row's model is higher than the column's."""
    analysis, table = source.analysis("win-rates"), source.table("win-rates", "matrix")
    labels = words(table, "model")
    columns = [one.id for one in table.columns if one.id.startswith(_BESIDE)]
    values = np.array([points(table, one).value for one in columns]).T
    wins = np.array([[common.claimed(cell, source.settings) for cell in column(table, one)] for one in columns]).T
    texts = [["" if i == j else _percent(x) for j, x in enumerate(row)] for i, row in enumerate(values)]
    title = f"{table.title}, {source.mode} mode"
    against = [one.removeprefix(_BESIDE) for one in columns]
    look, note = roomy(source.look, len(columns))
    figure = canvas.new_figure(look, 1.75 + len(labels) * 0.26, title)
    (axes,) = canvas.panels(figure, 1, 1)
    heat = Heat(values, texts, wins, 0.0, 1.0, diverging=True)
    heat_map(
        figure,
        axes,
        heat,
        [source.names[x] for x in labels],
        [source.names[x] for x in against],
        cell_high=0.26,
        beside=1.9,
    )
    counts = np.array([cell.n or 0 for one in columns for cell in column(table, one)])
    counts = counts[counts > 0]
    if not counts.size:
        raise LackingError("No two models have a conversation in common, so there is nothing to compare.")
    over = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()}–{counts.max()}"
    axes.set_xlabel(f"% of talks in which the row's model is higher (n = {over} per pair; 50 is even)")
    caption = (
        "In how many of the talks of both the row's model is closer to the person than the column's. Bold: told apart "
        "from one half after correction. 50 is what two equal models give.",
        *note,
        table.caption,
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return [Picture("win-rates", title, figure, caption)]


def question_heatmap(source: Source) -> list[Picture]:
    """Accuracy of each model on each question, beside how often people answer yes and the more frequent answer."""
    analysis = source.analysis("question-heatmap")
    tables = {table.id: table for table in analysis.tables if table.rows}
    return [
        _questions(source, tables[at], f"question-heatmap-{block[-2:]}", f"By question: {about}")
        for block, about in _BLOCKS.items()
        if (at := f"{block}-questions-accuracy") in tables
    ]


def _questions(source: Source, table: Table, name: str, title: str) -> Picture:
    analysis = source.analysis("question-heatmap")
    models = [one.id for one in table.columns if one.id.startswith("model_")]
    labels = [one.removeprefix("model_") for one in models]
    shown = ["yes", "frequent", *models]
    values: Floats = np.array([points(table, one).value for one in shown]).T
    small = np.array([[cell.small for cell in column(table, one)] for one in shown]).T
    texts = [[_percent(x) for x in row] for row in values]
    scored = values[:, 2:][~np.isnan(values[:, 2:])]
    low = float(scored.min()) if scored.size else 0.0
    heat = Heat(values, texts, np.zeros_like(small), min(low, 0.5), 1.0)
    look, note = roomy(source.look, len(shown))
    figure = canvas.new_figure(look, 1.9 + len(table.rows) * 0.185, f"{title}, {source.mode} mode")
    (axes,) = canvas.panels(figure, 1, 1)
    asks = words(table, "asks")
    limit = _WORDS if look.wide else 0
    rows = [
        f"{printable(asks[i], limit)}  {question}" if limit else question
        for i, question in enumerate(words(table, "question"))
    ]
    heads = ["people say yes", "always the frequent one", *(source.names[label] for label in labels)]
    heat_map(figure, axes, heat, rows, heads, cell_high=0.185, beside=3.5)
    axes.axvline(2, color=canvas.INK, linewidth=1.0)
    axes.set_xlabel(f"% of turns (left of the line: labels; right: answered as the person), {_labels(table)}")
    caption = (
        "Share of turns that a model answers as the person did, question by question, in per cent. Left of the line: "
        "how often people say yes, and what always giving the more frequent answer would score.",
        *note,
        table.caption,
        analysis.shows,
        analysis.cannot,
        *source.shortened(labels),
    )
    return Picture(name, f"{title}, {source.mode} mode", figure, caption)


def _labels(table: Table) -> str:
    counts = [int(x) for x in points(table, "labels").value if x > 0]
    return f"n = {min(counts)}–{max(counts)} labels" if counts else "n = 0"


def _percent(value: float) -> str:
    return "–" if np.isnan(value) else f"{100 * value:.0f}"
