"""Ratings of an arena beside what else is known of the authors: their latency, their size, their benchmark scores
(spec 10.3, item 6)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    Missing,
    Table,
    cell_of,
    column,
    counts,
    known,
    number_of,
    table,
    words,
)
from attunebench.analyses.verdicts import with_interval
from attunebench.arena.contests import Rated, rate
from attunebench.arena.folder import Arena
from attunebench.arena.ratings import drills_of, with_anchor
from attunebench.arena.sampling import ArenaSettings, rater_groups
from attunebench.arena.scores import read_arena_scores
from attunebench.arena.table import VerdictTable
from attunebench.errors import DataError
from attunebench.statistics.bootstrap import percentile_interval
from attunebench.statistics.correlation import FEWEST_MODELS, rank_correlations
from attunebench.statistics.rank_tests import spearman_p


class Property(NamedTuple):
    """Something that replies tell of their author: `field` of a reply, and the author's value is the median. So many
    (`scale`) of the smaller `unit` are one of what is in the files."""

    id: str
    field: str
    label: str
    unit: str
    scale: float


_PROPERTIES = (
    Property("latency", "seconds_to_first_token", "seconds to first token", "milliseconds", 1e3),
    Property("size", "parameters", "parameters (billions)", "parameters", 1e9),
)
_FEWEST = 3
"""Under so many authors there is no correlation."""


def beside(arena: Arena, verdicts: VerdictTable, settings: ArenaSettings) -> Analysis:
    """Rank correlation of the ratings with latency and with size, over the authors of whom these are known.

    Replies of people have neither. Missing where fewer than three authors have one of them.
    """
    verdicts, settings = verdicts.with_people_as_one(), with_anchor(verdicts, settings)
    groups, found = rater_groups(verdicts, settings), list[tuple[Property, Cell, Table]]()
    known_of = {one: _known(arena, one.field) for one in _PROPERTIES}
    if groups and max(map(len, known_of.values())) >= _FEWEST:
        rated = rate(groups[0].table, settings)
        cells = dict(zip(rated.authors, rated.cells(drills_of(rated.authors, ("rater", groups[0].key))), strict=True))
        for one, values in known_of.items():
            medians = {
                name: float(np.median(of)) for name, of in sorted(values.items()) if name in (*rated.groups, ())[0]
            }
            if len(medians) >= _FEWEST:
                rows = [(name, len(values[name]), of, cells[name]) for name, of in medians.items()]
                found.append((one, _correlation(rated, medians, one.id), _authors(one, rows)))
    if not found:
        raise Missing(
            "Fewer than three authors whose replies have `seconds_to_first_token` or `parameters` were compared with "
            "each other."
        )
    return Analysis(
        shows=" ".join(
            f"Rating by {groups[0].name} and {one.id}: ρ = {with_interval(rho, 2)} over {rho.n} authors."
            for one, rho, _ in found
            if rho.value is not None
        ),
        cannot="A correlation over few authors is imprecise. Models differ in more than latency and size, so it does "
        "not show the effect of either on replies.",
        tables=(_correlations({one: rho for one, rho, _ in found}), *(of for *_, of in found)),
    )


def _known(arena: Arena, field: str) -> dict[str, list[float]]:
    """Author → what its replies tell; without authors of whom nothing is known."""
    values: dict[str, list[float]] = {}
    for reply in arena.replies.values():
        if reply.kind != "human" and (value := getattr(reply, field)):
            values.setdefault(reply.author, []).append(value)
    return values


def _correlation(rated: Rated, medians: Mapping[str, float], name: str) -> Cell:
    """Spearman's ρ with an interval over conversations and authors; none under four authors."""
    at, values = [rated.authors.index(author) for author in medians], np.array(list(medians.values()))
    rng, ratings = rated.settings.rng(f"beside {name}"), rated.value[at]
    drawn = rng.integers(0, len(at), size=(len(rated.samples), len(at)))
    pairs = np.stack([np.take_along_axis(rated.samples[:, at], drawn, axis=1), values[drawn]], axis=1)
    rho = rank_correlations(np.stack([ratings, values])[None])[0, 0, 1]
    bounds = percentile_interval(rank_correlations(pairs)[:, 0, 1, None], rated.settings.level, keep_constant=True)
    low, high = (bound[0] if len(at) >= FEWEST_MODELS else np.nan for bound in bounds)
    small = bool((rated.units[at] < rated.settings.small).any())
    return cell_of(rho, low, high, n=len(at), p=known(spearman_p(ratings, values, rng=rng)), small=small)


def _correlations(correlated: Mapping[Property, Cell]) -> Table:
    return table(
        "correlations",
        "Do faster or larger models have higher ratings?",
        words("with"),
        counts("authors"),
        column("rho", (), "Spearman's ρ", meaning="Between this and the rating.", digits=2),
        rows=[(one.label, rho.n, rho) for one, rho in correlated.items()],
        caption=f"Intervals resample authors too; fewer than {FEWEST_MODELS} authors have none. p by permuting "
        "authors. On a log scale the ranks are the same.",
    )


def _authors(one: Property, rows: Iterable[tuple[str, int, float, Cell]]) -> Table:
    """The authors of whom it is known: name, number of replies, value, rating. The lowest value comes first."""
    title, log = f"Rating against {one.id}", f"log10 {one.unit}"
    return table(
        one.id,
        title,
        words("author"),
        counts("replies", (), "", "Replies for which it is known."),
        column("value", (), one.label, meaning="The median over the author's replies.", digits=2),
        column("log", (), log, digits=2),
        column("rating", meaning="As in the ratings.", better=True, digits=0),
        rows=[
            (name, n, value, np.log10(value * one.scale), rating)
            for name, n, value, rating in sorted(rows, key=lambda row: row[2])
        ],
        chart=Chart("scatter", "author", ("log", "rating"), title, log, lead=one is _PROPERTIES[0]),
    )


def arena_ratings(path: Path) -> list[tuple[str, Mapping[str, float]]]:
    """The authors' ratings in a file of `arena score`, by the name of who judged: first those that the file begins
    with, then those of the others. DataError for a file without ratings."""
    found = {one.name: {ratings.id: ratings for ratings in one.tables} for one in read_arena_scores(path).analyses}
    tables = found.get("arena-ratings", {})
    if "ratings" not in tables:
        raise DataError(f"{path} contains no ratings of an arena.")
    made = list[tuple[str, Mapping[str, float]]]()
    for ratings in (tables[id] for id in ("ratings", "by-rater") if id in tables):
        for at, each in enumerate(ratings.columns):
            if each.id == "rating" or each.id.startswith("by_"):
                rows = {str(row[0].value): row[at] for row in ratings.rows}
                # Authors of another group were never compared with those of the first.
                values = {name: number_of(cell) for name, cell in rows.items() if not cell.mark.startswith("group")}
                title = ratings.title if each.id == "rating" else f"Ratings by {each.label}"
                made.append((title, {name: value for name, value in values.items() if value is not None}))
    return made
