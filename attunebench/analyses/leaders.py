"""Who is best and who is last at each metric, and whether that is certain; the whole grid of means beside it.

"best" and "lowest" are only said of a model that is told apart from every other one. Tests and tiers are those of
`compare`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.comparison import Ranking, tiers_of
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable

METRICS = ("composite", *common.CANONICAL, "kendall_tau", "draft_judge", "draft_binary_alignment")
_TAU = "kendall_tau"
BEST, LOWEST = "best", "lowest"


@dataclass(frozen=True)
class _Ends:
    """First and last of a metric by position; whether each is told apart from all others."""

    first: int
    second: int
    last: int
    best: bool
    lowest: bool
    apart: int


def analyse(subject: Subject) -> Analysis:
    """A row per metric with its first, second and last model, and a table of all means."""
    begun = common.begun("leaders")
    study, settings = common.models_of(subject), subject.settings
    if len(study.groups) < 2:
        return replace(begun, missing="A leader needs somebody to lead: fewer than two models were scored here.")
    defined = tuple(common.defined_metrics(study, common.wanted_metrics(settings, METRICS)))
    metrics = common.comparable_metrics(study, defined)
    if not metrics:
        return replace(begun, missing="None of the metrics can be compared between the models here.")
    rankings = {metric_id: tiers_of(study, metric_id, settings) for metric_id in metrics}
    ends = {metric_id: found for metric_id, ranking in rankings.items() if (found := _ends(ranking)) is not None}
    sampling = Sampling.of(study, settings)
    grid = _grid(study, metrics, ends, sampling)
    return replace(
        begun,
        tables=(_leaders(study, rankings, ends, settings), grid),
        shows=_shows(study, rankings, ends, grid, settings),
        cannot="Who is first where nobody is told apart may be first by chance. Metrics are tested one by one: over "
        f"{common.counted(len(metrics), 'metric')} some lead can still be chance, and metrics that share answers "
        "repeat each other.",
        warnings=common.comparability(study, defined),
        notes=(
            common.small_text(settings),
            *((common.judges_text(study),) if JUDGED & set(metrics) else ()),
            common.ZERO_INFLATED_NOTE,
        ),
    )


def _ends(ranking: Ranking) -> _Ends | None:
    """None where fewer than two models have a value in common."""
    ranked = [i for i in ranking.order if not np.isnan(ranking.mean[i])]
    if len(ranked) < 2:
        return None
    first, last, apart = ranked[0], ranked[-1], ranking.pairs.told_apart
    others = len(ranked) - 1
    return _Ends(
        first,
        ranked[1],
        last,
        best=int(apart[first, ranked].sum()) == others,
        lowest=int(apart[last, ranked].sum()) == others,
        apart=int(apart[first, ranked].sum()),
    )


def _leaders(
    study: ScoreTable, rankings: Mapping[str, Ranking], ends: Mapping[str, _Ends], settings: Settings
) -> Table:
    return Table(
        "leaders",
        "First and last by metric",
        (
            Column("metric", "metric", "text"),
            Column("first", "first", "text", f"The highest mean; “{BEST}” where it is told apart from all others."),
            Column("n", "conversations", "count"),
            Column("mean", "its mean", "number", "Mean of the first.", True),
            Column("lead", "lead", "number", "First minus second, paired, with p corrected over the pairs.", True),
            Column("apart", "told apart from", "count", "How many other models the first is told apart from."),
            Column("last", "last", "text", f"The lowest mean; “{LOWEST}” where it is told apart from all others."),
            Column("last_mean", "its mean", "number", "Mean of the last."),
        ),
        tuple(_row(study, rankings[m], ends[m]) for m in ends),
        caption=f"{common.sample_text(study)}; each pair over the conversations of both. "
        f"{common.intervals_text(settings)}; {common.correction_text(settings, 'all pairs of a metric')}.",
    )


def _row(study: ScoreTable, ranking: Ranking, ends: _Ends) -> tuple[Cell, ...]:
    table, metric_id = ranking.pairs, ranking.metric_id
    first, second, last = ends.first, ends.second, ends.last
    sign = 1.0 if common.better(metric_id) else -1.0
    low, high = (table.low, table.high) if sign > 0 else (-table.high, -table.low)
    lead = Cell(
        known(sign * table.difference[first, second]),
        known(low[first, second]),
        known(high[first, second]),
        n=int(table.n[first, second]),
        p=known(table.p[first, second]),
        p_corrected=known(table.p_corrected[first, second]),
        small=bool(table.small[first, second]),
        mark=common.mark_of(table.difference[first, second], table.low[first, second], int(table.n[first, second])),
    )
    return (
        text(common.label_of(metric_id)),
        text(
            study.labels[first], mark=BEST if ends.best else "", drill=common.drill_to(study.groups[first], metric_id)
        ),
        Cell(int(ranking.n[first])),
        _mean(ranking, first),
        lead,
        Cell(ends.apart),
        text(
            study.labels[last], mark=LOWEST if ends.lowest else "", drill=common.drill_to(study.groups[last], metric_id)
        ),
        _mean(ranking, last),
    )


def _mean(ranking: Ranking, i: int) -> Cell:
    mean, low, high = ranking.mean[i], ranking.low[i], ranking.high[i]
    mark = common.mark_of(mean, low, int(ranking.n[i]))
    return Cell(known(mean), known(low), known(high), small=ranking.small, mark=mark)


def _grid(study: ScoreTable, metrics: tuple[str, ...], ends: Mapping[str, _Ends], sampling: Sampling) -> Table:
    """All means; a mark stands where a model is told apart from all others."""
    columns, cells = [], []
    for metric_id in metrics:
        column = sampling.cells(
            study.values(metric_id), [common.drill_to(g, metric_id) for g in study.groups], of=metric_id
        )
        if (found := ends.get(metric_id)) is not None:
            for position, sure, mark in ((found.first, found.best, BEST), (found.last, found.lowest, LOWEST)):
                if sure:
                    column[position] = replace(column[position], mark=mark)
        card = REGISTRY[metric_id]
        columns.append(
            Column(
                metric_id,
                card.label,
                common.unit_of(metric_id),
                card.meaning,
                card.higher_is_better,
                common.digits_of(metric_id),
            )
        )
        cells.append(column)
    order = common.by_value(
        np.array([common.value_of(cell) for cell in cells[0]]), higher_is_better=common.better(metrics[0])
    )
    return Table(
        "means",
        "All means",
        (Column("model", "model", "text"), *columns),
        tuple((text(study.groups[i].label), *(column[i] for column in cells)) for i in order),
        caption=f"{common.sample_text(study)}; each mean over the model's own conversations. “{BEST}” and “{LOWEST}” "
        f"stand only where a model is told apart from all others. {common.intervals_text(sampling.settings)}.",
        chart=Chart("heatmap", "model", metrics, "Means by model and metric", "mean"),
    )


def _shows(
    study: ScoreTable, rankings: Mapping[str, Ranking], ends: Mapping[str, _Ends], grid: Table, settings: Settings
) -> str:
    if not ends:
        return "No metric has two models with a value in common."
    if all(ranking.small for ranking in rankings.values()):
        return f"Fewer than {settings.small} conversations are scored for all models: nobody is called a leader."
    leaders: dict[str, list[str]] = {}
    lasts: dict[str, list[str]] = {}
    for metric_id, found in ends.items():
        for position, sure, won in ((found.first, found.best, leaders), (found.last, found.lowest, lasts)):
            if sure:
                won.setdefault(study.labels[position], []).append(common.label_of(metric_id))
    said = _leading(leaders, len(ends))
    if lasts:
        said += f" Last beyond doubt: {_by_name(lasts)}."
    return said + _negative_tau(grid, len(study.groups))


def _leading(leaders: Mapping[str, list[str]], metrics: int) -> str:
    if not leaders:
        return f"On none of {common.counted(metrics, 'metric')} a model is told apart from all others as the best."
    won = sum(map(len, leaders.values()))
    if len(leaders) == 1 and won == metrics:
        return f"{next(iter(leaders))} leads on all {metrics} metrics."
    return f"No model leads everywhere; best beyond doubt: {_by_name(leaders)} ({won} of {metrics} metrics)."


def _by_name(metrics: Mapping[str, list[str]]) -> str:
    return "; ".join(f"{name} on {common.listed(found)}" for name, found in metrics.items())


def _negative_tau(grid: Table, models: int) -> str:
    """How many models order the replies against the person's wishes; "" where τ is not among the metrics."""
    position = next((i for i, column in enumerate(grid.columns) if column.id == _TAU), None)
    if position is None:
        return ""
    cells = [row[position] for row in grid.rows if not row[position].small]
    below = sum(common.value_of(cell) < 0 for cell in cells)
    sure = sum(cell.high is not None and cell.high < 0 for cell in cells)
    have = "has" if below == 1 else "have"
    return (
        f" {below} of {common.counted(models, 'model')} {have} a negative mean τ, {sure} with the whole interval, "
        "each for itself."
    )
