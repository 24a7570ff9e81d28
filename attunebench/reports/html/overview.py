"""The first view: who is best, how sure that is, and what it was measured on.

Ranks and tiers are those of `comparison`; this lays them out and says them in plain words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, drill_to, in_mode, label_of, metric_column, primary_mode
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Cell, Chart, Table, column, counts, number_of, ranks, table, words
from attunebench.analyses.verdicts import correction_text, intervals_text
from attunebench.comparison import Ranking, tiers_of
from attunebench.metrics.rates import percent
from attunebench.scores.references import standing
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.text import UNDEFINED, counted, listed, number

MAIN, BESIDE = "composite", ("pairwise_accuracy", "emotion_tracking", "evaluation_quality", "holistic_comprehension")
_COUNTED = "answered_rate"
_METRICS = (MAIN, *BESIDE, _COUNTED)
_KINDS = {"human": "people", "baseline": "baseline", "oracle": "answers from the labels", "model": "model"}


class Board(NamedTuple):
    """The leaderboard of one mode; what is shown beside the models and not ranked are its last rows."""

    mode: str
    table: Table
    best: str
    sure: str


def boards(study: ScoreTable, settings: Settings) -> tuple[Board, ...]:
    """A board for each mode, the primary one first; modes without any model are left out."""
    first = primary_mode(study)
    modes = sorted(study.modes, key=lambda mode: mode != first)
    return tuple(_board(study, mode, settings) for mode in modes if in_mode(study, mode, settings).groups)


def _board(study: ScoreTable, mode: str, settings: Settings) -> Board:
    models = in_mode(study, mode, settings)
    ranking, pairwise = tiers_of(models, MAIN, settings), tiers_of(models, BESIDE[0], settings)
    shared = models.with_conversations(ranking.conversations)
    cells = _cells(shared, settings)
    rows = [_row(ranking, _tier(pairwise, place), place, cells[place]) for place in ranking.order]
    beside = list(_beside(study, models, shared, settings))
    of = f"{counted(len(ranking.conversations), 'conversation')} of {counted(ranking.participants, 'participant')}"
    tests = correction_text(settings, f"{ranking.pairs.tests} pairs")
    made = table(
        f"board-{mode}",
        f"Leaderboard, mode {mode}",
        words("model"),
        ranks("tier", (), "", "Models of a tier do not differ significantly from its best."),
        metric_column(MAIN, ()),
        ranks("place", (), "", "By the mean; in brackets over resamples."),
        column("p_best", (), "P(best)", "share", "Share of resamples in which it is first.", better=True, digits=2),
        *(metric_column(metric_id, ()) for metric_id in BESIDE),
        counts("n", (), "n", "Conversations."),
        words("answered", meaning="How much of what was asked was answered in a readable way."),
        rows=[[replace(one, n=None) if isinstance(one, Cell) else one for one in row] for row in (*rows, *beside)],
        apart=len(beside),
        caption=f"{ranking.sentence()} {of}, scored for every model. {intervals_text(settings)}. {tests}.",
        notes=tuple(f"{reference.label}: {reference.meaning}" for reference in shared.references),
        chart=Chart("intervals", "model", (MAIN,), label_of(MAIN), "points of 100"),
    )
    return Board(mode, made, _best(ranking), _sure(ranking))


def _cells(study: ScoreTable, settings: Settings) -> list[tuple[Cell, ...]]:
    """A cell for each metric, of each group."""
    if not study.ids:
        return [(Cell(None),) * len(_METRICS)] * len(study.groups)
    found = _means(study, settings, {m: study.values(m) for m in _METRICS})
    return [
        tuple(replace(cell, drill=drill_to(group, m)) for m, cell in zip(_METRICS, cells, strict=True))
        for group, cells in zip(study.groups, found, strict=True)
    ]


def _means(study: ScoreTable, settings: Settings, values: Mapping[str, Floats]) -> Iterable[tuple[Cell, ...]]:
    """Of each column of the values of every metric, its means."""
    sampling = Sampling.of(study, settings)
    return zip(*(sampling.cells(values[m], flag=False, of=m) for m in _METRICS), strict=True)


def _row(ranking: Ranking, pairwise_tier: int | None, place: int, cells: tuple[Cell, ...]) -> list[object]:
    main, pairwise, *pillars, answered = cells
    mark = "" if pairwise_tier is None else f"tier {pairwise_tier}"
    front = (ranking.groups[place].label, _tier(ranking, place), main, ranking.rank_cells()[place])
    share = number_of(answered)
    rest = (*pillars, int(ranking.n[place]), UNDEFINED if share is None else percent(share))
    return [*front, ranking.stability.p_best[place], replace(pairwise, mark=mark), *rest]


def _beside(study: ScoreTable, models: ScoreTable, shared: ScoreTable, settings: Settings) -> Iterable[list[object]]:
    """People and baselines over the conversations that each of them has, and what the references made from the labels
    alone score on those of the models."""
    mode = models.groups[0].mode
    others = study.with_groups([group for group in study.groups if group.mode == mode and group not in models.groups])
    named = [f"{group.label} ({_KINDS[group.kind]})" for group in others.groups]
    rows = list(zip(named, _cells(others, settings) if named else (), strict=True))
    gap = np.full(len(shared.ids), np.nan)
    for reference in map(standing, shared.references if shared.ids else ()):
        (cells,) = _means(shared, settings, {m: reference.values.get(m, gap)[:, None] for m in _METRICS})
        rows.append((f"{reference.label} (reference)", cells))
    for label, (main, *beside, _) in rows:
        n = max(cell.n or 0 for cell in (main, *beside))
        yield [label, "", main, "", "", *beside, n, ""]


def _best(ranking: Ranking) -> str:
    """Who is best, in a sentence for a reader who knows no statistics."""
    if not ranking.ranked:
        return "No model has a score on conversations that all models share."
    first = ranking.ranked[0]
    leader, score = ranking.groups[first].label, f"{number(float(ranking.mean[first]), 1)} of 100 points"
    if len(ranking.ranked) == 1:
        return f"{leader} scores {score}; there is no other model to compare with."
    if ranking.small:
        return f"{leader} has the highest score ({score}), but {ranking.sample} are too few to call anyone best."
    rest = [ranking.groups[place].label for place in ranking.tiers[0] if place != first]
    if not rest:
        return f"{leader}, with {score}. It is significantly ahead of every other model here."
    verb = "does" if len(rest) == 1 else "do"
    return f"{leader} has the highest score ({score}). {listed(rest)} {verb} not score significantly lower."


def _sure(ranking: Ranking) -> str:
    """How sure the order is."""
    pairs, first = ranking.pairs, ranking.order[0]
    if not pairs.of:
        return "There is no second model to compare with; the interval says how far the score could be off."
    if ranking.small:
        return "Not at all: so few conversations or participants support no claim, however large a difference looks."
    parts = [f"{pairs.apart} of {counted(pairs.of, 'pair')} of models differ significantly."]
    detectable = pairs.mde_corrected[~np.isnan(pairs.mde_corrected)]
    if detectable.size:
        least = number(float(np.median(detectable)), 1)
        parts.append(f"With this many conversations, differences under about {least} points would mostly go unnoticed.")
    if not np.isnan(ranking.stability.p_best[first]):
        share = round(100 * float(ranking.stability.p_best[first]))
        parts.append(f"{ranking.groups[first].label} comes first in {share} of 100 resamples of the conversations.")
    return " ".join(parts)


def _tier(ranking: Ranking, place: int) -> int | None:
    """The tier; None without a mean, and where so little was scored that a tier would be a claim."""
    tier = ranking.tier[place]
    return None if ranking.small or np.isnan(tier) else int(tier)
