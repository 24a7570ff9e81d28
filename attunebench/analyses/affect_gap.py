"""The clinical affect gap: whether feelings are read less well in talks of people who told of a diagnosis, and why.

Diagnoses are what participants told of themselves, by the groups of `conversations.groups`; nothing here is a finding
about anybody's health. An average of Emotion VA mixes turns with and without a feeling, so it is taken apart: how many
turns are neutral, how often these get an emotion, and how well tagged turns are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, known, text
from attunebench.conversations.groups import ANY, GROUPS, NONE
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import GroupContrast, Mask
from attunebench.statistics.multiple import adjust
from attunebench.study import Study

METRICS = ("emotion_va", "binary_om_accuracy")
_NAME = "affect-gap"
_ALL = "all models"
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
    parts = _Parts(study, members, sampling)
    tables = [table for gap in gaps.values() for table in (gap.table(), gap.groups(sampling))]
    return replace(
        begun,
        tables=(*tables, parts.of_groups(), *parts.of_models()),
        shows=" ".join((*(gap.sentence() for gap in gaps.values()), *parts.sentences(gaps.get("emotion_va")))),
        cannot="People with and without a diagnosis differ in much else: what they talk about, how they tag, with whom "
        "they talked. A gap says how models do on their talks, not that a diagnosis is its cause, and few participants "
        "carry each group.",
        notes=(f"{_TOLD}. {common.small_text(settings)}",),
    )


def _members(study: Study) -> dict[str, Mask]:
    """Group → which conversations are in it, in the order of reports."""
    told = [() if truth is None else tuple(truth["diagnosis_groups"]) for truth in study.truths()]
    return {group: np.array([group in groups for groups in told], dtype=bool) for group in GROUPS}


@dataclass(frozen=True)
class _Side:
    """How a group of conversations is counted in words."""

    conversations: int
    people: int

    @classmethod
    def of(cls, study: Study, mask: Mask) -> _Side:
        return cls(int(mask.sum()), len(np.unique(study.clusters[mask])))


class _Gap:
    """One metric: any diagnosis minus none, for each model, all models, and the reference that listens to nobody."""

    def __init__(self, study: Study, metric_id: str, values: Floats, members: Mapping[str, Mask], settings: Settings):
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
        columns = [common.mean_over_models(values)[:, None], values]
        if self.reference is not None and metric_id in self.reference.values:
            columns.append(self.reference.values[metric_id][:, None])
        self.columns = np.concatenate(columns, axis=1)
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
        named = [text(_ALL), *(text(group.label) for group in self.study.groups)]
        if self.columns.shape[1] > len(named) and self.reference is not None:
            named.append(text(self.reference.label, mark="reference"))
        return named

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
            f"p of models corrected ({common.CORRECTIONS[common.plain_correction(self.settings)]}) over "
            f"{common.counted(len(self.study.groups), 'model')}.",
            chart=Chart("dumbbells", "model", ("none", "any"), f"{label} by told diagnosis", label),
        )

    def groups(self, sampling: Sampling) -> Table:
        """Means of every group; a conversation can be in several."""
        label, metric_id = common.label_of(self.metric_id), self.metric_id
        by_group = {
            name: sampling.cells(np.where(mask[:, None], self.columns, np.nan))
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
            return f"No difference on {label} is told from none: {means} a told diagnosis ({shown})."
        lower = common.value_of(cell) < 0
        models = [c for c in self.cells[1 : 1 + len(self.study.groups)] if c.value is not None]
        same = sum((common.value_of(c) < 0) == lower for c in models)
        return (
            f"{label} is {'lower' if lower else 'higher'} where any diagnosis was told: {means} ({shown}, "
            f"{common.number(_relative(contrast, 0), 0, sign=True)} %), in {same} of "
            f"{common.counted(len(models), 'model')}."
        )


class _Parts:
    """What Emotion VA is made of in each group: neutral turns, false alarms on them, and tagged turns.

    Turns weigh so that each conversation counts once, as in the metric: neutral share · (1 − false alarms) + tagged
    share · VA on tagged turns is then the group's mean, and a difference splits into three parts without a rest.
    """

    def __init__(self, study: Study, members: Mapping[str, Mask], sampling: Sampling):
        self.study, self.members, self.sampling = study, members, sampling
        truth = study.truth_tags()
        self.tagged = np.array([np.nan if tags is None else float(bool(tags)) for tags in truth])[:, None]
        self.felt = np.array([np.nan if tags is None else float(len(tags)) for tags in truth])[:, None]
        self.va = study.turn_values("emotion_va")
        self.given = np.stack([_tag_counts(study, i) for i in range(len(study.groups))], axis=1)

    def of_groups(self) -> Table:
        """A row per group: its data, and the mean over models beside."""
        va = common.mean_over_models(self.va)[:, None]
        over = {
            "neutral": 1 - self.tagged,
            "felt": self.felt,
            "given": common.mean_over_models(self.given)[:, None],
            "va": va,
            "va_tagged": np.where(self.tagged == 1, va, np.nan),
            "false_alarm": np.where(self.tagged == 0, 1 - va, np.nan),
        }
        gathered = {name: within.conversation_sums(self.study, table) for name, table in over.items()}
        rows = []
        for name, mask in self.members.items():
            if mask.any():
                side = _Side.of(self.study, mask)
                cells = {part: self._group_cell(above, below, mask) for part, (above, below) in gathered.items()}
                turns = int(gathered["va"][1][mask].sum())
                rows.append((text(name), Cell(side.conversations), Cell(side.people), Cell(turns), *cells.values()))
        return Table(
            "parts",
            "What Emotion VA is made of",
            (
                Column("group", "group", "text"),
                Column("n", "conversations", "count"),
                Column("participants", "participants", "count"),
                Column("turns", "turns", "count"),
                Column(
                    "neutral",
                    "neutral turns",
                    "share",
                    "Share of turns without a tag: what saying “no emotion” always would score.",
                ),
                Column("felt", "tags per turn", "number", "Emotions that the person tagged.", digits=2),
                Column("given", "predicted tags per turn", "number", "Emotions that models name.", digits=2),
                Column("va", "Emotion VA", "share", "Over all turns.", True),
                Column("va_tagged", "VA on tagged turns", "share", "", True),
                Column("false_alarm", "false alarms on neutral turns", "share", "Lower is better.", False),
            ),
            tuple(rows),
            caption=f"Over all turns of a group, mean over {common.counted(len(self.study.groups), 'model')}. A group "
            "with more neutral turns is easier for a model that names few emotions: “neutral turns” is also the score "
            f"of always naming none. {common.intervals_text(self.sampling.settings)}.",
        )

    def _group_cell(self, above: Floats, below: Floats, mask: Mask) -> Cell:
        return within.rate_cells(self.sampling, above * mask[:, None], below * mask[:, None])[0]

    def of_models(self) -> tuple[Table, ...]:
        """How each model's difference splits; nothing where a group has no neutral or no tagged turn."""
        split = self.split(self.va)
        if split is None:
            return ()
        all_models = self.split(common.mean_over_models(self.va)[:, None])
        cells = [split, *([all_models] if all_models is not None else [])]
        labels = [group.label for group in self.study.groups]
        rows = [(text(_ALL), *(column[0] for column in cells[1]))] if len(cells) > 1 else []
        rows += [(text(label), *(column[i] for column in split)) for i, label in enumerate(labels)]
        table = Table(
            "split",
            "Where the difference in Emotion VA comes from",
            (
                Column("model", "model", "text"),
                Column("difference", "any − none", "share", "Sum of the three parts."),
                Column(
                    "share", "from neutral turns", "share", "Because the groups differ in how many turns are neutral."
                ),
                Column("alarms", "from false alarms", "share", "Because neutral turns are read better or worse."),
                Column("tagged", "from tagged turns", "share", "Because tagged turns are read better or worse."),
            ),
            tuple(rows),
            caption="Each conversation counts once. The difference splits without a rest, every part at the mean of "
            f"the other quantities of both groups. {common.intervals_text(self.sampling.settings)}.",
            chart=Chart("bars", "model", ("share", "alarms", "tagged"), "Parts of the gap in Emotion VA", "any − none"),
        )
        return (table,)

    def split(self, va: Floats) -> list[list[Cell]] | None:
        """Difference and its parts by neutral share, false alarms, tagged turns: four lists, a cell for each column."""
        sums = [self._weighted(va, self.members[name]) for name in (NONE, ANY)]
        if any((part.sum(axis=0) == 0).any() for side in sums for part in side[:2]):
            return None
        values = _split(*(tuple(part.sum(axis=0) for part in side) for side in sums))
        samples = _split(*(tuple(within.resampled_sums(self.sampling, part) for part in side) for side in sums))
        support = sums[0][0] + sums[0][1] + sums[1][0] + sums[1][1]
        return [
            within.function_cells(self.sampling, value, sample, support)
            for value, sample in zip(values, samples, strict=True)
        ]

    def _weighted(self, va: Floats, mask: Mask) -> tuple[Floats, Floats, Floats, Floats]:
        """Per conversation of a group: weight of neutral turns, of tagged turns, and their weighted VA."""
        parts = []
        counts = within.conversation_sums(self.study, va)[1]
        for kind in (0.0, 1.0):
            above, below = within.conversation_sums(self.study, np.where(self.tagged == kind, va, np.nan))
            parts += [within.ratio(below, counts), within.ratio(above, counts)]
        neutral, neutral_va, tagged, tagged_va = (np.where(mask[:, None], np.nan_to_num(part), 0.0) for part in parts)
        return neutral, tagged, neutral_va, tagged_va

    def sentences(self, gap: _Gap | None) -> tuple[str, ...]:
        """What stands behind a difference in Emotion VA, where there is one to speak of."""
        if gap is None or gap.cells[0].small or not common.claimed(gap.cells[0], gap.settings):
            return ()
        parts = self.split(common.mean_over_models(self.va)[:, None])
        if parts is None:
            return ()
        share, alarms, tagged = (common.with_interval(part[0], sign=True) for part in parts[1:])
        return (
            f"Of this, {share} comes with the share of neutral turns, {alarms} with false alarms on them, and {tagged} "
            "with how tagged turns are read.",
        )


def _split(none: Sequence[Floats], any_: Sequence[Floats]) -> list[Floats]:
    """Difference, and its parts; from weights of neutral and tagged turns and their weighted values."""
    (share_a, right_a, va_a), (share_b, right_b, va_b) = (_means(*side) for side in (none, any_))
    share, right, va = (share_a + share_b) / 2, (right_a + right_b) / 2, (va_a + va_b) / 2
    parts = [
        (share_b - share_a) * (right - va),
        share * (right_b - right_a),
        (1 - share) * (va_b - va_a),
    ]
    return [np.asarray(sum(parts)), *parts]


def _means(neutral: Floats, tagged: Floats, neutral_va: Floats, tagged_va: Floats) -> tuple[Floats, Floats, Floats]:
    return (
        within.ratio(neutral, neutral + tagged),
        within.ratio(neutral_va, neutral),
        within.ratio(tagged_va, tagged),
    )


def _tag_counts(study: Study, model: int) -> Floats:
    """How many emotions a model named per turn, mean over epochs that answered; NaN without any."""
    counts = []
    for epochs in study.tags(study.groups[model]):
        answered = [len(tags) for tags in epochs if tags is not None]
        counts.append(sum(answered) / len(answered) if answered else np.nan)
    return np.array(counts)


def _relative(contrast: GroupContrast, column: int) -> float:
    """The difference in percent of the mean without."""
    outside = contrast.outside[column]
    return float(100 * contrast.estimate[column] / outside) if outside > 0 else np.nan


def _counted(side: _Side) -> str:
    return f"{common.counted(side.conversations, 'conversation')} of {common.counted(side.people, 'participant')}"


def _group_counts(study: Study, members: Mapping[str, Mask]) -> str:
    parts = [f"{name}: {_counted(_Side.of(study, mask))}" for name, mask in members.items() if mask.any()]
    untold = len(study.ids) - int((members[ANY] | members[NONE]).sum())
    return "; ".join([*parts, *([f"not told: {common.counted(untold, 'conversation')}"] if untold else [])])


def _group_meaning(name: str) -> str:
    if name == NONE:
        return "The participant said that they have none."
    return "The participant told of at least one." if name == ANY else "Told by the participant."
