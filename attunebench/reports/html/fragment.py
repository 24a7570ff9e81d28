"""Analyses and leaderboards as a piece of HTML for a notebook's output: the page's tables and charts, without script.

Its styles apply inside of it alone, in the colours of the notebook (Jupyter, VS Code, Colab; light and dark). What came
from strangers is escaped by the templates, as on the page.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from dataclasses import replace

from attunebench.analyses import Settings, Subject, analyse
from attunebench.analyses.palette import palette
from attunebench.analyses.table import Analysis, Table, table, words
from attunebench.reports.analyses.terminal import finding, n_of
from attunebench.reports.html import overview
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.page import _asset, _environment, _symbols
from attunebench.reports.html.tables import ShownTable, shown_table
from attunebench.reports.model import Report
from attunebench.scores.table import Group, ScoreTable

ROWS = 40
"""A notebook shows no more rows of a table; the data frame has all of them."""
_ROOM = 200
"""Characters of a finding."""


def analyses_fragment(analyses: Sequence[Analysis], groups: Sequence[Group]) -> str:
    """The analyses with their verdicts, charts and tables; `groups` are those of the study, which have colours."""
    styles = palette(groups)
    looks = {key: f"k{place}" for place, key in enumerate(styles)}
    names = {group.label: looks[group.model_key] for group in groups}
    parts = []
    for analysis in analyses:
        notes = dict.fromkeys((*(note for one in analysis.tables for note in one.notes), *analysis.notes))
        parts.append((analysis, [_shown(one, names) for one in analysis.tables], notes))
    body = _environment().get_template("fragment.html").render(parts=parts)
    symbols = _symbols({name: styles[key].marker for key, name in looks.items()})
    used = frozenset(re.findall(r"\b[kv]\d+\b", body))
    scope = _environment().get_template("scope.html")
    return scope.render(
        body=body,
        style=_asset("fragment.css") + _asset("charts.css"),
        looks=[(name, styles[key]) for key, name in looks.items() if name in used],
        symbols=[(name, points) for name, points in symbols if name in used],
    )


def study_fragment(study: ScoreTable) -> str:
    """The leaderboard of each mode of a study."""
    boards = []
    for mode in study.modes:
        board = analyse("leaderboard", Subject(study, Settings(mode=mode)))
        title = f"{board.title}, mode {mode}" if len(study.modes) > 1 else board.title
        boards.append(replace(board, title=title, tables=board.tables[:1]))
    return analyses_fragment(boards, study.groups)


def report_fragment(report: Report, study: ScoreTable | None) -> str:
    """The leaderboard of each mode with its verdict, and what must be read before it."""
    summary = Analysis(title=report.title, question=" · ".join(report.summary[:2]), warnings=report.warnings)
    if study is None:
        return analyses_fragment([summary], ())
    boards = [
        Analysis(title=f"Mode {board.mode}", shows=f"{board.best} {board.sure}", tables=(board.table,))
        for board in overview.boards(report, study, Settings())
    ]
    if len(boards) == 1:
        return analyses_fragment([replace(summary, shows=boards[0].shows, tables=boards[0].tables)], study.groups)
    return analyses_fragment([summary, *boards], study.groups)


def findings_fragment(analyses: Sequence[Analysis]) -> str:
    """What each of many analyses found, a line each."""
    found = table(
        "findings",
        "Findings",
        words("analysis", [analysis.name for analysis in analyses]),
        words("n", [str(n_of(analysis) or "") for analysis in analyses]),
        words("finding", [finding(analysis, _ROOM) for analysis in analyses]),
        caption='`result["perspective-gap"]` is one of them with its tables.',
    )
    warnings = tuple(dict.fromkeys(warning for analysis in analyses for warning in analysis.warnings))
    return analyses_fragment([Analysis(title="Analyses", warnings=warnings, tables=(found,))], ())


def _shown(whole: Table, names: dict[str, str]) -> ShownTable:
    """A table as the page shows it, of its first rows, with nothing behind its numbers."""
    rows = tuple(tuple(replace(cell, drill=None) for cell in row) for row in whole.rows[:ROWS])
    left = len(whole.rows) - len(rows)
    notes = (f"… and {left} more rows, which the data frame has.",) if left else ()
    apart = max(0, whole.apart - left)
    prefix = f"n{zlib.crc32(repr(rows).encode()):08x}"
    return shown_table(replace(whole, rows=rows, notes=notes, apart=apart), _NOTHING, names, prefix)


class _Nothing(Drills):
    """No drills: a notebook has no script that could open what is behind a number."""

    def __init__(self) -> None:
        pass

    def place(self, drill: object) -> None:
        return None


_NOTHING = _Nothing()
