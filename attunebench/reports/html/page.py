"""The page as a whole: what goes into it, in which order, and how large it may get.

Owns the budget and the security policy; what a part shows is the part's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from attunebench.analyses import ANALYSES, Settings, Subject, analyse
from attunebench.analyses.base import in_mode, primary_mode
from attunebench.analyses.sampling import CORRECTIONS
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.reports.build import build_report
from attunebench.reports.html import about, chunks, overview, profiles, tour
from attunebench.reports.html.cards import Shown, body, cards, in_columns
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.environment import frame, render
from attunebench.reports.html.footnotes import Footnotes
from attunebench.reports.html.looks import looks_of
from attunebench.reports.html.tables import ShownTable, shown_table
from attunebench.reports.layout import section_table
from attunebench.reports.model import Report, settings_of
from attunebench.reports.notes import validation_of
from attunebench.scores.loading import score_table
from attunebench.text import clean

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
    "chunks",
    "data",
    "tables",
    "answers",
    "turn",
    "dialog",
    "behind",
    "filters",
    "search",
    "tour",
    "address",
    "links",
    "contents",
    "print",
    "main",
)
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
    show = partial(shown_table, place=drills.place, looks=looks.of_label, footnotes=footnotes, oracles=oracles)
    boards = list(overview.boards(report, study, settings, looks.of_key))
    made, bodies = cards(found, footnotes, show)
    profiled = list(profiles.profiles(study, report, settings))
    bodies += [
        body(f"m-{place}", [show(table, prefix=f"m-{place}") for table in profile.tables], facts=profile.facts)
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
        "title": report.title,
        **frame(_STYLES, _SCRIPTS),
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
        tail="about.html",
        chunks=(*own, *packed.chunks),
        remarks=tuple(evidence.remarks) if evidence is not None else (),
        left_out=packed.left_out,
        empty=packed.empty,
        packed_n=len(study.ids),
    )


def _groups(shown: Iterable[Shown]) -> list[tuple[str, list[Shown]]]:
    """The analyses under the titles of their groups, in two columns of cards."""
    order = list(ANALYSES)
    starts = {order.index(first): title for first, title in GROUPS.items()}
    groups: dict[str, list[Shown]] = {}
    for one in shown:
        place = order.index(one.analysis.name)
        groups.setdefault(starts[max(start for start in starts if start <= place)], []).append(one)
    return [(title, in_columns(members)) for title, members in groups.items()]


def _judged(report: Report, show: Callable[..., ShownTable]) -> list[ShownTable]:
    """The scores of the models' own replies by judges."""
    shown, told = list[ShownTable](), validation_of(report.groups)
    for section in report.sections:
        if {row.id for row in section.rows} <= JUDGED:
            table = section_table(section, report.groups)
            caption = " ".join([table.caption, *told])  # a mark beside numbers is explained below them, in no footnote
            notes = tuple(note for note in table.notes if note not in told)
            shown.append(show(replace(table, id="judged", caption=caption, notes=notes), prefix="t"))
    return shown


def _board_notes(report: Report) -> list[str]:
    """What is said of the leaderboard."""
    return [*(report.leaderboard.notes if report.leaderboard else ()), *report.notes]
