"""How far people and judges agree about which reply is better, and how far a judge could agree (spec 10.3, item 3).

People and judges stand in the same tables, against the same majorities of people (see `voices`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np

from attunebench.analyses.table import Analysis, Chart, Missing, Table, column, counts, number_of, table, words
from attunebench.analyses.verdicts import listed, sentences, with_interval
from attunebench.arena.ceiling import ceiling, spread_of
from attunebench.arena.coefficients import Agreeing, Part, bounds
from attunebench.arena.folder import Arena
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import JUDGES, PEOPLE, VerdictTable
from attunebench.statistics.agreement import Scale, krippendorff_alpha
from attunebench.statistics.bootstrap import Floats, Labels

CHANCE = 0.5
_COLUMNS = {
    one.column.id: one
    for one in (
        counts("n", (), "pairs", "Pairs that were compared."),
        counts("comparisons", (), "", "Verdicts by people on pairs where the others have a majority."),
        counts("tied", (), "left out", "Comparisons left out because the majority of the others is a tie."),
        column("agree", (), "", "share", "Share in agreement; a tie counts half, so chance is 0.5.", better=True),
        column("ceiling", (), "", "share", "What a judge without noise would reach against the same majorities."),
        column("same", (), "people, same pairs", "share", "Agreement of people on the pairs that this rater judged."),
        column("difference", (), "minus people", meaning="Agreement minus that of people on the same comparisons."),
        column("decided", (), "agree without ties", "share", "Of verdicts that name a better reply.", better=True),
        column("kappa", (), "Cohen κ", meaning="Over left, right and same.", better=True, digits=2),
        column("ac1", (), "Gwet AC1", meaning="Over left, right and same; stable if one dominates.", digits=2),
        column("ties", (), "own ties", "share", "Share of ties; a judge's flips count as ties."),
    )
}


def agreement(arena: Arena, table: VerdictTable, settings: ArenaSettings) -> Analysis:
    """Agreement among people, between people and judges, and among judges, with the most that a judge could reach.

    Missing where no pair has two raters.
    """
    merged = table.merged()
    answered = merged.answered()
    if not len(answered) or np.bincount(answered.pair).max() < 2:
        raise Missing("Agreement requires two raters who gave verdicts on the same pair.")
    one = Agreeing(merged, settings)
    narrow = ("n", "tied", "agree", "same", "difference", "kappa", "ac1")
    wide = (*narrow[:3], "ceiling", *narrow[3:])
    tables = (
        _against(one, "majority", f"Agreement with {one.others}", [one.whole], tuple(_COLUMNS)),
        _against(one, "slices", "Agreement by slice", one.slices(), wide, "slice"),
        _against(one, "dimensions", "Agreement by dimension", one.dimensions(), wide, "dimension"),
        _against(one, "margins", "Agreement by margin of the majority", one.margins(), narrow, "majority"),
        _against(one, "people", "Agreement of each person", one.persons(), (*narrow[:3], *narrow[5:], "ties")),
        _two_raters(one),
        _alpha(one),
        _people(one),
    )
    return Analysis(
        shows=_shows(one, tables[0], tables[-1]),
        cannot="Agreement with these raters does not show whether a judge prefers what the person in the conversation "
        "preferred; `judge-audit` does. The ceiling assumes that people judge independently: a shared bias raises "
        "their agreement and thus the ceiling.",
        tables=tuple(made for made in tables if made.rows),
        warnings=tuple(_warnings(one, len(arena.pairs))),
        notes=(
            f"{100 * settings.level:g} % percentile bootstrap intervals for these raters, {settings.resamples:,} "
            f"resamples of {table.unit_names[1]}. n: pairs.",
        ),
    )


def _against(one: Agreeing, id: str, title: str, parts: Sequence[Part], ids: tuple[str, ...], noun: str = "") -> Table:
    """People and judges against the majorities of the other people, in each part of the verdicts."""
    found = [(part.name, cells) for part in parts for cells in one.against_people(part)]
    shown = [id for id in ids if any(cells[id].value is not None for _, cells in found)]
    most = {name: number_of(cells["ceiling"]) for name, cells in reversed(found)}
    ceilings = {name: value for name, value in most.items() if value is not None}
    lines: dict[str, float | Mapping[str, float]] = {"chance": CHANCE}
    if ceilings and "ceiling" in shown:
        lines["ceiling"] = ceilings if noun else next(iter(ceilings.values()))
    return table(
        id,
        title,
        *([words(noun, [name for name, _ in found])] if noun else []),
        words("rater", [cells["rater"] for _, cells in found]),
        *(_COLUMNS[id]._replace(cells=[cells[id] for _, cells in found]) for id in shown),
        caption=f"Reference for people and judges: {one.others}, ties left out.",
        chart=Chart(
            *("bars" if noun else "intervals", "rater", ("agree",), title, "share in agreement", lines),
            roles={PEOPLE: "person", one.label(JUDGES): "all models"},
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
        rows.append([first, one.label(second), cells["agree"].n, *cells.values()])

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
        "Agreement between two raters",
        words("rater"),
        words("other", label="with"),
        *(_COLUMNS[id] for id in ("n", "agree", "decided", "kappa", "ac1")),
        rows=rows,
        caption="Two people, a person and a judge, or two judges who rated the same pair. Pairs that both call a tie "
        "enter only κ and AC1.",
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
        where = (("rater", who),) if who in (PEOPLE, JUDGES) else ()
        of = np.flatnonzero((~np.isnan(preferences[:, members])).sum(axis=1) > 1)
        if len(of) and (where or 0 < judges[members].mean() < 1):
            for name, scale, values in scales:
                alpha = one.cell(partial(krippendorff_alpha, level=scale), of, values[np.ix_(of, members)], where=where)
                rows.append([who, name, members.sum(), alpha.n, alpha])
    return table(
        "alpha",
        "Agreement among all raters",
        words("raters"),
        words("of", label="verdict"),
        counts("number", (), "number of raters"),
        counts("n", (), "pairs", "Pairs with verdicts of two or more of these raters."),
        column("alpha", (), "Krippendorff α", meaning="1: full agreement, 0: chance.", better=True, digits=2),
        rows=rows,
        caption="Better reply: nominal α over left, right and same. Preference: interval α.",
    )


def _people(one: Agreeing) -> Table:
    """How clear the majorities of people are, and what follows for the best that a judge can do."""
    parts = (one.whole, *one.slices(), *one.dimensions())
    return table(
        "clear",
        "How much do people agree, and what can a judge reach?",
        words("part", label="subset"),
        counts("n", (), "pairs", "Pairs with verdicts of two people or more."),
        column("raters", (), "people per pair", meaning="The median.", digits=0),
        counts("number", (), "ambiguous pairs"),
        column("tied", (), "", "share", "Pairs whose most frequent answer is “same”, or that have none."),
        column("ambiguous", (), "", "share", f"The most frequent answer has under {one.settings.ambiguous:.3g}."),
        column("unanimous", (), "", "share", "Pairs on which all people give the same answer."),
        column("two", (), "two people", "share", "Agreement of two people who both name a better reply."),
        column("spread", meaning="Standard deviation of pair log-odds that gives this agreement.", digits=2),
        column("one", (), "ceiling, one person", "share", "A judge without noise against one person."),
        column("ceiling", (), "ceiling, majority", "share", "A judge without noise against the others' majority."),
        column("expected", (), "person, expected", "share", "A person against that majority, by the same model."),
        column("observed", (), "person, observed", "share", "Agreement of people, own ties left out."),
        rows=[_people_row(one, part) for part in parts if PEOPLE in part.voices.names],
        caption="The ceiling is that of a judge without noise, who always prefers the reply that most people would "
        "prefer. It assumes normally distributed log-odds of pairs and independent raters; where the last two columns "
        "differ, these assumptions fail and the ceiling is unreliable.",
    )


def _people_row(one: Agreeing, part: Part) -> list[Any]:
    pairs, most = part.voices.majority(part.rows)
    ambiguous = most.share < one.settings.ambiguous
    tied, unclear, unanimous = (
        one.share(pairs, rows.astype(np.float64), (("rater", PEOPLE), *part.where, ("pairs", name)))
        for name, rows in {"tied": most.winner == 0, "ambiguous": ambiguous, "unanimous": most.share >= 1}.items()
    )
    two, votes = one.two_people(part), part.voices.votes(part.rows)
    spread, where = spread_of(two.value), (("rater", PEOPLE), *part.where)
    models: list[dict[str, Any]] = [{"votes": {1: 1}}, {"votes": votes}, {"votes": votes, "person": True}]
    return [
        *(part.name, len(pairs), np.median(most.raters) if len(pairs) else None, int(ambiguous.sum())),
        *(tied, unclear, unanimous, bounds(two, float, where), spread if np.isfinite(spread) else None),
        *(bounds(two, partial(ceiling, **model), where) for model in models),
        one.compared(part, PEOPLE)["decided"],
    ]


def _shows(one: Agreeing, against: Table, clear: Table) -> str:
    """What people reach, what judges reach of it, and how many pairs are ambiguous."""
    found = [dict(zip([column.id for column in against.columns], row, strict=True)) for row in against.rows]
    rows = {str(row["rater"].value): row for row in found if "agree" in row and row["agree"].value is not None}
    told = []
    if people := rows.pop(PEOPLE, None):
        told += [
            f"A person agrees with the majority of the others on {with_interval(people['agree'])} of the pairs "
            f"(n = {people['n'].value}).",
            f"A judge without noise would agree on {with_interval(people['ceiling'])} (the ceiling).",
        ]
    if named := [f"{name} {with_interval(row['agree'])}" for name, row in rows.items()]:
        told.append(f"Agreement of judges with {one.others}: {listed(named, most=4)}.")
    rows.pop(one.label(JUDGES), None)
    ends = [row["difference"].high for row in rows.values() if people]
    if ends:
        less = sum(high is not None and high < 0 for high in ends)
        told.append(f"Judges significantly below people: {less} of {len(ends)}.")
    told += [f"{row[3].value} of {row[1].value} pairs are ambiguous." for row in clear.rows[:1]]
    return sentences(*told)


def _warnings(one: Agreeing, pairs: int) -> Iterator[str]:
    voices = one.whole.voices
    if not len(voices.pair):
        yield "There are no verdicts by people, so judges are compared only with each other."
    elif PEOPLE not in voices.names:
        yield (
            "No pair was rated by two people: judges are compared with the one person who rated it, and neither the "
            "agreement of people nor the ceiling can be computed."
        )
    elif single := int((voices.others.raters == 0).sum()):
        yield f"Pairs rated by only one person, left out: {single:,} of {len(np.unique(voices.pair)):,}."
    if unanswered := int(np.isnan(one.merged.preference).sum()):
        yield f"Unanswered verdicts, left out: {unanswered:,} of {len(one.merged):,}."
    if rated := pairs - len(np.unique(one.merged.answered().pair)):
        yield f"Pairs without a verdict: {rated:,} of {pairs:,}."
