"""Accuracy on the turn after a misread against the turn after a hit, within each conversation (part of the mood path).

In a short sequence values after a high one are low by mere counting: the high one is missing among the rest. Over all
orders of a conversation's T turns the mean after a misread minus that after a hit is (ȳ_hit − ȳ_misread)/(T − 1), which
is taken off, so that turns in random order show no difference (cf. Miller & Sanjurjo 2018).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import label_of
from attunebench.analyses.sampling import mean_over_models, ratio
from attunebench.analyses.table import Cell, Drill, Table, column, counts, table, words
from attunebench.analyses.within import View
from attunebench.statistics.bootstrap import Floats

OUTCOMES = ("emotion_va", "binary_om_accuracy", "binary_hp_accuracy", "pairwise_accuracy")


def recovery(view: View) -> tuple[list[Table], str]:
    """For each outcome over all models and for each of them, with a sentence; no table where nothing is defined."""
    misread = _misread(view)
    outcomes = {m: values for m in OUTCOMES if not np.isnan(values := view.study.turn_values(m)).all()}
    if not outcomes or np.isnan(misread).all():
        return [], ""
    # (conversations, outcomes, models, [after a misread, after a hit])
    plain = np.stack([after_means(view, misread, values) for values in outcomes.values()], axis=1)
    others = np.stack([after_means(view, misread, _beyond(values)) for values in outcomes.values()], axis=1)
    pooled = mean_over_models(np.moveaxis(plain, 2, -1))
    rows = np.concatenate([pooled[:, :, None], plain], axis=2)
    rows[np.isnan(rows).any(axis=3)] = np.nan
    means = view.cells(rows.reshape(len(rows), -1), flag=False)
    turns = [_turns_after(view, of) for of in misread.T]
    groups = view.study.groups
    drills = [Drill(g.key, m, turns=of) for m in outcomes for g, of in zip(groups, turns, strict=True)]
    of_all = _tested(view, "pooled", pooled)
    differences, beyond = (
        [cell for one, row in zip(first, within.in_rows(cells, view.width), strict=True) for cell in (one, *row)]
        for first, cells in (
            (of_all, _tested(view, "plain", plain, drills)),
            ([Cell(None)] * len(outcomes), _tested(view, "beyond", others)),
        )
    )
    shares = [np.nanmean(misread), *within.column_means(misread)]
    made = table(
        "recovery",
        "On the turn after a misread",
        words("outcome", map(label_of, outcomes)).repeated(1 + view.width),
        words("model", ("all models", *view.labels) * len(outcomes)),
        counts("n", [c.n for c in differences], "conversations", "With a turn after a misread and one after a hit."),
        column("misread", shares * len(outcomes), "turns misread", "share", "Share of all turns."),
        column("after_hit", means[1::2], "", "share", "Mean of the next turn.", better=True),
        column("after_misread", means[::2], "", "share", "Mean of the next turn, corrected for counting.", better=True),
        column("difference", differences, "misread − hit", "share", "Within conversations; below 0: errors in runs."),
        column("beyond", beyond, "beyond the other models", "share", "Of the value minus the others' on the turn."),
        caption="A turn is misread where Emotion F1 is 0. Every conversation is compared with itself; what short "
        "sequences show by counting alone is taken off. “Beyond the other models” controls for turns that are hard "
        f"for all. {view.how('the outcomes for all models, and the cells of single ones')}",
    )
    return [made], view.claims(map(label_of, outcomes), of_all, "between the turn after a misread and after a hit")


def _misread(view: View) -> Floats:
    """1 where a turn was misread, 0 where not: (turns, models). NaN where it was never answered: that is no misread."""
    f1 = view.study.turn_values("emotion_f1")
    for model, group in enumerate(view.study.groups):
        tags = view.study.tags(group)
        f1[[row for row, epochs in enumerate(tags) if epochs and all(t is None for t in epochs)], model] = np.nan
    return np.where(np.isnan(f1), np.nan, f1 == 0)


def _beyond(values: Floats) -> Floats:
    """Each model's values less the mean of the other models on the same turn; NaN without others."""
    others = [mean_over_models(np.delete(values, model, axis=1)) for model in range(values.shape[1])]
    return np.asarray(values - np.stack(others, axis=1))


def after_means(view: View, misread: Floats, values: Floats) -> Floats:
    """Mean after a misread, less what counting alone adds, and after a hit: (conversations, models, 2).

    Takes two of (turns, models). NaN is a gap, and a turn after a gap follows nothing.
    """
    conversation = view.study.clusters_of_turns()
    before = np.full_like(misread, np.nan)
    before[1:] = np.where((conversation[1:] == conversation[:-1])[:, None], misread[:-1], np.nan)

    def sums(outcome: Floats, kind: int) -> tuple[Floats, Floats]:
        return view.sums(np.where(outcome == kind, values, np.nan))

    own = [sums(misread, kind) for kind in (1, 0)]
    counting = ratio(ratio(*own[1]) - ratio(*own[0]), own[0][1] + own[1][1] - 1)
    after = [ratio(*sums(before, kind)) for kind in (1, 0)]
    means = np.stack([after[0] - np.nan_to_num(counting), after[1]], axis=-1)
    means[np.isnan(means).any(axis=-1)] = np.nan
    return means


def _tested(view: View, name: str, sides: Floats, drills: Sequence[Drill] | None = None) -> list[Cell]:
    """After a misread minus after a hit, of each column of (conversations, …, 2)."""
    missed, hit = (sides[..., side].reshape(len(sides), -1) for side in (0, 1))
    return view.paired(f"mood-path/recovery/{name}", missed, hit, drills)


def _turns_after(view: View, misread: Floats) -> tuple[tuple[str, int], ...]:
    rows = view.study.clusters_of_turns()
    return within.turns_of(view.study, 1 + np.flatnonzero((misread[:-1] == 1) & (rows[1:] == rows[:-1])))
