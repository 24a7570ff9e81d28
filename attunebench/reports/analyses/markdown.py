"""Writes analyses as GitHub-flavoured markdown."""

from __future__ import annotations

from collections.abc import Sequence

from attunebench.analyses.table import Analysis, Table
from attunebench.reports.analyses.words import lines_below, notes_once, row_n, words_of
from attunebench.text import markdown_text


def render(analyses: Sequence[Analysis], rules: str = "") -> str:
    """All of them; ends with a line break."""
    first, (own, shared) = [f"Rules: {rules}"] if rules else [], notes_once(analyses)
    blocks = [block for analysis in own for block in _analysis(analysis)]
    return "\n\n".join([*first, *blocks, *map(markdown_text, shared)]) + "\n"


def _analysis(analysis: Analysis) -> list[str]:
    blocks = [f"# {markdown_text(analysis.title)}", f"*{markdown_text(analysis.question)}*"]
    blocks += [f"> **{markdown_text(warning)}**" for warning in analysis.warnings]
    if analysis.missing:
        blocks.append(f"Not computed: {markdown_text(analysis.missing)}")
    if analysis.shows:
        blocks.append(markdown_text(analysis.shows))
    for table in analysis.tables:
        blocks += _table(table)
    if analysis.cannot:
        blocks.append(f"**Limits:** {markdown_text(analysis.cannot)}")
    return [*blocks, *map(markdown_text, analysis.notes)]


def _table(table: Table) -> list[str]:
    head = [markdown_text(column.label) for column in table.columns]
    marks = ["---" if column.unit == "text" else "---:" for column in table.columns]
    lines = [head, marks]
    for row in table.rows:
        n = row_n(table, row)
        cells = zip(row, table.columns, strict=True)
        lines.append([markdown_text(words_of(cell, column, n).line) for cell, column in cells])
    drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return [f"## {markdown_text(table.title)}", drawn, *map(markdown_text, lines_below(table))]
