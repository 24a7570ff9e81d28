"""The same results by our rules and by those of the released scorer: what the rules change in scores and ranks.

`Subject.others` holds the study by the other rules. Everything is over the models and conversations that both have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, known, text
from attunebench.metrics.registry import REGISTRY
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.ranks import competition_ranks

_COMPOSITE = "composite"
METRICS = (
    _COMPOSITE,
    *(card.id for card in REGISTRY.values() if card.group == "pillar" and card.unit == "share"),
    *(metric_id for metric_id in common.CANONICAL if metric_id != _COMPOSITE),
)
_DIGITS = 1


@dataclass(frozen=True)
class _Both:
    """A metric by both rules, in points of 100: a cell per model, their difference and the ranks by the means."""

    metric_id: str
    ours: list[Cell]
    released: list[Cell]
    difference: list[Cell]
    ranks: tuple[Floats, Floats]

    @property
    def moved(self) -> int:
        """How many models change rank."""
        return int((self.ranks[0] != self.ranks[1])[~np.isnan(self.ranks).any(axis=0)].sum())


def analyse(subject: Subject) -> Analysis:
    """Each metric by both rules, per model: the paired difference and the change of rank."""
    begun = common.begun("rules")
    pair = _pair(subject)
    if pair is None:
        return replace(
            begun,
            missing="This needs the same results scored by both rules: score them again with the other --rules, and "
            "pass both files to `analyze rules`.",
        )
    ours, released = pair
    if not ours.groups or not ours.ids:
        return replace(begun, missing="The two scores files have no model and conversation in common.")
    settings = subject.settings
    found = [
        both
        for metric_id in common.wanted_metrics(settings, METRICS)
        if (both := _by_both(metric_id, ours, released, settings))
    ]
    if not found:
        return replace(begun, missing="None of the metrics is defined by both rules for any conversation here.")
    return replace(
        begun,
        tables=(_table(ours, found, settings),),
        shows=_shows(ours, found),
        cannot="Which rules are better. A difference shows how rules treat missing answers and missing labels, not how "
        "well a model understands people. Compare published numbers only with scores by the released rules.",
        notes=(common.small_text(settings),),
    )


def _pair(subject: Subject) -> tuple[ScoreTable, ScoreTable] | None:
    """(by our rules, by the released rules) over the models and conversations of both; None without both."""
    by_rules = {study.rules: study for study in (*subject.others, subject.study)}
    if len(by_rules) < 2:
        return None
    mode = common.mode_of(subject)
    ours, released = (common.in_mode(by_rules[r], mode, subject.settings) for r in ("attunebench", "released"))
    theirs = {group.key: group for group in released.groups}
    shared = [group for group in ours.groups if group.key in theirs]
    there = frozenset(released.ids)
    ids = [conversation for conversation in ours.ids if conversation in there]
    ours = ours.with_groups(shared).with_conversations(ids)
    # The order of models and conversations is that of ours in both.
    return ours, replace(released.with_groups([theirs[g.key] for g in shared]), ids=tuple(ids), references=())


def _by_both(metric_id: str, ours: ScoreTable, released: ScoreTable, settings: Settings) -> _Both | None:
    scale = 1.0 if common.unit_of(metric_id) == "points" else 100.0
    one, other = (scale * study.values(metric_id) for study in (ours, released))
    if np.isnan(one).all() or np.isnan(other).all():
        return None
    sampling = Sampling.of(ours, settings)
    sign = 1.0 if common.better(metric_id) else -1.0
    ranks = [competition_ranks(sign * sampling.estimate(values).value) for values in (one, other)]
    return _Both(
        metric_id,
        sampling.cells(one, [common.drill_to(group, metric_id) for group in ours.groups], flag=False),
        sampling.cells(other, flag=False),
        sampling.cells(other - one, flag=False),
        (ranks[0], ranks[1]),
    )


def _table(study: ScoreTable, found: Sequence[_Both], settings: Settings) -> Table:
    columns = (
        Column("metric", "metric", "text"),
        Column("model", "model", "text"),
        Column("ours", "attunebench", "points", "By our rules.", True, _DIGITS),
        Column("released", "released", "points", "By the rules of the released scorer.", True, _DIGITS),
        Column("difference", "released − attunebench", "points", "Paired by conversation.", None, _DIGITS),
        Column("rank", "rank", "rank", "Among these models, by our rules.", False),
        Column("rank_released", "rank, released", "rank", "Among these models, by the released rules.", False),
        Column("rank_change", "rank change", "number", "Ranks gained by the released rules; negative: lost.", None, 0),
    )
    rows = []
    for both in found:
        for i in common.by_value(np.array([common.value_of(cell) for cell in both.ours])):
            rank, other = (known(ranks[i]) for ranks in both.ranks)
            change = None if rank is None or other is None else rank - other
            rows.append(
                (
                    text(common.label_of(both.metric_id)),
                    text(study.labels[i]),
                    both.ours[i],
                    both.released[i],
                    both.difference[i],
                    Cell(rank),
                    Cell(other),
                    Cell(change),
                )
            )
    title = common.label_of(found[0].metric_id)
    return Table(
        "rules",
        "By both rules",
        columns,
        tuple(rows),
        caption=f"Points of 100. {common.sample_text(study)}, scored by both rules. {common.intervals_text(settings)}; "
        "that of a difference is over its values per conversation.",
        chart=Chart("dumbbells", "model", ("ours", "released"), title, "points of 100", first=len(study.groups)),
    )


def _shows(study: ScoreTable, found: Sequence[_Both]) -> str:
    scope = f"{common.counted(len(study.groups), 'model')}, {common.counted(len(study.ids), 'conversation')}"
    first = found[0]
    changes = [common.value_of(cell) for cell in first.difference if cell.value is not None]
    low, high = (common.number(end, _DIGITS, sign=True) for end in (min(changes), max(changes)))
    span = f"by {low}" if low == high else f"by {low} to {high}"
    sentences = [
        f"The released rules change {common.label_of(first.metric_id)} {span} points ({scope}).",
        f"{first.moved} of {len(study.groups)} change rank.",
    ]
    if len(found) > 1:
        means = {
            both.metric_id: float(np.nanmean([common.value_of(cell) for cell in both.difference])) for both in found[1:]
        }
        most = max(means, key=lambda metric_id: abs(means[metric_id]))
        sentences.append(
            f"The largest change is that of {common.label_of(most)}: {common.number(means[most], _DIGITS, sign=True)} "
            "points, mean over the models."
        )
    return " ".join(sentences)
