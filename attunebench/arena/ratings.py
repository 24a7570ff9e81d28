"""Ratings of authors by people, by each judge and by all judges together (spec 10.3, item 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller
from typing import Any

import numpy as np

from attunebench.analyses.base import value_of
from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    Drill,
    Filled,
    Missing,
    Role,
    Table,
    column,
    counts,
    table,
    words,
)
from attunebench.analyses.verdicts import listed, with_interval
from attunebench.arena.cells import excludes, sampled_cells
from attunebench.arena.contests import Contests, Rated, best_first, rate
from attunebench.arena.folder import Arena
from attunebench.arena.objects import DIMENSIONS
from attunebench.arena.sampling import (
    ArenaSettings,
    RaterGroup,
    intervals_text,
    leading_groups,
    rater_groups,
    size_text,
    slices_of,
)
from attunebench.arena.table import ALL_PEOPLE, PEOPLE, VerdictTable
from attunebench.errors import UsageError
from attunebench.statistics.bootstrap import Floats, ratio

_ELO = "Bradley–Terry, 400/ln 10 · θ: 400 points are odds of 10 to 1."
_TIES = {
    "half": "A tie counts as half a win for each",
    "dropped": "Ties are left out",
    "davidson": "Ties are fitted by Davidson's model",
}
_ONLY_DISTANCES = " Compare differences between authors across slices, not single ratings."
_DIMENSIONS: Mapping[str, methodcaller] = {name: methodcaller("in_dimension", at) for at, name in enumerate(DIMENSIONS)}


def ratings(_arena: Arena, verdicts: VerdictTable, settings: ArenaSettings) -> Analysis:
    """Ratings overall, by rater, by slice and by dimension, who beats whom, and what standing first is worth."""
    settings = with_anchor(verdicts, settings)
    groups = rater_groups(verdicts.with_people_as_one(), settings) or rater_groups(verdicts, settings)
    if not groups:
        raise Missing("No verdict in this arena has an answer.")
    rated, persons = {group.key: rate(group.table, settings) for group in groups}, None
    if groups[0].table.authors != verdicts.authors:
        same = next(group for group in rater_groups(verdicts, settings) if group.key == groups[0].key)
        persons = rate(same.table, settings, level_with=rated[same.key])
    first, leading = Standings(groups[0], rated[groups[0].key], persons), leading_groups(groups)
    slices = {name: methodcaller("of_slice", name) for name in slices_of(groups)}
    tables = (
        first.overall(),
        *first.of_persons(),
        _by_rater(groups, rated),
        *([_by_part("slice", leading, slices, settings, _ONLY_DISTANCES)] if len(slices) > 1 else ()),
        _by_part("dimension", leading, _DIMENSIONS, settings),
        _win_matrix(groups[0], first.rated, settings),
        _raters(groups, rated, settings),
    )
    anchor = first.rated.anchor
    return Analysis(
        shows=first.shows(),
        cannot="A rating reflects how often an author's replies are preferred to those they were compared with. It "
        "assumes one ranking of the authors in all histories and does not show whether a reply helped the seeker.",
        tables=tuple(one for one in tables if one.rows),
        warnings=tuple(text for group in groups for text in rated[group.key].warnings(f"Rated by {group.name}")),
        notes=(
            f"{_TIES[settings.ties]}. {f'The anchor, {anchor},' if anchor else 'The mean of all authors'} is 1000.",
            intervals_text(groups[0].table, settings),
        ),
    )


def with_anchor(verdicts: VerdictTable, settings: ArenaSettings) -> ArenaSettings:
    """The settings with the name that the anchor has where people are one author."""
    human = [name for name, kind in zip(verdicts.authors, verdicts.kinds, strict=True) if kind == "human"]
    if human and settings.anchor in (PEOPLE, ALL_PEOPLE, *human):
        return replace(settings, anchor=human[0] if len(human) == 1 else ALL_PEOPLE)
    if settings.anchor and settings.anchor not in verdicts.authors:
        authors = listed(verdicts.authors, most=8)
        raise UsageError(f"The anchor {settings.anchor!r} is not an author in this arena. Authors: {authors}.")
    return settings


@dataclass(frozen=True, slots=True)
class Standings:
    """The ratings by the first group of raters, and those of single persons where several have written replies."""

    group: RaterGroup
    rated: Rated
    persons: Rated | None

    def _single(self, one: Rated) -> list[int]:
        """The places of single persons, the best first."""
        return [at for at in best_first(one.value) if one.authors[at] not in self.rated.authors]

    def band(self) -> dict[str, Cell]:
        """The rating of all people together, and that of the best person of several."""
        human, one = [at for at, kind in enumerate(self.group.table.kinds) if kind == "human"], self.persons
        if len(human) != 1 or np.isnan(self.rated.value[human[0]]):
            return {}
        band = {"people": self.rated.cells()[human[0]]}
        if one is not None:
            single = self._single(one)
            # A person with too few units only where all have too few.
            best = next((at for at in single if one.units[at] >= one.settings.small), single[0])
            band[f"best person ({one.authors[best]})"] = one.cells()[best]
        return band

    def _forest(
        self, id: str, title: str, rated: Rated, order: list[int], caption: str, *more: Filled, **chart: Any
    ) -> Table:
        return table(
            id,
            title,
            words("author", rated.authors),
            *more,
            counts("n", rated.n, "verdicts", "Verdicts on pairs with this author."),
            counts("histories", rated.units, self.group.table.unit_names[1]),
            _rating_column("rating", rated.cells(drills_of(rated.authors, ("rater", self.group.key)))),
            order=order,
            caption=caption,
            chart=Chart("intervals", "author", ("rating",), title, "Elo points", **chart),
        )

    def overall(self) -> Table:
        """The forest of all authors."""
        kinds = words("kind", self.group.table.kinds, meaning="Who wrote the replies.")
        band = {name: value_of(cell) for name, cell in self.band().items()}
        lines = {
            "lines": band,
            "roles": _roles(self.group),
            "lead": True,
            "shade": tuple(band) if len(band) > 1 else (),
        }
        title, order = f"Ratings by {self.group.name}", best_first(self.rated.value)
        return self._forest("ratings", title, self.rated, order, f"{size_text(self.group.table)}.", kinds, **lines)

    def of_persons(self) -> Iterator[Table]:
        """Every person's rating, on the scale of the others, where replies of people have several authors."""
        if self.persons is not None:
            title = f"Ratings of individual people by {self.group.name}"
            caption = "Same scale as above. The rating of the best person is biased upwards by selection."
            yield self._forest("persons", title, self.persons, self._single(self.persons), caption)

    def shows(self) -> str:
        """The first two authors and whether their difference is significant, and where people stand."""
        rated, cells = self.rated, self.rated.cells()
        order = [at for at in best_first(rated.value) if not np.isnan(rated.value[at])]
        if not order:
            return "No author has a rating."
        first = rated.authors[order[0]]
        best = "the highest rating in its group" if len(rated.groups) > 1 else "the highest rating"
        text = f"Rated by {self.group.name}, {first} has {best}: {with_interval(cells[order[0]], 0)} "
        text += f"(n = {cells[order[0]].n})."
        if len(order) > 1 and len(rated.groups) == 1:
            one, other = order[:2]
            units = rated.units[[one, other]].min(keepdims=True)
            gap, drawn = (of[..., [one]] - of[..., [other]] for of in (rated.value, rated.samples))
            (ahead,) = sampled_cells(gap, drawn, units, units, rated.settings)
            text += f" The difference from {rated.authors[other]} is {with_interval(ahead, 0)} points, "
            few = f"too few {self.group.table.unit_names[1]} for a claim."
            text += few if ahead.small else "significant." if excludes(ahead) else "not significant."
        for name, cell in self.band().items():
            what = "Replies of people" if name == "people" else name.capitalize()
            text += f" {what}: {with_interval(cell, 0)} (n = {cell.n})."
        return text


def drills_of(authors: Sequence[str], *more: tuple[str, str]) -> list[Drill | None]:
    """For each author the verdicts on its replies, of those that `more` names."""
    together = ("kind", "human"), ("without", "human")
    return [Drill(where=(*(together if name == ALL_PEOPLE else [("author", name)]), *more)) for name in authors]


def _roles(group: RaterGroup) -> dict[str, Role]:
    """People are drawn as people in charts."""
    table = group.table
    return {name: "person" for name, kind in zip(table.authors, table.kinds, strict=True) if kind == "human"}


def _rating_column(id: str, cells: Sequence[Cell], label: str = "") -> Filled:
    return column(id, cells, label, "number", _ELO, better=True, digits=0)


def _by_rater(groups: Sequence[RaterGroup], rated: Mapping[str, Rated]) -> Table:
    """The ratings by each group of raters beside each other; no row where there is one group."""
    first = rated[groups[0].key]
    cells = [rated[group.key].cells(drills_of(first.authors, ("rater", group.key))) for group in groups]
    ids = tuple(f"by_{group.key}" for group in groups)
    return table(
        "by-rater",
        "Ratings by rater",
        words("author", first.authors),
        *(_rating_column(id, of, group.name) for id, of, group in zip(ids, cells, groups, strict=True)),
        order=best_first(first.value) if len(groups) > 1 else (),
        caption="Each column is a separate fit; n counts verdicts.",
        chart=Chart("heatmap", "author", ids, "Ratings by rater", "Elo points", {"1000": 1000.0}),
    )


def _by_part(
    what: str,
    groups: Sequence[RaterGroup],
    parts: Mapping[str, Callable[[VerdictTable], VerdictTable]],
    settings: ArenaSettings,
    note: str = "",
) -> Table:
    """The ratings of each author in each part of the verdicts, by people and by all judges."""
    rows: list[list[Cell | str]] = []
    for group in groups:
        tables, authors = [part(group.table) for part in parts.values()], group.table.authors
        if any(map(len, tables)):
            fits = [rate(one, settings) for one in tables]
            drills = [drills_of(authors, ("rater", group.key), (what, name)) for name in parts]
            columns = [one.cells(named) for one, named in zip(fits, drills, strict=True)]
            rows += [[group.name, authors[at], *(of[at] for of in columns)] for at in best_first(fits[0].value)]
    ids, title, roles = tuple(f"{what}_{name}" for name in parts), f"Ratings by {what}", _roles(groups[0])
    chart = Chart("heatmap", "author", ids, title, "Elo points", {"1000": 1000.0}, roles=roles)
    if what == "slice":  # of all raters there would be too many lines
        first = len(groups[0].table.authors)
        chart = replace(chart, kind="lines", title=f"{title}, {groups[0].name}", lines={}, first=first)
    return table(
        f"{what}s",
        title,
        words("rater"),
        words("author"),
        *(_rating_column(id, (), name.replace("_", " ")) for id, name in zip(ids, parts, strict=True)),
        rows=rows,
        caption=f"Each {what} is a separate fit; n counts verdicts.{note}",
        chart=chart,
    )


def _win_matrix(group: RaterGroup, lead: Rated, settings: ArenaSettings) -> Table:
    """How often the author of a row beats that of a column."""
    contests, authors = Contests(group.table, settings), group.table.authors
    size = len(authors)

    def shares(wins: Floats) -> Floats:
        return ratio(wins, wins + wins.swapaxes(1, 2)).reshape(len(wins), -1)

    wins = contests.whole()[0]
    units = contests.units().ravel()
    samples = np.concatenate([shares(drawn) for drawn, *_ in contests.drawn()])
    n = (wins + wins.swapaxes(1, 2))[0].ravel().astype(np.int64)
    # All people together have no name, so that the other author is the one that is named.
    couples = [(other, one) if other == ALL_PEOPLE else (one, other) for one in authors for other in authors]
    drills = [drills_of((one,), ("against", other), ("rater", group.key))[0] for one, other in couples]
    cells = sampled_cells(shares(wins)[0], samples, n, units, settings, drills, share=True)
    cells = [replace(cell, drill=None) if cell.value is None else cell for cell in cells]
    order = best_first(lead.value)
    ids = tuple(f"against_{authors[at]}" for at in order)
    return table(
        "win-matrix",
        f"Win rate of row against column by {group.name}",
        words("author", authors),
        *(
            column(id, cells[at::size], authors[at], "share", "Row's share of wins.", better=True)
            for id, at in zip(ids, order, strict=True)
        ),
        order=order,
        caption=f"{_TIES['half' if settings.ties == 'davidson' else settings.ties]}; n counts verdicts.",
        chart=Chart("matrix", "author", ids, "Win rates", "share won", {"even": 0.5}),
    )


def _raters(groups: Sequence[RaterGroup], rated: Mapping[str, Rated], settings: ArenaSettings) -> Table:
    """What each group of raters has said, and what standing first is worth to a reply."""
    rows = []
    for group in groups:
        read, merged = group.read, group.read.merged()
        answered = read.answered()
        fit = rated[group.key] if group.table.slot.all() else rate(answered, settings)
        both = int((np.unique(answered.pair * len(read.raters) + answered.rater, return_counts=True)[1] > 1).sum())
        drill = Drill(where=(("rater", group.key),))
        rows.append(
            (
                group.name,
                Cell(len(read), drill=drill),
                Cell(len(read) - len(answered), drill=Drill(where=(*drill.where, ("pairs", "unanswered")))),
                len(np.unique(answered.pair)),
                len(np.unique(answered.unit)),
                both,
                Cell(int(merged.flipped.sum()), drill=Drill(where=(*drill.where, ("pairs", "flipped")))),
                fit.slot_cell(*drill.where),
            )
        )
    return table(
        "raters",
        "Raters",
        words("rater"),
        counts("verdicts"),
        counts("unanswered", (), "", "Refused, unreadable or incomplete; left out of all other numbers."),
        counts("pairs"),
        counts("histories", (), groups[0].table.unit_names[1]),
        counts("both_orders", (), "both orders", "Pairs that a rater saw in both orders, summed over raters."),
        counts("flipped", (), "", "Of these, pairs whose winner changes with the order; they count as ties."),
        column("slot", (), "first slot", "number", "Elo points gained by the reply shown first.", digits=0),
        rows=rows,
        caption="The first-slot effect is fitted to single verdicts, before the two orders are merged.",
    )
