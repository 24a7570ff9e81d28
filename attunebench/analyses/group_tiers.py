"""Tiers on what is measured turn by turn and on what is measured over the whole talk: who is at the top of both?"""

from __future__ import annotations

from dataclasses import replace

from attunebench.analyses import common
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.comparison import Ranking, tiers_of
from attunebench.metrics.registry import REGISTRY

TURN, WIDE = "turn_level_average", "conversation_wide_average"


def analyse(subject: Subject) -> Analysis:
    """Score, tier and places per model on both averages."""
    begun = common.begun("group-tiers")
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    if len(common.defined_metrics(study, (TURN, WIDE))) < 2:
        return replace(begun, missing="These results were not measured both turn by turn and over the whole talk.")
    turn, wide = tiers_of(study, TURN, settings), tiers_of(study, WIDE, settings)
    return replace(
        begun,
        tables=(_table(turn, wide, settings),),
        shows=_shows(turn, wide),
        cannot="A tier groups those that these conversations cannot tell from its best; with more conversations a tier "
        "can split. The averages weigh their parts otherwise than the Composite does.",
        warnings=common.comparability(study, (TURN, WIDE)),
        notes=(common.small_text(settings),),
    )


def _both(turn: Ranking, wide: Ranking) -> list[int]:
    """Who is in the top tier of both."""
    if not turn.tiers or not wide.tiers:
        return []
    return [i for i in turn.tiers[0] if i in wide.tiers[0]]


def _table(turn: Ranking, wide: Ranking, settings: Settings) -> Table:
    both = _both(turn, wide)
    rows = []
    for i in turn.order:
        mark = "top of both" if i in both and not turn.small else ""
        rows.append((text(turn.groups[i].label, mark=mark), Cell(int(turn.n[i])), *_cells(turn, i), *_cells(wide, i)))
    tests = f"{turn.pairs.tests} pairs"
    return Table(
        "tiers",
        "Tiers turn by turn and over the whole talk",
        (
            Column("model", "model", "text"),
            Column("n", "conversations", "count"),
            *_columns("turn", "turn by turn", TURN),
            *_columns("wide", "whole talk", WIDE),
        ),
        tuple(rows),
        caption=f"{common.counted(len(turn.conversations), 'conversation')} of "
        f"{common.counted(turn.participants, 'participant')}, scored for every model. A tier is its best model and all "
        f"that are not told apart from it. {common.intervals_text(settings)}; "
        f"{common.correction_text(settings, tests)} of each average.",
        chart=Chart("scatter", "model", ("turn", "wide"), "Turn by turn against the whole talk", "share"),
    )


def _columns(prefix: str, label: str, metric_id: str) -> tuple[Column, ...]:
    return (
        Column(prefix, label, "share", REGISTRY[metric_id].definition, True),
        Column(f"{prefix}_tier", f"tier, {label}", "rank", "1 is the top tier.", False),
        Column(f"{prefix}_rank", f"rank, {label}", "rank", "Place by the mean, and the places over resamples.", False),
    )


def _cells(ranking: Ranking, i: int) -> tuple[Cell, ...]:
    stability, small = ranking.stability, ranking.small and bool(ranking.n[i] > 0)
    return (
        Cell(
            known(ranking.mean[i]),
            known(ranking.low[i]),
            known(ranking.high[i]),
            n=int(ranking.n[i]),
            small=small,
            mark=common.mark_of(ranking.mean[i], ranking.low[i], int(ranking.n[i])),
            drill=common.drill_to(ranking.groups[i], ranking.metric_id),
        ),
        Cell(known(ranking.tier[i]), small=small),
        Cell(known(stability.rank[i]), known(stability.low[i]), known(stability.high[i]), small=small),
    )


def _shows(turn: Ranking, wide: Ranking) -> str:
    names = [group.label for group in turn.groups]
    if len(names) < 2:
        return "One model has nobody to share a tier with."
    if turn.small:
        few = common.counted(len(turn.conversations), "conversation")
        return f"The models have {few} in common: too few to sort them into tiers."
    sizes = f"{_tiers(turn)} turn by turn and {_tiers(wide)} over the whole talk"
    both = [names[i] for i in _both(turn, wide)]
    if len(turn.tiers) < 2 and len(wide.tiers) < 2:
        return f"There is one tier in each: no model is told apart from the best, and {sizes} say nothing more."
    if not both:
        return f"There are {sizes}; no model is in the top tier of both."
    if len(both) == 1:
        return f"There are {sizes}; {both[0]} is the only model in the top tier of both."
    return f"There are {sizes}; {common.listed(both)} are in the top tier of both."


def _tiers(ranking: Ranking) -> str:
    return common.counted(len(ranking.tiers), "tier")
