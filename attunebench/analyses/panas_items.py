"""PANAS item by item: how far the predicted state after the conversation is off, in which direction, against no change.

Items are rated 1–7. Only items that a model answered count here, and the share of missing ones is noted; the scores
count a missing item as six points off.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import product
from typing import Literal

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject, best_first
from attunebench.analyses.sampling import defined_mean, mean_over_models
from attunebench.analyses.table import Analysis, Chart, Drill, Missing, Table, column, counts, numbers_of, table, words
from attunebench.analyses.verdicts import range_text, sentences
from attunebench.analyses.within import View
from attunebench.constants import PANAS_ITEMS, PANAS_POSITIVE
from attunebench.scores import ConversationEntry
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

_NAME = "panas-items"
_METRIC = "panas_item_normalized"


def analyse(subject: Subject) -> Analysis:
    """Error, bias and direction per item over all models, then error and bias of each model."""
    view = View.of_models(subject)
    study = view.study
    if not study.ground_truth:
        raise Missing(within.NO_LABELS)
    pre = _ratings({} if truth is None else truth["pre_panas"]["items"] for truth in study.truths())
    post = _ratings({} if truth is None else truth["post_panas"]["items"] for truth in study.truths())
    predicted, before, after = _predicted(study), pre[:, :, None], post[:, :, None]
    bias, error = (defined_mean(measure, axis=0) for measure in (predicted - after, np.abs(predicted - after)))
    if np.isnan(error).all():
        raise Missing("No conversation has both predicted and reported PANAS items after the conversation.")
    changed = ~np.isnan(predicted) & (np.abs(after - before) > 0)
    right = np.sign(predicted - before) == np.sign(after - before)
    direction = defined_mean(np.where(changed, right, np.nan), axis=0)
    items, shows = _items(view, pre, post, *map(mean_over_models, (error, bias, direction)))
    answering = ~np.isnan(study.entry_values(lambda entry: None if _state(entry) is None else 1.0))
    missing = 1 - (~np.isnan(error)).sum() / ((~np.isnan(post)).sum(axis=1) @ answering.sum(axis=1))
    return Analysis(
        tables=(items, _by_model(view, "error", error), _by_model(view, "bias", bias)),
        shows=shows,
        warnings=view.reach(len(PANAS_ITEMS)),
        notes=(f"{100 * missing:.1f} % of the requested items were not answered.",) if missing else (),
    )


def _state(entry: ConversationEntry) -> Mapping[str, float] | None:
    state = (entry.get("answers") or {}).get("post_panas")
    return None if state is None else state["items"]


def _ratings(states: Iterable[Mapping[str, float]]) -> Floats:
    """Of each state its items: (states, items); NaN where there is none."""
    return np.array([[state.get(item.lower(), np.nan) for item in PANAS_ITEMS] for state in states])


def _predicted(study: ScoreTable) -> Floats:
    """Predicted ratings: (epochs, conversations, items, models)."""
    most = max(map(len, study.entries.values()), default=0)
    predicted = np.full((most, len(study.ids), len(PANAS_ITEMS), len(study.groups)), np.nan)
    for (row, conversation), (model, group) in product(enumerate(study.ids), enumerate(study.groups)):
        if entries := study.entries.get((group.key, conversation), ()):
            predicted[: len(entries), row, :, model] = _ratings(_state(entry) or {} for entry in entries)
    return predicted


def _items(view: View, pre: Floats, post: Floats, error: Floats, bias: Floats, direction: Floats) -> tuple[Table, str]:
    """The items over all models, worst first, with the error against no change and the bias against none."""
    unmoved, before, after = np.abs(post - pre), within.column_means(pre), within.column_means(post)
    errors = view.cells(error, [Drill(metric=_METRIC)] * len(PANAS_ITEMS), flag=False)
    unchanged, directions = (view.cells(values, flag=False) for values in (unmoved, direction))
    against = view.paired(f"{_NAME}/no-change", error, unmoved)
    biases = view.paired(f"{_NAME}/bias", bias, np.zeros_like(bias))
    share = within.column_means(np.where(np.isnan(unmoved) | (unmoved == 0), np.nan, post > pre))
    made = table(
        "items",
        "Items over all models",
        words("item", PANAS_ITEMS),
        words("side", ["positive" if item in PANAS_POSITIVE else "negative" for item in PANAS_ITEMS]),
        numbers_of(errors),
        column("before", before, meaning="People's mean rating before the conversation.", digits=2),
        column("after", after, meaning="People's mean rating after the conversation.", digits=2),
        column("error", errors, meaning="Mean absolute error of the predicted rating.", better=False, digits=2),
        column(
            "unmoved",
            unchanged,
            "error of no change",
            meaning="Mean absolute change of the rating.",
            better=False,
            digits=2,
        ),
        column(
            "against",
            against,
            "error − no change",
            meaning="Below 0: better than predicting no change.",
            better=False,
            digits=2,
        ),
        column("bias", biases, meaning="Predicted minus reported rating.", digits=2),
        column("direction", directions, "direction correct", "share", "Of ratings that changed.", better=True),
        column("likely", np.maximum(share, 1 - share), "more frequent direction", "share"),
        order=best_first(errors),
        caption=f"{view.sample}; points of the scale from 1 to 7, largest error first. {view.how('item', against)}",
        chart=Chart("dumbbells", "item", ("error", "unmoved"), "Error by PANAS item", "mean absolute error (points)"),
    )
    return made, sentences(
        f"Mean errors are {range_text(zip(PANAS_ITEMS, errors, strict=True), 2)} points.",
        view.claims(PANAS_ITEMS, against, "from “no change”", digits=2),
        view.claims(PANAS_ITEMS, biases, "of the bias from 0", digits=2),
    )


def _by_model(view: View, what: Literal["error", "bias"], values: Floats) -> Table:
    """Items × models: error, or bias with its test."""
    is_error, drills = what == "error", view.drills(_METRIC) * len(PANAS_ITEMS)
    if is_error:
        cells = view.cells(values, drills, flag=False)
    else:
        cells = view.paired(f"{_NAME}/bias/models", values, np.zeros_like(values), drills)
    meaning, better = ("Mean absolute error.", False) if is_error else ("Predicted minus reported rating.", None)
    return table(
        what,
        f"{what.capitalize()} by item and model",
        words("item", PANAS_ITEMS),
        counts("n", [max(cell.n or 0 for cell in row) for row in within.in_rows(cells, view.width)], "conversations"),
        *view.columns(cells, meaning, "number", better=better, digits=2),
        caption=f"Points of the scale from 1 to 7, over answered items. {view.how('cell', cells)}",
        chart=view.heatmap("item", f"{what.capitalize()} by PANAS item", "points of 1–7"),
    )
