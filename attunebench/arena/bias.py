"""What sways judges besides the replies' quality: the order, length, markdown, their own family, stock warmth; and
whether they repeat their own verdicts (spec 10.3.5).

People stand beside judges wherever they can: what sways people as well may be quality.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property

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
from attunebench.arena.acts import rows_of_raters
from attunebench.arena.cells import difference_cells, excludes, share_cells, without_empty_columns
from attunebench.arena.contests import REGULARISED
from attunebench.arena.folder import Arena
from attunebench.arena.objects import family_of
from attunebench.arena.sampling import ArenaSettings, Draws, intervals_text
from attunebench.arena.slopes import Slopes, Traits
from attunebench.arena.table import PEOPLE, Majority, VerdictTable, answers_of
from attunebench.statistics.bootstrap import Floats, Labels

_CANNOT = (
    "Longer replies may also be better, so compare a judge's slopes with those of people. Slopes control for the "
    "authors and average over pairs, so they are smaller than the effect on a single close pair. `arena judge` shows "
    "replies without markup, but lists and line breaks remain. The own-family effect is what the ratings by others do "
    "not explain; a strength of that family that only this judge notices looks the same. Intervals are not corrected "
    "for multiple comparisons: of 20 without an effect, one indicates an effect by chance."
)
_FAMILY = "Log-odds of its family beyond ratings by people, or else by judges known to be of other families."
_NO_FAMILY = (
    "Own family was not measured: it requires a judge of a known family that compared its family's replies with others "
    "(`arena judge --own-family`), people or judges of other known families, and two authors of other families."
)
_ROLES: Mapping[str, Role] = {PEOPLE: "person"}
_EVEN = 0.5
Mask = NDArray[np.bool_]
_OTHER: Mapping[str, str] = {"left": "right", "right": "left"}
_TRAITS = (
    ("order", "first", _EVEN, "replies shown first", "replies shown second", ""),
    ("slopes", "length", 0.0, "longer replies", "shorter replies", ""),
    ("slopes", "markdown", 0.0, "replies with markdown or lists", "replies without markdown or lists", ""),
    ("slopes", "family", 0.0, "replies of their own family", "replies of other families", ""),
    (
        "warmth",
        "ambiguous",
        _EVEN,
        "replies with more generic warmth",
        "replies with less generic warmth",
        " on ambiguous pairs",
    ),
)
"""What sways a judge: table, column, its value without an effect, what is preferred above it and below it, where."""


def bias(arena: Arena, table: VerdictTable, settings: ArenaSettings) -> Analysis:
    """Order, repeats, slopes and stock warmth, for people and for each judge. Missing without a verdict."""
    if not len(table.answered()):
        raise Missing("No verdict has been given.")
    one = Swaying(arena, table, settings)
    made = [without_empty_columns(each) for each in (one.order(), one.slopes(), one.warmth()) if each.rows]
    tables = [each for each in made if len(each.columns) > 1]
    measured = any(column.id == "family" for made in tables for column in made.columns)
    few = "There are too few histories or conversations to say what sways judges."
    nothing = few if one.judges else "No judge has given a verdict."
    return Analysis(
        shows=" ".join(_shows(tables)) or nothing,
        cannot=_CANNOT,
        tables=tuple(tables),
        warnings=tuple(one.warnings(tables)),
        notes=(*([_NO_FAMILY] if one.judges and not measured else []), intervals_text(table, settings)),
    )


def _shows(tables: Sequence[Table]) -> Iterator[str]:
    """Who prefers what, a sentence or two for each trait that was measured on some judge."""
    cells = {
        (made.id, one.id): {str(row[0].value): row[at] for row in made.rows if row[0].value != PEOPLE}
        for made in tables
        for at, one in enumerate(made.columns)
    }
    for name, trait, even, more, less, where in _TRAITS:
        usable = {
            of: cell for of, cell in cells.get((name, trait), {}).items() if cell.low is not None and not cell.small
        }
        swayed = {of: cell for of, cell in usable.items() if excludes(cell, even)}
        if usable and not swayed:
            yield f"No significant preference{where} between {more} and {less}: {listed(usable, most=3)}."
        unit = "" if even else "log-odds "
        for what, sign in ((more, 1), (less, -1)):
            named = [
                f"{of} ({unit}{with_interval(cell, 2, sign=not even)}, n = {cell.n})"
                for of, cell in swayed.items()
                if np.sign((number_of(cell) or 0.0) - even) == sign
            ]
            if named:
                yield f"{what.capitalize()} are preferred{where} by {listed(named)}."


class Swaying:
    """The verdicts of people together and of each judge, and what is known of the replies."""

    def __init__(self, arena: Arena, table: VerdictTable, settings: ArenaSettings) -> None:
        self.arena, self.settings, self.table = arena, settings, table.answered()
        self.verdicts = [one for one in arena.verdicts if not one.check and one.preference is not None]
        self.found = np.array([np.nan if one.evidence_found is None else one.evidence_found for one in self.verdicts])
        self.raters = rows_of_raters(self.table)
        self.judges = [name for name in self.raters if name != PEOPLE]
        self.traits = Traits.of(arena, self.table)
        self.fits = {name: self._fit(name, rows) for name, rows in self.raters.items()}

    def shares(self, rows: Labels, above: Floats | Mask, *where: tuple[str, str]) -> Cell:
        """The mean over these verdicts."""
        part, values = self.table.where(rows), above.astype(np.float64)[:, None]
        sums, drills = Draws(part, self.settings).sums, [Drill(where=where)]
        return share_cells(sums, part.unit, values, np.ones_like(values), self.settings, drills)[0][0]

    # Order

    def order(self) -> Table:
        """Whether a rater prefers the same reply in both orders, which one flips favour, and what repeats say."""
        return table(
            "order",
            "Are verdicts consistent, and do they quote the history?",
            words("rater"),
            counts("pairs", (), "", "Pairs that the rater saw in both orders."),
            column("consistent", (), "order consistency", "share", "Same winner in both orders.", better=True),
            column("to_first", (), "flips to first", "share", "The reply shown first won in both orders."),
            column("to_second", (), "flips to second", "share", "The reply shown second won in both orders."),
            column("first", (), "first-slot share", "share", "Share of decided verdicts for the reply shown first."),
            column("repeated", (), "repeat stability", "share", "Repeats with the same winner.", better=True),
            counts("swapped", (), "swapped repeats", "Repeats shown in the other order only."),
            column("quotes", (), "quotes found", "share", "Quotes that are in the history; n: quotes.", better=True),
            rows=[self._order_row(name, rows) for name, rows in self.raters.items()],
            caption="A tie in one order alone is neither consistent nor a flip. n: pairs, verdicts or repeats.",
            chart=Chart(
                "intervals", "rater", ("consistent", "first", "repeated"), "Order and repeats", "share",
                {"even": {"first": _EVEN}}, roles=_ROLES, lead=True,
            ),
        )  # fmt: skip

    def _order_row(self, name: str, rows: Labels) -> list[Cell | str | int]:
        one, rater, flip = self.table, ("rater", name), ("pairs", "flipped")
        left, right = self._both_orders(rows)
        first, second = one.winner[left], one.winner[right]
        decided = rows[one.winner[rows] != 0]
        quoting = rows[~np.isnan(self.found[rows])]
        again, same, swapped = self._repeats[np.isin(self._repeats[:, 0], rows)].T
        return [
            name,
            len(left),
            self.shares(left, first == second, rater),
            self.shares(left, (first > 0) & (second < 0), rater, flip),
            self.shares(left, (first < 0) & (second > 0), rater, flip),
            self.shares(decided, one.winner[decided] == one.slot[decided], rater),
            self.shares(again, same, rater),
            int(swapped.sum()) if len(again) else Cell(None),
            self.shares(quoting, self.found[quoting], rater),
        ]

    def _both_orders(self, rows: Labels) -> tuple[Labels, Labels]:
        """Of each pair that a rater saw in both orders, the verdict with left first and that with right first."""
        one = self.table
        left, right = (rows[one.slot[rows] == slot] for slot in (1, -1))
        keys = (one.rater[side] * len(one.pairs) + one.pair[side] for side in (left, right))
        _, first, second = np.intersect1d(*keys, return_indices=True)
        return left[first], right[second]

    @cached_property
    def _repeats(self) -> Labels:
        """For each repeated verdict the row that it repeats, whether the winner is the same, and whether its order is
        the other one: that of a rater who saw the pair in this order is preferred."""
        rows = {(one.pair, one.rater, str(one.order)): at for at, one in enumerate(self.verdicts)}
        repeats = list[object]()
        for one in self.arena.verdicts:
            at = rows.get((one.pair, one.rater, one.order), rows.get((one.pair, one.rater, _OTHER[one.order])))
            if one.check and one.preference is not None and at is not None:
                same = np.sign(one.preference) == self.table.winner[at]
                repeats.append((at, same, self.verdicts[at].order != one.order))
        return np.array(repeats, dtype=np.intp).reshape(-1, 3)

    # Length, markdown, family

    def _fit(self, name: str, rows: Labels) -> Slopes:
        return Slopes(self.table.where(rows), self.traits.where(rows), self.settings, Drill(where=(("rater", name),)))

    @cached_property
    def families(self) -> Mapping[str, str]:
        """The family of each judge where it is known; built-in rules have none."""
        notes, families = self.arena.made.get("verdicts"), dict[str, str]()
        for name in self.judges:
            note = notes.get(name) if isinstance(notes, Mapping) else None
            provider, family = (note.get(key) if isinstance(note, Mapping) else None for key in ("provider", "family"))
            family = family or family_of(str(provider or ""), name)
            if family and "baseline" not in (provider, family):
                families[name] = str(family)
        return families

    def _own_family(self, judge: str) -> Cell:
        """Against the ratings by people, or else by judges who are known to be of other families."""
        own = self.families.get(judge)
        others = [self.raters[name] for name, family in self.families.items() if family != own]
        if own is None or not (PEOPLE in self.fits or others):
            return Cell(None)
        reference = self.fits.get(PEOPLE) or self._fit("", np.sort(np.concatenate(others)))
        return self.fits[judge].own_family(own, reference)

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
            rows=[[name, *fit.cells, self._own_family(name)] for name, fit in self.fits.items()],
            caption="Logistic regression on authors, slot, length and markdown; ties "
            f"{'count half' if self.settings.ties == 'half' else 'are left out'}. n: verdicts on pairs whose replies "
            "differ in the trait.",
            chart=Chart(
                "intervals", "rater", ("slot", "length", "markdown", "family"), "What sways verdicts", "log-odds",
                {"no effect": 0.0}, roles=_ROLES,
            ),
        )  # fmt: skip

    # Stock warmth

    def warmth(self) -> Table:
        """How often the reply with more stock warmth wins where people are undecided, and where they are not."""
        people, size = self.table.of_people().merged(), len(self.table.pairs)
        most = Majority.of(answers_of(people.pair, people.winner, size))
        several, ambiguous = most.raters > 1, most.share < self.settings.ambiguous
        kinds = np.column_stack([several & ambiguous, several & ~ambiguous])
        return table(
            "warmth",
            "Does generic warmth win where people are undecided?",
            words("rater"),
            column("ambiguous", (), "ambiguous pairs", "share", "Share won by the reply with more generic warmth."),
            column("clear", (), "other pairs", "share", "The same for pairs with a clear majority of people."),
            column("difference", (), "difference", "share", "Ambiguous minus other pairs."),
            rows=[self._warmth_row(name, rows, kinds) for name, rows in self.raters.items() if kinds[:, 0].any()],
            caption="Verdicts on pairs where one reply has more phrases of generic warmth; a tie counts half. "
            f"Ambiguous: under {self.settings.ambiguous:.3g} of two or more people give the same answer. n: verdicts.",
            chart=Chart(
                "intervals", "rater", ("ambiguous", "clear"), "Wins of generic warmth", "share won", {"even": _EVEN},
                roles=_ROLES,
            ),
        )  # fmt: skip

    def _warmth_row(self, name: str, rows: Labels, kinds: Mask) -> list[Cell | str]:
        warmer = np.sign(np.nan_to_num(self.traits.warmth[rows]))
        part, warmer = self.table.where(rows[warmer != 0]), warmer[warmer != 0]
        below = kinds[part.pair].astype(np.float64)
        above = below * (1 + part.winner * warmer)[:, None] / 2
        drills = [Drill(where=(("rater", name), ("pairs", "ambiguous"))), Drill(where=(("rater", name),))]
        cells, drawn = share_cells(Draws(part, self.settings).sums, part.unit, above, below, self.settings, drills)
        difference = difference_cells(cells[:1], cells[1:], drawn[:, :1] - drawn[:, 1:], self.settings, [None])
        return [name, *cells, *difference]

    def warnings(self, tables: Sequence[Table]) -> Iterator[str]:
        """What is not known, and what has no finite value."""
        if missing := int(np.isnan(self.traits.length).sum()):
            yield f"{missing:,} verdicts are on replies that are not in the arena; they are left out of slopes."
        for name, rows in self.raters.items():
            if len(rows) > 1 and len(np.unique(self.table.slot[rows])) == 1:
                yield (
                    f"Every verdict by {name} has the same side shown first. If orders were not recorded, the slot "
                    "effect is that of being the left reply in the file."
                )
        regularised = (row for made in tables for row in made.rows if any(one.mark == REGULARISED for one in row))
        if marked := [str(row[0].value) for row in regularised]:
            yield (
                f"No finite estimate of slopes marked “{REGULARISED}” ({listed(marked)}): verdicts follow the trait "
                "without exception or carry no information on it. A ridge bounds the value, which has no interval."
            )
