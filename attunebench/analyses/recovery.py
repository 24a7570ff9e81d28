"""Accuracy on the turn after a misread against the turn after a hit, within each conversation (part of the mood path).

In a short sequence values after a high one are low by mere counting: the high one is missing among the rest. Over all
orders of a talk's T turns the mean after a misread minus that after a hit is (ȳ_hit − ȳ_misread)/(T − 1), which
is taken off, so that turns in random order show no difference (cf. Miller & Sanjurjo 2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Cell, Column, Drill, Table, text
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask

OUTCOMES = ("emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy")
_NAME = "mood-path/recovery"


class Recovery:
    """The comparison for each outcome and model, and over all models."""

    def __init__(self, study: ScoreTable, sampling: Sampling):
        self.study, self.sampling = study, sampling
        f1 = study.turn_values("emotion_f1")
        self.misread = np.where(np.isnan(f1) | _unanswered(study), np.nan, (f1 == 0).astype(np.float64))
        self.rows: list[tuple[Cell, ...]] = []
        self.pooled: dict[str, Cell] = {}
        self.single: list[tuple[str, str, Cell]] = []
        outcomes = {m: values for m in OUTCOMES if not np.isnan(values := study.turn_values(m)).all()}
        if outcomes and not np.isnan(self.misread).all():
            self._compare(outcomes)

    def _compare(self, outcomes: dict[str, Floats]) -> None:
        count = len(self.study.groups)
        after = {m: [self._after(values[:, i], i) for i in range(count)] for m, values in outcomes.items()}
        others = {m: [self._after(_beyond(values, i), i) for i in range(count)] for m, values in outcomes.items()}
        plain = self._tested([one for each in after.values() for one in each], "plain")
        beyond = self._tested([one for each in others.values() for one in each], "beyond")
        means = [np.stack([one[:, side] for one in each], axis=1) for each in after.values() for side in (0, 1)]
        averaged = [common.mean_over_models(table) for table in means]
        pooled = self._tested([np.column_stack(averaged[2 * i : 2 * i + 2]) for i in range(len(outcomes))], "pooled")
        for place, metric_id in enumerate(outcomes):
            self.pooled[metric_id] = pooled[place]
            both = np.column_stack(averaged[2 * place : 2 * place + 2])
            self.rows.append(self._row(metric_id, "all models", both, pooled[place], Cell(None), None))
            for i, group in enumerate(self.study.groups):
                cell = replace(plain[place * count + i], drill=self._drill(metric_id, i))
                self.rows.append(
                    self._row(metric_id, group.label, after[metric_id][i], cell, beyond[place * count + i], i)
                )
                self.single.append((metric_id, group.label, cell))

    def _after(self, values: Floats, model: int) -> Floats:
        """Mean after a misread (less what counting alone makes of it) and after a hit: (conversations, 2)."""
        table = np.full((len(self.study.ids), 2), np.nan)
        turns: list[list[int]] = [[] for _ in self.study.ids]
        for row, turn in enumerate(self.study.turns):
            turns[turn.conversation].append(row)
        missed = self.misread[:, model]
        for conversation, rows in enumerate(turns):
            table[conversation] = after_means([missed[r] for r in rows], [values[r] for r in rows])
        return table

    def _tested(self, sides: Sequence[Floats], name: str) -> list[Cell]:
        a, b = (np.stack([side[:, i] for side in sides], axis=1) for i in (0, 1))
        tests = self.sampling.tests(f"{_NAME}/{name}", a, b)
        return self.sampling.difference_cells(tests, common.corrected_p(tests, self.sampling.settings), a, b)

    def _row(
        self, metric_id: str, label: str, sides: Floats, cell: Cell, beyond: Cell, model: int | None
    ) -> tuple[Cell, ...]:
        missed = self.misread if model is None else self.misread[:, [model]]
        share = Cell(float(np.nanmean(missed))) if not np.isnan(missed).all() else Cell(None)
        both = np.where(np.isnan(sides).any(axis=1, keepdims=True), np.nan, sides)
        means = self.sampling.cells(both, flag=False)
        return (text(common.label_of(metric_id)), text(label), Cell(cell.n), share, means[1], means[0], cell, beyond)

    def _drill(self, metric_id: str, model: int) -> Drill:
        missed = self.misread[:, model]
        turns = self.study.turns
        after = (
            row
            for row in range(1, len(turns))
            if missed[row - 1] == 1 and turns[row].conversation == turns[row - 1].conversation
        )
        key = self.study.groups[model].key
        return Drill(group=key, metric=metric_id, turns=within.turns_of(self.study, after))

    def table(self) -> Table:
        settings, count = self.sampling.settings, len(self.study.groups)
        tests = f"{len(self.pooled)} outcomes for all models, {len(self.pooled) * count} cells for single ones"
        return Table(
            "recovery",
            "On the turn after a misread",
            (
                Column("outcome", "outcome", "text"),
                Column("model", "model", "text"),
                Column("n", "conversations", "count", "Those with a turn after a misread and one after a hit."),
                Column("misread", "turns misread", "share", "Share of all turns."),
                Column("after_hit", "after a hit", "share", "Mean of the next turn.", True),
                Column(
                    "after_misread", "after a misread", "share", "Mean of the next turn, corrected for counting.", True
                ),
                Column(
                    "difference", "misread − hit", "share", "Within each conversation; below 0: errors come in runs."
                ),
                Column(
                    "beyond", "beyond the other models", "share", "The same of the value minus the others' on the turn."
                ),
            ),
            tuple(self.rows),
            caption="A turn is misread where Emotion F1 is 0. Every conversation is compared with itself; what short "
            "sequences show by counting alone is taken off. “Beyond the other models” controls for turns that are hard "
            f"for all. {common.intervals_text(settings)}; {common.correction_text(settings, tests)}.",
        )

    def sentence(self) -> str:
        """On which outcomes the turn after a misread differs, over all models or for some."""
        settings = self.sampling.settings
        if all(cell.small or cell.value is None for cell in self.pooled.values()):
            return "Too few conversations have a turn after a misread and one after a hit for a claim."
        said = []
        for metric_id, cell in self.pooled.items():
            if common.claimed(cell, settings):
                way = "lower" if common.value_of(cell) < 0 else "higher"
                said.append(f"{common.label_of(metric_id)} is {way} by {common.with_interval(cell, sign=True)}")
        single = [
            f"{label} on {common.label_of(metric_id)} ({common.with_interval(cell, sign=True)})"
            for metric_id, label, cell in self.single
            if common.claimed(cell, settings) and not common.claimed(self.pooled[metric_id], settings)
        ]
        if said:
            return f"On the turn after a misread {common.listed(said)} than after a hit."
        if single:
            return f"The turn after a misread differs from that after a hit for {common.listed(single)}."
        return "The turn after a misread is not shown to differ from the turn after a hit."


def after_means(misread: Sequence[float], values: Sequence[float]) -> tuple[float, float]:
    """Mean value on turns after a misread, less what counting alone adds, and after a hit; NaN, NaN without both.

    Both are in the order of a conversation's turns; NaN is a gap, and a turn after a gap follows nothing.
    """
    after: tuple[list[float], list[float]] = ([], [])
    for before, value in zip(misread, values[1:], strict=False):
        if before == before and value == value:
            after[int(before == 0)].append(value)
    own: tuple[list[float], list[float]] = ([], [])
    for missed, value in zip(misread, values, strict=True):
        if missed == missed and value == value:
            own[int(missed == 0)].append(value)
    if not after[0] or not after[1]:
        return np.nan, np.nan
    total = len(own[0]) + len(own[1])
    counting = (_mean(own[1]) - _mean(own[0])) / (total - 1) if own[0] and own[1] else 0.0
    return _mean(after[0]) - counting, _mean(after[1])


def _unanswered(study: ScoreTable) -> Mask:
    """Where a model's tags are lacking in every epoch: (turns, models). A broken answer is no misread."""
    lacking = [
        [bool(epochs) and all(tags is None for tags in epochs) for epochs in study.tags(group)]
        for group in study.groups
    ]
    return np.asarray(np.array(lacking, dtype=bool).T.reshape(len(study.turns), len(study.groups)))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _beyond(values: Floats, model: int) -> Floats:
    """A model's values less the mean of the other models on the same turn; NaN without others."""
    if values.shape[1] < 2:
        return np.full(len(values), np.nan)
    return np.asarray(values[:, model] - common.mean_over_models(np.delete(values, model, axis=1)))
