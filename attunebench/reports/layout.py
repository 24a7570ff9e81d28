"""A report as an analysis: a table for each section, drawn as every other table is.

Several groups are rows, with a column for each metric and references and chance levels as last rows; of a single group
the metrics are rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from attunebench.analyses.table import Analysis, Cell, Drill, Filled, Table, column, counts, number_of, table, words
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.rates import percent, rounded_down
from attunebench.reports.model import NO_INTERVAL, Group, Reference, Report, Row, Section, Standing
from attunebench.scores.audits import MARK
from attunebench.text import UNDEFINED


def as_analysis(report: Report, *, rounded: bool = True) -> Analysis:
    """The report's summary, warnings and sections; each table's notes say what its metrics mean.

    Not `rounded`: for programs, with groups as rows whatever their number, and n in each cell.
    """
    places = None if rounded else range(len(report.groups))
    return Analysis(
        name="report",
        title=report.title,
        question=" · ".join(report.summary),
        tables=tuple(section_table(section, report.groups, places, rounded=rounded) for section in report.sections),
        warnings=report.warnings,
        notes=report.notes,
    )


def section_table(
    section: Section,
    groups: Sequence[Group],
    places: Sequence[int] | None = None,
    *,
    with_modes: bool = True,
    rounded: bool = True,
) -> Table:
    """One section as a table of all groups of the report or, as rows also where it is one, of those at `places`."""
    single = places is None and len(groups) == 1
    places = range(len(groups)) if places is None else places
    columns = (
        by_metric(section.rows, section, groups, places) if single else _by_group(section, groups, places, rounded)
    )
    return table(
        section.title,
        section.title,
        *(one for one in columns if with_modes or one.column.id != "mode"),
        caption=section.explanation,
        notes=(*_legend(section), *section.notes),
        apart=0 if single else len(section.references) + any(row.card.chance is not None for row in section.rows),
    )


def _legend(section: Section) -> Iterable[str]:
    """What its rows mean; rows of one kind are explained together."""
    lines = []
    for row in section.rows:
        label, id = row.kind or (row.card.label, row.id)
        lines.append(
            f"{label} ({id}): {row.card.meaning}" + (" Lower is better." if row.card.higher_is_better is False else "")
        )
    return dict.fromkeys(lines)


def by_metric(rows: Sequence[Row], section: Section, groups: Sequence[Group], places: Sequence[int]) -> list[Filled]:
    """Columns with a row for each metric: the values of the groups at `places`, of one with its n, and references."""
    columns = [words("metric", (row.heading for row in rows), "Metric")]
    for place in places:
        id, label = ("value", "Value") if len(places) == 1 else (groups[place].mode, groups[place].mode)
        columns.append(column(id, (_cell(row, row.cells[place], groups[place]) for row in rows), label))
    if len(places) == 1:
        found = [row.cells[places[0]] for row in rows]
        columns.append(counts("n", ("" if cell.value is None else cell.n for cell in found)))
    for place, reference in enumerate(section.references):
        # Without its doubt: beside a model a reference is a level to exceed.
        values = (Cell(_rounded(row, row.beside[place]), digits=row.digits) for row in rows)
        columns.append(column(reference.id, values, reference.label))
    with_chance = any(row.card.chance is not None for row in rows)
    return [*columns, column("chance", map(_chance, rows), "Chance")] if with_chance else columns


def _by_group(section: Section, all_groups: Sequence[Group], places: Sequence[int], rounded: bool) -> list[Filled]:
    groups, beside = [all_groups[place] for place in places], section.references
    chance = ["chance level"] if any(row.card.chance is not None for row in section.rows) else []
    blank = [""] * (len(beside) + len(chance))
    keys = [words("model", [*(group.marked for group in groups), *(r.label for r in beside), *chance], "Model")]
    if len({group.provider for group in groups}) > 1 or not rounded:
        keys.append(words("provider", [*(group.provider for group in groups), *blank], "Provider"))
    modes = [*(group.mode for group in groups), *("reference" for _ in beside), *blank[len(beside) :]]
    keys.append(words("mode", modes, "Mode"))
    if not rounded and any(row.id in JUDGED for row in section.rows):
        keys.append(words("judges", [*("; ".join(group.judges) for group in groups), *blank]))
    owners: list[Group | Reference] = [*groups, *beside]
    if not section.leaderboard and len({group.n for group in groups}) > 1:
        keys.append(counts("n", [*(owner.n for owner in owners), *blank[len(beside) :]]))
    metrics = []
    for row in section.rows:
        found = [*(row.cells[place] for place in places), *row.beside]
        cells = [_cell(row, cell, owner, rounded=rounded) for cell, owner in zip(found, owners, strict=True)]
        metrics.append(column(row.id, [*cells, _chance(row)] if chance else cells, row.heading, digits=row.digits))
    if section.leaderboard:
        metrics[1:1] = _standings(groups, blank) if rounded else _ranks(groups, blank)
    return [*keys, *metrics]


def _standings(groups: Sequence[Group], blank: Sequence[str]) -> list[Filled]:
    """Tier and ranks where anybody has them; what was scored and answered, where groups differ in it."""
    tiers = words("tier", [*(g.standing.text if g.standing else "" for g in groups), *blank], "Tier (ranks)")
    scored = [str(group.n) if group.expected is None else f"{group.n}/{group.expected}" for group in groups]
    answered = [UNDEFINED if group.answered is None else percent(group.answered) for group in groups]
    shares = (words("scored", [*scored, *blank], "Scored"), words("answered", [*answered, *blank], "Answered"))
    differing = [share for share in shares if len({cell.value for cell in share.cells[: len(groups)]}) > 1]
    return [tiers, *differing] if any(group.standing for group in groups) else differing


def _ranks(groups: Sequence[Group], blank: Sequence[str]) -> list[Filled]:
    """Tiers with the ranks over resamples as their ends, and coverage, for programs."""
    found = [group.standing or Standing(None, None, None) for group in groups]
    tiers = [Cell(one.tier, one.best, one.worst) for one in found]
    return [
        column("tier", [*tiers, *blank], "", "rank"),
        counts("scored", [*(group.n for group in groups), *blank]),
        counts("expected", [*(group.expected for group in groups), *blank]),
        column("answered", [*(group.answered for group in groups), *blank], "", "share"),
    ]


def _cell(row: Row, cell: Cell, owner: Group | Reference, *, rounded: bool = True) -> Cell:
    """A value with its interval, and, for people, its n where neither a row of counts nor its owner says it."""
    if cell.value is None:
        return Cell(None)
    known = rounded and (not row.n_shown or (cell.n == owner.n and not row.pooled))
    bounded = cell.low is not None and cell.high is not None
    marks = [] if bounded or row.pooled or not rounded else [NO_INTERVAL]
    if row.id in JUDGED and isinstance(owner, Group) and owner.unvalidated:
        marks.append(MARK if rounded else "not validated")
    return replace(
        cell,
        value=_rounded(row, cell) if rounded else cell.value,
        n=None if known else cell.n,
        mark=" ".join(marks),
        digits=row.digits,
        drill=Drill(owner.key, row.id) if isinstance(owner, Group) else None,
    )


def _rounded(row: Row, cell: Cell) -> float | str | None:
    value = number_of(cell)
    return rounded_down(value, row.digits) if row.card.rounds_down and value is not None else cell.value


def _chance(row: Row) -> Cell:
    return Cell("" if row.card.chance is None else row.card.chance, digits=row.digits)
