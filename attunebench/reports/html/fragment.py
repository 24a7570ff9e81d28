"""Analyses and leaderboards as a piece of HTML for a notebook's output: the page's charts over plain tables, no script.

Its styles apply inside of it alone, in the colours of the notebook (Jupyter, VS Code, Colab; light and dark). Texts are
escaped by the templates.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from attunebench.analyses import Settings, Subject, analyse
from attunebench.analyses.table import Analysis, Cell, Chart, Column, Table, number_of, table, words
from attunebench.reports.analyses.terminal import finding, n_of
from attunebench.reports.analyses.words import Words, leading_keys, notes_of, row_n, words_of
from attunebench.reports.html.charts import picture
from attunebench.reports.html.environment import asset, render
from attunebench.reports.html.looks import looks_of
from attunebench.reports.html.overview import MAIN
from attunebench.reports.html.picture import Picture
from attunebench.reports.layout import section_table
from attunebench.reports.model import Report
from attunebench.scores.table import Group, ScoreTable

ROWS = 40
"""A notebook shows no more rows of a table; the data frame has all of them."""
_ROOM = 200
"""Characters of a finding."""


class Grid(NamedTuple):
    """A table as it is shown: `rows` are its first ones in words, `keys` columns say what a row is, `apart` of the rows
    are no part of what is compared, `left` are not shown."""

    table: Table
    columns: Sequence[Column]
    rows: Sequence[Sequence[Words]]
    keys: int
    apart: int
    left: int
    picture: Picture | None


def analyses_fragment(analyses: Sequence[Analysis], groups: Sequence[Group]) -> str:
    """The analyses with their verdicts, charts and tables; `groups` are those of the study, which have colours."""
    looks, parts = looks_of(groups), []
    for analysis in analyses:
        notes = dict.fromkeys((*(note for one in analysis.tables for note in notes_of(one)), *analysis.notes))
        parts.append((analysis, [_grid(one, looks.of_label) for one in analysis.tables], notes))
    body = render("fragment", parts=parts)
    used = {*re.findall(r'href="#o-([\w-]+)"', body), *re.findall(r"\bk\d+\b", body)}
    return render(
        "scope",
        body=body,
        style=asset("charts.css") + asset("fragment.css"),
        looks=[(name, style) for name, style in looks.styles if name in used],
        symbols=[(name, points) for name, points in looks.symbols if name in used],
    )


def study_fragment(study: ScoreTable) -> str:
    """The leaderboard of each mode of a study."""
    return analyses_fragment([_board(study, mode) for mode in study.modes], study.groups)


def report_fragment(report: Report, study: ScoreTable | None) -> str:
    """The leaderboard of each mode with its verdict, and what must be read before it."""
    summary = Analysis(title=report.title, question=" · ".join(report.summary[:2]), warnings=report.warnings)
    section = report.leaderboard
    if study is None or section is None:
        tables = () if section is None else (section_table(section, report.groups),)
        return analyses_fragment([replace(summary, tables=tables)], ())
    base = number_of(report.base_rate.get(MAIN, Cell(None)))
    boards = []
    for mode in study.modes:
        places = [place for place, group in enumerate(report.groups) if group.mode == mode]
        shown = section_table(section, report.groups, places, with_modes=False)
        lines = {} if base is None else {"base rate": base}
        chart = Chart("intervals", "model", (MAIN,), "Composite", "points of 100", lines, len(places))
        board = _board(study, mode)
        boards.append(replace(board, tables=(replace(shown, chart=chart),), warnings=(), question="", notes=()))
    return analyses_fragment([summary, *boards], study.groups)


def findings_fragment(analyses: Sequence[Analysis]) -> str:
    """What each of many analyses found, a line each."""
    found = table(
        "findings",
        "",
        words("analysis", [analysis.name for analysis in analyses]),
        words("n", [str(n_of(analysis) or "") for analysis in analyses]),
        words("finding", [finding(analysis, _ROOM) for analysis in analyses]),
        caption='`result["perspective-gap"]` is one of them with its tables.',
    )
    warnings = tuple(dict.fromkeys(warning for analysis in analyses for warning in analysis.warnings))
    return analyses_fragment([Analysis(title="Analyses", warnings=warnings, tables=(found,))], ())


def _board(study: ScoreTable, mode: str) -> Analysis:
    """The leaderboard of a mode, with its first table alone."""
    board = analyse("leaderboard", Subject(study, Settings(mode=mode)))
    title = f"Leaderboard, mode {mode}" if len(study.modes) > 1 else "Leaderboard"
    return replace(board, title=title, question="", tables=board.tables[:1])


def _grid(whole: Table, looks: Mapping[str, str]) -> Grid:
    rows = []
    for row in whole.rows[:ROWS]:
        n = row_n(whole, row)
        rows.append([words_of(cell, column, n) for cell, column in zip(row, whole.columns, strict=True)])
    left = len(whole.rows) - len(rows)
    bare = replace(whole, rows=tuple(tuple(replace(cell, drill=None) for cell in row) for row in whole.rows))
    apart = max(0, whole.apart - left)
    return Grid(whole, whole.columns, rows, leading_keys(whole), apart, left, picture(bare, looks))
