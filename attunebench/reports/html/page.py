"""The page as a whole: what goes into it, in which order, and how large it may get.

Owns the budget and the security policy; what a part shows is the part's own.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from attunebench.analyses import ANALYSES, Settings, Subject, analyse
from attunebench.analyses.base import in_mode, primary_mode
from attunebench.analyses.sampling import CORRECTIONS
from attunebench.analyses.table import Analysis
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.reports.build import build_report
from attunebench.reports.html import about, chunks, overview, profiles, tour
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.environment import SHORT, asset, render
from attunebench.reports.html.footnotes import Footnotes
from attunebench.reports.html.looks import looks_of
from attunebench.reports.html.picture import Picture
from attunebench.reports.html.tables import ShownTable, shown_table
from attunebench.reports.layout import section_table
from attunebench.reports.model import Report, settings_of
from attunebench.scores.loading import score_table
from attunebench.text import clean, sentences_of

if TYPE_CHECKING:
    from attunebench.transcripts import FolderTranscripts

BUDGET = 10_000_000
"""Bytes that a page may have."""
GROUPS = {
    "leaderboard": "Ranking",
    "perspective-gap": "Perspectives and people",
    "question-heatmap": "Questions and emotions",
    "distributions": "Validity and cost",
}
"""First analysis of each group → its title."""
_STYLES = ("style", "charts", "dialog", "print")
_SCRIPTS = (
    "start",
    "text",
    "data",
    "tables",
    "answers",
    "turn",
    "behind",
    "filters",
    "search",
    "tour",
    "links",
    "contents",
    "print",
    "main",
)
_VERDICT = 24
"""Words of a verdict."""
_DRAWN, _FEWEST_DRAWN, _LABELS = 12, 4, 12
"""Rows of a picture that stands open in the page at most and at least, and words of their labels."""
_FEWEST_SHADED, _SHADED = 3, 44
"""Rows of an open heat map at least, and its cells at most."""
_PANELS, _FEW_COLUMNS, _COLUMNS = 2, 6, 9
"""A picture of more panels, or a heat map of more columns, fills both columns of the page; a heat map with more than a
few stands beside its verdict."""
_RESERVE = 64_000
"""Kept free for what is said about the chunks themselves."""


def render_html(
    scores: Mapping[str, Any],
    *,
    file: str = "The scores file",
    evidence: FolderTranscripts | None = None,
    settings: Settings | None = None,
    budget: int = BUDGET,
    analyses: Sequence[str] = tuple(ANALYSES),
) -> str:
    """The scores, of a file by name, as one self-contained page; the same text for the same arguments.

    `evidence` gives the words behind the numbers; without it labels and answers stand alone. `analyses` are names in
    the order of the page. `settings` are those of all of them, by default with the seed, resamples and unit of
    resampling that the scores were made with. What does not fit into `budget` bytes is left out from the details, raw
    replies first, and the page says so. Raises DataError for scores that cannot be shown.
    """
    study = score_table(scores, files=[file])
    settings = settings or settings_of(study.metadata[0])
    report = build_report(scores, study=study, settings=settings)
    looks, drills = looks_of(study.groups), Drills(study)
    stops = tour.tour(in_mode(study, primary_mode(study), settings))
    found = [analyse(name, Subject(study, settings)) for name in analyses]
    footnotes = Footnotes(table.caption for analysis in found for table in analysis.tables)
    oracles = [group.label for group in study.groups if group.kind == "oracle"]
    show = partial(shown_table, drills=drills, looks=looks.of_label, footnotes=footnotes, oracles=oracles)
    boards = list(overview.boards(report, study, settings, looks.of_key))
    made, bodies = _analyses(found, footnotes, show)
    profiled = list(profiles.profiles(study, report, settings))
    bodies += [
        _body(f"m-{place}", [show(table, prefix=f"m-{place}") for table in profile.tables], facts=profile.facts)
        for place, profile in enumerate(profiled)
    ]
    context: dict[str, Any] = {
        "report": report,
        "boards": [(board, show(board.table, prefix="b", sorted_by=overview.MAIN)) for board in boards],
        "drill": drills.place,
        "judged": _judged(report, show),
        "board_notes": _board_notes(report),
        "groups": _groups([shown for shown in made if not shown.analysis.missing]),
        "skipped": [shown.analysis for shown in made if shown.analysis.missing],
        "profiles": profiled,
        "profile_of": {key: place for place, key in enumerate(dict.fromkeys(g.model_key for g in study.groups))},
        "stops": stops,
        "rules": tour.RULES,
        "talks": about.lines(study, settings),
        "looks": looks,
        "created": clean(str(study.metadata[0].get("created") or "")).replace("T", " ").replace("+00:00", " UTC"),
        "script": _script(),
        "style": "".join(asset(f"{name}.css") for name in _STYLES),
        # A page of one inline script can name its hash and allow no other.
        "script_hash": f"sha256-{base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode('ascii')}",
        "settings": settings,
        "correction": CORRECTIONS[settings.correction],
        "footnotes": footnotes,
    }
    front = render("page", **context)
    # The page can list the values of what enters the Composite and of what a cell leads to.
    listed = [card.id for card in REGISTRY.values() if card.status == "canonical" or card.id in drills.metrics]
    own = (chunks.chunk("about", about.about(study, drills, stops, listed)), *bodies)
    room = budget - len(front.encode()) - sum(one.size for one in own) - len(context["script"]) - _RESERVE
    packed = chunks.pack(study, listed, evidence, budget=room, first=[stop.row for stop in stops])
    return front + render(
        "end",
        **context,
        chunks=(*own, *packed.chunks),
        remarks=tuple(evidence.remarks) if evidence is not None else (),
        left_out=packed.left_out,
        empty=packed.empty,
        packed_n=len(study.ids),
    )


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


def _analyses(
    found: Sequence[Analysis], footnotes: Footnotes, show: Callable[..., ShownTable]
) -> tuple[list[Shown], list[chunks.Chunk]]:
    """What each analysis shows at once, and what is folded away under it."""
    warned = Counter(warning for analysis in found for warning in analysis.warnings)
    made, bodies = [], []
    for analysis in found:
        tables = [show(table, prefix=f"t-{analysis.name}") for table in analysis.tables]
        drawn = [one for one in tables if one.picture]
        lead = min(drawn, key=lambda one: not (one.table.chart and one.table.chart.lead), default=None)
        verdict, more = _verdict(analysis.shows)
        # What several analyses warn of is a note of each.
        shared = [warning for warning in analysis.warnings if warned[warning] > 1]
        rest = [warning for warning in analysis.warnings if warning not in shared]
        made.append(Shown(analysis, verdict, len(tables), lead, _brief(lead), rest))
        if tables:
            tables.sort(key=lambda one: one is not lead)
            said = more, analysis.cannot, footnotes.numbers([*shared, *analysis.notes])
            bodies.append(_body(f"a-{analysis.name}", tables, analysis.question, *said))
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


def _groups(shown: Iterable[Shown]) -> list[tuple[str, list[Shown]]]:
    """The analyses under the titles of their groups, in two columns of cards."""
    order = list(ANALYSES)
    starts = {order.index(first): title for first, title in GROUPS.items()}
    groups: dict[str, list[Shown]] = {}
    for one in shown:
        place = order.index(one.analysis.name)
        groups.setdefault(starts[max(start for start in starts if start <= place)], []).append(one)
    return [(title, _in_columns(members)) for title, members in groups.items()]


def _in_columns(members: Sequence[Shown]) -> list[Shown]:
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


def _judged(report: Report, show: Callable[..., ShownTable]) -> list[ShownTable]:
    """The scores of the models' own replies by judges."""
    sections = [section for section in report.sections if {row.id for row in section.rows} <= JUDGED]
    return [show(replace(section_table(one, report.groups), id="judged"), prefix="t") for one in sections]


def _board_notes(report: Report) -> list[str]:
    """What is said of the leaderboard."""
    return [*(report.leaderboard.notes if report.leaderboard else ()), *report.notes]


def _body(
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


@cache
def _script() -> str:
    parts = "\n".join(asset(f"{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'
