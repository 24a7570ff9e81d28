"""How far predictions of the four branches of emotional intelligence are off, in points of the person's scale 1–7.

The error is what `four_branch_<branch>` is made of, so an answer that is missing counts six points here as there.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from attunebench.analyses.base import NOTHING_SCORED, Subject, by_value, drill_to, models_of, value_of
from attunebench.analyses.sampling import Sampling, claimed, corrected_p, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Filled, Missing, Table, column, counts, table, words
from attunebench.analyses.verdicts import (
    claims_sentence,
    correction_text,
    counted,
    intervals_text,
    range_text,
    reach_text,
    sample_text,
)
from attunebench.constants import BRANCHES
from attunebench.metrics.four_branch import SPAN
from attunebench.scores.table import ScoreTable


def analyse(subject: Subject) -> Analysis:
    """Mean absolute error and bias per model and branch; which branches differ."""
    study, settings = models_of(subject), subject.settings
    if not study.groups:
        raise Missing(NOTHING_SCORED)
    ids = {**{branch: f"four_branch_{branch}" for branch in BRANCHES}, "all": "four_branch"}
    errors = {name: SPAN * (1 - study.values(metric_id)) for name, metric_id in ids.items()}
    if np.isnan(errors["all"]).all():
        raise Missing("No result predicts branch scores for a person who gave any.")
    sampling = Sampling.of(study, settings)
    cells = {
        name: sampling.cells(values, [drill_to(group, ids[name]) for group in study.groups])
        for name, values in errors.items()
    }
    by_model = table(
        "errors",
        "Error per model and branch",
        words("model", study.labels),
        counts("n", [cell.n for cell in cells["all"]], "conversations"),
        *(_points(name, column, "Mean absolute error in points of the scale 1–7.") for name, column in cells.items()),
        order=by_value(sampling.estimate(errors["all"]).value, higher_is_better=False),
        caption=f"{sample_text(study)}. Points of the scale 1–7, lower is better; an unanswered branch counts "
        f"{SPAN:g}. {intervals_text(settings)}.",
        chart=Chart("intervals", "model", BRANCHES, "Four Branch error", "mean absolute error (points of 1–7)"),
    )
    pooled = np.stack([mean_over_models(errors[branch]) for branch in BRANCHES], axis=1)
    by_branch, shows = _branches(study, sampling.cells(pooled), _pairs(pooled, sampling), sampling)
    return Analysis(
        tables=(by_model, by_branch, *_bias(study, sampling)),
        shows=shows,
        cannot="A branch may be predicted badly because people use its scale in more different ways, not because "
        "models grasp it less; and the person rated the chat model's replies, not the model that is tested here.",
        warnings=reach_text(np.full(math.comb(len(BRANCHES), 2), sampling.least), settings),
    )


def _points(branch: str, cells: list[Cell], meaning: str, *, better: bool | None = False) -> Filled:
    label = "all branches" if branch == "all" else branch
    return column(branch, cells, label, "number", meaning, better=better, digits=2)


def _pairs(pooled: np.ndarray, sampling: Sampling) -> dict[tuple[int, int], Cell]:
    """The difference of each two branches, paired over conversations."""
    pairs = list(combinations(range(len(BRANCHES)), 2))
    a, b = pooled[:, [i for i, _ in pairs]], pooled[:, [j for _, j in pairs]]
    tests = sampling.tests("branch-errors", a, b)
    cells = sampling.difference_cells(tests, corrected_p(tests, sampling.settings), a, b)
    return dict(zip(pairs, cells, strict=True))


def _branches(
    study: ScoreTable, cells: list[Cell], pairs: dict[tuple[int, int], Cell], sampling: Sampling
) -> tuple[Table, str]:
    """Each branch over all models, each conversation counting once; and what can be said of their order."""
    settings = sampling.settings
    order = [i for i in by_value(np.array([value_of(cell) for cell in cells])) if cells[i].value is not None]
    apart = [sum(i in pair and claimed(cell, settings) for pair, cell in pairs.items()) for i in range(len(BRANCHES))]
    shown = table(
        "branches",
        "Branches over all models",
        words("branch", BRANCHES),
        counts("n", [cell.n for cell in cells], "conversations"),
        column("error", cells, meaning="Mean over models, then conversations", better=False, digits=2),
        counts("apart", apart, "differs from", "From how many other branches it differs significantly."),
        order=order,
        caption=f"{sample_text(study)}, mean over {counted(len(study.groups), 'model')} in each; hardest first. "
        f"{intervals_text(settings)}; {correction_text(settings, counted(len(pairs), 'pair'))} of branches.",
    )
    if len(order) < 2:
        return shown, "Only one branch has answers to compare."
    span = range_text([(BRANCHES[i], cells[i]) for i in order], 2)
    named = [(f"{BRANCHES[i]} − {BRANCHES[j]}", cell) for (i, j), cell in pairs.items()]
    differences = claims_sentence(named, settings, of="between branches", digits=2)
    return shown, f"Mean errors range from {span} points. {differences}"


def _bias(study: ScoreTable, sampling: Sampling) -> list[Table]:
    """Predicted minus given points; nothing where the scores do not keep the answers."""
    columns = []
    for branch in BRANCHES:
        truths = [study.ground_truth.get(conversation) for conversation in study.ids]
        given = np.array([np.nan if t is None else t["wide"]["four_branch"].get(branch, np.nan) for t in truths])
        predicted = study.entry_values(
            lambda entry, branch=branch: (
                ((entry.get("answers") or {}).get("wide") or {})  # type: ignore[misc]
                .get("four_branch", {})
                .get(branch)
            )
        )
        columns.append(predicted - given[:, None])
    if np.isnan(np.stack(columns)).all():
        return []
    cells = [sampling.cells(values, flag=False) for values in columns]
    meaning = "Predicted minus the person's own points."
    return [
        table(
            "bias",
            "Too high or too low",
            words("model", study.labels),
            *(_points(branch, found, meaning, better=None) for branch, found in zip(BRANCHES, cells, strict=True)),
            caption="Predicted minus the person's points, over answered branches only; above 0 the model overestimates "
            f"how well the replies did. {intervals_text(sampling.settings)}.",
        )
    ]
