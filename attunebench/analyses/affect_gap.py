"""The clinical affect gap: whether feelings are read less well in conversations of people with a diagnosis, and why.

Diagnoses are self-reported, by the groups of `conversations.groups`; nothing here is a finding about anybody's health.
An average of Emotion VA mixes turns with and without a feeling, so `affect_parts` takes it apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.affect_parts import parts_table, split_table
from attunebench.analyses.base import Subject, label_of, metric_column, metrics_of, reference_of, unit_of
from attunebench.analyses.sampling import CORRECTIONS, plain_correction, ratio, with_correction
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, known, table, words
from attunebench.analyses.verdicts import counted, intervals_text, sample_text
from attunebench.analyses.within import View
from attunebench.conversations.groups import ANY, GROUPS, NONE
from attunebench.scores import BASE_RATE, EMPTY_TAGS
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import GroupContrast, Mask

METRICS = ("emotion_va", "binary_om_accuracy")
_SELF_REPORTED = "Diagnoses are self-reported, and no score of a screening scale is one."
_UNITS = "Participants are the units of interval and test."


class _Metric(NamedTuple):
    """A metric's (conversations, columns): all models, each model, and a reference where there is one."""

    id: str
    columns: Floats
    names: list[str | Cell]


def analyse(subject: Subject) -> Analysis:
    """Any diagnosis against none, per model and metric; every group's means; the parts of Emotion VA."""
    view = View.of_models(subject, by_participant=True)
    reported = [() if truth is None else truth["diagnosis_groups"] for truth in view.study.truths()]
    members = {group: np.array([group in of for of in reported], dtype=bool) for group in GROUPS}
    if not any(mask.any() for mask in members.values()):
        raise Missing("No participant reported whether they have a diagnosis, or these scores do not keep it.")
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
            _gap(view, metric, contrast, [first, *cells[1:]], sizes),
            _means(view, metric, members, sizes),
            _against_none(view, metric, members, sizes),
        )
    ]
    split = split_table(view, (members[NONE], members[ANY]))
    return Analysis(
        tables=(*tables, parts_table(view, members), *([split] if split is not None else [])),
        shows=view.claims(map(label_of, values), pooled, "between any and no self-reported diagnosis, all models"),
        notes=(_SELF_REPORTED, *within.coverage_text(next(iter(values.values())))),
    )


def _metric(view: View, metric_id: str, values: Floats) -> _Metric:
    columns, names = [within.level_over_models(values), values], [Cell("all models"), *map(Cell, view.labels)]
    reference = reference_of(view.study, EMPTY_TAGS if metric_id.startswith("emotion") else BASE_RATE)
    if reference is not None and metric_id in reference.values:
        columns.append(reference.values[metric_id])
        names.append(Cell(reference.label, mark="reference"))
    return _Metric(metric_id, np.column_stack(columns), [*names])


def _contrast(
    view: View, metric: _Metric, inside: Mask, none: Mask, name: str = ""
) -> tuple[GroupContrast, list[Cell]]:
    """A group against none, for all columns; p of the models corrected together."""
    about, use = (metric.columns, inside, inside | none), "/".join(filter(None, ("affect-gap", metric.id, name)))
    contrast = within.group_contrast(view.study, *about, use, view.settings)
    drills = [Drill(metric=metric.id), *view.drills(metric.id), None][: metric.columns.shape[1]]
    untested = np.full(len(contrast.p), np.nan)
    cells = within.contrast_cells(view.study, contrast, *about, view.settings, untested, drills)
    models = slice(1, 1 + view.width)
    return contrast, [cells[0], *with_correction(cells[models], view.settings), *cells[models.stop :]]


def _gap(view: View, metric: _Metric, contrast: GroupContrast, cells: list[Cell], sizes: Mapping[str, str]) -> Table:
    """Any diagnosis minus none for all models, each model, and the reference."""
    label, unit, correction = label_of(metric.id), unit_of(metric.id), CORRECTIONS[plain_correction(view.settings)]
    none, any_ = (
        [Cell(known(mean), n=int(n)) for mean, n in zip(means, number, strict=True)]
        for means, number in ((contrast.outside, contrast.n_out), (contrast.inside, contrast.n_in))
    )
    return table(
        f"gap-{metric.id}",
        f"{label}: any diagnosis against none",
        words("model", metric.names),
        counts("n_none", contrast.n_out, "n none", "Conversations of people who reported that they have none."),
        counts("n_any", contrast.n_in, "n any", "Conversations of people who reported at least one."),
        metric_column(metric.id, none, id="none", label="none"),
        metric_column(metric.id, any_, id="any", label="any"),
        column("gap", cells, "any − none", unit, _UNITS),
        column("relative", ratio(100 * contrast.estimate, contrast.outside), "in % of none", digits=1),
        column("mde", contrast.mde, "minimum detectable gap", unit, f"With {view.settings.power:.0%} power."),
        caption=f"None: {sizes[NONE]}; any: {sizes[ANY]}. {_SELF_REPORTED} {intervals_text(view.settings)}; "
        f"permutation p by participant, corrected ({correction}) over {counted(view.width, 'model')}, and that of all "
        "models over the metrics.",
        chart=Chart("dumbbells", "model", ("none", "any"), f"{label} by self-reported diagnosis", label),
    )


def _means(view: View, metric: _Metric, members: Mapping[str, Mask], sizes: Mapping[str, str]) -> Table:
    """Means of every group; a conversation can be in several."""
    shown = {name: np.where(mask[:, None], metric.columns, np.nan) for name, mask in members.items() if mask.any()}
    silent, label = int((~members[ANY] & ~members[NONE]).sum()), label_of(metric.id)
    return table(
        f"groups-{metric.id}",
        f"{label} by group",
        words("model", metric.names),
        *(metric_column(metric.id, view.cells(of, of=metric.id), id=name, label=name) for name, of in shown.items()),
        caption=f"{'; '.join(f'{name}: {sizes[name]}' for name in shown)}; not reported: "
        f"{counted(silent, 'conversation')}. A conversation can be in several groups. {view.how()}",
        chart=Chart("bars", "model", tuple(shown), f"{label} by self-reported diagnosis", label),
    )


def _against_none(view: View, metric: _Metric, members: Mapping[str, Mask], sizes: Mapping[str, str]) -> Table:
    """Each group of diagnoses against none, over all models; without a row where nobody reported none."""
    none, unit = members[NONE], unit_of(metric.id)
    shown = {name: mask for name, mask in members.items() if name != NONE and mask.any() and none.any()}
    found = [_contrast(view, metric, mask, none, name) for name, mask in shown.items()]
    cells = [replace(of[0], drill=None) for _, of in found]
    means = [Cell(known(one.inside[0]), n=int(one.n_in[0])) for one, _ in found]
    of_models = [one.estimate[1 : 1 + view.width] for one, _ in found]
    return table(
        f"against-none-{metric.id}",
        f"{label_of(metric.id)}: each group against none",
        words("group", shown),
        counts("n", [int(mask.sum()) for mask in shown.values()], "conversations"),
        counts("participants", [len(np.unique(view.study.clusters[mask])) for mask in shown.values()]),
        metric_column(metric.id, means, id="mean"),
        column("difference", with_correction(cells, view.settings), "against none", unit, _UNITS),
        words("lower", [f"{(of < 0).sum()} of {(~np.isnan(of)).sum()}" for of in of_models], "models that are lower"),
        caption=f"None: {sizes[NONE]}. {_SELF_REPORTED} Permutation p, corrected "
        f"({CORRECTIONS[plain_correction(view.settings)]}) over {counted(len(cells), 'group')}.",
    )
