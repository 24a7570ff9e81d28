"""In how many conversations one model has the higher value than another, a tie counting half; and ratings from that.

Uses `pairwise_accuracy` unless another metric is asked for.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, known, text
from attunebench.analyses.testing import reach_text
from attunebench.errors import StatisticsError
from attunebench.scores.table import ScoreTable
from attunebench.statistics import bootstrap
from attunebench.statistics.bootstrap import Estimates, Floats
from attunebench.statistics.paired import PairedTests
from attunebench.statistics.ratings import resampled_ratings, win_matrix

_METRIC = "pairwise_accuracy"


def analyse(subject: Subject) -> Analysis:
    """Win rate of each model against each other one and against all, with intervals over conversations."""
    begun = common.begun("win-rates")
    study, settings = common.models_of(subject), subject.settings
    metric_id = next(iter(common.wanted_metrics(settings, (_METRIC,))), _METRIC)
    values = study.values(metric_id)
    if len(study.groups) < 2:
        return replace(begun, missing="A win rate needs two models; only one was scored here.")
    if np.isnan(values).all():
        return replace(begun, missing=f"{common.label_of(metric_id)} is not defined for any conversation here.")
    wins = win_matrix(values if common.better(metric_id) else -values)
    sampling = Sampling.of(study, settings)
    rates = _Rates.of(wins, values, sampling, metric_id)
    return replace(
        begun,
        tables=(_overall(study, metric_id, rates, sampling), _matrix(study, metric_id, rates, sampling)),
        shows=_shows(study, metric_id, rates, sampling),
        cannot="A win says which model was closer in a conversation, not by how much: a model can win more often and "
        "still have the lower mean. Ratings assume one order of skill for all conversations.",
        warnings=(*common.comparability(study, (metric_id,)), *reach_text(rates.least, settings)),
        notes=(common.small_text(settings),),
    )


class _Rates:
    """Win rates of all pairs, their tests against one half, and of each model against all others."""

    def __init__(self, pairs: Estimates, overall: Estimates, tests: PairedTests, elo: Floats, settings: Settings):
        self.pairs, self.overall, self.elo, self.count = pairs, overall, elo, len(overall.value)
        self.least, few = tests.least, (tests.n < settings.small) | common.beyond_reach(tests.least, settings)
        self.p, self.corrected, self.small = (
            _symmetric(values, self.count)
            for values in (tests.p, common.corrected_p(tests, settings), few & (tests.n > 0))
        )

    @classmethod
    def of(cls, wins: Floats, values: Floats, sampling: Sampling, metric_id: str) -> _Rates:
        met = _met(values)
        pairs = bootstrap.estimate_ratios(
            wins.reshape(len(wins), -1),
            met.reshape(len(met), -1),
            sampling.weights,
            clusters=sampling.clusters,
            level=sampling.settings.level,
        )
        overall = bootstrap.estimate_ratios(
            wins.sum(axis=2),
            met.sum(axis=2),
            sampling.weights,
            clusters=sampling.clusters,
            level=sampling.settings.level,
        )
        tests = _tests(wins, met, sampling, metric_id)
        return cls(pairs, overall, tests, _elo(wins, sampling), sampling.settings)

    def told_apart(self, sampling: Sampling) -> list[tuple[int, int]]:
        """Pairs (winner, loser) whose rate is told from one half."""
        found = []
        for i in range(self.count):
            for j in range(self.count):
                k = i * self.count + j
                sure = not self.small[i, j] and self.corrected[i, j] <= sampling.settings.alpha
                if i != j and sure and self.pairs.value[k] > 0.5:
                    found.append((i, j))
        return found


def _met(values: Floats) -> Floats:
    known_ = ~np.isnan(values)
    met = (known_[:, :, None] & known_[:, None, :]).astype(np.float64)
    met[:, np.arange(values.shape[1]), np.arange(values.shape[1])] = 0.0
    return met


def _tests(wins: Floats, met: Floats, sampling: Sampling, metric_id: str) -> PairedTests:
    """Sign-flip tests of win against loss for each pair of models."""
    first, second = np.triu_indices(wins.shape[1], 1)
    gap = np.where(met > 0, 0.0, np.nan)
    a, b = (wins + gap)[:, first, second], (wins.swapaxes(1, 2) + gap)[:, first, second]
    return sampling.tests(f"win-rates {metric_id}", a, b)


def _symmetric(values: Floats | NDArray[np.bool_], count: int) -> Floats:
    """Values of pairs as (models, models), NaN on the diagonal."""
    table = np.full((count, count), np.nan)
    first, second = np.triu_indices(count, 1)
    table[first, second] = table[second, first] = values
    return table


def _elo(wins: Floats, sampling: Sampling) -> Floats:
    """Elo-like rating and its bounds: (3, models); NaN where there are none."""
    try:
        ratings = resampled_ratings(wins, sampling.weights, clusters=sampling.clusters, level=sampling.settings.level)
    except StatisticsError:
        return np.full((3, wins.shape[1]), np.nan)
    return np.stack([ratings.elo, ratings.low, ratings.high])


def _overall(study: ScoreTable, metric_id: str, rates: _Rates, sampling: Sampling) -> Table:
    apart = rates.told_apart(sampling)
    small = sampling.small(study.values(metric_id))
    rows = []
    for i in common.by_value(rates.overall.value):
        o = rates.overall
        share = Cell(
            known(o.value[i]),
            known(o.low[i]),
            known(o.high[i]),
            n=int(o.n[i]),
            small=bool(small[i]),
            mark=common.mark_of(o.value[i], o.low[i], int(o.n[i])),
        )
        value, low, high = (known(bound) for bound in rates.elo[:, i])
        elo = Cell(value, low, high, small=bool(small[i]))
        beats, loses = sum(w == i for w, _ in apart), sum(loser == i for _, loser in apart)
        rows.append((text(study.groups[i].label), Cell(int(o.n[i])), share, Cell(beats), Cell(loses), elo))
    return Table(
        "overall",
        f"Against all others on {common.label_of(metric_id)}",
        (
            Column("model", "model", "text"),
            Column("n", "conversations", "count"),
            Column("rate", "win rate", "share", "Share of meetings with another model in which it is higher.", True),
            Column("beats", "beats", "count", "Models that it beats in more than half of the conversations, tested."),
            Column("loses", "loses to", "count", "Models that beat it in more than half of the conversations, tested."),
            Column(
                "elo",
                "rating",
                "number",
                "Bradley–Terry, 1000 + 400/ln 10 · θ: 400 points are odds of 10 to 1.",
                True,
                0,
            ),
        ),
        tuple(rows),
        caption=f"{common.sample_text(study)}; a tie counts half to each. {common.intervals_text(sampling.settings)}.",
        chart=Chart("intervals", "model", ("rate",), "Win rate against all others", "share of meetings", {"even": 0.5}),
    )


def _matrix(study: ScoreTable, metric_id: str, rates: _Rates, sampling: Sampling) -> Table:
    order = common.by_value(rates.overall.value)
    rows = []
    for i in order:
        cells: list[Cell] = [text(study.groups[i].label)]
        for j in order:
            k = i * rates.count + j
            n = int(rates.pairs.n[k])
            cells.append(
                Cell(None)
                if i == j
                else Cell(
                    known(rates.pairs.value[k]),
                    known(rates.pairs.low[k]),
                    known(rates.pairs.high[k]),
                    n=n,
                    p=known(rates.p[i, j]),
                    p_corrected=known(rates.corrected[i, j]),
                    small=bool(rates.small[i, j]),
                    mark=common.mark_of(rates.pairs.value[k], rates.pairs.low[k], n),
                    drill=Drill(group=study.groups[i].key, metric=metric_id),
                )
            )
        rows.append(tuple(cells))
    pairs = common.counted(rates.count * (rates.count - 1) // 2, "pair")
    return Table(
        "matrix",
        f"Row against column on {common.label_of(metric_id)}",
        (
            Column("model", "model", "text"),
            *(
                Column(f"against_{study.groups[j].label}", study.groups[j].label, "share", "Row's share of wins.", True)
                for j in order
            ),
        ),
        tuple(rows),
        caption="Share of the conversations of both in which the row's model is higher, a tie counting half. "
        f"{common.intervals_text(sampling.settings)}; {common.correction_text(sampling.settings, pairs)}.",
        chart=Chart(
            "matrix",
            "model",
            tuple(f"against_{study.groups[j].label}" for j in order),
            "Win rates",
            "share of conversations won",
            {"even": 0.5},
        ),
    )


def _shows(study: ScoreTable, metric_id: str, rates: _Rates, sampling: Sampling) -> str:
    apart, total = rates.told_apart(sampling), rates.count * (rates.count - 1) // 2
    most = int(rates.pairs.n.max(initial=0))
    if not (rates.small == 0).any():
        return (
            f"No two models have more than {common.counted(most, 'conversation')} of "
            f"{common.counted(len(np.unique(sampling.people)), 'participant')} in common: too few for a claim."
        )
    if not apart:
        return (
            f"On {common.label_of(metric_id)} no model is shown to win more often than another "
            f"(0 of {common.counted(total, 'pair')})."
        )
    best = common.by_value(rates.overall.value)[0]
    beaten = [study.labels[loser] for winner, loser in apart if winner == best]
    said = f"On {common.label_of(metric_id)} {len(apart)} of {common.counted(total, 'pair')} have a winner."
    if not beaten:
        return said
    share = common.number(float(rates.overall.value[best]))
    return f"{said} {study.labels[best]} wins {share} of its meetings and beats {common.listed(beaten)}."
