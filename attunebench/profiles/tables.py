"""Scored profiles → an `Analysis`. Nothing is claimed over few participants: conversations of one share a profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.base import Settings, value_of
from attunebench.analyses.sampling import Sampling, claimed, corrected_p
from attunebench.analyses.table import Analysis, Cell, Table, column, counts, known, table, words
from attunebench.analyses.verdicts import correction_text, counted, intervals_text, legend, listed, with_interval
from attunebench.profiles.scoring import Item, Scale, Scored
from attunebench.statistics.bootstrap import (
    Floats,
    Resampling,
    mean_as_ratio,
    resample_weights,
    sum_by_cluster,
)
from attunebench.statistics.rank_tests import spearman

NAME = "predicted-profiles"
PRIVACY = (
    "Privacy: this task infers people's health and traits from what they write. Wrong inferences harm people, and "
    "correct ones may too. Use it only to study what models can infer, with data of people who consented, and never "
    "for decisions about anyone. Diagnoses are self-reported and the scales are screeners: no value here is a finding."
)
EXPERIMENTAL = "Experimental: prompt, traits and tables may change between versions. The Composite does not use them."
_N = "conversations whose participant's profile states it"


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
    tables: tuple[Table, ...] = ()
    if n:
        settings = replace(settings, by_participant=True)
        weights = resample_weights(people, settings.resamples, settings.rng(NAME))
        chance = _Chance(weights, scored.people, scored.people, settings)
        sample = f"{counted(n, 'conversation')} of {counted(people, 'participant')}"
        tables = (_accuracy_table(scored.items, chance, sample), _answer_table(scored.items, chance, sample))
        tables += (_scale_table(scored.scales, chance, sample),) if scored.scales else ()
    coverage = f"{n} of {counted(n_conversations, 'conversation')} have a prediction; the others are not scored."
    return Analysis(
        name=NAME,
        title=f"Predicted profiles: {provider} {model} (experimental)",
        question="What can the model predict about a participant from the conversation alone?",
        shows=_shows(tables, provider, people, settings),
        cannot="These numbers do not show whether a prediction comes from how people write or from their topic, and "
        "say nothing about any one person. The base rate uses the distribution of these participants' answers, which "
        "the model does not have.",
        tables=tables,
        warnings=(PRIVACY, *([coverage] if n != n_conversations else []), *warnings),
        notes=(
            EXPERIMENTAL,
            *notes,
            *legend(tables),
            f"No claim is made on fewer than {settings.small} participants, because all conversations of a person "
            "share one profile. Declining (“cannot tell”) and not answering count as wrong answers.",
        ),
    )


class _Chance(Sampling):
    """Participants are resampled, the same draws for all tables, and it is they of whom there can be too few."""

    def count(self, values: Floats) -> int:
        """Of how many participants there is a value."""
        return len(np.unique(self.people[~np.isnan(values)]))

    def small(self, values: Floats) -> NDArray[np.bool_]:
        return np.array([self.count(values_of) < self.settings.small for values_of in values.T], dtype=bool)

    def means(self, columns: Sequence[Floats], *, shares: bool = False) -> list[Cell]:
        """Each column's mean over the rows that have a value; `shares` of right answers are never without a doubt."""
        return self.rates(*mean_as_ratio(np.column_stack(columns)), right=shares)

    def differences(self, name: str, a: Sequence[Floats], b: Sequence[Floats]) -> list[Cell]:
        """Mean a − b for each column, with p corrected over those that are not small; small ones get none."""
        one, other = np.column_stack(a), np.column_stack(b)
        tests, small = self.tests(name, one, other), self.small(one - other)
        tests.p[small] = tests.least[small] = np.nan
        return self.difference_cells(tests, corrected_p(tests, self.settings), one, other)

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
        found = spearman(truth, given, Resampling(draws, None, self.settings.level))
        small = 0 < found.n < self.settings.small
        return Cell(known(found.value), known(found.low), known(found.high), n=found.n, small=small)

    def caption(self, sample: str, over: str) -> str:
        how = f"{intervals_text(self.settings)}; {correction_text(self.settings, over)}"
        return f"{sample}. {how}. Shares of 0 and 1 have Wilson's interval."


def _accuracy_table(items: Sequence[Item], chance: _Chance, sample: str) -> Table:
    rights, bases = [item.right for item in items], [item.base for item in items]
    accuracy = chance.means(rights, shares=True)
    gains = chance.differences("accuracy", rights, bases)
    share = partial(column, unit="share", better=True)
    others = "the most frequent answer of all other participants"
    return table(
        "accuracy",
        "Accuracy and base rate",
        words("item", map(_label, items), "Item"),
        counts("n", (cell.n for cell in accuracy), "n", _N),
        counts("participants", map(chance.count, rights), "people", "their participants"),
        share("accuracy", accuracy, meaning="share of correct predictions"),
        share("base_rate", chance.means(bases), meaning=others),
        share("difference", gains, "accuracy − base rate", meaning="gain from reading the conversation"),
        caption=f"{chance.caption(sample, counted(len(items), 'item'))} The base rate gives {others}, each counted "
        "once, and guesses if a single participant decides. Thirds are thirds of these participants.",
    )


def _answer_table(items: Sequence[Item], chance: _Chance, sample: str) -> Table:
    items = [item for item in items if not item.part]
    share = partial(column, unit="share")
    answered, declined = ([getattr(item, name) for item in items] for name in ("answered", "declined"))
    missing = [1.0 - given - refused for given, refused in zip(answered, declined, strict=True)]
    right = [np.where(item.answered == 1, item.right, np.nan) for item in items]
    cells = chance.means(answered, shares=True)
    return table(
        "answers",
        "Answered, declined, not answered",
        words("item", map(_label, items), "Item"),
        counts("n", (cell.n for cell in cells), "n", _N),
        share("answered", cells, meaning="share of n with an answer other than “cannot tell”"),
        share("cannot_tell", chance.means(declined, shares=True), meaning="share of n in which the model declined"),
        share("not_answered", chance.means(missing, shares=True), meaning="share of n without a readable answer"),
        share(
            "right_when_answered",
            chance.means(right, shares=True),
            meaning="share of correct predictions among those answered",
            better=True,
        ),
        caption=f"{sample}. A model that declines hard cases is right more often when it answers, so do not compare "
        "models by the last column.",
    )


def _scale_table(scales: Sequence[Scale], chance: _Chance, sample: str) -> Table:
    errors = [np.abs(scale.truth - scale.given) for scale in scales]
    bases = [np.abs(scale.truth - scale.base) for scale in scales]
    means, gains = chance.means(errors), chance.differences("scales", errors, bases)
    points = partial(column, better=False, digits=2)
    rho = "Spearman's ρ of prediction and truth over participants"
    return table(
        "scales",
        "Scales: error",
        words("scale", (scale.label for scale in scales), "Scale"),
        counts("n", (mean.n for mean in means), "n", "conversations with a truth and a number predicted"),
        counts("with_truth", (int((~np.isnan(scale.truth)).sum()) for scale in scales), meaning=_N),
        points("error", means, "mean error", meaning="mean absolute error, in points of the scale (2–14)"),
        points("base_error", chance.means(bases), meaning="mean absolute error of the other participants' median"),
        points("difference", gains, "error − base error", meaning="below 0: closer than the median"),
        column("spearman", map(chance.association, scales), "Spearman's ρ", meaning=rho, better=True),
        caption=f"{chance.caption(sample, counted(len(scales), 'scale'))} Errors cover answered items only, and base "
        "errors the same conversations. ρ uses each participant's mean prediction.",
    )


def _label(item: Item) -> Cell:
    return Cell(item.label, mark="screener" if item.screener else "")


def _shows(tables: Sequence[Table], provider: str, people: int, settings: Settings) -> str:
    if not tables:
        return "No conversation has a prediction."
    if people < settings.small:
        return f"{counted(people, 'participant')}: fewer than {settings.small}, too few for a claim."
    gains = [(row[0].value, row[5]) for row in tables[0].rows]
    better = [
        f"{name} {with_interval(gain, sign=True)}"
        for name, gain in gains
        if claimed(gain, settings) and value_of(gain) > 0
    ]
    baseline = " Built-in baselines are not models; the oracle copies the profiles." if provider == "baseline" else ""
    if better:
        return f"More accurate than the base rate: {listed(better)}.{baseline}"
    return f"None of {len(gains)} items is predicted significantly more accurately than by the base rate.{baseline}"
