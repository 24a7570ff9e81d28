"""Figures of each model by itself: questions, branches, perspective, drift, groups, spread, difficulty and cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from attunebench.analyses.base import CANONICAL, defined_metrics, label_of
from attunebench.analyses.sampling import claimed, mean_over_models
from attunebench.analyses.table import Cell, Chart, Missing, Table, column, number_of, plot, table, words
from attunebench.analyses.verdicts import counted, with_interval
from attunebench.constants import BRANCHES
from attunebench.figures.between import metric_panel
from attunebench.figures.drawing import Page, Panel, Picture, compose
from attunebench.figures.heat import heat_map, percent
from attunebench.figures.source import Source, cells, has, n_text, unit_words
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


def question_heatmap(source: Source) -> Iterator[Picture]:
    """Accuracy of each model on each question, beside how often people answer yes and the more frequent answer."""
    tables = {one.id: one for one in source.analysis("question-heatmap").tables}
    for block, about in _BLOCKS.items():
        if (at := f"{block}-questions-accuracy") in tables:
            yield _questions(source, tables[at], f"question-heatmap-{block[-2:]}", f"By question: {about}")


def _questions(source: Source, shares: Table, id: str, title: str) -> Picture:
    names = [str(cell.value) for cell in cells(shares, "question")]
    if source.look.wide:
        asked = [printable(str(cell.value), _WORDS) for cell in cells(shares, "asks")]
        names = [f"{text}  {name}" for text, name in zip(asked, names, strict=True)]
    heads = {"yes": "people say yes", "frequent": "always the frequent one"}
    columns = [one for one in shares.columns if one.id in heads or one.id.startswith("model_")]
    filled = [column(one.id, cells(shares, one.id), heads.get(one.id, one.label)) for one in columns]
    n = n_text(cells(shares, "labels"), "labels")
    axis = f"% of turns (left of the line: labels; right: answered as the person), {n}"
    shown, ids = table(id, title, words("asks", names), *filled), tuple(one.id for one in columns)
    scored = plot(shown, Chart("heatmap", "asks", ids[len(heads) :]))
    lead = (
        "Share of turns that a model answers as the person did, question by question, in per cent. Left of the line: "
        "how often people say yes, and what always giving the more frequent answer would score."
    )
    return heat_map(
        source,
        id,
        f"{title}, {source.mode} mode",
        plot(shown, Chart("heatmap", "asks", ids, axis=axis)),
        source.caption(lead, "question-heatmap", shares),
        text=percent,
        ends=(min(scored.span(intervals=False)[0], 0.5), 1.0),
        row=0.185,
        names=3.5,
        top=1.9,
        split=2,
    )


def branch_errors(source: Source) -> Iterator[Picture]:
    """Error in points per model, a panel for each branch."""
    errors = source.table("branch-errors", "errors")
    axes = {branch: f"points, {n_text(cells(errors, branch), '')}" for branch in BRANCHES}
    shown = [plot(errors, Chart("intervals", "model", (one,), one, axis)) for one, axis in axes.items()]
    high = max(one.span()[1] for one in shown)
    lead = (
        "Mean absolute error of the predicted branch scores in points of the person's scale 1–7, lower is better, with "
        "intervals. All panels share one axis; n counts conversations."
    )
    panels = [Panel(one, limits=(0.0, 1.06 * high or 1.0)) for one in shown]
    page, caption = Page(len(BRANCHES), 2, head=0.55, top=0.6), source.caption(lead, "branch-errors", errors)
    yield compose(source, "branch-errors", f"Four Branch error, {source.mode} mode", panels, page, caption)


def conversation_wide(source: Source) -> Iterator[Picture]:
    """Bars per model for each question about the conversation, and for the follow-up where it was asked."""
    answers, study = source.table("conversation-wide", "questions"), source.models()
    labels = [str(cell.value) for cell in cells(answers, "model")]
    scored = {one.id: cells(answers, one.id) for one in answers.columns if one.id in REGISTRY}
    panels = [metric_panel(study, m, labels, of) for m, of in scored.items() if {cell.value for cell in of} - {None}]
    if not panels:
        raise Missing("No result holds answers about a whole conversation.")
    panels = [replace(one, plot=replace(one.plot, kind="bars"), limits=(0, 1)) for one in panels]
    lead = (
        "Mean score per model from 0 to 1 with its interval (no line: not estimable, the same value in all "
        "conversations); n counts conversations."
    )
    page, caption = Page(3, 2, row=0.175, top=0.6), source.caption(lead, "conversation-wide", answers)
    title = f"Whole conversation: answers, {source.mode} mode"
    yield compose(source, "conversation-wide", title, panels, page, caption)


def perspective_gap(source: Source) -> Iterator[Picture]:
    """Per model its accuracy on what the reply did and on what the person wanted, joined; the gap beside it."""
    gaps = source.table("perspective-gap", "models")
    axis = f"accuracy (share of yes/no questions), {n_text(cells(gaps, 'n'))}"
    drawn = plot(gaps, Chart("dumbbells", "model", ("hp", "om"), axis=axis))
    written = [_gap(cell, claimed(cell, source.settings)) for cell in cells(gaps, "gap")]
    lead = (
        "Hollow circle: Binary HP, what the person wanted; the model's own marker: Binary OM, what the reply did. On "
        "the right the gap in points of 100 with its interval; ★: significant after correction."
    )
    panels, caption = (
        [Panel(drawn, beside=[(8, "gap in points", written)])],
        source.caption(lead, "perspective-gap", gaps),
    )
    title = f"Perspective gap, {source.mode} mode"
    yield compose(source, "perspective-gap", title, panels, Page(1, head=0.45), caption)


def _gap(cell: Cell, significant: bool) -> str:
    value, low, high = (
        number(None if end is None else 100 * float(end), 1, sign=True).replace("-", "−")
        for end in (number_of(cell), cell.low, cell.high)
    )
    interval = "" if cell.low is None or cell.high is None else f" [{low}, {high}]"
    return f"{value}{interval}{' ★' if significant else ''}"


def turn_drift(source: Source) -> Iterator[Picture]:
    """A line per model over the thirds of a conversation, a panel for each metric."""
    tables = [one for one in source.analysis("turn-drift").tables if has(one, *_THIRDS)]
    if not tables:
        raise Missing("No conversation here has three turns, so there are no thirds.")
    panels = []
    for one in tables:
        axis, title = f"third, {n_text(cells(one, 'n'), '')}", one.title.removesuffix(" by third")
        panels.append(Panel(plot(one, Chart("lines", "model", _THIRDS, title, axis)), upright="mean over turns"))
    lead = (
        "Mean over the turns of each third of a conversation, with intervals; models stand side by side within a third "
        "so that they can be distinguished. n counts conversations of three turns or more."
    )
    page = Page(3, 2, high=1.95, names=0.6, legend="lines")
    caption = source.caption(lead, "turn-drift", tables[0])
    yield compose(source, "turn-drift", f"Drift over a conversation, {source.mode} mode", panels, page, caption)


def diagnosis_groups(source: Source) -> Iterator[Picture]:
    """Emotion VA and Binary OM per group of self-reported diagnoses: a panel for each group, a row for each model."""
    tables = [one for one in source.analysis("affect-gap").tables if one.id.startswith("groups-")]
    if not tables:
        raise Missing("No conversation is of a person who reports diagnoses, so there are no groups.")
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
    lead = (
        "Mean per model in the conversations of people who report no diagnosis, one of the two kinds, or any, with "
        "intervals; the panels of a metric share their axis. Diagnoses are self-reported. n counts conversations; "
        "hollow: too few, or a single participant, for a claim."
    )
    page = Page(len(panels) // len(tables), 2, row=0.168, head=0.66)
    title, caption = f"By self-reported diagnoses, {source.mode} mode", source.caption(lead, "affect-gap", tables[0])
    yield compose(source, "diagnosis-groups", title, panels, page, caption)


def distributions(source: Source) -> Iterator[Picture]:
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
    lead = (
        "A dot is a conversation (mean over its epochs), the bar the middle half, the line across it the median, and "
        "the model's marker the mean."
    )
    page, caption = Page(len(tables), row=0.24, head=0.5, top=0.55), source.caption(lead, "distributions", tables[0])
    title = f"Distributions over conversations, {source.mode} mode"
    yield compose(source, "distributions", title, panels, page, caption)


def difficulty(source: Source) -> Iterator[Picture]:
    """Each conversation's Composite, mean over models, against its turn metrics."""
    correlations, study = source.table("distributions", "difficulty"), source.models()
    composite = mean_over_models(study.values("composite"))
    names = [str(cell.value) for cell in cells(correlations, "metric")]
    rho = dict(zip(names, cells(correlations, "rho"), strict=True))
    metrics = [m for m in defined_metrics(study, CANONICAL) if label_of(m) in rho]
    if not metrics:
        raise Missing("No metric of single turns is defined here.")
    panels = []
    for m in metrics:
        values = mean_over_models(study.values(m))
        n = int((~np.isnan(values + composite)).sum())
        axis = f"{unit_words(m)}, n = {n}\nρ = {with_interval(rho[label_of(m)], 2).replace('-', '−')}"
        dots = table(m, label_of(m), words("", [""] * len(values)), column("x", values), column("y", composite))
        drawn = plot(dots, Chart("scatter", "", ("x", "y"), label_of(m), axis))
        panels.append(Panel(drawn, upright="Composite (points of 100)"))
    lead = (
        f"A dot is a conversation: means over {counted(len(study.groups), 'model')}. ρ is Spearman's rank correlation "
        "over conversations with its interval. The turn metrics are part of the Composite, so some of the correlation "
        "is there by construction."
    )
    caption = (lead, correlations.caption, source.analysis("distributions").cannot)
    page = Page(3, 2, high=2.0, share={"sharey": True})
    yield compose(source, "difficulty", f"Difficulty of conversations, {source.mode} mode", panels, page, caption)


def cost(source: Source) -> Iterator[Picture]:
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
        raise Missing("No result states what it cost, how long it took or how many tokens it used.")
    lead = (
        "Mean Composite against the mean cost, time or tokens of a conversation, with intervals both ways; a model "
        "whose results do not state it is not in that panel. Axes that span much are logarithmic."
    )
    page = Page(len(panels), high=2.3, share={"sharey": True}, legend="markers")
    caption = source.caption(lead, "cost", *shown.values())
    yield compose(source, "cost", f"Composite against cost, {source.mode} mode", panels, page, caption)
