"""PANAS item by item: how far the state after the talk is foreseen wrong, in which direction, and against no change.

Items are rated 1–7. Only items that a model answered count here, and how many lack is said beside; the scores count a
lacking item as six points off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, known, text
from attunebench.analyses.testing import reach_text
from attunebench.constants import PANAS_ITEMS, PANAS_POSITIVE
from attunebench.scores import ConversationEntry, PanasState
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.paired import PairedTests

_NAME = "panas-items"
_METRIC = "panas_item_normalized"
_MOST = 4


def analyse(subject: Subject) -> Analysis:
    """Error, bias and direction per item over all models, then error and bias of each model."""
    begun = common.begun(_NAME)
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    if not study.ground_truth:
        return replace(begun, missing=within.NO_LABELS)
    items = _Items.of(study)
    if np.isnan(items.error).all():
        return replace(
            begun, missing="No result holds predicted PANAS items for a person who rated any after the talk."
        )
    sampling = Sampling.of(study, settings)
    look = _Look(study, items, sampling)
    return replace(
        begun,
        tables=(look.of_items(), look.by_model("error"), look.by_model("bias")),
        shows=look.sentence(),
        cannot="An item that hardly moves is easy to foresee by repeating it, and one that people use as a zero has "
        "nowhere to go but up: a bias may come from the ends of the scale. A state has other causes than the talk.",
        warnings=reach_text(np.full(len(PANAS_ITEMS), sampling.least), settings),
        notes=(f"{items.lacking_text}{common.small_text(settings)}",),
    )


@dataclass(frozen=True)
class _Items:
    """(items, conversations) before and after; (items, conversations, models) error, bias and direction; gaps NaN.

    `direction`: 1 where a change of the item was foreseen in its direction, 0 where not, NaN where it did not change.
    """

    pre: Floats
    post: Floats
    error: Floats
    bias: Floats
    direction: Floats
    answered: float
    asked: float

    @classmethod
    def of(cls, study: ScoreTable) -> _Items:
        truths = study.truths()
        keys = [item.lower() for item in PANAS_ITEMS]
        pre = np.array(
            [[np.nan if t is None else t["pre_panas"]["items"].get(k, np.nan) for t in truths] for k in keys]
        )
        post = np.array(
            [[np.nan if t is None else t["post_panas"]["items"].get(k, np.nan) for t in truths] for k in keys]
        )
        felt = {
            conversation: {key: (pre[i, row], post[i, row]) for i, key in enumerate(keys)}
            for row, conversation in enumerate(study.ids)
        }
        tables = {
            name: np.stack([study.entry_values(_reader(key, felt, how)) for key in keys])
            for name, how in {"error": _error, "bias": _bias, "direction": _direction}.items()
        }
        asked = study.entry_values(lambda entry: None if _predicted(entry) is None else 1.0)
        known_items = (~np.isnan(post)).astype(np.float64)
        return cls(
            pre,
            post,
            **tables,
            answered=float((~np.isnan(tables["error"])).sum()),
            asked=float((known_items[:, :, None] * ~np.isnan(asked)[None]).sum()),
        )

    @property
    def lacking_text(self) -> str:
        lacking = 1 - self.answered / self.asked if self.asked else 0.0
        return f"{100 * lacking:.1f} % of the items asked for are lacking in the answers. " if lacking else ""


Reader = Callable[[ConversationEntry], "float | None"]
How = Callable[[float, float, float], float]


def _reader(key: str, felt: dict[str, dict[str, tuple[float, float]]], how: How) -> Reader:
    def read(entry: ConversationEntry) -> float | None:
        state = _predicted(entry)
        value = None if state is None else state["items"].get(key)
        return None if value is None else known(how(value, *felt[entry["conversationId"]][key]))

    return read


def _predicted(entry: ConversationEntry) -> PanasState | None:
    return (entry.get("answers") or {}).get("post_panas")


def _error(predicted: float, _pre: float, post: float) -> float:
    return abs(predicted - post)


def _bias(predicted: float, _pre: float, post: float) -> float:
    return predicted - post


def _direction(predicted: float, pre: float, post: float) -> float:
    if np.isnan(pre) or np.isnan(post) or pre == post:
        return np.nan
    return float(np.sign(predicted - pre) == np.sign(post - pre))


class _Look:
    """The items with their tests: error against no change, and bias against none."""

    def __init__(self, study: ScoreTable, items: _Items, sampling: Sampling):
        self.study, self.items, self.sampling = study, items, sampling
        self.unmoved = np.abs(items.post - items.pre).T
        self.error = _over_models(items.error)
        self.bias = _over_models(items.bias)
        self.direction = _over_models(items.direction)
        self.against = self._tested(self.error, self.unmoved, "no-change")
        self.biased = self._tested(self.bias, np.zeros_like(self.bias), "bias")
        count = len(study.groups)
        columns = items.bias.transpose(1, 0, 2).reshape(len(study.ids), -1)
        single = self._tested(columns, np.zeros_like(columns), "bias/models")
        self.single_bias = [single[i * count : (i + 1) * count] for i in range(len(PANAS_ITEMS))]

    def _tested(self, a: Floats, b: Floats, name: str) -> list[Cell]:
        tests: PairedTests = self.sampling.tests(f"{_NAME}/{name}", a, b)
        return self.sampling.difference_cells(tests, common.corrected_p(tests, self.sampling.settings), a, b)

    def of_items(self) -> Table:
        settings, items = self.sampling.settings, self.items
        error, direction = self.sampling.cells(self.error, flag=False), self.sampling.cells(self.direction, flag=False)
        unmoved = self.sampling.cells(self.unmoved, flag=False)
        rose = np.where(items.post == items.pre, np.nan, (items.post > items.pre).astype(np.float64))
        rose[np.isnan(items.post) | np.isnan(items.pre)] = np.nan
        share = within.column_means(rose.T)
        likely = np.maximum(share, 1 - share)
        before, after = within.column_means(items.pre.T), within.column_means(items.post.T)
        order = common.by_value(self.sampling.estimate(self.error).value)
        rows = tuple(
            (
                text(PANAS_ITEMS[i]),
                text("positive" if PANAS_ITEMS[i] in PANAS_POSITIVE else "negative"),
                Cell(error[i].n),
                Cell(known(before[i])),
                Cell(known(after[i])),
                replace(error[i], drill=Drill(metric=_METRIC)),
                unmoved[i],
                self.against[i],
                self.biased[i],
                direction[i],
                Cell(known(likely[i])),
            )
            for i in order
        )
        return Table(
            "items",
            "Items over all models",
            (
                Column("item", "item", "text"),
                Column("side", "side", "text"),
                Column("n", "conversations", "count"),
                Column("before", "before", "number", "People's mean rating before the talk.", digits=2),
                Column("after", "after", "number", "People's mean rating after the talk.", digits=2),
                Column("error", "error", "number", "Mean absolute error of the predicted rating.", False, 2),
                Column("unmoved", "error of no change", "number", "Mean absolute change of people's rating.", False, 2),
                Column(
                    "against", "error − no change", "number", "Below 0: better than repeating the rating.", False, 2
                ),
                Column("bias", "bias", "number", "Predicted minus rated.", digits=2),
                Column("direction", "direction right", "share", "Of ratings that changed.", True),
                Column("likely", "more frequent direction", "share", "What foreseeing it always would score."),
            ),
            rows,
            caption=f"{common.sample_text(self.study)}, mean over {common.counted(len(self.study.groups), 'model')}; "
            f"points of the scale 1–7, worst first. {common.intervals_text(settings)}; "
            f"{common.correction_text(settings, f'{len(PANAS_ITEMS)} items')}, for each column.",
            chart=Chart(
                "intervals", "item", ("error", "unmoved"), "Error by PANAS item", "mean absolute error (points of 1–7)"
            ),
        )

    def by_model(self, what: str) -> Table:
        """Items × models: error, or bias with its test."""
        study, settings, error = self.study, self.sampling.settings, what == "error"
        errors: Sequence[Sequence[Cell]] = [self.sampling.cells(table, flag=False) for table in self.items.error]
        cells = errors if error else self.single_bias
        rows = tuple(
            (
                text(item),
                Cell(max(cell.n or 0 for cell in row)),
                *(replace(c, drill=common.drill_to(g, _METRIC)) for c, g in zip(row, study.groups, strict=True)),
            )
            for item, row in zip(PANAS_ITEMS, cells, strict=True)
        )
        tested = f"; {common.correction_text(settings, f'{len(PANAS_ITEMS) * len(study.groups)} cells')}"
        name = "Error" if error else "Bias"
        return Table(
            what,
            f"{name} by item and model",
            (
                Column("item", "item", "text"),
                Column("n", "conversations", "count"),
                *(
                    replace(column, unit="number")
                    for column in within.model_columns(
                        study,
                        range(len(study.groups)),
                        meaning="Mean absolute error." if error else "Predicted minus rated.",
                        better=False if error else None,
                        digits=2,
                    )
                ),
            ),
            rows,
            caption=f"Points of the scale 1–7, over answered items. {common.intervals_text(settings)}"
            f"{'' if error else tested}.",
            chart=Chart(
                "heatmap",
                "item",
                tuple(within.model_id(study, i) for i in range(len(study.groups))),
                f"{name} by PANAS item",
                "points of 1–7",
            ),
        )

    def sentence(self) -> str:
        """The worst item, how often models beat no change, and the largest biases that may be claimed."""
        settings = self.sampling.settings
        if all(cell.small or cell.value is None for cell in self.against):
            return "There are too few conversations for a claim."
        errors = self.sampling.cells(self.error, flag=False)
        order = [i for i in common.by_value(self.sampling.estimate(self.error).value) if errors[i].value is not None]
        ends = " and ".join(f"{PANAS_ITEMS[i]} {common.with_interval(errors[i], 2)}" for i in (order[0], order[-1]))
        better, worse = (_named(self.against, sign, settings) for sign in (-1, 1))
        said = [
            f"The largest and smallest mean errors are {ends}.",
            f"Models foresee {len(better)} of {len(PANAS_ITEMS)} items better than “no change”, {len(worse)} worse.",
        ]
        biased = sorted(
            (i for i, cell in enumerate(self.biased) if common.claimed(cell, settings)),
            key=lambda i: (-abs(common.value_of(self.biased[i])), i),
        )
        words = [f"{PANAS_ITEMS[i]} ({common.with_interval(self.biased[i], 2, sign=True)})" for i in biased]
        said.append(f"Biased: {common.listed(words, most=_MOST + 1)}." if words else "No item is shown to be biased.")
        return " ".join(said)


def _named(cells: Sequence[Cell], sign: int, settings: Settings) -> list[str]:
    return [
        item
        for item, cell in zip(PANAS_ITEMS, cells, strict=True)
        if common.claimed(cell, settings) and np.sign(common.value_of(cell)) == sign
    ]


def _over_models(table: Floats) -> Floats:
    """(conversations, items) from (items, conversations, models)."""
    return np.stack([common.mean_over_models(part) for part in table], axis=1)
