"""The first view: who is best, how sure that is, and every model's scores. The tables are the report's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, in_mode, primary_mode
from attunebench.analyses.table import Cell, Table, number_of
from attunebench.comparison import Ranking, tiers_of
from attunebench.reports.build import ranked_models
from attunebench.reports.html.forest import Forest, forest
from attunebench.reports.layout import section_table
from attunebench.reports.model import Report
from attunebench.scores.table import ScoreTable
from attunebench.text import counted, listed, number

MAIN, BESIDE = "composite", "pairwise_accuracy"


class Board(NamedTuple):
    """The leaderboard of one mode as a picture and as a table; its last rows are shown but not ranked.

    `verdict` says in a sentence who is best and how sure that is, `sure` what else there is to know of that.
    """

    mode: str
    table: Table
    forest: Forest
    verdict: str
    sure: str


def boards(
    report: Report, study: ScoreTable, settings: Settings, looks: Mapping[tuple[str, str], str]
) -> Iterator[Board]:
    """A board for each mode, the primary one first; modes without any model are left out."""
    section = report.leaderboard
    if section is None:
        return
    for row in (row for one in report.sections for row in one.rows if row.id == BESIDE):
        beside = tuple(reference.values.get(BESIDE, Cell(None)) for reference in section.references)
        section = replace(section, rows=(*section.rows, replace(row, beside=beside)))
    rankings = {ranking.groups[0].mode: ranking for ranking in report.rankings}
    first = primary_mode(study)
    for mode in sorted(study.modes, key=lambda mode: mode != first):
        models = ranked_models(in_mode(study, mode, settings))
        if not models.groups:
            continue
        ranking = rankings.get(mode) or tiers_of(models, MAIN, settings)
        keys = {group.key for group in models.groups}
        places = [place for place, group in enumerate(report.groups) if group.mode == mode]
        places.sort(key=lambda place: report.groups[place].key not in keys)
        shown = section_table(section, report.groups, places, with_modes=False)
        apart = shown.apart + len(places) - len(keys)
        drawn = forest(section.rows, report.base_rate, report.groups, ranking, looks)
        board = replace(shown, id=f"board-{mode}", apart=apart, caption="", notes=())
        yield Board(mode, board, drawn, *_verdict(ranking, number_of(report.base_rate.get(MAIN, Cell(None)))))


def _verdict(ranking: Ranking, base: float | None) -> tuple[str, str]:
    """Who is best and how sure that is, in a sentence for a reader who knows no statistics, and the figures for it."""
    ranked = ranking.ranked
    if not ranked:
        return "No conversation has scores from all models, so there is nothing to compare.", ""
    first = ranked[0]
    leader, mean = ranking.groups[first].label, float(ranking.mean[first])
    score = f"{number(mean, 1)} of 100"
    if base is not None and base > mean:
        score += f", below the base rate of {number(base, 1)}"
    elif base is not None:
        score += f"; base rate {number(base, 1)}"
    if len(ranked) == 1:
        return f"{leader} scores {score}; there is no other model to compare with.", ""
    if ranking.small:
        return f"{leader} scores highest ({score}), but {ranking.sample} are too few to name a best model.", ""
    top, rest = ranking.tiers[0], len(ranked) - len(ranking.tiers[0])
    beside = [ranking.groups[place].label for place in top if place != first]
    if not beside:
        verdict = f"{leader} is best ({score}): it scores significantly higher than every other model."
    elif not rest:
        verdict = f"{leader} scores highest ({score}), but no model scores significantly lower: all share one tier."
    else:
        verb = "does" if len(beside) == 1 else "do"
        verdict = f"{leader} scores highest ({score}); {listed(beside, most=3)} {verb} not score significantly lower."
    return verdict, _certainty(ranking)


def _certainty(ranking: Ranking) -> str:
    """How many pairs differ, how large a difference had to be, and how often the first comes first."""
    pairs, first = ranking.pairs, ranking.ranked[0]
    parts = [f"{pairs.apart} of {counted(pairs.of, 'pair')} of models differ significantly."]
    if not np.isnan(ranking.stability.p_best[first]):
        share = round(100 * float(ranking.stability.p_best[first]))
        parts.append(f"{ranking.groups[first].label} ranks first in {share} of 100 resamples of the conversations.")
    detectable = pairs.mde_corrected[~np.isnan(pairs.mde_corrected)]
    if detectable.size:
        least = number(float(np.median(detectable)), 1)
        parts.append(f"With this many conversations, differences below about {least} points are usually not detected.")
    return " ".join(parts)
