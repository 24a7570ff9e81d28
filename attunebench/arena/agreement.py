"""How far people and judges agree about which reply is better, and how far a judge could agree (spec 10.3, item 3).

Ties of a majority are left out and counted. A rater's own tie counts half, so that chance is .5 whoever is compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses.table import (
    NOT_ESTIMABLE,
    Analysis,
    Cell,
    Chart,
    Drill,
    Filled,
    Missing,
    Role,
    Table,
    cell_of,
    column,
    counts,
    number_of,
    table,
    words,
)
from attunebench.analyses.verdicts import counted, listed, sentences, with_interval
from attunebench.arena.ceiling import ceiling, spread_of
from attunebench.arena.folder import Arena
from attunebench.arena.objects import DIMENSIONS
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import VerdictTable
from attunebench.arena.voices import JUDGES, PEOPLE, Mask, Voices, credit, decided
from attunebench.statistics.agreement import (
    Agreement,
    Scale,
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    mean_difference,
    percent_agreement,
)
from attunebench.statistics.bootstrap import Floats, Labels

CHANCE = 0.5
_MARGINS = ("ambiguous", "clear", "unanimous")

Where = tuple[tuple[str, str], ...]


class Part(NamedTuple):
    """Some of the verdicts under a name: `rows` says which of people's count; `where` leads to them."""

    name: str
    voices: Voices
    rows: Mask
    where: Where = ()


class Agreeing:
    """Verdicts of an arena, and how coefficients over them become cells of tables."""

    def __init__(self, merged: VerdictTable, settings: ArenaSettings) -> None:
        self.merged, self.settings = merged, settings
        self.history = np.zeros(len(merged.pairs), dtype=np.intp)
        self.history[merged.pair] = merged.history
        self.sampling = settings.resampling(merged)
        self.whole = self.part("all", merged)
        self.how = f"{100 * settings.level:g} % percentile intervals, {settings.resamples:,} resamples of histories."

    def part(self, name: str, merged: VerdictTable, where: Where = ()) -> Part:
        voices = Voices.of(merged, self.settings)
        return Part(name, voices, np.ones(len(voices.pair), dtype=bool), where)

    def slices(self) -> list[Part]:
        """A part for each slice that has verdicts of people, where these are of several."""
        voices, slices = self.whole.voices, np.array(self.merged.slices)[self.history]
        found = list(dict.fromkeys(slices[voices.pair].tolist()))
        parts = [Part(name, voices, slices[voices.pair] == name, (("slice", name),)) for name in found]
        return parts if len(parts) > 1 else []

    def dimensions(self) -> list[Part]:
        """A part for each dimension in which people gave verdicts."""
        tables = [(name, self.merged.in_dimension(place)) for place, name in enumerate(DIMENSIONS)]
        parts = [self.part(name.replace("_", " "), of, (("dimension", name),)) for name, of in tables]
        return [part for part in parts if part.rows.any()]

    def persons(self) -> list[Part]:
        """A part for each person who can be compared with others."""
        voices, names = self.whole.voices, self.merged.raters
        people = np.unique(voices.rater) if PEOPLE in voices.names else ()
        return [Part(names[at], voices, voices.rater == at, (("rater", names[at]),)) for at in people]

    def margins(self) -> list[Part]:
        """Pairs by how clear the majority of the others is: a person's own verdict must not decide where it counts."""
        voices, share = self.whole.voices, self.whole.voices.others.share
        place = np.where(share >= 1, 2, np.where(share < self.settings.ambiguous, 0, 1))
        parts = [Part(name, voices, place == at) for at, name in enumerate(_MARGINS)]
        return [part for part in parts if part.rows.any()]

    def found(self, coefficient: Callable[..., Agreement], pairs: Labels, *values: Floats) -> Agreement:
        return coefficient(*values, resampling=replace(self.sampling, clusters=self.history[pairs]))

    def cell(self, coefficient: Callable[..., Agreement], pairs: Labels, *values: Floats, where: Where = ()) -> Cell:
        """A coefficient of values of these pairs, with its interval; n counts the pairs behind it."""
        found = self.found(coefficient, pairs, *values)
        given = ~np.isnan(values[0] + values[-1]).reshape(len(pairs), -1)
        there = np.unique(pairs[given.any(axis=1)])
        few = len(np.unique(self.history[there])) < self.settings.small
        alike = found.clusters > 1 and np.isnan(found.low) and not np.isnan(found.value)
        return cell_of(
            *(found.value, found.low, found.high),
            n=len(there),
            small=bool(few) and len(there) > 0,
            mark=NOT_ESTIMABLE if alike else "",
            drill=_behind(where) if where else None,
        )

    def share(self, pairs: Labels, values: Floats, where: Where = ()) -> Cell:
        return self.cell(mean_difference, pairs, values, np.zeros_like(values), where=where)

    def agreed(self, pairs: Labels, one: Floats, other: Floats, where: Where = ()) -> dict[str, Cell]:
        """Every coefficient of two raters' choices, by the id of its column."""
        kappa, ac1 = (partial(coefficient, labels=3) for coefficient in (cohen_kappa, gwet_ac1))
        return {
            "agree": self.share(pairs, credit(one, other), where),
            "decided": self.cell(percent_agreement, pairs, decided(one), decided(other), where=where),
            "kappa": self.cell(kappa, pairs, one + 1, other + 1, where=where),
            "ac1": self.cell(ac1, pairs, one + 1, other + 1, where=where),
        }

    def two_people(self, part: Part) -> Agreement:
        """How often two people who both name a better reply name the same one."""
        voices = part.voices
        one, other = voices.couples(part.rows)
        sides = (decided(voices.chosen[places]) for places in (one, other))
        return self.found(percent_agreement, voices.pair[one], *sides)

    def compared(self, part: Part, name: str, two: Agreement | None = None) -> dict[str, Cell]:
        """People or a judge against the majorities of this part: cells by the id of their column."""
        voices, choices = part.voices, part.voices.choices(name)
        rows = part.rows & ~np.isnan(choices + voices.others.winner)
        pairs, chosen, people = voices.pair[rows], choices[rows], voices.chosen[rows]
        others = decided(voices.others.winner[rows])
        counted, where = ~np.isnan(others), (("rater", name), *part.where)
        cells = {
            "rater": Cell(dict(where)["rater"]),
            "pairs": Cell(len(np.unique(pairs[counted])), drill=_behind(where)),
            "comparisons": Cell(int(counted.sum()), drill=_behind(where)),
            "tied": Cell(int((~counted).sum()), drill=_behind((*where, ("pairs", "tied")))),
            **self.agreed(pairs, chosen, others, where),
            **dict.fromkeys(("same", "difference"), Cell(None)),
            "ties": Cell((chosen[counted] == 0).mean().item() if counted.any() else None, drill=_behind(where)),
            "ceiling": Cell(None) if two is None else bounds(two, partial(ceiling, votes=voices.votes(rows))),
        }
        if name != PEOPLE and PEOPLE in voices.names:
            own, of_people = credit(chosen, others), credit(people, others)
            cells["same"] = self.share(pairs, of_people, (("rater", PEOPLE), *part.where))
            cells["difference"] = self.cell(mean_difference, pairs, own, of_people, where=where)
        return cells

    def against_people(self, part: Part) -> list[dict[str, Cell]]:
        """`compared` of people and of each judge; of people alone where the part is a person's verdicts."""
        two, one_person = self.two_people(part), "rater" in dict(part.where)
        return [self.compared(part, name, two) for name in ([PEOPLE] if one_person else part.voices.names)]


def _behind(where: Where) -> Drill:
    return Drill(where=tuple(dict(where).items()))


def bounds(found: Agreement, of: Callable[[float], float]) -> Cell:
    """What rises with an agreement, at its value and at the ends of its interval."""
    return cell_of(of(found.value), of(found.low), of(found.high))


_COLUMNS: Mapping[str, Filled] = {
    one.column.id: one
    for one in (
        counts("pairs", (), "", "Pairs that were compared."),
        counts("comparisons", (), "", "Comparisons: one for each person whose fellow raters have a majority."),
        counts("tied", (), "left out", "Comparisons left out because the majority of the others is a tie."),
        column("agree", (), "", "share", "Share that agrees; a tie counts half, so chance is 0.5.", better=True),
        column("same", (), "people, same pairs", "share", "The same for people, where this rater gave a verdict."),
        column("difference", (), "minus people", meaning="Agreement minus that of people on the same comparisons."),
        column("decided", (), "agree without ties", "share", "Of verdicts that name a better reply.", better=True),
        column("kappa", (), "Cohen κ", meaning="Over left, right and same.", better=True, digits=2),
        column("ac1", (), "Gwet AC1", meaning="Over left, right and same; stable if one dominates.", digits=2),
        column("ties", (), "own ties", "share", "Share of verdicts without a winner; for judges also flips by order."),
        column("ceiling", (), "", "share", "What a judge without noise would reach against the same majorities."),
    )
}
_ROLES: Mapping[str, Role] = {PEOPLE: "person", JUDGES: "all models"}


def agreement(arena: Arena, table: VerdictTable, settings: ArenaSettings) -> Analysis:
    """Agreement among people, between people and judges, and among judges, with the most that a judge could reach.

    Missing where no pair has two raters.
    """
    merged = table.merged()
    answered = merged.answered()
    if not len(answered) or np.bincount(answered.pair).max() < 2:
        raise Missing("Agreement requires two raters who gave verdicts on the same pair.")
    one = Agreeing(merged, settings)
    narrow = ("pairs", "tied", "agree", "same", "difference", "kappa", "ac1")
    tables = (
        _against(one, "majority", "Agreement with the majority of the other people", [one.whole], tuple(_COLUMNS)),
        _against(one, "slices", "Agreement by slice", one.slices(), (*narrow, "ceiling"), "slice"),
        _against(one, "dimensions", "Agreement by dimension", one.dimensions(), (*narrow, "ceiling"), "dimension"),
        _against(one, "margins", "Agreement by how clear the majority is", one.margins(), narrow, "majority"),
        _against(
            one,
            "people",
            "Each person against the majority of the others",
            one.persons(),
            ("pairs", "tied", "agree", "kappa", "ac1", "ties"),
        ),
        _two_raters(one),
        _alpha(one),
        _people(one),
    )
    return Analysis(
        shows=_shows(tables[0], tables[-1]),
        cannot="Agreement with these raters does not show whether a judge prefers what the person in the conversation "
        "preferred; `judge-audit` does. The ceiling assumes that people judge independently of each other: a bias that "
        "they share raises their agreement and with it the ceiling.",
        tables=tuple(made for made in tables if made.rows),
        warnings=tuple(_warnings(one, len(arena.pairs))),
    )


def _against(one: Agreeing, id: str, title: str, parts: Sequence[Part], ids: tuple[str, ...], noun: str = "") -> Table:
    """People and judges against the majorities of the other people, in each part of the verdicts."""
    rows, most = list[list[Cell]](), dict[str, float]()
    for part in parts:
        for cells in one.against_people(part):
            rows.append([*([Cell(part.name)] if noun else []), cells["rater"], *(cells[id] for id in ids)])
            if (value := number_of(cells["ceiling"])) is not None:
                most.setdefault(part.name, value)
    lines: dict[str, float | Mapping[str, float]] = {"chance": CHANCE}
    if most and "ceiling" in ids:
        lines["judge without noise"] = most if noun else next(iter(most.values()))
    return table(
        *(id, title, *([words(noun)] if noun else []), words("rater"), *(_COLUMNS[id] for id in ids)),
        rows=rows,
        caption="Reference: the majority of the other people who saw the pair, for each of them; the same for people "
        f"and judges. {one.how}",
        chart=Chart(
            *("bars" if noun else "intervals", "rater", ("agree",), title, "share that agrees", lines),
            roles=_ROLES,
            across=noun,
            sort="agree" if id == "people" else "",
            lead=id == "majority",
        ),
    )


def _two_raters(one: Agreeing) -> Table:
    """Two at a time: people, a person and a judge, two judges."""
    voices, rows = one.whole.voices, list[list[Any]]()

    def compare(first: str, second: str, pairs: Labels, a: Floats, b: Floats) -> None:
        cells = one.agreed(pairs, a, b, (("rater", second),))
        rows.append([first, second, cells["agree"].n, *cells.values()])

    persons, of = voices.others.winner, voices.others.raters > 0
    if PEOPLE in voices.names:
        left, right = voices.couples(one.whole.rows)
        compare(PEOPLE, PEOPLE, voices.pair[left], voices.chosen[left], voices.chosen[right])
        persons = voices.chosen
    for name in [name for name in voices.names if name != PEOPLE]:
        compare(PEOPLE, name, voices.pair[of], persons[of], voices.choices(name)[of])
    for name, other in combinations([name for name in voices.judges if name != JUDGES], 2):
        compare(name, other, np.arange(len(one.history)), voices.judges[name], voices.judges[other])
    return table(
        "two",
        "Agreement of two raters",
        words("rater"),
        words("other", label="with"),
        *(_COLUMNS[id] for id in ("pairs", "agree", "decided", "kappa", "ac1")),
        rows=rows,
        caption="Every two people who saw the same pair, each of them with a judge, every two judges. Pairs that both call "
        f"the same count in κ and AC1 alone. {one.how}",
    )


def _alpha(one: Agreeing) -> Table:
    """Krippendorff's α of everybody together: of winners, and of graded preferences."""
    answered, rows = one.merged.answered(), list[list[Any]]()
    preferences = np.full((len(one.history), len(answered.raters)), np.nan)
    preferences[answered.pair, answered.rater] = answered.preference
    scales: list[tuple[str, Scale, Floats]] = [
        ("better reply", "nominal", np.sign(preferences)),
        ("preference, −2 to 2", "interval", preferences),
    ]
    there, judges = ~np.isnan(preferences).all(axis=0), answered.judges
    groups = {PEOPLE: there & ~judges, JUDGES: there & judges, "people and judges": there}
    for who, members in groups.items():
        of = np.flatnonzero((~np.isnan(preferences[:, members])).sum(axis=1) > 1)
        if len(of) and (who in (PEOPLE, JUDGES) or 0 < judges[members].mean() < 1):
            for name, scale, values in scales:
                alpha = one.cell(partial(krippendorff_alpha, level=scale), of, values[np.ix_(of, members)])
                rows.append([who, name, members.sum(), alpha.n, alpha])
    return table(
        "alpha",
        "Agreement of all raters together",
        words("raters"),
        words("of"),
        counts("number", (), "number of raters"),
        counts("pairs", (), "", "Pairs with verdicts of two or more of these raters."),
        column("alpha", (), "Krippendorff α", meaning="1 is full agreement, 0 chance.", better=True, digits=2),
        rows=rows,
        caption=f"Nominal α of left, right and same; interval α of preferences. {one.how}",
    )


def _people(one: Agreeing) -> Table:
    """How clear the majorities of people are, and what follows for the best that a judge can do."""
    rows, ambiguous = list[list[Any]](), one.settings.ambiguous
    for part in (one.whole, *one.slices(), *one.dimensions()):
        if PEOPLE not in part.voices.names:
            continue
        pairs, most = part.voices.majority(part.rows)
        flags = {"tied": most.winner == 0, "ambiguous": most.share < ambiguous, "unanimous": most.share >= 1}
        where = (("rater", PEOPLE), *part.where)
        two, votes = one.two_people(part), part.voices.votes(part.rows)
        spread = spread_of(two.value)
        sides: list[dict[str, Any]] = [{"votes": {1: 1}}, {"votes": votes}, {"votes": votes, "person": True}]
        rows.append(
            [
                *(part.name, len(pairs), np.median(most.raters) if len(pairs) else None, flags["ambiguous"].sum()),
                *(one.share(pairs, of.astype(np.float64), (*where, ("pairs", id))) for id, of in flags.items()),
                *(bounds(two, float), spread if np.isfinite(spread) else None),
                *(bounds(two, partial(ceiling, **side)) for side in sides),
                one.compared(part, PEOPLE)["decided"],
            ]
        )
    return table(
        "clear",
        "How much do people agree, and what can a judge reach?",
        words("part"),
        counts("pairs", (), "", "Pairs with verdicts of two people or more."),
        column("raters", (), "people per pair", meaning="The median.", digits=0),
        counts("number", (), "ambiguous pairs"),
        column("tied", (), "", "share", "“The same” is the most frequent answer, or no answer is."),
        column("ambiguous", (), "", "share", f"The most frequent answer has a share under {ambiguous:.3g}."),
        column("unanimous", (), "", "share", "All give the same answer."),
        column("two", (), "two people", "share", "Agreement of two people who both name a better reply."),
        column("spread", meaning="Standard deviation of log-odds that gives this agreement.", digits=2),
        column("one", (), "noiseless, one person", "share", "A judge without noise against one person."),
        column("ceiling", (), "noiseless, majority", "share", "A judge without noise against the others' majority."),
        column("expected", (), "person, expected", "share", "A person against that majority, by the same model."),
        column("observed", (), "person, observed", "share", "What people reach, own ties left out."),
        rows=rows,
        caption="A judge without noise always prefers the reply that most people would prefer. Assumes normal log-odds "
        "of pairs and people who judge independently; where the last two columns differ, this does not hold, and the "
        f"ceiling is unreliable. {one.how}",
    )


def _shows(against: Table, clear: Table) -> str:
    """What people reach, what judges reach of it, and how many pairs are ambiguous."""
    ids = [column.id for column in against.columns]
    rows = [dict(zip(ids, row, strict=True)) for row in against.rows]
    judges = [row for row in rows if row["rater"].value != PEOPLE]
    told = [
        f"A person agrees with the majority of the others on {with_interval(row['agree'])} of the pairs; a judge "
        f"without noise would on {with_interval(row['ceiling'])} (n = {row['pairs'].value})."
        for row in rows
        if row["rater"].value == PEOPLE
    ]
    named = [f"{row['rater'].value} on {with_interval(row['agree'])}" for row in judges]
    told += [f"Judges agree with the same majorities: {listed(named, most=4)}."] * bool(named)
    single = [row["difference"].high for row in judges if row["rater"].value != JUDGES]
    if any(high is not None for high in single):
        less = sum(high is not None and high < 0 for high in single)
        told.append(f"{less} of {counted(len(single), 'judge')} agree significantly less often than people.")
    told += [f"{row[3].value} of {row[1].value} pairs are ambiguous." for row in clear.rows[:1]]
    return sentences(*told)


def _warnings(one: Agreeing, pairs: int) -> Iterator[str]:
    voices = one.whole.voices
    if not len(voices.pair):
        yield "There are no verdicts of people, so judges are only compared with each other."
    elif PEOPLE not in voices.names:
        yield (
            "No pair was rated by two people: judges are compared with the one person who rated it, and neither the "
            "agreement of people nor the ceiling can be computed."
        )
    if unanswered := int(np.isnan(one.merged.preference).sum()):
        yield f"{unanswered} of {counted(len(one.merged), 'verdict')} have no answer and are left out."
    if rated := pairs - len(np.unique(one.merged.answered().pair)):
        yield f"{rated} of {counted(pairs, 'pair')} have no verdict."
