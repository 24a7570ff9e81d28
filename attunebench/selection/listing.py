"""What the conversations at hand can be chosen by, as tables: `--list-fields`. Counts nothing itself."""

from __future__ import annotations

from collections.abc import Sequence

from attunebench.analyses.common import counted
from attunebench.analyses.model import Analysis, Cell, Column, Table, text
from attunebench.selection.overview import FieldOverview

_BRIEF = 10
"""So many values of a field are shown where the list is to be brief: ids and subtopics can be hundreds."""


def fields_listed(found: Sequence[FieldOverview], *, conversations: int, brief: bool = False) -> Analysis:
    """Tables of the fields, each with an option that chooses by it, and of the values that texts have.

    `conversations` is the number of those that were looked at. `brief` shows the most frequent values of a field alone.
    """
    texts = [one for one in found if one.field.kind != "number"]
    numbers = [one for one in found if one.field.kind == "number"]
    begin = (
        Column("field", "field", "text", "Its name in --where."),
        Column("n", "known", "count", "Conversations of which it is known."),
        Column("participants", "people", "count", "Participants that these are of."),
    )
    example = Column("example", "for example", "text", "An option that chooses by it.")
    ends = (
        Column("least", "least", "number", digits=1),
        Column("median", "median", "number", "Over conversations.", digits=1),
        Column("largest", "largest", "number", digits=1),
    )
    where = f"known of how many of {counted(conversations, 'conversation')}"
    return Analysis(
        "fields",
        "What conversations can be chosen by",
        "What is known of these conversations, and how often?",
        cannot="Diagnoses are what people told of themselves; a band of a screening scale is no diagnosis.",
        tables=(
            Table("texts", f"Texts and lists: {where}", (*begin, example), tuple(map(_field, texts))),
            Table("numbers", f"Numbers: {where}", (*begin, *ends, example), tuple(map(_field, numbers))),
            _values(texts, brief=brief),
        ),
        notes=("Thirds are of participants for what is said of a person, else of conversations.",),
    )


def _field(one: FieldOverview) -> tuple[Cell, ...]:
    ends = (one.least, one.median, one.largest) if one.field.kind == "number" else ()
    counts = (Cell(one.conversations), Cell(one.participants))
    return (text(one.field.name), *counts, *(Cell(value) for value in ends), text(one.example))


def _values(found: Sequence[FieldOverview], *, brief: bool) -> Table:
    rows = []
    for one in found:
        shown = one.values[:_BRIEF] if brief else one.values
        for value in shown:
            name = f"{value.value} ({value.stretch})" if value.stretch else value.value
            rows.append((text(one.field.name), text(name), Cell(value.conversations), Cell(value.participants)))
        if more := len(one.values) - len(shown):
            rows.append((text(one.field.name), text(f"… {more} more"), Cell(None), Cell(None)))
    columns = (
        Column("field", "field", "text"),
        Column("value", "value", "text"),
        Column("n", "conversations", "count"),
        Column("participants", "people", "count"),
    )
    note = "--all-rows or another --format shows all values." if brief else ""
    return Table("values", "Values of texts and lists", columns, tuple(rows), caption=note)
