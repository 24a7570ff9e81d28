"""What Emotion VA is made of in groups of conversations, and where a difference between two groups comes from.

(Part of the clinical affect gap.)
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.sampling import Sampling
from attunebench.analyses.table import Cell, Chart, Table, column, counts, table, words
from attunebench.analyses.verdicts import counted, intervals_text
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask


def parts_table(study: ScoreTable, members: Mapping[str, Mask], sampling: Sampling) -> Table:
    """A row for each group: neutral turns, tags, Emotion VA on all and on tagged turns, false alarms; over models."""
    felt = _number_of_tags([[tags] for tags in study.truth_tags()])
    given = np.stack([_number_of_tags(study.tags(group)) for group in study.groups], axis=1)
    tagged = _tagged(study)
    level = _level(tagged, study.turn_values("emotion_va"))
    masks = np.stack(list(members.values()), axis=1).astype(np.float64)

    def part(of_turns: Floats) -> list[Cell]:
        above, below = within.conversation_sums(study, of_turns[:, None])
        return within.rate_cells(sampling, above * masks, below * masks)

    return table(
        "parts",
        "What Emotion VA is made of",
        words("group", members),
        counts("n", masks.sum(axis=0).astype(np.int64), "conversations"),
        counts("participants", [len(np.unique(study.clusters[mask])) for mask in members.values()]),
        counts("turns", (within.conversation_sums(study, level)[1] @ masks).astype(np.int64)),
        column(
            "neutral", part(1 - tagged), "neutral turns", "share", "Without a tag: the score of always naming none."
        ),
        column("felt", part(felt), "tags per turn", "number", "Emotions that the person tagged.", digits=2),
        column("given", part(_level(tagged, given)), "predicted tags per turn", "number", "Named by models.", digits=2),
        column("va", part(level), "Emotion VA", "share", "Over all turns.", better=True),
        column("va_tagged", part(np.where(tagged == 1, level, np.nan)), "VA on tagged turns", "share", better=True),
        column("false_alarm", part(np.where(tagged == 0, 1 - level, np.nan)), "false alarms", "share", better=False),
        order=[i for i, mask in enumerate(members.values()) if mask.any()],
        caption=f"Over all turns of a group, mean over {counted(len(study.groups), 'model')}. False alarms are on "
        "neutral turns. A group with more neutral turns is easier for a model that names few emotions. "
        f"{intervals_text(sampling.settings)}.",
    )


def split_table(study: ScoreTable, sides: tuple[Mask, Mask], sampling: Sampling) -> Table | None:
    """How the difference of the second side from the first splits, for all models and each.

    Turns weigh so that each conversation counts once, as in the metric: neutral share · (1 − false alarms) + tagged
    share · VA on tagged turns is then a side's mean, and a difference splits into three parts without a rest. None
    where a side has no neutral or no tagged turn.
    """
    tagged, of_models = _tagged(study), study.turn_values("emotion_va")
    va = np.column_stack([_level(tagged, of_models), of_models])
    number = within.conversation_sums(study, va)[1]
    sums = []
    for kind in (0.0, 1.0):
        above, below = within.conversation_sums(study, np.where(tagged[:, None] == kind, va, np.nan))
        weighted = [np.nan_to_num(within.ratio(part, number)) for part in (below, above)]
        sums.append([[part * side[:, None] for part in weighted] for side in sides])
    of_sides = [[part for kind in sums for part in kind[side]] for side in (0, 1)]
    if any((weight.sum(axis=0) == 0).any() for side in of_sides for weight in side[::2]):
        return None
    values = _split(*([part.sum(axis=0) for part in side] for side in of_sides))
    samples = _split(*([within.resampled_sums(sampling, part) for part in side] for side in of_sides))
    support = sum(weight for side in of_sides for weight in side[::2])
    difference, share, alarms, on_tagged = (
        within.function_cells(sampling, value, drawn, np.asarray(support))
        for value, drawn in zip(values, samples, strict=True)
    )
    return table(
        "split",
        "Where the difference in Emotion VA comes from",
        words("model", ("all models", *study.labels)),
        column("difference", difference, "any − none", "share", "Sum of the three parts."),
        column("share", share, "from neutral turns", "share", "The groups differ in how many turns are neutral."),
        column("alarms", alarms, "from false alarms", "share", "Neutral turns are read better or worse."),
        column("tagged", on_tagged, "from tagged turns", "share", "Tagged turns are read better or worse."),
        caption="Each conversation counts once. The difference splits without a rest, each part at the mean of the "
        f"other quantities of both groups. {intervals_text(sampling.settings)}.",
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


def _split(first: list[Floats], second: list[Floats]) -> list[Floats]:
    """Difference and its three parts; a side has weights of neutral and of tagged turns, each with its weighted VA."""
    (share_a, neutral_a, tagged_a), (share_b, neutral_b, tagged_b) = (
        (within.ratio(weight, weight + other), within.ratio(above, weight), within.ratio(above_tagged, other))
        for weight, above, other, above_tagged in (first, second)
    )
    share, neutral, tagged = (share_a + share_b) / 2, (neutral_a + neutral_b) / 2, (tagged_a + tagged_b) / 2
    parts = [
        (share_b - share_a) * (neutral - tagged),
        share * (neutral_b - neutral_a),
        (1 - share) * (tagged_b - tagged_a),
    ]
    return [np.asarray(sum(parts)), *parts]


def _number_of_tags(turns: list[list[Mapping[str, float | None] | None]]) -> Floats:
    """How many emotions were named per turn, mean over epochs that answered; NaN without any."""
    answered = [[len(tags) for tags in epochs if tags is not None] for epochs in turns]
    return np.array([np.mean(numbers) if numbers else np.nan for numbers in answered])
