"""Figures of each model by itself: questions, branches, perspective, drift, spread, difficulty and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from attunebench.analyses.base import CANONICAL, NO_DIFFERENCE, defined_metrics, label_of
from attunebench.analyses.sampling import mean_over_models
from attunebench.analyses.table import Cell, Chart, Missing, Table, column, number_of, plot, table, words
from attunebench.analyses.verdicts import with_interval
from attunebench.constants import BRANCHES
from attunebench.figures.between import metric_panel
from attunebench.figures.sheets import HeatMap, Panel, Sheet, n_text
from attunebench.figures.source import Source, cells, charted, has, percent, signed, unit_words
from attunebench.metrics.registry import REGISTRY

_BLOCKS = {"binary_om": "what the reply did (Binary OM)", "binary_hp": "what the person wanted (Binary HP)"}
_SPENT = (
    ("money", "cost", "Money", "US dollars per conversation"),
    ("usage", "seconds", "Time", "seconds per conversation"),
    ("usage", "completion_tokens", "Tokens of replies", "tokens per conversation"),
)


def question_heatmap(source: Source) -> Iterator[HeatMap]:
    """Accuracy of each model on each question, beside how often people answer yes and the more frequent answer."""
    tables = {one.id: one for one in source.analysis("question-heatmap").tables}
    for block, about in _BLOCKS.items():
        if (at := f"{block}-questions-accuracy") in tables:
            yield _questions(source, tables[at], f"question-heatmap-{block[-2:]}", about)


def _questions(source: Source, shares: Table, id: str, about: str) -> HeatMap:
    heads = {"yes": "people say yes", "frequent": "more frequent answer"}
    # All questions, the easiest first.
    drawn = charted(shares, first=None, sort="all")
    columns = tuple(replace(one, label=heads.get(one.id, one.label)) for one in drawn.columns)
    scored = [at for row in drawn.rows for cell in row.cells[len(heads) :] if (at := number_of(cell)) is not None]
    axis = f"% of turns on which a model answers as the person did, {n_text(cells(shares, 'labels'), 'labels')}"
    return HeatMap(
        replace(drawn, columns=columns, axis=axis),
        [[percent(number_of(cell)) for cell in row.cells] for row in drawn.rows],
        source.bold(drawn),
        (min(0.5, *scored), 1.0),
        aside=len(heads),
        row=0.165,
        names=3.5,
        wrap=64,
        tables=[shares],
        id=id,
        of=f"{about}, {source.mode} mode",
    )


def branch_errors(source: Source) -> Iterator[Sheet]:
    """Error in points per model, a panel for each branch."""
    errors = source.table("branch-errors", "errors")
    drawn = plot(errors, Chart("intervals", "model", BRANCHES, axis="points"))
    limits = (0.0, 1.06 * drawn.span()[1] or 1.0)
    yield Sheet([Panel(one, limits=limits) for one in drawn.panels], tables=[errors])


def conversation_wide(source: Source) -> Iterator[Sheet]:
    """Bars per model for each question about the conversation, and for the follow-up where it was asked."""
    answers, study = source.table("conversation-wide", "questions"), source.models()
    # The references are lines.
    answers = replace(answers, rows=tuple(row for row in answers.rows if row[0].mark != "reference"))
    labels = [str(cell.value) for cell in cells(answers, "model")]
    scored = {one.id: cells(answers, one.id) for one in answers.columns if one.id in REGISTRY}
    panels = [metric_panel(study, m, labels, of) for m, of in scored.items() if {cell.value for cell in of} - {None}]
    if not panels:
        raise Missing("No result contains answers about a whole conversation.")
    panels = [replace(one, plot=replace(one.plot, kind="bars"), limits=(0, 1)) for one in panels]
    yield Sheet(panels, tables=[answers])


def perspective_gap(source: Source) -> Iterator[Sheet]:
    """Per model its accuracy on what the reply did and on what the person wanted, joined; the gap beside it."""
    gaps = source.table("perspective-gap", "models")
    drawn = plot(gaps, Chart("dumbbells", "model", ("hp", "om"), axis="accuracy (share of yes/no questions)"))
    names = {"hp": "what the person wanted (Binary HP)", "om": "what the reply did (Binary OM)"}
    drawn = replace(drawn, columns=tuple(replace(one, label=names[one.id]) for one in drawn.columns))
    written = [_gap(cell, source.claimed(cell)) for cell in cells(gaps, "gap")]
    above = not source.look.wide
    yield Sheet(
        [Panel(drawn, beside=[(8, "gap in points", written)], above=above)],
        {"row": 0.29} if above else {},
        tables=[gaps],
    )


def _gap(cell: Cell, significant: bool) -> str:
    value, low, high = (
        signed(None if end is None else 100 * float(end)) for end in (number_of(cell), cell.low, cell.high)
    )
    interval = "" if cell.low is None or cell.high is None else f" [{low}, {high}]"
    return f"{value}{interval}{' ★' if significant else ''}"


def turn_drift(source: Source) -> Iterator[Sheet]:
    """A line per model over the thirds of a conversation, a panel for each metric."""
    tables = [one for one in source.analysis("turn-drift").tables if one.id in REGISTRY]
    if not tables:
        raise Missing("No conversation has three turns, so thirds are undefined.")
    panels = []
    for one in tables:
        title = one.title.removesuffix(" by third")
        axis = f"third, {n_text(cells(one, 'n'), '')}"
        panels.append(Panel(charted(one, title=title), axis, upright="mean over turns"))
    yield Sheet(panels, tables=tables[:1])


def mood_path(source: Source) -> Iterator[Sheet]:
    """Positive and negative affect over the thirds of a conversation: the person's, and as models predict it."""
    tables = [one for one in source.analysis("mood-path").tables if one.id.endswith("-affect")]
    if not tables:
        raise Missing("No conversation has three turns, so thirds are undefined.")
    drawn = map(charted, tables)
    panels = [Panel(one, f"third, {n_text(one.rows[0].cells, '')}", upright=one.axis) for one in drawn]
    yield Sheet(panels, tables=tables)


def pooled_drift(source: Source) -> Iterator[Sheet]:
    """The change between thirds of a conversation over all models: over all turns, and with what controls for it."""
    summary = source.table("turn-drift", "summary")
    values = ("same", "pooled", "paired")
    drawn = plot(summary, Chart("dumbbells", "metric", values, axis="change", lines=NO_DIFFERENCE, across="step"))
    low, high = drawn.span([0.0])
    room = 0.06 * (high - low)
    panels = list[Panel]()
    for one in drawn.panels:
        stars = ["★" if source.claimed(row.cells[2]) else "" for row in one.rows]
        beside = [(4.0, "", stars)]
        panels.append(Panel(one, "", beside, (low - room, high + room), spread=0.6, joined=False))
    yield Sheet(panels, tables=[summary])


def distributions(source: Source) -> Iterator[Sheet]:
    """Each conversation's value as a dot, with quartiles, median and mean, per model."""
    tables = [one for one in source.analysis("distributions").tables if one.id.startswith("spread_")]
    if not tables:
        raise Missing("The Composite is not defined for any conversation.")
    study = source.models()
    panels = []
    for one in tables:
        metric_id = one.id.removeprefix("spread_")
        axis = f"{unit_words(metric_id)}, {n_text(cells(one, 'n'))}"
        drawn = charted(one, title=label_of(metric_id))
        values = [study.values(metric_id)[:, study.labels.index(row.label)] for row in drawn.rows]
        panels.append(Panel(drawn, axis, dots=[of[~np.isnan(of)] for of in values]))
    yield Sheet(panels, tables=tables[:1])


def difficulty(source: Source) -> Iterator[Sheet]:
    """Each conversation's Composite, mean over models, against its turn metrics."""
    correlations, study = source.table("distributions", "difficulty"), source.models()
    composite = mean_over_models(study.values("composite"))
    names = [str(cell.value) for cell in cells(correlations, "metric")]
    rho = dict(zip(names, cells(correlations, "rho"), strict=True))
    metrics = [m for m in defined_metrics(study, CANONICAL) if label_of(m) in rho]
    if not metrics:
        raise Missing("No metric of single turns is defined.")
    panels = []
    for m in metrics:
        values = mean_over_models(study.values(m))
        n = int((~np.isnan(values + composite)).sum())
        axis = f"{unit_words(m)}, n = {n}\nρ = {with_interval(rho[label_of(m)], 2).replace('-', '−')}"
        dots = table(m, label_of(m), words("", [""] * len(values)), column("x", values), column("y", composite))
        drawn = plot(dots, Chart("scatter", "", ("x", "y"), label_of(m)))
        panels.append(Panel(drawn, axis, upright="Composite (points of 100)"))
    yield Sheet(panels, tables=[correlations])


def cost(source: Source) -> Iterator[Sheet]:
    """Composite against cost, time and tokens, with intervals both ways; those that the results state."""
    tables = {one.id: one for one in source.analysis("cost").tables}
    study = source.models()
    composite = dict(zip(study.labels, source.means(study, "composite"), strict=True))
    panels: list[Panel] = []
    shown: dict[str, Table] = {}
    for table_id, column_id, heading, unit in _SPENT:
        if table_id not in tables or not has(tables[table_id], column_id):
            continue
        labels, spent = ([*cells(tables[table_id], one)] for one in ("model", column_id))
        if not any(map(number_of, spent)):
            continue
        score = column("composite", [composite[str(label.value)] for label in labels])
        against = table(heading, heading, words("model", labels), column("spent", spent), score)
        drawn = plot(against, Chart("scatter", "model", ("spent", "composite"), heading))
        panels.append(Panel(drawn, f"{unit}, {n_text(spent)}", upright="Composite (points of 100)"))
        shown[table_id] = tables[table_id]
    if not panels:
        raise Missing("No result records its cost, duration or number of tokens.")
    yield Sheet(panels, tables=list(shown.values()))
