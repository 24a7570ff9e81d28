"""Entries of many conversations → one line per (provider, model, mode): means with their doubt, pooled counts.

An entry is kept as one row of numbers, so that thousands of results are a matrix, and a process can hand them to
another at little cost. Epochs of a conversation are averaged first, so that it counts once however often it was run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypedDict, get_args

import numpy as np

from attunebench.errors import UsageError
from attunebench.judging import JudgeScale
from attunebench.metrics.binary import Confusion
from attunebench.metrics.registry import Rules, cards_of
from attunebench.results.schema import BINARY_BLOCKS
from attunebench.scorer.answers import COUNTS, RATES
from attunebench.scorer.conversation import pooled_json
from attunebench.scorer.released import CATEGORIES
from attunebench.scores.schema import Aggregate, Pooled
from attunebench.statistics import bootstrap
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.intervals import bca_ratios, with_wilson

Ci = Literal["percentile", "bca"]
Cluster = Literal["participant"]


class ScoreOptions(TypedDict, total=False):
    """How scores and their intervals are made; the defaults are those of `ScoreSettings`."""

    seed: int
    resamples: int
    cluster: Cluster | None
    """Intervals are over conversations, or over participants."""
    ci: Ci
    """"bca": intervals are corrected for bias and skewness where that is defined."""
    rules: Rules
    """"released" computes what the released scorer does, for comparison with published numbers."""
    judge_scale: JudgeScale | None
    """The scale of the votes that count; None: where a model's results hold votes on both, the quality scale."""


@dataclass(frozen=True, slots=True)
class ScoreSettings:
    """The `ScoreOptions`, checked; UsageError for a value that does not exist. Groups of as many units share their
    resamples."""

    seed: int = 0
    resamples: int = 10_000
    cluster: Cluster | None = None
    ci: Ci = "percentile"
    rules: Rules = "attunebench"
    judge_scale: JudgeScale | None = None

    def __post_init__(self) -> None:
        if self.resamples < 1 or self.seed < 0:
            raise UsageError("The number of resamples must be at least 1 and the seed at least 0.")
        for what, value, known in (
            ("cluster", self.cluster, (None, *get_args(Cluster))),
            ("interval", self.ci, get_args(Ci)),
            ("rules", self.rules, get_args(Rules)),
        ):
            if value not in known:
                raise UsageError(f"Unknown {what} {value!r}; choose {' or '.join(filter(None, known))}.")

    def estimate(self, columns: Columns | None) -> dict[str, Aggregate]:
        """Every metric of a group with its doubt; n 0 and no value anywhere for a group without columns."""
        ids = cards_of(self.rules)
        if columns is None:
            return {name: {"mean": None, "n": 0, "se": None, "ci_low": None, "ci_high": None} for name in ids}
        above, below, clusters = columns
        units = len(above) if clusters is None else int(clusters.max()) + 1
        weights = bootstrap.resample_weights(units, self.resamples, np.random.default_rng(self.seed))
        resampling = bootstrap.Resampling(weights, clusters)
        found = bootstrap.estimate_ratios(above, below, resampling)
        proportions = np.array([card.proportion for card in ids.values()])
        found, wilson = with_wilson(found, below, proportions, resampling)
        low, high = found.low, found.high
        methods = np.where(wilson, "wilson", "")
        if self.ci == "bca":
            bca = bca_ratios(above, below, resampling)
            corrected = ~np.isnan(low) & ~np.isnan(bca.low)
            low, high = np.where(corrected, bca.low, low), np.where(corrected, bca.high, high)
            named = np.where(corrected, np.where(bca.fell_back, "percentile", "bca"), "")
            methods = np.where(wilson, methods, named)
        figures = (column.tolist() for column in (found.value, found.n, found.se, low, high, methods))
        return {name: _aggregate(*row) for name, *row in zip(ids, *figures, strict=True)}


def _aggregate(mean: float, n: int, se: float, low: float, high: float, method: str) -> Aggregate:
    known = [None if np.isnan(value) else value for value in (mean, se, low, high)]
    aggregate: Aggregate = {"mean": known[0], "n": n, "se": known[1], "ci_low": known[2], "ci_high": known[3]}
    if method:
        aggregate["ci_method"] = method
    return aggregate


class Columns(NamedTuple):
    """What a bootstrap needs of a group: conversations × metrics in registry order, and the cluster of each row."""

    numerators: Floats
    denominators: Floats
    clusters: bootstrap.Labels | None


def columns_of(
    units: Sequence[tuple[str, str | None]], rows: Sequence[Floats], settings: ScoreSettings
) -> Columns | None:
    """The columns of a group, one row for each conversation however often it was run; None where nothing was scored.

    `units`: of each row of `score_prepared` (pooled counts may lack) the conversation and its participant, or None.
    """
    if not units:
        return None
    ids, table = list(cards_of(settings.rules)), np.array(rows)
    runs: dict[str, list[int]] = {}
    for row, (conversation, _) in enumerate(units):
        runs.setdefault(conversation, []).append(row)
    values = np.array([_mean_over_epochs(table[places, : len(ids)]) for places in runs.values()])
    numerators, denominators = bootstrap.mean_as_ratio(values)
    for metric_id, counts in RATES.items():
        both = table[:, [len(ids) + COUNTS.index(name) for name in counts]]
        both[np.isnan(both).any(axis=1)] = 0
        column = ids.index(metric_id)
        for row, places in enumerate(runs.values()):
            numerators[row, column], denominators[row, column] = both[places].sum(axis=0)
    return Columns(
        numerators, denominators, _clusters([units[p[0]] for p in runs.values()]) if settings.cluster else None
    )


def _mean_over_epochs(values: Floats) -> Floats:
    if len(values) == 1:
        return np.asarray(values[0])
    numerators, denominators = bootstrap.mean_as_ratio(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(numerators.sum(axis=0) / denominators.sum(axis=0))


def _clusters(units: Sequence[tuple[str, str | None]]) -> bootstrap.Labels:
    """A label per conversation; one whose participant is unknown is a cluster of its own."""
    labels: dict[tuple[bool, str], int] = {}
    keys = [(who is not None, conversation if who is None else who) for conversation, who in units]
    return np.array([labels.setdefault(key, len(labels)) for key in keys], dtype=np.intp)


def pooled_of(rows: Sequence[Floats], rules: Rules) -> Pooled:
    """The pooled counts of rows together; a block that none of them has measured is None."""
    table = np.array(rows)[:, -len(BINARY_BLOCKS) * len(CATEGORIES) * len(Confusion._fields) :]
    table = table.reshape(len(rows), len(BINARY_BLOCKS), len(CATEGORIES), -1)
    known = np.asarray(np.isfinite(table[:, :, 0, 0]).any(axis=0))
    measured = [block for block, some in zip(BINARY_BLOCKS, known, strict=True) if some]
    return pooled_json(np.nansum(table, axis=0).astype(np.int64), measured, rules)
