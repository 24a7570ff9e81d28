"""The first view: who is best, how sure that is, and what it was measured on.

Ranks and tiers are those of `comparison`; this lays them out and says them in plain words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Cell, Column, Drill, Settings, known
from attunebench.comparison import Ranking, tiers_of
from attunebench.comparison.ranking import ranking_sentence
from attunebench.metrics.rates import percent
from attunebench.metrics.registry import REGISTRY
from attunebench.reports.analyses.words import Words, words_of
from attunebench.reports.html.charts import Axis, axis_over
from attunebench.reports.html.drills import Drills
from attunebench.scores.references import standing
from attunebench.scores.table import Group, ScoreTable

MAIN, BESIDE = "composite", ("pairwise_accuracy", "emotion_tracking", "evaluation_quality", "holistic_comprehension")
_COUNTED = "answered_rate"


@dataclass(frozen=True, slots=True)
class Value:
    """A metric's value in words, what sorts it, its tier where it is ranked by it, and the drill behind it."""

    words: Words
    sort: str
    drill: int | None = None
    tier: str = ""


@dataclass(frozen=True, slots=True)
class Line:
    """A model on the board. `track`: place, low and high of the Composite in percent of the axis."""

    label: str
    look: str
    tier: str
    places: str
    places_sort: str
    best: str
    main: Value
    track: tuple[float, float, float] | None
    values: tuple[Value, ...]
    n: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """The leaderboard of one mode. `orientation`: what is shown beside the models and not ranked."""

    mode: str
    heads: tuple[tuple[str, str], ...]
    lines: tuple[Line, ...]
    orientation: tuple[Line, ...]
    axis: Axis | None
    best: str
    sure: str
    sentence: str
    caption: str
    remarks: tuple[str, ...]


def boards(study: ScoreTable, settings: Settings, drills: Drills, looks: Mapping[str, str]) -> tuple[Board, ...]:
    """A board for each mode, the primary one first; modes without any model are left out."""
    first = common.primary_mode(study)
    modes = [first, *(mode for mode in study.modes if mode != first)]
    found = (_board(study, mode, settings, drills, looks) for mode in modes)
    return tuple(board for board in found if board is not None)


def _board(study: ScoreTable, mode: str, settings: Settings, drills: Drills, looks: Mapping[str, str]) -> Board | None:
    models = common.in_mode(study, mode, settings)
    if not models.groups:
        return None
    ranking, pairwise = tiers_of(models, MAIN, settings), tiers_of(models, BESIDE[0], settings)
    shared = models.with_conversations(ranking.conversations)
    cells = _cells(shared, settings)
    others = [group for group in study.groups if group.mode == mode and group not in models.groups]
    ends = [value for cell in cells[MAIN] for value in (cell.value, cell.low, cell.high) if isinstance(value, float)]
    axis = axis_over(ends) if ends else None
    lines = [_line(ranking, pairwise, place, cells, axis, drills, looks) for place in ranking.order]
    return Board(
        mode=mode,
        heads=tuple((common.label_of(m), REGISTRY[m].meaning) for m in (MAIN, *BESIDE)),
        lines=tuple(lines),
        orientation=(*_groups_beside(study.with_groups(others), settings, drills), *_references(shared, settings)),
        axis=axis,
        best=_best(ranking),
        sure=_sure(ranking),
        sentence=ranking_sentence(ranking),
        remarks=tuple(f"{reference.label}: {reference.meaning}" for reference in shared.references),
        caption=f"{common.counted(len(ranking.conversations), 'conversation')} of "
        f"{common.counted(ranking.participants, 'participant')}, scored for every model. "
        f"{common.intervals_text(settings)}. "
        f"{common.correction_text(settings, f'{ranking.pairs.tests} pairs')}.",
    )


def _cells(shared: ScoreTable, settings: Settings) -> dict[str, list[Cell]]:
    """Metric → a cell for each group, over the conversations that all of them have."""
    metrics = (MAIN, *BESIDE, _COUNTED)
    if not shared.ids:
        return {metric_id: [Cell(None) for _ in shared.groups] for metric_id in metrics}
    sampling = common.Sampling.of(shared, settings)
    return {m: sampling.cells(shared.values(m), flag=False, of=m) for m in metrics}


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
    rank = Cell(known(stability.rank[place]), known(stability.low[place]), known(stability.high[place]))
    places = words_of(rank, Column("rank", "", "rank", digits=0), None)
    main = cells[MAIN][place]
    answered = cells[_COUNTED][place].value
    return Line(
        label=group.label,
        look=looks.get(group.label, ""),
        tier=_tier(ranking, place),
        places=_places(rank),
        places_sort=places.value,
        best=common.number(known(stability.p_best[place]), 2) if not np.isnan(stability.p_best[place]) else "–",
        main=_value(main, group, MAIN, drills),
        track=_track(main, axis),
        values=tuple(
            _value(cells[m][place], group, m, drills, _tier(pairwise, place) if m == BESIDE[0] else "") for m in BESIDE
        ),
        n=str(int(ranking.n[place])),
        note=percent(answered) if isinstance(answered, float) else "–",
    )


def _places(rank: Cell) -> str:
    """ "1–3": the places that a model takes over resamples; one number where it is always the same."""
    if rank.low is None or rank.high is None:
        return "–"
    low, high = round(rank.low), round(rank.high)
    return str(low) if low == high else f"{low}–{high}"


def _value(cell: Cell, group: Group | None, metric_id: str, drills: Drills | None, tier: str = "") -> Value:
    column = Column(metric_id, "", common.unit_of(metric_id), digits=common.digits_of(metric_id))
    sort = f"{cell.value:.6g}" if isinstance(cell.value, (int, float)) else ""
    drill = drills.place(Drill(group=group.key, metric=metric_id)) if group is not None and drills is not None else None
    return Value(words_of(cell, column, cell.n), sort, drill, tier)


def _track(cell: Cell, axis: Axis | None) -> tuple[float, float, float] | None:
    if axis is None or not isinstance(cell.value, float):
        return None
    low, high = (cell.value if end is None else end for end in (cell.low, cell.high))
    return (axis.at(cell.value), axis.at(low), axis.at(high))


def _groups_beside(others: ScoreTable, settings: Settings, drills: Drills) -> list[Line]:
    """People and baselines over the conversations that each of them has."""
    if not others.groups:
        return []
    cells = _cells(others, settings)
    kinds = {"human": "people", "baseline": "baseline", "oracle": "answers from the labels", "model": ""}
    return [
        _beside(f"{group.label}", kinds[group.kind], group, {m: cells[m][place] for m in cells}, drills)
        for place, group in enumerate(others.groups)
    ]


def _references(shared: ScoreTable, settings: Settings) -> list[Line]:
    """What the references made from the labels alone score on the same conversations."""
    if not shared.ids:
        return []
    sampling = common.Sampling.of(shared, settings)
    gap = np.full(len(shared.ids), np.nan)
    lines = []
    for reference in map(standing, shared.references):
        metrics = (MAIN, *BESIDE, _COUNTED)
        table = np.stack([reference.values.get(m, gap) for m in metrics], axis=1)
        cells = dict(zip(metrics, sampling.cells(table, flag=False, of=metrics), strict=True))
        lines.append(_beside(reference.label, "reference", None, cells, None))
    return lines


def _beside(label: str, note: str, group: Group | None, cells: Mapping[str, Cell], drills: Drills | None) -> Line:
    n = max(cell.n or 0 for cell in cells.values())
    return Line(
        label=label,
        look="",
        tier="",
        places="",
        places_sort="",
        best="",
        main=_value(cells[MAIN], group, MAIN, drills),
        track=None,
        values=tuple(_value(cells[m], group, m, drills) for m in BESIDE),
        n=str(n),
        note=note,
    )


def _best(ranking: Ranking) -> str:
    """Who is best, in a sentence for a reader who knows no statistics."""
    names = [group.label for group in ranking.groups]
    ranked = [place for place in ranking.order if not np.isnan(ranking.mean[place])]
    if not ranked:
        return "No model has a score on conversations that all models share."
    leader = names[ranked[0]]
    score = f"{common.number(float(ranking.mean[ranked[0]]), 1)} of 100 points"
    if len(ranked) == 1:
        return f"{leader} scores {score}; there is no other model to hold it against."
    if ranking.small:
        talks = common.counted(len(ranking.conversations), "conversation")
        people = common.counted(ranking.participants, "participant")
        return f"{leader} has the highest score ({score}), but {talks} of {people} are too few to call anyone best."
    top = [names[place] for place in ranking.tiers[0]]
    if len(top) == 1:
        return f"{leader}, with {score}. It is reliably ahead of every other model here."
    if len(top) == len(ranked):
        return f"Nobody, reliably. {leader} has the highest score ({score}), but no model is reliably behind it."
    rest = [name for name in top if name != leader]
    return (
        f"{leader} has the highest score ({score}). {common.listed(rest)} may be as good: "
        f"{'it is' if len(rest) == 1 else 'they are'} not reliably behind it."
    )


def _sure(ranking: Ranking) -> str:
    """How sure the order is."""
    pairs = ranking.pairs
    if not pairs.of:
        return "With one model there is no order to be sure of; its interval says how far its score could be off."
    if ranking.small:
        return "Not at all: on so few conversations or participants no difference is claimed, however large it looks."
    found = f"{pairs.apart} of {common.counted(pairs.of, 'pair')} of models are told apart."
    detectable = pairs.mde_corrected[~np.isnan(pairs.mde_corrected)]
    if detectable.size:
        found += (
            f" Differences under about {common.number(float(np.median(detectable)), 1)} points would mostly go "
            "unnoticed with this many conversations."
        )
    first = ranking.order[0]
    if not np.isnan(ranking.stability.p_best[first]):
        share = round(100 * float(ranking.stability.p_best[first]))
        found += (
            f" Had other conversations of this kind been drawn, {ranking.groups[first].label} would have come first in "
            f"about {share} of 100 draws."
        )
    return found


def _tier(ranking: Ranking, place: int) -> str:
    """The tier; "–" without a mean, and where so little was scored that a tier would be a claim."""
    number = ranking.tier[place]
    return "–" if ranking.small or np.isnan(number) else str(int(number))
