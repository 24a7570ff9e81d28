"""The page as a whole: what goes into it, in which order, and how large it may get.

Owns the budget and the security policy; what a part shows is the part's own.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import resources
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from attunebench.analyses import ANALYSES, Settings, Subject, analyse
from attunebench.analyses.base import in_mode, primary_mode
from attunebench.analyses.palette import OUTLINES, palette
from attunebench.analyses.table import Analysis
from attunebench.codebook import default_codebook
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.reports.build import build_report
from attunebench.reports.html import chunks, overview, profiles, tour
from attunebench.reports.html.charts import SHAPES
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.facets import facets
from attunebench.reports.html.footnotes import Footnotes, sentences
from attunebench.reports.html.picture import Picture
from attunebench.reports.html.tables import ShownTable, shown_table
from attunebench.reports.layout import section_table
from attunebench.reports.model import Report, settings_of
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable
from attunebench.text import UNDEFINED, clean, number, visible

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

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
_HERE = "attunebench.reports.html"
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
_HEAD = re.compile(r"[:;] |[.] ")
"""What ends the head of a warning."""
_BACKTICKS = re.compile("`([^`]*)`")
_VERDICT = 24
"""Words of a verdict."""
_DRAWN, _FEWEST_DRAWN, _LABELS = 12, 5, 16
"""Rows of a picture that stands open in the page at most and at least, and words of their labels."""
_FEWEST_SHADED, _SHADED = 4, 72
"""Rows of an open heat map at least, and its cells at most."""
_SHORT = 34
"""Characters of a label of a heat map, which the table has whole."""
_PANELS, _FEW_COLUMNS, _COLUMNS = 2, 6, 9
"""A picture of more panels, or a heat map of more columns, fills both columns of the page; a heat map with more than a
few stands beside its verdict."""
_REACH = 5.0
"""Half the width of a symbol in pixels."""
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
    styles, drills = palette(study.groups), Drills(study)
    looks = {key: f"k{place}" for place, key in enumerate(styles)}
    names = {group.label: looks[group.model_key] for group in study.groups}
    stops = tour.tour(in_mode(study, primary_mode(study), settings))
    found = [analyse(name, Subject(study, settings)) for name in analyses]
    footnotes = Footnotes(table.caption for analysis in found for table in analysis.tables)
    oracles = [group.label for group in study.groups if group.kind == "oracle"]
    show = partial(shown_table, drills=drills, looks=names, footnotes=footnotes, oracles=oracles)
    boards = list(overview.boards(report, study, settings, looks))
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
        "talks": _talks(study, settings),
        "names": names,
        "looks": [(name, styles[key]) for key, name in looks.items()],
        "symbols": _symbols({name: styles[key].marker for key, name in looks.items()}),
        "created": clean(str(study.metadata[0].get("created") or "")).replace("T", " ").replace("+00:00", " UTC"),
        "script": _script(),
        "style": "".join(_asset(f"{name}.css") for name in _STYLES),
        # A page of one inline script can name its hash and allow no other.
        "script_hash": f"sha256-{base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode('ascii')}",
        "settings": settings,
        "footnotes": footnotes,
    }
    front = _environment().get_template("page.html").render(**context)
    # The page can list the values of what enters the Composite and of what a cell leads to.
    listed = [card.id for card in REGISTRY.values() if card.status == "canonical" or card.id in drills.metrics]
    own = (chunks.chunk("about", _about(study, drills, stops, listed)), *bodies)
    room = budget - len(front.encode()) - sum(one.size for one in own) - len(context["script"]) - _RESERVE
    packed = chunks.pack(study, listed, evidence, budget=room, first=[stop.row for stop in stops])
    return front + _environment().get_template("end.html").render(
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
    first, *_ = sentences(shows) or [""]
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
    words = accumulate(len(label[:_SHORT].split()) for label in labels)
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
    section = next(section for section in report.sections if section.leaderboard)
    return [*section.notes, *report.notes]


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
    return chunks.chunk(
        f"body-{name}", _environment().get_template("body.html").render(name=name, tables=tables, **said)
    )


def _symbols(markers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Name of a symbol → the corners of its polygon, y downwards: each model's, and those of a row's values."""
    return [
        (name, " ".join(f"{_REACH * x:.2f},{-_REACH * y:.2f}" for x, y in OUTLINES[marker]))
        for name, marker in {**markers, **SHAPES}.items()
    ]


def _about(study: ScoreTable, drills: Drills, stops: Sequence[tour.Stop], metrics: Sequence[str]) -> dict[str, Any]:
    """What the script must know: names, wordings, and what every drill stands for."""
    cards, codebook = [REGISTRY[metric_id] for metric_id in metrics], default_codebook()
    wordings = {question: entry.observer_text for question, entry in codebook.binary.items()}
    return {
        "groups": [{"label": group.label, "mode": group.mode} for group in study.groups],
        "primary": primary_mode(study),
        "talks": [
            {
                "id": conversation,
                "name": _name(study, row),
                "topics": truth["topics"] if (truth := study.ground_truth.get(conversation)) else [],
                "participant": (truth and truth["participant_id"]) or "",
                "turns": turns,
            }
            for row, (conversation, turns) in enumerate(zip(study.ids, _turn_numbers(study), strict=True))
        ],
        "facets": facets(study),
        "questions": [{"id": question, "om": wordings.get(question, question)} for question in study.questions],
        "pairwise": {key: text or key for key, text in codebook.pairwise.items()},
        "metrics": {
            card.id: {
                "label": card.label,
                "meaning": card.meaning.replace("`", ""),
                "level": card.level,
                "better": card.higher_is_better,
                "best": None if card.higher_is_better is None else card.high if card.higher_is_better else card.low,
                "digits": 1 if card.unit == "points" else 3,
            }
            for card in cards
        },
        "drills": drills.for_page(),
        "tour": [
            {"row": s.row, "turn": s.turn, "why": s.why, "items": [[i.question, i.block] for i in s.items]}
            for s in stops
        ],
    }


def _turn_numbers(study: ScoreTable) -> list[list[int]]:
    """The numbers of the turns of each conversation."""
    numbers: list[list[int]] = [[] for _ in study.ids]
    for turn in study.turns:
        numbers[turn.conversation].append(turn.number)
    return numbers


def _name(study: ScoreTable, row: int) -> str:
    """What people call a conversation: the name of its file without ending, else its id."""
    truth = study.ground_truth.get(study.ids[row])
    return (truth["source_file"].removesuffix(".json") if truth else "") or study.ids[row]


def _talks(study: ScoreTable, settings: Settings) -> list[dict[str, Any]]:
    """A line for each conversation: its name, what it is about, and the models' mean Composite."""
    models = study.models(baselines=settings.baselines)
    primary = [group for group in models.groups if group.mode == primary_mode(study)]
    values = models.with_groups(primary).values("composite")
    lines = []
    for row, (conversation, turns) in enumerate(zip(study.ids, _turn_numbers(study), strict=True)):
        truth = study.ground_truth.get(conversation)
        known = values[row][~np.isnan(values[row])]
        ends = (known.mean(), known.min(), known.max()) if known.size else (None, None, None)
        lines.append(
            {
                "row": row,
                "name": _name(study, row),
                "topics": ", ".join(truth["topics"]) if truth else "",
                "participant": (truth["participant_id"] if truth else None) or UNDEFINED,
                "turns": len(turns),
                **{name: number(value, 1) for name, value in zip(("mean", "low", "high"), ends, strict=True)},
            }
        )
    return lines


def _asset(name: str) -> str:
    return resources.files(_HERE).joinpath("assets").joinpath(name).read_text("utf-8")


@cache
def _script() -> str:
    parts = "\n".join(_asset(f"{name}.js") for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def _code(text: str) -> Markup:
    """The text as markup, with what stands between backticks as code."""
    from markupsafe import Markup, escape

    return Markup(_BACKTICKS.sub(r"<code>\1</code>", str(escape(visible(text)))))


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(_HERE),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    environment.filters["thousands"] = lambda number: f"{number:,}"
    environment.filters["code"] = _code
    environment.filters["short"] = lambda label: label if len(label) <= _SHORT else f"{label[:_SHORT].rstrip()}…"
    environment.filters["head"] = lambda warning: _HEAD.split(warning)[0].rstrip(".")
    return environment
