"""In how many conversations one model has the higher value than another, a tie counting half; and ratings from that.

Uses `pairwise_accuracy` unless another metric is asked for.
"""

from __future__ import annotations

import numpy as np

from attunebench.analyses import base, verdicts
from attunebench.analyses.base import Settings, Subject, label_of, value_of
from attunebench.analyses.sampling import Sampling, beyond_reach, cells_of, claimed, corrected_p, estimate_rates
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, table, words
from attunebench.analyses.within import in_rows
from attunebench.comparison.pairing import Marks
from attunebench.errors import StatisticsError
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.ratings import resampled_ratings, win_matrix


def analyse(subject: Subject) -> Analysis:
    """Win rate of each model against each other one and against all, with intervals over conversations."""
    study, settings = base.models_of(subject, least=2), subject.settings
    metric_id = base.wanted_metrics(settings, ("pairwise_accuracy",))[0]
    values, label, labels = study.values(metric_id), label_of(metric_id), study.labels
    if np.isnan(values).all():
        raise Missing(f"{label} is not defined for any conversation.")
    sampling, defined, size = Sampling.of(study, settings), ~np.isnan(values), len(labels)
    wins = win_matrix(values if base.better(metric_id) else -values)
    met = (defined[:, :, None] & defined[:, None, :] & ~np.eye(size, dtype=bool)).astype(np.float64)
    against, least = _against(study, metric_id, wins, met, sampling)
    overall, small = estimate_rates(sampling, wins.sum(axis=2), met.sum(axis=2)), sampling.small(values)
    rates = cells_of(overall.value, overall.low, overall.high, overall.n, small)
    try:
        ratings = resampled_ratings(wins, sampling.resampling)
        elo = cells_of(ratings.elo, ratings.low, ratings.high, small=small)
    except StatisticsError:
        elo = cells_of(np.full(size, np.nan), small=small)
    beats = np.array([[claimed(cell, settings) and value_of(cell) > 0.5 for cell in row] for row in against])
    first, pairs = base.best_first(rates)[0], verdicts.counted(size * (size - 1) // 2, "pair")
    shows = f"On {label} one model wins significantly more often in {beats.sum()} of {pairs}."
    if not beats.any():
        shows = f"On {label} no model wins significantly more often than another ({pairs})."
    if all(cell.value is None or cell.small for row in against for cell in row):
        shows = f"Too few {settings.units} in common for a claim."
    elif beats[first].any():
        beaten = verdicts.listed([labels[j] for j in np.flatnonzero(beats[first])])
        shows += f" {labels[first]} wins {verdicts.with_interval(rates[first])} of its comparisons and beats {beaten}."
    return Analysis(
        tables=_tables(study, label, rates, elo, beats, against, settings),
        shows=shows,
        cannot="A win shows which model was closer in a conversation, not by how much: a model can win more often and "
        "still have the lower mean. Ratings assume the same order of models in all conversations.",
        warnings=(*verdicts.comparability(study, (metric_id,)), *verdicts.reach_text(least, settings)),
    )


def _against(
    study: ScoreTable, metric_id: str, wins: Floats, met: Floats, sampling: Sampling
) -> tuple[list[list[Cell]], Floats]:
    """A cell for each model (row) against each other one, tested against an even share; and the smallest p of each
    test. `wins` and `met` are (conversations, models, models)."""
    size, settings = len(study.groups), sampling.settings
    first, second = np.triu_indices(size, 1)
    sides = [np.where(met > 0, side, np.nan)[:, first, second] for side in (wins, wins.swapaxes(1, 2))]
    tests = sampling.tests(f"win-rates {metric_id}", *sides)
    few = (tests.n < settings.small) | beyond_reach(tests.least, settings)
    square = np.full((3, size, size), np.nan)
    square[:, first, second] = square[:, second, first] = np.stack([tests.p, corrected_p(tests, settings), few])
    p, corrected, small = square.reshape(3, -1)
    found = estimate_rates(sampling, *(part.reshape(len(wins), -1) for part in (wins, met)))
    drills = [Drill(group=group.key, metric=metric_id) for group in study.groups for _ in study.groups]
    cells = cells_of(found.value, found.low, found.high, found.n, small == 1, drills, p=p, p_corrected=corrected)
    cells[:: size + 1] = [Cell(None)] * size
    return in_rows(cells, size), tests.least


def _tables(
    study: ScoreTable,
    label: str,
    rates: list[Cell],
    elo: list[Cell],
    beats: Marks,
    against: list[list[Cell]],
    settings: Settings,
) -> tuple[Table, Table]:
    """Each model against all others, and row against column."""
    order, labels = base.best_first(rates), study.labels
    rating = "Bradley–Terry, 1000 + 400/ln 10 · θ: 400 points are odds of 10 to 1."
    columns = [(f"against_{labels[j]}", [row[j] for row in against], labels[j]) for j in order]
    ids, pairs = tuple(id for id, *_ in columns), verdicts.counted(len(order) * (len(order) - 1) // 2, "pair")
    overall = table(
        "overall",
        f"Win rate against all others on {label}",
        words("model", labels),
        counts("n", [cell.n for cell in rates], "conversations"),
        column("rate", rates, "win rate", "share", "Share of comparisons with other models that it wins.", better=True),
        counts("beats", beats.sum(axis=1), "", "Models that it beats significantly."),
        counts("loses", beats.sum(axis=0), "loses to", "Models that beat it significantly."),
        column("elo", elo, "rating", meaning=rating, better=True, digits=0),
        order=order,
        caption=f"{verdicts.sample_text(study)}; a tie counts as half.",
        chart=Chart("intervals", "model", ("rate",), "Win rate against all others", "share won", {"even": 0.5}),
    )
    matrix = table(
        "matrix",
        f"Win rate of row against column on {label}",
        words("model", labels),
        *(column(*one, "share", "Row's share of wins.", better=True) for one in columns),
        order=order,
        caption="Share of the shared conversations in which the row's model is higher; a tie counts as half. "
        f"{verdicts.correction_text(settings, pairs)}.",
        chart=Chart("matrix", "model", ids, "Win rates", "share won", {"even": 0.5}),
    )
    return overall, matrix
