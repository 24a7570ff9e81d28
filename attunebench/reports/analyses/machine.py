"""Writes analyses for programs, unrounded: JSON with everything, CSV with a line for each cell or each row.

An undefined number is null in JSON and an empty cell in CSV.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from attunebench.analyses.table import Analysis, Cell, Table
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
    """One table as it stands."""
    return csv_text(table_lines(table))


def table_lines(table: Table) -> list[list[Any]]:
    """The head and the rows of a table: a column for each column, and for its interval, n and p where a cell has
    them."""
    parts = [
        [part for part in _DOUBT if any(getattr(row[place], part) is not None for row in table.rows)]
        for place in range(len(table.columns))
    ]
    head: list[Any] = []
    for column, doubt in zip(table.columns, parts, strict=True):
        head += [column.id, *(f"{column.id}_{part}" for part in doubt)]
    lines = [head]
    for row in table.rows:
        cells = zip(row, parts, strict=True)
        lines.append([getattr(cell, part) for cell, doubt in cells for part in ("value", *doubt)])
    return lines


def _long(analysis: Analysis, table: Table) -> Iterator[Sequence[Any]]:
    keys = leading_keys(table)
    for position, row in enumerate(table.rows):
        key = " / ".join(str(cell.value) for cell in row[:keys])
        for cell, column in zip(row[keys:], table.columns[keys:], strict=True):
            about = (analysis.name, table.id, position, key, column.id, column.label, column.unit)
            doubt = (getattr(cell, part) for part in _DOUBT)
            yield (*about, cell.value, *doubt, "yes" if cell.small else "", cell.mark)


def csv_text(lines: Iterable[Sequence[Any]]) -> str:
    """Lines as CSV in which no text is a formula."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    for line in lines:
        writer.writerow(csv_cell(value) if isinstance(value, str) else value for value in line)
    return file.getvalue()


def _analysis(analysis: Analysis) -> dict[str, Any]:
    names = ("name", "title", "question", "shows", "cannot", "warnings", "notes")
    return {
        **{name: getattr(analysis, name) for name in names},
        "missing": analysis.missing or None,
        "tables": [_table(table) for table in analysis.tables],
    }


def _table(table: Table) -> dict[str, Any]:
    columns = table.columns
    names = ("id", "label", "unit", "meaning", "higher_is_better")
    return {
        **{name: getattr(table, name) for name in ("id", "title", "caption", "notes")},
        "columns": [{name: getattr(column, name) for name in names} for column in columns],
        "rows": [{column.id: _cell(cell) for column, cell in zip(columns, row, strict=True)} for row in table.rows],
    }


def _cell(cell: Cell) -> Any:
    """A bare value where there is nothing beside it."""
    doubt = {part: value for part in _DOUBT if (value := getattr(cell, part)) is not None}
    if cell.small:
        doubt["small"] = True
    if cell.mark:
        doubt["mark"] = cell.mark
    return {"value": cell.value, **doubt} if doubt else cell.value
