"""What a paper's data table holds: a set of conversations described in tables, section by section.

Pure: conversations in, analyses out. Every number has its n, and what is missing is counted beside it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from attunebench.analyses.table import Analysis
from attunebench.codebook import Codebook, default_codebook
from attunebench.conversations import Conversation
from attunebench.datasets.describing.labels import emotions, size
from attunebench.datasets.describing.people import affect, answers, people, topics
from attunebench.datasets.describing.questions import binary, pairwise
from attunebench.datasets.describing.tables import MASKED, Data
from attunebench.errors import UsageError

SECTIONS: Mapping[str, Callable[[Data], Analysis]] = {
    "size": size,
    "emotions": emotions,
    "binary": binary,
    "pairwise": pairwise,
    "affect": affect,
    "answers": answers,
    "people": people,
    "topics": topics,
}
"""Section name → what makes it, in the order in which they are shown."""


def describe(
    conversations: Iterable[Conversation],
    *,
    codebook: Codebook | None = None,
    mask_below: int = 0,
    sections: Iterable[str] = (),
    left_out: Sequence[str] = (),
) -> tuple[Analysis, ...]:
    """The sections asked for, all without any, in the order of `SECTIONS`; the same whatever the order of the files.

    `mask_below`: counts of fewer participants than this are masked in what is told of people and by them. `left_out`:
    files that are not in, each with the reason; the first section names them. Raises UsageError for a section that does
    not exist.
    """
    wanted = list(sections)
    unknown = [name for name in wanted if name not in SECTIONS]
    if unknown:
        raise UsageError(f"There is no section '{unknown[0]}'; choose from {', '.join(SECTIONS)}.")
    data = Data(tuple(conversations), codebook or default_codebook(), mask_below)
    made = [_finished(make(data), data) for name, make in SECTIONS.items() if not wanted or name in wanted]
    warnings = [f"Skipped: {file}" for file in left_out]
    return (replace(made[0], warnings=(*made[0].warnings, *warnings)), *made[1:])


def _finished(section: Analysis, data: Data) -> Analysis:
    """The section without tables that nothing stands in, and with a word on what is masked."""
    tables = tuple(table for table in section.tables if table.rows)
    masks = any(cell.mark == MASKED for table in tables for row in table.rows for cell in row)
    return replace(section, tables=tables, notes=(*section.notes, *([data.mask_note] if masks else [])))
