"""Which of the binary questions which model answers right: accuracy and MCC by question and category, with base rates.

Counts are pooled over all turns, as the pooled rates of the scores are. A question to which most people say yes is
answered well by saying yes always, so every accuracy stands beside that of the more frequent answer.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject
from attunebench.analyses.sampling import beyond_reach, cells_of, corrected_p, mean_over_models, pair_tests, ratio
from attunebench.analyses.table import Analysis, Cell, Drill, Missing, Table, column, counts, numbers_of, table, words
from attunebench.analyses.verdicts import correction_text, range_text
from attunebench.analyses.within import View
from attunebench.scores.table import TRUTH_OF_BLOCK, Block
from attunebench.statistics.bootstrap import Floats


class _Side(NamedTuple):
    """What was done or what was wanted: labels (turns, questions) and right answers (turns, questions, models)."""

    block: Block
    label: str
    truth: Floats
    right: Floats


def analyse(subject: Subject) -> Analysis:
    """A table of accuracy and one of MCC, models × questions and models × categories, for each side."""
    view = View.of_models(subject)
    blocks: dict[Block, str] = {"binary_om": "Binary OM", "binary_hp": "Binary HP"}
    tables, shows = [], []
    for block, label in blocks.items():
        truth, right = view.study.truth_binary(TRUTH_OF_BLOCK[block]), view.study.right(block)
        if not np.isnan(right).all():
            made = [one for by in within.PLURALS for one in _tables(view, _Side(block, label, truth, right), by)]
            # The columns of the first table: question, asks, n, labels, yes, frequent, all, over.
            usable = [row for row in made[0].rows if not row[6].small]
            names = [str(row[0].value) for row in usable]
            accuracy = range_text(zip(names, (row[6] for row in usable), strict=True))
            shows += [f"{label}: accuracy over all models ranges from {accuracy}."] if accuracy else []
            shows.append(view.claims(names, (row[7] for row in usable), f"of {label} from the more frequent answer"))
            tables += made
    if not tables:
        raise Missing(within.NO_LABELS)
    return Analysis(
        tables=tuple(tables),
        shows=" ".join(shows),
        warnings=view.reach(len(view.study.questions)),
    )


def _tables(view: View, side: _Side, by: within.By) -> tuple[Table, Table]:
    """Accuracy with its base rates, and MCC; a row for each question (category) with a label."""
    names, parts = within.question_parts(view.study, by)
    asked = ~np.isnan(side.truth)
    labels = asked.sum(axis=0) @ parts
    yes = ratio(np.nansum(side.truth, axis=0) @ parts, labels)
    frequent = np.where(asked, side.truth == (yes[parts.argmax(axis=1)] >= 0.5), np.nan)
    about = [
        Drill(question=name, block=side.block) if by == "question" else Drill(metric=f"{side.block}_accuracy")
        for name in names
    ]
    (base, most, over_models, *of_models), mcc = _cells(view, side, frequent, parts, about)
    front = [
        words(by, names),
        numbers_of(base),
        counts("labels", labels.astype(np.int64), meaning="Turns in which people answered yes or no."),
        column("yes", base, "yes", "share", "Base rate: share of these labels that are yes."),
    ]
    asks = [words("asks", map(within.wording, names))] if by == "question" else []
    over = _over_frequent(view, side, frequent, parts)
    order = [int(i) for i in np.flatnonzero(labels)]
    caption = f"{view.turns_sample}; pooled over turns, not answered is wrong. {view.how()}"
    accuracy, correlation = (f"{side.label}: {measure} by {by}" for measure in ("accuracy", "MCC"))
    return table(
        f"{side.block}-{within.PLURALS[by]}-accuracy",
        accuracy,
        front[0],
        *asks,
        *front[1:],
        column("frequent", most, "more frequent answer", "share", "Score of always giving it."),
        column("all", over_models, "all models", "share", "Mean over models.", better=True),
        column("over", over, "above that answer", "share", "All models minus that answer.", better=True),
        *view.columns([cell for row in zip(*of_models, strict=True) for cell in row], f"{side.label}, accuracy."),
        order=order,
        caption=f"{caption} P: {correction_text(view.settings, f'{len(order)} {within.PLURALS[by]}')}.",
        chart=view.heatmap(by, accuracy, "accuracy"),
    ), table(
        f"{side.block}-{within.PLURALS[by]}-mcc",
        correlation,
        *front,
        *view.columns([cell for row in zip(*mcc, strict=True) for cell in row], f"{side.label}, MCC."),
        order=order,
        caption=caption,
        chart=view.heatmap(by, correlation, "MCC"),
    )


def _cells(
    view: View, side: _Side, frequent: Floats, parts: Floats, about: list[Drill]
) -> tuple[list[list[Cell]], list[list[Cell]]]:
    """By part the rates of yes, of the more frequent answer, of all models and of each; and MCC of each model."""
    columns = [side.truth, frequent, mean_over_models(side.right), *np.moveaxis(side.right, 2, 0)]
    keys = (None, None, None, *(group.key for group in view.study.groups))
    drills = [[replace(drill, group=key) for drill in about] for key in keys]
    above, below = (sums.reshape(len(sums), -1) for sums in within.part_sums(view, np.stack(columns, axis=2), parts))
    cells = view.rates(above, below, [drill for row in zip(*drills, strict=True) for drill in row], right=True)
    mcc = [_mcc_cells(view, side.truth, of, parts, d) for of, d in zip(columns[3:], drills[3:], strict=True)]
    return [cells[i :: len(keys)] for i in range(len(keys))], mcc


def _mcc_cells(view: View, truth: Floats, right: Floats, parts: Floats, drills: list[Drill]) -> list[Cell]:
    """Matthews' correlation of one model's answers pooled by part; not answered is a wrong answer."""
    tp, fn, tn, fp = (
        within.part_sums(view, np.where(truth == label, value, np.nan)[:, :, None], parts)[0][:, :, 0]
        for label in (1, 0)
        for value in (right, 1 - right)
    )
    cells = view.functions(_mcc, (tp, tn, fp, fn), tp + tn + fp + fn, drills)
    return [cell if cell.n else Cell(None, n=0) for cell in cells]


def _mcc(tp: Floats, tn: Floats, fp: Floats, fn: Floats) -> Floats:
    """(tp·tn − fp·fn) / √((tp+fp)(tp+fn)(tn+fp)(tn+fn)), 0 where that is 0. Source: spec 4.1."""
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return np.asarray(np.where(below > 0, (tp * tn - fp * fn) / np.sqrt(np.where(below > 0, below, 1.0)), 0.0))


def _over_frequent(view: View, side: _Side, frequent: Floats, parts: Floats) -> list[Cell]:
    """All models minus the more frequent answer, over all answers; conversations (participants) move as a whole."""
    # A row for each answer, and a column for each part, which has gaps where the question is of another part.
    pooled = mean_over_models(side.right)
    a, b = (np.where(parts == 1, of[:, :, None], np.nan).reshape(-1, parts.shape[1]) for of in (pooled, frequent))
    rows = view.study.clusters_of_turns()
    units = np.repeat(rows if view.clusters is None else view.clusters[rows], len(parts))
    units = np.unique(units, return_inverse=True)[1].astype(np.intp)
    tests = pair_tests(f"question-heatmap/{side.block}/{parts.shape[1]}", a, b, view.settings, units)
    there = within.part_sums(view, pooled[:, :, None], parts)[1][:, :, 0] > 0
    small = beyond_reach(tests.least, view.settings) | view.small(np.where(there, 0.0, np.nan))
    corrected = corrected_p(tests, view.settings)
    return cells_of(tests.difference, tests.low, tests.high, there.sum(axis=0), small, p=tests.p, p_corrected=corrected)
