"""The one list of analyses, `catalogue.json`. Each is a module of its own, imported when it is made.

A module `attunebench/analyses/<name with underscores>.py` has `def analyse(subject: Subject) -> Analysis`.
"""

from __future__ import annotations

import difflib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from types import MappingProxyType

from attunebench.analyses.base import Subject
from attunebench.analyses.table import Analysis, Missing
from attunebench.analyses.verdicts import intervals_text, legend, shared_people_text, small_text
from attunebench.errors import StatisticsError, UsageError


@dataclass(frozen=True, slots=True)
class Entry:
    """An analysis: its name on the command line, its title, and the question that it asks in plain words.

    `rule` says how it is made, `published` what the published study found on its 200 conversations and eleven models
    ("": no figure), `cannot` what it cannot show, whatever the numbers.
    """

    name: str
    title: str
    question: str
    rule: str
    published: str = ""
    cannot: str = ""


_TEXTS = json.loads((resources.files("attunebench.analyses") / "catalogue.json").read_text(encoding="utf-8"))
ANALYSES: Mapping[str, Entry] = MappingProxyType({name: Entry(name, **texts) for name, texts in _TEXTS.items()})
"""Name → entry, in the order in which they are shown."""
_BY_PEOPLE = frozenset(("affect-gap", "for-whom"))
"""Always by participant, as what they compare are facts about people."""


def entry(name: str) -> Entry:
    """The entry of a name; UsageError names the nearest ones where there is none."""
    found = ANALYSES.get(name.strip().lower().replace("_", "-"))
    if found is not None:
        return found
    near = difflib.get_close_matches(name.strip().lower(), ANALYSES, n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(near)}?" if near else "`attune-bench analyze list` names them."
    raise UsageError(f"There is no analysis {name!r}. {hint}")


def analyse(name: str, subject: Subject) -> Analysis:
    """Make one analysis. An analysis that these scores cannot give has `missing` and no table; it never raises.

    A table without a row says nothing, and is left out.
    """
    chosen = entry(name)
    module = f"attunebench.analyses.{chosen.name.replace('-', '_')}"
    try:
        made: Analysis = importlib.import_module(module).analyse(subject)
    except (Missing, StatisticsError) as error:
        made = Analysis(missing=str(error))
    made = replace(made, name=chosen.name, title=chosen.title, question=chosen.question)
    if made.missing:
        return replace(made, shows="", cannot="", tables=())
    tables = tuple(table for table in made.tables if table.rows)
    people = chosen.name in _BY_PEOPLE
    settings = replace(subject.settings, by_participant=subject.settings.by_participant or people)
    more = (f"Intervals: {intervals_text(settings)}.", small_text(settings), *legend(tables)) if tables else ()
    alike = shared_people_text(subject.study, subject.settings) if tables and not people else ""
    notes = tuple(dict.fromkeys(filter(None, (*made.notes, *more, alike))))
    return replace(made, cannot=made.cannot or chosen.cannot, tables=tables, notes=notes)
