"""Figures of each model by itself: questions, branches, perspective, drift, groups, spread, difficulty and cost."""

from __future__ import annotations

import numpy as np

from attunebench.analyses.base import CANONICAL, defined_metrics, label_of, value_of
from attunebench.analyses.sampling import claimed, mean_over_models
from attunebench.analyses.table import Cell, Table
from attunebench.analyses.verdicts import counted, with_interval
from attunebench.constants import BRANCHES
from attunebench.figures import canvas
from attunebench.figures.between import MEANINGS, metric_panel
from attunebench.figures.heat import Heat, heat_map
from attunebench.figures.model import LackingError, Picture
from attunebench.figures.panels import Page, Panel, compose
from attunebench.figures.source import Points, Source, column, counts, has, means, n_text, points, words
from attunebench.metrics.registry import REGISTRY
from attunebench.text import printable

_WORDS = 40
"""Characters of a question beside its row."""
_BLOCKS = {"binary_om": "what the reply did (Binary OM)", "binary_hp": "what the person wanted (Binary HP)"}
_THIRDS = ("early", "middle", "late")
_SPENT = (
    ("money", "cost", "Money", "US dollars per conversation"),
    ("usage", "seconds", "Time", "seconds per conversation"),
    ("usage", "completion_tokens", "Tokens of replies", "tokens per conversation"),
)


def question_heatmap(source: Source) -> list[Picture]:
    """Accuracy of each model on each question, beside how often people answer yes and the more frequent answer."""
    tables = {table.id: table for table in source.analysis("question-heatmap").tables if table.rows}
    return [
        _questions(source, tables[at], f"question-heatmap-{block[-2:]}", f"By question: {about}")
        for block, about in _BLOCKS.items()
        if (at := f"{block}-questions-accuracy") in tables
    ]


def _questions(source: Source, table: Table, id: str, title: str) -> Picture:
    analysis = source.analysis("question-heatmap")
    models = [one.id for one in table.columns if one.id.startswith("model_")]
    labels = [one.removeprefix("model_") for one in models]
    values = np.array([points(table, one).value for one in ("yes", "frequent", *models)]).T
    scored = values[:, 2:][~np.isnan(values[:, 2:])]
    asked = zip(words(table, "asks"), words(table, "question"), strict=True)
    n = [int(x) for x in points(table, "labels").value if x > 0]
    heat = Heat(
        [f"{printable(text, _WORDS)}  {name}" if source.look.wide else name for text, name in asked],
        ["people say yes", "always the frequent one", *(source.names[label] for label in labels)],
        values,
        [[canvas.percent(x) for x in row] for row in values],
        np.zeros(values.shape, dtype=bool),
        min(float(scored.min()) if scored.size else 0.0, 0.5),
        1.0,
        "% of turns (left of the line: labels; right: answered as the person), "
        + (f"n = {min(n)}–{max(n)} labels" if n else "n = 0"),
        row=0.185,
        names=3.5,
        top=1.9,
        split=2,
    )
    caption = (
        "Share of turns that a model answers as the person did, question by question, in per cent. Left of the line: "
        "how often people say yes, and what always giving the more frequent answer would score.",
        table.caption,
        analysis.shows,
        analysis.cannot,
    )
    return heat_map(source, id, f"{title}, {source.mode} mode", heat, caption, labels)


def branch_errors(source: Source) -> list[Picture]:
    """Error in points per model, a panel for each branch."""
    analysis, table = source.analysis("branch-errors"), source.table("branch-errors", "errors")
    errors = {branch: points(table, branch) for branch in BRANCHES}
    high = max(canvas.span_of(values)[1] for values in errors.values())
    panels = [
        Panel(
            "intervals",
            branch,
            f"points, {n_text(values.n, '')}",
            words(table, "model"),
            [values],
            limits=(0.0, 1.06 * high or 1.0),
        )
        for branch, values in errors.items()
    ]
    caption = (
        "Mean absolute error of the predicted branch scores in points of the person's scale 1–7, lower is better, with "
        "intervals. All panels share one axis; n counts conversations.",
        table.caption,
        analysis.shows,
        analysis.cannot,
    )
    page = Page(len(BRANCHES), 2, head=0.55, top=0.6)
    return [compose(source, "branch-errors", f"Four Branch error, {source.mode} mode", panels, page, caption)]


def conversation_wide(source: Source) -> list[Picture]:
    """Bars per model for each question about the conversation, and for the follow-up where it was asked."""
    analysis, table = source.analysis("conversation-wide"), source.table("conversation-wide", "questions")
    labels, study = words(table, "model"), source.models()
    shown = [one.id for one in table.columns if one.id in REGISTRY and points(table, one.id).known.any()]
    if not shown:
        raise LackingError("No result holds answers about a whole conversation.")
    panels = [metric_panel(study, metric_id, labels, points(table, metric_id), "bars") for metric_id in shown]
    caption = (
        "Mean score per model from 0 to 1 with its interval (no line: not estimable, the same value in all "
        "conversations); n counts conversations.",
        table.caption,
        analysis.shows,
        analysis.cannot,
    )
    page = Page(3, 2, row=0.175, top=0.6, meanings=MEANINGS)
    title = f"Whole conversation: answers, {source.mode} mode"
    return [compose(source, "conversation-wide", title, panels, page, caption)]


def perspective_gap(source: Source) -> list[Picture]:
    """Per model its accuracy on what the reply did and on what the person wanted, joined; the gap beside it."""
    analysis, table = source.analysis("perspective-gap"), source.table("perspective-gap", "models")
    panel = Panel(
        "dumbbells",
        "",
        f"accuracy (share of yes/no questions), {n_text(counts(table, 'n'))}",
        words(table, "model"),
        [points(table, "hp"), points(table, "om")],
        beside=[(8, "gap in points", [_gap(cell, claimed(cell, source.settings)) for cell in column(table, "gap")])],
    )
    caption = (
        "Hollow circle: Binary HP, what the person wanted; the model's own marker: Binary OM, what the reply did. On "
        "the right the gap in points of 100 with its interval; ★: significant after correction.",
        table.caption,
        analysis.shows,
        analysis.cannot,
    )
    title = f"Perspective gap, {source.mode} mode"
    return [compose(source, "perspective-gap", title, [panel], Page(1, head=0.45), caption)]


def _gap(cell: Cell, significant: bool) -> str:
    value = value_of(cell)
    if np.isnan(value):
        return "–"
    interval = ""
    if cell.low is not None and cell.high is not None:
        interval = f" [{canvas.signed(100 * cell.low)}, {canvas.signed(100 * cell.high)}]"
    return f"{canvas.signed(100 * value)}{interval}{' ★' if significant else ''}"


def turn_drift(source: Source) -> list[Picture]:
    """A line per model over the thirds of a conversation, a panel for each metric."""
    analysis = source.analysis("turn-drift")
    tables = [table for table in analysis.tables if table.rows and all(has(table, third) for third in _THIRDS)]
    if not tables:
        raise LackingError("No conversation here has three turns, so there are no thirds.")
    panels = [
        Panel(
            "lines",
            table.title.removesuffix(" by third"),
            f"third, {n_text(counts(table, 'n'), '')}",
            words(table, "model"),
            [points(table, third) for third in _THIRDS],
            steps=_THIRDS,
            upright="mean over turns",
        )
        for table in tables
    ]
    caption = (
        "Mean over the turns of each third of a conversation, with intervals; models stand side by side within a third "
        "so that they can be distinguished. n counts conversations of three turns or more.",
        tables[0].caption,
        analysis.shows,
        analysis.cannot,
    )
    page = Page(3, 2, high=1.95, names=0.6, legend="lines")
    title = f"Drift over a conversation, {source.mode} mode"
    return [compose(source, "turn-drift", title, panels, page, caption)]


def diagnosis_groups(source: Source) -> list[Picture]:
    """Emotion VA and Binary OM per group of self-reported diagnoses: a panel for each group, a row for each model."""
    analysis = source.analysis("affect-gap")
    tables = [table for table in analysis.tables if table.id.startswith("groups-") and table.rows]
    if not tables:
        raise LackingError("No conversation is of a person who reports diagnoses, so there are no groups.")
    panels = []
    for table in tables:
        groups = {one.label: points(table, one.id) for one in table.columns if one.unit != "text"}
        ends = [canvas.span_of(values) for values in groups.values()]
        low, high = min(low for low, _ in ends), max(high for _, high in ends)
        room = 0.06 * (high - low) or 0.05
        panels += [
            Panel(
                "intervals",
                f"{table.title.removesuffix(' by group')}: {label}",
                f"mean, {n_text(values.n, '')}",
                words(table, "model"),
                [values],
                limits=(low - room, high + room),
            )
            for label, values in groups.items()
        ]
    caption = (
        "Mean per model in the conversations of people who report no diagnosis, one of the two kinds, or any, with "
        "intervals; the panels of a metric share their axis. Diagnoses are self-reported. n counts conversations; "
        "hollow: too few, or a single participant, for a claim.",
        tables[0].caption,
        analysis.shows,
        analysis.cannot,
    )
    page = Page(len(panels) // len(tables), 2, row=0.168, head=0.66)
    title = f"By self-reported diagnoses, {source.mode} mode"
    return [compose(source, "diagnosis-groups", title, panels, page, caption)]


def distributions(source: Source) -> list[Picture]:
    """Each conversation's value as a dot, with quartiles, median and mean, per model."""
    analysis = source.analysis("distributions")
    tables = [table for table in analysis.tables if table.id.startswith("spread_") and table.rows]
    if not tables:
        raise LackingError("The Composite is not defined for any conversation.")
    study = source.models()
    panels = []
    for table in tables:
        metric_id, labels = table.id.removeprefix("spread_"), words(table, "model")
        values = [study.values(metric_id)[:, study.labels.index(label)] for label in labels]
        panels.append(
            Panel(
                "spread",
                label_of(metric_id),
                f"{canvas.unit_words(metric_id)}, {n_text(counts(table, 'n'))}",
                labels,
                [points(table, "mean")],
                dots=[one[~np.isnan(one)] for one in values],
                quartiles=[points(table, name).value for name in ("quarter", "median", "three_quarters")],
            )
        )
    caption = (
        "A dot is a conversation (mean over its epochs), the bar the middle half, the line across it the median, and "
        "the model's marker the mean.",
        tables[0].caption,
        analysis.shows,
        analysis.cannot,
    )
    page = Page(len(tables), row=0.24, head=0.5, top=0.55)
    title = f"Distributions over conversations, {source.mode} mode"
    return [compose(source, "distributions", title, panels, page, caption)]


def difficulty(source: Source) -> list[Picture]:
    """Each conversation's Composite, mean over models, against its turn metrics."""
    analysis, table = source.analysis("distributions"), source.table("distributions", "difficulty")
    study = source.models()
    composite = mean_over_models(study.values("composite"))
    rho = dict(zip(words(table, "metric"), column(table, "rho"), strict=True))
    metrics = [m for m in defined_metrics(study, CANONICAL) if label_of(m) in rho]
    if not metrics:
        raise LackingError("No metric of single turns is defined here.")
    panels = []
    for metric_id in metrics:
        values = mean_over_models(study.values(metric_id))
        n = int((~np.isnan(values) & ~np.isnan(composite)).sum())
        correlation = with_interval(rho[label_of(metric_id)], 2).replace("-", "−")
        axis = f"{canvas.unit_words(metric_id)}, n = {n}\nρ = {correlation}"
        dots = [Points.bare(values), Points.bare(composite)]
        panels.append(Panel("points", label_of(metric_id), axis, [], dots, upright="Composite (points of 100)"))
    caption = (
        f"A dot is a conversation: means over {counted(len(study.groups), 'model')}. ρ is Spearman's rank correlation "
        "over conversations with its interval. The turn metrics are part of the Composite, so some of the correlation "
        "is there by construction.",
        table.caption,
        analysis.cannot,
    )
    page = Page(3, 2, high=2.0, share={"sharey": True})
    return [compose(source, "difficulty", f"Difficulty of conversations, {source.mode} mode", panels, page, caption)]


def cost(source: Source) -> list[Picture]:
    """Composite against cost, time and tokens, with intervals both ways; those that the results state."""
    analysis = source.analysis("cost")
    tables = {table.id: table for table in analysis.tables if table.rows}
    shown = [one for one in _SPENT if one[0] in tables and has(tables[one[0]], one[1])]
    shown = [one for one in shown if np.nansum(points(tables[one[0]], one[1]).value) > 0]
    if not shown:
        raise LackingError("No result states what it cost, how long it took or how many tokens it used.")
    study = source.models()
    composite = means(study, "composite", source.settings)
    panels = []
    for table_id, column_id, heading, unit in shown:
        labels, spent = words(tables[table_id], "model"), points(tables[table_id], column_id)
        scores = composite.take([study.labels.index(label) for label in labels])
        axis = f"{unit}\n{n_text(spent.n)}"
        panels.append(Panel("points", heading, axis, labels, [spent, scores], upright="Composite (points of 100)"))
    caption = (
        "Mean Composite against the mean cost, time or tokens of a conversation, with intervals both ways; a model "
        "whose results do not state it is not in that panel. Axes that span much are logarithmic.",
        *(tables[name].caption for name in dict.fromkeys(one[0] for one in shown)),
        analysis.shows,
        analysis.cannot,
    )
    page = Page(len(shown), high=2.3, share={"sharey": True}, legend="markers")
    return [compose(source, "cost", f"Composite against cost, {source.mode} mode", panels, page, caption)]
