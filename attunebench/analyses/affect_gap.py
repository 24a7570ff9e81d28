"""The clinical affect gap: whether feelings are read less well in talks of people who told of a diagnosis, and why.

Diagnoses are what participants told of themselves, by the groups of `conversations.groups`; nothing here is a finding
about anybody's health. An average of Emotion VA mixes turns with and without a feeling, so it is taken apart: how many
turns are neutral, how often these get an emotion, and how well tagged turns are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common, coverage, within
from attunebench.analyses.affect_parts import ALL, Parts
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, known, text
from attunebench.conversations.groups import ANY, GROUPS, NONE
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import GroupContrast, Mask
from attunebench.statistics.multiple import adjust

METRICS = ("emotion_va", "binary_om_accuracy")
_NAME = "affect-gap"
_TOLD = "Diagnoses are self-reported, and no score of a screening scale is one"


def analyse(subject: Subject) -> Analysis:
    """Any diagnosis told against none, per model and metric; every group's means; the parts of Emotion VA."""
    begun = common.begun(_NAME)
    study, settings = common.models_of(subject), subject.settings
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    members = _members(study)
    if not any(mask.any() for mask in members.values()):
        return replace(
            begun, missing="No participant told whether they have a diagnosis, or these scores do not keep it."
        )
    values = common.defined_metrics(study, common.wanted_metrics(settings, METRICS))
    if not values:
        return replace(begun, missing="None of the metrics asked for is defined for any conversation here.")
    settings = replace(settings, by_participant=True)
    sampling = Sampling.of(study, settings)
    gaps = {metric_id: _Gap(study, metric_id, table, members, settings) for metric_id, table in values.items()}
    _correct_over_metrics(tuple(gaps.values()), settings)
    parts = Parts(study, members, (NONE, ANY), sampling)
    tables = [table for gap in gaps.values() for table in gap.tables(sampling)]
    said = []
    for metric_id, gap in gaps.items():
        said.append(gap.sentence())
        if metric_id == "emotion_va" and common.claimed(gap.cells[0], settings):
            said.append(parts.sentence())
    return replace(
        begun,
        tables=(*tables, parts.of_groups(), *parts.of_models()),
        shows=" ".join(filter(None, said)),
        cannot="People with and without a diagnosis differ in much else: what they talk about, how they tag, with whom "
        "they talked. A gap says how models do on their talks, not that a diagnosis is its cause, and few participants "
        "carry each group.",
        notes=(
            f"{_TOLD}. {common.small_text(settings)}",
            *filter(None, (coverage.coverage_text(next(iter(values.values()))),)),
        ),
    )


def _correct_over_metrics(gaps: Sequence[_Gap], settings: Settings) -> None:
    """The sentence names every metric whose difference over all models may be claimed, so these are one family."""
    p = np.array([gap.contrast.p[0] for gap in gaps])
    for gap, corrected in zip(gaps, adjust(p, common.plain_correction(settings)), strict=True):
        gap.cells[0] = replace(gap.cells[0], p_corrected=known(corrected))
        gap.metrics = len(gaps)


def _members(study: ScoreTable) -> dict[str, Mask]:
    """Group → which conversations are in it, in the order of reports."""
    told = [() if truth is None else tuple(truth["diagnosis_groups"]) for truth in study.truths()]
    return {group: np.array([group in groups for groups in told], dtype=bool) for group in GROUPS}


@dataclass(frozen=True)
class _Side:
    """How a group of conversations is counted in words."""

    conversations: int
    people: int

    @classmethod
    def of(cls, study: ScoreTable, mask: Mask) -> _Side:
        return cls(int(mask.sum()), len(np.unique(study.clusters[mask])))


class _Gap:
    """One metric: any diagnosis minus none, for each model, all models, and the reference that listens to nobody."""

    def __init__(
        self, study: ScoreTable, metric_id: str, values: Floats, members: Mapping[str, Mask], settings: Settings
    ):
        self.study, self.metric_id, self.values, self.members, self.settings = (
            study,
            metric_id,
            values,
            members,
            settings,
        )
        self.reference = common.reference_of(
            study, common.EMPTY_TAGS if metric_id.startswith("emotion") else common.BASE_RATE
        )
        columns = [coverage.level_over_models(values)[:, None], values]
        if self.reference is not None and metric_id in self.reference.values:
            columns.append(self.reference.values[metric_id][:, None])
        self.columns = np.concatenate(columns, axis=1)
        self.metrics = 1
        inside, self.asked = members[ANY], members[ANY] | members[NONE]
        self.contrast: GroupContrast = within.group_contrast(
            study, self.columns, inside, self.asked, f"{_NAME}/{metric_id}", settings
        )
        corrected = np.full(len(self.contrast.p), np.nan)
        models = slice(1, 1 + len(study.groups))
        corrected[models] = adjust(self.contrast.p[models], common.plain_correction(settings))
        drills = [Drill(metric=metric_id), *(common.drill_to(group, metric_id) for group in study.groups), None]
        self.cells = within.contrast_cells(
            study, self.contrast, self.columns, inside, self.asked, settings, corrected, drills
        )

    @property
    def names(self) -> list[Cell]:
        named = [text(ALL), *(text(group.label) for group in self.study.groups)]
        if self.columns.shape[1] > len(named) and self.reference is not None:
            named.append(text(self.reference.label, mark="reference"))
        return named

    def tables(self, sampling: Sampling) -> tuple[Table, ...]:
        """Any against none for each model, the means of every group, and every group against none."""
        against = self.against_none()
        return (self.table(), self.groups(sampling), *([against] if against.rows else []))

    def table(self) -> Table:
        contrast, metric_id = self.contrast, self.metric_id
        unit, better = common.unit_of(metric_id), common.better(metric_id)
        sides = [_Side.of(self.study, self.members[name]) for name in (NONE, ANY)]
        rows = tuple(
            (
                name,
                Cell(int(contrast.n_out[i])),
                Cell(int(contrast.n_in[i])),
                Cell(known(contrast.outside[i]), n=int(contrast.n_out[i])),
                Cell(known(contrast.inside[i]), n=int(contrast.n_in[i])),
                self.cells[i],
                Cell(known(_relative(contrast, i))),
                Cell(known(contrast.mde[i])),
            )
            for i, name in enumerate(self.names)
        )
        label = common.label_of(metric_id)
        return Table(
            f"gap-{metric_id}",
            f"{label}: any diagnosis told against none",
            (
                Column("model", "model", "text"),
                Column("n_none", "n none", "count", "Conversations of people who said that they have none."),
                Column("n_any", "n any", "count", "Conversations of people who told of at least one."),
                Column("none", "none", unit, "Mean where none was told.", better),
                Column("any", "any", unit, "Mean where any was told.", better),
                Column("gap", "any − none", unit, "Participants are the units of interval and test."),
                Column("relative", "in % of none", "number", "The difference over the mean without.", digits=1),
                Column("mde", "smallest gap to be found", unit, f"With {self.settings.power:.0%} power."),
            ),
            rows,
            caption=f"None told: {_counted(sides[0])}; any told: {_counted(sides[1])}. {_TOLD}. "
            f"{100 * self.settings.level:g} % percentile bootstrap intervals and permutation p, both by participant; "
            f"p corrected ({common.CORRECTIONS[common.plain_correction(self.settings)]}) over "
            f"{common.counted(len(self.study.groups), 'model')}, and that of all models together over "
            f"{common.counted(self.metrics, 'metric')}.",
            chart=Chart("dumbbells", "model", ("none", "any"), f"{label} by told diagnosis", label),
        )

    def groups(self, sampling: Sampling) -> Table:
        """Means of every group; a conversation can be in several."""
        label, metric_id = common.label_of(self.metric_id), self.metric_id
        by_group = {
            name: sampling.cells(np.where(mask[:, None], self.columns, np.nan), of=metric_id)
            for name, mask in self.members.items()
            if mask.any()
        }
        rows = tuple((name, *(cells[i] for cells in by_group.values())) for i, name in enumerate(self.names))
        return Table(
            f"groups-{metric_id}",
            f"{label} by group",
            (
                Column("model", "model", "text"),
                *(
                    Column(name, name, common.unit_of(metric_id), _group_meaning(name), common.better(metric_id))
                    for name in by_group
                ),
            ),
            rows,
            caption=f"{_group_counts(self.study, self.members)}. A conversation can be in several groups. "
            f"{common.intervals_text(self.settings)}.",
            chart=Chart("bars", "model", tuple(by_group), f"{label} by told diagnosis", label),
        )

    def against_none(self) -> Table:
        """Each group of told diagnoses against none, over all models."""
        settings, unit = self.settings, common.unit_of(self.metric_id)
        none, count = self.members[NONE], len(self.study.groups)
        groups = {name: mask for name, mask in self.members.items() if name != NONE and mask.any() and none.any()}
        found = {
            name: within.group_contrast(
                self.study, self.columns, mask, mask | none, f"{_NAME}/{self.metric_id}/{name}", settings
            )
            for name, mask in groups.items()
        }
        p = adjust(np.array([one.p[0] for one in found.values()]), common.plain_correction(settings))
        rows = []
        for (name, one), corrected in zip(found.items(), p, strict=True):
            mask, lower = groups[name], one.estimate[1 : 1 + count] < 0
            cell = within.contrast_cells(
                self.study, one, self.columns[:, :1], mask, mask | none, settings, np.array([corrected])
            )[0]
            side = _Side.of(self.study, mask)
            mean = Cell(known(one.inside[0]), n=int(one.n_in[0]))
            lower_text = text(f"{int(lower.sum())} of {int((~np.isnan(one.estimate[1 : 1 + count])).sum())}")
            rows.append((text(name), Cell(side.conversations), Cell(side.people), mean, cell, lower_text))
        label = common.label_of(self.metric_id)
        return Table(
            f"against-none-{self.metric_id}",
            f"{label}: each group against none",
            (
                Column("group", "group", "text"),
                Column("n", "conversations", "count"),
                Column("participants", "participants", "count"),
                Column("mean", label, unit, "Mean over models.", common.better(self.metric_id)),
                Column("difference", "against none", unit, "Participants are the units of interval and test."),
                Column("lower", "models that are lower", "text", "Models with a lower mean in the group than in none."),
            ),
            tuple(rows),
            caption=f"None told: {_counted(_Side.of(self.study, none))}. {_TOLD}. Permutation p, corrected "
            f"({common.CORRECTIONS[common.plain_correction(settings)]}) over {common.counted(len(rows), 'group')}.",
        )

    def sentence(self) -> str:
        """What can be said of all models, and of how many of them."""
        label, cell, contrast = common.label_of(self.metric_id), self.cells[0], self.contrast
        if cell.value is None:
            return f"{label} cannot be compared: one side has no conversation."
        means = f"{common.number(contrast.outside[0])} without and {common.number(contrast.inside[0])} with"
        if cell.small:
            return f"{label} is {means} a told diagnosis: too few conversations or participants for a claim."
        shown = common.with_interval(cell, sign=True)
        if not common.claimed(cell, self.settings):
            return f"No difference on {label} is shown: {means} a told diagnosis ({shown})."
        lower = common.value_of(cell) < 0
        models = [c for c in self.cells[1 : 1 + len(self.study.groups)] if c.value is not None]
        same = sum((common.value_of(c) < 0) == lower for c in models)
        return (
            f"{label} is {'lower' if lower else 'higher'} where any diagnosis was told: {means} ({shown}, "
            f"{common.number(_relative(contrast, 0), 0, sign=True)} %), in {same} of "
            f"{common.counted(len(models), 'model')}."
        )


def _relative(contrast: GroupContrast, column: int) -> float:
    """The difference in percent of the mean without."""
    outside = contrast.outside[column]
    return float(100 * contrast.estimate[column] / outside) if outside > 0 else np.nan


def _counted(side: _Side) -> str:
    return f"{common.counted(side.conversations, 'conversation')} of {common.counted(side.people, 'participant')}"


def _group_counts(study: ScoreTable, members: Mapping[str, Mask]) -> str:
    parts = [f"{name}: {_counted(_Side.of(study, mask))}" for name, mask in members.items() if mask.any()]
    untold = len(study.ids) - int((members[ANY] | members[NONE]).sum())
    return "; ".join([*parts, *([f"not told: {common.counted(untold, 'conversation')}"] if untold else [])])


def _group_meaning(name: str) -> str:
    if name == NONE:
        return "The participant said that they have none."
    return "The participant told of at least one." if name == ANY else "Told by the participant."
