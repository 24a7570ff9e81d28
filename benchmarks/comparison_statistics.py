"""How long intervals, paired tests and corrections take: seconds, and ratios to the target and to bare multiplication.

Usage: python benchmarks/comparison_statistics.py [--resamples N] [--conversations N]
The load target: 10,000-resample intervals of 30 metrics × 33 groups at 200 conversations, and 55 pairs × 10 metrics of
paired tests with 10,000 flips, in 5 s together on two cores.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import numpy as np

from attunebench.statistics import bootstrap, intervals
from attunebench.statistics.multiple import adjust, max_t
from attunebench.statistics.paired import paired_tests
from attunebench.statistics.ranks import rank_stability

METRICS, GROUPS, MODELS, COMPARED = 30, 33, 11, 10
TARGET_SECONDS = 5.0


def main() -> None:
    options = _options()
    rng = np.random.default_rng(0)
    scores = _scores(rng, options.conversations)
    columns = scores.reshape(len(scores), -1)
    bare = _timed(
        f"bare multiplication, {options.resamples:,} × {len(scores)} by {columns.shape[1]} columns",
        lambda: rng.random((options.resamples, len(scores))) @ np.nan_to_num(columns),
    )
    made = _timed(
        f"percentile intervals, {METRICS} metrics × {GROUPS} groups",
        lambda: _intervals(scores, options.resamples, bca=False),
        bare,
    )
    tested = _timed(
        f"paired tests, {MODELS * (MODELS - 1) // 2} pairs × {COMPARED} metrics, with Holm and max-T",
        lambda: _tests(scores[:, :MODELS, :COMPARED], options.resamples),
        bare,
    )
    _timed("BCa intervals of the same", lambda: _intervals(scores, options.resamples, bca=True), bare)
    _timed(f"ranks of {COMPARED} metrics", lambda: _ranks(scores[:, :MODELS, :COMPARED], options.resamples), bare)
    together = made + tested
    print(f"intervals and tests together {together:.2f} s, {together / TARGET_SECONDS:.2f} × the target of 5 s")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the statistics of scores and comparisons.")
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--conversations", type=int, default=200)
    return parser.parse_args()


def _scores(rng: np.random.Generator, conversations: int) -> bootstrap.Floats:
    """(conversations, groups, metrics) with one gap in fifty, as metrics that are not always defined have."""
    scores = rng.normal(0.6, 0.1, (conversations, GROUPS, METRICS)).round(3)
    scores[rng.random(scores.shape) < 0.02] = np.nan
    return scores


def _timed(what: str, work: Callable[[], object], bare: float | None = None) -> float:
    began = time.perf_counter()
    work()
    seconds = time.perf_counter() - began
    ratio = "" if bare is None else f", {seconds / bare:.1f} × bare multiplication"
    print(f"{what}: {seconds:.2f} s{ratio}")
    return seconds


def _intervals(scores: bootstrap.Floats, resamples: int, *, bca: bool) -> None:
    """As `score` makes them: a call for each group, one weight matrix for all."""
    resampling = bootstrap.Resampling(bootstrap.resample_weights(len(scores), resamples, np.random.default_rng(0)))
    for group in range(scores.shape[1]):
        columns = bootstrap.mean_as_ratio(scores[:, group])
        if bca:
            intervals.bca_ratios(*columns, resampling)
        else:
            bootstrap.estimate_ratios(*columns, resampling)


def _tests(scores: bootstrap.Floats, resamples: int) -> None:
    """As `compare` makes them: all pairs of all metrics in one call, corrected metric by metric."""
    first, second = np.triu_indices(scores.shape[1], 1)
    sides = (scores[:, side].reshape(len(scores), -1) for side in (first, second))
    found = paired_tests(*sides, rng=np.random.default_rng(0), resamples=resamples, permutations=resamples)
    for metric in range(scores.shape[2]):
        columns = slice(metric, None, scores.shape[2])
        adjust(found.p[columns], "holm")
        max_t(found.observed[columns], found.null[:, columns])


def _ranks(scores: bootstrap.Floats, resamples: int) -> None:
    resampling = bootstrap.Resampling(bootstrap.resample_weights(len(scores), resamples, np.random.default_rng(0)))
    for metric in range(scores.shape[2]):
        rank_stability(scores[:, :, metric], resampling)


if __name__ == "__main__":
    main()
