"""How far judges agree about the same drafts: pair by pair, all together, and on models of their own family.

What is resampled is conversations (or participants): the answers about one talk hang together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses import common
from attunebench.analyses.model import Cell, Column, Settings, Table, known, text
from attunebench.judges.ballots import Ballots, Units
from attunebench.protocol.calls import RATINGS
from attunebench.results.served import is_same
from attunebench.statistics.agreement import (
    Agreement,
    Scale,
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from attunebench.statistics.bootstrap import Counts, Floats, Labels, resample_weights
from attunebench.statistics.rating_pairs import mean_difference, rank_agreement

_DRAWS = 2000
"""Agreement sums tables of all ratings in each resample; so many settle two digits."""
_YES_NO = (0.0, 1.0)
_RATING_WORDS = {name: name.replace("_", " ") for name in RATINGS}


class Doubt(TypedDict):
    """What the coefficients take for their intervals."""

    draws: Counts
    clusters: Labels
    confidence: float


@dataclass(frozen=True)
class Agreeing:
    """What agreement is worked out from. `clusters` labels conversations, or participants, 0 … k − 1."""

    ballots: Ballots
    settings: Settings
    ratings: Mapping[str, Units]
    answers: Units
    clusters: Labels
    draws: Counts

    @classmethod
    def of(cls, ballots: Ballots, settings: Settings) -> Agreeing:
        """For ballots of at least one conversation."""
        rows = np.arange(len(ballots.ids), dtype=np.intp)
        clusters = ballots.people if settings.by_participant else rows
        draws = resample_weights(int(clusters.max()) + 1, min(settings.resamples, _DRAWS), settings.rng("judges agree"))
        return cls(ballots, settings, ballots.ratings(), ballots.answers(), clusters, draws)

    def doubt(self, units: Units) -> Doubt:
        """The resamples for these units."""
        return {"draws": self.draws, "clusters": self.clusters[units.rows], "confidence": self.settings.level}

    def cell(self, found: Agreement, units: Units, both: NDArray[np.bool_]) -> Cell:
        """A coefficient with its interval; `both`: which units it is over."""
        rows = np.unique(units.rows[both])
        few = len(rows) < self.settings.small or len(np.unique(self.ballots.people[rows])) < 2
        return Cell(known(found.value), known(found.low), known(found.high), small=bool(few) and found.n > 0)

    def marks(self, one: int, other: int) -> tuple[Units, Floats, Floats]:
        """Per draft the mean marks of two judges over the dimensions that both rated; NaN where there is none."""
        stacked = np.stack([units.values[:, [one, other]] for units in self.ratings.values()])
        stacked[np.isnan(stacked).any(axis=2)] = np.nan
        counted = (~np.isnan(stacked)).sum(axis=0)
        means = np.nansum(stacked, axis=0) / np.where(counted > 0, counted, np.nan)
        return next(iter(self.ratings.values())), means[:, 0], means[:, 1]

    @property
    def all_ratings(self) -> Units:
        """Every dimension of every draft, a unit each."""
        units = list(self.ratings.values())
        return Units(
            np.concatenate([each.values for each in units]),
            np.concatenate([each.rows for each in units]),
            np.concatenate([each.groups for each in units]),
        )

    @property
    def caption(self) -> str:
        """How the intervals were made."""
        settings = self.settings
        unit = "participants" if settings.by_participant else "conversations"
        return (
            f"{100 * settings.level:g} % percentile bootstrap intervals, {len(self.draws):,} resamples of {unit}: "
            "answers about one talk hang together"
        )


def answers_table(agreeing: Agreeing) -> Table:
    """Every pair of judges on the yes/no questions."""
    rows, units = [], agreeing.answers
    for one, other in _pairs(agreeing.ballots):
        a, b = units.values[:, one], units.values[:, other]
        both = ~np.isnan(a) & ~np.isnan(b)
        doubt = agreeing.doubt(units)
        found = (
            percent_agreement(a, b, **doubt),
            cohen_kappa(a, b, labels=_YES_NO, **doubt),
            gwet_ac1(a, b, labels=_YES_NO, **doubt),
        )
        rows.append(
            (
                *_names(agreeing.ballots, one, other),
                Cell(int(both.sum())),
                Cell(len(np.unique(units.rows[both]))),
                *(agreeing.cell(each, units, both) for each in found),
                *(Cell(known(float(side[both].mean())) if both.any() else None) for side in (a, b)),
            )
        )
    return Table(
        "answers",
        "Do judges see the same in a draft?",
        (
            *_WHO,
            Column("answers", "answers", "count", "Yes/no answers about drafts that both gave."),
            Column("conversations", "n", "count", "Conversations that they are from."),
            Column("same", "agree", "share", "Share of the answers that are the same.", True),
            Column("kappa", "Cohen κ", "number", "Beyond chance; low where one answer dominates.", True, 2),
            Column("ac1", "Gwet AC1", "number", "Beyond chance, and steady where one answer dominates.", True, 2),
            Column("yes_one", "yes of the one", "share", "Share of yes among the answers of the first judge."),
            Column("yes_other", "of the other", "share", "Share of yes among the answers of the second judge."),
        ),
        tuple(rows),
        caption=f"Over the drafts of all models and modes; {agreeing.caption}.",
    )


def marks_table(agreeing: Agreeing) -> Table:
    """Every pair of judges on the ratings."""
    rows = []
    for one, other in _pairs(agreeing.ballots):
        units, a, b = agreeing.marks(one, other)
        both = ~np.isnan(a) & ~np.isnan(b)
        doubt = agreeing.doubt(units)
        rows.append(
            (
                *_names(agreeing.ballots, one, other),
                Cell(int(both.sum())),
                Cell(len(np.unique(units.rows[both]))),
                agreeing.cell(rank_agreement(a, b, **doubt), units, both),
                agreeing.cell(mean_difference(a, b, **doubt), units, both),
            )
        )
    return Table(
        "marks",
        "Do judges rate drafts alike?",
        (
            *_WHO,
            Column("drafts", "drafts", "count", "Drafts that both rated."),
            Column("conversations", "n", "count", "Conversations that they are from."),
            Column("spearman", "Spearman ρ", "number", "Whether both put the drafts in the same order.", True, 2),
            Column("difference", "difference", "number", "First judge minus second, in points of 1–7.", None, 2),
        ),
        tuple(rows),
        caption="A draft's mark is the mean of the dimensions that both judges rated, 1–7; over the drafts of all "
        f"models and modes; {agreeing.caption}.",
    )


def alpha_table(agreeing: Agreeing) -> Table:
    """Krippendorff's α over all judges at once."""
    kinds: list[tuple[str, Units, Scale]]
    kinds = [("yes/no questions", agreeing.answers, "nominal"), ("ratings", agreeing.all_ratings, "interval")]
    kinds += [(_RATING_WORDS[name], units, "interval") for name, units in agreeing.ratings.items()]
    rows = []
    for name, units, level in kinds:
        pairable = (~np.isnan(units.values)).sum(axis=1) > 1
        found = krippendorff_alpha(units.values, level, **agreeing.doubt(units))
        raters = int((~np.isnan(units.values[pairable])).any(axis=0).sum()) if pairable.any() else 0
        rows.append(
            (
                text(name),
                Cell(raters),
                Cell(found.n),
                Cell(len(np.unique(units.rows[pairable]))),
                agreeing.cell(found, units, pairable),
            )
        )
    return Table(
        "alpha",
        "Do all judges agree?",
        (
            Column("kind", "about", "text"),
            Column("judges", "judges", "count"),
            Column("units", "items", "count", "Questions about, or ratings of, a draft that two judges or more gave."),
            Column("conversations", "n", "count", "Conversations that they are from."),
            Column("alpha", "Krippendorff α", "number", "1 is full agreement, 0 chance.", True, 2),
        ),
        tuple(rows),
        caption=f"Nominal α for yes/no, interval α for ratings; {agreeing.caption}.",
    )


def own_family(judge: str, model: str) -> bool:
    """Whether the names say that judge and model are one model, or of one vendor ("vendor/…"); no names are guessed."""
    vendors = {name.strip().lower().partition("/")[0] if "/" in name else None for name in (judge, model)}
    return is_same(model, judge) or is_same(judge, model) or (len(vendors) == 1 and None not in vendors)


def family_table(agreeing: Agreeing) -> Table | None:
    """What each judge gives its own family beyond what others give it, beside what it so gives others; None where no
    judge has models of its family and others."""
    ballots, rows = agreeing.ballots, []
    for place, judge in enumerate(ballots.judges):
        own = np.array([own_family(judge, model) for _, model, _ in ballots.groups], dtype=bool)
        if not own.any() or own.all() or len(ballots.judges) < 2:
            continue
        units, margin = _margin(agreeing, place)
        inside = own[units.groups]
        doubt = agreeing.doubt(units)
        sides = [np.where(side, margin, np.nan) for side in (inside, ~inside)]
        if any(np.isnan(side).all() for side in sides):
            continue
        nothing = np.zeros_like(margin)
        cells = [agreeing.cell(mean_difference(side, nothing, **doubt), units, ~np.isnan(side)) for side in sides]
        names = dict.fromkeys(label for label, mine in zip(ballots.labels, own, strict=True) if mine)
        drafts = [Cell(int((~np.isnan(side)).sum())) for side in sides]
        rows.append((text(judge), text(common.listed(list(names))), drafts[0], cells[0], drafts[1], cells[1]))
    if not rows:
        return None
    return Table(
        "family",
        "Do judges favour their own family?",
        (
            Column("judge", "judge", "text"),
            Column("models", "of its family", "text"),
            Column("own_drafts", "drafts", "count"),
            Column("own", "own family", "number", "Its mark minus the mean of the others', points of 1–7.", None, 2),
            Column("other_drafts", "drafts", "count"),
            Column("other", "other models", "number", "The same for models of other families.", None, 2),
        ),
        tuple(rows),
        caption="How much higher the judge rates a draft than the other judges of the same draft do. Families are told "
        f"by equal model names or an equal vendor before the “/” alone; {agreeing.caption}.",
    )


def _margin(agreeing: Agreeing, judge: int) -> tuple[Units, Floats]:
    """Per draft the judge's mean mark minus the mean mark of the others, over the dimensions that it rated."""
    units = next(iter(agreeing.ratings.values()))
    others = [place for place in range(len(agreeing.ballots.judges)) if place != judge]
    gaps = []
    for each in agreeing.ratings.values():
        theirs = each.values[:, others]
        counted = (~np.isnan(theirs)).sum(axis=1)
        gaps.append(each.values[:, judge] - np.nansum(theirs, axis=1) / np.where(counted > 0, counted, np.nan))
    stacked = np.stack(gaps)
    counted = (~np.isnan(stacked)).sum(axis=0)
    return units, np.nansum(stacked, axis=0) / np.where(counted > 0, counted, np.nan)


_WHO = (Column("judge", "judge", "text"), Column("other", "other judge", "text"))


def _pairs(ballots: Ballots) -> Sequence[tuple[int, int]]:
    return list(combinations(range(len(ballots.judges)), 2))


def _names(ballots: Ballots, one: int, other: int) -> tuple[Cell, Cell]:
    return text(ballots.judges[one]), text(ballots.judges[other])
