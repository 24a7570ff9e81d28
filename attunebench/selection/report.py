"""Scores over the conversations that match, model by model; with `compare` beside those that do not match.

Takes a study and what was chosen of it, hands on tables and sentences. Chooses nothing, reads and draws nothing.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling, counted, listed
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Table, legend, text
from attunebench.analyses.units import shared_people_text
from attunebench.metrics.registry import REGISTRY, metric
from attunebench.scores.table import ScoreTable
from attunebench.selection import comparing
from attunebench.selection.choosing import Selection
from attunebench.selection.sides import Family, Sides, metric_column
from attunebench.text import printable

FAMILIES = (
    Family("composite", "Composite", ("composite",)),
    Family("pillars", "Pillars", tuple(c.id for c in REGISTRY.values() if c.group == "pillar" and c.id != "composite")),
    Family(
        "turn",
        "Turn by turn",
        tuple(c.id for c in REGISTRY.values() if c.group == "turn" and c.status == "canonical"),
    ),
    Family(
        "talk",
        "Whole talk",
        tuple(c.id for c in REGISTRY.values() if c.group == "conversation" and c.status == "canonical"),
    ),
)
"""The tables without `--metric`."""
TOLD = (
    "Diagnoses and what else is said of people are what they told of themselves. Scales are screeners: a value beyond "
    "a cut-off is “screen-positive” and never a diagnosis."
)
_NAMED = 4
_LONGEST_TITLE = 200


def subset_report(
    study: ScoreTable, selection: Selection, settings: Settings | None = None, *, compare: bool = False
) -> tuple[Analysis, ...]:
    """What was chosen and, for each mode, the metrics of each model over it: mean, interval, n.

    `selection` is of conversations of the study. With `compare` each metric stands beside that of the conversations
    that do not match, with the difference and, between models, the difference in differences. Conversations of which
    it is not known whether they match are on neither side. `settings.metrics` takes the place of the canonical ones,
    `settings.mode` that of all modes. The same study, selection and settings give the same.

    UsageError for an unknown metric or mode.
    """
    settings = settings or Settings()
    study = study if settings.mode is None else study.of_mode(settings.mode)
    families = _families(settings)
    beside = compare and bool(selection.others)
    made = [_head(study, selection, settings, beside=beside, asked=compare)]
    for mode in study.modes:
        sides = Sides.of(study, mode, selection.chosen, selection.others if beside else ())
        made.append(comparing.beside(sides, families, settings) if beside else _alone(sides, families, settings))
    return tuple(made)


def _families(settings: Settings) -> tuple[Family, ...]:
    if not settings.metrics:
        return FAMILIES
    wanted = tuple(dict.fromkeys(metric(metric_id).id for metric_id in settings.metrics))
    # Points and shares cannot stand in one column.
    points = tuple(name for name in wanted if common.unit_of(name) == "points")
    shares = tuple(name for name in wanted if name not in points)
    parts = (("points", points), ("metrics", shares))
    return tuple(Family(name, listed([common.label_of(one) for one in ids]), ids) for name, ids in parts if ids)


# What was chosen


def _head(study: ScoreTable, selection: Selection, settings: Settings, *, beside: bool, asked: bool) -> Analysis:
    counts = [
        ("in the subset", len(selection.chosen), selection.participants_chosen),
        ("rest", len(selection.others), selection.participants_others),
        ("not known", len(selection.unknown), selection.participants_unknown),
    ]
    rows = [(text(name), Cell(n), Cell(people)) for name, n, people in counts if n or name != "not known"]
    columns = (
        Column("side", "", "text"),
        Column("n", "conversations", "count"),
        Column("participants", "participants", "count"),
    )
    names = [name for family in _families(settings) for name in family.metrics]
    known = study.with_conversations((*selection.chosen, *selection.others) if beside else selection.chosen)
    shared = shared_people_text(known, settings)
    if shared and beside:
        shared = (
            "Participants with several conversations: intervals of means take these as independent; differences and "
            "their p move participants as a whole. `--cluster participant` has means do so too."
        )
    return Analysis(
        "subset",
        f"Subset: {printable(selection.words, _LONGEST_TITLE)}",
        "How do models do on these conversations, and otherwise than on the rest?"
        if beside
        else "How do models do on these conversations?",
        _head_text(study, selection, nothing_beside=asked and not beside),
        f"A cause: those in a subset differ from others in more than what they were chosen by. {TOLD}",
        (Table("sides", "Who is in", columns, tuple(rows), caption=_unknown_text(selection)),),
        warnings=(*common.comparability(known, names), *((shared,) if shared else ())),
        notes=(f"The same by expression: --where {shlex.quote(selection.text)}",) if selection.text else (),
    )


def _head_text(study: ScoreTable, selection: Selection, *, nothing_beside: bool) -> str:
    chosen, everything = len(selection.chosen), len(study.ids)
    said = (
        f"{chosen} of {counted(everything, 'scored conversation')} {'matches' if chosen == 1 else 'match'}, of "
        f"{counted(selection.participants_chosen, 'participant')}; {len(selection.others)} do not."
    )
    if unknown := len(selection.unknown):
        said += (
            f" Of {unknown} it is not known, as a value is missing: {'it is' if unknown == 1 else 'they are'} left out."
        )
    if nothing_beside:
        said += " Nothing is known to be outside the subset, so there is nothing to hold it against."
    return said


def _unknown_text(selection: Selection) -> str:
    """Which values are missing, and who is on both sides."""
    parts = [f"{name} in {count}" for name, count in selection.lacking.items()]
    said = [f"Not known, and so on neither side, as a value is missing: {listed(parts, most=8)}."] if parts else []
    if both := selection.participants_both:
        said.append(f"{counted(both, 'participant')} {'has' if both == 1 else 'have'} conversations on both sides.")
    return " ".join(said)


# The subset alone


def _alone(sides: Sides, families: Sequence[Family], settings: Settings) -> Analysis:
    begun = Analysis(
        f"subset-{sides.mode}", f"Scores on the subset, mode {sides.mode}", "How does each model do on the subset?"
    )
    if not sides.study.ids:
        return replace(begun, missing=f"no conversation of the subset was scored in mode {sides.mode}.")
    sampling = Sampling.of(sides.study, settings)
    tables = [table for family in families if (table := _table(sides, family, sampling)) is not None]
    if not tables:
        return replace(begun, missing="none of the metrics asked for is defined for any conversation here.")
    notes = [common.small_text(settings)]
    if any(line.is_reference for line in sides.lines):
        notes.append("References are made from the labels alone, to hold the models against; they are in no ranking.")
    if any(cell.mark == common.ZERO_INFLATED for table in tables for row in table.rows for cell in row):
        notes.append(common.ZERO_INFLATED_NOTE)
    return replace(begun, tables=tuple(tables), shows=_shows(tables[0]), notes=(*notes, *legend(tables)))


def _table(sides: Sides, family: Family, sampling: Sampling) -> Table | None:
    values = np.stack([sides.values(metric_id) for metric_id in family.metrics], axis=2)
    kept = [m for m in range(values.shape[2]) if not np.isnan(values[:, :, m]).all()]
    if not kept:
        return None
    rows = []
    for i, line in enumerate(sides.lines):
        of_line = values[:, i, kept]
        if np.isnan(of_line).all():
            continue
        # What counts for a row as a whole is a conversation in which any of its metrics is defined.
        any_of_them = of_line[np.arange(len(of_line)), np.isnan(of_line).argmin(axis=1)]
        n, people = int((~np.isnan(any_of_them)).sum()), sides.people(sides.inside, any_of_them)
        drills = [Drill(group=line.group, metric=family.metrics[m], conversations=sides.study.ids) for m in kept]
        cells = sampling.cells(of_line, None if line.is_reference else drills, of=[family.metrics[m] for m in kept])
        rows.append((line.cell(), Cell(n), Cell(people), *cells))
    columns = (
        Column("model", "model", "text"),
        Column("n", "n", "count", "Conversations."),
        Column("participants", "people", "count", "Participants that they are of."),
        *(metric_column(family.metrics[m]) for m in kept),
    )
    return Table(
        family.id,
        family.title,
        columns,
        tuple(rows),
        caption=f"{common.sample_text(sides.study)}. {common.intervals_text(sampling.settings)}.",
        chart=Chart("intervals", "model", tuple(family.metrics[m] for m in kept), family.title, family.title),
    )


def _shows(table: Table) -> str:
    """The first metric of the first table, the best model first."""
    card = REGISTRY[table.columns[3].id]
    rows = [row for row in table.rows if row[0].mark == "" and row[3].value is not None]
    if not rows:
        return ""
    order = common.by_value(
        np.array([common.value_of(row[3]) for row in rows]), higher_is_better=card.higher_is_better is not False
    )
    digits = common.digits_of(card.id)
    said = listed([f"{rows[i][0].value} {common.with_interval(rows[i][3], digits)}" for i in order], most=_NAMED)
    few = " These are too few conversations for a claim." if all(row[3].small for row in rows) else ""
    return f"{card.label}: {said}.{few}"
