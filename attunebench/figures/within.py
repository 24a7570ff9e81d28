"""Figures of each model by itself: questions, branches, perspective, drift, groups, spread, difficulty and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from attunebench.analyses.base import CANONICAL, defined_metrics, label_of
from attunebench.analyses.sampling import mean_over_models
from attunebench.analyses.table import Cell, Chart, Missing, Table, column, number_of, plot, table, words
from attunebench.analyses.verdicts import with_interval
from attunebench.constants import BRANCHES
from attunebench.figures.between import metric_panel
from attunebench.figures.sheets import HeatMap, Panel, Sheet
from attunebench.figures.source import Source, cells, has, n_text, percent, unit_words
from attunebench.metrics.registry import REGISTRY
from attunebench.text import number, printable

_WORDS = 40
"""Characters of a question beside its row."""
_BLOCKS = {"binary_om": "what the reply did (Binary OM)", "binary_hp": "what the person wanted (Binary HP)"}
_THIRDS = ("early", "middle", "late")
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
    names = [str(cell.value) for cell in cells(shares, "question")]
    if source.look.wide:
        asked = [printable(str(cell.value), _WORDS) for cell in cells(shares, "asks")]
        names = [f"{text}  {name}" for text, name in zip(asked, names, strict=True)]
    heads = {"yes": "people say yes", "frequent": "more frequent answer"}
    columns = [one for one in shares.columns if one.id in heads or one.id.startswith("model_")]
    filled = [column(one.id, cells(shares, one.id), heads.get(one.id, one.label)) for one in columns]
    n = n_text(cells(shares, "labels"), "labels")
    axis = f"% of turns (left of the line: labels; right: answered as the person), {n}"
    shown, ids = table(id, about, words("asks", names), *filled), tuple(one.id for one in columns)
    scored = plot(shown, Chart("heatmap", "asks", ids[len(heads) :]))
    return HeatMap(
        plot(shown, Chart("heatmap", "asks", ids, axis=axis)),
        text=percent,
        bold=source.claimed,
        ends=(min(scored.span(intervals=False)[0], 0.5), 1.0),
        row=0.185,
        names=3.5,
        top=1.9,
        split=2,
        tables=[shares],
        id=id,
        of=f"{about}, {source.mode} mode",
    )


def branch_errors(source: Source) -> Iterator[Sheet]:
    """Error in points per model, a panel for each branch."""
    errors = source.table("branch-errors", "errors")
    axes = {branch: f"points, {n_text(cells(errors, branch), '')}" for branch in BRANCHES}
    shown = [plot(errors, Chart("intervals", "model", (one,), one, axis)) for one, axis in axes.items()]
    high = max(one.span()[1] for one in shown)
    panels = [Panel(one, limits=(0.0, 1.06 * high or 1.0)) for one in shown]
    yield Sheet(panels, tables=[errors])


def conversation_wide(source: Source) -> Iterator[Sheet]:
    """Bars per model for each question about the conversation, and for the follow-up where it was asked."""
    answers, study = source.table("conversation-wide", "questions"), source.models()
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
    axis = f"accuracy (share of yes/no questions), {n_text(cells(gaps, 'n'))}"
    drawn = plot(gaps, Chart("dumbbells", "model", ("hp", "om"), axis=axis))
    written = [_gap(cell, source.claimed(cell)) for cell in cells(gaps, "gap")]
    yield Sheet([Panel(drawn, beside=[(8, "gap in points", written)])], tables=[gaps])


def _gap(cell: Cell, significant: bool) -> str:
    value, low, high = (
        number(None if end is None else 100 * float(end), 1, sign=True).replace("-", "−")
        for end in (number_of(cell), cell.low, cell.high)
    )
    interval = "" if cell.low is None or cell.high is None else f" [{low}, {high}]"
    return f"{value}{interval}{' ★' if significant else ''}"


def turn_drift(source: Source) -> Iterator[Sheet]:
    """A line per model over the thirds of a conversation, a panel for each metric."""
    tables = [one for one in source.analysis("turn-drift").tables if has(one, *_THIRDS)]
    if not tables:
        raise Missing("No conversation has three turns, so thirds are undefined.")
    panels = []
    for one in tables:
        axis, title = f"third, {n_text(cells(one, 'n'), '')}", one.title.removesuffix(" by third")
        panels.append(Panel(plot(one, Chart("lines", "model", _THIRDS, title, axis)), upright="mean over turns"))
    yield Sheet(panels, tables=tables[:1])


def diagnosis_groups(source: Source) -> Iterator[Sheet]:
    """Emotion VA and Binary OM per group of self-reported diagnoses: a panel for each group, a row for each model."""
    tables = [one for one in source.analysis("affect-gap").tables if one.id.startswith("groups-")]
    if not tables:
        raise Missing("No participant reports a diagnosis, so there are no groups.")
    panels = []
    for one in tables:
        groups = [group for group in one.columns if group.unit != "text"]
        low, high = plot(one, Chart("intervals", "model", tuple(group.id for group in groups))).span()
        room = 0.06 * (high - low) or 0.05
        for group in groups:
            title = f"{one.title.removesuffix(' by group')}: {group.label}"
            axis = f"mean, {n_text(cells(one, group.id), '')}"
            drawn = plot(one, Chart("intervals", "model", (group.id,), title, axis))
            panels.append(Panel(drawn, limits=(low - room, high + room)))
    yield Sheet(panels, {"wide": len(panels) // len(tables)}, tables=tables[:1])


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
        quartiles = ("mean", "quarter", "median", "three_quarters")
        drawn = plot(one, Chart("intervals", "model", quartiles, label_of(metric_id), axis))
        values = [study.values(metric_id)[:, study.labels.index(row.label)] for row in drawn.rows]
        panels.append(Panel(drawn, dots=[of[~np.isnan(of)] for of in values]))
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
        drawn = plot(dots, Chart("scatter", "", ("x", "y"), label_of(m), axis))
        panels.append(Panel(drawn, upright="Composite (points of 100)"))
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
        chart = Chart("scatter", "model", ("spent", "composite"), heading, f"{unit}\n{n_text(spent)}")
        panels.append(Panel(plot(against, chart), upright="Composite (points of 100)"))
        shown[table_id] = tables[table_id]
    if not panels:
        raise Missing("No result records its cost, duration or number of tokens.")
    yield Sheet(panels, tables=list(shown.values()))
