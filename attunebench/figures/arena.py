"""Figures of an arena: one of each table that has a chart, named by its analysis and its table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from attunebench.analyses.table import Analysis, Cell, Column, Missing, Plot, Table, number_of, plot
from attunebench.errors import UsageError
from attunebench.figures.catalogue import Picture, Skipped, picture, require_matplotlib
from attunebench.figures.drawing import drawing
from attunebench.figures.sheets import Entry, HeatMap, Panel, Sheet
from attunebench.figures.source import Look, Styled, percent
from attunebench.scores.table import Group
from attunebench.text import number, sentences_of

_KEYS: Any = {"filled": "enough histories for a claim", "hollow": "too few histories for a claim"}
_LEGENDS: Mapping[str, str] = {"lines": "lines", "scatter": "markers"}


@dataclass(frozen=True)
class _Authors(Styled):
    """The authors of an arena."""

    authors: Sequence[Group]
    look: Look = field(default_factory=Look)

    @property
    def groups(self) -> Sequence[Group]:
        return self.authors


def figures_of(analyses: Iterable[Analysis]) -> dict[str, tuple[Analysis, Table]]:
    """Name of a figure → its analysis and its table."""
    found = ((analysis, table) for analysis in analyses for table in analysis.tables if table.chart and table.rows)
    return {f"{analysis.name}-{table.id}".replace("_", "-"): (analysis, table) for analysis, table in found}


def draw_arena(
    analyses: Sequence[Analysis],
    authors: Sequence[Group],
    sample: str,
    look: Look | None = None,
    only: Iterable[str] = (),
) -> tuple[list[Picture], list[Skipped]]:
    """Draw all figures of an arena, or those of these names or analyses; and say which analyses have none and why.

    `authors` are those that have a colour; `sample` says for the captions how intervals were made where an
    analysis does not. Needs matplotlib: UsageError without it, and for a name that there is no figure of.
    """
    require_matplotlib()
    source, known, wanted = _Authors(authors, look or Look()), figures_of(analyses), list(only)
    names = [name for name, (analysis, _) in known.items() if not wanted or {name, analysis.name} & {*wanted}]
    skipped = [Skipped(one.name, one.missing) for one in analyses if one.missing and (not wanted or one.name in wanted)]
    for one in wanted:
        if one not in known and one not in {analysis.name for analysis in analyses}:
            raise UsageError(f"There is no figure {one!r}; there are {', '.join(known)}.")
    pictures = []
    with drawing():
        for name in names:
            analysis, table = known[name]
            try:
                sheet = _sheet(table)
            except Missing as missing:
                skipped.append(Skipped(name, str(missing)))
                continue
            title = table.title if table.title.endswith("?") else f"{table.title}."
            lead = " ".join((title, *sentences_of(table.caption)[:1]))
            entry = Entry(name, table.title, "", lead, page=_page(sheet))
            how = next((note for note in analysis.notes if "bootstrap intervals" in note), sample)
            pictures.append(picture(source, entry, sheet, table.title, analysis, how))
    return pictures, skipped


def _page(sheet: Sheet | HeatMap) -> Mapping[str, Any]:
    if isinstance(sheet, HeatMap):
        return {}
    kind, count = sheet.panels[0].plot.kind, len(sheet.panels)
    page: dict[str, Any] = {"wide": min(count, 3), "single": min(count, 2), "legend": _LEGENDS.get(kind, "")}
    return page | ({"high": 2.4} if kind in _LEGENDS else {})


def _sheet(table: Table) -> Sheet | HeatMap:
    """The table's chart as print shows it. Raises Missing where it has nothing to draw."""
    assert table.chart is not None
    drawn = plot(table, table.chart)
    if drawn.kind in ("heatmap", "matrix"):
        return _heat(table, drawn)
    spread = 0.6 if drawn.kind == "dumbbells" else 0.0
    upright = drawn.axis if drawn.kind == "lines" else drawn.columns[-1].label if drawn.kind == "scatter" else ""
    axis = " " if drawn.kind == "lines" else ""
    shares = drawn.kind == "bars" and {one.unit for one in drawn.columns} == {"share"}
    limits = (0.0, 1.0) if shares else None
    panels = [
        one
        for one in drawn.panels or (replace(drawn, title=""),)
        if any(number_of(cell) is not None for row in one.rows for cell in row.cells)
    ]
    if not panels:
        raise Missing("None of its values is defined.")
    return Sheet(
        [Panel(one, axis, spread=spread, upright=upright, limits=limits, **_KEYS) for one in panels], tables=[table]
    )


def _heat(table: Table, drawn: Plot) -> HeatMap:
    scale = next((one for one in drawn.scales() if one is not None), None)
    texts = [[_text(cell, of) for cell, of in zip(row.cells, drawn.columns, strict=True)] for row in drawn.rows]
    ends = (0.0, 1.0) if scale is None else (scale.low, scale.high)
    aside = sum(drawn.roles.get(one.id) == "reference" for one in drawn.columns)
    diverging = scale is not None and scale.middle is not None
    bold = [["best" in cell.mark.split() for cell in row.cells] for row in drawn.rows]
    axis = f"{drawn.axis} (%)" if {one.unit for one in drawn.columns} == {"share"} else drawn.axis
    return HeatMap(replace(drawn, axis=axis), texts, bold, ends, diverging, aside=aside, tables=[table])


def _text(cell: Cell, of: Column) -> str:
    value = number_of(cell)
    return (
        percent(value, undefined="")
        if of.unit == "share"
        else ""
        if value is None
        else number(value, 2 if of.digits is None else of.digits)
    )
