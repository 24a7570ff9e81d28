"""What a model's results cost in money, tokens and time, beside its Composite. Knows no price: results state it."""

from __future__ import annotations

import numpy as np

from attunebench.analyses.account import Account, reader
from attunebench.analyses.base import Subject, by_value, levels, models_of
from attunebench.analyses.sampling import Sampling, cells_of, estimate_rates, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, column, counts, table, words
from attunebench.analyses.verdicts import correlation_sentence, counted, sample_text
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.correlation import rank_correlations
from attunebench.statistics.permutation import permutations_needed
from attunebench.statistics.rank_tests import least_spearman_p, spearman_p

_TOKENS = {
    "prompt_tokens": "prompt tokens",
    "cached_tokens": "cached prompt tokens",
    "completion_tokens": "reply tokens",
    "reasoning_tokens": "reasoning tokens",
}
FRONTIER = "frontier"


def analyse(subject: Subject) -> Analysis:
    """Cost, tokens and time per conversation, total cost, and cost per point of the Composite."""
    study = models_of(subject, least=1)
    cost = study.entry_values(reader("api_cost"))
    usage = {"seconds": study.entry_values(reader("duration_seconds"))}
    usage |= {kind: study.entry_values(reader("usage", kind)) for kind in _TOKENS}
    usage = {name: values for name, values in usage.items() if not np.isnan(values).all()}
    priced = not np.isnan(cost).all()
    if not priced and not usage:
        raise Missing("No result records its cost, duration or number of tokens.")
    sampling, scored = Sampling.of(study, subject.settings), study.scored()
    gaps, results = int((scored & np.isnan(cost)).sum()), counted(int(scored.sum()), "result")
    return Analysis(
        tables=(
            *([_money(study, cost, sampling)] if priced else []),
            *([_usage(study, usage, sampling)] if usage else []),
        ),
        shows=_shows(study, cost, sampling) if priced else "No result records its cost.",
        cannot="Costs are as billed or estimated for each result, and prices change over time; seconds depend on the "
        "server, its load and the number of concurrent requests. Cost per point compares prices: it does not show that "
        "paying more would gain points, or that points are worth the same along the scale.",
        notes=(f"{gaps} of {results} do not record their cost." if gaps else "Every result records its cost.",),
    )


def _money(study: ScoreTable, cost: Floats, sampling: Sampling) -> Table:
    composite, settings = study.values("composite"), sampling.settings
    both = ~np.isnan(cost + composite)
    ratio = estimate_rates(sampling, *(np.where(both, values, 0.0) for values in (cost, composite)))
    per_point = cells_of(ratio.value, ratio.low, ratio.high, both.sum(axis=0))
    means = [sampling.estimate(values).value for values in (cost, composite)]
    marks = [FRONTIER if on else "" for on in _frontier(*means)]
    totals = [Account.of(study, group, settings).amount("api_cost").total for group in study.groups]
    return table(
        "money",
        "Cost in US dollars",
        words("model", [Cell(label, mark=mark) for label, mark in zip(study.labels, marks, strict=True)]),
        counts("n", (~np.isnan(cost)).sum(axis=0), "conversations", "Conversations whose result records its cost."),
        column("cost", sampling.cells(cost, flag=False), "per conversation", "usd", "Mean cost.", better=False),
        column("total", totals, "", "usd", "Sum over all results that record their cost, including epochs."),
        column("composite", sampling.cells(composite), "Composite", "points", "Mean Composite, 0–100.", better=True),
        column("per_point", per_point, "", "usd", "Cost over Composite, where both are known.", better=False, digits=5),
        order=by_value(means[0], higher_is_better=False),
        caption=f"{sample_text(study)}; cheapest first. “{FRONTIER}”: no other model is both as cheap and as "
        f"good, by the means and without a test.",
        chart=Chart(
            *("scatter", "model", ("cost", "composite"), "Composite and cost", "US dollars per conversation"),
            lines=levels(study, "composite"),
        ),
    )


def _frontier(cost: Floats, composite: Floats) -> list[bool]:
    """Whether no other model costs as little and scores as high; of none where all cost the same."""
    usable = ~np.isnan(cost + composite)
    if len(set(cost[usable])) < 2:
        return [False] * len(cost)
    with np.errstate(invalid="ignore"):
        no_worse = (cost[:, None] <= cost) & (composite[:, None] >= composite)
    return list(usable & ~(no_worse & ~no_worse.T).any(axis=0))


def _usage(study: ScoreTable, usage: dict[str, Floats], sampling: Sampling) -> Table:
    cells = {name: sampling.cells(values, flag=False) for name, values in usage.items()}
    seconds = cells.pop("seconds", None)
    return table(
        "usage",
        "Time and tokens per conversation",
        words("model", study.labels),
        *([column("seconds", seconds, unit="seconds", meaning="Per conversation.", better=False)] if seconds else []),
        *(column(kind, found, _TOKENS[kind], "count", "Per conversation.", digits=0) for kind, found in cells.items()),
        caption="Means over the conversations whose result records it.",
        chart=Chart(
            "intervals", "model", ("seconds", "prompt_tokens", "completion_tokens"), "Time and tokens per conversation"
        ),
    )


def _shows(study: ScoreTable, costs: Floats, sampling: Sampling) -> str:
    settings = sampling.settings
    means = np.array([mean_over_models(values.T) for values in (costs, study.values("composite"))])
    priced = [i for i in by_value(means[0], higher_is_better=False) if not np.isnan(means[0, i])]
    cost, composite = means[:, priced]
    if cost[-1] == 0:
        return "All results were free of charge."
    ends = dict.fromkeys(f"${cost[i]:.4f} ({study.labels[priced[i]]})" for i in (0, -1))
    sentence = f"A conversation costs {' to '.join(ends)}."
    if len(priced) == 1:
        return sentence
    p = spearman_p(cost, composite, rng=settings.rng("cost"), permutations=permutations_needed(1, settings.alpha))
    rho = rank_correlations(np.stack([cost, composite])[None])[0, :1, 1]
    few = least_spearman_p(len(priced)) > settings.alpha or len(study.ids) < settings.small
    over = f"{counted(len(priced), 'model')} on {counted(len(study.ids), 'conversation')}"
    cell = cells_of(rho, small=few, p=np.array([p]))[0]
    return f"{sentence} {correlation_sentence('Cost', 'Composite', cell, settings, over=over)}"
