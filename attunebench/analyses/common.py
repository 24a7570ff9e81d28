"""What analyses share: whom they look at, how a mean gets its interval, and turns of phrase.

Knows metrics by their cards alone, and no single analysis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.catalogue import ANALYSES
from attunebench.analyses.model import NOT_ESTIMABLE, Analysis, Cell, Drill, Settings, Subject, Unit, known
from attunebench.analyses.testing import CORRECTIONS as CORRECTIONS
from attunebench.analyses.testing import beyond_reach as beyond_reach
from attunebench.analyses.testing import claimed as claimed
from attunebench.analyses.testing import corrected_p as corrected_p
from attunebench.analyses.testing import pair_tests as pair_tests
from attunebench.analyses.testing import plain_correction as plain_correction
from attunebench.judging import judges_named
from attunebench.metrics.draft import JUDGED
from attunebench.metrics.registry import REGISTRY
from attunebench.scores import BASE_RATE as BASE_RATE
from attunebench.scores import EMPTY_TAGS as EMPTY_TAGS
from attunebench.scores.compatibility import findings, several_scales
from attunebench.scores.references import standing
from attunebench.scores.table import Group, ReferenceValues, ScoreTable
from attunebench.statistics import bootstrap
from attunebench.statistics.bootstrap import Counts, Estimates, Floats, Labels
from attunebench.statistics.intervals import with_wilson, zero_inflated
from attunebench.statistics.paired import PairedTests
from attunebench.statistics.skill import skill

PRIMARY = "default"
NOTHING_SCORED = "No model was scored here; `attune-bench score` writes scores that hold some."
ZERO_INFLATED = "mostly one value"
"""Mark of a mean over values of which nine in ten or more are the same: its interval is too narrow."""
ZERO_INFLATED_NOTE = (
    f"“{ZERO_INFLATED}”: at least nine in ten conversations share one value (mostly 0), so a percentile interval is "
    "narrower than it should be."
)

CANONICAL = tuple(card.id for card in REGISTRY.values() if card.status == "canonical" and card.group != "pillar")
"""The metrics that enter the Composite, in the order of the registry."""


# Whom to look at


def primary_mode(study: ScoreTable) -> str:
    """The mode of the benchmark: "default" if there, else the first."""
    return PRIMARY if PRIMARY in study.modes else next(iter(study.modes), PRIMARY)


def mode_of(subject: Subject) -> str:
    """The one mode that an analysis looks at."""
    return subject.settings.mode or primary_mode(subject.study)


def models_of(subject: Subject, *, humans: bool = False) -> ScoreTable:
    """The models of that mode; without any group where there are none. Conversations that none of them has stay out."""
    return in_mode(subject.study, mode_of(subject), subject.settings, humans=humans)


def in_mode(study: ScoreTable, mode: str, settings: Settings, *, humans: bool = False) -> ScoreTable:
    """The models of a mode, with the conversations that at least one of them has."""
    chosen = study.models(baselines=settings.baselines, humans=humans)
    chosen = chosen.with_groups([group for group in chosen.groups if group.mode == mode])
    scored = np.flatnonzero(chosen.scored().any(axis=1))
    return chosen.with_conversations([chosen.ids[row] for row in scored])


def wanted_metrics(settings: Settings, otherwise: Sequence[str]) -> tuple[str, ...]:
    """The metrics that were asked for, else those that the analysis takes; unknown ids are left out."""
    return tuple(metric_id for metric_id in settings.metrics or otherwise if metric_id in REGISTRY)


def defined_metrics(study: ScoreTable, metric_ids: Iterable[str]) -> dict[str, Floats]:
    """Metric → values (conversations, groups), of those metrics that have any value."""
    tables = {metric_id: study.values(metric_id) for metric_id in metric_ids}
    return {metric_id: table for metric_id, table in tables.items() if not np.isnan(table).all()}


def comparable_metrics(study: ScoreTable, metric_ids: Iterable[str]) -> tuple[str, ...]:
    """The metrics by which these groups can be compared: not those that judges gave them on different scales."""
    apart = JUDGED if several_scales(study) else frozenset()
    return tuple(metric_id for metric_id in metric_ids if metric_id not in apart)


def begun(name: str) -> Analysis:
    """An analysis with its name, title and question, to be filled."""
    entry = ANALYSES[name]
    return Analysis(entry.name, entry.title, entry.question)


def by_value(values: Floats, *, higher_is_better: bool = True) -> list[int]:
    """Positions of the values, the best first, equal ones as they stand, undefined ones last."""
    keys = np.where(np.isnan(values), np.inf, -values if higher_is_better else values)
    return [int(position) for position in np.argsort(keys, kind="stable")]


def reference_of(study: ScoreTable, reference_id: str) -> ReferenceValues | None:
    """The reference of this id as far as it stands, or None where the scores hold none."""
    return next((standing(reference) for reference in study.references if reference.id == reference_id), None)


# Means with their doubt


@lru_cache(maxsize=4)
def _weights(units: int, resamples: int, seed: int) -> Counts:
    return bootstrap.resample_weights(units, resamples, np.random.default_rng(seed))


@dataclass(frozen=True)
class Sampling:
    """How means over a study's conversations get their intervals.

    `weights` and `clusters` are what `statistics.bootstrap` takes: the resamples are the same for every table and those
    of `score`. `people` labels the participants of the rows, whether they are the unit of resampling or not.
    """

    weights: Counts
    clusters: Labels | None
    people: Labels
    settings: Settings

    @classmethod
    def of(cls, study: ScoreTable, settings: Settings) -> Sampling:
        """For a study with at least one conversation."""
        people = study.clusters
        clusters = people if settings.by_participant else None
        units = len(people) if clusters is None else int(clusters.max()) + 1
        return cls(_weights(units, settings.resamples, settings.seed), clusters, people, settings)

    def estimate(self, values: Floats, *, of: str | Sequence[str] = "") -> Estimates:
        """Mean of each column of (conversations, columns), NaN a gap, with its interval.

        `of`: the metric of all columns, or of each: shares of right answers then have Wilson's interval where all
        conversations have the same value.
        """
        above, below = bootstrap.mean_as_ratio(values)
        level, clusters = self.settings.level, self.clusters
        found = bootstrap.estimate_ratios(above, below, self.weights, clusters=clusters, level=level)
        shares = [bool(m) and REGISTRY[m].proportion for m in ([of] if isinstance(of, str) else of)]
        return with_wilson(found, below, np.broadcast_to(shares, values.shape[1]), clusters, level)[0]

    def small(self, values: Floats) -> NDArray[np.bool_]:
        """Columns with too few conversations, or a single participant, for a claim."""
        defined = ~np.isnan(values)
        people = np.array([len(np.unique(self.people[column])) for column in defined.T], dtype=np.intp)
        return np.asarray((defined.sum(axis=0) < self.settings.small) | (people < 2))

    def cells(
        self,
        values: Floats,
        drills: Sequence[Drill | None] | None = None,
        *,
        flag: bool = True,
        of: str | Sequence[str] = "",
    ) -> list[Cell]:
        """A cell for each column's mean; `flag` marks those whose values are mostly the same; `of` as in `estimate`."""
        found, small = self.estimate(values, of=of), self.small(values)
        inflated = zero_inflated(values) if flag else np.zeros(values.shape[1], dtype=bool)
        marks = [ZERO_INFLATED if one and not few else "" for one, few in zip(inflated, small, strict=True)]
        return cells_of(found.value, found.low, found.high, found.n, small, drills, marks)

    def skill_cells(self, values: Floats, baseline: Floats, ceiling: float) -> list[Cell]:
        """(mean − baseline's)/(ceiling − baseline's) over the conversations of both: 0 is the baseline, 1 the ceiling.

        `baseline` has an entry per conversation. A baseline at the ceiling leaves no skill.
        """
        sign = -1.0 if np.nanmean(np.append(baseline, ceiling)) > ceiling else 1.0
        found = skill(
            sign * values,
            sign * baseline,
            sign * ceiling,
            self.weights,
            clusters=self.clusters,
            level=self.settings.level,
        )
        return cells_of(found.value, found.low, found.high, found.n, self.small(values - baseline[:, None]))

    @property
    def least(self) -> float:
        """The smallest p that a paired test over all conversations (participants) can give."""
        return float(0.5 ** (self.weights.shape[1] - 1))

    def tests(self, name: str, a: Floats, b: Floats, *, family: int | None = None) -> PairedTests:
        """Paired tests of the columns of a against those of b; `name` is the use that the chance is for.

        `family`: how many tests are corrected together, where these are not all.
        """
        return pair_tests(name, a, b, self.settings, self.clusters, family=family)

    def difference_cells(self, tests: PairedTests, corrected: Floats, a: Floats, b: Floats) -> list[Cell]:
        """A cell for each column's mean difference, with p and corrected p."""
        small = self.small(a - b) | beyond_reach(tests.least, self.settings)
        inflated = zero_inflated(a - b)
        return [
            difference_cell(
                tests, corrected, i, small=bool(small[i]), mark=ZERO_INFLATED if inflated[i] and not small[i] else ""
            )
            for i in range(len(tests.difference))
        ]


def difference_cell(tests: PairedTests, corrected: Floats, column: int, *, small: bool, mark: str = "") -> Cell:
    """The mean difference of one column, with p and corrected p. `small`: too little for a claim, if there is any."""
    return Cell(
        known(tests.difference[column]),
        known(tests.low[column]),
        known(tests.high[column]),
        n=int(tests.n[column]),
        p=known(tests.p[column]),
        p_corrected=known(corrected[column]),
        small=small and bool(tests.n[column] > 0),
        mark=mark_of(tests.difference[column], tests.low[column], int(tests.n[column]), mark),
    )


def cells_of(
    value: Floats,
    low: Floats,
    high: Floats,
    n: NDArray[np.int64],
    small: NDArray[np.bool_],
    drills: Sequence[Drill | None] | None = None,
    marks: Sequence[str] | None = None,
) -> list[Cell]:
    """A cell for each entry; one over nothing is undefined and not too small.

    A value over several conversations without an interval is marked: they have all the same.
    """
    return [
        Cell(
            known(value[i]),
            known(low[i]),
            known(high[i]),
            n=int(n[i]),
            small=bool(small[i]) and n[i] > 0,
            mark=mark_of(value[i], low[i], int(n[i]), marks[i] if marks else ""),
            drill=drills[i] if drills else None,
        )
        for i in range(len(value))
    ]


def mark_of(value: float, low: float, n: int, mark: str = "") -> str:
    """The mark of a value whose interval cannot be estimated, else the one that it has anyway."""
    return NOT_ESTIMABLE if n > 1 and np.isnan(low) and not np.isnan(value) else mark


def mean_over_models(values: Floats) -> Floats:
    """Each conversation's mean over the models that have it: (conversations,) from (conversations, models)."""
    defined = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(values, axis=1) / np.where(defined.any(axis=1), defined.sum(axis=1), np.nan))


def mean_of(tables: Sequence[Floats]) -> Floats:
    """Element by element the mean of the tables in which it is defined."""
    stacked = np.stack(list(tables))
    defined = (~np.isnan(stacked)).sum(axis=0)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nansum(stacked, axis=0) / np.where(defined > 0, defined, np.nan))


def turned(cell: Cell) -> Cell:
    """The same difference, seen from the other side."""
    low, high = (None if end is None else -end for end in (cell.high, cell.low))
    return replace(cell, value=-value_of(cell), low=low, high=high)


def value_of(cell: Cell) -> float:
    """A cell's number; NaN where it has none."""
    return float(cell.value) if isinstance(cell.value, (int, float)) else np.nan


# Words


def judges_text(study: ScoreTable) -> str:
    """Who judged the drafts, in a sentence: a judged score is an artefact of its judge and never stands without it."""
    judged: dict[tuple[str, ...], list[str]] = {}
    for group in study.groups:
        names = {
            judge
            for entry in study.metadata[group.source].get("settings") or ()
            if (entry.get("provider"), entry.get("em_model"), entry.get("mode")) == group.key
            for variant in entry.get("variants") or ()
            for judge in judges_named(variant)
        }
        judged.setdefault(tuple(sorted(names)), []).append(f"{group.label} ({group.mode})")
    if len(judged) == 1:
        names_of_all = next(iter(judged))
        return (
            f"Drafts were judged by {listed(names_of_all)}." if names_of_all else "The scores name no judge of drafts."
        )
    parts = [f"{listed(names) or 'no judge named'} for {listed(who)}" for names, who in judged.items()]
    return f"Drafts had different judges and are not comparable across them: {'; '.join(parts)}."


def label_of(metric_id: str) -> str:
    """A metric's short name."""
    return REGISTRY[metric_id].label


def unit_of(metric_id: str) -> Unit:
    """How values of a metric are written."""
    unit = REGISTRY[metric_id].unit
    return "share" if unit == "share" else "points" if unit == "points" else "number"


def digits_of(metric_id: str) -> int:
    """Digits behind the point, of a metric's values and their differences."""
    return 1 if REGISTRY[metric_id].unit == "points" else 3


def better(metric_id: str) -> bool:
    """Whether higher is better; differences of metrics without a direction are read as if it were."""
    return REGISTRY[metric_id].higher_is_better is not False


def drill_to(group: Group, metric_id: str) -> Drill:
    """Behind a mean: all conversations of the group."""
    return Drill(group=group.key, metric=metric_id)


def number(value: float | None, digits: int = 3, *, sign: bool = False) -> str:
    """A number in a sentence; a zero that was rounded has no minus."""
    if value is None or np.isnan(value):
        return "undefined"
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return f"{0:.{digits}f}" if float(text) == 0 else text


def with_interval(cell: Cell, digits: int = 3, *, sign: bool = False) -> str:
    """ "0.612 [0.581, 0.643]"; the value alone where there is no interval."""
    value = cell.value if isinstance(cell.value, (int, float)) else None
    if cell.low is None or cell.high is None:
        return number(value, digits, sign=sign)
    return f"{number(value, digits, sign=sign)} [{number(cell.low, digits)}, {number(cell.high, digits)}]"


def p_text(cell: Cell) -> str:
    """ "p 0.012" or "p < 0.001" in a sentence, corrected where the cell has that."""
    p = cell.p if cell.p_corrected is None else cell.p_corrected
    if p is None:
        return "p undefined"
    return "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """ "1 model", "11 models"."""
    return f"{count} {noun if count == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], *, most: int = 6) -> str:
    """ "a, b and c"; "a, b, c and 8 more" where there are too many."""
    if len(names) > most:
        names = [*names[: most - 1], f"{len(names) - most + 1} more"]
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def intervals_text(settings: Settings) -> str:
    """How the intervals of a table were made, for its caption."""
    return (
        f"{100 * settings.level:g} % percentile bootstrap intervals, {settings.resamples:,} resamples of "
        f"{settings.units}"
    )


def sample_text(study: ScoreTable) -> str:
    """ "60 conversations of 12 participants", for captions."""
    who = study.clusters
    people = len(np.unique(who)) if len(who) else 0
    return f"{counted(len(study.ids), 'conversation')} of {counted(people, 'participant')}"


def correction_text(settings: Settings, over: str) -> str:
    """ "p by sign flips, corrected after Holm over 55 pairs", for captions."""
    return f"p by sign-flip permutation, corrected ({CORRECTIONS[settings.correction]}) over {over}"


def comparability(study: ScoreTable, metric_ids: Iterable[str]) -> tuple[str, ...]:
    """What stands against ranking these groups in these metrics: other labels, prompts, judges, settings, coverage."""
    return tuple(
        f"NOT COMPARABLE: {finding.sentence}" if finding.severity == "refuse" else finding.sentence
        for finding in findings(study, metric_ids)
    )


def small_text(settings: Settings) -> str:
    """What marks a cell as small, for notes."""
    return f"No claim is made on under {settings.small} conversations or a single participant."
