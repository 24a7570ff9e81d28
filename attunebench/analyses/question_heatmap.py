"""Which of the binary questions which model answers right: accuracy and MCC by question and category, with base rates.

Counts are pooled over all turns, as the pooled rates of the scores are. A question to which most people say yes is
answered well by saying yes always, so every accuracy stands beside that of the more frequent answer.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject
from attunebench.analyses.sampling import beyond_reach, cells_of, corrected_p, mean_over_models, pair_tests, ratio
from attunebench.analyses.table import Analysis, Cell, Drill, Missing, Table, column, counts, numbers_of, table, words
from attunebench.analyses.verdicts import range_text, sentences
from attunebench.analyses.within import View
from attunebench.scores.table import TRUTH_OF_BLOCK, Block
from attunebench.statistics.bootstrap import Floats

_DRAWN = 15
"""Questions in the heat map of accuracy: those farthest from the more frequent answer."""


def analyse(subject: Subject) -> Analysis:
    """A table of accuracy and one of MCC, models × questions and models × categories, for each side."""
    view = View.of_models(subject)
    blocks: dict[Block, str] = {"binary_om": "Binary OM", "binary_hp": "Binary HP"}
    tables, shows = list[Table](), list[str]()
    for block, label in blocks.items():
        right = view.study.right(block)
        if not np.isnan(right).all():
            (*made, said), (*by_category, _) = (_tables(view, block, label, right, by) for by in within.PLURALS)
            tables += (*made, *by_category)
            shows.append(said)
    if not tables:
        raise Missing(within.NO_LABELS)
    return Analysis(tables=tuple(tables), shows=sentences(*shows), warnings=view.reach(len(view.study.questions)))


def _tables(view: View, block: Block, side: str, right: Floats, by: within.By) -> tuple[Table, Table, str]:
    """Accuracy with its base rates, and MCC; a row for each question (category) with a label; and what they show."""
    names, parts = within.question_parts(view.study, by)
    truth, plural = view.study.truth_binary(TRUTH_OF_BLOCK[block]), within.PLURALS[by]
    asked = ~np.isnan(truth)
    labels = asked.sum(axis=0) @ parts
    yes = ratio(np.nansum(truth, axis=0) @ parts, labels)
    frequent = np.where(asked, truth == (yes[parts.argmax(axis=1)] >= 0.5), np.nan)
    about = [Drill(question=n, block=block) if by == "question" else Drill(metric=f"{block}_accuracy") for n in names]
    (base, most, over_models, *of_models), mcc = _cells(view, truth, frequent, right, parts, about)
    over = _over_frequent(view, block, mean_over_models(right), frequent, parts)
    order = [int(i) for i in np.flatnonzero(labels)]
    front = [
        words(by, names),
        numbers_of(base),
        counts("labels", labels.astype(np.int64), meaning="Turns in which people answered yes or no."),
        column("yes", base, "yes", "share", "Base rate: share of these labels that are yes."),
    ]
    pooled = f"{view.turns_sample}; pooled over turns; unanswered counts as wrong."
    accuracy = table(
        f"{block}-{plural}-accuracy",
        f"{side}: accuracy by {by}",
        front[0],
        *([words("asks", map(within.wording, names))] if by == "question" else []),
        *front[1:],
        column("frequent", most, "more frequent answer", "share", "Score of always giving the more frequent answer."),
        column("all", over_models, "all models", "share", "Mean over models.", better=True),
        column("over", over, "gain over that answer", "share", "Mean over models minus that score.", better=True),
        *view.columns([cell for row in zip(*of_models, strict=True) for cell in row], f"{side}, accuracy."),
        order=order,
        caption=f"{pooled} {view.how(by, over, plural)}",
        chart=replace(
            view.heatmap("asks" if by == "question" else by, f"{side}: accuracy by {by}", "accuracy"),
            values=("yes", "frequent", "all", *(f"model_{label}" for label in view.labels)),
            roles={"yes": "reference", "frequent": "reference", "all": "all models"},
            sort="over",
            first=_DRAWN,
        ),
    )
    correlation = table(
        f"{block}-{plural}-mcc",
        f"{side}: MCC by {by}",
        *front,
        *view.columns(mcc, f"{side}, MCC."),
        order=order,
        caption=pooled,
        chart=replace(view.heatmap(by, f"{side}: MCC by {by}", "MCC"), lines={"chance": 0.0}),
    )
    usable = [i for i in order if not over_models[i].small]
    span = range_text((names[i], over_models[i]) for i in usable)
    of_tests = ([names[i] for i in usable], [over[i] for i in usable])
    claims = view.claims(*of_tests, f"of {side} from the more frequent answer")
    return accuracy, correlation, sentences(f"{side}: accuracy over all models is {span}." if span else "", claims)


def _cells(
    view: View, truth: Floats, frequent: Floats, right: Floats, parts: Floats, about: list[Drill]
) -> tuple[list[list[Cell]], list[Cell]]:
    """By part the rates of yes, of the more frequent answer, of all models and of each; then MCC, part by part."""
    rates = np.stack([truth, frequent, mean_over_models(right), *np.moveaxis(right, 2, 0)], axis=2)
    keys = [None, None, None, *(group.key for group in view.study.groups)]
    drills = [replace(one, group=key) for one in about for key in keys]
    cells = view.rates(*within.part_sums(view, rates, parts), drills, right=True)
    # Not answered is a wrong answer.
    tp, fn, tn, fp = (
        within.part_sums(view, np.where(truth[:, :, None] == label, value, np.nan), parts)[0]
        for label in (1, 0)
        for value in (right, 1 - right)
    )
    mcc = list[Cell]()
    for i, one in enumerate(about):  # part by part, as all at once would fill the memory
        sums = [of[:, i] for of in (tp, tn, fp, fn)]
        mcc += view.functions(_mcc, sums, np.sum(sums, axis=0), [replace(one, group=key) for key in keys[3:]])
    return [cells[i :: len(keys)] for i in range(len(keys))], [cell if cell.n else Cell(None, n=0) for cell in mcc]


def _mcc(tp: Floats, tn: Floats, fp: Floats, fn: Floats) -> Floats:
    """(tp·tn − fp·fn) / √((tp+fp)(tp+fn)(tn+fp)(tn+fn)), 0 where that is 0. Source: spec 4.1."""
    below = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return np.asarray(np.where(below > 0, (tp * tn - fp * fn) / np.sqrt(np.where(below > 0, below, 1.0)), 0.0))


def _over_frequent(view: View, block: Block, pooled: Floats, frequent: Floats, parts: Floats) -> list[Cell]:
    """All models minus the more frequent answer, over all answers; conversations (participants) move as a whole."""
    # A row for each answer, and a column for each part, which has gaps where the question is of another part.
    a, b = (np.where(parts == 1, of[:, :, None], np.nan).reshape(-1, parts.shape[1]) for of in (pooled, frequent))
    rows = view.study.clusters_of_turns()
    units = np.repeat(rows if view.clusters is None else view.clusters[rows], len(parts))
    units = np.unique(units, return_inverse=True)[1].astype(np.intp)
    tests = pair_tests(f"question-heatmap/{block}/{parts.shape[1]}", a, b, view.settings, units)
    there = within.part_sums(view, pooled[:, :, None], parts)[1][:, :, 0] > 0
    small = beyond_reach(tests.least, view.settings) | view.small(np.where(there, 0.0, np.nan))
    corrected = corrected_p(tests, view.settings)
    return cells_of(tests.difference, tests.low, tests.high, there.sum(axis=0), small, p=tests.p, p_corrected=corrected)
