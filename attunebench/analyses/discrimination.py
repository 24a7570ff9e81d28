"""Which metrics distinguish models: in how many pairs each one differs significantly, raw and corrected.

Tests are those of `compare`. Metrics are listed in the order in which they discriminate.
"""

from __future__ import annotations

import numpy as np

from attunebench.analyses.base import Subject, comparable_metrics, label_of, metrics_of, models_of
from attunebench.analyses.sampling import mean_over_models
from attunebench.analyses.table import ZERO_INFLATED, Analysis, Cell, Chart, Missing, column, counts, table, words
from attunebench.analyses.verdicts import comparability, correction_text, judges_note, listed, sample_text
from attunebench.comparison.pairing import PairTable, pairs, reach_warnings
from attunebench.comparison.ranking import pair_columns
from attunebench.metrics.registry import REGISTRY
from attunebench.statistics.intervals import zero_inflated

METRICS = tuple(
    card.id
    for card in REGISTRY.values()
    if card.status in ("canonical", "alongside") and card.higher_is_better is not None and card.group != "diagnostic"
)


def analyse(subject: Subject) -> Analysis:
    """Pairs that differ significantly per metric, with the difference that each metric could have found."""
    study, settings = models_of(subject, least=2), subject.settings
    values = metrics_of(study, settings, METRICS)
    tests = [pairs(study, metric_id, settings) for metric_id in comparable_metrics(study, values)]
    if not tests:
        raise Missing("None of the metrics can be compared between these models.")
    tests.sort(key=lambda one: (one.apart, one.apart_raw), reverse=True)
    tables = [values[one.metric_id] for one in tests]
    marks = [ZERO_INFLATED if zero_inflated(table.reshape(-1, 1))[0] else "" for table in tables]
    means = [mean_over_models(table.T) for table in tables]
    shares = [Cell(one.apart / one.tests, small=one.undecidable) if one.tests else Cell(None) for one in tests]
    shown = table(
        "pairs",
        "Pairs of models that differ significantly, by metric",
        words("metric", [Cell(label_of(one.metric_id), mark=mark) for one, mark in zip(tests, marks, strict=True)]),
        counts(
            "n",
            [one.once("n").min() for one in tests],
            "conversations",
            "Smallest number of conversations that any pair has in common.",
        ),
        *pair_columns(tests, settings, better=True),
        column(
            "share",
            shares,
            "",
            "share",
            "Share of pairs that differ significantly after correction.",
            better=True,
            digits=2,
        ),
        column("span", [np.nanmax(mean) - np.nanmin(mean) for mean in means], meaning="Best mean minus worst."),
        column("mde", [one.median("mde") for one in tests], "detectable", meaning="Median minimum detectable effect."),
        caption=f"{sample_text(study)}; each pair over its shared conversations. "
        f"{correction_text(settings, 'the pairs of a metric')}. Counts have no interval, because pairs that share a "
        f"model are dependent. “Detectable” is the difference that a test finds with {100 * settings.power:g} % power.",
        chart=Chart(
            "bars", "metric", ("share",), "Pairs of models that differ significantly", "share of pairs", first=25
        ),
    )
    return Analysis(
        tables=(shown,),
        shows=_shows([one for one in tests if not one.undecidable]),
        cannot="A metric on which many models differ is not necessarily more valid: it may measure something less "
        "important with less noise. Where no models differ, all may be equally good.",
        warnings=(*comparability(study, values), *reach_warnings(tests, settings)),
        notes=judges_note(study, [one.metric_id for one in tests]),
    )


def _shows(tests: list[PairTable]) -> str:
    """`tests` are those with enough behind them for a claim, the most pairs that differ first."""
    if not tests:
        return "No pair of models has enough conversations or participants in common for a claim."
    most, fewest = tests[0].apart, tests[-1].apart
    if not most:
        return "No two models differ significantly on any metric after correction."
    by_count = {count: [label_of(one.metric_id) for one in tests if one.apart == count] for count in (most, fewest)}
    least = f", the fewest on {listed(by_count[fewest])} ({fewest} of {tests[-1].of})" if fewest < most else ""
    return f"The most pairs differ significantly on {listed(by_count[most])} ({most} of {tests[0].of}){least}."
