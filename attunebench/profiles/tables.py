"""What was scored → an `Analysis`: tables with their doubt, what they show, what they cannot, and what to mind.

Owns the wording. Nothing is claimed over few participants: conversations of one person share a profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Analysis, Cell, Column, Settings, Table, known, legend, text
from attunebench.profiles.scoring import Item, Scale, Scored
from attunebench.statistics.association import spearman
from attunebench.statistics.bootstrap import (
    Counts,
    Floats,
    estimate_ratios,
    mean_as_ratio,
    percentile_interval,
    resample_weights,
    resampled_ratios,
    sum_by_cluster,
)
from attunebench.statistics.intervals import wilson_interval

NAME = "predicted-profiles"
PRIVACY = (
    "Privacy: this guesses at the health and the traits of people from how they talk. Wrong guesses harm people, and "
    "right ones may do so too. Use it to learn what models can infer, on people who agreed to that, and for no "
    "decision about anybody. Diagnoses are self-reported and the scales are screeners: no value here is a finding."
)
EXPERIMENTAL = "Experimental: prompt, traits and tables may change between versions; no part of the Composite."
_SCREENER = "screener"
_NAMED_AT_MOST = 6


@dataclass(frozen=True, slots=True)
class Who:
    """Whose predictions these are, and how many conversations there are to predict."""

    provider: str
    model: str
    conversations: int

    @property
    def is_model(self) -> bool:
        """Not the oracle, which copies profiles, nor another baseline."""
        return self.provider != "baseline"


def tabulate(
    scored: Scored, who: Who, settings: Settings, *, warnings: Sequence[str] = (), notes: Sequence[str] = ()
) -> Analysis:
    """The analysis; its chance comes from the settings' seed."""
    n, people = len(scored.people), int(scored.people.max(initial=-1)) + 1
    sample = f"{common.counted(n, 'conversation')} of {common.counted(people, 'participant')}"
    tables: list[Table] = []
    if n:
        chance = _Chance(scored, settings)
        tables = [_accuracy_table(scored, chance, sample), _answer_table(scored, chance, sample)]
        if scored.scales:
            tables.append(_scale_table(scored, chance, sample))
    return Analysis(
        name=NAME,
        title=f"Predicted profiles: {who.provider} {who.model} (experimental)",
        question="What of a participant's profile can the model tell from the conversation alone?",
        shows=_shows(tables, who, people, settings),
        cannot="Whether a trait shows in how somebody talks or in what they happened to talk about; and nothing about "
        "any one person. The base rate knows how the answers of these participants are distributed, which the model "
        "does not.",
        tables=tuple(tables),
        warnings=(PRIVACY, *_coverage(n, who), *warnings),
        notes=(
            EXPERIMENTAL,
            *notes,
            *legend(tables),
            f"No claim is made on fewer than {settings.small} participants: the conversations of one person share a "
            "profile, so it is people that count. Declining (“cannot tell”) and not answering earn what a wrong answer "
            "earns.",
        ),
    )


class _Chance:
    """Intervals and tests of these rows: participants are resampled, the same draws for all tables."""

    def __init__(self, scored: Scored, settings: Settings) -> None:
        self.people = scored.people
        self.settings = settings
        units = int(scored.people.max()) + 1
        self._weights: Counts = resample_weights(units, settings.resamples, settings.rng(NAME))

    def is_small(self, values: Floats) -> bool:
        """Whether too few participants have one."""
        return self.count(values) < self.settings.small

    def count(self, values: Floats) -> int:
        """Of how many participants there is a value."""
        return len(np.unique(self.people[~np.isnan(values)]))

    def shares(self, columns: Sequence[Floats]) -> list[Cell]:
        """Means of zeros and ones; where all are alike the interval is Wilson's over participants.

        No resample differs then, and an interval of no width would say that nothing is left to doubt.
        """
        cells = self.means(columns)
        for place, (cell, values) in enumerate(zip(cells, columns, strict=True)):
            people = self.count(values)
            if people > 1 and cell.value in (0.0, 1.0):
                low, high = wilson_interval(people * common.value_of(cell), people, self.settings.level)
                cells[place] = replace(cell, low=float(low), high=float(high))
        return cells

    def means(self, columns: Sequence[Floats]) -> list[Cell]:
        """Each column's mean over the rows that have a value."""
        found = estimate_ratios(
            *mean_as_ratio(np.column_stack(columns)), self._weights, clusters=self.people, level=self.settings.level
        )
        small = np.array([self.is_small(values) for values in columns], dtype=bool)
        return common.cells_of(found.value, found.low, found.high, found.n, small)

    def balanced(self, item: Item) -> Cell:
        """The mean of the classes' own accuracies; undefined under two classes. Absent ones leave a resample's mean."""
        names = sorted({c for c in item.classes if c is not None}, key=repr)
        inside = np.array([[c == name for name in names] for c in item.classes], dtype=np.float64)
        if len(names) < 2:
            return Cell(None, n=int(inside.sum()))
        right = np.nan_to_num(item.right)[:, None] * inside
        above, below = sum_by_cluster(right, self.people), sum_by_cluster(inside, self.people)
        drawn = common.mean_over_models(resampled_ratios(self._weights, above, below))
        low, high = percentile_interval(drawn[:, None], self.settings.level)
        if self.count(item.right) < 2:
            low[0] = high[0] = np.nan
        value = float((above.sum(axis=0) / below.sum(axis=0)).mean())
        return Cell(value, known(low[0]), known(high[0]), n=int(inside.sum()), small=self.is_small(item.right))

    def differences(self, name: str, a: Sequence[Floats], b: Sequence[Floats]) -> list[Cell]:
        """Mean a − b for each column, with p corrected over those that are not small; small ones get none."""
        one, other = np.column_stack(a), np.column_stack(b)
        small = np.array([self.is_small(column) for column in (one - other).T], dtype=bool)
        tests = common.pair_tests(name, one, other, self.settings, self.people)
        tests.p[small] = tests.least[small] = np.nan
        small |= common.beyond_reach(tests.least, self.settings)
        corrected = common.corrected_p(tests, self.settings)
        return [common.difference_cell(tests, corrected, i, small=bool(small[i])) for i in range(len(a))]


def _accuracy_table(scored: Scored, chance: _Chance, sample: str) -> Table:
    items = scored.items
    gains = chance.differences("accuracy", [item.right for item in items], [item.base for item in items])
    rights = chance.shares([item.right for item in items])
    bases = chance.shares([item.base for item in items])
    rows = [
        (_named(item), Cell(right.n), Cell(chance.count(item.right)), right, base, gain, chance.balanced(item))
        for item, right, base, gain in zip(items, rights, bases, gains, strict=True)
    ]
    return Table(
        "accuracy",
        "Told rightly, and the base rate",
        (
            Column("item", "Item", "text"),
            Column("n", "n", "count", "conversations whose participant's profile says it"),
            Column("participants", "people", "count", "their participants"),
            Column("accuracy", "accuracy", "share", "share of n that is right", True),
            Column("base_rate", "base rate", "share", "the most frequent answer of all other participants", True),
            Column("difference", "accuracy − base rate", "share", "what the conversation added", True),
            Column("balanced_accuracy", "balanced accuracy", "share", "mean over the answers' own accuracies", True),
        ),
        tuple(rows),
        caption=f"{sample}. {_intervals(chance.settings)}; "
        f"{common.correction_text(chance.settings, common.counted(len(items), 'item'))}. The base rate answers with "
        "the most frequent answer of all other participants, each counted once, and guesses where one participant "
        "decides which that is. Balanced accuracy is 1 over the number of answers for whoever always says the same. "
        "Thirds are of these participants. Intervals stand each for itself.",
    )


def _answer_table(scored: Scored, chance: _Chance, sample: str) -> Table:
    items = [item for item in scored.items if not item.part]
    answered = chance.shares([item.answered for item in items])
    declined = chance.shares([item.declined for item in items])
    missing = chance.shares([1.0 - item.answered - item.declined for item in items])
    right = chance.shares([np.where(item.answered == 1, item.right, np.nan) for item in items])
    rows = [
        (_named(item), Cell(shares[0].n), *shares)
        for item, *shares in zip(items, answered, declined, missing, right, strict=True)
    ]
    return Table(
        "answers",
        "Answered, declined, not answered",
        (
            Column("item", "Item", "text"),
            Column("n", "n", "count", "conversations whose participant's profile says it"),
            Column("answered", "answered", "share", "share of n with an answer other than “cannot tell”"),
            Column("cannot_tell", "cannot tell", "share", "share of n in which the model declined to say"),
            Column("not_answered", "not answered", "share", "share of n without a readable answer"),
            Column("right_when_answered", "right when answered", "share", "share of the answered that is right", True),
        ),
        tuple(rows),
        caption=f"{sample}. {_intervals(chance.settings)}. Who declines where it is hard is right more often when "
        "answering, so the last column compares no models.",
    )


def _scale_table(scored: Scored, chance: _Chance, sample: str) -> Table:
    scales = scored.scales
    errors = [np.abs(scale.truth - scale.given) for scale in scales]
    bases = [np.abs(scale.truth - scale.base) for scale in scales]
    gains = chance.differences("scales", errors, bases)
    means, base_means = chance.means(errors), chance.means(bases)
    rows = [
        (
            text(scale.label),
            Cell(mean.n),
            Cell(int((~np.isnan(scale.truth)).sum())),
            mean,
            base,
            gain,
            _association(scale, chance),
        )
        for scale, mean, base, gain in zip(scales, means, base_means, gains, strict=True)
    ]
    return Table(
        "scales",
        "Scales: how far off",
        (
            Column("scale", "Scale", "text"),
            Column("n", "n", "count", "conversations with a truth and a number predicted"),
            Column("with_truth", "with truth", "count", "conversations whose participant's profile says it"),
            Column("error", "mean error", "number", "mean absolute error, in points of the scale (2–14)", False, 2),
            Column("base_error", "base error", "number", "that of the other participants' median", False, 2),
            Column("difference", "error − base error", "number", "below 0: nearer than the median", False, 2),
            Column("spearman", "Spearman's ρ", "number", "of prediction and truth over participants", True),
        ),
        tuple(rows),
        caption=f"{sample}. {_intervals(chance.settings)}; "
        f"{common.correction_text(chance.settings, common.counted(len(scales), 'scale'))}. Errors are over what was "
        "answered alone, and the base error over the same conversations. ρ takes the mean prediction for each "
        "participant.",
    )


def _association(scale: Scale, chance: _Chance) -> Cell:
    """Spearman's ρ over participants; a person's predictions count by their mean."""
    both = np.where(np.isnan(scale.truth) | np.isnan(scale.given), np.nan, 1.0)
    sums = sum_by_cluster(np.nan_to_num(np.column_stack([both, both * scale.truth, both * scale.given])), chance.people)
    counts = np.where(sums[:, 0] > 0, sums[:, 0], np.nan)
    settings = chance.settings
    found = spearman(
        sums[:, 1] / counts,
        sums[:, 2] / counts,
        rng=settings.rng(f"{NAME}/{scale.id}"),
        resamples=settings.resamples,
        level=settings.level,
    )
    small = 0 < found.n < settings.small
    return Cell(known(found.rho), known(found.low), known(found.high), n=found.n, small=small)


def _named(item: Item) -> Cell:
    return text(item.label, mark=_SCREENER if item.screener else "")


def _intervals(settings: Settings) -> str:
    return (
        f"{100 * settings.level:g} % percentile bootstrap intervals, {settings.resamples:,} resamples of participants "
        "(Wilson's for a share of all or of none)"
    )


def _coverage(n: int, who: Who) -> list[str]:
    if n == who.conversations:
        return []
    return [f"{n} of {common.counted(who.conversations, 'conversation')} have a prediction; the others are left out."]


def _shows(tables: Sequence[Table], who: Who, people: int, settings: Settings) -> str:
    if not tables:
        return "No conversation here has a prediction."
    if people < settings.small:
        return f"{common.counted(people, 'participant')}: fewer than {settings.small}, so nothing is claimed."
    gains = {str(row[0].value): row[5] for row in tables[0].rows}
    better = [
        f"{name} {common.with_interval(gain, sign=True)}" for name, gain in gains.items() if _above(gain, settings)
    ]
    shown = better[:_NAMED_AT_MOST]
    more = f" and {len(better) - len(shown)} more items" if len(better) > len(shown) else ""
    said = [
        f"Told more often than by the base rate: {'; '.join(shown)}{more}."
        if better
        else f"None of {len(gains)} items is told more often than by the base rate, as far as these data show."
    ]
    if not who.is_model:
        said.append("A built-in baseline is no model; the oracle copies the profiles.")
    return " ".join(said)


def _above(gain: Cell, settings: Settings) -> bool:
    return common.claimed(gain, settings) and common.value_of(gain) > 0
