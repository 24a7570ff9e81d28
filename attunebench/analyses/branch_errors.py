"""How far the four branches of emotional intelligence are foreseen wrong, in points of the person's scale 1–7.

The error is what `four_branch_<branch>` is made of, so that an answer that is lacking counts six points here as there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Settings, Subject, Table, text
from attunebench.analyses.testing import reach_text
from attunebench.constants import BRANCHES
from attunebench.metrics.four_branch import SPAN
from attunebench.scores import ConversationEntry
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

_MEAN = "four_branch"


def analyse(subject: Subject) -> Analysis:
    """Mean absolute error and bias per model and branch; whether one branch is foreseen worse than another."""
    begun = common.begun("branch-errors")
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    errors = {name: SPAN * (1 - study.values(_id(name))) for name in (*BRANCHES, "")}
    if np.isnan(errors[""]).all():
        return replace(begun, missing="No result holds predicted branch scores for a person who gave any.")
    sampling = Sampling.of(study, settings)
    pooled, found = _branches(study, errors, sampling)
    tables = [_by_model(study, errors, sampling), pooled]
    if (bias := _bias(study, sampling)) is not None:
        tables.append(bias)
    return replace(
        begun,
        tables=tuple(tables),
        shows=found,
        cannot="A branch may be foreseen badly because people use its scale in more different ways, not because "
        "models grasp it less; and the person rated the chat model's replies, not the model that is tested here.",
        warnings=reach_text(np.full(math.comb(len(BRANCHES), 2), sampling.least), settings),
        notes=(common.small_text(settings),),
    )


def _id(name: str) -> str:
    return f"{_MEAN}_{name}" if name else _MEAN


def _columns(**more: str) -> tuple[Column, ...]:
    meaning = more.get("meaning", "Mean absolute error in points of the scale 1–7.")
    return tuple(
        Column(name or "all", name or "all branches", "number", meaning, higher_is_better=False, digits=2)
        for name in (*BRANCHES, "")
    )


def _by_model(study: ScoreTable, errors: Mapping[str, Floats], sampling: Sampling) -> Table:
    cells = {
        name: sampling.cells(table, [common.drill_to(group, _id(name)) for group in study.groups])
        for name, table in errors.items()
    }
    order = common.by_value(sampling.estimate(errors[""]).value, higher_is_better=False)
    rows = tuple(
        (text(study.groups[i].label), Cell(cells[""][i].n), *(cells[name][i] for name in (*BRANCHES, "")))
        for i in order
    )
    return Table(
        "errors",
        "Error per model and branch",
        (Column("model", "model", "text"), Column("n", "conversations", "count"), *_columns()),
        rows,
        caption=f"{common.sample_text(study)}. Points of the scale 1–7, lower is better; a branch that was not "
        f"answered counts {SPAN:g}. {common.intervals_text(sampling.settings)}.",
        chart=Chart("intervals", "model", tuple(BRANCHES), "Four Branch error", "mean absolute error (points of 1–7)"),
    )


def _branches(study: ScoreTable, errors: Mapping[str, Floats], sampling: Sampling) -> tuple[Table, str]:
    """Each branch over all models, each conversation counting once, and what can be said of their order."""
    pooled = np.stack([common.mean_over_models(errors[name]) for name in BRANCHES], axis=1)
    cells = sampling.cells(pooled)
    order = [i for i in common.by_value(sampling.estimate(pooled).value) if cells[i].value is not None]
    tests, pairs = _pairs(pooled, sampling)
    rows = []
    for i in order:
        others = [tests[pair] for pair in pairs if i in pair]
        apart = sum(common.claimed(cell, sampling.settings) for cell in others)
        rows.append((text(BRANCHES[i]), Cell(cells[i].n), cells[i], Cell(apart)))
    table = Table(
        "branches",
        "Branches over all models",
        (
            Column("branch", "branch", "text"),
            Column("n", "conversations", "count"),
            Column("error", "error", "number", "Mean over models, then conversations", False, 2),
            Column("apart", "told apart from", "count", "How many other branches it is told apart from."),
        ),
        tuple(rows),
        caption=f"{common.sample_text(study)}, mean over {common.counted(len(study.groups), 'model')} in each; hardest "
        f"first. {common.intervals_text(sampling.settings)}; "
        f"{common.correction_text(sampling.settings, common.counted(len(pairs), 'pair'))} of branches.",
    )
    return table, _sentence(order, cells, tests, sampling.settings)


def _pairs(pooled: Floats, sampling: Sampling) -> tuple[dict[tuple[int, int], Cell], list[tuple[int, int]]]:
    pairs = list(combinations(range(len(BRANCHES)), 2))
    a, b = pooled[:, [i for i, _ in pairs]], pooled[:, [j for _, j in pairs]]
    tests = sampling.tests("branch-errors", a, b)
    corrected = common.corrected_p(tests, sampling.settings)
    return dict(zip(pairs, sampling.difference_cells(tests, corrected, a, b), strict=True)), pairs


def _sentence(order: list[int], cells: list[Cell], tests: Mapping[tuple[int, int], Cell], settings: Settings) -> str:
    if len(order) < 2:
        return "Only one branch has answers to compare."
    ends = " and ".join(f"{BRANCHES[i]} ({common.with_interval(cells[i], 2)} points)" for i in (order[0], order[-1]))
    apart = [
        (worse, better)
        for worse, better in combinations(order, 2)
        if common.claimed(tests[min(worse, better), max(worse, better)], settings)
    ]
    if cells[order[0]].small or all(cell.small for cell in tests.values()):
        return f"The largest and smallest mean errors are {ends}: too few conversations or participants for a claim."
    if not apart:
        return f"No branch is foreseen worse than another: even {ends} are not told apart."
    worse, better = max(apart, key=lambda pair: order.index(pair[1]) - order.index(pair[0]))
    cell = tests[min(worse, better), max(worse, better)]
    shown = common.with_interval(cell if worse < better else common.turned(cell), 2)
    whole = "" if (worse, better) == (order[0], order[-1]) else f" The largest and smallest mean errors are {ends}."
    said = f"{BRANCHES[worse].capitalize()} is foreseen worse than {BRANCHES[better]}, by {shown} points"
    if whole:
        return f"{said}.{whole}"
    return f"{BRANCHES[worse].capitalize()} is foreseen worst and {BRANCHES[better]} best, {shown} points apart."


def _bias(study: ScoreTable, sampling: Sampling) -> Table | None:
    """Predicted minus given points; None where the scores do not keep the answers."""
    columns = []
    for branch in BRANCHES:
        truth = np.array([_felt(study, i, branch) for i in study.ids])
        predicted = study.entry_values(lambda entry, branch=branch: _predicted(entry, branch))  # type: ignore[misc]
        columns.append(predicted - truth[:, None])
    if np.isnan(np.stack(columns)).all():
        return None
    cells = [sampling.cells(column, flag=False) for column in columns]
    rows = tuple((text(group.label), *(column[i] for column in cells)) for i, group in enumerate(study.groups))
    meaning = "Predicted minus the person's own points."
    return Table(
        "bias",
        "Too high or too low",
        (
            Column("model", "model", "text"),
            *(Column(branch, branch, "number", meaning, None, 2) for branch in BRANCHES),
        ),
        rows,
        caption="Predicted minus the person's points, over answered branches alone; above 0 the model thinks the "
        f"person happier with the replies than they were. {common.intervals_text(sampling.settings)}.",
    )


def _felt(study: ScoreTable, conversation: str, branch: str) -> float:
    truth = study.ground_truth.get(conversation)
    return np.nan if truth is None else truth["wide"]["four_branch"].get(branch, np.nan)


def _predicted(entry: ConversationEntry, branch: str) -> float | None:
    wide = (entry.get("answers") or {}).get("wide")
    return None if wide is None else wide["four_branch"].get(branch)
