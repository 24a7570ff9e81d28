"""How far predictions of the four branches of emotional intelligence are off, in points of the person's scale 1–7.

The error is what `four_branch_<branch>` is made of, so an answer that is missing counts six points here as there.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from attunebench.analyses.base import Subject, best_first
from attunebench.analyses.sampling import claimed, mean_over_models
from attunebench.analyses.table import Analysis, Chart, Missing, Table, column, counts, numbers_of, table, words
from attunebench.analyses.verdicts import range_text
from attunebench.analyses.within import View
from attunebench.constants import BRANCHES
from attunebench.metrics.four_branch import SPAN

_PAIRS = list(combinations(range(len(BRANCHES)), 2))


def analyse(subject: Subject) -> Analysis:
    """Mean absolute error and bias per model and branch; which branches differ."""
    view = View.of_models(subject)
    ids = {**{branch: f"four_branch_{branch}" for branch in BRANCHES}, "all": "four_branch"}
    errors = {name: SPAN * (1 - view.study.values(metric_id)) for name, metric_id in ids.items()}
    if np.isnan(errors["all"]).all():
        raise Missing("No conversation has both predicted and reported branch scores.")
    cells = {name: view.cells(of, view.drills(ids[name])) for name, of in errors.items()}
    by_model = table(
        "errors",
        "Error per model and branch",
        words("model", view.labels),
        numbers_of(cells["all"]),
        *(column(n, of, n.replace("all", "all branches"), better=False, digits=2) for n, of in cells.items()),
        order=best_first(cells["all"], higher_is_better=False),
        caption=f"{view.sample}. Mean absolute error in points of the scale 1–7; an unanswered branch counts {SPAN:g}.",
        chart=Chart("intervals", "model", BRANCHES, "Four Branch error", "mean absolute error (points of 1–7)"),
    )
    by_branch, shows = _branches(view, np.stack([mean_over_models(errors[branch]) for branch in BRANCHES], axis=1))
    return Analysis(
        tables=(by_model, by_branch, *_bias(view)),
        shows=shows,
        warnings=view.reach(len(_PAIRS)),
    )


def _branches(view: View, errors: np.ndarray) -> tuple[Table, str]:
    """Each branch over all models, each conversation counting once; and what can be said of their order."""
    cells = view.cells(errors)
    a, b = (errors[:, list(side)] for side in zip(*_PAIRS, strict=True))
    pairs = view.paired("branch-errors", a, b)
    differing = [pair for pair, cell in zip(_PAIRS, pairs, strict=True) if claimed(cell, view.settings)]
    order = [i for i in best_first(cells) if cells[i].value is not None]
    made = table(
        "branches",
        "Branches over all models",
        words("branch", BRANCHES),
        numbers_of(cells),
        column("error", cells, meaning="Mean over models, then over conversations.", better=False, digits=2),
        counts("apart", [sum(i in pair for pair in differing) for i in range(len(BRANCHES))], "differs from"),
        order=order,
        caption=f"{view.sample}; largest error first. “Differs from”: number of other branches with a significantly "
        f"different error. {view.how('the pairs of branches')}",
        chart=Chart(
            "intervals", "branch", ("error",), "Error by branch, all models", "mean absolute error (points of 1–7)"
        ),
    )
    if len(order) < 2:
        return made, "Only one branch has answers."
    names = [f"{BRANCHES[i]} − {BRANCHES[j]}" for i, j in _PAIRS]
    span = range_text([(BRANCHES[i], cells[i]) for i in order], 2)
    return made, f"Mean errors are {span} points. {view.claims(names, pairs, 'between branches', digits=2)}"


def _bias(view: View) -> list[Table]:
    """Predicted minus given points; nothing where the scores do not keep the answers."""
    truths = [{} if truth is None else truth["wide"]["four_branch"] for truth in view.study.truths()]
    columns = {}
    for branch in BRANCHES:
        given = np.array([truth.get(branch, np.nan) for truth in truths])
        predicted = view.study.entry_values(
            lambda entry, branch=branch: (  # type: ignore[misc]
                ((entry.get("answers") or {}).get("wide") or {}).get("four_branch", {}).get(branch)
            )
        )
        columns[branch] = predicted - given[:, None]
    if all(np.isnan(values).all() for values in columns.values()):
        return []
    return [
        table(
            "bias",
            "Bias",
            words("model", view.labels),
            *(column(branch, view.cells(values, flag=False), digits=2) for branch, values in columns.items()),
            caption="Predicted minus reported points, over answered branches only; above 0, the model overestimates "
            "the replies.",
            chart=Chart("intervals", "model", BRANCHES, "Bias", "predicted minus reported points", {"no bias": 0.0}),
        )
    ]
