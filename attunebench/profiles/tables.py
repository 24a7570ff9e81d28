"""What was scored → an `Analysis`: tables with their doubt, what they show, what they cannot, and what to mind.

Nothing is claimed over few participants: conversations of one person share a profile.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from attunebench.analyses.base import Settings, value_of
from attunebench.analyses.sampling import (
    beyond_reach,
    cells_of,
    claimed,
    corrected_p,
    mean_over_models,
    pair_tests,
)
from attunebench.analyses.table import Analysis, Cell, Table, column, counts, known, legend, table, words
from attunebench.analyses.verdicts import correction_text, counted, with_interval
from attunebench.profiles.scoring import Item, Scale, Scored
from attunebench.statistics.bootstrap import (
    Floats,
    estimate_ratios,
    mean_as_ratio,
    percentile_interval,
    resample_weights,
    resampled_ratios,
    sum_by_cluster,
)
from attunebench.statistics.intervals import with_wilson
from attunebench.statistics.rank_tests import spearman

NAME = "predicted-profiles"
PRIVACY = (
    "Privacy: this guesses at the health and the traits of people from how they talk. Wrong guesses harm people, and "
    "right ones may do so too. Use it to learn what models can infer, on people who agreed to that, and for no "
    "decision about anybody. Diagnoses are self-reported and the scales are screeners: no value here is a finding."
)
EXPERIMENTAL = "Experimental: prompt, traits and tables may change between versions; no part of the Composite."
_NAMED_AT_MOST = 6
_N = "conversations whose participant's profile says it"


def tabulate(
    scored: Scored,
    provider: str,
    model: str,
    n_conversations: int,
    settings: Settings,
    *,
    warnings: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Analysis:
    """The analysis of a model's predictions; its chance comes from the settings' seed."""
    n, people = len(scored.people), int(scored.people.max(initial=-1)) + 1
    sample = f"{counted(n, 'conversation')} of {counted(people, 'participant')}"
    tables: list[Table] = []
    if n:
        chance = _Chance(scored, settings)
        tables = [_accuracy_table(scored.items, chance, sample), _answer_table(scored.items, chance, sample)]
        tables += [_scale_table(scored.scales, chance, sample)] if scored.scales else []
    coverage = f"{n} of {counted(n_conversations, 'conversation')} have a prediction; the others are left out."
    return Analysis(
        name=NAME,
        title=f"Predicted profiles: {provider} {model} (experimental)",
        question="What of a participant's profile can the model tell from the conversation alone?",
        shows=_shows(tables, provider, people, settings),
        cannot="Whether a trait shows in how somebody talks or in what they happened to talk about; and nothing about "
        "any one person. The base rate knows how the answers of these participants are distributed, which the model "
        "does not.",
        tables=tuple(tables),
        warnings=(PRIVACY, *([coverage] if n != n_conversations else []), *warnings),
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
        self._weights = resample_weights(int(scored.people.max()) + 1, settings.resamples, settings.rng(NAME))
        self.intervals = (
            f"{100 * settings.level:g} % percentile bootstrap intervals, {settings.resamples:,} resamples of "
            "participants (Wilson's for a share of all or of none)"
        )

    def count(self, values: Floats) -> int:
        """Of how many participants there is a value."""
        return len(np.unique(self.people[~np.isnan(values)]))

    def is_small(self, columns: Sequence[Floats]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Columns of which too few participants have a value."""
        return np.array([self.count(values) < self.settings.small for values in columns], dtype=bool)

    def means(self, columns: Sequence[Floats], *, shares: bool = False) -> list[Cell]:
        """Each column's mean over the rows that have a value. `shares`: of ones and zeros, which where all are alike
        have Wilson's interval over participants."""
        above, below = mean_as_ratio(np.column_stack(columns))
        means = estimate_ratios(above, below, self._weights, clusters=self.people, level=self.settings.level)
        all_or_none = shares & np.isin(means.value, (0.0, 1.0))
        means, _ = with_wilson(means, below, all_or_none, self.people, self.settings.level)
        return cells_of(means.value, means.low, means.high, means.n, self.is_small(columns))

    def balanced(self, item: Item) -> Cell:
        """The mean of the classes' own accuracies; undefined under two classes. Absent ones leave a resample's mean."""
        names = sorted({c for c in item.classes if c is not None}, key=repr)
        inside = np.array([[c == name for name in names] for c in item.classes], dtype=np.float64)
        if len(names) < 2:
            return Cell(None, n=int(inside.sum()))
        right = np.nan_to_num(item.right)[:, None] * inside
        above, below = sum_by_cluster(right, self.people), sum_by_cluster(inside, self.people)
        drawn = mean_over_models(resampled_ratios(self._weights, above, below))
        low, high = percentile_interval(drawn[:, None], self.settings.level)
        if self.count(item.right) < 2:
            low[0] = high[0] = np.nan
        value = float((above.sum(axis=0) / below.sum(axis=0)).mean())
        small = self.count(item.right) < self.settings.small
        return Cell(value, known(low[0]), known(high[0]), n=int(inside.sum()), small=small)

    def differences(self, name: str, a: Sequence[Floats], b: Sequence[Floats]) -> list[Cell]:
        """Mean a − b for each column, with p corrected over those that are not small; small ones get none."""
        one, other = np.column_stack(a), np.column_stack(b)
        small = self.is_small(list((one - other).T))
        tests = pair_tests(name, one, other, self.settings, self.people)
        tests.p[small] = tests.least[small] = np.nan
        small |= beyond_reach(tests.least, self.settings)
        corrected = corrected_p(tests, self.settings)
        ends = (tests.difference, tests.low, tests.high, tests.n)
        return cells_of(*ends, small, p=tests.p, p_corrected=corrected)

    def association(self, scale: Scale) -> Cell:
        """Spearman's ρ over participants; a person's predictions count by their mean."""
        both = np.where(np.isnan(scale.truth) | np.isnan(scale.given), np.nan, 1.0)
        columns = np.column_stack([both, both * scale.truth, both * scale.given])
        sums = sum_by_cluster(np.nan_to_num(columns), self.people)
        n = np.where(sums[:, 0] > 0, sums[:, 0], np.nan)
        rated = ~np.isnan(n)
        rng = self.settings.rng(f"{NAME}/{scale.id}")
        draws = resample_weights(max(1, int(rated.sum())), self.settings.resamples, rng)
        truth, given = (sums[rated, side] / n[rated] for side in (1, 2))
        found = spearman(truth, given, draws=draws, confidence=self.settings.level)
        small = 0 < found.n < self.settings.small
        return Cell(known(found.value), known(found.low), known(found.high), n=found.n, small=small)


def _accuracy_table(items: Sequence[Item], chance: _Chance, sample: str) -> Table:
    rights, bases = [item.right for item in items], [item.base for item in items]
    accuracy = chance.means(rights, shares=True)
    share = partial(column, unit="share", better=True)
    return table(
        "accuracy",
        "Told rightly, and the base rate",
        words("item", map(_label, items), "Item"),
        counts("n", (cell.n for cell in accuracy), "n", _N),
        counts("participants", map(chance.count, rights), "people", "their participants"),
        share("accuracy", accuracy, meaning="share of n that is right"),
        share(
            "base_rate", chance.means(bases, shares=True), meaning="the most frequent answer of all other participants"
        ),
        share(
            "difference",
            chance.differences("accuracy", rights, bases),
            "accuracy − base rate",
            meaning="what the conversation added",
        ),
        share("balanced_accuracy", map(chance.balanced, items), meaning="mean over the answers' own accuracies"),
        caption=f"{sample}. {chance.intervals}; {correction_text(chance.settings, counted(len(items), 'item'))}. "
        "The base rate answers with the most frequent answer of all other participants, each counted once, and guesses "
        "where one participant decides which that is. Balanced accuracy is 1 over the number of answers for whoever "
        "always says the same. Thirds are of these participants. Intervals stand each for itself.",
    )


def _answer_table(items: Sequence[Item], chance: _Chance, sample: str) -> Table:
    items = [item for item in items if not item.part]
    share = partial(column, unit="share")
    answered, declined, missing, right = (
        chance.means(values, shares=True)
        for values in (
            [item.answered for item in items],
            [item.declined for item in items],
            [1.0 - item.answered - item.declined for item in items],
            [np.where(item.answered == 1, item.right, np.nan) for item in items],
        )
    )
    return table(
        "answers",
        "Answered, declined, not answered",
        words("item", map(_label, items), "Item"),
        counts("n", (cell.n for cell in answered), "n", _N),
        share("answered", answered, meaning="share of n with an answer other than “cannot tell”"),
        share("cannot_tell", declined, meaning="share of n in which the model declined to say"),
        share("not_answered", missing, meaning="share of n without a readable answer"),
        share("right_when_answered", right, meaning="share of the answered that is right", better=True),
        caption=f"{sample}. {chance.intervals}. Who declines where it is hard is right more often when answering, so "
        "the last column compares no models.",
    )


def _scale_table(scales: Sequence[Scale], chance: _Chance, sample: str) -> Table:
    errors = [np.abs(scale.truth - scale.given) for scale in scales]
    bases = [np.abs(scale.truth - scale.base) for scale in scales]
    gains = chance.differences("scales", errors, bases)
    means = chance.means(errors)
    points = partial(column, better=False, digits=2)
    return table(
        "scales",
        "Scales: how far off",
        words("scale", (scale.label for scale in scales), "Scale"),
        counts("n", (mean.n for mean in means), "n", "conversations with a truth and a number predicted"),
        counts("with_truth", (int((~np.isnan(scale.truth)).sum()) for scale in scales), meaning=_N),
        points("error", means, "mean error", meaning="mean absolute error, in points of the scale (2–14)"),
        points("base_error", chance.means(bases), meaning="that of the other participants' median"),
        points("difference", gains, "error − base error", meaning="below 0: nearer than the median"),
        column(
            "spearman",
            map(chance.association, scales),
            "Spearman's ρ",
            meaning="of prediction and truth over participants",
            better=True,
        ),
        caption=f"{sample}. {chance.intervals}; {correction_text(chance.settings, counted(len(scales), 'scale'))}. "
        "Errors are over what was answered alone, and the base error over the same conversations. ρ takes the mean "
        "prediction for each participant.",
    )


def _label(item: Item) -> Cell:
    return Cell(item.label, mark="screener" if item.screener else "")


def _shows(tables: Sequence[Table], provider: str, people: int, settings: Settings) -> str:
    if not tables:
        return "No conversation here has a prediction."
    if people < settings.small:
        return f"{counted(people, 'participant')}: fewer than {settings.small}, so nothing is claimed."
    gains = {str(row[0].value): row[5] for row in tables[0].rows}
    better = [
        f"{name} {with_interval(gain, sign=True)}"
        for name, gain in gains.items()
        if claimed(gain, settings) and value_of(gain) > 0
    ]
    more = f" and {len(better) - _NAMED_AT_MOST} more items" if len(better) > _NAMED_AT_MOST else ""
    shown = (
        f"Told more often than by the base rate: {'; '.join(better[:_NAMED_AT_MOST])}{more}."
        if better
        else f"None of {len(gains)} items is told more often than by the base rate, as far as these data show."
    )
    baseline = " A built-in baseline is no model; the oracle copies the profiles." if provider == "baseline" else ""
    return shown + baseline
