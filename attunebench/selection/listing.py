"""What the conversations at hand can be chosen by, as tables: `--list-fields`."""

from __future__ import annotations

from statistics import median

from attunebench.analyses.common import counted
from attunebench.analyses.model import Analysis, Cell, Column, Table, text
from attunebench.selection.conditions import Comparison, Condition, choose
from attunebench.selection.fields import Fields

_BRIEF = 10
"""So many values of a field are shown where the list is to be brief: ids and subtopics can be hundreds."""
_FIELD = Column("field", "field", "text", "Its name in --where.")
_EXAMPLE = Column("example", "for example", "text", "An expression that --where takes.")
_KNOWN = (
    Column("n", "known", "count", "Conversations of which it is known."),
    Column("participants", "people", "count", "Participants that these are of."),
)
_RANGE = (
    Column("least", "least", "number", digits=1),
    Column("median", "median", "number", "Over conversations.", digits=1),
    Column("largest", "largest", "number", digits=1),
)
_VALUE = (
    Column("value", "value", "text"),
    Column("n", "conversations", "count"),
    Column("participants", "people", "count"),
)


def fields_listed(fields: Fields, *, brief: bool = False) -> Analysis:
    """Tables of the fields of which anything is known, with an expression for each, and of the values of texts.

    `brief` shows the most frequent values of a field alone.
    """
    texts, numbers, values = [], [], []
    for field in fields.listed:
        known = _sizes(fields, Comparison(field, "known"))
        if found := field.numbers:
            ends = map(Cell, (min(found), median(found), max(found)))
            example = Comparison(field, ">=", (median(found),)).text()
            numbers.append((text(field.name), *known, *ends, text(example)))
        elif known[0].value:
            counts = field.counts()
            texts.append((text(field.name), *known, text(Comparison(field, "=", (*counts, "")[:1]).text())))
            for value in list(counts)[: _BRIEF if brief else None]:
                name = f"{value} ({field.bands[value]})" if value in field.bands else value
                values.append((text(field.name), text(name), *_sizes(fields, Comparison(field, "=", (value,)))))
            if brief and len(counts) > _BRIEF:
                values.append((text(field.name), text(f"… {len(counts) - _BRIEF} more"), Cell(None), Cell(None)))
    where = f"known of how many of {counted(len(fields.entries), 'conversation')}"
    more = "--all-rows or another --format shows all values." if brief else ""
    return Analysis(
        "fields",
        "What conversations can be chosen by",
        "What is known of these conversations, and how often?",
        cannot="Diagnoses are self-reported; a band of a screening scale is no diagnosis.",
        tables=(
            Table("texts", f"Texts and lists: {where}", (_FIELD, *_KNOWN, _EXAMPLE), tuple(texts)),
            Table("numbers", f"Numbers: {where}", (_FIELD, *_KNOWN, *_RANGE, _EXAMPLE), tuple(numbers)),
            Table("values", "Values of texts and lists", (_FIELD, *_VALUE), tuple(values), more),
        ),
        notes=("Thirds are of participants for what is known of a person, else of conversations.",),
    )


def _sizes(fields: Fields, condition: Condition) -> tuple[Cell, Cell]:
    """How many conversations, and of how many participants, a condition holds of."""
    selection = choose(fields, condition)
    return Cell(len(selection.chosen)), Cell(selection.participants["chosen"])
