"""What sways judges besides the replies' quality: the order, length, markdown, their own family, stock warmth; and
whether they repeat their own verdicts (spec 10.3.5).

People stand beside judges wherever they can: what sways people as well may be quality.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    Drill,
    Missing,
    Role,
    Table,
    column,
    counts,
    number_of,
    table,
    words,
)
from attunebench.analyses.verdicts import listed, with_interval
from attunebench.arena.cells import difference_cells, excludes, share_cells, without_empty_columns
from attunebench.arena.folder import Arena
from attunebench.arena.objects import Verdict, family_of
from attunebench.arena.sampling import ArenaSettings, Draws, intervals_text
from attunebench.arena.slopes import Slopes, Traits
from attunebench.arena.table import PEOPLE, VerdictTable
from attunebench.statistics.bootstrap import Floats, Labels

_CANNOT = (
    "Longer replies may also be better, so compare a judge's slopes with those of people. Slopes control for the "
    "authors and average over pairs, so they are smaller than the effect on a single close pair. `arena judge` shows "
    "replies without markup, but lists and line breaks remain. The own-family effect is what the ratings by others do "
    "not explain; a strength of that family that only this judge notices looks the same. Intervals are not corrected "
    "for multiple comparisons: of 20 without an effect, one indicates an effect by chance."
)
_FAMILY = (
    "Log-odds of a reply of the judge's own family, beyond what the ratings by people (else by judges of other "
    "families) explain."
)
_ROLES: Mapping[str, Role] = {PEOPLE: "person"}
_EVEN = 0.5
_TRAITS = (
    (("order", "first"), _EVEN, "replies shown first", "replies shown second",
     "replies shown first or second"),
    (("slopes", "length"), 0.0, "longer replies", "shorter replies", "longer or shorter replies"),
    (("slopes", "markdown"), 0.0, "replies with markdown or lists", "replies without markdown or lists",
     "replies with or without markdown or lists"),
    (("slopes", "family"), 0.0, "replies of their own family", "replies of other families",
     "replies of their own or other families"),
    (("warmth", "ambiguous"), _EVEN, "replies with more generic warmth (ambiguous pairs)",
     "replies with less generic warmth (ambiguous pairs)", "more or less generic warmth on ambiguous pairs"),
)  # fmt: skip
"""Columns that say what sways a judge: where, what no effect is, and what is preferred above it, below it, either."""
Mask = NDArray[np.bool_]


def bias(arena: Arena, table: VerdictTable, settings: ArenaSettings) -> Analysis:
    """Order, repeats, slopes and stock warmth, for people and for each judge. Missing without a verdict."""
    if not len(table.answered()):
        raise Missing("No verdict has been given.")
    one = Swaying(arena, table, settings)
    tables = [
        kept
        for made in (one.order(), one.slopes(), one.warmth(), one.quotes())
        if made.rows and len((kept := without_empty_columns(made)).columns) > 1
    ]
    return Analysis(
        shows=" ".join(_shows(tables)),
        cannot=_CANNOT,
        tables=tuple(tables),
        warnings=tuple(one.warnings()),
        notes=(*one.notes(tables), intervals_text(table, settings)),
    )


def _shows(tables: Sequence[Table]) -> Iterator[str]:
    """Who prefers what, a sentence or two for each trait that was measured on some judge."""
    columns = {(made.id, one.id): (made, at) for made in tables for at, one in enumerate(made.columns)}
    for key, even, more, less, either in _TRAITS:
        if key not in columns:
            continue
        made, at = columns[key]
        cells = {str(row[0].value): row[at] for row in made.rows if row[0].value != PEOPLE}
        usable = {name: cell for name, cell in cells.items() if cell.low is not None and not cell.small}
        swayed = {name: cell for name, cell in usable.items() if excludes(cell, even)}
        if usable and not swayed:
            yield f"{listed(usable, most=3)} {'do' if len(usable) > 1 else 'does'} not significantly prefer {either}."
        for what, sign in ((more, 1), (less, -1)):
            named = [
                f"{name} ({with_interval(cell, 2, sign=not even)}, n = {cell.n})"
                for name, cell in swayed.items()
                if np.sign((number_of(cell) or 0.0) - even) == sign
            ]
            if named:
                yield f"{what.capitalize()} are preferred by {listed(named)}."


class Swaying:
    """The verdicts of people together and of each judge, and what is known of the replies."""

    def __init__(self, arena: Arena, table: VerdictTable, settings: ArenaSettings) -> None:
        self.arena, self.settings = arena, settings
        self.rows = np.flatnonzero(~np.isnan(table.preference))
        self.table = table.answered()
        judged = self.table.judges[self.table.rater]
        raters = [(PEOPLE, ~judged)] if not judged.all() else []
        raters += [(table.raters[at], self.table.rater == at) for at in np.unique(self.table.rater[judged])]
        self.raters: Mapping[str, Mask] = dict(raters)
        self.traits = Traits.of(arena, self.table)
        self.judged = judged

    def shares(self, rows: Labels, above: Floats, below: Floats, where: Sequence[tuple[str, str]]) -> Cell:
        """Σ above / Σ below over these verdicts."""
        part = self.table.where(rows)
        drills = [Drill(where=tuple(where))]
        sums = Draws(part, self.settings).sums
        return share_cells(sums, part.unit, above[:, None], below[:, None], self.settings, drills)[0][0]

    # Order

    def order(self) -> Table:
        """Whether a rater prefers the same reply in both orders, which one flips favour, and what repeats say."""
        return table(
            "order",
            "Does the order of the two replies change verdicts?",
            words("rater"),
            counts("pairs", (), "", "Pairs that the rater saw in both orders."),
            column("consistent", (), "order consistency", "share", "Same winner in both orders.", better=True),
            column("to_first", (), "flips to first", "share", "The reply shown first won in both orders."),
            column("to_second", (), "flips to second", "share", "The reply shown second won in both orders."),
            column("first", (), "first-slot share", "share", "Share of decided verdicts for the reply shown first."),
            column("repeated", (), "repeat stability", "share", "Repeats with the same winner.", better=True),
            counts("swapped", (), "swapped repeats", "Repeats shown in the other order only."),
            rows=[self._order_row(name, np.flatnonzero(rows)) for name, rows in self.raters.items()],
            caption="A tie in one order alone is neither consistent nor a flip. n: pairs, verdicts or repeats.",
            chart=Chart(
                "intervals", "rater", ("consistent", "first", "repeated"), "Order and repeats", "share",
                {"even": {"first": _EVEN}}, roles=_ROLES, lead=True,
            ),
        )  # fmt: skip

    def _order_row(self, name: str, rows: Labels) -> list[Cell | str | int]:
        one, where = self.table, (("rater", name),)
        left, right = self._both_orders(rows)
        first, second = one.winner[left], one.winner[right]
        share = partial(self.shares, left, below=np.ones(len(left)))
        flip = (*where, ("pairs", "flipped"))
        decided = rows[(one.winner[rows] != 0) & (one.slot[rows] != 0)]
        again, same, swapped = self._repeats(rows)
        return [
            name,
            len(left),
            share((first == second).astype(np.float64), where=where),
            share(((first > 0) & (second < 0)).astype(np.float64), where=flip),
            share(((first < 0) & (second > 0)).astype(np.float64), where=flip),
            self.shares(decided, (one.winner * one.slot > 0)[decided].astype(np.float64), np.ones(len(decided)), where),
            self.shares(again, same, np.ones(len(again)), where),
            int(swapped.sum()) if len(again) else Cell(None),
        ]

    def _both_orders(self, rows: Labels) -> tuple[Labels, Labels]:
        """Of each pair that a rater saw in both orders, the verdict with left first and that with right first."""
        one = self.table
        key = one.rater[rows] * len(one.pairs) + one.pair[rows]
        sides = [rows[one.slot[rows] == slot] for slot in (1, -1)]
        keys = [key[one.slot[rows] == slot] for slot in (1, -1)]
        _, left, right = np.intersect1d(keys[0], keys[1], return_indices=True)
        return sides[0][left], sides[1][right]

    @cached_property
    def _checks(self) -> tuple[Labels, Floats, Mask]:
        """For each repeated verdict the row that it repeats, whether the winner is the same, and whether its order is
        the other one: that of a rater who saw the pair in this order is preferred."""
        counting = [one for one in self.arena.verdicts if not one.check]
        place: dict[tuple[str, str, str], int] = {_key(counting[row]): at for at, row in enumerate(self.rows)}
        rows, same, swapped = list[int](), list[float](), list[bool]()
        for one in self.arena.verdicts:
            at = place.get(_key(one)) if _key(one) in place else place.get(_key(one, other=True))
            if one.check and one.preference is not None and at is not None:
                rows.append(at)
                same.append(float(np.sign(one.preference) == self.table.winner[at]))
                swapped.append(_key(one) not in place)
        return np.array(rows, dtype=np.intp), np.array(same, dtype=np.float64), np.array(swapped, dtype=bool)

    def _repeats(self, rows: Labels) -> tuple[Labels, Floats, Mask]:
        again, same, swapped = self._checks
        here = np.isin(again, rows)
        return again[here], same[here], swapped[here]

    # Length, markdown, family

    @cached_property
    def fits(self) -> Mapping[str, Slopes]:
        """The slopes of people and of each judge."""
        return {name: self._fit(rows) for name, rows in self.raters.items()}

    def _fit(self, rows: Mask) -> Slopes:
        return Slopes(self.table.where(rows), self.traits.where(rows), self.settings)

    @cached_property
    def families(self) -> Mapping[str, str | None]:
        """The family of each judge, None where it is unknown or a built-in rule."""
        notes = self.arena.made.get("verdicts")
        families = dict[str, str | None]()
        for name in self.raters:
            note = notes.get(name) if isinstance(notes, Mapping) else None
            provider, family = (note.get(key) if isinstance(note, Mapping) else None for key in ("provider", "family"))
            family = family or family_of(str(provider or ""), name)
            families[name] = None if name == PEOPLE or "baseline" in (provider, family) else str(family or "") or None
        return families

    def reference(self, judge: str) -> Slopes | None:
        """Whose ratings say how good authors are where the family of this judge is concerned: people's, else those of
        judges of other families; None without any."""
        if PEOPLE in self.fits:
            return self.fits[PEOPLE]
        others = [name for name, family in self.families.items() if family != self.families[judge]]
        rows = np.any([self.raters[name] for name in others], axis=0) if others else np.zeros(0, dtype=bool)
        return self._fit(rows) if rows.any() else None

    def slopes(self) -> Table:
        """Log-odds by which the first reply, a longer one, one with markdown and one of the own family win."""
        return table(
            "slopes",
            "Do slot, length, markdown and family sway verdicts?",
            words("rater"),
            column("slot", (), "shown first", meaning="Log-odds of the reply shown first, all else equal.", digits=2),
            column("length", (), "length", meaning="Log-odds per doubling of the number of characters.", digits=2),
            column("markdown", (), "markdown", meaning="Log-odds of a reply with markdown or a list.", digits=2),
            column("family", (), "own family", meaning=_FAMILY, digits=2),
            rows=[self._slopes_row(name) for name in self.raters],
            caption="Logistic regression on authors, slot, length and markdown; ties "
            f"{'count half' if self.settings.ties == 'half' else 'are left out'}. n: verdicts on pairs whose replies "
            "differ in the trait.",
            chart=Chart(
                "intervals", "rater", ("slot", "length", "markdown", "family"), "What sways verdicts", "log-odds",
                {"no effect": 0.0}, roles=_ROLES,
            ),
        )  # fmt: skip

    def _slopes_row(self, name: str) -> list[Cell | str]:
        drill = Drill(where=(("rater", name),))
        cells = self.fits[name].cells(drill)
        family, own = self.families.get(name), Cell(None)
        if family and (reference := self.reference(name)) is not None:
            own = self.fits[name].own_family(family, reference, drill)
        return [name, *cells, own]

    # Evidence

    def quotes(self) -> Table:
        """How often the words that a rater quotes are in the history."""
        counting = [one.evidence_found for one in self.arena.verdicts if not one.check]
        found = np.array([np.nan if one is None else float(one) for one in counting])[self.rows]
        quoting = {name: np.flatnonzero(rows & ~np.isnan(found)) for name, rows in self.raters.items()}
        shares = {
            name: self.shares(rows, found[rows], np.ones(len(rows)), [("rater", name)])
            for name, rows in quoting.items()
            if len(rows)
        }
        return table(
            "quotes",
            "Do raters' quotes occur in the history?",
            words("rater", list(shares)),
            column(
                "found", list(shares.values()), "quotes found", "share", "Quotes that are in the history.", better=True
            ),
            caption="n: verdicts with a quote as evidence.",
        )

    # Stock warmth

    def warmth(self) -> Table:
        """How often the reply with more stock warmth wins where people are undecided, and where they are not."""
        ambiguous = self._ambiguous()
        raters = self.raters.items() if (ambiguous == 1).any() else ()
        return table(
            "warmth",
            "Does generic warmth win where people are undecided?",
            words("rater"),
            column("ambiguous", (), "ambiguous pairs", "share", "Share won by the reply with more generic warmth."),
            column("clear", (), "other pairs", "share", "The same for pairs with a clear majority of people."),
            column("difference", (), "difference", "share", "Ambiguous minus other pairs."),
            rows=[self._warmth_row(name, np.flatnonzero(rows), ambiguous) for name, rows in raters],
            caption="Verdicts on pairs where one reply has more phrases of generic warmth; a tie counts half. "
            f"Ambiguous: under {self.settings.ambiguous:.3g} of two or more people give the same answer. n: verdicts.",
            chart=Chart(
                "intervals", "rater", ("ambiguous", "clear"), "Wins of generic warmth", "share won", {"even": _EVEN},
                roles=_ROLES,
            ),
        )  # fmt: skip

    def _warmth_row(self, name: str, rows: Labels, ambiguous: Floats) -> list[Cell | str]:
        warmer = np.sign(self.traits.warmth[rows])
        rows = rows[(warmer != 0) & ~np.isnan(warmer)]
        part = self.table.where(rows)
        won = (1 + part.winner * np.sign(self.traits.warmth[rows])) / 2
        kind = ambiguous[part.pair]
        below = np.column_stack([kind == 1, kind == 0]).astype(np.float64)
        drills = [Drill(where=(("rater", name), ("pairs", "ambiguous"))), Drill(where=(("rater", name),))]
        sums = Draws(part, self.settings).sums
        cells, drawn = share_cells(sums, part.unit, below * won[:, None], below, self.settings, drills)
        difference = difference_cells(cells[:1], cells[1:], drawn[:, :1] - drawn[:, 1:], self.settings, [None])
        return [name, *cells, *difference]

    def _ambiguous(self) -> Floats:
        """For each pair 1 where people are undecided, 0 where they are not, NaN with fewer than two people."""
        people, size = self.table.of_people().merged(), len(self.table.pairs)
        votes = np.stack([np.bincount(people.pair[people.winner == one], minlength=size) for one in (-1, 0, 1)])
        total = votes.sum(axis=0)
        return np.where(total > 1, votes.max(axis=0) < self.settings.ambiguous * total, np.nan)

    def notes(self, tables: Sequence[Table]) -> Iterator[str]:
        """What was not measured."""
        if self.judged.any() and not any(one.id == "family" for made in tables for one in made.columns):
            yield (
                "Own family was not measured: it requires a judge of a known family that compared its family's "
                "replies with others (`arena judge --own-family`), other raters, and two authors of other families."
            )

    def warnings(self) -> Iterator[str]:
        """What is not known, and what has no finite value."""
        if missing := int(np.isnan(self.traits.length).sum()):
            yield f"{missing:,} verdicts are on replies that are not in the arena; they are left out of slopes."
        for name, rows in self.raters.items():
            if rows.sum() < 2 or len(np.unique(self.table.slot[rows])) > 1:
                continue
            yield (
                f"Every verdict by {name} has the same side shown first. If orders were not recorded, the slot effect "
                "is that of being the left reply in the file."
            )
        separated = [f"{name} ({listed(fit.separated)})" for name, fit in self.fits.items() if fit.separated]
        if separated:
            yield (
                f"No finite estimate of these slopes: {listed(separated)}. The verdicts follow the trait without "
                "exception or carry no information on it; the value shown is bounded by a ridge and has no interval."
            )


def _key(one: Verdict, *, other: bool = False) -> tuple[str, str, str]:
    """What a verdict is on, or the same in the other order."""
    return one.pair, one.rater, {"left": "right", "right": "left"}[one.order] if other else one.order
