"""The page as a whole: what goes into it, in which order, and how large it may get.

Owns the budget and the security policy; what a part shows is the part's own.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from attunebench.analyses import ANALYSES, Settings, Subject, analyse
from attunebench.analyses.base import in_mode, primary_mode
from attunebench.analyses.palette import OUTLINES, Style, palette
from attunebench.codebook import default_codebook
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.reports.build import build_report
from attunebench.reports.html import chunks, overview, profiles, tables, tour
from attunebench.reports.html.charts import SHAPES
from attunebench.reports.html.drills import Drills
from attunebench.reports.layout import section_table
from attunebench.reports.model import settings_of
from attunebench.scores import Scores
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable
from attunebench.text import UNDEFINED, clean, number, visible

if TYPE_CHECKING:
    from jinja2 import Environment

    from attunebench.transcripts import FolderTranscripts

BUDGET = 15_000_000
"""Bytes that a page may have."""
_HERE = "attunebench.reports.html"
_SCRIPTS = ("start", "text", "data", "tables", "answers", "turn", "behind", "tour", "talks", "main")
_REACH = 5.0
"""Half the width of a symbol in pixels."""
_RESERVE = 64_000
"""Kept free for what is said about the chunks themselves."""


def render_html(
    scores: Scores | Mapping[str, Any],
    *,
    evidence: FolderTranscripts | None = None,
    settings: Settings | None = None,
    budget: int = BUDGET,
    analyses: Sequence[str] = tuple(ANALYSES),
) -> str:
    """The scores as one self-contained page; the same text for the same scores, settings and evidence.

    `evidence` gives the words behind the numbers; without it labels and answers stand alone. `analyses` are names in
    the order of the page. `settings` are those of all of them, by default with the seed, resamples and unit of
    resampling that the scores were made with. What does not fit into `budget` bytes is left out from the details, raw
    replies first, and the page says so. Raises DataError for scores that cannot be shown.
    """
    study = score_table(scores)
    settings = settings or settings_of(study.metadata[0])
    report = build_report(scores)
    looks = _looks(study)
    drills = Drills(study)
    names = {label: name for label, (name, _) in looks.items()}
    boards = [
        (board, tables.shown_table(board.table, drills, names, "b", sorted_by=overview.MAIN))
        for board in overview.boards(study, settings)
    ]
    made = [
        (analysis, [tables.shown_table(table, drills, names, f"t-{analysis.name}") for table in analysis.tables])
        for analysis in (analyse(name, Subject(study, settings)) for name in analyses)
    ]
    judged = [section for section in report.sections if {row.id for row in section.rows} <= JUDGED]
    profiled = profiles.profiles(study, report.groups, settings, drills, names)
    stops = tour.tour(in_mode(study, primary_mode(study), settings))
    # The page can list the values of what enters the Composite and of what a cell leads to.
    listed = [card.id for card in REGISTRY.values() if card.status == "canonical" or card.id in drills.metrics]
    about = chunks.chunk("about", _about(study, looks, drills, stops, listed))
    context: dict[str, Any] = {
        "report": report,
        "study": study,
        "boards": boards,
        "judged": [
            tables.shown_table(replace(section_table(section, report.groups), id="judged"), drills, names, "t")
            for section in judged
        ],
        "analyses": made,
        "profiles": profiled,
        "stops": stops,
        "rules": tour.RULES,
        "talks": _talks(study, settings),
        "looks": tuple(dict(looks.values()).items()),
        "symbols": _symbols(looks),
        "created": _minute(study.metadata[0].get("created")),
        "script": _script(),
        "style": _asset("style.css"),
        # A page of one inline script can name its hash and allow no other.
        "script_hash": f"sha256-{base64.b64encode(hashlib.sha256(_script().encode()).digest()).decode('ascii')}",
        "settings": settings,
    }
    return _assemble(context, study, about, listed, evidence, budget, [stop.row for stop in stops])


def _minute(stamp: object) -> str:
    """2026-01-31T09:05:31+00:00 as "2026-01-31 09:05 UTC"; what is no such stamp as it is, "" where there is none."""
    if not isinstance(stamp, str):
        return ""
    found = re.match(r"(\d{4}-\d\d-\d\d)T(\d\d:\d\d)[\d:.]*(?:Z|\+00:00)$", stamp)
    return f"{found[1]} {found[2]} UTC" if found else clean(stamp)


def _assemble(
    context: dict[str, Any],
    study: ScoreTable,
    about: chunks.Chunk,
    metrics: Sequence[str],
    evidence: FolderTranscripts | None,
    budget: int,
    first: Sequence[int],
) -> str:
    """The page around as many chunks as fit beside what it shows at once."""
    front = _environment().get_template("page.html").render(**context)
    room = budget - len(front.encode()) - len(about.data) - len(context["script"]) - _RESERVE
    packed = chunks.pack(study, metrics, evidence, budget=room, first=first)
    end = _environment().get_template("end.html")
    return front + end.render(
        **context,
        chunks=(about, *packed.chunks),
        remarks=tuple(evidence.remarks) if evidence is not None else (),
        left_out=packed.left_out,
        empty=packed.empty,
        packed_n=len(study.ids),
    )


def _looks(study: ScoreTable) -> dict[str, tuple[str, Style]]:
    """Label of a model → the name of its looks in the style sheet, and the looks."""
    styles = palette(study.groups)
    names = {key: f"k{place}" for place, key in enumerate(styles)}
    return {group.label: (names[group.model_key], styles[group.model_key]) for group in study.groups}


def _symbols(looks: Mapping[str, tuple[str, Style]]) -> list[tuple[str, str]]:
    """Name of a symbol → the corners of its polygon, y downwards: each model's, and those of a row's values."""
    markers = {name: style.marker for name, style in looks.values()}
    markers |= {f"v{place}": shape for place, shape in enumerate(SHAPES)}
    return [
        (name, " ".join(f"{_REACH * x:.2f},{-_REACH * y:.2f}" for x, y in OUTLINES[marker]))
        for name, marker in markers.items()
    ]


def _about(
    study: ScoreTable,
    looks: Mapping[str, tuple[str, Style]],
    drills: Drills,
    stops: Sequence[tour.Stop],
    metrics: Sequence[str],
) -> dict[str, Any]:
    """What the script must know: names, wordings, and what every drill stands for."""
    cards, codebook = [REGISTRY[metric_id] for metric_id in metrics], default_codebook()
    wordings = {question: entry.observer_text for question, entry in codebook.binary.items()}
    return {
        "groups": [
            {"label": group.label, "mode": group.mode, "kind": group.kind, "look": looks[group.label][0]}
            for group in study.groups
        ],
        "primary": primary_mode(study),
        "talks": [{"name": _name(study, row), "turns": turns} for row, turns in enumerate(_turn_numbers(study))],
        "questions": [{"id": question, "om": wordings.get(question, question)} for question in study.questions],
        "pairwise": {key: text or key for key, text in codebook.pairwise.items()},
        "metrics": {
            card.id: {
                "label": card.label,
                "meaning": card.meaning,
                "level": card.level,
                "better": card.higher_is_better,
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
    return environment
