"""What analyses of turns, questions and groups share: the view of a study, rates over answers, contrasts of groups.

Turns of a conversation hang together: what is counted over turns gets its doubt from resampling conversations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any, Literal

import numpy as np

from attunebench.analyses import verdicts
from attunebench.analyses.base import Settings, Subject, models_of
from attunebench.analyses.sampling import Sampling, beyond_reach, cells_of, defined_mean, too_few
from attunebench.analyses.table import Cell, Chart, Drill, Filled, Unit, column, counts
from attunebench.constants import BINARY_CATEGORY, BINARY_QUESTION_TEXT
from attunebench.scores.table import ScoreTable
from attunebench.statistics import bootstrap
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import GroupContrast, Mask, group_difference

NO_LABELS = "These scores are from an older version and contain no labels or answers; run `attune-bench score` again."
THIRDS = ("early", "middle", "late")
By = Literal["question", "category"]
PLURALS: dict[By, str] = {"question": "questions", "category": "categories"}


@dataclass(frozen=True)
class View(Sampling):
    """The models of a mode, how their conversations are resampled, and the cells, columns and words made of both."""

    study: ScoreTable

    @classmethod
    def of_study(cls, study: ScoreTable, settings: Settings) -> View:
        """Of all groups of a study with at least one conversation."""
        sampling = Sampling.of(study, settings)
        return cls(sampling.weights, sampling.clusters, sampling.people, settings, study)

    @classmethod
    def of_models(cls, subject: Subject, *, least: int = 1, by_participant: bool = False) -> View:
        """Missing where fewer than `least` models were scored."""
        settings = replace(subject.settings, by_participant=True) if by_participant else subject.settings
        return cls.of_study(models_of(subject, least=least), settings)

    @property
    def labels(self) -> tuple[str, ...]:
        return self.study.labels

    @property
    def width(self) -> int:
        """The number of models."""
        return len(self.study.groups)

    def drills(self, metric: str | None = None, *, all_models: bool = False, **about: Any) -> list[Drill]:
        """Behind a cell of each model, after one of all of them."""
        keys = [*([None] if all_models else []), *(group.key for group in self.study.groups)]
        return [Drill(key, metric, **about) for key in keys]

    # Cells

    def means(self, metric_id: str, values: Floats) -> list[Cell]:
        """A cell for the mean of each model on a metric: from (conversations, models)."""
        return self.cells(values, self.drills(metric_id), of=metric_id)

    def sums(self, table: Floats) -> tuple[Floats, Floats]:
        """Sum and number of the defined values of each conversation's turns: from (turns, …) two (conversations, …)."""
        rows, count, defined = self.study.clusters_of_turns(), len(self.study.ids), ~np.isnan(table)
        sums = bootstrap.sum_by_cluster(np.where(defined, table, 0.0), rows, count)
        return sums, bootstrap.sum_by_cluster(defined, rows, count)

    def thirds(self, table: Floats) -> tuple[Floats, Floats]:
        """The same for each third of a conversation: two (conversations, 3, …). Under three turns there are none."""
        third_of = np.array([-1 if turn.third is None else turn.third for turn in self.study.turns])
        shape = (-1, *(1,) * (table.ndim - 1))
        parts = [self.sums(np.where((third_of == third).reshape(shape), table, np.nan)) for third in range(len(THIRDS))]
        sums, counts = (np.stack(side, axis=1) for side in zip(*parts, strict=True))
        return sums, counts

    def third_rates(self, sums: Floats, counts: Floats, metric_id: str) -> dict[str, list[Cell]]:
        """Third → a cell for each column of `thirds`: those that come before the models are of nobody."""
        cells = {}
        for third, name in enumerate(THIRDS):
            turns = turns_of(self.study, (row for row, turn in enumerate(self.study.turns) if turn.third == third))
            drills = [Drill(metric=metric_id, turns=turns)] * (sums.shape[2] - self.width)
            drills += self.drills(metric_id, turns=turns)
            cells[name] = self.rates(sums[:, third], counts[:, third], drills)
        return cells

    def functions(
        self,
        function: Callable[..., Floats],
        sums: Sequence[Floats],
        support: Floats,
        drills: Sequence[Drill | None] | None = None,
    ) -> list[Cell]:
        """Cells of a function of sums over conversations, of some (conversations, …).

        `support` is above 0 where a conversation has a part in the cell. Under two units there is no interval.
        """
        sums, support = [part.reshape(len(part), -1) for part in sums], support.reshape(len(support), -1)
        grouped = sums if self.clusters is None else [bootstrap.sum_by_cluster(part, self.clusters) for part in sums]
        weights = self.weights.astype(np.float64, copy=False)
        # All at once, as the weights, which no cache holds, are then read once.
        drawn = np.split(weights @ np.concatenate(grouped, axis=1), len(grouped), axis=1)
        low, high = bootstrap.percentile_interval(function(*drawn), self.settings.level)
        units = support if self.clusters is None else bootstrap.sum_by_cluster(support, self.clusters)
        single = (units > 0).sum(axis=0) < 2
        low[single] = high[single] = np.nan
        small, value = self.small(np.where(support > 0, 1.0, np.nan)), function(*(part.sum(axis=0) for part in sums))
        return cells_of(value, low, high, (support > 0).sum(axis=0), small, drills)

    def columns(
        self,
        cells: Sequence[Cell],
        meaning: str = "",
        unit: Unit = "share",
        *,
        better: bool | None = True,
        digits: int | None = None,
    ) -> list[Filled]:
        """A column for each model, of cells row by row."""
        return [
            column(f"model_{label}", cells[i :: self.width], label, unit, meaning, better=better, digits=digits)
            for i, label in enumerate(self.labels)
        ]

    def totals(self, id: str, values: Floats, meaning: str = "") -> Filled:
        """The sum of each column of counts."""
        return counts(id, [round(float(total)) for total in values.sum(axis=0)], meaning=meaning)

    def heatmap(self, label: str, title: str, axis: str) -> Chart:
        """A chart of `columns`."""
        return Chart("heatmap", label, tuple(f"model_{name}" for name in self.labels), title, axis)

    # Words

    @property
    def sample(self) -> str:
        """ "60 conversations of 12 participants, 4 models", for captions."""
        return f"{verdicts.sample_text(self.study)}, {verdicts.counted(self.width, 'model')}"

    @property
    def turns_sample(self) -> str:
        """ "60 conversations of 12 participants, 4 models, 300 turns", for captions."""
        return f"{self.sample}, {verdicts.counted(len(self.study.turns), 'turn')}"

    def how(self, over: str = "", tests: Iterable[Cell] | None = None, plural: str = "") -> str:
        """How p corrected `over` so many tests was made; of `tests`, their number is written too. "" without tests."""
        if tests is not None:
            number = sum(cell.p is not None for cell in tests)
            over = verdicts.counted(number, over, plural) if number else ""
        return f"{verdicts.correction_text(self.settings, over)}." if over else ""

    def reach(self, tests: int) -> tuple[str, ...]:
        """A warning where no paired test over all conversations can be significant; else nothing."""
        return verdicts.reach_text(np.full(tests, self.least), self.settings)

    def claims(
        self, names: Iterable[str], cells: Iterable[Cell], of: str, *, noun: str = "difference", digits: int = 3
    ) -> str:
        """Which of these differences are significant."""
        return verdicts.claims_sentence(zip(names, cells, strict=True), self.settings, noun=noun, of=of, digits=digits)


# Turns, questions and models gathered


def question_parts(study: ScoreTable, by: By) -> tuple[tuple[str, ...], Floats]:
    """The questions or their categories, and which question belongs to which: (questions, names) of 0 and 1."""
    if by == "question":
        return study.questions, np.eye(len(study.questions))
    of = [BINARY_CATEGORY.get(question, "unknown").replace("_", " ") for question in study.questions]
    names = tuple(dict.fromkeys(of))
    return names, np.array([[category == name for name in names] for category in of], dtype=np.float64)


def part_sums(view: View, table: Floats, parts: Floats) -> tuple[Floats, Floats]:
    """Sum and number of (turns, questions, columns) by conversation and part: two (conversations, names, columns)."""
    sums, counts = (np.einsum("cqm,qp->cpm", side, parts, order="C") for side in view.sums(table))
    return sums, counts


def column_means(values: Floats) -> Floats:
    """Mean of each column's defined values; NaN without any."""
    return defined_mean(values, axis=0)


def level_over_models(values: Floats) -> Floats:
    """Each row's mean over the models as if each of them had it: (rows,) from (rows, models); NaN without any.

    A row that a good model lacks is not a hard row. Least squares of row + model, the models' parts adding up to 0;
    without gaps it is the plain mean. Models that share no row, even through others, keep it.
    """
    defined = ~np.isnan(values)
    share = defined / np.maximum(defined.sum(axis=1, keepdims=True), 1)
    centred = np.where(defined, values - defined_mean(values)[:, None], 0.0)
    system = np.diag(defined.sum(axis=0).astype(np.float64)) - defined.T.astype(np.float64) @ share
    parts = np.linalg.lstsq(system, centred.sum(axis=0), rcond=1e-9)[0]
    return defined_mean(values - parts)


def coverage_text(values: Floats) -> tuple[str, ...]:
    """A note that `level_over_models` adjusted for gaps; nothing where all models have all rows."""
    defined = ~np.isnan(values)
    if defined[defined.any(axis=1)][:, defined.any(axis=0)].all():
        return ()
    return (
        "Not every model was scored on every conversation: values over all or other models are adjusted for this by "
        "least squares over conversations and models.",
    )


def pairwise_right(study: ScoreTable) -> tuple[tuple[str, ...], Floats, Floats]:
    """Pairwise question ids, and how many of their comparisons were right and counted: (turns, questions, models).

    Those without a winner and turns that were not measured do not count; not answered is wrong. Epochs are averaged.
    """
    truths, wins = study.truths(), []
    for turn in study.turns:
        truth = truths[turn.conversation]
        comparisons = () if truth is None else truth["turns"][turn.position - 1]["comparisons"]
        wins.append([(i, str(question), winner) for i, (question, *_, winner) in enumerate(comparisons) if winner])
    names = sorted({question for turn in wins for _, question, _ in turn}, key=lambda name: (len(name), name))
    at, shares = list[tuple[int, int, int]](), list[tuple[float, float]]()
    for (model, group), (row, turn) in product(enumerate(study.groups), enumerate(study.turns)):
        entries = study.entries.get((group.key, study.ids[turn.conversation]), ())
        answered = [of.get("answers", {}) for e in entries for of in e["turns"] if of["turnNumber"] == turn.number]
        given = [text for of in answered if (text := of.get("pairwise")) is not None]
        for text, (index, question, winner) in product(given, wins[row]):
            at.append((row, names.index(question), model))
            shares.append(((text[index : index + 1] == winner) / len(given), 1 / len(given)))
    sums = np.zeros((len(wins), len(names), len(study.groups), 2))
    np.add.at(sums, tuple(np.array(at, dtype=np.intp).reshape(-1, 3).T), np.array(shares).reshape(-1, 2))
    return tuple(names), sums[..., 0], sums[..., 1]


def in_rows(cells: Sequence[Cell], width: int) -> list[list[Cell]]:
    """The cells of a flat list of rows."""
    return [list(cells[start : start + width]) for start in range(0, len(cells), width)]


# Groups of conversations against the others


def group_contrast(
    study: ScoreTable,
    values: Floats,
    inside: Mask,
    asked: Mask,
    name: str,
    settings: Settings,
    family: int | None = None,
) -> tuple[GroupContrast, list[Cell]]:
    """Each column's mean inside the group minus that over the other conversations asked; participants move as a whole.

    `values` is (conversations, columns); `asked` are the conversations that count at all. `family`: how many tests are
    corrected together, where these are not the columns. NaN where a side is empty. With a cell for each column, not yet
    corrected; small where either side has too few conversations or participants.
    """
    people = np.unique(study.clusters[asked], return_inverse=True)[1].astype(np.intp)
    single = len(np.unique(people)) == len(people)  # then conversations are the units
    how: dict[str, Any] = {"clusters": None if single else people, "tests": family, **settings.of_tests}
    found = group_difference(values[asked], inside[asked], rng=settings.rng(name), **how)
    small = beyond_reach(found.least, settings, together=False)
    for side in (inside & asked, ~inside & asked):
        small = small | too_few(np.where(side[:, None], values, np.nan), study.clusters, settings)
    units = np.minimum(found.clusters_in, found.clusters_out)
    return found, cells_of(
        found.estimate, found.low, found.high, found.n_in + found.n_out, small, p=found.p, units=units
    )


def is_small(study: ScoreTable, column: Floats, chosen: Mask, settings: Settings) -> bool:
    """Whether the chosen conversations in which a column is defined are too few, or of a single participant."""
    return bool(too_few(np.where(chosen, column, np.nan)[:, None], study.clusters, settings)[0])


# Words and drills


def turns_of(study: ScoreTable, rows: Iterable[int]) -> tuple[tuple[str, int], ...]:
    """(conversation id, turn number) of rows of the study's turns, for a drill."""
    return tuple((study.ids[study.turns[row].conversation], study.turns[row].number) for row in rows)


def wording(question: str) -> str:
    """What a binary question asks, as an observer reads it, in short; the id alone where the codebook has none."""
    asked = BINARY_QUESTION_TEXT.get(question, question)
    return asked.removeprefix("Did the OM's reply ").removesuffix("?")
