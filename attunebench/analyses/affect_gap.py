"""The clinical affect gap: whether feelings are read less well in conversations of people with a diagnosis, and why.

Diagnoses are self-reported, by the groups of `conversations.groups`; nothing here is a finding about anybody's health.
An average of Emotion VA mixes turns with and without a feeling, so `affect_parts` takes it apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.affect_parts import parts_table, split_table
from attunebench.analyses.base import Subject, drill_to, label_of, metric_column, reference_of, unit_of
from attunebench.analyses.sampling import CORRECTIONS, Sampling, plain_correction
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, known, table, words
from attunebench.analyses.verdicts import claims_sentence, counted, intervals_text, sample_text
from attunebench.conversations.groups import ANY, GROUPS, NONE
from attunebench.scores import BASE_RATE, EMPTY_TAGS
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import GroupContrast, Mask
from attunebench.statistics.multiple import adjust

METRICS = ("emotion_va", "binary_om_accuracy")
_NAME = "affect-gap"
_SELF_REPORTED = "Diagnoses are self-reported, and no score of a screening scale is one."


@dataclass(frozen=True)
class _Groups:
    """The study with the conversations of each group of diagnoses."""

    study: ScoreTable
    members: Mapping[str, Mask]
    sampling: Sampling

    def sample(self, group: str) -> str:
        return sample_text(self.study.with_conversations(np.array(self.study.ids)[self.members[group]].tolist()))


@dataclass(frozen=True)
class _Metric:
    """A metric's (conversations, columns): all models, each model, and a reference where there is one."""

    id: str
    columns: Floats
    names: list[str | Cell]


def analyse(subject: Subject) -> Analysis:
    """Any diagnosis against none, per model and metric; every group's means; the parts of Emotion VA."""
    study, sampling = within.scored_models(subject, by_participant=True)
    settings = sampling.settings
    reported = [() if truth is None else truth["diagnosis_groups"] for truth in study.truths()]
    groups = _Groups(study, {g: np.array([g in of for of in reported], dtype=bool) for g in GROUPS}, sampling)
    if not any(mask.any() for mask in groups.members.values()):
        raise Missing("No participant reported whether they have a diagnosis, or these scores do not keep it.")
    values = within.asked_values(study, settings, METRICS)
    metrics = [_metric(study, metric_id, of) for metric_id, of in values.items()]
    inside, asked = groups.members[ANY], groups.members[ANY] | groups.members[NONE]
    contrasts = [
        within.group_contrast(study, one.columns, inside, asked, f"{_NAME}/{one.id}", settings) for one in metrics
    ]
    # The sentence names every metric whose difference over all models is significant, so these are one family.
    over_metrics = adjust(np.array([contrast.p[0] for contrast in contrasts]), plain_correction(settings))
    tables, named = [], []
    for metric, contrast, p in zip(metrics, contrasts, over_metrics, strict=True):
        corrected = np.full(len(contrast.p), np.nan)
        models = slice(1, 1 + len(study.groups))
        corrected[0], corrected[models] = p, adjust(contrast.p[models], plain_correction(settings))
        drills = [Drill(metric=metric.id), *(drill_to(group, metric.id) for group in study.groups), None]
        cells = within.contrast_cells(study, contrast, metric.columns, inside, asked, settings, corrected, drills)
        tables += [_gap(groups, metric, contrast, cells), _means(groups, metric), _against_none(groups, metric)]
        named.append((label_of(metric.id), cells[0]))
    split = split_table(study, (groups.members[NONE], inside), sampling)
    return Analysis(
        tables=(*tables, parts_table(study, groups.members, sampling), *([split] if split is not None else [])),
        shows=claims_sentence(named, settings, of="between any and no self-reported diagnosis, over all models,"),
        cannot="People with and without a diagnosis differ in much else: what they talk about, how they tag, with whom "
        "they talked. A gap says how models do on their conversations, not that a diagnosis is its cause, and few "
        "participants are in each group.",
        notes=(_SELF_REPORTED, *within.coverage_text(next(iter(values.values())))),
    )


def _metric(study: ScoreTable, metric_id: str, values: Floats) -> _Metric:
    columns, names = [within.level_over_models(values)[:, None], values], ["all models", *study.labels]
    reference = reference_of(study, EMPTY_TAGS if metric_id.startswith("emotion") else BASE_RATE)
    if reference is None or metric_id not in reference.values:
        return _Metric(metric_id, np.concatenate(columns, axis=1), [*names])
    columns.append(reference.values[metric_id][:, None])
    return _Metric(metric_id, np.concatenate(columns, axis=1), [*names, Cell(reference.label, mark="reference")])


def _gap(groups: _Groups, metric: _Metric, contrast: GroupContrast, cells: list[Cell]) -> Table:
    """Any diagnosis minus none for all models, each model, and the reference."""
    settings, label, unit = groups.sampling.settings, label_of(metric.id), unit_of(metric.id)
    relative = within.ratio(100 * contrast.estimate, contrast.outside)
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
        column("gap", cells, "any − none", unit, "Participants are the units of interval and test."),
        column("relative", relative, "in % of none", "number", "The difference over the mean without.", digits=1),
        column("mde", contrast.mde, "minimum detectable gap", unit, f"With {settings.power:.0%} power."),
        caption=f"None: {groups.sample(NONE)}; any: {groups.sample(ANY)}. {_SELF_REPORTED} {intervals_text(settings)} "
        f"and permutation p by participant, corrected ({CORRECTIONS[plain_correction(settings)]}) over "
        f"{counted(len(groups.study.groups), 'model')}, and that of all models over the metrics.",
        chart=Chart("dumbbells", "model", ("none", "any"), f"{label} by self-reported diagnosis", label),
    )


def _means(groups: _Groups, metric: _Metric) -> Table:
    """Means of every group; a conversation can be in several."""
    label, members = label_of(metric.id), {name: mask for name, mask in groups.members.items() if mask.any()}
    silent = len(groups.study.ids) - int((groups.members[ANY] | groups.members[NONE]).sum())
    means = {name: np.where(mask[:, None], metric.columns, np.nan) for name, mask in members.items()}
    sizes = "; ".join(f"{name}: {groups.sample(name)}" for name in members)
    return table(
        f"groups-{metric.id}",
        f"{label} by group",
        words("model", metric.names),
        *(
            metric_column(metric.id, groups.sampling.cells(values, of=metric.id), id=name, label=name)
            for name, values in means.items()
        ),
        caption=f"{sizes}; not reported: {counted(silent, 'conversation')}. A conversation can be in several groups. "
        f"{intervals_text(groups.sampling.settings)}.",
        chart=Chart("bars", "model", tuple(members), f"{label} by self-reported diagnosis", label),
    )


def _against_none(groups: _Groups, metric: _Metric) -> Table:
    """Each group of diagnoses against none, over all models; without a row where nobody reported none."""
    study, settings, none = groups.study, groups.sampling.settings, groups.members[NONE]
    members = {name: mask for name, mask in groups.members.items() if name != NONE and mask.any() and none.any()}
    found = [
        within.group_contrast(study, metric.columns, mask, mask | none, f"{_NAME}/{metric.id}/{name}", settings)
        for name, mask in members.items()
    ]
    corrected = adjust(np.array([one.p[0] for one in found]), plain_correction(settings))
    pooled = metric.columns[:, :1]
    cells = [
        within.contrast_cells(study, one, pooled, mask, mask | none, settings, corrected[[i]])[0]
        for i, (one, mask) in enumerate(zip(found, members.values(), strict=True))
    ]
    of_models = [one.estimate[1 : 1 + len(study.groups)] for one in found]
    label, unit = label_of(metric.id), unit_of(metric.id)
    return table(
        f"against-none-{metric.id}",
        f"{label}: each group against none",
        words("group", members),
        counts("n", [int(mask.sum()) for mask in members.values()], "conversations"),
        counts("participants", [len(np.unique(study.clusters[mask])) for mask in members.values()]),
        metric_column(metric.id, [Cell(known(one.inside[0]), n=int(one.n_in[0])) for one in found], id="mean"),
        column("difference", cells, "against none", unit, "Participants are the units of interval and test."),
        words("lower", [f"{(of < 0).sum()} of {(~np.isnan(of)).sum()}" for of in of_models], "models that are lower"),
        caption=f"None: {groups.sample(NONE)}. {_SELF_REPORTED} Permutation p, corrected "
        f"({CORRECTIONS[plain_correction(settings)]}) over {counted(len(cells), 'group')}.",
    )
