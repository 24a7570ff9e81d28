"""Figures of people: groups of them, what they talk about, and those who answered what models did."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from attunebench.analyses.base import by_value, levels, value_of
from attunebench.analyses.sampling import mean_over_models
from attunebench.analyses.table import (
    Cell,
    Chart,
    Missing,
    Plot,
    PlotRow,
    column,
    counts,
    number_of,
    plot,
    table,
    words,
)
from attunebench.analyses.verdicts import sample_text
from attunebench.figures.sheets import HeatMap, Panel, Sheet, n_text
from attunebench.figures.source import Source, cells, charted, unit_words
from attunebench.metrics.registry import REGISTRY
from attunebench.text import printable

_MOST_ROWS = 38
"""Rows that a page has room for."""
_BEST = "best model of the conversation"


def diagnosis_groups(source: Source) -> Iterator[Sheet]:
    """Emotion VA and Binary OM, a row for each model with its mean in each group of self-reported diagnoses."""
    tables = [one for one in source.analysis("affect-gap").tables if one.id.startswith("groups-")]
    if not tables:
        raise Missing("No participant reports a diagnosis, so there are no groups.")
    panels = []
    for one in tables:
        drawn = charted(one, kind="dumbbells", title=one.title.removesuffix(" by group"))
        sizes = (f"{of.label} {n_text((row.cells[i] for row in drawn.rows), '')}" for i, of in enumerate(drawn.columns))
        panels.append(Panel(drawn, "mean; " + "; ".join(sizes), spread=0.66))
    yield Sheet(panels, tables=tables[:1])


def topics(source: Source) -> Iterator[HeatMap]:
    """Each model's Composite by topic, with n; small ones in brackets, and bold where the rest differs."""
    study, members = source.models(), dict[str, list[str]]()
    for fact in filter(None, study.truths()):
        for topic in {topic.strip().lower() for topic in fact["topics"]}:
            members.setdefault(topic, []).append(fact["conversationId"])
    if not members:
        raise Missing("These scores contain no topics.")
    largest = sorted(members, key=lambda topic: (-len(members[topic]), topic))[:_MOST_ROWS]
    means = [source.means(study.with_conversations(members[topic]), "composite") for topic in largest]
    level = mean_over_models(np.array([list(map(value_of, row)) for row in means]))
    order = [*by_value(level)]
    filled = [column(f"m{i}", [row[i] for row in means], label) for i, label in enumerate(study.labels)]
    number = counts("n", [len(members[topic]) for topic in largest], "n")
    made = table("topics", "Composite by topic", words("topic", largest), number, *filled, order=order)
    drawn = plot(made, Chart("heatmap", "topic", tuple(one.id for one in made.columns[1:]), axis="Composite"))
    scored = plot(made, Chart("heatmap", "topic", tuple(one.id for one in made.columns[2:])))
    told = [one for one in source.analysis("for-whom").tables if one.id == "models-composite"]
    apart = {
        (str(row[1].value).lower(), str(row[2].value))
        for one in told
        for row, cell in zip(one.rows, cells(one, "difference"), strict=True)
        if row[0].value == "topic" and source.claimed(cell)
    }
    yield HeatMap(
        replace(drawn, axis=f"Composite (points of 100), {n_text(cells(made, 'n'))}"),
        [[_mean(cell, place) for place, cell in enumerate(row.cells)] for row in drawn.rows],
        [[(row.label, one.label) in apart for one in drawn.columns] for row in drawn.rows],
        scored.span(intervals=False),
        aside=1,
        tables=told,
    )


def _mean(cell: Cell, place: int) -> str:
    written = "–" if cell.value is None else f"{value_of(cell):.0f}"
    return f"({written})" if place and cell.small else written


def annotators(source: Source) -> Iterator[Sheet]:
    """People and models on one axis for each metric, over the conversations that people answered."""
    people = source.table("human-answers", "people")
    persons = source.study.with_groups([group for group in source.study.groups if group.kind == "human"])
    ids = [persons.ids[row] for row in np.flatnonzero(persons.scored().any(axis=1))]
    models = source.models()
    models = models.with_groups([group for group in models.groups if group.kind != "human"]).with_conversations(ids)
    panels = list[Panel]()
    names = {r[0].value: f"{r[0].value}{f' ({r[0].mark})' if r[0].mark else ''}" for r in people.rows}
    for title in dict.fromkeys(str(cell.value) for cell in cells(people, "metric")):
        rows = [row for row in people.rows if row[1].value == title]
        own = [PlotRow(names[r[0].value], (r[3],), role="person") for r in rows]
        metric_id = next(m for m, card in REGISTRY.items() if card.label == title)
        means, lines = source.means(models, metric_id), levels(models, metric_id)
        of_models = (PlotRow(label, (cell,)) for label, cell in zip(models.labels, means, strict=True))
        drawn = Plot("intervals", title, unit_words(metric_id), people.columns[3:4], (*own, *of_models), lines)
        panels.append(Panel(drawn))
    first = [number_of(row.cells[0]) for row in panels[0].plot.rows]
    order = by_value(np.array([np.nan if at is None else at for at in first]))
    panels = [replace(one, plot=replace(one.plot, rows=tuple(one.plot.rows[i] for i in order))) for one in panels]
    yield Sheet(panels, tables=[people], sample=sample_text(models))


def annotators_by_conversation(source: Source) -> Iterator[Sheet]:
    """Each person's value in each conversation beside that of the best model there."""
    tables = [one for one in source.analysis("human-answers").tables if one.id.startswith("conversations_")]
    panels, count = list[Panel](), 0
    for one in tables:
        columns = dict.fromkeys((_BEST, *(str(cell.value) for cell in cells(one, "annotator"))))
        found = dict[str, dict[str, Cell]]()
        for row in one.rows:
            values = found.setdefault(str(row[0].value), {_BEST: row[3]})
            values[str(row[1].value)] = replace(row[2], small=bool(row[1].mark))
        shown = [(id, tuple(of.get(name, Cell(None)) for name in columns)) for id, of in found.items()]
        rows = tuple(PlotRow(printable(id, 13), values) for id, values in shown[:_MOST_ROWS])
        made = tuple(replace(one.columns[2], id=name, label=name) for name in columns)
        drawn = Plot("dumbbells", one.title.partition(",")[0], "one value per conversation", made, rows)
        kinds: Any = {"filled": "another person's conversation", "hollow": "own conversation"}
        panels.append(Panel(drawn, drawn.axis, spread=0.5, **kinds))
        count = max(count, len(shown))
    note = f"The first {_MOST_ROWS} of {count} conversations." if count > _MOST_ROWS else ""
    yield Sheet(panels, tables=tables[:1], notes=[note])
