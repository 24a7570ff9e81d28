"""What Emotion VA is made of in groups of conversations, and where a difference between two groups comes from.

Knows no group by name but the two that it is told to compare. (Part of the clinical affect gap.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from attunebench.analyses import common, coverage, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Cell, Chart, Column, Table, text
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask

ALL = "all models"


class Parts:
    """What Emotion VA is made of in each group: neutral turns, false alarms on them, and tagged turns.

    Turns weigh so that each conversation counts once, as in the metric: neutral share · (1 − false alarms) + tagged
    share · VA on tagged turns is then the group's mean, and a difference splits into three parts without a rest.
    """

    def __init__(self, study: ScoreTable, members: Mapping[str, Mask], compared: tuple[str, str], sampling: Sampling):
        self.study, self.members, self.compared, self.sampling = study, members, compared, sampling
        truth = study.truth_tags()
        self.tagged = np.array([np.nan if tags is None else float(bool(tags)) for tags in truth])[:, None]
        self.felt = np.array([np.nan if tags is None else float(len(tags)) for tags in truth])[:, None]
        self.va = study.turn_values("emotion_va")
        self.given = np.stack([_tag_counts(study, i) for i in range(len(study.groups))], axis=1)

    def of_groups(self) -> Table:
        """A row per group: its data, and the mean over models beside."""
        va = self._over_models(self.va)
        over = {
            "neutral": 1 - self.tagged,
            "felt": self.felt,
            "given": self._over_models(self.given),
            "va": va,
            "va_tagged": np.where(self.tagged == 1, va, np.nan),
            "false_alarm": np.where(self.tagged == 0, 1 - va, np.nan),
        }
        gathered = {name: within.conversation_sums(self.study, table) for name, table in over.items()}
        rows = []
        for name, mask in self.members.items():
            if mask.any():
                people = len(np.unique(self.study.clusters[mask]))
                cells = {part: self._group_cell(above, below, mask) for part, (above, below) in gathered.items()}
                turns = int(gathered["va"][1][mask].sum())
                rows.append((text(name), Cell(int(mask.sum())), Cell(people), Cell(turns), *cells.values()))
        return Table(
            "parts",
            "What Emotion VA is made of",
            (
                Column("group", "group", "text"),
                Column("n", "conversations", "count"),
                Column("participants", "participants", "count"),
                Column("turns", "turns", "count"),
                Column(
                    "neutral",
                    "neutral turns",
                    "share",
                    "Share of turns without a tag: what saying “no emotion” always would score.",
                ),
                Column("felt", "tags per turn", "number", "Emotions that the person tagged.", digits=2),
                Column("given", "predicted tags per turn", "number", "Emotions that models name.", digits=2),
                Column("va", "Emotion VA", "share", "Over all turns.", True),
                Column("va_tagged", "VA on tagged turns", "share", "", True),
                Column("false_alarm", "false alarms on neutral turns", "share", "Lower is better.", False),
            ),
            tuple(rows),
            caption=f"Over all turns of a group, mean over {common.counted(len(self.study.groups), 'model')}. A group "
            "with more neutral turns is easier for a model that names few emotions: “neutral turns” is also the score "
            f"of always naming none. {common.intervals_text(self.sampling.settings)}.",
        )

    def _group_cell(self, above: Floats, below: Floats, mask: Mask) -> Cell:
        return within.rate_cells(self.sampling, above * mask[:, None], below * mask[:, None])[0]

    def _over_models(self, table: Floats) -> Floats:
        """Level of each turn over all models, neutral and tagged turns apart, as models differ in each: (turns, 1)."""
        found = np.full((len(table), 1), np.nan)
        for kind in (0.0, 1.0):
            turns = self.tagged[:, 0] == kind
            found[turns, 0] = coverage.level_over_models(table[turns])
        return found

    def of_models(self) -> tuple[Table, ...]:
        """How each model's difference splits; nothing where a group has no neutral or no tagged turn."""
        split = self.split(self.va)
        if split is None:
            return ()
        all_models = self.split(self._over_models(self.va))
        cells = [split, *([all_models] if all_models is not None else [])]
        labels = [group.label for group in self.study.groups]
        rows = [(text(ALL), *(column[0] for column in cells[1]))] if len(cells) > 1 else []
        rows += [(text(label), *(column[i] for column in split)) for i, label in enumerate(labels)]
        table = Table(
            "split",
            "Where the difference in Emotion VA comes from",
            (
                Column("model", "model", "text"),
                Column("difference", "any − none", "share", "Sum of the three parts."),
                Column(
                    "share", "from neutral turns", "share", "Because the groups differ in how many turns are neutral."
                ),
                Column("alarms", "from false alarms", "share", "Because neutral turns are read better or worse."),
                Column("tagged", "from tagged turns", "share", "Because tagged turns are read better or worse."),
            ),
            tuple(rows),
            caption="Each conversation counts once. The difference splits without a rest, every part at the mean of "
            f"the other quantities of both groups. {common.intervals_text(self.sampling.settings)}.",
            chart=Chart("bars", "model", ("share", "alarms", "tagged"), "Parts of the gap in Emotion VA", "any − none"),
        )
        return (table,)

    def split(self, va: Floats) -> list[list[Cell]] | None:
        """Difference and its parts by neutral share, false alarms, tagged turns: four lists, a cell for each column."""
        sums = [self._weighted(va, self.members[name]) for name in self.compared]
        if any((part.sum(axis=0) == 0).any() for side in sums for part in side[:2]):
            return None
        values = _split(*(tuple(part.sum(axis=0) for part in side) for side in sums))
        samples = _split(*(tuple(within.resampled_sums(self.sampling, part) for part in side) for side in sums))
        support = sums[0][0] + sums[0][1] + sums[1][0] + sums[1][1]
        return [
            within.function_cells(self.sampling, value, sample, support)
            for value, sample in zip(values, samples, strict=True)
        ]

    def _weighted(self, va: Floats, mask: Mask) -> tuple[Floats, Floats, Floats, Floats]:
        """Per conversation of a group: weight of neutral turns, of tagged turns, and their weighted VA."""
        parts = []
        counts = within.conversation_sums(self.study, va)[1]
        for kind in (0.0, 1.0):
            above, below = within.conversation_sums(self.study, np.where(self.tagged == kind, va, np.nan))
            parts += [within.ratio(below, counts), within.ratio(above, counts)]
        neutral, neutral_va, tagged, tagged_va = (np.where(mask[:, None], np.nan_to_num(part), 0.0) for part in parts)
        return neutral, tagged, neutral_va, tagged_va

    def sentence(self) -> str:
        """Where the difference over all models comes from; nothing where it cannot be split."""
        parts = self.split(self._over_models(self.va))
        if parts is None:
            return ""
        share, alarms, tagged = (common.with_interval(part[0], sign=True) for part in parts[1:])
        return (
            f"Of this, {share} comes with the share of neutral turns, {alarms} with false alarms on them, and {tagged} "
            "with how tagged turns are read."
        )


def _split(first: Sequence[Floats], second: Sequence[Floats]) -> list[Floats]:
    """Difference, and its parts; from weights of neutral and tagged turns and their weighted values."""
    (share_a, right_a, va_a), (share_b, right_b, va_b) = (_means(*side) for side in (first, second))
    share, right, va = (share_a + share_b) / 2, (right_a + right_b) / 2, (va_a + va_b) / 2
    parts = [
        (share_b - share_a) * (right - va),
        share * (right_b - right_a),
        (1 - share) * (va_b - va_a),
    ]
    return [np.asarray(sum(parts)), *parts]


def _means(neutral: Floats, tagged: Floats, neutral_va: Floats, tagged_va: Floats) -> tuple[Floats, Floats, Floats]:
    return (
        within.ratio(neutral, neutral + tagged),
        within.ratio(neutral_va, neutral),
        within.ratio(tagged_va, tagged),
    )


def _tag_counts(study: ScoreTable, model: int) -> Floats:
    """How many emotions a model named per turn, mean over epochs that answered; NaN without any."""
    counts = []
    for epochs in study.tags(study.groups[model]):
        answered = [len(tags) for tags in epochs if tags is not None]
        counts.append(sum(answered) / len(answered) if answered else np.nan)
    return np.array(counts)
