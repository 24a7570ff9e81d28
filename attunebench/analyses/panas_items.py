"""PANAS item by item: how far the predicted state after the conversation is off, in which direction, against no change.

Items are rated 1–7. Only items that a model answered count here, and the share of missing ones is noted; the scores
count a missing item as six points off.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np

from attunebench.analyses import verdicts, within
from attunebench.analyses.base import Subject, best_first, drill_to
from attunebench.analyses.sampling import Sampling, mean_over_models
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, known, table, words
from attunebench.constants import PANAS_ITEMS, PANAS_POSITIVE
from attunebench.scores import ConversationEntry
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats

_NAME = "panas-items"
_METRIC = "panas_item_normalized"


def analyse(subject: Subject) -> Analysis:
    """Error, bias and direction per item over all models, then error and bias of each model."""
    study, sampling = within.scored_models(subject)
    settings = sampling.settings
    if not study.ground_truth:
        raise Missing(within.NO_LABELS)
    pre, post = _rated(study, "pre_panas"), _rated(study, "post_panas")
    error, bias, direction = (_measured(study, pre, post, measure) for measure in (_error, _bias, _direction))
    if np.isnan(error).all():
        raise Missing("No result holds predicted PANAS items for a person who rated any after the conversation.")
    items, shows = _items(study, pre, post, [mean_over_models(values) for values in (error, bias, direction)], sampling)
    flat = (len(study.ids), -1)
    biases = bias.reshape(flat)
    bias_cells = within.paired_cells(sampling, f"{_NAME}/bias/models", biases, np.zeros_like(biases))
    answering = ~np.isnan(study.entry_values(lambda entry: None if _predicted(entry) is None else 1.0))
    asked = (~np.isnan(post)).sum(axis=1) @ answering.sum(axis=1)
    missing = 1 - (~np.isnan(error)).sum() / asked
    return Analysis(
        tables=(
            items,
            _by_model(study, "error", sampling.cells(error.reshape(flat), flag=False), sampling),
            _by_model(study, "bias", bias_cells, sampling),
        ),
        shows=shows,
        cannot="An item that hardly moves is easy to predict by repeating it, and a rating at the end of the scale can "
        "only be missed in one direction, so a bias may come from the ends of the scale. A state has other causes than "
        "the conversation.",
        warnings=verdicts.reach_text(np.full(len(PANAS_ITEMS), sampling.least), settings),
        notes=(f"{100 * missing:.1f} % of the items asked for are missing from the answers.",) if missing else (),
    )


def _rated(study: ScoreTable, when: Literal["pre_panas", "post_panas"]) -> Floats:
    """People's ratings: (conversations, items)."""
    return np.array(
        [
            [np.nan if truth is None else truth[when]["items"].get(item.lower(), np.nan) for item in PANAS_ITEMS]
            for truth in study.truths()
        ]
    )


def _measured(study: ScoreTable, pre: Floats, post: Floats, measure: Callable[[float, float, float], float]) -> Floats:
    """A measure of each predicted rating, mean over epochs: (conversations, items, models); NaN where not answered."""
    rows = {conversation: row for row, conversation in enumerate(study.ids)}

    def read(item: int, entry: ConversationEntry) -> float | None:
        predicted = (_predicted(entry) or {}).get(PANAS_ITEMS[item].lower())
        row = rows[entry["conversationId"]]
        return None if predicted is None else known(measure(predicted, pre[row, item], post[row, item]))

    return np.stack([study.entry_values(partial(read, item)) for item in range(len(PANAS_ITEMS))], axis=1)


def _predicted(entry: ConversationEntry) -> Mapping[str, float] | None:
    state = (entry.get("answers") or {}).get("post_panas")
    return None if state is None else state["items"]


def _error(predicted: float, _pre: float, post: float) -> float:
    return abs(predicted - post)


def _bias(predicted: float, _pre: float, post: float) -> float:
    return predicted - post


def _direction(predicted: float, pre: float, post: float) -> float:
    """1 where a change of the item was predicted in its direction, 0 where not, NaN where it did not change."""
    if np.isnan(pre) or np.isnan(post) or pre == post:
        return np.nan
    return float(np.sign(predicted - pre) == np.sign(post - pre))


def _items(
    study: ScoreTable, pre: Floats, post: Floats, measures: list[Floats], sampling: Sampling
) -> tuple[Table, str]:
    """The items over all models, worst first, with the error against no change and the bias against none."""
    settings = sampling.settings
    error, bias, direction = measures
    unmoved = np.abs(post - pre)
    errors = [replace(cell, drill=Drill(metric=_METRIC)) for cell in sampling.cells(error, flag=False)]
    unchanged, directions = (sampling.cells(values, flag=False) for values in (unmoved, direction))
    against = within.paired_cells(sampling, f"{_NAME}/no-change", error, unmoved)
    biases = within.paired_cells(sampling, f"{_NAME}/bias", bias, np.zeros_like(bias))
    share = within.column_means(np.where(np.isnan(unmoved) | (unmoved == 0), np.nan, post > pre))
    made = table(
        "items",
        "Items over all models",
        words("item", PANAS_ITEMS),
        words("side", ["positive" if item in PANAS_POSITIVE else "negative" for item in PANAS_ITEMS]),
        counts("n", [cell.n for cell in errors], "conversations"),
        column("before", within.column_means(pre), meaning="People's mean rating before the conversation.", digits=2),
        column("after", within.column_means(post), meaning="People's mean rating after the conversation.", digits=2),
        column("error", errors, meaning="Mean absolute error of the predicted rating.", better=False, digits=2),
        column("unmoved", unchanged, "error of no change", meaning="Change of the rating.", better=False, digits=2),
        column("against", against, "error − no change", meaning="Below 0: better than it.", better=False, digits=2),
        column("bias", biases, meaning="Predicted minus rated.", digits=2),
        column("direction", directions, "direction right", "share", "Of ratings that changed.", better=True),
        column("likely", np.maximum(share, 1 - share), "more frequent direction", "share"),
        order=best_first(errors),
        caption=f"{verdicts.sample_text(study)}, mean over {len(study.groups)} models; points of the scale 1–7, worst "
        f"first. {verdicts.tested_text(settings, f'{len(PANAS_ITEMS)} items')}, for each column.",
        chart=Chart("intervals", "item", ("error", "unmoved"), "Error by PANAS item", "mean absolute error (points)"),
    )
    shows = (
        f"Mean errors range from {verdicts.range_text(zip(PANAS_ITEMS, errors, strict=True), 2)} points.",
        verdicts.claims_sentence(zip(PANAS_ITEMS, against, strict=True), settings, of="from “no change”", digits=2),
        verdicts.claims_sentence(zip(PANAS_ITEMS, biases, strict=True), settings, of="of the bias from 0", digits=2),
    )
    return made, " ".join(shows)


def _by_model(study: ScoreTable, what: Literal["error", "bias"], cells: list[Cell], sampling: Sampling) -> Table:
    """Items × models: error, or bias with its test."""
    rows = [
        [replace(cell, drill=drill_to(group, _METRIC)) for cell, group in zip(row, study.groups, strict=True)]
        for row in within.in_rows(cells, len(study.groups))
    ]
    tested = f"; {verdicts.correction_text(sampling.settings, f'{len(cells)} cells')}" if what == "bias" else ""
    return table(
        what,
        f"{what.capitalize()} by item and model",
        words("item", PANAS_ITEMS),
        counts("n", [max(cell.n or 0 for cell in row) for row in rows], "conversations"),
        *within.model_columns(
            study,
            rows,
            "Mean absolute error." if what == "error" else "Predicted minus rated.",
            "number",
            better=False if what == "error" else None,
            digits=2,
        ),
        caption=f"Points of the scale 1–7, over answered items. {verdicts.intervals_text(sampling.settings)}{tested}.",
        chart=Chart("heatmap", "item", within.model_ids(study), f"{what.capitalize()} by PANAS item", "points of 1–7"),
    )
