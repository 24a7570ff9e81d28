"""The page as a whole: what goes into it, in which order, and how large it may get.

Owns the budget and the security policy; what a part shows is the part's own.
"""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from attunebench.analyses import ANALYSES, Settings, Subject, analyse
from attunebench.analyses.base import in_mode, primary_mode
from attunebench.analyses.palette import OUTLINES, palette
from attunebench.codebook import default_codebook
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.reports.build import build_report
from attunebench.reports.html import chunks, overview, profiles, tour
from attunebench.reports.html.charts import SHAPES
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.tables import ShownTable, shown_table
from attunebench.reports.layout import section_table
from attunebench.reports.model import Report, settings_of
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable
from attunebench.text import UNDEFINED, clean, number, visible

if TYPE_CHECKING:
    from jinja2 import Environment

    from attunebench.transcripts import FolderTranscripts

BUDGET = 10_000_000
"""Bytes that a page may have."""
_HERE = "attunebench.reports.html"
_STYLES = ("style", "charts", "dialog", "print")
_SCRIPTS = ("start", "text", "data", "tables", "answers", "turn", "behind", "tour", "talks", "print", "main")
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
    parts, bodies = _parts(study, report, settings, analyses, partial(shown_table, drills=drills, looks=names))
    context: dict[str, Any] = {
        **parts,
        "report": report,
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


def _parts(
    study: ScoreTable, report: Report, settings: Settings, analyses: Sequence[str], show: Callable[..., ShownTable]
) -> tuple[dict[str, Any], list[chunks.Chunk]]:
    """What the leaderboard, the analyses and the profiles show at once, and what is folded away under them."""
    boards = [
        (one, show(one.table, prefix="b", sorted_by=overview.MAIN)) for one in overview.boards(report, study, settings)
    ]
    judged = [section for section in report.sections if {row.id for row in section.rows} <= JUDGED]
    bodies, made = [], []
    found = [analyse(name, Subject(study, settings)) for name in analyses]
    for analysis in found:
        tables = [show(table, prefix=f"t-{analysis.name}") for table in analysis.tables]
        lead = next((one for one in tables if one.picture), None)
        made.append((analysis, tables, lead))
        if tables:
            bodies.append(_body(f"a-{analysis.name}", tables, lead, analysis.cannot, analysis.notes))
    profiled = list(profiles.profiles(study, report, settings))
    for place, profile in enumerate(profiled):
        tables = [show(table, prefix=f"m-{place}") for table in profile.tables]
        bodies.append(_body(f"m-{place}", tables, facts=profile.facts))
    warned = Counter(warning for analysis in found for warning in analysis.warnings)
    parts = {
        "boards": boards,
        "judged": [show(replace(section_table(one, report.groups), id="judged"), prefix="t") for one in judged],
        "analyses": made,
        # What several analyses warn of is said once, above them.
        "shared": [warning for warning, times in warned.items() if times > 1],
        "profiles": profiled,
    }
    return parts, bodies


def _body(
    name: str,
    tables: Sequence[ShownTable],
    lead: ShownTable | None = None,
    cannot: str = "",
    notes: Sequence[str] = (),
    facts: Sequence[tuple[str, str]] = (),
) -> chunks.Chunk:
    """What is folded away at first, drawn and packed; the picture of `lead` stands open in the page."""
    body = _environment().get_template("body.html")
    return chunks.chunk(f"body-{name}", body.render(tables=tables, lead=lead, cannot=cannot, notes=notes, facts=facts))


def _symbols(markers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Name of a symbol → the corners of its polygon, y downwards: each model's, and those of a row's values."""
    return [
        (name, " ".join(f"{_REACH * x:.2f},{-_REACH * y:.2f}" for x, y in OUTLINES[marker]))
        for name, marker in {**markers, **{f"v{place}": shape for place, shape in enumerate(SHAPES)}}.items()
    ]


def _about(study: ScoreTable, drills: Drills, stops: Sequence[tour.Stop], metrics: Sequence[str]) -> dict[str, Any]:
    """What the script must know: names, wordings, and what every drill stands for."""
    cards, codebook = [REGISTRY[metric_id] for metric_id in metrics], default_codebook()
    wordings = {question: entry.observer_text for question, entry in codebook.binary.items()}
    return {
        "groups": [{"label": group.label, "mode": group.mode} for group in study.groups],
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
