"""Analyses as cards of a page: the answer and one picture at once, everything else folded away under it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import NamedTuple

from attunebench.analyses.table import Analysis
from attunebench.reports.html import chunks
from attunebench.reports.html.environment import SHORT, render
from attunebench.reports.html.footnotes import Footnotes
from attunebench.reports.html.picture import Picture
from attunebench.reports.html.tables import ShownTable
from attunebench.text import sentences_of

_VERDICT = 24
"""Words of a verdict."""
_DRAWN, _FEWEST_DRAWN, _LABELS = 12, 4, 12
"""Rows of a picture that stands open in the page at most and at least, and words of their labels."""
_FEWEST_SHADED, _SHADED = 3, 44
"""Rows of an open heat map at least, and its cells at most."""
_PANELS, _FEW_COLUMNS, _COLUMNS = 2, 6, 9
"""A picture of more panels, or a heat map of more columns, fills both columns of the page; a heat map with more than a
few stands beside its verdict."""


class Shown(NamedTuple):
    """An analysis as the page shows it: the first sentence of what it found, and the table that is drawn.

    `picture` has its first rows without their values in words. `width` is "wide" for a card that fills both columns,
    "alone" for one that no other stands beside.
    """

    analysis: Analysis
    verdict: str
    tables: int
    lead: ShownTable | None
    picture: Picture | None
    warnings: Sequence[str]
    width: str = ""


def cards(
    found: Sequence[Analysis], footnotes: Footnotes, show: Callable[..., ShownTable], whole: str = ""
) -> tuple[list[Shown], list[chunks.Chunk]]:
    """What each analysis shows at once, and what is folded away under it. `whole`: the one of whose finding nothing
    is folded away."""
    warned = Counter(warning for analysis in found for warning in analysis.warnings)
    made, bodies = [], []
    for analysis in found:
        tables = [show(table, prefix=f"t-{analysis.name}") for table in analysis.tables]
        drawn = [one for one in tables if one.picture]
        lead = min(drawn, key=lambda one: not (one.table.chart and one.table.chart.lead), default=None)
        verdict, more = (analysis.shows, "") if analysis.name == whole else _verdict(analysis.shows)
        # What several analyses warn of is a note of each.
        shared = [warning for warning in analysis.warnings if warned[warning] > 1]
        rest = [warning for warning in analysis.warnings if warning not in shared]
        made.append(Shown(analysis, verdict, len(tables), lead, _brief(lead), rest))
        if tables:
            tables.sort(key=lambda one: one is not lead)
            said = more, analysis.cannot, footnotes.numbers([*shared, *analysis.notes])
            bodies.append(body(f"a-{analysis.name}", tables, analysis.question, *said))
    return made, bodies


def _verdict(shows: str) -> tuple[str, str]:
    """The first sentence of what an analysis shows, of a long one the first clauses, and the rest of it."""
    first, *_ = sentences_of(shows) or [""]
    clauses = first.split("; ")
    while len(clauses) > 1 and len("; ".join(clauses).split()) > _VERDICT:
        clauses.pop()
    kept = "; ".join(clauses)
    return kept if kept == first else f"{kept}; …", shows.removeprefix(kept).lstrip("; ")


def _brief(lead: ShownTable | None) -> Picture | None:
    """The table's picture with its first rows, of those with long labels fewer."""
    drawn = lead.picture if lead else None
    if drawn is None or drawn.kind not in ("rows", "heat"):
        return drawn
    labels = [row.label for row, _ in drawn.heat.rows] if drawn.heat else [row.label for row in drawn.rows]
    words = accumulate(len(label[:SHORT].split()) for label in labels)
    kept = max(_FEWEST_SHADED if drawn.heat else _FEWEST_DRAWN, min(_DRAWN, sum(count <= _LABELS for count in words)))
    if drawn.heat:
        cells = (len(cells) for _, cells in drawn.heat.rows)
        kept = min(kept, max(_FEWEST_SHADED, sum(count <= _SHADED for count in accumulate(cells))))
    marks = {row.mark for row in drawn.rows}  # one that all rows have tells nothing
    cut = [row._replace(values=(), mark=row.mark if len(marks) > 1 else "") for row in drawn.rows[:kept]]
    brief = drawn._replace(rows=cut)
    if drawn.heat:
        brief = drawn._replace(heat=drawn.heat._replace(rows=drawn.heat.rows[:kept]))
    return brief._replace(more=drawn.more + len(labels[kept:]))


def in_columns(members: Sequence[Shown]) -> list[Shown]:
    """The cards with their widths, so that each row of the two columns is full."""
    placed: list[Shown] = []
    left = False  # whether the card before stands in the left column, with room beside it
    for one in members:
        drawn = one.picture
        panels = max((len(panels) for panels in drawn.abreast), default=0) if drawn else 0
        columns = len(drawn.heat.columns) if drawn and drawn.heat else 0
        width = "wide" if panels > _PANELS or columns > _COLUMNS else "alone" if columns > _FEW_COLUMNS else ""
        if width and left:
            placed[-1] = placed[-1]._replace(width="alone")
        placed.append(one._replace(width=width))
        left = not width and not left
    return [*placed[:-1], placed[-1]._replace(width="alone")] if left else placed


def body(
    name: str,
    tables: Sequence[ShownTable],
    question: str = "",
    shows: str = "",
    cannot: str = "",
    notes: Sequence[int] = (),
    facts: Sequence[tuple[str, str]] = (),
) -> chunks.Chunk:
    """What is folded away at first, drawn and packed; the picture of an analysis's first table stands open above it."""
    said = {"question": question, "shows": shows, "cannot": cannot, "notes": notes, "facts": facts}
    return chunks.chunk(f"body-{name}", render("body", name=name, tables=tables, **said))
