"""What the conversations at hand can be chosen by, as tables: `--list-fields`."""

from __future__ import annotations

from statistics import median

from attunebench.analyses.table import Analysis, column, counts, table, words
from attunebench.analyses.verdicts import counted
from attunebench.selection.conditions import Comparison, Condition, choose
from attunebench.selection.fields import Fields

_BRIEF = 10
"""So many values of a field are shown where the list is to be brief: ids and subtopics can be hundreds."""
_NAME = words("field", meaning="Its name in --where.")
_EXAMPLE = words("example", (), "for example", "An expression that --where takes.")
_KNOWN = (
    counts("n", (), "known", "Conversations of which it is known."),
    counts("participants", (), "people", "Participants that these are of."),
)
_RANGE = (
    column("least", digits=1),
    column("median", meaning="Over conversations.", digits=1),
    column("largest", digits=1),
)
_VALUES = (words("value"), counts("n", (), "conversations"), counts("participants", (), "people"))


def fields_listed(fields: Fields, *, brief: bool = False) -> Analysis:
    """Tables of the fields of which anything is known, with an expression for each, and of the values of texts.

    `brief` shows the most frequent values of a field alone.
    """
    texts, numbers = [], []
    values: list[tuple[str | int | None, ...]] = []
    for field in fields.listed:
        known = _sizes(fields, Comparison(field, "known"))
        if found := field.numbers:
            middle = median(found)
            example = Comparison(field, ">=", (middle,)).text()
            numbers.append((field.name, *known, min(found), middle, max(found), example))
        elif known[0]:
            shown = list(field.counts())
            texts.append((field.name, *known, Comparison(field, "=", (*shown, "")[:1]).text()))
            for value in shown[: _BRIEF if brief else None]:
                name = f"{value} ({field.bands[value]})" if value in field.bands else value
                values.append((field.name, name, *_sizes(fields, Comparison(field, "=", (value,)))))
            if brief and len(shown) > _BRIEF:
                values.append((field.name, f"… {len(shown) - _BRIEF} more", None, None))
    where = f"known of how many of {counted(len(fields.entries), 'conversation')}"
    more = "--all-rows or another --format shows all values." if brief else ""
    return Analysis(
        "fields",
        "What conversations can be chosen by",
        "What is known of these conversations, and how often?",
        cannot="Diagnoses are self-reported; a band of a screening scale is no diagnosis.",
        tables=(
            table("texts", f"Texts and lists: {where}", _NAME, *_KNOWN, _EXAMPLE, rows=texts),
            table("numbers", f"Numbers: {where}", _NAME, *_KNOWN, *_RANGE, _EXAMPLE, rows=numbers),
            table("values", "Values of texts and lists", _NAME, *_VALUES, rows=values, caption=more),
        ),
        notes=("Thirds are of participants for what is known of a person, else of conversations.",),
    )


def _sizes(fields: Fields, condition: Condition) -> tuple[int, int]:
    """How many conversations, and of how many participants, a condition holds of."""
    selection = choose(fields, condition)
    return len(selection.chosen), selection.participants["chosen"]
