"""For whom a model is good: topics, attitudes, what participants told of themselves, and bands of screening scales.

Each subgroup is held against the other conversations of which the same is known. People move as a whole in intervals
and tests, since what is told of a person holds for all of their talks. Scales are screeners: a band is no diagnosis.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common, coverage, within
from attunebench.analyses.common import Sampling
from attunebench.analyses.model import Analysis, Cell, Chart, Column, Drill, Settings, Subject, Table, known, text
from attunebench.analyses.testing import reach_text
from attunebench.conversations.groups import GROUPS
from attunebench.scores import GroundTruthEntry
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask
from attunebench.statistics.multiple import adjust

METRICS = ("composite",)
_NAME = "for-whom"
_MOST = 3
"""So many findings are named in the sentence; the tables have all."""
_DEMOGRAPHICS = {
    "gender": "gender",
    "age_range": "age",
    "country": "country",
    "education": "education",
    "english_proficiency": "English",
}
_ASRS_SUM_FROM = 6
"""ASRS values are counts of 0–6, or sums of 0–24: a larger value than this somewhere means sums."""
_PROMIS = {
    "promis_anxiety_t": "PROMIS anxiety T",
    "promis_depression_t": "PROMIS depression T",
    "promis_sleep_t": "PROMIS sleep T",
}
_T_BANDS = (
    ("below 55", -np.inf, 55.0),
    ("55 to < 60", 55.0, 60.0),
    ("60 to < 70", 60.0, 70.0),
    ("70 and above", 70.0, np.inf),
)


def analyse(subject: Subject) -> Analysis:
    """Each subgroup against the rest: over all models, and model by model, also against the other models."""
    begun = common.begun(_NAME)
    study, settings = common.models_of(subject), replace(subject.settings, by_participant=True)
    if not study.groups:
        return replace(begun, missing=common.NOTHING_SCORED)
    subgroups, scale = _subgroups(study)
    if not subgroups:
        return replace(begun, missing="These scores hold no topics, attitudes or facts about the participants.")
    values = common.defined_metrics(study, common.wanted_metrics(settings, METRICS))
    if not values:
        return replace(begun, missing="None of the metrics asked for is defined for any conversation here.")
    sampling = Sampling.of(study, settings)
    looks = [_Look(study, metric_id, table, subgroups, sampling) for metric_id, table in values.items()]
    return replace(
        begun,
        tables=tuple(table for look in looks for table in look.tables()),
        shows=" ".join(look.sentence() for look in looks),
        cannot="Subgroups differ in more than their name: a topic comes with other moods and other people. A band of a "
        "screening scale is “screen-positive” and never a diagnosis. With many subgroups a real difference may not "
        "survive the correction.",
        warnings=tuple(dict.fromkeys(text for look in looks for text in look.beyond_reach())),
        notes=(
            common.small_text(settings),
            *scale,
            *filter(None, (coverage.coverage_text(next(iter(values.values()))),)),
        ),
    )


@dataclass(frozen=True)
class _Subgroup:
    """Conversations that share something. `asked`: those of which it is known whether they do."""

    facet: str
    name: str
    inside: Mask
    asked: Mask
    screener: bool = False


def _subgroups(study: ScoreTable) -> tuple[list[_Subgroup], tuple[str, ...]]:
    """All subgroups that somebody is in and somebody is not, and which ASRS scale was found (a note, or nothing)."""
    facts = study.truths()
    found = _named("topic", facts, lambda fact: fact["topics"])
    found += _named("attitude", facts, lambda fact: _one(fact["attitude"]))
    for key, label in _DEMOGRAPHICS.items():
        found += _named(label, facts, lambda fact, key=key: _one(fact["demographics"].get(key)))  # type: ignore[misc]
    diagnosed = {s.name: s for s in _named("told diagnosis", facts, lambda fact: fact["diagnosis_groups"])}
    found += [diagnosed[name] for name in GROUPS if name in diagnosed]
    bands, notes = _bands(study, facts)
    return [s for s in found + bands if s.inside.any() and (s.asked & ~s.inside).any()], notes


Facts = Sequence["GroundTruthEntry | None"]


def _named(facet: str, facts: Facts, read: Callable[[GroundTruthEntry], Iterable[str]]) -> list[_Subgroup]:
    """A subgroup for each name that somebody has, in alphabetical order; letter case and outer blanks don't count."""
    given = [() if fact is None else tuple(dict.fromkeys(_key(name) for name in read(fact))) for fact in facts]
    shown = {_key(name): name.strip() for fact in reversed(facts) if fact is not None for name in read(fact)}
    asked = np.array([bool(names) for names in given], dtype=bool)
    return [
        _Subgroup(facet, shown[key], np.array([key in names for names in given], dtype=bool), asked)
        for key in sorted(shown)
    ]


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _one(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value.strip() else ()


def _bands(study: ScoreTable, facts: Facts) -> tuple[list[_Subgroup], tuple[str, ...]]:
    """Bands of the scales (spec 08), and in which form ASRS is given."""
    largest = max((fact["computed_scores"].get("asrs_6", 0.0) for fact in study.ground_truth.values()), default=0.0)
    summed = largest > _ASRS_SUM_FROM
    asrs = ("14 and above of 24", 14.0) if summed else ("4 and above of 6", 4.0)
    bands = [("WHO-5", "who_5", "below 13", -np.inf, 13.0), ("AQ-10", "aq_10", "6 and above", 6.0, np.inf)]
    bands.append(("ASRS", "asrs_6", asrs[0], asrs[1], np.inf))
    bands += [(label, key, name, low, high) for key, label in _PROMIS.items() for name, low, high in _T_BANDS]
    found = []
    for facet, key, name, low, high in bands:
        scores = np.array([np.nan if fact is None else fact["computed_scores"].get(key, np.nan) for fact in facts])
        asked = ~np.isnan(scores)
        found.append(_Subgroup(facet, name, (scores >= low) & (scores < high), asked, screener=True))
    if not any(s.facet == "ASRS" and s.asked.any() for s in found):
        return found, ()
    form = "a sum of 0–24 (a value above 6 occurs)" if summed else "a count of 0–6 (no value is above 6)"
    return found, (f"ASRS is read as {form}.",)


class _Look:
    """One metric in all subgroups."""

    def __init__(
        self, study: ScoreTable, metric_id: str, values: Floats, subgroups: Sequence[_Subgroup], sampling: Sampling
    ):
        self.study, self.metric_id, self.values, self.subgroups, self.sampling = (
            study,
            metric_id,
            values,
            subgroups,
            sampling,
        )
        self.pooled = coverage.level_over_models(values)
        count = len(study.groups)
        others = [_others(values, i) for i in range(count)] if count > 1 else []
        self.columns = np.column_stack([self.pooled, values, *(values[:, i] - o for i, o in enumerate(others))])
        self.least = np.full((len(subgroups), self.columns.shape[1]), np.nan)
        self.cells = self._corrected([self._differences(place) for place in range(len(subgroups))])
        self.means = self._means()

    @property
    def tests(self) -> int:
        """The largest number of tests that are corrected together."""
        return sum(cell.p is not None for row in self.cells for cell in row[1 : 1 + len(self.study.groups)])

    def beyond_reach(self) -> tuple[str, ...]:
        """A warning where no difference of a model can be significant."""
        return reach_text(self.least[:, 1 : 1 + len(self.study.groups)], self.sampling.settings, together=False)

    def _differences(self, place: int) -> list[Cell]:
        """Inside minus the rest, for each column; no test where either side is small."""
        subgroup, family = self.subgroups[place], len(self.subgroups) * max(1, len(self.study.groups))
        settings, inside, asked = self.sampling.settings, subgroup.inside, subgroup.asked
        small = [
            any(within.is_small(self.study, column, side & asked, settings) for side in (inside, ~inside))
            for column in self.columns.T
        ]
        if all(small):
            means = [within.column_means(self.columns[side & asked]) for side in (inside, ~inside)]
            return [Cell(known(value), small=True) for value in means[0] - means[1]]
        name = f"{_NAME}/{self.metric_id}/{subgroup.facet}/{subgroup.name}"
        contrast = within.group_contrast(self.study, self.columns, inside, asked, name, settings, family=family)
        cells = within.contrast_cells(
            self.study, contrast, self.columns, inside, asked, settings, np.full(len(small), np.nan)
        )
        self.least[place] = np.where(small, np.nan, contrast.least)
        return [replace(cell, p=None) if few else cell for cell, few in zip(cells, small, strict=True)]

    def _corrected(self, cells: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
        """Three families: over all models, each model against the rest, each model against the other models."""
        p = np.array([[np.nan if cell.p is None else cell.p for cell in row] for row in cells])
        count, settings = len(self.study.groups), self.sampling.settings
        beyond = np.zeros(p.shape, dtype=bool)
        for family in (slice(0, 1), slice(1, 1 + count), slice(1 + count, p.shape[1])):
            p[:, family] = adjust(p[:, family], common.plain_correction(settings))
            beyond[:, family] = common.beyond_reach(self.least[:, family], settings, together=False)
        return [
            [
                replace(cell, p_corrected=known(p[i, j]), small=cell.small or bool(beyond[i, j]))
                for j, cell in enumerate(row)
            ]
            for i, row in enumerate(cells)
        ]

    def tables(self) -> tuple[Table, ...]:
        label, unit, digits = common.label_of(self.metric_id), common.unit_of(self.metric_id), None
        better = common.better(self.metric_id)
        mean = Column("mean", label, unit, "Mean inside the subgroup.", better, digits)
        gap = Column("difference", "against the rest", unit, "Mean inside minus mean of the other conversations.")
        count = Column("n", "conversations", "count")
        people = Column("participants", "participants", "count")
        keys = (Column("facet", "by", "text"), Column("subgroup", "subgroup", "text"))
        corrected = common.CORRECTIONS[common.plain_correction(self.sampling.settings)]
        how = f"{common.intervals_text(self.sampling.settings)}; permutation p, corrected ({corrected}) over"
        tested = sum(row[0].p is not None for row in self.cells)
        overall = Table(
            f"all-{self.metric_id}",
            f"{label} by subgroup, all models",
            (*keys, count, people, mean, gap),
            tuple(self._overall_rows()),
            caption=f"{common.sample_text(self.study)}; mean over {common.counted(len(self.study.groups), 'model')}. "
            f"The rest: conversations of which the same is known. {how} {common.counted(tested, 'subgroup')}.",
            chart=Chart("intervals", "subgroup", ("difference",), f"{label} by subgroup", f"{label}, against the rest"),
        )
        single = Table(
            f"models-{self.metric_id}",
            f"{label} by subgroup and model",
            (
                *keys,
                Column("model", "model", "text"),
                count,
                people,
                mean,
                gap,
                Column(
                    "others",
                    "beyond the other models",
                    unit,
                    "Difference in differences: how much more this model gains or loses than the others' mean.",
                ),
            ),
            tuple(self._model_rows()),
            caption=f"Subgroups large enough for a claim. {how} {self.tests} cells of a column.",
        )
        return (overall, single) if single.rows else (overall,)

    def _overall_rows(self) -> Iterable[tuple[Cell, ...]]:
        for subgroup, cells, means in zip(self.subgroups, self.cells, self.means, strict=True):
            yield (*_words(subgroup), *self._counts(subgroup, self.pooled), means[0], cells[0])

    def _model_rows(self) -> Iterable[tuple[Cell, ...]]:
        count = len(self.study.groups)
        for subgroup, cells, means in zip(self.subgroups, self.cells, self.means, strict=True):
            if all(cell.small for cell in cells[1 : 1 + count]):
                continue
            for i, group in enumerate(self.study.groups):
                others = cells[1 + count + i] if count > 1 else Cell(None)
                counts = self._counts(subgroup, self.values[:, i])
                yield (*_words(subgroup), text(group.label), *counts, means[1 + i], cells[1 + i], others)

    def _counts(self, subgroup: _Subgroup, column: Floats) -> tuple[Cell, Cell]:
        there = subgroup.inside & ~np.isnan(column)
        return Cell(int(there.sum())), Cell(len(np.unique(self.study.clusters[there])))

    def _means(self) -> list[list[Cell]]:
        """For each subgroup the mean over all models, and that of each."""
        columns = np.column_stack([self.pooled, self.values])
        inside = np.stack([subgroup.inside for subgroup in self.subgroups], axis=1)
        tables = np.where(inside[:, :, None], columns[:, None, :], np.nan)
        keys = (None, *(group.key for group in self.study.groups))
        chosen = [tuple(self.study.ids[i] for i in np.flatnonzero(s.inside)) for s in self.subgroups]
        drills = [Drill(group=key, metric=self.metric_id, conversations=ids) for ids in chosen for key in keys]
        cells = self.sampling.cells(tables.reshape(len(columns), -1), drills, flag=False, of=self.metric_id)
        return [cells[i * len(keys) : (i + 1) * len(keys)] for i in range(len(self.subgroups))]

    def sentence(self) -> str:
        """The largest differences that may be claimed, over all models and of single ones."""
        label, settings = common.label_of(self.metric_id), self.sampling.settings
        digits, count = common.digits_of(self.metric_id), len(self.study.groups)
        if all(row[0].small or row[0].value is None for row in self.cells):
            return f"No subgroup is large enough for a claim on {label}."
        overall = [(row[0], f"{s.facet}: {s.name}") for s, row in zip(self.subgroups, self.cells, strict=True)]
        single = [
            (row[1 + count + i], f"{group.label} on {s.facet}: {s.name}")
            for s, row in zip(self.subgroups, self.cells, strict=True)
            for i, group in enumerate(self.study.groups)
            if count > 1
        ]
        said = []
        if named := _largest(overall, digits, settings):
            said.append(f"Over all models {label} differs from the rest for {named}.")
        else:
            said.append(f"Over all models no subgroup is shown to differ from the rest on {label}.")
        if named := _largest(single, digits, settings):
            said.append(f"Beyond what the other models gain or lose: {named}.")
        elif count > 1:
            said.append("No model is shown to do better or worse for a subgroup than the other models do.")
        return " ".join(said)


def _largest(cells: Iterable[tuple[Cell, str]], digits: int, settings: Settings) -> str:
    found = [(cell, name) for cell, name in cells if common.claimed(cell, settings)]
    found.sort(key=lambda item: (-abs(common.value_of(item[0])), item[1]))
    named = [f"{name} ({common.with_interval(cell, digits, sign=True)})" for cell, name in found]
    return common.listed(named, most=_MOST + 1)


def _others(values: Floats, model: int) -> Floats:
    """Each conversation's mean over the other models."""
    return coverage.level_over_models(np.delete(values, model, axis=1))


def _words(subgroup: _Subgroup) -> tuple[Cell, Cell]:
    return text(subgroup.facet, mark="screener" if subgroup.screener else ""), text(subgroup.name)
