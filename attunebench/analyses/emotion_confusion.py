"""Which emotions are taken for which: felt items beside the predicted ones that they were matched with.

Counts, matches and what chance would match come from `tag_pairs`; here they become rates with their doubt.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, text
from attunebench.analyses.tag_pairs import TagPairs, tag_pairs
from attunebench.analyses.testing import reach_text
from attunebench.constants import PANAS_ITEMS
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.multiple import adjust

_NAME = "emotion-confusion"
_METRIC = "emotion_va"
_MOST = 3
_COUNT = len(PANAS_ITEMS)


def analyse(subject: Subject) -> Analysis:
    """Rates per item, the matrix of felt and predicted items, and pairs that come up more often than chance makes."""
    begun = common.begun(_NAME)
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    pairs = tag_pairs(study, settings.rng(_NAME))
    if not pairs.felt.any() and not pairs.predicted.any():
        missing = within.NO_LABELS if not study.ground_truth else "No turn has a tag, of the person or of a model."
        return replace(begun, missing=missing)
    sampling = Sampling.of(study, settings)
    look = _Look(study, pairs, sampling)
    return replace(
        begun,
        tables=tuple(table for table in look.tables() if table.rows),
        shows=look.sentence(),
        cannot="Tags are matched by nearness, so a substitution is always the nearest name that was left, and near "
        "names are counted for each other first. A person who tags “upset” may have meant “distressed”: some of this "
        "is how people use words.",
        warnings=reach_text(np.full(look.tests, sampling.least), settings, together=False),
        notes=(f"{_unanswered(pairs)}{common.small_text(settings)}",),
    )


def _unanswered(pairs: TagPairs) -> str:
    return f"{common.counted(pairs.unanswered, 'unanswered turn')} left out. " if pairs.unanswered else ""


class _Look:
    """Rates of items and pairs, over all models (counts summed) and for each."""

    def __init__(self, study: ScoreTable, pairs: TagPairs, sampling: Sampling):
        self.study, self.pairs, self.sampling = study, pairs, sampling
        self.felt, self.predicted = pairs.felt.sum(axis=2), pairs.predicted.sum(axis=2)
        self.right, self.matched = pairs.right.sum(axis=2), pairs.matched.sum(axis=3)
        self.missed, self.invented = pairs.missed.sum(axis=2), pairs.invented.sum(axis=2)
        self.f1 = self._rates(2 * self.right, self.felt + self.predicted)
        self.tested = self._tested()

    def _rates(self, above: Floats, below: Floats, drills: Sequence[Drill | None] | None = None) -> list[Cell]:
        return within.rate_cells(self.sampling, above, below, drills)

    @property
    def where(self) -> str:
        """What is counted over, for captions."""
        return f"{within.mark_text(self.study)}, {common.counted(len(self.study.groups), 'model')}"

    @property
    def tests(self) -> int:
        """How many pairs are on enough conversations to be tested."""
        return sum(excess.p is not None for *_, excess in self.tested)

    def tables(self) -> tuple[Table, ...]:
        """All tables; those of pairs are empty where nothing was taken for anything else."""
        return (self.items(), self.matrix(), self.confusions(), self.scores(), self.by_model(), self.model_pairs())

    def items(self) -> Table:
        over_felt = [self._rates(part, self.felt) for part in (self.right, self._taken(), self.missed)]
        over_predicted = [self._rates(part, self.predicted) for part in (self.right, self.invented)]
        order = common.by_value(np.array([common.value_of(cell) for cell in self.f1]))
        rows = tuple(
            (
                text(PANAS_ITEMS[i]),
                Cell(int((self.felt[:, i] > 0).sum())),
                Cell(round(float(self.felt[:, i].sum()))),
                Cell(round(float(self.predicted[:, i].sum()))),
                *(cells[i] for cells in (*over_felt, *over_predicted)),
                replace(self.f1[i], drill=Drill(metric="emotion_f1")),
            )
            for i in order
        )
        return Table(
            "items",
            "Items over all models",
            (
                Column("item", "item", "text"),
                Column("n", "conversations", "count", "Conversations in which it was felt."),
                Column("felt", "felt", "count", "Tags of people, counted for each model."),
                Column("predicted", "predicted", "count", "Tags of models."),
                Column("recall", "found (recall)", "share", "Of felt tags: named.", True),
                Column("taken", "taken for another", "share", "Of felt tags: matched with another name.", False),
                Column("missed", "missed", "share", "Of felt tags: matched with nothing.", False),
                Column("precision", "right (precision)", "share", "Of predicted tags: felt.", True),
                Column("invented", "invented", "share", "Of predicted tags: matched with nothing.", False),
                Column("f1", "F1", "share", "2 × found / (felt + predicted).", True),
            ),
            rows,
            caption=f"{self.where}; tags summed over models, unanswered turns left out. "
            f"{common.intervals_text(self.sampling.settings)}.",
            chart=Chart(
                "bars", "item", ("recall", "taken", "missed"), "What becomes of felt tags", "share of felt tags"
            ),
        )

    def _taken(self) -> Floats:
        return np.asarray(self.matched.sum(axis=2) - self.right)

    def matrix(self) -> Table:
        """Felt items × predicted items, in shares of the felt tags; the last row has the tags that nobody felt."""
        rows = []
        for i, item in enumerate(PANAS_ITEMS):
            counts = [self.matched[:, i, j] for j in range(_COUNT)] + [self.missed[:, i]]
            drills = [*(self._drill(i, j) for j in range(_COUNT)), None]
            rows.append((text(item), *self._shares(counts, self.felt[:, i], drills)))
        counts = [self.invented[:, j] for j in range(_COUNT)]
        invented = self._shares(counts, self.invented.sum(axis=1), [None] * _COUNT)
        rows.append((text("(not felt)"), *invented, Cell(None)))
        return Table(
            "matrix",
            "Felt against predicted, all models",
            (
                Column("felt", "felt", "text"),
                Column("n", "conversations", "count"),
                Column("tags", "tags", "count"),
                *(Column(f"as_{item}", item, "share", f"Matched with “{item}”.", digits=2) for item in PANAS_ITEMS),
                Column("missed", "missed", "share", "Matched with nothing.", False, 2),
            ),
            tuple(rows),
            caption=f"{self.where}. Rows add up to 1: shares of the felt tags of an item; in the last row of all "
            "predicted tags that were matched with nothing. Intervals stand in the tables of items and of pairs.",
            chart=Chart(
                "matrix",
                "felt",
                (*(f"as_{item}" for item in PANAS_ITEMS), "missed"),
                "Felt (rows) against predicted (columns)",
                "share of felt tags",
            ),
        )

    def _shares(self, counts: Sequence[Floats], of: Floats, drills: Sequence[Drill | None]) -> list[Cell]:
        """Conversations, tags, and the share of each count in a row's tags."""
        total, n = float(of.sum()), int((of > 0).sum())
        small = n > 0 and within.is_small(self.study, np.zeros(len(of)), of > 0, self.sampling.settings)
        shares = [
            Cell(float(count.sum() / total) if total else None, n=n, small=small, drill=drill if count.any() else None)
            for count, drill in zip(counts, drills, strict=True)
        ]
        return [Cell(n), Cell(round(total)), *shares]

    def _drill(self, i: int, j: int, model: int | None = None) -> Drill:
        models = range(len(self.study.groups)) if model is None else (model,)
        rows = sorted({row for m in models for row in self.pairs.turns.get((m, i, j), ())})
        key = None if model is None else self.study.groups[model].key
        return Drill(group=key, metric=_METRIC, turns=within.turns_of(self.study, rows))

    def _tested(self) -> list[tuple[int, int, Cell, Cell]]:
        """(felt, predicted, share of felt tags, that less the dealt share) of all pairs that occur, frequent first."""
        counts = self.matched.sum(axis=0)
        found = [(i, j) for i in range(_COUNT) for j in range(_COUNT) if i != j and counts[i, j] > 0]
        if not found:
            return []
        found.sort(key=lambda pair: (-counts[pair], pair))
        observed = np.stack([self.matched[:, i, j] for i, j in found], axis=1)
        expected = np.stack([self.pairs.dealt.sum(axis=3)[:, i, j] for i, j in found], axis=1)
        felt = np.stack([self.felt[:, i] for i, _ in found], axis=1)
        shares = self._rates(observed, felt, [self._drill(i, j) for i, j in found])
        excess = self._rates(observed - expected, felt)
        there = felt > 0
        tests = self.sampling.tests(_NAME, np.where(there, observed, np.nan), np.where(there, expected, np.nan))
        # A pair on too few conversations is not tested, and costs the others nothing.
        settings = self.sampling.settings
        few = np.array([cell.small for cell in excess]) | common.beyond_reach(tests.least, settings, together=False)
        tests.p[few] = np.nan
        corrected = adjust(tests.p, common.plain_correction(settings))
        return [
            (
                *pair,
                shares[k],
                replace(
                    excess[k],
                    small=bool(few[k]),
                    p=None if np.isnan(tests.p[k]) else float(tests.p[k]),
                    p_corrected=None if np.isnan(corrected[k]) else float(corrected[k]),
                ),
            )
            for k, pair in enumerate(found)
        ]

    def confusions(self) -> Table:
        settings = self.sampling.settings
        rows = tuple(
            (
                text(PANAS_ITEMS[i]),
                text(PANAS_ITEMS[j]),
                Cell(share.n),
                Cell(round(float(self.matched[:, i, j].sum()))),
                share,
                excess,
            )
            for i, j, share, excess in self.tested
        )
        correction = common.CORRECTIONS[common.plain_correction(settings)]
        return Table(
            "pairs",
            "Taken for another",
            (
                Column("felt", "felt", "text"),
                Column("predicted", "predicted", "text"),
                Column("n", "conversations", "count", "Conversations in which the former was felt."),
                Column("tags", "tags", "count", "Tags matched so, over models."),
                Column("share", "of felt tags", "share", "Share of the felt tags.", False),
                Column("excess", "beyond chance", "share", "Less the share when names are dealt to other turns."),
            ),
            rows,
            caption=f"{self.where}; frequent first. Chance: the names that were not felt, dealt to turns at random and "
            f"matched anew. {common.intervals_text(settings)}; p by sign-flip permutation, corrected ({correction}) "
            f"over {common.counted(self.tests, 'pair')}.",
        )

    def scores(self) -> Table:
        """F1 of each item for each model."""
        count, flat = len(self.study.groups), (len(self.study.ids), -1)
        below = self.pairs.felt + self.pairs.predicted
        cells = self._rates((2 * self.pairs.right).reshape(flat), below.reshape(flat))
        rows = tuple(
            (
                text(item),
                *(
                    replace(cells[i * count + m], drill=common.drill_to(group, "emotion_f1"))
                    for m, group in enumerate(self.study.groups)
                ),
            )
            for i, item in enumerate(PANAS_ITEMS)
        )
        return Table(
            "f1",
            "F1 by item and model",
            (
                Column("item", "item", "text"),
                *within.model_columns(self.study, range(count), meaning="F1 of the item."),
            ),
            rows,
            caption=f"{self.where}; n counts conversations in which the item was felt or predicted. "
            f"{common.intervals_text(self.sampling.settings)}.",
            chart=Chart(
                "heatmap",
                "item",
                tuple(within.model_id(self.study, i) for i in range(count)),
                "F1 by emotion and model",
                "F1",
            ),
        )

    def by_model(self) -> Table:
        """Precision and recall of each item for each model."""
        flat = len(self.study.ids), -1
        right, felt, predicted = (
            table.reshape(flat) for table in (self.pairs.right, self.pairs.felt, self.pairs.predicted)
        )
        missed, invented = self.pairs.missed.reshape(flat), self.pairs.invented.reshape(flat)
        recall, precision = self._rates(right, felt), self._rates(right, predicted)
        count = len(self.study.groups)
        rows = tuple(
            (
                text(PANAS_ITEMS[k // count]),
                text(self.study.groups[k % count].label),
                *(Cell(round(float(table[:, k].sum()))) for table in (felt, predicted, right, missed, invented)),
                recall[k],
                precision[k],
            )
            for k in range(_COUNT * count)
            if felt[:, k].any() or predicted[:, k].any()
        )
        return Table(
            "by-model",
            "Items by model",
            (
                Column("item", "item", "text"),
                Column("model", "model", "text"),
                Column("felt", "felt", "count", "Tags of people."),
                Column("predicted", "predicted", "count", "Tags of the model."),
                Column("right", "right", "count", "Felt and predicted."),
                Column("missed", "missed", "count", "Felt, and matched with nothing."),
                Column("invented", "invented", "count", "Predicted, and matched with nothing."),
                Column("recall", "found (recall)", "share", "Of felt tags.", True),
                Column("precision", "right (precision)", "share", "Of predicted tags.", True),
            ),
            rows,
            caption=f"{self.where}; n of a rate: conversations with such a tag. "
            f"{common.intervals_text(self.sampling.settings)}.",
        )

    def model_pairs(self) -> Table:
        """The substitutions of each model, frequent first."""
        return Table(
            "model-pairs",
            "Taken for another, by model",
            (
                Column("model", "model", "text"),
                Column("felt", "felt", "text"),
                Column("predicted", "predicted", "text"),
                Column("n", "conversations", "count", "Conversations in which this happens."),
                Column("tags", "tags", "count", "Tags matched so."),
                Column("share", "of felt tags", "share", "Share of the felt tags.", False),
            ),
            tuple(self._model_rows()),
            caption=f"{self.where}; pairs that come up in two conversations or more. Counts are small for single "
            f"models: read them with the table over all models. {common.intervals_text(self.sampling.settings)}.",
        )

    def _model_rows(self) -> Iterable[tuple[Cell, ...]]:
        conversations = (self.pairs.matched > 0).sum(axis=0)
        totals = self.pairs.matched.sum(axis=0)
        places = ((int(i), int(j), int(m)) for i, j, m in np.argwhere(conversations > 1) if i != j)
        found = sorted(places, key=lambda place: (place[2], -totals[place], place))
        if not found:
            return
        felt = self.pairs.felt
        shares = self._rates(
            np.stack([self.pairs.matched[:, i, j, m] for i, j, m in found], axis=1),
            np.stack([felt[:, i, m] for i, _, m in found], axis=1),
            [self._drill(*place) for place in found],
        )
        for place, share in zip(found, shares, strict=True):
            i, j, m = place
            words = (text(self.study.groups[m].label), text(PANAS_ITEMS[i]), text(PANAS_ITEMS[j]))
            yield (*words, Cell(int(conversations[place])), Cell(round(float(totals[place]))), share)

    def sentence(self) -> str:
        """The emotions read best and worst, and the substitutions that are told from chance."""
        settings: Settings = self.sampling.settings
        usable = [i for i, cell in enumerate(self.f1) if not cell.small and cell.value is not None]
        if not usable:
            return "No emotion was felt or predicted in enough conversations for a claim."
        order = sorted(usable, key=lambda i: common.value_of(self.f1[i]))
        ends = dict.fromkeys((order[-1], order[0]))
        named = [f"{PANAS_ITEMS[i]} {common.with_interval(self.f1[i])}" for i in ends]
        said = f"The highest and lowest F1 are {' and '.join(named)}."
        found = [
            (i, j, share)
            for i, j, share, excess in self.tested
            if common.claimed(excess, settings) and common.value_of(excess) > 0
        ]
        if not found:
            return f"{said} No emotion is shown to be taken for a certain other one more often than chance makes it."
        found.sort(key=lambda pair: -common.value_of(pair[2]))
        named = [
            f"{PANAS_ITEMS[i]} for {PANAS_ITEMS[j]} ({common.with_interval(share)} of its tags)"
            for i, j, share in found
        ]
        return f"{said} Taken for another more often than chance makes it: {common.listed(named, most=_MOST + 1)}."
