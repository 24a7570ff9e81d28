"""For whom a model is good: topics, attitudes, self-reported facts about participants, and bands of screening scales.

Each subgroup is compared with the other conversations of which the same is known. People move as a whole in intervals
and tests, since what is known of a person holds for all their conversations. Scales are screeners, not diagnoses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import NO_DIFFERENCE, Subject, digits_of, label_of, metric_column, metrics_of, unit_of
from attunebench.analyses.sampling import CORRECTIONS, beyond_reach, plain_correction, with_correction
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, known, table, words
from attunebench.analyses.verdicts import reach_text
from attunebench.analyses.within import View
from attunebench.conversations.groups import GROUPS
from attunebench.scores import GroundTruthEntry
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask

METRICS = ("composite",)
_DIAGNOSIS = "self-reported diagnosis"
_FACETS: dict[str, Callable[[GroundTruthEntry], Sequence[Any]]] = {
    "topic": lambda fact: fact["topics"],
    "attitude": lambda fact: [fact["attitude"]],
    "gender": lambda fact: [fact["demographics"].get("gender")],
    "age": lambda fact: [fact["demographics"].get("age_range")],
    "country": lambda fact: [fact["demographics"].get("country")],
    "education": lambda fact: [fact["demographics"].get("education")],
    "English": lambda fact: [fact["demographics"].get("english_proficiency")],
    _DIAGNOSIS: lambda fact: fact["diagnosis_groups"],
}
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
    view = View.of_models(subject, by_participant=True)
    subgroups, scale = _subgroups(view.study)
    if not subgroups:
        raise Missing("These scores contain no topics, attitudes or facts about the participants.")
    values = metrics_of(view.study, view.settings, METRICS)
    contrasts = [_Contrasts(view, metric_id, of, subgroups) for metric_id, of in values.items()]
    reach = [text for one in contrasts for text in reach_text(one.least, view.settings, together=False)]
    return Analysis(
        tables=tuple(made for one in contrasts for made in (one.overall(), one.by_model())),
        shows=" ".join(dict.fromkeys(one.sentence() for one in contrasts)),
        warnings=tuple(dict.fromkeys(reach)),
        notes=(*scale, *within.coverage_text(next(iter(values.values())))),
    )


def _subgroups(study: ScoreTable) -> tuple[list[_Subgroup], tuple[str, ...]]:
    """All subgroups that somebody is in and somebody is not, and which ASRS scale was found (a note, or nothing)."""
    facts = study.truths()
    found = [one for facet, read in _FACETS.items() for one in _by_name(facet, [f and read(f) for f in facts])]
    summed = any(truth["computed_scores"].get("asrs_6", 0) > _ASRS_SUM_FROM for truth in study.ground_truth.values())
    notes: tuple[str, ...] = ()
    for facet, key, name, low, high in _BANDS:
        scores = np.array([np.nan if fact is None else fact["computed_scores"].get(key, np.nan) for fact in facts])
        if facet == "ASRS" and not np.isnan(scores).all():
            notes = (f"ASRS scores are read as {'sums, 0–24' if summed else 'counts, 0–6'}, based on the largest one.",)
        if facet == "ASRS" and summed:
            name, low = "14 and above of 24", 14
        found.append(_Subgroup(facet, name, (scores >= low) & (scores < high), ~np.isnan(scores), screener=True))
    return [one for one in found if one.inside.any() and (one.asked & ~one.inside).any()], notes


def _by_name(facet: str, names: Sequence[Sequence[Any] | None]) -> list[_Subgroup]:
    """A subgroup for each name that somebody has, in order; letter case and outer blanks don't count."""
    named = [{_key(n): n.strip() for n in of or () if isinstance(n, str) and n.strip()} for of in names]
    shown = {key: name for of in reversed(named) for key, name in of.items()}
    order = map(_key, GROUPS) if facet == _DIAGNOSIS else sorted(shown)
    asked = np.array([bool(of) for of in named], dtype=bool)
    return [
        _Subgroup(facet, shown[key], np.array([key in of for of in named], dtype=bool), asked)
        for key in order
        if key in shown
    ]


def _key(name: str) -> str:
    return " ".join(name.split()).casefold()


class _Contrasts:
    """One metric in all subgroups; columns: all models, each model, and each beyond the mean of the others."""

    def __init__(self, view: View, metric_id: str, values: Floats, subgroups: Sequence[_Subgroup]):
        self.view, self.metric_id, self.subgroups = view, metric_id, subgroups
        self.label, self.unit = label_of(metric_id), unit_of(metric_id)
        self.own = np.column_stack([within.level_over_models(values), values])
        others = [within.level_over_models(np.delete(values, i, axis=1)) for i in range(view.width) if view.width > 1]
        self.columns = np.column_stack([self.own, *(values[:, i] - mean for i, mean in enumerate(others))])
        least = np.full((len(subgroups), self.columns.shape[1]), np.nan)
        rows = [self._differences(one, least[place]) for place, one in enumerate(subgroups)]
        # Three families: over all models, each model against the rest, each model against the other models.
        bounds, families = (0, 1, 1 + view.width, self.columns.shape[1]), []
        for family in map(slice, bounds, bounds[1:]):
            cells = with_correction([cell for row in rows for cell in row[family]], view.settings)
            beyond = beyond_reach(least[:, family], view.settings, together=False)
            cells = [replace(c, small=c.small or bool(few)) for c, few in zip(cells, beyond.flat, strict=True)]
            families.append(np.array(cells, dtype=object).reshape(beyond.shape))
        self.cells, self.least = np.concatenate(families, axis=1), least[:, 1 : 1 + view.width]

    def _differences(self, one: _Subgroup, least: Floats) -> list[Cell]:
        """Inside minus the rest, for each column; no test where either side is small. Sets the `least` p of tests."""
        study, settings = self.view.study, self.view.settings
        sides = [np.where(side[:, None], self.columns, np.nan) for side in (one.inside, one.asked & ~one.inside)]
        small = self.view.small(sides[0]) | self.view.small(sides[1])
        if small.all():
            inside, rest = map(within.column_means, sides)
            return [Cell(known(value), small=True) for value in inside - rest]
        # The name of the chance stays, so that numbers do.
        facet = "told diagnosis" if one.facet == _DIAGNOSIS else one.facet
        name, family = f"for-whom/{self.metric_id}/{facet}/{one.name}", len(self.subgroups) * max(1, self.view.width)
        about = (self.columns, one.inside, one.asked)
        contrast, cells = within.group_contrast(study, *about, name, settings, family)
        least[:] = np.where(small, np.nan, contrast.least)
        return [replace(cell, p=None) if few else cell for cell, few in zip(cells, small, strict=True)]

    def overall(self) -> Table:
        """All models, a row for each subgroup."""
        axis, title = f"{self.label}, difference from the rest", f"{self.label} by subgroup"
        return replace(
            self._table([(place, 0) for place in range(len(self.subgroups))]),
            id=f"all-{self.metric_id}",
            title=f"{title}, all models",
            caption=f"{self.view.sample}. The rest: all other conversations for which the attribute is known. "
            f"{self._how(slice(0, 1))}",
            chart=Chart(
                *("intervals", "subgroup", ("difference",), title, axis, NO_DIFFERENCE), sort="difference", first=25
            ),
        )

    def by_model(self) -> Table:
        """A row for each subgroup that is large enough for a claim and each model."""
        value, title = ("others", "Beyond the other models") if self.view.width > 1 else ("difference", "Difference")
        models, width = range(1, 1 + self.view.width), self.view.width
        places = [(p, i) for p, row in enumerate(self.cells) if not all(row[j].small for j in models) for i in models]
        beyond = [self.cells[p, width + i] if width > 1 else Cell(None) for p, i in places]
        others = column(
            "others",
            beyond,
            "beyond the other models",
            self.unit,
            "Difference minus the mean difference of the other models.",
        )
        chart = Chart(
            *("intervals", "subgroup", (value,), f"{title}, {self.label} by subgroup", "difference from the rest"),
            lines=NO_DIFFERENCE,
            across="model",
            first=25,
        )
        made = self._table(places, words("model", [self.view.labels[i - 1] for _, i in places]), others)
        return replace(made, chart=chart)

    def _table(self, places: list[tuple[int, int]], *of_models: Any) -> Table:
        """Who, how many, the mean inside, and the difference from the rest, of (subgroup, column); that of models."""
        study, keys = self.view.study, (None, *(group.key for group in self.view.study.groups))
        chosen = [self.subgroups[place] for place, _ in places]
        values = np.full((len(study.ids), len(places)), np.nan)
        for at, (one, (_, i)) in enumerate(zip(chosen, places, strict=True)):
            values[one.inside, at] = self.own[one.inside, i]
        ids = [tuple(np.array(study.ids)[one.inside].tolist()) for one in chosen]
        drills = [Drill(keys[i], self.metric_id, conversations=of) for of, (_, i) in zip(ids, places, strict=True)]
        means = self.view.cells(values, drills, flag=False, of=self.metric_id) if places else []
        differences = [self.cells[place] for place in places]
        return table(
            f"models-{self.metric_id}",
            f"{self.label} by subgroup and model",
            words("facet", [Cell(one.facet, mark="screener" if one.screener else "") for one in chosen], "by"),
            words("subgroup", [one.name for one in chosen]),
            *of_models[:1],
            counts("n", (~np.isnan(values)).sum(axis=0), "conversations"),
            counts("participants", [len(np.unique(study.clusters[~np.isnan(of)])) for of in values.T]),
            metric_column(self.metric_id, means, id="mean"),
            column(
                "difference", differences, "against the rest", self.unit, "Mean of the subgroup minus mean of the rest."
            ),
            *of_models[1:],
            caption=f"Only subgroups that are large enough for a claim. {self._how(slice(1, 1 + self.view.width))}",
        )

    def _how(self, family: slice) -> str:
        correction = CORRECTIONS[plain_correction(self.view.settings)]
        tests = sum(cell.p is not None for cell in self.cells[:, family].flat)
        return f"Permutation p, corrected ({correction}) over {tests} tests."

    def sentence(self) -> str:
        """The differences that are significant, over all models and of single ones beyond the others."""
        digits, names = digits_of(self.metric_id), [f"{one.facet}: {one.name}" for one in self.subgroups]
        of_all = self.view.claims(names, self.cells[:, 0], f"of {self.label} from the rest", digits=digits)
        single = self.cells[:, 1 + self.view.width :]
        if not single.size:
            return of_all
        names = [f"{label} on {name}" for name in names for label in self.view.labels]
        return f"{of_all} {self.view.claims(names, single.flat, 'beyond the other models', digits=digits)}"
