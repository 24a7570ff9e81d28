"""Ratings of an arena beside what else is known of the authors: their latency, their size, their benchmark scores
(spec 10.3, item 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from attunebench.statistics.bootstrap import Floats, percentile_interval
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
    known_of = {one: _values(arena, verdicts.authors, one.field) for one in _PROPERTIES}
    groups = rater_groups(verdicts, settings)
    if not groups or all((~np.isnan(values)).sum() < _FEWEST for values, _ in known_of.values()):
        raise Missing("Replies of fewer than three authors have `seconds_to_first_token` or `parameters`.")
    rated = rate(groups[0].table, settings)
    cells = rated.cells(drills_of(rated.authors, ("rater", groups[0].key)))
    linked = np.array([name in rated.groups[0] for name in rated.authors])
    found = {one: (np.where(linked, values, np.nan), n) for one, (values, n) in known_of.items()}
    found = {one: of for one, of in found.items() if (~np.isnan(of[0])).sum() >= _FEWEST}
    if not found:
        raise Missing("Fewer than three authors with a known latency or size were compared with each other.")
    correlated = [(one, _correlation(rated, of[0], one.id)) for one, of in found.items()]
    tables = [_authors(one, rated.authors, cells, *of) for one, of in found.items()]
    return Analysis(
        shows=" ".join(
            f"Rating by {groups[0].name} and {one.id}: ρ = {with_interval(cell, 2)} over {cell.n} authors."
            for one, cell in correlated
        ),
        cannot="A correlation over few authors is imprecise. Models differ in more than latency and size, so it does "
        "not show the effect of either on replies.",
        tables=(_correlations(correlated), *tables),
    )


def _values(arena: Arena, authors: Sequence[str], field: str) -> tuple[Floats, list[int]]:
    """The median over each author's replies, NaN where none has it, and how many have."""
    values: dict[str, list[float]] = {}
    for reply in arena.replies.values():
        if reply.kind != "human" and (value := getattr(reply, field)):
            values.setdefault(reply.author, []).append(value)
    return np.array([np.median(values.get(name, np.nan)) for name in authors]), [
        len(values.get(name, ())) for name in authors
    ]


def _correlation(rated: Rated, values: Floats, name: str) -> Cell:
    """Spearman's ρ with an interval over conversations and authors; none under four authors."""
    there = np.flatnonzero(~np.isnan(values + rated.value))
    ratings, samples, values = rated.value[there], rated.samples[:, there], values[there]
    rng = rated.settings.rng(f"beside {name}")
    drawn = rng.integers(0, len(there), size=samples.shape)
    pairs = np.stack([np.take_along_axis(samples, drawn, axis=1), values[drawn]], axis=1)
    rho = rank_correlations(np.stack([ratings, values])[None])[0, 0, 1]
    bounds = percentile_interval(rank_correlations(pairs)[:, 0, 1, None], rated.settings.level, keep_constant=True)
    low, high = (bound[0] if len(there) >= FEWEST_MODELS else np.nan for bound in bounds)
    small = bool((rated.units[there] < rated.settings.small).any())
    return cell_of(rho, low, high, n=len(there), p=known(spearman_p(ratings, values, rng=rng)), small=small)


def _correlations(correlated: Sequence[tuple[Property, Cell]]) -> Table:
    return table(
        "correlations",
        "Do faster or larger models have higher ratings?",
        words("with", [one.label for one, _ in correlated]),
        counts("authors", [cell.n for _, cell in correlated]),
        column(
            "rho", [cell for _, cell in correlated], "Spearman's ρ", meaning="Between this and the rating.", digits=2
        ),
        caption=f"Intervals resample authors too; fewer than {FEWEST_MODELS} authors have none. p by "
        "permuting authors. On a log scale the ranks are the same.",
    )


def _authors(
    one: Property, authors: Sequence[str], cells: Sequence[Cell], values: Floats, replies: Sequence[int]
) -> Table:
    """The authors of whom it is known, the lowest value first."""
    at = [int(place) for place in np.argsort(values, kind="stable") if values[place] > 0]
    log = f"log10 {one.unit}"
    return table(
        one.id,
        f"Rating against {one.id}",
        words("author", [authors[place] for place in at]),
        counts("replies", [replies[place] for place in at], "", "Replies for which it is known."),
        column("value", values[at], one.label, meaning="The median over the author's replies.", digits=2),
        column("log", np.log10(values[at] * one.scale), log, digits=2),
        column("rating", [cells[place] for place in at], meaning="As in the ratings.", better=True, digits=0),
        chart=Chart(
            "scatter", "author", ("log", "rating"), f"Rating against {one.id}", log, lead=one is _PROPERTIES[0]
        ),
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
