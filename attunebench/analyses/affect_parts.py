"""What Emotion VA is made of in groups of conversations, and where a difference between two groups comes from.

(Part of the clinical affect gap.)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.sampling import defined_mean, ratio
from attunebench.analyses.table import Cell, Chart, Table, column, counts, table, words
from attunebench.analyses.within import View
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask


def parts_table(view: View, members: Mapping[str, Mask]) -> Table:
    """A row for each group: neutral turns, tags, Emotion VA on all and on tagged turns, false alarms; over models."""
    study, tagged = view.study, _tagged(view.study)
    felt = np.array([np.nan if tags is None else len(tags) for tags in study.truth_tags()])
    numbers = [[[np.nan if t is None else len(t) for t in epochs] for epochs in study.tags(g)] for g in study.groups]
    given = np.array([[defined_mean(np.array(epochs, dtype=float)) for epochs in of] for of in numbers]).T
    level = _level(tagged, study.turn_values("emotion_va"))
    masks = np.stack(list(members.values()), axis=1).astype(np.float64)

    def part(of_turns: Floats) -> list[Cell]:
        above, below = view.sums(of_turns[:, None])
        return view.rates(above * masks, below * masks)

    return table(
        "parts",
        "What Emotion VA is made of",
        words("group", members),
        counts("n", masks.sum(axis=0).astype(np.int64), "conversations"),
        counts("participants", [len(np.unique(study.clusters[mask])) for mask in members.values()]),
        counts("turns", (view.sums(level)[1] @ masks).astype(np.int64)),
        column("neutral", part(1 - tagged), "neutral turns", "share", "Turns that the person did not tag."),
        column("felt", part(felt), "tags per turn", "number", "Emotions that the person tagged.", digits=2),
        column("given", part(_level(tagged, given)), "predicted tags per turn", "number", "Named by models.", digits=2),
        column("va", part(level), "Emotion VA", "share", "Over all turns.", better=True),
        column("va_tagged", part(np.where(tagged == 1, level, np.nan)), "VA on tagged turns", "share", better=True),
        column("false_alarm", part(np.where(tagged == 0, 1 - level, np.nan)), "false alarms", "share", better=False),
        order=[i for i, mask in enumerate(members.values()) if mask.any()],
        caption=f"{view.sample}, over all turns of a group. False alarms are on neutral turns. A group with more "
        f"neutral turns is easier for a model that names few emotions. {view.how()}",
    )


def split_table(view: View, sides: tuple[Mask, Mask]) -> Table | None:
    """How the difference of the second side from the first splits, for all models and each.

    Turns weigh so that each conversation counts once, as in the metric: neutral share · (1 − false alarms) + tagged
    share · VA on tagged turns is then a side's mean, and a difference splits into three parts without a rest. None
    where a side has no neutral or no tagged turn.
    """
    tagged, of_models = _tagged(view.study), view.study.turn_values("emotion_va")
    va = np.column_stack([_level(tagged, of_models), of_models])
    number = view.sums(va)[1]
    kinds = [view.sums(np.where(tagged[:, None] == kind, va, np.nan)) for kind in (0.0, 1.0)]
    weighted = [np.nan_to_num(ratio(part, number)) for above, below in kinds for part in (below, above)]
    sums = [part * side[:, None] for side in sides for part in weighted]
    if any((weight.sum(axis=0) == 0).any() for weight in sums[::2]):
        return None
    cells = view.functions(_split, sums, np.tile(sum(sums[::2]), 4))
    difference, share, alarms, on_tagged = within.in_rows(cells, va.shape[1])
    return table(
        "split",
        "Where the difference in Emotion VA comes from",
        words("model", ("all models", *view.labels)),
        column("difference", difference, "any − none", "share", "Sum of the three parts."),
        column("share", share, "from neutral turns", "share", "The groups differ in how many turns are neutral."),
        column("alarms", alarms, "from false alarms", "share", "Neutral turns are read better or worse."),
        column("tagged", on_tagged, "from tagged turns", "share", "Tagged turns are read better or worse."),
        caption="Each conversation counts once. The difference splits without a rest, each part at the mean of the "
        f"other quantities of both groups. {view.how()}",
        chart=Chart("bars", "model", ("share", "alarms", "tagged"), "Parts of the gap in Emotion VA", "any − none"),
    )


def _tagged(study: ScoreTable) -> Floats:
    """1 where the person tagged the turn, 0 where it is neutral: (turns,)."""
    return np.array([np.nan if tags is None else float(bool(tags)) for tags in study.truth_tags()])


def _level(tagged: Floats, of_models: Floats) -> Floats:
    """Each turn's level over all models, neutral and tagged turns apart, as models differ in each: (turns,)."""
    level = np.full(len(tagged), np.nan)
    for kind in (0.0, 1.0):
        level[tagged == kind] = within.level_over_models(of_models[tagged == kind])
    return level


def _split(*sums: Floats) -> Floats:
    """Difference and its three parts, one after the other.

    Each side has the weight and the weighted VA of neutral turns, then of tagged ones.
    """
    (share_a, neutral_a, tagged_a), (share_b, neutral_b, tagged_b) = (
        (ratio(weight, weight + other), ratio(above, weight), ratio(above_tagged, other))
        for weight, above, other, above_tagged in (sums[:4], sums[4:])
    )
    share, neutral, tagged = (share_a + share_b) / 2, (neutral_a + neutral_b) / 2, (tagged_a + tagged_b) / 2
    parts = [
        (share_b - share_a) * (neutral - tagged),
        share * (neutral_b - neutral_a),
        (1 - share) * (tagged_b - tagged_a),
    ]
    return np.concatenate([parts[0] + parts[1] + parts[2], *parts], axis=-1)
