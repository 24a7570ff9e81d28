"""The first view: who is best, how sure that is, and what it was measured on.

Ranks and tiers are those of `comparison`; this lays them out and says them in plain words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attunebench.analyses.base import Settings, digits_of, in_mode, label_of, primary_mode, unit_of
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Cell, Column, Drill, known
from attunebench.analyses.verdicts import correction_text, intervals_text
from attunebench.comparison import Ranking, tiers_of
from attunebench.comparison.ranking import ranking_sentence
from attunebench.metrics.rates import percent
from attunebench.metrics.registry import REGISTRY
from attunebench.reports.analyses.words import value_text
from attunebench.reports.html.charts import Axis, axis_over
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.tables import ShownCell, shown_cell
from attunebench.scores.references import standing
from attunebench.scores.table import Group, ScoreTable
from attunebench.text import UNDEFINED, counted, listed, number

MAIN, BESIDE = "composite", ("pairwise_accuracy", "emotion_tracking", "evaluation_quality", "holistic_comprehension")
_COUNTED = "answered_rate"
_METRICS = (MAIN, *BESIDE, _COUNTED)


class Line(NamedTuple):
    """A row of the board. `track`: place, low and high of the Composite in percent of the axis.

    `beside`: the other metrics, each with its tier where models are ranked by it. `note`: what was answered, or what
    stands there unranked.
    """

    label: str
    main: ShownCell
    beside: tuple[tuple[ShownCell, str], ...]
    n: int
    note: str
    look: str = ""
    tier: str = ""
    places: str = ""
    places_sort: str = ""
    best: str = ""
    track: tuple[float, ...] | None = None


class Board(NamedTuple):
    """The leaderboard of one mode. `orientation`: what is shown beside the models and not ranked."""

    mode: str
    heads: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    orientation: tuple[Line, ...]
    best: str
    sure: str
    sentence: str
    caption: str
    remarks: tuple[str, ...]


def boards(study: ScoreTable, settings: Settings, drills: Drills, looks: Mapping[str, str]) -> tuple[Board, ...]:
    """A board for each mode, the primary one first; modes without any model are left out."""
    first = primary_mode(study)
    modes = sorted(study.modes, key=lambda mode: mode != first)
    return tuple(
        _board(study, mode, settings, drills, looks) for mode in modes if in_mode(study, mode, settings).groups
    )


def _board(study: ScoreTable, mode: str, settings: Settings, drills: Drills, looks: Mapping[str, str]) -> Board:
    models = in_mode(study, mode, settings)
    ranking, pairwise = tiers_of(models, MAIN, settings), tiers_of(models, BESIDE[0], settings)
    shared = models.with_conversations(ranking.conversations)
    cells = _cells(shared, settings)
    others = [group for group in study.groups if group.mode == mode and group not in models.groups]
    ends = [value for cell in cells[MAIN] for value in (cell.value, cell.low, cell.high) if isinstance(value, float)]
    axis = axis_over(ends) if ends else None
    lines = [_line(ranking, pairwise, place, cells, axis, drills, looks) for place in ranking.order]
    return Board(
        mode=mode,
        heads=tuple((label_of(m), REGISTRY[m].meaning) for m in (MAIN, *BESIDE)),
        lines=tuple(lines),
        orientation=_orientation(study.with_groups(others), shared, settings, drills),
        best=_best(ranking),
        sure=_sure(ranking),
        sentence=ranking_sentence(ranking),
        remarks=tuple(f"{reference.label}: {reference.meaning}" for reference in shared.references),
        caption=f"{counted(len(ranking.conversations), 'conversation')} of "
        f"{counted(ranking.participants, 'participant')}, scored for every model. "
        f"{intervals_text(settings)}. "
        f"{correction_text(settings, f'{ranking.pairs.tests} pairs')}.",
    )


def _cells(shared: ScoreTable, settings: Settings) -> dict[str, list[Cell]]:
    """Metric → a cell for each group, over the conversations that all of them have."""
    if not shared.ids:
        return {metric_id: [Cell(None) for _ in shared.groups] for metric_id in _METRICS}
    sampling = Sampling.of(shared, settings)
    return {m: sampling.cells(shared.values(m), flag=False, of=m) for m in _METRICS}


def _line(
    ranking: Ranking,
    pairwise: Ranking,
    place: int,
    cells: Mapping[str, Sequence[Cell]],
    axis: Axis | None,
    drills: Drills,
    looks: Mapping[str, str],
) -> Line:
    group, stability = ranking.groups[place], ranking.stability
    low, high = stability.low, stability.high
    rank, p_best = known(stability.rank[place]), known(stability.p_best[place])
    main, answered = cells[MAIN][place], cells[_COUNTED][place].value
    track = None
    if axis is not None and isinstance(main.value, float):
        ends = (main.value if end is None else end for end in (main.low, main.high))
        track = (axis.at(main.value), *(axis.at(end) for end in ends))
    tiers = {BESIDE[0]: _tier(pairwise, place)}
    return Line(
        group.label,
        _value(main, MAIN, drills, group),
        tuple((_value(cells[m][place], m, drills, group), tiers.get(m, "")) for m in BESIDE),
        int(ranking.n[place]),
        percent(answered) if isinstance(answered, float) else UNDEFINED,
        look=looks.get(group.label, ""),
        tier=_tier(ranking, place),
        # One number where it is always the same; "–" where there is none.
        places="–".join(dict.fromkeys(number(known(end[place]), 0, undefined="") for end in (low, high))) or UNDEFINED,
        places_sort=value_text(rank, Column("rank", "", "rank", digits=0)),
        best=number(p_best, 2),
        track=track,
    )


def _value(cell: Cell, metric_id: str, drills: Drills, group: Group | None = None) -> ShownCell:
    column = Column(metric_id, "", unit_of(metric_id), digits=digits_of(metric_id))
    drill = Drill(group=group.key, metric=metric_id) if group is not None else None
    return shown_cell(replace(cell, drill=drill), column, cell.n, drills)


def _orientation(others: ScoreTable, shared: ScoreTable, settings: Settings, drills: Drills) -> tuple[Line, ...]:
    """People and baselines over the conversations that each of them has, and what the references made from the labels
    alone score on those of the models."""
    kinds = {"human": "people", "baseline": "baseline", "oracle": "answers from the labels", "model": ""}
    lines = []
    cells = _cells(others, settings) if others.groups else {}
    for place, group in enumerate(others.groups):
        lines.append(_beside(group.label, kinds[group.kind], {m: cells[m][place] for m in cells}, drills, group))
    if shared.ids:
        sampling, gap = Sampling.of(shared, settings), np.full(len(shared.ids), np.nan)
        for reference in map(standing, shared.references):
            table = np.stack([reference.values.get(m, gap) for m in _METRICS], axis=1)
            made = dict(zip(_METRICS, sampling.cells(table, flag=False, of=_METRICS), strict=True))
            lines.append(_beside(reference.label, "reference", made, drills))
    return tuple(lines)


def _beside(label: str, note: str, cells: Mapping[str, Cell], drills: Drills, group: Group | None = None) -> Line:
    main, *others = (_value(cells[m], m, drills, group) for m in (MAIN, *BESIDE))
    return Line(label, main, tuple((cell, "") for cell in others), max(cell.n or 0 for cell in cells.values()), note)


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


def _tier(ranking: Ranking, place: int) -> str:
    """The tier; "–" without a mean, and where so little was scored that a tier would be a claim."""
    tier = ranking.tier[place]
    return "–" if ranking.small or np.isnan(tier) else str(int(tier))
