"""How far judges agree about the same drafts: pair by pair, all together, and on models of their own family.

What is resampled is conversations (or participants), since the answers about one conversation are correlated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Cell, Table, column, counts, known, table, words
from attunebench.analyses.verdicts import listed
from attunebench.judges.ballots import Ballots, Units
from attunebench.protocol.calls import RATINGS
from attunebench.results.served import is_same
from attunebench.statistics.agreement import (
    Agreement,
    Doubt,
    Scale,
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    mean_difference,
    percent_agreement,
)
from attunebench.statistics.bootstrap import Counts, Floats, Labels, resample_weights
from attunebench.statistics.rank_tests import spearman

_DRAWS = 2000
"""Agreement sums tables of all ratings in each resample; so many settle two digits."""
_YES_NO = (0.0, 1.0)


@dataclass(frozen=True)
class Agreeing:
    """What agreement is computed from, for ballots of at least one conversation."""

    ballots: Ballots
    settings: Settings

    @cached_property
    def ratings(self) -> Mapping[str, Units]:
        """Dimension → a unit for each draft."""
        return self.ballots.ratings()

    @cached_property
    def answers(self) -> Units:
        """A unit for each yes/no question on a draft."""
        return self.ballots.answers()

    @cached_property
    def clusters(self) -> Labels:
        """Labels of the conversations, or of their participants: 0 … k − 1."""
        rows = np.arange(len(self.ballots.ids), dtype=np.intp)
        return self.ballots.people if self.settings.by_participant else rows

    @cached_property
    def draws(self) -> Counts:
        """Resamples of the clusters."""
        count = min(self.settings.resamples, _DRAWS)
        return resample_weights(int(self.clusters.max()) + 1, count, self.settings.rng("judges agree"))

    def doubt(self, units: Units) -> Doubt:
        """The resamples for these units."""
        return {"draws": self.draws, "clusters": self.clusters[units.rows], "confidence": self.settings.level}

    def cell(self, found: Agreement, units: Units, both: NDArray[np.bool_]) -> Cell:
        """A coefficient with its interval; `both`: which units it is over."""
        rows = np.unique(units.rows[both])
        few = len(rows) < self.settings.small or len(np.unique(self.ballots.people[rows])) < 2
        return Cell(known(found.value), known(found.low), known(found.high), small=bool(few) and found.n > 0)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Every two judges by place."""
        return list(combinations(range(len(self.ballots.judges)), 2))

    @property
    def caption(self) -> str:
        """How the intervals were made."""
        return (
            f"{100 * self.settings.level:g} % percentile bootstrap intervals, {len(self.draws):,} resamples of "
            f"{self.settings.units}"
        )


def answers_table(agreeing: Agreeing) -> Table:
    """Every pair of judges on the yes/no questions."""
    units, judges = agreeing.answers, agreeing.ballots.judges
    doubt = agreeing.doubt(units)
    rows = []
    for one, other in agreeing.pairs:
        a, b = units.values[:, one], units.values[:, other]
        both = ~np.isnan(a) & ~np.isnan(b)
        found = (
            percent_agreement(a, b, **doubt),
            cohen_kappa(a, b, labels=_YES_NO, **doubt),
            gwet_ac1(a, b, labels=_YES_NO, **doubt),
        )
        shares = [a[both].mean(), b[both].mean()] if both.any() else [None, None]
        counted = (int(both.sum()), len(np.unique(units.rows[both])))
        rows.append((judges[one], judges[other], *counted, *(agreeing.cell(f, units, both) for f in found), *shares))
    return table(
        "answers",
        "Do judges see the same in a draft?",
        words("judge"),
        words("other", label="other judge"),
        counts("answers", (), "", "Yes/no answers about drafts that both gave."),
        counts("conversations", (), "n", "Conversations that they are from."),
        column("same", (), "agree", "share", "Share of the answers that are the same.", better=True),
        column(
            "kappa",
            (),
            "Cohen κ",
            meaning="Beyond chance; low where one answer dominates.",
            better=True,
            digits=2,
        ),
        column(
            "ac1",
            (),
            "Gwet AC1",
            meaning="Beyond chance, and stable where one answer dominates.",
            better=True,
            digits=2,
        ),
        column("yes_one", (), "yes of the one", "share", "Share of yes among the answers of the first judge."),
        column("yes_other", (), "of the other", "share", "Share of yes among the answers of the second judge."),
        rows=rows,
        caption=f"Over the drafts of all models and modes; {agreeing.caption}.",
    )


def marks_table(agreeing: Agreeing) -> Table:
    """Every pair of judges on the ratings: per draft the mean of the dimensions that both rated."""
    units, judges = next(iter(agreeing.ratings.values())), agreeing.ballots.judges
    doubt = agreeing.doubt(units)
    rows = []
    for one, other in agreeing.pairs:
        stacked = np.stack([each.values[:, [one, other]] for each in agreeing.ratings.values()])
        stacked[np.isnan(stacked).any(axis=2)] = np.nan
        a, b = _mean(stacked).T
        both = ~np.isnan(a) & ~np.isnan(b)
        found = (spearman(a, b, **doubt), mean_difference(a, b, **doubt))
        counted = (int(both.sum()), len(np.unique(units.rows[both])))
        rows.append((judges[one], judges[other], *counted, *(agreeing.cell(each, units, both) for each in found)))
    return table(
        "marks",
        "Do judges rate drafts alike?",
        words("judge"),
        words("other", label="other judge"),
        counts("drafts", (), "", "Drafts that both rated."),
        counts("conversations", (), "n", "Conversations that they are from."),
        column(
            "spearman",
            (),
            "Spearman ρ",
            meaning="Whether both put the drafts in the same order.",
            better=True,
            digits=2,
        ),
        column("difference", meaning="First judge minus second, in points of 1–7.", digits=2),
        rows=rows,
        caption="A draft's rating is the mean of the dimensions that both judges rated, 1–7; over the drafts of all "
        f"models and modes; {agreeing.caption}.",
    )


def alpha_table(agreeing: Agreeing) -> Table:
    """Krippendorff's α over all judges at once."""
    ratings = agreeing.ratings
    everything = Units(
        *(
            np.concatenate(parts)
            for parts in zip(*((u.values, u.rows, u.groups) for u in ratings.values()), strict=True)
        )
    )
    kinds: list[tuple[str, Units, Scale]]
    kinds = [("yes/no questions", agreeing.answers, "nominal"), ("ratings", everything, "interval")]
    kinds += [(name.replace("_", " "), ratings[name], "interval") for name in RATINGS]
    rows = []
    for name, units, level in kinds:
        pairable = (~np.isnan(units.values)).sum(axis=1) > 1
        found = krippendorff_alpha(units.values, level, **agreeing.doubt(units))
        raters = int((~np.isnan(units.values[pairable])).any(axis=0).sum()) if pairable.any() else 0
        conversations = len(np.unique(units.rows[pairable]))
        rows.append((name, raters, found.n, conversations, agreeing.cell(found, units, pairable)))
    return table(
        "alpha",
        "Do all judges agree?",
        words("kind", label="about"),
        counts("judges"),
        counts("units", (), "items", "Questions about, or ratings of, a draft that two judges or more gave."),
        counts("conversations", (), "n", "Conversations that they are from."),
        column("alpha", label="Krippendorff α", meaning="1 is full agreement, 0 chance.", better=True, digits=2),
        rows=rows,
        caption=f"Nominal α for yes/no, interval α for ratings; {agreeing.caption}.",
    )


def own_family(judge: str, model: str) -> bool:
    """Whether the names say that judge and model are one model, or of one vendor ("vendor/…"); no names are guessed."""
    vendors = {name.strip().lower().partition("/")[0] if "/" in name else None for name in (judge, model)}
    return is_same(model, judge) or is_same(judge, model) or (len(vendors) == 1 and None not in vendors)


def family_table(agreeing: Agreeing) -> Table:
    """How much more than the other judges each judge gives its own family, and the others; a row for each judge that
    has models of its family and others."""
    ballots, rows = agreeing.ballots, []
    units = next(iter(agreeing.ratings.values()))
    for place, judge in enumerate(ballots.judges):
        own = np.array([own_family(judge, model) for _, model, _ in ballots.groups], dtype=bool)
        if not own.any() or own.all() or len(ballots.judges) < 2:
            continue
        others = [other for other in range(len(ballots.judges)) if other != place]
        ratings = [each.values for each in agreeing.ratings.values()]
        margin = _mean(np.stack([given[:, place] - _mean(given[:, others].T) for given in ratings]))
        inside = own[units.groups]
        sides = [np.where(side, margin, np.nan) for side in (inside, ~inside)]
        if any(np.isnan(side).all() for side in sides):
            continue
        row = []
        for side in sides:
            mean = mean_difference(side, np.zeros_like(side), **agreeing.doubt(units))
            row += [int((~np.isnan(side)).sum()), agreeing.cell(mean, units, ~np.isnan(side))]
        family = dict.fromkeys(label for label, mine in zip(ballots.labels, own, strict=True) if mine)
        rows.append((judge, listed(list(family)), *row))
    meaning = "Its rating minus the mean of the others', points of 1–7."
    return table(
        "family",
        "Do judges favour their own family?",
        words("judge"),
        words("models", label="of its family"),
        counts("own_drafts", (), "drafts"),
        column("own", label="own family", meaning=meaning, digits=2),
        counts("other_drafts", (), "drafts"),
        column("other", label="other models", meaning="The same for models of other families.", digits=2),
        rows=rows,
        caption="How much higher the judge rates a draft than the other judges of the same draft do. Families are "
        f"recognised only by equal model names or an equal vendor before the “/”; {agreeing.caption}.",
    )


def _mean(values: Floats) -> Floats:
    """Mean over the first axis of what is defined; NaN where nothing is."""
    counted = (~np.isnan(values)).sum(axis=0)
    return np.asarray(np.nansum(values, axis=0) / np.where(counted > 0, counted, np.nan))
