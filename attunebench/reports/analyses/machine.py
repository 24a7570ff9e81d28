"""Writes analyses for programs, unrounded: JSON with everything, CSV with a line for each cell or each row.

An undefined number is null in JSON and an empty cell in CSV.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from typing import Any

from attunebench.analyses.table import Analysis, Cell, Column, Table
from attunebench.reports.analyses.words import leading_keys
from attunebench.text import csv_cell

SCHEMA_VERSION = 1
_DOUBT = ("low", "high", "n", "p", "p_corrected")
_LONG = ("analysis", "table", "row", "key", "column", "label", "unit", "value", *_DOUBT, "small", "mark", "rules")


def render_json(analyses: Sequence[Analysis], rules: str = "") -> str:
    """All of them as JSON in ASCII, so that no name can carry a control character to a terminal."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "rules": rules or None,
        "analyses": [_analysis(analysis) for analysis in analyses],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def render_csv(analyses: Sequence[Analysis], rules: str = "") -> str:
    """A tidy table over all of them: a line for each number; `key` says what its row is."""
    lines: list[Sequence[Any]] = [_LONG]
    for analysis in analyses:
        for table in analysis.tables:
            lines += [[*line, rules] for line in _long(analysis, table)]
    return csv_text(lines)


def table_csv(table: Table) -> str:
    """One table as it stands: a column for each column, and for its interval, n and p where a cell has them."""
    parts = [
        (column, [part for part in _DOUBT if _any(table, index, part)]) for index, column in enumerate(table.columns)
    ]
    head = [name for column, doubt in parts for name in (column.id, *(f"{column.id}_{part}" for part in doubt))]
    lines: list[Sequence[Any]] = [head]
    for row in table.rows:
        cells = zip(row, parts, strict=True)
        lines.append(
            [value for cell, (_, doubt) in cells for value in (cell.value, *(getattr(cell, p) for p in doubt))]
        )
    return csv_text(lines)


def _any(table: Table, index: int, part: str) -> bool:
    return any(getattr(row[index], part) is not None for row in table.rows)


def _long(analysis: Analysis, table: Table) -> list[Sequence[Any]]:
    keys = leading_keys(table)
    lines: list[Sequence[Any]] = []
    for position, row in enumerate(table.rows):
        key = " / ".join(str(cell.value) for cell in row[:keys])
        for cell, column in zip(row[keys:], table.columns[keys:], strict=True):
            doubt = [getattr(cell, part) for part in _DOUBT]
            small = "yes" if cell.small else ""
            about = (analysis.name, table.id, position, key, column.id, column.label, column.unit)
            lines.append([*about, cell.value, *doubt, small, cell.mark])
    return lines


def csv_text(lines: Iterable[Sequence[Any]]) -> str:
    """Lines as CSV in which no text is a formula."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for line in lines:
        writer.writerow(csv_cell(value) if isinstance(value, str) else value for value in line)
    return file.getvalue()


def _analysis(analysis: Analysis) -> dict[str, Any]:
    return {
        "name": analysis.name,
        "title": analysis.title,
        "question": analysis.question,
        "shows": analysis.shows,
        "cannot": analysis.cannot,
        "missing": analysis.missing or None,
        "warnings": analysis.warnings,
        "notes": analysis.notes,
        "tables": [_table(table) for table in analysis.tables],
    }


def _table(table: Table) -> dict[str, Any]:
    return {
        "id": table.id,
        "title": table.title,
        "caption": table.caption,
        "notes": table.notes,
        "columns": [_column(column) for column in table.columns],
        "rows": [
            {column.id: _cell(cell) for column, cell in zip(table.columns, row, strict=True)} for row in table.rows
        ],
    }


def _column(column: Column) -> dict[str, Any]:
    return {
        "id": column.id,
        "label": column.label,
        "unit": column.unit,
        "meaning": column.meaning,
        "higher_is_better": column.higher_is_better,
    }


def _cell(cell: Cell) -> Any:
    """A bare value where there is nothing beside it."""
    doubt = {part: value for part in _DOUBT if (value := getattr(cell, part)) is not None}
    if cell.small:
        doubt["small"] = True
    if cell.mark:
        doubt["mark"] = cell.mark
    return {"value": cell.value, **doubt} if doubt else cell.value
