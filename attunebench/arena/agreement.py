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
from attunebench.arena.cells import excludes
from attunebench.arena.coefficients import Agreeing, Row, bounds, share_of
from attunebench.arena.folder import Arena
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.table import JUDGES, PEOPLE, Majority, VerdictTable, answers_of
from attunebench.arena.voices import Voices
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
    whole = one.against_people([one.whole])
    short = ("n", "tied", "agree", "same", "difference", "kappa", "ac1")
    long = (*short[:3], "ceiling", *short[3:])
    parts: dict[str, tuple[str, list[Voices], tuple[str, ...], str]] = {
        "slices": ("Agreement by slice", one.slices(), long, "slice"),
        "dimensions": ("Agreement by dimension", one.dimensions(), long, "dimension"),
        "margins": ("Agreement by margin of the majority of two or more others", one.margins(), short, "majority"),
        "people": ("Agreement of each person", one.persons(), (*short[:3], *short[5:], "ties"), ""),
    }
    tables = (
        _against(one, "majority", f"Agreement with {one.others}", whole, tuple(_COLUMNS), ""),
        *(_against(one, id, part[0], one.against_people(part[1]), *part[2:]) for id, part in parts.items()),
        _two_raters(one),
        _alpha(one),
        _people(one),
    )
    return Analysis(
        shows=_shows(one, [cells for _, cells in whole], tables[-1]),
        cannot="Agreement with these raters does not show whether a judge prefers what the person in the conversation "
        "preferred; `judge-audit` does. The ceiling assumes that people judge independently: a shared bias raises "
        "their agreement and thus the ceiling.",
        tables=tuple(made for made in tables if made.rows),
        warnings=tuple(_warnings(one, table, len(arena.pairs))),
        notes=(
            f"{100 * settings.level:g} % percentile bootstrap intervals for these raters, {settings.resamples:,} "
            f"resamples of {table.unit_names[1]}. n: pairs.",
        ),
    )


def _against(
    one: Agreeing, id: str, title: str, found: Sequence[tuple[str, Row]], ids: Sequence[str], noun: str
) -> Table:
    """People and judges against the majorities of the other people. The ceiling of a part is that of its first row."""
    most = {name: number_of(cells["ceiling"]) for name, cells in reversed(found)}
    ceilings = {name: value for name, value in most.items() if value is not None}
    shown = [id for id in ids if any(cells[id].value is not None for _, cells in found)]
    lines: dict[str, float | Mapping[str, float]] = {"chance": CHANCE}
    if ceilings and "ceiling" in shown:
        lines["ceiling"] = ceilings if noun else ceilings["all"]
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
    voices, rows = one.whole, list[list[Any]]()

    def compare(first: str, second: str, pairs: Labels, a: Floats, b: Floats) -> None:
        cells = one.agreed(pairs, a, b, (("rater", second),))
        rows.append([first, one.label(second), cells["agree"].n, *cells.values()])

    if PEOPLE in voices.names:  # both ways round, so that κ does not depend on who stands first in the files
        couples = voices.couples()
        left, right = np.hstack([couples, couples[::-1]])
        compare(PEOPLE, PEOPLE, voices.pair[left], voices.chosen[left], voices.chosen[right])
    voices = voices.at(voices.others.raters > 0)
    for name in [name for name in voices.names if name != PEOPLE]:
        compare(PEOPLE, name, voices.pair, voices.chosen, voices.choices(name))
    for name, other in combinations([name for name in voices.judges if name != JUDGES], 2):
        compare(name, other, np.arange(len(one.unit)), voices.judges[name], voices.judges[other])
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
    preferences = np.full((len(one.unit), len(answered.raters)), np.nan)
    preferences[answered.pair, answered.rater] = answered.preference
    people, judges = (np.intersect1d(answered.rater, np.flatnonzero(answered.judges == side)) for side in (False, True))
    both = np.union1d(people, judges) if len(people) and len(judges) else people[:0]
    for who, members in {PEOPLE: people, JUDGES: judges, "people and judges": both}.items():
        of = np.flatnonzero((~np.isnan(preferences[:, members])).sum(axis=1) > 1)
        values, where = preferences[np.ix_(of, members)], (("rater", who),) if members is not both else ()
        scales: list[tuple[str, Scale, Floats]] = [
            ("better reply", "nominal", np.sign(values)),
            ("preference, −2 to 2", "interval", values),
        ]
        for name, scale, rated in scales if len(of) else ():
            alpha = one.cell(partial(krippendorff_alpha, level=scale), of, rated, where=where)
            rows.append([who, name, len(members), alpha.n, alpha])
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
        column("tied", (), "", "share", "Pairs whose most frequent answer is “same”, or that have none."),
        column("ambiguous", (), "", "share", f"The most frequent answer has under {one.settings.ambiguous:.3g}."),
        column("unanimous", (), "", "share", "Pairs on which all people give the same answer."),
        column("two", (), "two people", "share", "Agreement of two people who both name a better reply."),
        column("spread", meaning="Standard deviation of pair log-odds that gives this agreement.", digits=2),
        column("one", (), "ceiling, one person", "share", "A judge without noise against one person."),
        column("ceiling", (), "ceiling, majority", "share", "A judge without noise against the others' majority."),
        column("expected", (), "person, expected", "share", "A person against that majority, by the same model."),
        column("observed", (), "person, observed", "share", "Agreement of people, own ties left out."),
        rows=[_people_row(one, part) for part in parts if PEOPLE in part.names],
        caption="The ceiling is that of a judge without noise, who always prefers the reply that most people would "
        "prefer. It assumes normally distributed log-odds of pairs and independent raters; where the last two columns "
        "differ, these assumptions fail and the ceiling is unreliable.",
    )


def _people_row(one: Agreeing, part: Voices) -> list[Any]:
    answers = answers_of(part.pair, part.chosen, len(one.unit))
    pairs = np.flatnonzero(answers.sum(axis=1) > 1)
    most, where = Majority.of(answers[pairs]), (("rater", PEOPLE), *part.where)
    kinds = {"tied": most.winner == 0, "ambiguous": most.share < one.settings.ambiguous, "unanimous": most.share >= 1}
    two, votes = one.two_people(part), part.votes()
    models: list[dict[str, Any]] = [{"votes": {1: 1}}, {"votes": votes}, {"votes": votes, "person": True}]
    return [
        *(part.name, len(pairs), np.median(most.raters) if len(pairs) else None),
        *(one.cell(share_of, pairs, 1.0 * of, where=(*where, ("pairs", name))) for name, of in kinds.items()),
        *(bounds(two, float, where), bounds(two, spread_of, where)),
        *(bounds(two, partial(ceiling, **model), where) for model in models),
        one.compared(part, PEOPLE)["decided"],
    ]


def _shows(one: Agreeing, found: Sequence[Row], clear: Table) -> str:
    """What people reach, what judges reach of it, and how many pairs are ambiguous."""
    rows = {str(cells["rater"].value): cells for cells in found if cells["agree"].value is not None}
    told = {name: f"{with_interval(cells['agree'])} (n = {cells['n'].value:,})" for name, cells in rows.items()}
    said, people = list[str](), told.pop(PEOPLE, "")
    if people:
        said.append(f"Agreement of a person with {one.others}: {people}.")
        if rows[PEOPLE]["ceiling"].value is not None:
            said.append(f"A judge without noise would reach {with_interval(rows[PEOPLE]['ceiling'])} (the ceiling).")
    if told:
        judges = listed((f"{name} {agree}" for name, agree in told.items()), most=4)
        said.append(f"Agreement of judges with {one.others}: {judges}.")
    told.pop(one.label(JUDGES), None)
    if differences := [rows[name]["difference"] for name in told if people and not rows[name]["difference"].small]:
        less = sum(excludes(cell) and (number_of(cell) or 0) < 0 for cell in differences)
        said.append(f"Judges significantly below people: {less} of {len(differences)}.")
    said += [f"Ambiguous pairs: {with_interval(row[4])} (n = {row[1].value:,})." for row in clear.rows[:1]]
    return sentences(*said)


def _warnings(one: Agreeing, table: VerdictTable, pairs: int) -> Iterator[str]:
    voices = one.whole
    if not len(voices.pair):
        yield "There are no verdicts by people, so judges are compared only with each other."
    elif voices.alone:
        yield (
            "No pair was rated by two people: judges are compared with the one person who rated it, and neither the "
            "agreement of people nor the ceiling can be computed."
        )
    elif single := int((voices.others.raters == 0).sum()):
        yield f"Pairs rated by only one person, left out: {single:,} of {len(np.unique(voices.pair)):,}."
    if unanswered := int(np.isnan(table.preference).sum()):
        yield f"Unanswered verdicts, left out: {unanswered:,} of {len(table):,}."
    if unrated := pairs - len(np.unique(table.answered().pair)):
        yield f"Pairs without a verdict: {unrated:,} of {pairs:,}."
