"""In how many conversations one model has the higher value than another, a tie counting half; and ratings from that.

Uses `pairwise_accuracy` unless another metric is asked for.
"""

from __future__ import annotations

import numpy as np

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Subject, label_of, value_of
from attunebench.analyses.sampling import Sampling, beyond_reach, cells_of, claimed, corrected_p
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, table, words
from attunebench.analyses.within import estimate_rates
from attunebench.comparison.pairing import Marks
from attunebench.errors import StatisticsError
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.ratings import resampled_ratings, win_matrix


def analyse(subject: Subject) -> Analysis:
    """Win rate of each model against each other one and against all, with intervals over conversations."""
    study, settings = base.models_of(subject, least=2), subject.settings
    metric_id = base.wanted_metrics(settings, ("pairwise_accuracy",))[0]
    label, values, count = label_of(metric_id), study.values(metric_id), len(study.groups)
    if np.isnan(values).all():
        raise Missing(f"{label} is not defined for any conversation here.")
    sampling, defined = Sampling.of(study, settings), ~np.isnan(values)
    wins = win_matrix(values if base.better(metric_id) else -values)
    met = (defined[:, :, None] & defined[:, None, :] & ~np.eye(count, dtype=bool)).astype(np.float64)
    first, second = np.triu_indices(count, 1)
    sides = [np.where(met > 0, side, np.nan)[:, first, second] for side in (wins, wins.swapaxes(1, 2))]
    tests = sampling.tests(f"win-rates {metric_id}", *sides)
    few = (tests.n < settings.small) | beyond_reach(tests.least, settings)
    square = np.full((3, count, count), np.nan)
    square[:, first, second] = square[:, second, first] = np.stack([tests.p, corrected_p(tests, settings), few])
    p, corrected, small = square.reshape(3, -1)
    found = estimate_rates(sampling, *(part.reshape(len(values), -1) for part in (wins, met)))
    drills = [Drill(group=group.key, metric=metric_id) for group in study.groups for _ in study.groups]
    against = cells_of(found.value, found.low, found.high, found.n, small == 1, drills, p=p, p_corrected=corrected)
    against[:: count + 1] = [Cell(None)] * count
    overall, small = estimate_rates(sampling, wins.sum(axis=2), met.sum(axis=2)), sampling.small(values)
    rates = cells_of(overall.value, overall.low, overall.high, overall.n, small)
    return Analysis(
        tables=(
            _overall(study, label, rates, _beats(against, sampling), _elo(wins, sampling, small), sampling),
            _matrix(study, label, rates, against, sampling),
        ),
        shows=_shows(study, label, rates, against, sampling),
        cannot="A win says which model was closer in a conversation, not by how much: a model can win more often and "
        "still have the lower mean. Ratings assume one order of skill for all conversations.",
        warnings=(*verdicts.comparability(study, (metric_id,)), *verdicts.reach_text(tests.least, settings)),
    )


def _beats(against: list[Cell], sampling: Sampling) -> Marks:
    """Which model (row) beats which in significantly more than half of the conversations."""
    beats = [claimed(cell, sampling.settings) and value_of(cell) > 0.5 for cell in against]
    return np.array(beats).reshape((round(len(beats) ** 0.5),) * 2)


def _elo(wins: Floats, sampling: Sampling, small: Marks) -> list[Cell]:
    try:
        ratings = resampled_ratings(wins, sampling.weights, clusters=sampling.clusters, level=sampling.settings.level)
    except StatisticsError:
        return cells_of(np.full(wins.shape[1], np.nan), small=small)
    return cells_of(ratings.elo, ratings.low, ratings.high, small=small)


def _order(rates: list[Cell]) -> list[int]:
    return base.by_value(np.array(list(map(value_of, rates))))


def _overall(
    study: ScoreTable, label: str, rates: list[Cell], beats: Marks, elo: list[Cell], sampling: Sampling
) -> Table:
    rating = "Bradley–Terry, 1000 + 400/ln 10 · θ: 400 points are odds of 10 to 1."
    return table(
        "overall",
        f"Against all others on {label}",
        words("model", study.labels),
        counts("n", [cell.n for cell in rates], "conversations"),
        column("rate", rates, "win rate", "share", "Share of its comparisons with others that it wins.", better=True),
        counts("beats", beats.sum(axis=1), "", "Models that it beats significantly."),
        counts("loses", beats.sum(axis=0), "loses to", "Models that beat it significantly."),
        column("elo", elo, "rating", meaning=rating, better=True, digits=0),
        order=_order(rates),
        caption=f"{verdicts.sample_text(study)}; a tie counts half. {verdicts.intervals_text(sampling.settings)}.",
        chart=Chart("intervals", "model", ("rate",), "Win rate against all others", "share won", {"even": 0.5}),
    )


def _matrix(study: ScoreTable, label: str, rates: list[Cell], against: list[Cell], sampling: Sampling) -> Table:
    order, labels, count = _order(rates), study.labels, len(study.groups)
    pairs = verdicts.counted(count * (count - 1) // 2, "pair")
    return table(
        "matrix",
        f"Row against column on {label}",
        words("model", labels),
        *(
            column(f"against_{labels[j]}", against[j::count], labels[j], "share", "Row's share of wins.", better=True)
            for j in order
        ),
        order=order,
        caption="Share of the conversations of both in which the row's model is higher, a tie counting half. "
        f"{verdicts.intervals_text(sampling.settings)}; {verdicts.correction_text(sampling.settings, pairs)}.",
        chart=Chart(
            "matrix", "model", tuple(f"against_{labels[j]}" for j in order), "Win rates", "share won", {"even": 0.5}
        ),
    )


def _shows(study: ScoreTable, label: str, rates: list[Cell], against: list[Cell], sampling: Sampling) -> str:
    if all(cell.value is None or cell.small for cell in against):
        return f"Too few {sampling.settings.units} in common for a claim."
    beats, best = _beats(against, sampling), _order(rates)[0]
    sentence = f"On {label} one model wins significantly more often in {beats.sum()} of "
    sentence += f"{verdicts.counted(len(rates) * (len(rates) - 1) // 2, 'pair')}."
    if not beats[best].any():
        return sentence
    beaten = verdicts.listed([study.labels[j] for j in np.flatnonzero(beats[best])])
    share = verdicts.with_interval(rates[best])
    return f"{sentence} {study.labels[best]} wins {share} of its comparisons and beats {beaten}."
