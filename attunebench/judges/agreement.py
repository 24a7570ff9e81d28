"""How far judges agree about the same drafts: pair by pair, all together, and on models of their own family.

What is resampled is conversations (or participants), since the answers about one conversation are correlated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from attunebench.analyses.base import Settings
from attunebench.analyses.sampling import mean_of
from attunebench.analyses.table import Cell, Filled, Table, cell_of, column, counts, table, words
from attunebench.analyses.verdicts import intervals_text, listed
from attunebench.judges.ballots import Ballots, Draft
from attunebench.protocol.calls import RATINGS
from attunebench.results.schema import is_same
from attunebench.statistics import agreement
from attunebench.statistics.agreement import Agreement, Scale
from attunebench.statistics.bootstrap import Floats, Labels, Resampling, resample_weights
from attunebench.statistics.rank_tests import spearman

_DRAWS = 2000
"""Agreement sums tables of all ratings in each resample; so many settle two digits."""
_CODES = {"yes": 1.0, "no": 0.0}
_PAIR = (words("judge"), words("other", label="other judge"))
_OF_CONVERSATIONS = counts("conversations", (), "n", "Number of conversations.")


class Items(NamedTuple):
    """What judges were asked, of one kind or several: `values` (kinds, items, judges), NaN not answered; and of which
    conversation and group each item is."""

    values: Floats
    rows: Labels
    groups: Labels

    @classmethod
    def of(cls, drafts: Sequence[Draft], values: list[Any], judges: int, kinds: int) -> Items:
        """An item for each of these drafts, of each judge a value of each kind."""
        rows, groups = (np.array([getattr(d, name) for d in drafts], dtype=np.intp) for name in ("row", "group"))
        table = np.array(values, dtype=np.float64).reshape(len(drafts), judges, kinds)
        return cls(np.moveaxis(table, 2, 0), rows, groups)


def ratings_of(ballots: Ballots) -> Items:
    """The ratings in each dimension, an item for each draft that anybody rated."""
    drafts = [draft for draft in ballots.drafts if any(vote.ratings for vote in draft.votes.values())]
    given = [[d.votes[judge].ratings if judge in d.votes else {} for judge in ballots.judges] for d in drafts]
    values = [[[one.get(name) for name in RATINGS] for one in each] for each in given]
    return Items.of(drafts, values, len(ballots.judges), len(RATINGS))


def answers_of(ballots: Ballots) -> Items:
    """The yes/no answers as 1 and 0, an item for each question on a draft that anybody answered."""
    drafts, values = list[Draft](), list[Any]()
    for draft in ballots.drafts:
        given = [draft.votes[judge].answers if judge in draft.votes else {} for judge in ballots.judges]
        for question in dict.fromkeys(question for answers in given for question in answers):
            drafts.append(draft)
            values.append([_CODES.get(answers.get(question, "")) for answers in given])
    return Items.of(drafts, values, len(ballots.judges), 1)


class Agreeing:
    """The items of ballots of two judges or more, and how coefficients over them get their intervals."""

    def __init__(self, ballots: Ballots, settings: Settings) -> None:
        self.ballots, self.answers, self.ratings = ballots, answers_of(ballots), ratings_of(ballots)
        self.settings = replace(settings, resamples=min(settings.resamples, _DRAWS))
        self.clusters = ballots.people if settings.by_participant else np.arange(len(ballots.ids), dtype=np.intp)
        units = int(self.clusters.max()) + 1
        self.draws = resample_weights(units, self.settings.resamples, settings.rng("judges agree"))
        self.how = intervals_text(self.settings)

    def cell(self, coefficient: Callable[..., Agreement], rows: Labels, there: Any, *values: Any) -> Cell:
        """A coefficient of these values with its interval; `rows` are their conversations, `there` those that count."""
        found = coefficient(*values, resampling=Resampling(self.draws, self.clusters[rows], self.settings.level))
        chosen = np.unique(rows[there])
        few = len(chosen) < self.settings.small or len(np.unique(self.ballots.people[chosen])) < 2
        return cell_of(found.value, found.low, found.high, small=bool(few) and found.n > 0)

    def pairs(self, items: Items, *coefficients: Callable[..., Agreement]) -> Iterator[list[Any]]:
        """A row for each two judges: who, of how many items and conversations, the coefficients, and their means.

        Of several kinds the mean over those that both judges gave counts.
        """
        rows = items.rows
        for pair in combinations(range(len(self.ballots.judges)), 2):
            given = items.values[:, :, pair]
            given[np.isnan(given).any(axis=2)] = np.nan
            a, b = values = mean_of(list(given)).T
            both = ~np.isnan(a)
            means = values[:, both].mean(axis=1) if both.any() else (None, None)
            cells = [self.cell(coefficient, rows, both, a, b) for coefficient in coefficients]
            names = [self.ballots.judges[judge] for judge in pair]
            yield [*names, int(both.sum()), len(np.unique(rows[both])), *cells, *means]

    def tables(self) -> list[Table]:
        """All tables that have something to say."""
        made = (self._answers(), self._ratings(), self._alpha(), self._family())
        return [table for table in made if table.rows]

    def _answers(self) -> Table:
        """Every pair of judges on the yes/no questions."""
        kappa, ac1 = (partial(one, labels=len(_CODES)) for one in (agreement.cohen_kappa, agreement.gwet_ac1))
        return table(
            "answers",
            "Do judges answer alike about drafts?",
            *_PAIR,
            counts("answers", (), "", "Yes/no questions that both judges answered."),
            _OF_CONVERSATIONS,
            column("same", (), "agree", "share", "Share of equal answers.", better=True),
            _coefficient("kappa", "Cohen κ", "Cohen's κ; low if one answer dominates."),
            _coefficient("ac1", "Gwet AC1", "Gwet's AC1; stable if one answer dominates."),
            column("yes_one", (), "yes of the one", "share", "Share of yes among the first judge's answers."),
            column("yes_other", (), "of the other", "share", "Share of yes among the second judge's answers."),
            rows=self.pairs(self.answers, agreement.percent_agreement, kappa, ac1),
            caption=f"Over the drafts of all models and modes; {self.how}.",
        )

    def _ratings(self) -> Table:
        """Every pair of judges on the ratings: per draft the mean of the dimensions that both rated."""
        pairs = self.pairs(self.ratings, spearman, agreement.mean_difference)
        return table(
            "marks",
            "Do judges rate drafts alike?",
            *_PAIR,
            counts("drafts", (), "", "Drafts that both judges rated."),
            _OF_CONVERSATIONS,
            _coefficient("spearman", "Spearman ρ", "Spearman's ρ between the two judges' ratings."),
            column("difference", meaning="Mean of first judge minus second, in points from 1 to 7.", digits=2),
            rows=[row[:-2] for row in pairs],
            caption="A draft's rating is the mean of the dimensions that both judges rated, 1–7; over the drafts of "
            f"all models and modes; {self.how}.",
        )

    def _alpha(self) -> Table:
        """Krippendorff's α over all judges at once."""
        ratings, rows_of = self.ratings.values, self.ratings.rows
        kinds: list[tuple[str, Floats, Labels, Scale]] = [
            ("yes/no questions", self.answers.values[0], self.answers.rows, "nominal"),
            ("ratings", ratings.reshape(-1, ratings.shape[2]), np.tile(rows_of, len(ratings)), "interval"),
            *((name.replace("_", " "), one, rows_of, "interval") for name, one in zip(RATINGS, ratings, strict=True)),
        ]
        rows = []
        for name, values, of, level in kinds:
            given = ~np.isnan(values)
            pairable = given.sum(axis=1) > 1
            alpha = self.cell(partial(agreement.krippendorff_alpha, level=level), of, pairable, values)
            judges = given[pairable].any(axis=0).sum()
            rows.append((name, judges, pairable.sum(), len(np.unique(of[pairable])), alpha))
        return table(
            "alpha",
            "Do all judges agree?",
            words("kind", label="about"),
            counts("judges"),
            counts("units", (), "items", "Answers or ratings given by at least two judges."),
            _OF_CONVERSATIONS,
            _coefficient("alpha", "Krippendorff α", "1 is full agreement, 0 agreement by chance."),
            rows=rows,
            caption=f"Nominal α for yes/no, interval α for ratings; {self.how}.",
        )

    def _family(self) -> Table:
        """How much more than the other judges each judge gives its own family, and the others; a row for each judge
        that has models of its family and others."""
        ballots, rows = self.ballots, []
        ratings, of, groups = self.ratings
        for place, judge in enumerate(ballots.judges):
            own = np.array([own_family(judge, model) for _, model, _ in ballots.groups], dtype=bool)
            others = mean_of(list(np.moveaxis(np.delete(ratings, place, axis=2), 2, 0)))
            margin = mean_of(list(ratings[..., place] - others))
            row: list[Any] = [judge, listed(list(dict.fromkeys(np.array(ballots.labels)[own].tolist())))]
            for side in (own[groups], ~own[groups]):
                inside = np.where(side, margin, np.nan)
                there = ~np.isnan(inside)
                row += [there.sum(), self.cell(agreement.mean_difference, of, there, inside, np.zeros_like(inside))]
            if row[2] and row[4]:
                rows.append(row)
        return table(
            "family",
            "Do judges favour models of their own family?",
            words("judge"),
            words("models", label="of its family"),
            counts("own_drafts", (), "drafts"),
            column(
                "own",
                (),
                "own family",
                meaning="The judge's rating minus the other judges' mean, in points from 1 to 7.",
                digits=2,
            ),
            counts("other_drafts", (), "drafts"),
            column("other", (), "other models", meaning="The same for models of other families.", digits=2),
            rows=rows,
            caption="Difference between the judge's rating and those of the other judges of the same draft. Families "
            f"are recognised only by equal model names or an equal vendor before the “/”; {self.how}.",
        )


def _coefficient(id: str, label: str, meaning: str) -> Filled:
    return column(id, (), label, meaning=meaning, better=True, digits=2)


def own_family(judge: str, model: str) -> bool:
    """Whether the names say that judge and model are one model, or of one vendor ("vendor/…"); no names are guessed."""
    vendors = {name.strip().lower().partition("/")[0] if "/" in name else None for name in (judge, model)}
    return is_same(model, judge) or is_same(judge, model) or (len(vendors) == 1 and None not in vendors)
