"""What a model's results cost in money, tokens and time, beside its Composite. Knows no price: results say it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.scores import ConversationEntry
from attunebench.scores.table import Group, ScoreTable
from attunebench.statistics import bootstrap
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.correlation import rank_correlations
from attunebench.statistics.permutation import permutations_needed
from attunebench.statistics.rank_tests import least_spearman_p, spearman_p

_TOKENS = {
    "prompt_tokens": "prompt tokens",
    "cached_tokens": "of them cached",
    "completion_tokens": "reply tokens",
    "reasoning_tokens": "of them reasoning",
}

FRONTIER = "frontier"


@dataclass(frozen=True)
class _Taken:
    """Per conversation and model: US dollars, seconds, tokens by kind, and the Composite; totals in US dollars."""

    cost: Floats
    seconds: Floats
    tokens: dict[str, Floats]
    composite: Floats
    totals: list[float]


def analyse(subject: Subject) -> Analysis:
    """Cost, tokens and time per conversation, total cost, and cost per point of the Composite."""
    begun = common.begun("cost")
    study = common.models_of(subject)
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    taken = _taken(study)
    if all(np.isnan(table).all() for table in (taken.cost, taken.seconds, *taken.tokens.values())):
        return replace(begun, missing="No result says what it cost, how long it took or how many tokens it used.")
    sampling = Sampling.of(study, subject.settings)
    tables = [table for table in (_money(study, taken, sampling), _usage(study, taken, sampling)) if table is not None]
    return replace(
        begun,
        tables=tuple(tables),
        shows=_shows(study, taken, subject.settings),
        cannot="Prices are those that each result was billed or reckoned at and change over time; seconds depend on "
        "the server, its load and how much was asked at once. Cost per point compares price tags: it does not say that "
        "paying more would gain points, nor that points are worth the same along the scale.",
        notes=(_known_note(study, taken), common.small_text(subject.settings)),
    )


def _taken(study: ScoreTable) -> _Taken:
    def cost(entry: ConversationEntry) -> float | None:
        return entry.get("api_cost")

    def seconds(entry: ConversationEntry) -> float | None:
        return entry.get("duration_seconds")

    return _Taken(
        cost=study.entry_values(cost),
        seconds=study.entry_values(seconds),
        tokens={kind: study.entry_values(_tokens(kind)) for kind in _TOKENS},
        composite=study.values("composite"),
        totals=[_total(study, group) for group in study.groups],
    )


def _tokens(kind: str) -> Callable[[ConversationEntry], float | None]:
    return lambda entry: (entry.get("usage") or {}).get(kind)


def _total(study: ScoreTable, group: Group) -> float:
    """All epochs together; NaN where no result says its cost."""
    costs = [
        cost
        for conversation in study.ids
        for entry in study.entries.get((group.key, conversation), ())
        if (cost := entry.get("api_cost")) is not None
    ]
    return sum(costs) if costs else np.nan


def _money(study: ScoreTable, taken: _Taken, sampling: Sampling) -> Table | None:
    if np.isnan(taken.cost).all():
        return None
    cost, composite = sampling.cells(taken.cost, flag=False), sampling.cells(taken.composite)
    both = ~np.isnan(taken.cost) & ~np.isnan(taken.composite)
    ratios = bootstrap.estimate_ratios(
        np.where(both, taken.cost, 0.0),
        np.where(both, taken.composite, 0.0),
        sampling.weights,
        clusters=sampling.clusters,
        level=sampling.settings.level,
    )
    frontier = _frontier(sampling.estimate(taken.cost).value, sampling.estimate(taken.composite).value)
    order = common.by_value(sampling.estimate(taken.cost).value, higher_is_better=False)
    rows = tuple(
        (
            text(study.groups[i].label, mark=FRONTIER if i in frontier else ""),
            Cell(cost[i].n),
            cost[i],
            Cell(known(taken.totals[i])),
            composite[i],
            Cell(
                known(ratios.value[i]),
                known(ratios.low[i]),
                known(ratios.high[i]),
                n=int(both[:, i].sum()),
                mark=common.mark_of(ratios.value[i], ratios.low[i], int(both[:, i].sum())),
            ),
        )
        for i in order
    )
    return Table(
        "money",
        "Cost in US dollars",
        (
            Column("model", "model", "text"),
            Column("n", "conversations", "count", "Conversations whose result says its cost."),
            Column("cost", "per conversation", "usd", "Mean cost of a conversation.", False),
            Column("total", "total", "usd", "Sum over all results that say their cost, epochs included."),
            Column("composite", "Composite", "points", "Mean Composite, 0–100.", True),
            Column(
                "per_point", "per point", "usd", "Cost per conversation over Composite, where both are known.", False, 5
            ),
        ),
        rows,
        caption=f"{common.sample_text(study)}; cheapest first. “{FRONTIER}”: no other model costs as little and "
        "scores as high, by the means and without a test. "
        f"{common.intervals_text(sampling.settings)}.",
        chart=Chart("scatter", "model", ("cost", "composite"), "Composite and cost", "US dollars per conversation"),
    )


def _usage(study: ScoreTable, taken: _Taken, sampling: Sampling) -> Table | None:
    tables = {"seconds": taken.seconds, **taken.tokens}
    shown = {name: table for name, table in tables.items() if not np.isnan(table).all()}
    if not shown:
        return None
    cells = {name: sampling.cells(table, flag=False) for name, table in shown.items()}
    columns = [Column("model", "model", "text")]
    for name in shown:
        if name == "seconds":
            columns.append(Column(name, "seconds", "seconds", "Time that a conversation took.", False))
        else:
            columns.append(Column(name, _TOKENS[name], "count", "Tokens per conversation.", digits=0))
    rows = tuple((text(group.label), *(cells[name][i] for name in shown)) for i, group in enumerate(study.groups))
    return Table(
        "usage",
        "Time and tokens per conversation",
        tuple(columns),
        rows,
        caption=f"Means over the conversations whose result says it. {common.intervals_text(sampling.settings)}.",
    )


def _frontier(cost: Floats, composite: Floats) -> list[int]:
    """Models of which none costs as little or less and scores as high or higher, if their costs differ at all."""
    usable = [i for i in range(len(cost)) if not np.isnan(cost[i]) and not np.isnan(composite[i])]
    if len({cost[i] for i in usable}) < 2:
        return []
    return [i for i in usable if not any(_beats(cost, composite, j, i) for j in usable)]


def _beats(cost: Floats, composite: Floats, one: int, other: int) -> bool:
    no_worse = cost[one] <= cost[other] and composite[one] >= composite[other]
    return bool(no_worse and (cost[one] < cost[other] or composite[one] > composite[other]))


def _shows(study: ScoreTable, taken: _Taken, settings: Settings) -> str:
    cost, composite = (common.mean_over_models(table.T) for table in (taken.cost, taken.composite))
    priced = [i for i in common.by_value(cost, higher_is_better=False) if not np.isnan(cost[i])]
    if not priced:
        return "No result says its cost in money; time and tokens stand below."
    least, most = priced[0], priced[-1]
    if cost[most] == 0:
        return "No result cost anything."
    if len(priced) == 1:
        return f"{study.labels[least]} cost ${cost[least]:.4f} per conversation."
    said = (
        f"A conversation costs from ${cost[least]:.4f} ({study.labels[least]}) to ${cost[most]:.4f} "
        f"({study.labels[most]})"
    )
    rho = rank_correlations(np.stack([cost[priced], composite[priced]])[None])[0, 0, 1]
    draws = permutations_needed(1, settings.alpha)
    p = spearman_p(cost[priced], composite[priced], rng=settings.rng("cost"), permutations=draws)
    if least_spearman_p(len(priced)) > settings.alpha or len(study.ids) < settings.small or np.isnan(p):
        few = f"{common.counted(len(priced), 'model')} on {common.counted(len(study.ids), 'conversation')}"
        return f"{said}; {few} cannot tell whether dearer models score higher."
    found = f"over {len(priced)} models cost and Composite correlate at ρ {common.number(rho, 2)} (p {p:.3f})"
    return f"{said}; {found}{'' if p <= settings.alpha else ', which may be chance'}."


def _known_note(study: ScoreTable, taken: _Taken) -> str:
    scored = study.scored()
    gaps = int((scored & np.isnan(taken.cost)).sum())
    if not gaps:
        return "Every result says its cost."
    return f"{gaps} of {common.counted(int(scored.sum()), 'result')} do not say their cost and are left out of it."
