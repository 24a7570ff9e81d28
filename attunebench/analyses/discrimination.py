"""Which metrics tell models apart: how many pairs each one separates, raw and corrected, over the same conversations.

Tests are those of `compare`. Metrics are listed in the order in which they discriminate.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.analyses.testing import reach_text
from attunebench.comparison import PairTable, pairs
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.intervals import zero_inflated

METRICS = tuple(
    card.id
    for card in REGISTRY.values()
    if card.status in ("canonical", "alongside") and card.higher_is_better is not None and card.group != "diagnostic"
)
_SKILLS = {
    "preference": ("pairwise_accuracy", "binary_hp_accuracy"),
    "response quality": ("draft_judge", "draft_binary_alignment"),
    "emotion labels": ("emotion_f1", "emotion_va"),
}


@dataclass(frozen=True)
class _Row:
    """A metric, its pairs, and what its values are like."""

    metric_id: str
    table: PairTable
    span: float
    zero_inflated: bool

    @property
    def strength(self) -> tuple[int, int]:
        return (self.table.apart, self.table.apart_raw)


def analyse(subject: Subject) -> Analysis:
    """Pairs told apart per metric, with the difference that each metric could have found."""
    begun = common.begun("discrimination")
    study, settings = common.models_of(subject), subject.settings
    if len(study.groups) < 2:
        return replace(begun, missing="Telling models apart needs two of them; fewer were scored here.")
    values = common.defined_metrics(study, common.wanted_metrics(settings, METRICS))
    comparable = common.comparable_metrics(study, values)
    if not comparable:
        return replace(begun, missing="None of the metrics can be compared between the models here.")
    rows = [
        _Row(metric_id, pairs(study, metric_id, settings), _span(table), bool(zero_inflated(table.reshape(-1, 1))[0]))
        for metric_id, table in values.items()
        if metric_id in comparable
    ]
    rows.sort(key=lambda row: row.strength, reverse=True)
    judged = JUDGED & set(comparable)
    return replace(
        begun,
        tables=(_table(rows, settings, common.sample_text(study)),),
        shows=_shows(rows),
        cannot="A metric that tells many models apart is not more valid for it: it may measure what matters less, and "
        "less noisily. A metric that tells none apart may find all models equally good.",
        warnings=(
            *common.comparability(study, values),
            *dict.fromkeys(s for row in rows for s in reach_text(row.table.least_of_pairs, settings)),
        ),
        notes=(
            common.small_text(settings),
            *((common.judges_text(study),) if judged else ()),
            *((common.ZERO_INFLATED_NOTE,) if any(row.zero_inflated for row in rows) else ()),
        ),
    )


def _span(table: Floats) -> float:
    means = common.mean_over_models(table.T)
    defined = means[~np.isnan(means)]
    return float(np.ptp(defined)) if defined.size else np.nan


def _table(rows: list[_Row], settings: Settings, sample: str) -> Table:
    return Table(
        "pairs",
        "Pairs of models told apart, metric by metric",
        (
            Column("metric", "metric", "text"),
            Column("n", "conversations", "count", "The fewest that a pair has in common."),
            Column("pairs", "pairs", "count"),
            Column("raw", "told apart", "count", f"p at most {settings.alpha:g}, uncorrected.", True),
            Column(
                "corrected", "corrected", "count", f"After correction ({settings.correction}) over the pairs.", True
            ),
            Column("share", "share", "share", "Share of the pairs told apart after correction.", True, 2),
            Column("span", "span", "number", "Best mean minus worst, in the unit of the metric."),
            Column("mde", "detectable", "number", "Median difference that a pair's test finds with the asked power."),
        ),
        tuple(_cells(row) for row in rows),
        caption=f"{sample}; each pair over the conversations of both. "
        f"{common.correction_text(settings, 'the pairs of a metric')}. Counts have no interval, since pairs that share "
        f"a model hang together; what is detectable with {100 * settings.power:g} % power says how fine a test is.",
        chart=Chart("bars", "metric", ("share",), "Pairs of models told apart", "share of pairs"),
    )


def _cells(row: _Row) -> tuple[Cell, ...]:
    table = row.table
    common_n = table.n[~np.eye(len(table.groups), dtype=bool)]
    small = table.undecidable
    mde = table.mde[~np.isnan(table.mde)]
    share = Cell(table.apart / table.tests, small=small) if table.tests else Cell(None)
    return (
        text(common.label_of(row.metric_id), mark=common.ZERO_INFLATED if row.zero_inflated else ""),
        Cell(int(common_n.min())),
        Cell(table.of),
        Cell(table.apart_raw, small=small),
        Cell(table.apart, small=small),
        share,
        Cell(known(row.span)),
        Cell(float(np.median(mde)) if mde.size else None),
    )


def _shows(rows: list[_Row]) -> str:
    usable = [row for row in rows if not row.table.undecidable]
    if not usable:
        return "No pair of models has enough conversations or participants in common for a claim."
    if not any(row.table.apart for row in usable):
        return "No metric tells any pair of models apart after correction."
    most, fewest = (
        [row for row in usable if row.table.apart == count] for count in (usable[0].table.apart, usable[-1].table.apart)
    )
    said = f"{_counted(most)} tell{'s' if len(most) == 1 else ''} most pairs apart"
    if fewest[0].table.apart < most[0].table.apart:
        said += f", {_counted(fewest)} the fewest"
    groups = [part for name, ids in _SKILLS.items() if (part := _skill(name, ids, usable))]
    return f"{said}. By skill: {'; '.join(groups)}." if len(groups) > 1 else f"{said}."


def _counted(rows: list[_Row]) -> str:
    """ "Pairwise (8 of 10)"; the rows have one count in common."""
    names = common.listed([common.label_of(row.metric_id) for row in rows])
    return f"{names} ({rows[0].table.apart} of {rows[0].table.of})"


def _skill(name: str, ids: tuple[str, ...], rows: list[_Row]) -> str:
    found = [f"{common.label_of(row.metric_id)} {row.table.apart}" for row in rows if row.metric_id in ids]
    return f"{name} – {', '.join(found)}" if found else ""
