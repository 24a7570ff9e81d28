"""The first view: who is best, how sure that is, and what it was measured on. The tables are the report's own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, in_mode, primary_mode
from attunebench.analyses.table import Cell, Chart, Table, number_of
from attunebench.comparison import Ranking, tiers_of
from attunebench.reports.layout import section_table
from attunebench.reports.model import Report
from attunebench.scores import BASE_RATE
from attunebench.scores.table import ScoreTable
from attunebench.text import counted, listed, number

MAIN, BESIDE = "composite", "pairwise_accuracy"


class Board(NamedTuple):
    """The leaderboard of one mode; its last rows are shown but not ranked."""

    mode: str
    table: Table
    best: str
    sure: str


def boards(report: Report, study: ScoreTable, settings: Settings) -> Iterator[Board]:
    """A board for each mode, the primary one first; modes without any model are left out."""
    section = next(section for section in report.sections if section.leaderboard)
    for row in (row for one in report.sections for row in one.rows if row.id == BESIDE):
        beside = tuple(reference.values.get(BESIDE, Cell(None)) for reference in section.references)
        section = replace(section, rows=(*section.rows, replace(row, beside=beside)))
    rankings = {ranking.groups[0].mode: ranking for ranking in report.rankings}
    first = primary_mode(study)
    for mode in sorted(study.modes, key=lambda mode: mode != first):
        models = in_mode(study, mode, settings)
        if not models.groups:
            continue
        ranking = rankings.get(mode) or tiers_of(models, MAIN, settings)
        keys = {group.key for group in models.groups}
        places = [place for place, group in enumerate(report.groups) if group.mode == mode]
        places.sort(key=lambda place: report.groups[place].key not in keys)
        shown = section_table(section, report.groups, places, with_modes=False)
        lines = {label: value for label, value in _lines(report).items() if value is not None}
        chart = Chart("intervals", "model", (MAIN,), "Composite", "points of 100", lines, len(places))
        apart = shown.apart + len(places) - len(keys)
        yield Board(mode, replace(shown, id=f"board-{mode}", chart=chart, apart=apart), *_verdict(ranking, report))


def _lines(report: Report) -> dict[str, float | None]:
    """Levels to exceed: of the reference made from the labels alone, and of blind guessing."""
    base = next(
        (number_of(one.values[MAIN]) for one in report.references if one.id == BASE_RATE and MAIN in one.values), None
    )
    chance = next(row.card.chance for section in report.sections for row in section.rows if row.id == MAIN)
    return {"base rate": base, "chance": chance}


def _verdict(ranking: Ranking, report: Report) -> tuple[str, str]:
    """Who is best, and how sure the order is, for a reader who knows no statistics."""
    pairs = ranking.pairs
    if not ranking.ranked:
        return "No conversation has scores from all models.", "There is nothing to compare."
    first = ranking.ranked[0]
    leader, score = ranking.groups[first].label, f"{number(float(ranking.mean[first]), 1)} of 100 points"
    base = _lines(report)["base rate"]
    if base is not None and base > ranking.mean[first]:
        score += f", below the base rate of {number(base, 1)}: always giving the most frequent answer scores higher"
    elif base is not None:
        score += f"; base rate {number(base, 1)}"
    if len(ranking.ranked) == 1:
        alone = f"{leader} scores {score}. There is no other model to compare with."
        return alone, "The interval shows the uncertainty of the score."
    if ranking.small:
        best = f"{leader} has the highest score ({score}), but {ranking.sample} are too few to name a best model."
        return best, "Too few conversations or participants for any claim, however large the difference."
    rest = [ranking.groups[place].label for place in ranking.tiers[0] if place != first]
    verb = "does" if len(rest) == 1 else "do"
    best = (
        f"{leader} has the highest score ({score}). {listed(rest)} {verb} not score significantly lower."
        if rest
        else f"{leader} ({score}), which scores significantly higher than every other model."
    )
    parts = [f"{pairs.apart} of {counted(pairs.of, 'pair')} of models differ significantly."]
    detectable = pairs.mde_corrected[~np.isnan(pairs.mde_corrected)]
    if detectable.size:
        least = number(float(np.median(detectable)), 1)
        parts.append(f"With this many conversations, differences below about {least} points are usually not detected.")
    if not np.isnan(ranking.stability.p_best[first]):
        share = round(100 * float(ranking.stability.p_best[first]))
        parts.append(f"{leader} comes first in {share} of 100 resamples of the conversations.")
    return best, " ".join(parts)
