"""Which of the binary questions which model answers right: accuracy and MCC by question and category, with base rates.

Counts are pooled over all turns, as the pooled rates of the scores are. A question to which most people say yes is
answered well by saying yes always, so every accuracy stands beside that of the more frequent answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Subject, Table, known, text
from attunebench.analyses.testing import reach_text
from attunebench.scores.table import Block, Labels, ScoreTable, Side
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.paired import paired_tests

_NAME = "question-heatmap"
_LOOKS: tuple[tuple[Block, Side, str, str], ...] = (
    ("binary_om", "observed", "Binary OM", "what the reply did"),
    ("binary_hp", "preferred", "Binary HP", "what the person wanted"),
)


def analyse(subject: Subject) -> Analysis:
    """A model × question table of accuracy and one of MCC for each side, and both by category."""
    begun = common.begun(_NAME)
    study = common.models_of(subject)
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    sampling = Sampling.of(study, subject.settings)
    looks = [look for look in (_Look(study, sampling, *which) for which in _LOOKS) if look.known]
    if not looks:
        return replace(begun, missing=within.NO_LABELS)
    return replace(
        begun,
        tables=tuple(table for look in looks for table in look.tables()),
        shows=" ".join(look.sentence() for look in looks),
        cannot="A hard question may be one on which people themselves differ; with one label for each turn that cannot "
        "be told from a model's mistake. MCC swings where one answer is rare.",
        warnings=reach_text(np.full(len(study.questions), sampling.least), subject.settings),
        notes=(common.small_text(subject.settings),),
    )


@dataclass(frozen=True)
class Confusions:
    """tp, tn, fp, fn per conversation: each (conversations, columns). Not answered is a wrong answer."""

    tp: Floats
    tn: Floats
    fp: Floats
    fn: Floats

    def mcc_cells(self, sampling: Sampling, drills: Sequence[Drill | None]) -> list[Cell]:
        """Matthews' correlation of the sums with its interval; 0 where a margin is empty, as in the scores."""
        parts = (self.tp, self.tn, self.fp, self.fn)
        value = mcc(*(part.sum(axis=0) for part in parts))
        samples = mcc(*np.split(within.resampled_sums(sampling, np.concatenate(parts, axis=1)), 4, axis=1))
        support = self.tp + self.tn + self.fp + self.fn
        cells = within.function_cells(sampling, value, samples, support, drills)
        return [cell if cell.n else Cell(None, n=0) for cell in cells]


def mcc(tp: Floats, tn: Floats, fp: Floats, fn: Floats) -> Floats:
    """(tp·tn − fp·fn) / √((tp+fp)(tp+fn)(tn+fp)(tn+fn)), 0 where that is 0. Source: spec 4.1."""
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return np.asarray(np.where(below > 0, (tp * tn - fp * fn) / np.sqrt(np.where(below > 0, below, 1.0)), 0.0))


class _Look:
    """One side (what was done, what was wanted) in all questions and categories."""

    def __init__(self, study: ScoreTable, sampling: Sampling, block: Block, side: Side, label: str, meaning: str):
        self.study, self.sampling, self.block, self.label, self.meaning = study, sampling, block, label, meaning
        self.right, self.truth = study.right(block), study.truth_binary(side)
        self.known = not np.isnan(self.right).all()
        if self.known:
            self.questions = self._parts(study.questions, np.arange(len(study.questions), dtype=np.intp))
            names = within.categories(study.questions)
            which = np.array([names.index(within.category(question)) for question in study.questions], dtype=np.intp)
            self.categories = self._parts(names, which)

    def _parts(self, names: Sequence[str], which: Labels) -> list[_Part]:
        """A part for each name, `which` being the part of each question."""
        study, sampling, models = self.study, self.sampling, len(self.study.groups)
        asked = ~np.isnan(self.truth)
        shares = [within.column_means(self.truth[:, which == i].reshape(-1, 1))[0] for i in range(len(names))]
        frequent = np.where(asked, self.truth == (np.array(shares)[which] >= 0.5), np.nan)
        pooled = common.mean_over_models(self.right.reshape(-1, models)).reshape(self.truth.shape)
        columns = np.concatenate([t[:, :, None] for t in (self.truth, frequent, pooled)] + [self.right], axis=2)
        above, below = (
            _by_part(study, table, which, len(names)).reshape(len(study.ids), -1) for table in _filled(columns)
        )
        width = columns.shape[2]
        drills = [
            _drill(self, name, key) for name in names for key in (None, None, None, *(g.key for g in study.groups))
        ]
        cells = within.rate_cells(sampling, above, below, drills, right=True)
        over = self._tested(pooled, frequent, which, names)
        confusions = [
            _confusions(study, self.right[:, :, m], self.truth, which, len(names)).mcc_cells(
                sampling, [_drill(self, name, group.key) for name in names]
            )
            for m, group in enumerate(study.groups)
        ]
        return [
            _Part(
                name,
                labels=int(asked[:, which == i].sum()),
                yes=cells[i * width],
                frequent=cells[i * width + 1],
                all=cells[i * width + 2],
                over=over[i],
                accuracy=tuple(cells[i * width + 3 : (i + 1) * width]),
                mcc=tuple(one[i] for one in confusions),
            )
            for i, name in enumerate(names)
        ]

    def _tested(self, pooled: Floats, frequent: Floats, which: Labels, names: Sequence[str]) -> list[Cell]:
        """All models minus the more frequent answer, over all answers; conversations (participants) move as a whole."""
        study, sampling, settings = self.study, self.sampling, self.sampling.settings
        most = int(np.bincount(which).max())
        sides = []
        for table in (pooled, frequent):
            # A row for each turn and question of the part: parts with fewer questions are padded with gaps.
            padded = np.full((len(table), most, len(names)), np.nan)
            for i in range(len(names)):
                chosen = table[:, which == i]
                padded[:, : chosen.shape[1], i] = chosen
            sides.append(padded.reshape(-1, len(names)))
        of_turn = study.clusters_of_turns()
        units = of_turn if sampling.clusters is None else sampling.clusters[of_turn]
        tests = paired_tests(
            *sides,
            rng=settings.rng(f"{_NAME}/{self.block}/{len(names)}"),
            resamples=settings.resamples,
            clusters=np.unique(np.repeat(units, most), return_inverse=True)[1].astype(np.intp),
            level=settings.level,
            alpha=settings.alpha,
            power=settings.power,
        )
        corrected = common.corrected_p(tests, settings)
        beyond = common.beyond_reach(tests.least, settings)
        counts = _by_part(study, (~np.isnan(pooled)).astype(np.float64)[:, :, None], which, len(names))[:, :, 0]
        return [
            Cell(
                known(tests.difference[i]),
                known(tests.low[i]),
                known(tests.high[i]),
                n=int((counts[:, i] > 0).sum()),
                p=known(tests.p[i]),
                p_corrected=known(corrected[i]),
                mark=common.mark_of(tests.difference[i], tests.low[i], int((counts[:, i] > 0).sum())),
                small=bool(beyond[i]) or within.is_small(study, np.zeros(len(study.ids)), counts[:, i] > 0, settings),
            )
            for i in range(len(names))
        ]

    def tables(self) -> tuple[Table, ...]:
        return (
            self._table("questions", "accuracy"),
            self._table("questions", "mcc"),
            self._table("categories", "accuracy"),
            self._table("categories", "mcc"),
        )

    def _table(self, over: str, measure: str) -> Table:
        study, questions, accurate = self.study, over == "questions", measure == "accuracy"
        parts = [part for part in (self.questions if questions else self.categories) if part.labels]
        count = len(study.groups)
        key = "question" if questions else "category"
        name = "accuracy" if accurate else "MCC"
        columns = [
            Column(key, key, "text"),
            *([Column("asks", "asks", "text")] if questions and accurate else []),
            Column("n", "conversations", "count"),
            Column("labels", "labels", "count", "Turns in which people answered yes or no."),
            Column("yes", "said yes", "share", "Base rate: share of these that are yes."),
        ]
        if accurate:
            columns += [
                Column("frequent", "more frequent answer", "share", "What giving it always would score."),
                Column("all", "all models", "share", "Mean over models.", True),
                Column("over", "above that answer", "share", "All models minus the more frequent answer.", True),
            ]
        columns += within.model_columns(study, range(count), meaning=f"{self.label}, {name}.")
        rows: list[tuple[Cell, ...]] = []
        for part in parts:
            asks = (text(within.wording(part.name)),) if questions and accurate else ()
            front = (text(part.name), *asks, Cell(part.yes.n), Cell(part.labels), part.yes)
            middle = (part.frequent, part.all, part.over) if accurate else ()
            rows.append((*front, *middle, *(part.accuracy if accurate else part.mcc)))
        noun = common.counted(len(parts), key, "categories" if key == "category" else "")
        tested = f"; {common.correction_text(self.sampling.settings, noun)}" if accurate else ""
        return Table(
            f"{self.block}-{over}-{measure}",
            f"{self.label}: {name} by {key}",
            tuple(columns),
            tuple(rows),
            caption=f"{within.mark_text(study)}; {self.meaning}, pooled over turns, not answered is wrong. "
            f"{common.intervals_text(self.sampling.settings)}{tested}.",
            chart=Chart(
                "heatmap",
                key,
                tuple(within.model_id(study, i) for i in range(count)),
                f"{self.label}: {name} by {key}",
                name,
            ),
        )

    def sentence(self) -> str:
        """The hardest and easiest question over all models, and where the more frequent answer does as well."""
        settings = self.sampling.settings
        usable = [part for part in self.questions if not part.all.small and part.all.value is not None]
        if not usable:
            return f"{self.label}: too few conversations on any question for a claim."
        order = sorted(usable, key=lambda part: common.value_of(part.all))
        ends = " and ".join(f"{part.name} {common.with_interval(part.all)}" for part in (order[0], order[-1]))
        above = [part for part in usable if common.claimed(part.over, settings) and common.value_of(part.over) > 0]
        below = [part for part in usable if common.claimed(part.over, settings) and common.value_of(part.over) < 0]
        said = (
            f"{self.label}: the lowest and highest accuracy over all models are {ends}; models are shown to be above "
            f"the more frequent answer on {len(above)} of {common.counted(len(usable), 'question')}"
        )
        return f"{said}, below it on {common.listed([part.name for part in below])}." if below else f"{said}."


@dataclass(frozen=True)
class _Part:
    """A question or category: how many labels it has, and cells for all models and each."""

    name: str
    labels: int
    yes: Cell
    frequent: Cell
    all: Cell
    over: Cell
    accuracy: tuple[Cell, ...]
    mcc: tuple[Cell, ...]


def _filled(table: Floats) -> tuple[Floats, Floats]:
    """Values with 0 for gaps, and 1 where there is one."""
    defined = ~np.isnan(table)
    return np.where(defined, table, 0.0), defined.astype(np.float64)


def _by_part(study: ScoreTable, table: Floats, which: Labels, parts: int) -> Floats:
    """Sums of (turns, questions, columns) without gaps: (conversations, parts, columns)."""
    sums = np.zeros((len(study.ids), parts, table.shape[2]))
    rows = study.clusters_of_turns()
    for part in range(parts):
        np.add.at(sums[:, part], rows, table[:, which == part].sum(axis=1))
    return sums


def _confusions(study: ScoreTable, right: Floats, truth: Floats, which: Labels, parts: int) -> Confusions:
    """Of one model's shares right (turns, questions), a column for each part."""
    counts = []
    for label in (1, 0):
        for value in (right, 1 - right):
            table = np.nan_to_num(np.where(truth == label, value, 0.0))[:, :, None]
            counts.append(_by_part(study, table, which, parts)[:, :, 0])
    tp, fn, tn, fp = counts
    return Confusions(tp, tn, fp, fn)


def _drill(look: _Look, name: str, group: tuple[str, str, str] | None) -> Drill:
    if name in look.study.questions:
        return Drill(group=group, question=name, block=look.block)
    return Drill(group=group, metric=f"{look.block}_accuracy")
