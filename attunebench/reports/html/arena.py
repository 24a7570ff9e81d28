"""The page of an arena: ratings first, then each analysis; behind every number its pairs, replies and verdicts.

Made of the same parts as the page of a study; owns what is packed behind the numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from attunebench.analyses.table import Cell, Drill, Table, counts, number_of, table, words
from attunebench.reports.html import chunks
from attunebench.reports.html.cards import Shown, cards, in_columns
from attunebench.reports.html.environment import frame, render
from attunebench.reports.html.footnotes import Footnotes
from attunebench.reports.html.looks import looks_of
from attunebench.reports.html.page import BUDGET
from attunebench.reports.html.tables import shown_table

if TYPE_CHECKING:
    from attunebench.arena.folder import Arena
    from attunebench.arena.objects import Verdict
    from attunebench.arena.scores import ArenaScores

_STYLES = ("style", "charts", "dialog", "print", "arena")
_SCRIPTS = ("start", "text", "chunks", "tables", "dialog", "arena", "address", "contents", "print", "main")
_RATINGS = "arena-ratings"
_OF_RATERS = ("arena-agreement", "arena-bias")
_RESERVE = 32_000
"""Bytes kept free for what is said about the chunks themselves."""
_SIDES = {"left": "l", "same": "s", "right": "r"}


class _Drills:
    """The list of what is behind the cells, each once; a cell names it by its place."""

    def __init__(self, arena: Arena | None) -> None:
        self._arena = arena
        self._places: dict[tuple[tuple[str, str], ...], int] = {}

    def place(self, drill: Drill | None, _about: str) -> int | None:
        """The drill's place; None without one, and where the page has no verdicts."""
        if drill is None or self._arena is None:
            return None
        return self._places.setdefault(drill.where, len(self._places))

    @property
    def listed(self) -> list[dict[str, str]]:
        return [dict(where) for where in self._places]


def render_arena(scores: ArenaScores, *, arena: Arena | None = None, budget: int = BUDGET) -> str:
    """The scores of an arena as one self-contained page; the same text for the same arguments.

    `arena` gives what is behind the numbers; what does not fit into `budget` bytes is left out, rationales first, and
    the page says so.
    """
    about = scores.about
    analyses = [replace(one, tables=tuple(map(_with_drills, one.tables))) for one in scores.analyses]
    looks = looks_of(scores.groups)
    drills = _Drills(arena)
    listed = _histories(arena) if arena is not None and arena.histories else None
    captions = (one.caption for analysis in analyses for one in analysis.tables)
    footnotes = Footnotes(captions)
    named = {**looks.of_label, **dict.fromkeys(("people", "all people"), "person")}  # as raters, as authors
    show = partial(shown_table, place=drills.place, looks=named, footnotes=footnotes)
    made, bodies = cards(analyses, footnotes, show, whole=_RATINGS)
    shown = [one for one in made if not one.analysis.missing]
    context: dict[str, Any] = {
        "title": "Arena",
        "printed": "Verdicts and ratings",
        **frame(_STYLES, _SCRIPTS),
        "summary": scores.sample,
        "board": next((_in_full(one) for one in shown if one.analysis.name == _RATINGS), None),
        "groups": _groups(shown),
        "skipped": [one.analysis for one in made if one.analysis.missing],
        "histories": listed and show(listed, prefix="h"),
        "looks": looks,
        "footnotes": footnotes,
    }
    front = render("arena", **context)
    own = [chunks.chunk("about", _index(arena, drills, scores) if arena is not None else {}), *bodies]
    room = budget - len(front.encode()) - sum(one.size for one in own) - len(context["script"]) - _RESERVE
    packed = chunks.fit(_layers(arena) if arena is not None else {}, room)
    return front + render(
        "end",
        **context,
        tail="arena-about.html",
        chunks=(*own, *packed.chunks),
        left_out=packed.left_out,
        packed_n=0 if arena is None else len(arena.histories),
        problems=list(about.problems),
        settings=[
            (name, f"{value:g}" if isinstance(value, float) else value) for name, value in about.settings.items()
        ],
    )


def _in_full(board: Shown) -> Shown:
    """With intervals and n beside the values of its picture."""
    lead = board.lead
    if lead is None or lead.picture is None or lead.table.chart is None:
        return board
    ids, beside = [column.id for column in lead.table.columns], {}
    label, value = (ids.index(name) for name in (lead.table.chart.label, lead.table.chart.values[0]))
    for row in lead.rows:
        rating = row[value]
        text = " ".join(filter(None, (rating.value, rating.interval, rating.beside)))
        beside[row[label].value] = [
            (text, rating.drill),
            *((f"n {cell.value}", None) for id, cell in zip(ids, row, strict=True) if id == "n"),
        ]
    rows = [one._replace(values=beside[one.label], mark="") for one in lead.picture.rows]
    return board._replace(picture=lead.picture._replace(rows=rows))


def _with_drills(made: Table) -> Table:
    """Numbers that name no verdicts of their own lead to what the others of their row have in common."""
    rows = []
    for row in made.rows:
        named = [cell.drill.where for cell in row if cell.drill is not None]
        common = tuple(one for one in named[0] if all(one in where for where in named)) if named else ()
        own = [replace(cell, drill=cell.drill or Drill(where=common)) for cell in row]
        rows.append(tuple(cell if number_of(cell) is None else found for cell, found in zip(row, own, strict=True)))
    return replace(made, rows=tuple(rows))


def _groups(shown: Sequence[Shown]) -> list[tuple[str, list[Shown]]]:
    replies = [one for one in shown if one.analysis.name not in (_RATINGS, *_OF_RATERS)]
    raters = [one for one in shown if one.analysis.name in _OF_RATERS]
    return [(title, in_columns(members)) for title, members in (("Replies", replies), ("Raters", raters)) if members]


def _histories(arena: Arena) -> Table:
    """The histories that have a pair, with how much there is of each."""
    pairs = dict.fromkeys(arena.histories, 0)
    verdicts = dict(pairs)
    for pair in arena.pairs.values():
        pairs[pair.history] += 1
    for verdict in _verdicts(arena):
        verdicts[arena.pairs[verdict.pair].history] += 1
    rows = [one for one in arena.histories.values() if pairs[one.id]]
    behind = [Drill(where=(("history", one.id),)) for one in rows]
    return table(
        "histories",
        "Histories",
        words("history", [one.id for one in rows]),
        words("slice", [one.slice for one in rows]),
        *([words("tags", [", ".join(one.tags) for one in rows])] if any(one.tags for one in rows) else []),
        counts("messages", [len(one.turns) for one in rows]),
        counts("pairs", [Cell(pairs[one.id], drill=drill) for one, drill in zip(rows, behind, strict=True)]),
        counts("verdicts", [verdicts[one.id] for one in rows]),
    )


def _verdicts(arena: Arena) -> Iterator[Verdict]:
    """Those that numbers are made of: on pairs of the arena, and no checks of attention."""
    return (one for one in arena.verdicts if one.pair in arena.pairs and not one.check)


def _by_history(arena: Arena) -> list[Verdict]:
    """The verdicts, those of a history together and those of a pair together."""
    at = {name: place for place, name in enumerate(arena.histories)}
    place = {id: (at[pair.history], order) for order, (id, pair) in enumerate(arena.pairs.items())}
    return sorted(_verdicts(arena), key=lambda one: place[one.pair])


def _index(arena: Arena, drills: _Drills, scores: ArenaScores) -> dict[str, Any]:
    """What the lists behind numbers are made of: pairs and verdicts column by column, names by their places."""
    verdicts = _by_history(arena)
    authors = {author: reply.kind for (_, author), reply in arena.replies.items()}
    authors |= {
        name: "model" for pair in arena.pairs.values() for name in (pair.left, pair.right) if name not in authors
    }
    raters = {one.rater: one.rater_kind for one in verdicts}
    slices = list(dict.fromkeys(one.slice for one in arena.histories.values()))
    dimensions = list(dict.fromkeys(name for one in verdicts for name in one.dimensions))
    at = {name: place for place, name in enumerate(arena.histories)}
    author, rater, pair = (
        {name: place for place, name in enumerate(names)} for names in (authors, raters, arena.pairs)
    )
    pairs = arena.pairs.values()
    return {
        "drills": drills.listed,
        "authors": list(authors.items()),
        "raters": list(raters.items()),
        "dimensions": dimensions,
        "slices": slices,
        "histories": list(arena.histories),
        "slice": [slices.index(one.slice) for one in arena.histories.values()],
        "ambiguous": scores.about.settings.get("ambiguous", 2 / 3),
        "ensemble": scores.about.settings.get("ensemble", "majority"),
        "pairs": {
            "id": [one.id for one in pairs],
            "h": [at[one.history] for one in pairs],
            "l": [author[one.left] for one in pairs],
            "r": [author[one.right] for one in pairs],
        },
        "verdicts": {
            "p": [pair[one.pair] for one in verdicts],
            "r": [rater[one.rater] for one in verdicts],
            "o": "".join(one.order[0] for one in verdicts),
            "v": "".join("-" if one.preference is None else str(one.preference + 2) for one in verdicts),
            "d": ["".join(_SIDES.get(one.dimensions.get(name, ""), "-") for one in verdicts) for name in dimensions],
        },
    }


def _layers(arena: Arena) -> dict[str, Iterator[tuple[int, Any]]]:
    """What somebody reads of a history: its messages and replies, and why raters decided as they did."""
    replies: dict[str, dict[str, str]] = {}
    for (history, author), reply in arena.replies.items():
        replies.setdefault(history, {})[author] = reply.text
    reasons: dict[str, list[Any]] = {}
    for one in _by_history(arena):
        said = [one.rationale, one.evidence, one.evidence_found, one.decided_by, one.outcome]
        reasons.setdefault(arena.pairs[one.pair].history, []).append(said)
    asked = {pair.history for pair in arena.pairs.values()}
    rows = [(row, one) for row, one in enumerate(arena.histories.values()) if one.id in asked]
    return {
        "texts": ((row, [[[t.role, t.text] for t in one.turns], replies.get(one.id, {})]) for row, one in rows),
        "reasons": ((row, reasons.get(one.id)) for row, one in rows),
    }
