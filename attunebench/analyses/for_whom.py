"""For whom a model is good: topics, attitudes, self-reported facts about participants, and bands of screening scales.

Each subgroup is compared with the other conversations of which the same is known. People move as a whole in intervals
and tests, since what is known of a person holds for all their conversations. Scales are screeners, not diagnoses.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject, digits_of, label_of, metric_column, unit_of
from attunebench.analyses.sampling import CORRECTIONS, Sampling, beyond_reach, plain_correction
from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    Drill,
    Filled,
    Missing,
    Table,
    column,
    counts,
    known,
    table,
    words,
)
from attunebench.analyses.verdicts import claims_sentence, counted, intervals_text, reach_text, sample_text
from attunebench.conversations.groups import GROUPS
from attunebench.scores import GroundTruthEntry
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask
from attunebench.statistics.multiple import adjust

METRICS = ("composite",)
_DEMOGRAPHICS = {
    "gender": "gender",
    "age_range": "age",
    "country": "country",
    "education": "education",
    "english_proficiency": "English",
}
_DIAGNOSIS = "self-reported diagnosis"
_ASRS_SUM_FROM = 6
"""ASRS values are counts of 0–6, or sums of 0–24: a larger value than this somewhere means sums."""
_T_BANDS = (("below 55", -np.inf, 55), ("55 to < 60", 55, 60), ("60 to < 70", 60, 70), ("70 and above", 70, np.inf))
_BANDS = (
    ("WHO-5", "who_5", "below 13", -np.inf, 13),
    ("AQ-10", "aq_10", "6 and above", 6, np.inf),
    ("ASRS", "asrs_6", "4 and above of 6", 4, np.inf),
    *(
        (f"PROMIS {scale} T", f"promis_{scale}_t", *band)
        for scale in ("anxiety", "depression", "sleep")
        for band in _T_BANDS
    ),
)
"""Facet, key of the scale, and a band from (including) to (excluding) with its name. Source: spec 08."""


@dataclass(frozen=True)
class _Subgroup:
    """Conversations that share something. `asked`: those of which it is known whether they do."""

    facet: str
    name: str
    inside: Mask
    asked: Mask
    screener: bool = False


def analyse(subject: Subject) -> Analysis:
    """Each subgroup against the rest: over all models, and model by model, also against the other models."""
    study, sampling = within.scored_models(subject, by_participant=True)
    settings = sampling.settings
    subgroups, scale = _subgroups(study)
    if not subgroups:
        raise Missing("These scores hold no topics, attitudes or facts about the participants.")
    values = within.asked_values(study, settings, METRICS)
    looks = [_Look(study, metric_id, of, subgroups, sampling) for metric_id, of in values.items()]
    models = slice(1, 1 + len(study.groups))
    reach = [text for look in looks for text in reach_text(look.least[:, models], settings, together=False)]
    return Analysis(
        tables=tuple(table for look in looks for table in (look.overall(), look.by_model())),
        shows=" ".join(look.sentence() for look in looks),
        cannot="Subgroups differ in more than their name: a topic comes with other moods and other people. A band of a "
        "screening scale is “screen-positive” and never a diagnosis. With many subgroups a real difference may not "
        "survive the correction.",
        warnings=tuple(dict.fromkeys(reach)),
        notes=(*scale, *within.coverage_text(next(iter(values.values())))),
    )


def _subgroups(study: ScoreTable) -> tuple[list[_Subgroup], tuple[str, ...]]:
    """All subgroups that somebody is in and somebody is not, and which ASRS scale was found (a note, or nothing)."""
    facts = study.truths()
    found = _named("topic", facts, lambda fact: fact["topics"])
    found += _named("attitude", facts, lambda fact: _one(fact["attitude"]))
    for key, label in _DEMOGRAPHICS.items():
        found += _named(label, facts, lambda fact, key=key: _one(fact["demographics"].get(key)))  # type: ignore[misc]
    diagnosed = {one.name: one for one in _named(_DIAGNOSIS, facts, lambda fact: fact["diagnosis_groups"])}
    found += [diagnosed[name] for name in GROUPS if name in diagnosed]
    summed = any(truth["computed_scores"].get("asrs_6", 0) > _ASRS_SUM_FROM for truth in study.ground_truth.values())
    notes: tuple[str, ...] = ()
    for facet, key, name, low, high in _BANDS:
        scores = np.array([np.nan if fact is None else fact["computed_scores"].get(key, np.nan) for fact in facts])
        if facet == "ASRS" and not np.isnan(scores).all():
            notes = (f"ASRS is read as {'a sum of 0–24' if summed else 'a count of 0–6'} (by its largest value).",)
        if facet == "ASRS" and summed:
            name, low = "14 and above of 24", 14
        found.append(_Subgroup(facet, name, (scores >= low) & (scores < high), ~np.isnan(scores), screener=True))
    return [one for one in found if one.inside.any() and (one.asked & ~one.inside).any()], notes


def _named(
    facet: str, facts: Sequence[GroundTruthEntry | None], read: Callable[[GroundTruthEntry], Iterable[str]]
) -> list[_Subgroup]:
    """A subgroup for each name that somebody has, in alphabetical order; letter case and outer blanks don't count."""
    names = [() if fact is None else tuple(read(fact)) for fact in facts]
    keys = [{_key(name) for name in of} for of in names]
    shown = {_key(name): name.strip() for of in reversed(names) for name in of}
    asked = np.array([bool(of) for of in keys], dtype=bool)
    return [
        _Subgroup(facet, shown[key], np.array([key in of for of in keys], dtype=bool), asked) for key in sorted(shown)
    ]


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


def _one(value: object) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) and value.strip() else ()


class _Look:
    """One metric in all subgroups; columns: all models, each model, and each beyond the mean of the others."""

    def __init__(
        self, study: ScoreTable, metric_id: str, values: Floats, subgroups: Sequence[_Subgroup], sampling: Sampling
    ):
        self.study, self.metric_id, self.subgroups, self.sampling = study, metric_id, subgroups, sampling
        self.models = len(study.groups)
        others = [within.level_over_models(np.delete(values, i, axis=1)) for i in range(self.models) if self.models > 1]
        self.own = np.column_stack([within.level_over_models(values), values])
        self.columns = np.column_stack([self.own, *(values[:, i] - mean for i, mean in enumerate(others))])
        self.least = np.full((len(subgroups), self.columns.shape[1]), np.nan)
        self.cells = self._corrected([self._differences(place) for place in range(len(subgroups))])

    def _differences(self, place: int) -> list[Cell]:
        """Inside minus the rest, for each column; no test where either side is small."""
        one, settings = self.subgroups[place], self.sampling.settings
        sides = [one.inside, one.asked & ~one.inside]
        small = [any(within.is_small(self.study, of, side, settings) for side in sides) for of in self.columns.T]
        if all(small):
            inside, rest = (within.column_means(self.columns[side]) for side in sides)
            return [Cell(known(value), small=True) for value in inside - rest]
        # The name of the chance stays, so that numbers do.
        facet = "told diagnosis" if one.facet == _DIAGNOSIS else one.facet
        name, family = f"for-whom/{self.metric_id}/{facet}/{one.name}", len(self.subgroups) * max(1, self.models)
        about = (self.study, self.columns, one.inside, one.asked)
        contrast = within.group_contrast(*about, name, settings, family=family)
        untested = np.full(len(small), np.nan)
        cells = within.contrast_cells(self.study, contrast, *about[1:], settings, untested)
        self.least[place] = np.where(small, np.nan, contrast.least)
        return [replace(cell, p=None) if few else cell for cell, few in zip(cells, small, strict=True)]

    def _corrected(self, cells: Sequence[Sequence[Cell]]) -> list[list[Cell]]:
        """Three families: over all models, each model against the rest, each model against the other models."""
        p = np.array([[np.nan if cell.p is None else cell.p for cell in row] for row in cells])
        beyond, settings = np.zeros(p.shape, dtype=bool), self.sampling.settings
        for family in (slice(0, 1), slice(1, 1 + self.models), slice(1 + self.models, p.shape[1])):
            p[:, family] = adjust(p[:, family], plain_correction(settings))
            beyond[:, family] = beyond_reach(self.least[:, family], settings, together=False)
        many = [
            replace(cell, p_corrected=known(corrected), small=cell.small or bool(few))
            for cell, corrected, few in zip(itertools.chain(*cells), p.flat, beyond.flat, strict=True)
        ]
        return within.in_rows(many, p.shape[1])

    def overall(self) -> Table:
        """All models, a row for each subgroup."""
        label, places = label_of(self.metric_id), [(place, 0) for place in range(len(self.subgroups))]
        tested = sum(row[0].p is not None for row in self.cells)
        return table(
            f"all-{self.metric_id}",
            f"{label} by subgroup, all models",
            *self._front(places),
            *self._numbers(places),
            caption=f"{sample_text(self.study)}; mean over {counted(self.models, 'model')}. The rest: conversations of "
            f"which the same is known. {self._how} {counted(tested, 'subgroup')}.",
            chart=Chart("intervals", "subgroup", ("difference",), f"{label} by subgroup", f"{label}, against the rest"),
        )

    def by_model(self) -> Table:
        """A row for each subgroup that is large enough for a claim and each model."""
        models = range(1, 1 + self.models)
        large = [place for place, row in enumerate(self.cells) if not all(row[i].small for i in models)]
        places = [(place, i) for place in large for i in models]
        beyond = [self.cells[place][self.models + i] if self.models > 1 else Cell(None) for place, i in places]
        tested = sum(cell.p is not None for row in self.cells for cell in row[1 : 1 + self.models])
        meaning = "Difference in differences: how much more this model gains or loses than the others' mean."
        return table(
            f"models-{self.metric_id}",
            f"{label_of(self.metric_id)} by subgroup and model",
            *self._front(places),
            words("model", [self.study.labels[i - 1] for _, i in places]),
            *self._numbers(places),
            column("others", beyond, "beyond the other models", unit_of(self.metric_id), meaning),
            caption=f"Subgroups large enough for a claim. {self._how} {tested} cells of a column.",
        )

    def _front(self, places: list[tuple[int, int]]) -> list[Filled]:
        chosen = [self.subgroups[place] for place, _ in places]
        facets = [Cell(one.facet, mark="screener" if one.screener else "") for one in chosen]
        return [words("facet", facets, "by"), words("subgroup", [one.name for one in chosen])]

    def _numbers(self, places: list[tuple[int, int]]) -> list[Filled]:
        """How many, the mean inside, and the difference from the rest, of (subgroup, column)."""
        keys = (None, *(group.key for group in self.study.groups))
        values = np.full((len(self.study.ids), len(places)), np.nan)
        drills = []
        for at, (place, i) in enumerate(places):
            inside = self.subgroups[place].inside
            values[inside, at] = self.own[inside, i]
            ids = np.array(self.study.ids)[inside].tolist()
            drills.append(Drill(keys[i], self.metric_id, conversations=tuple(ids)))
        means = self.sampling.cells(values, drills, flag=False, of=self.metric_id) if places else []
        people = [len(np.unique(self.study.clusters[~np.isnan(of)])) for of in values.T]
        differences = [self.cells[place][i] for place, i in places]
        return [
            counts("n", (~np.isnan(values)).sum(axis=0), "conversations"),
            counts("participants", people),
            metric_column(self.metric_id, means, id="mean"),
            column(
                "difference",
                differences,
                "against the rest",
                unit_of(self.metric_id),
                "Mean inside minus mean of the others.",
            ),
        ]

    @property
    def _how(self) -> str:
        correction = CORRECTIONS[plain_correction(self.sampling.settings)]
        return f"{intervals_text(self.sampling.settings)}; permutation p, corrected ({correction}) over"

    def sentence(self) -> str:
        """The differences that are significant, over all models and of single ones beyond the others."""
        label, digits = label_of(self.metric_id), digits_of(self.metric_id)
        names = [f"{one.facet}: {one.name}" for one in self.subgroups]
        overall = zip(names, (row[0] for row in self.cells), strict=True)
        single = [
            (f"{group} on {name}", cell)
            for name, row in zip(names, self.cells, strict=True)
            for group, cell in zip(self.study.labels, row[1 + self.models :], strict=False)
        ]
        of_all = claims_sentence(overall, self.sampling.settings, of=f"of {label} from the rest", digits=digits)
        beyond = claims_sentence(single, self.sampling.settings, of="beyond the other models", digits=digits)
        return f"{of_all} {beyond}" if single else of_all
