"""The clinical affect gap: whether feelings are read less well in conversations of people with a diagnosis, and why.

Diagnoses are self-reported, by the groups of `conversations.groups`; nothing here is a finding about anybody's health.
An average of Emotion VA mixes turns with and without a feeling, so it is taken apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import (
    NO_DIFFERENCE,
    ROLES,
    Subject,
    label_of,
    metric_column,
    metrics_of,
    reference_of,
    unit_of,
)
from attunebench.analyses.sampling import CORRECTIONS, defined_mean, plain_correction, ratio, with_correction
from attunebench.analyses.table import Analysis, Cell, Chart, Missing, Table, cell_of, column, counts, table, words
from attunebench.analyses.verdicts import counted, sample_text
from attunebench.analyses.within import View
from attunebench.conversations.groups import ANY, GROUPS, NONE
from attunebench.scores import BASE_RATE, EMPTY_TAGS
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import GroupContrast, Mask

METRICS = ("emotion_va", "binary_om_accuracy")
_SELF_REPORTED = "Diagnoses are self-reported; scores on screening scales are not diagnoses."
_UNITS = "Intervals and tests are by participant."


class _Metric(NamedTuple):
    """A metric's (conversations, columns): all models, each model, and a reference where there is one."""

    id: str
    columns: Floats
    names: list[Cell]


def analyse(subject: Subject) -> Analysis:
    """Any diagnosis against none, per model and metric; every group's means; the parts of Emotion VA."""
    view = View.of_models(subject, by_participant=True)
    reported = [() if truth is None else truth["diagnosis_groups"] for truth in view.study.truths()]
    members = {group: np.array([group in of for of in reported], dtype=bool) for group in GROUPS}
    if not any(mask.any() for mask in members.values()):
        raise Missing("No participant reported whether they have a diagnosis, or these scores do not record it.")
    values = metrics_of(view.study, view.settings, METRICS)
    metrics = [_metric(view, metric_id, of) for metric_id, of in values.items()]
    gaps = [_contrast(view, one, members[ANY], members[NONE]) for one in metrics]
    # The sentence names every metric whose difference over all models is significant, so these are one family.
    pooled = with_correction([cells[0] for _, cells in gaps], view.settings)
    sizes = {
        name: sample_text(view.study.with_conversations(np.array(view.study.ids)[mask].tolist()))
        for name, mask in members.items()
    }
    tables = [
        made
        for metric, (contrast, cells), first in zip(metrics, gaps, pooled, strict=True)
        for made in (
            _gap_table(view, metric, contrast, [first, *cells[1:]], sizes),
            _means_table(view, metric, members, sizes),
            _against_none_table(view, metric, members, sizes),
        )
    ]
    return Analysis(
        tables=(*tables, _parts_table(view, members), *_split_tables(view, (members[NONE], members[ANY]))),
        shows=view.claims(map(label_of, values), pooled, "between any and no self-reported diagnosis, all models"),
        notes=(_SELF_REPORTED, *within.coverage_text(next(iter(values.values())))),
    )


def _metric(view: View, metric_id: str, values: Floats) -> _Metric:
    columns, names = [within.level_over_models(values), values], [Cell("all models"), *map(Cell, view.labels)]
    reference = reference_of(view.study, EMPTY_TAGS if metric_id.startswith("emotion") else BASE_RATE)
    if reference is not None and metric_id in reference.values:
        columns.append(reference.values[metric_id])
        names.append(Cell(reference.label, mark="reference"))
    return _Metric(metric_id, np.column_stack(columns), names)


def _contrast(
    view: View, metric: _Metric, inside: Mask, none: Mask, name: str = ""
) -> tuple[GroupContrast, list[Cell]]:
    """A group against none, for all columns; p of the models corrected together."""
    use = "/".join(filter(None, ("affect-gap", metric.id, name)))
    contrast, cells = within.group_contrast(view.study, metric.columns, inside, inside | none, use, view.settings)
    drills = [*view.drills(metric.id, all_models=True), None]
    models = slice(1, 1 + view.width)
    cells = [cells[0], *with_correction(cells[models], view.settings), *cells[models.stop :]]
    return contrast, [replace(cell, drill=None if name else drill) for cell, drill in zip(cells, drills, strict=False)]


def _gap_table(
    view: View, metric: _Metric, contrast: GroupContrast, cells: list[Cell], sizes: Mapping[str, str]
) -> Table:
    """Any diagnosis minus none for all models, each model, and the reference."""
    label, unit, correction = label_of(metric.id), unit_of(metric.id), CORRECTIONS[plain_correction(view.settings)]
    none, any_ = (
        [cell_of(mean, n=int(n)) for mean, n in zip(means, number, strict=True)]
        for means, number in ((contrast.outside, contrast.n_out), (contrast.inside, contrast.n_in))
    )
    return table(
        f"gap-{metric.id}",
        f"{label}: any diagnosis against none",
        words("model", metric.names),
        counts("n_none", contrast.n_out, "n none", "Conversations of people who reported no diagnosis."),
        counts("n_any", contrast.n_in, "n any", "Conversations of people who reported at least one diagnosis."),
        metric_column(metric.id, none, id="none", label="none"),
        metric_column(metric.id, any_, id="any", label="any"),
        column("gap", cells, "any − none", unit, _UNITS),
        column("relative", ratio(100 * contrast.estimate, contrast.outside), "in % of none", digits=1),
        column("mde", contrast.mde, "minimum detectable gap", unit, f"With {view.settings.power:.0%} power."),
        caption=f"None: {sizes[NONE]}; any: {sizes[ANY]}. Permutation p by "
        f"participant, corrected ({correction}) over {counted(view.width, 'model')}, and that of all "
        "models over the metrics.",
        chart=Chart("dumbbells", "model", ("none", "any"), f"{label} by self-reported diagnosis", label, roles=ROLES),
    )


def _means_table(view: View, metric: _Metric, members: Mapping[str, Mask], sizes: Mapping[str, str]) -> Table:
    """Means of every group; a conversation can be in several."""
    shown = {name: np.where(mask[:, None], metric.columns, np.nan) for name, mask in members.items() if mask.any()}
    silent, label = int((~members[ANY] & ~members[NONE]).sum()), label_of(metric.id)
    return table(
        f"groups-{metric.id}",
        f"{label} by group",
        words("model", metric.names),
        *(metric_column(metric.id, view.cells(of, of=metric.id), id=name, label=name) for name, of in shown.items()),
        caption=f"{'; '.join(f'{name}: {sizes[name]}' for name in shown)}; not reported: "
        f"{counted(silent, 'conversation')}. A conversation can be in several groups.",
        chart=Chart("intervals", "model", tuple(shown), f"{label} by self-reported diagnosis", label, roles=ROLES),
    )


def _against_none_table(view: View, metric: _Metric, members: Mapping[str, Mask], sizes: Mapping[str, str]) -> Table:
    """Each group of diagnoses against none, over all models; without a row where nobody reported none."""
    none, unit, label = members[NONE], unit_of(metric.id), label_of(metric.id)
    shown = {name: mask for name, mask in members.items() if name != NONE and mask.any() and none.any()}
    found = [_contrast(view, metric, mask, none, name) for name, mask in shown.items()]
    of_models = [one.estimate[1 : 1 + view.width] for one, _ in found]
    return table(
        f"against-none-{metric.id}",
        f"{label}: each group against none",
        words("group", shown),
        counts("n", [int(mask.sum()) for mask in shown.values()], "conversations"),
        counts("participants", [len(np.unique(view.study.clusters[mask])) for mask in shown.values()]),
        metric_column(metric.id, [cell_of(one.inside[0], n=int(one.n_in[0])) for one, _ in found], id="mean"),
        column("difference", with_correction([of[0] for _, of in found], view.settings), "against none", unit, _UNITS),
        words("lower", [f"{(of < 0).sum()} of {(~np.isnan(of)).sum()}" for of in of_models], "models with lower means"),
        caption=f"None: {sizes[NONE]}. Permutation p, corrected "
        f"({CORRECTIONS[plain_correction(view.settings)]}) over {counted(len(found), 'group')}.",
        chart=Chart("intervals", "group", ("difference",), "Each group minus none, all models", label, NO_DIFFERENCE),
    )


# What Emotion VA is made of


def _tagged_turns(study: ScoreTable) -> Floats:
    """1 where the person tagged the turn, 0 where it is neutral: (turns,)."""
    return np.array([np.nan if tags is None else float(bool(tags)) for tags in study.truth_tags()])


def _level(tagged: Floats, of_models: Floats) -> Floats:
    """Each turn's level over all models, neutral and tagged turns apart, as models differ in each: (turns,)."""
    level = np.full(len(tagged), np.nan)
    for kind in (0.0, 1.0):
        level[tagged == kind] = within.level_over_models(of_models[tagged == kind])
    return level


def _parts_table(view: View, members: Mapping[str, Mask]) -> Table:
    """A row for each group: neutral turns, tags, Emotion VA on all and on tagged turns, false alarms; over models."""
    study, tagged = view.study, _tagged_turns(view.study)
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
        "Components of Emotion VA",
        words("group", members),
        counts("n", masks.sum(axis=0).astype(np.int64), "conversations"),
        counts("participants", [len(np.unique(study.clusters[mask])) for mask in members.values()]),
        counts("turns", (view.sums(level)[1] @ masks).astype(np.int64)),
        column("neutral", part(1 - tagged), "neutral turns", "share", "Turns on which the person tagged no emotion."),
        column("felt", part(felt), "tags per turn", "number", "Emotions that the person tagged.", digits=2),
        column(
            "given",
            part(_level(tagged, given)),
            "predicted tags per turn",
            "number",
            "Emotions that models predicted.",
            digits=2,
        ),
        column("va", part(level), "Emotion VA", "share", "Over all turns.", better=True),
        column("va_tagged", part(np.where(tagged == 1, level, np.nan)), "VA on tagged turns", "share", better=True),
        column("false_alarm", part(np.where(tagged == 0, 1 - level, np.nan)), "false alarms", "share", better=False),
        order=[i for i, mask in enumerate(members.values()) if mask.any()],
        caption=f"{view.sample}, over all turns of a group. False alarms are on neutral turns. A group with more "
        f"neutral turns is easier for a model that names few emotions.",
        chart=Chart("intervals", "group", ("neutral", "va_tagged", "false_alarm"), "Components of Emotion VA", "share"),
    )


def _split_tables(view: View, sides: tuple[Mask, Mask]) -> list[Table]:
    """How the difference of the second side from the first splits, for all models and each.

    Turns weigh so that each conversation counts once, as in the metric: neutral share · (1 − false alarms) + tagged
    share · VA on tagged turns is then a side's mean, and a difference splits into three parts without a rest. Nothing
    where a side has no neutral or no tagged turn.
    """
    tagged, of_models = _tagged_turns(view.study), view.study.turn_values("emotion_va")
    va = np.column_stack([_level(tagged, of_models), of_models])
    number = view.sums(va)[1]
    kinds = [view.sums(np.where(tagged[:, None] == kind, va, np.nan)) for kind in (0.0, 1.0)]
    weighted = [np.nan_to_num(ratio(part, number)) for above, below in kinds for part in (below, above)]
    sums = [part * side[:, None] for side in sides for part in weighted]
    if any((weight.sum(axis=0) == 0).any() for weight in sums[::2]):
        return []
    difference, share, alarms, on_tagged = within.in_rows(
        view.functions(_split_parts, sums, np.tile(sum(sums[::2]), 4)), va.shape[1]
    )
    return [
        table(
            "split",
            "Where the difference in Emotion VA comes from",
            words("model", ("all models", *view.labels)),
            column("difference", difference, "any − none", "share", "Sum of the three components."),
            column("share", share, "from neutral turns", "share", "Due to different shares of neutral turns."),
            column("alarms", alarms, "from false alarms", "share", "Due to different accuracy on neutral turns."),
            column("tagged", on_tagged, "from tagged turns", "share", "Due to different accuracy on tagged turns."),
            caption="Each conversation counts once. The three components add up to the difference; each is computed at "
            "the mean of both groups' other quantities.",
            chart=Chart(
                *("intervals", "model", ("difference", "share", "alarms", "tagged")),
                title="Components of the gap in Emotion VA",
                axis="any − none",
                lines=NO_DIFFERENCE,
                roles=ROLES,
            ),
        )
    ]


def _split_parts(*sums: Floats) -> Floats:
    """Difference and its three parts; each side has weight and weighted VA of neutral turns, then of tagged ones."""
    (share_a, neutral_a, tagged_a), (share_b, neutral_b, tagged_b) = (
        (ratio(weight, weight + other), ratio(above, weight), ratio(above_tagged, other))
        for weight, above, other, above_tagged in (sums[:4], sums[4:])
    )
    share, neutral, tagged = (share_a + share_b) / 2, (neutral_a + neutral_b) / 2, (tagged_a + tagged_b) / 2
    of_share = (share_b - share_a) * (neutral - tagged)
    of_neutral, of_tagged = share * (neutral_b - neutral_a), (1 - share) * (tagged_b - tagged_a)
    return np.concatenate([of_share + of_neutral + of_tagged, of_share, of_neutral, of_tagged], axis=-1)
