"""Writes analyses for programs, unrounded: JSON with everything, CSV with a line for each cell or each row.

An undefined number is null in JSON and an empty cell in CSV. `whole` JSON also says how tables are drawn and what is
behind their cells; `read_analyses` makes the same analyses of it again.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from typing import Any

from attunebench.analyses.table import Analysis, Cell, Table
from attunebench.errors import DataError
from attunebench.reports.analyses.words import leading_keys
from attunebench.text import csv_cell

SCHEMA_VERSION = 1
_DOUBT = ("low", "high", "n", "p", "p_corrected")
_LONG = ("analysis", "table", "row", "key", "column", "label", "unit", "value", *_DOUBT, "small", "mark", "rules")


def render_json(analyses: Sequence[Analysis], rules: str = "", *, whole: bool = False, **about: Any) -> str:
    """All of them as JSON in ASCII, so that no name can carry a control character to a terminal. `about`: more keys."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "rules": rules or None,
        **about,
        "analyses": [_analysis(analysis, whole) for analysis in analyses],
    }
    return json.dumps(document, indent=1, allow_nan=False) + "\n"


def read_analyses(document: Any, file: str) -> list[Analysis]:
    """The analyses in `whole` JSON. Raises DataError that names the file where it holds none, or of another version."""
    from pydantic import TypeAdapter, ValidationError

    if not isinstance(document, Mapping) or not isinstance(document.get("analyses"), list):
        raise DataError(f"{file} contains no analyses.")
    if document.get("schema_version") != SCHEMA_VERSION:
        raise DataError(f"{file} was written by another version of attune-bench; score the arena again.")
    try:
        return TypeAdapter(list[Analysis]).validate_python([_as_written(one) for one in document["analyses"]])
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise DataError(f"{file}: {'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    except (AttributeError, KeyError, TypeError, ValueError):
        raise DataError(f"{file} contains an analysis that cannot be read.") from None


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


def _analysis(analysis: Analysis, whole: bool) -> dict[str, Any]:
    names = ("name", "title", "question", "shows", "cannot", "warnings", "notes")
    return {
        **{name: getattr(analysis, name) for name in names},
        "missing": analysis.missing or None,
        "tables": [_table(table, whole) for table in analysis.tables],
    }


def _table(table: Table, whole: bool) -> dict[str, Any]:
    columns = table.columns
    names = ("id", "label", "unit", "meaning", "higher_is_better")
    more = ("digits", "rounds_down") if whole else ()
    drawn = {"apart": table.apart, "chart": table.chart and _set(table.chart)} if whole else {}
    return {
        **{name: getattr(table, name) for name in ("id", "title", "caption", "notes")},
        "columns": [{name: getattr(one, name) for name in names} | _set(one, more) for one in columns],
        "rows": [{c.id: _cell(cell, whole) for c, cell in zip(columns, row, strict=True)} for row in table.rows],
        **drawn,
    }


def _cell(cell: Cell, whole: bool) -> Any:
    """A bare value where there is nothing beside it."""
    doubt = {part: value for part in _DOUBT if (value := getattr(cell, part)) is not None}
    if cell.small:
        doubt["small"] = True
    if cell.mark:
        doubt["mark"] = cell.mark
    if whole:
        doubt |= _set(cell, ("digits",))
        if cell.drill is not None and cell.drill.where:
            doubt["behind"] = dict(cell.drill.where)
    return {"value": cell.value, **doubt} if doubt else cell.value


def _set(one: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """The fields of a dataclass (of these names) that are not at their default."""
    return {
        each.name: value
        for each in fields(one)
        if (names is None or each.name in names)
        and (value := getattr(one, each.name))
        != (each.default if each.default_factory is MISSING else each.default_factory())
    }


def _as_written(analysis: Mapping[str, Any]) -> dict[str, Any]:
    """An analysis of a file with its rows and cells as the classes have them."""
    tables = []
    for table in analysis["tables"]:
        ids = [column["id"] for column in table["columns"]]
        tables.append({**table, "rows": [[_cell_of(row[id]) for id in ids] for row in table["rows"]]})
    return {**analysis, "missing": analysis["missing"] or "", "tables": tables}


def _cell_of(written: Any) -> dict[str, Any]:
    cell = written if isinstance(written, Mapping) else {"value": written}
    return {**cell, "drill": {"where": list(cell["behind"].items())} if "behind" in cell else None}
