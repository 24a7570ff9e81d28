"""Which emotions are taken for which: felt items beside the predicted ones that they were matched with.

Counts, matches and what chance would match come from `tag_pairs`; here they become rates with their doubt.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from attunebench.analyses import within
from attunebench.analyses.base import Subject, best_first, drill_to
from attunebench.analyses.sampling import CORRECTIONS, Sampling, beyond_reach, plain_correction
from attunebench.analyses.table import Analysis, Cell, Chart, Drill, Missing, Table, column, counts, known, table, words
from attunebench.analyses.tag_pairs import TagPairs, tag_pairs
from attunebench.analyses.verdicts import claims_sentence, counted, intervals_text, range_text, reach_text
from attunebench.constants import PANAS_ITEMS
from attunebench.scores.table import ScoreTable
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.multiple import adjust

_NAME = "emotion-confusion"


def analyse(subject: Subject) -> Analysis:
    """Rates per item, the matrix of felt and predicted items, and pairs that are more frequent than chance."""
    study, sampling = within.scored_models(subject)
    settings = sampling.settings
    pairs = tag_pairs(study, settings.rng(_NAME))
    if not pairs.felt.any() and not pairs.predicted.any():
        raise Missing(within.NO_LABELS if not study.ground_truth else "No turn has a tag, of the person or of a model.")
    look = _Look(study, pairs, sampling)
    items, f1 = look.items()
    substitutions, excess = look.substitutions()
    span = range_text(one for one in f1 if not one[1].small)
    tests = sum(cell.p is not None for _, cell in excess)
    tables = (items, look.matrix(), *substitutions, look.scores(), look.by_model(), *look.model_substitutions())
    return Analysis(
        tables=tables,
        shows=(f"F1 ranges from {span}. " if span else "")
        + claims_sentence(excess, settings, noun="substitution", of="compared with chance"),
        cannot="Tags are matched by nearness, so a substitution is always the nearest name that was left, and near "
        "names are matched with each other first. A person who tags “upset” may have meant “distressed”: some of this "
        "is how people use words.",
        warnings=reach_text(np.full(tests, sampling.least), settings, together=False),
        notes=(f"{counted(pairs.unanswered, 'unanswered turn')} left out.",) if pairs.unanswered else (),
    )


class _Look:
    """Tables of items and pairs, over all models (counts summed) and for each."""

    def __init__(self, study: ScoreTable, pairs: TagPairs, sampling: Sampling):
        self.study, self.pairs, self.sampling = study, pairs, sampling
        self.felt, self.predicted, self.missed, self.invented, self.right = (
            part.sum(axis=2) for part in (pairs.felt, pairs.predicted, pairs.missed, pairs.invented, pairs.right)
        )
        self.matched = pairs.matched.sum(axis=3)
        self.where = f"{within.turns_text(study)}, {counted(len(study.groups), 'model')}"
        self.intervals = intervals_text(sampling.settings)

    def items(self) -> tuple[Table, list[tuple[str, Cell]]]:
        """What becomes of felt and of predicted tags, best F1 first; and F1 by item."""
        taken = self.matched.sum(axis=2) - self.right
        recall, another, missed = (self._rates(part, self.felt) for part in (self.right, taken, self.missed))
        precision, invented = (self._rates(part, self.predicted) for part in (self.right, self.invented))
        drills = [Drill(metric="emotion_f1")] * len(PANAS_ITEMS)
        f1 = within.rate_cells(self.sampling, 2 * self.right, self.felt + self.predicted, drills)
        made = table(
            "items",
            "Items over all models",
            words("item", PANAS_ITEMS),
            counts("n", (self.felt > 0).sum(axis=0), "conversations", "Conversations in which it was felt."),
            counts("felt", _totals(self.felt), meaning="Tags of people, counted for each model."),
            counts("predicted", _totals(self.predicted), meaning="Tags of models."),
            column("recall", recall, "found (recall)", "share", "Of felt tags: named.", better=True),
            column("taken", another, "taken for another", "share", "Of felt tags: matched with another.", better=False),
            column("missed", missed, "missed", "share", "Of felt tags: matched with nothing.", better=False),
            column("precision", precision, "right (precision)", "share", "Of predicted tags: felt.", better=True),
            column("invented", invented, "", "share", "Of predicted tags: matched with nothing.", better=False),
            column("f1", f1, "F1", "share", "2 × found / (felt + predicted).", better=True),
            order=best_first(f1),
            caption=f"{self.where}; tags summed over models, unanswered turns left out. {self.intervals}.",
            chart=Chart(
                "bars", "item", ("recall", "taken", "missed"), "What becomes of felt tags", "share of felt tags"
            ),
        )
        return made, list(zip(PANAS_ITEMS, f1, strict=True))

    def _rates(self, above: Floats, below: Floats) -> list[Cell]:
        return within.rate_cells(self.sampling, above, below)

    def matrix(self) -> Table:
        """Felt items × predicted items, in shares of the felt tags; the last row has the tags that nobody felt."""
        of = np.column_stack([self.felt, self.invented.sum(axis=1)])
        invented = np.append(self.invented.sum(axis=0), np.nan)
        tags = np.vstack([np.column_stack([self.matched.sum(axis=0), self.missed.sum(axis=0)]), invented])
        n = (of > 0).sum(axis=0)
        nothing = np.zeros(len(of))
        small = [
            bool(part.any()) and within.is_small(self.study, nothing, part, self.sampling.settings)
            for part in (of > 0).T
        ]
        shares = within.ratio(tags, of.sum(axis=0)[:, None])
        cells = [
            [
                Cell(known(shares[i, j]), n=int(n[i]), small=small[i], drill=self._drill(i, j) if tags[i, j] else None)
                for j in range(shares.shape[1])
            ]
            for i in range(len(shares))
        ]
        cells[-1][-1] = Cell(None)
        ids = (*(f"as_{item}" for item in PANAS_ITEMS), "missed")
        return table(
            "matrix",
            "Felt against predicted, all models",
            words("felt", (*PANAS_ITEMS, "(not felt)")),
            counts("n", n, "conversations"),
            counts("tags", _totals(of)),
            *(
                column(id, of, id.removeprefix("as_"), "share", better=None if id != "missed" else False, digits=2)
                for id, of in zip(ids, zip(*cells, strict=True), strict=True)
            ),
            caption=f"{self.where}. Rows add up to 1: shares of the felt tags of an item; in the last row of all "
            "predicted tags that were matched with nothing. Intervals are in the tables of items and of pairs.",
            chart=Chart("matrix", "felt", ids, "Felt (rows) against predicted (columns)", "share of felt tags"),
        )

    def _drill(self, i: int, j: int, model: int | None = None) -> Drill | None:
        """The turns of a pair; nothing for what was matched with nothing."""
        if max(i, j) >= len(PANAS_ITEMS):
            return None
        models = range(len(self.study.groups)) if model is None else (model,)
        rows = sorted({row for m in models for row in self.pairs.turns.get((m, i, j), ())})
        key = None if model is None else self.study.groups[model].key
        return Drill(key, metric="emotion_va", turns=within.turns_of(self.study, rows))

    def substitutions(self) -> tuple[list[Table], list[tuple[str, Cell]]]:
        """Pairs that occur, frequent first, with their excess over chance; nothing where there is none."""
        settings, totals = self.sampling.settings, self.matched.sum(axis=0)
        found = [(int(i), int(j)) for i, j in np.argwhere(totals > 0) if i != j]
        if not found:
            return [], []
        found.sort(key=lambda pair: (-totals[pair], pair))
        felt_items, predicted_items = (np.array([pair[side] for pair in found]) for side in (0, 1))
        observed, dealt = (
            part[:, felt_items, predicted_items] for part in (self.matched, self.pairs.dealt.sum(axis=3))
        )
        felt = self.felt[:, felt_items]
        shares = within.rate_cells(self.sampling, observed, felt, [self._drill(*pair) for pair in found])
        excess = self._rates(observed - dealt, felt)
        tests = self.sampling.tests(_NAME, np.where(felt > 0, observed, np.nan), np.where(felt > 0, dealt, np.nan))
        # A pair on too few conversations is not tested, and costs the others nothing.
        few = np.array([cell.small for cell in excess]) | beyond_reach(tests.least, settings, together=False)
        p = np.where(few, np.nan, tests.p)
        tested = [
            replace(cell, small=bool(few[k]), p=known(p[k]), p_corrected=known(corrected))
            for k, (cell, corrected) in enumerate(zip(excess, adjust(p, plain_correction(settings)), strict=True))
        ]
        names = [(PANAS_ITEMS[i], PANAS_ITEMS[j]) for i, j in found]
        made = table(
            "pairs",
            "Taken for another",
            words("felt", [felt for felt, _ in names]),
            words("predicted", [predicted for _, predicted in names]),
            counts("n", [cell.n for cell in shares], "conversations", "Conversations in which the former was felt."),
            counts("tags", _totals(observed), meaning="Tags matched so, over models."),
            column("share", shares, "of felt tags", "share", "Share of the felt tags.", better=False),
            column("excess", tested, "beyond chance", "share", "Minus the share where names are dealt to other turns."),
            caption=f"{self.where}; frequent first. Chance: the names that were not felt, dealt to turns at random and "
            f"matched anew. {self.intervals}; p by sign-flip permutation, corrected "
            f"({CORRECTIONS[plain_correction(settings)]}) over {counted(int((~np.isnan(p)).sum()), 'pair')}.",
        )
        return [made], [(" → ".join(pair), cell) for pair, cell in zip(names, tested, strict=True)]

    def scores(self) -> Table:
        """F1 of each item for each model."""
        flat, groups = (len(self.study.ids), -1), self.study.groups
        above, below = 2 * self.pairs.right, self.pairs.felt + self.pairs.predicted
        drills = [drill_to(group, "emotion_f1") for _ in PANAS_ITEMS for group in groups]
        cells = within.rate_cells(self.sampling, above.reshape(flat), below.reshape(flat), drills)
        return table(
            "f1",
            "F1 by item and model",
            words("item", PANAS_ITEMS),
            *within.model_columns(self.study, within.in_rows(cells, len(groups)), "F1 of the item."),
            caption=f"{self.where}; n counts conversations in which the item was felt or predicted. {self.intervals}.",
            chart=Chart("heatmap", "item", within.model_ids(self.study), "F1 by emotion and model", "F1"),
        )

    def by_model(self) -> Table:
        """Precision and recall of each item for each model, as far as it was felt or predicted."""
        felt, predicted, right, missed, invented = (
            part.reshape(len(self.study.ids), -1)
            for part in (
                self.pairs.felt,
                self.pairs.predicted,
                self.pairs.right,
                self.pairs.missed,
                self.pairs.invented,
            )
        )
        return table(
            "by-model",
            "Items by model",
            words("item", [item for item in PANAS_ITEMS for _ in self.study.groups]),
            words("model", self.study.labels * len(PANAS_ITEMS)),
            counts("felt", _totals(felt), meaning="Tags of people."),
            counts("predicted", _totals(predicted), meaning="Tags of the model."),
            counts("right", _totals(right), meaning="Felt and predicted."),
            counts("missed", _totals(missed), meaning="Felt, and matched with nothing."),
            counts("invented", _totals(invented), meaning="Predicted, and matched with nothing."),
            column("recall", self._rates(right, felt), "found (recall)", "share", "Of felt tags.", better=True),
            column(
                "precision", self._rates(right, predicted), "right (precision)", "share", "Of predicted.", better=True
            ),
            order=np.flatnonzero((felt + predicted).any(axis=0)).tolist(),
            caption=f"{self.where}; n of a rate: conversations with such a tag. {self.intervals}.",
        )

    def model_substitutions(self) -> list[Table]:
        """The substitutions of each model, frequent first; nothing where none occurs in two conversations."""
        matched = self.pairs.matched
        conversations, totals = (matched > 0).sum(axis=0), matched.sum(axis=0)
        places = [(int(i), int(j), int(m)) for i, j, m in np.argwhere(conversations > 1) if i != j]
        if not places:
            return []
        places.sort(key=lambda place: (place[2], -totals[place], place))
        i, j, m = (np.array(part) for part in zip(*places, strict=True))
        drills = [self._drill(*place) for place in places]
        shares = within.rate_cells(self.sampling, matched[:, i, j, m], self.pairs.felt[:, i, m], drills)
        return [
            table(
                "model-pairs",
                "Taken for another, by model",
                words("model", [self.study.labels[model] for model in m]),
                words("felt", [PANAS_ITEMS[item] for item in i]),
                words("predicted", [PANAS_ITEMS[item] for item in j]),
                counts("n", conversations[i, j, m], "conversations", "Conversations in which this happens."),
                counts("tags", _totals(matched[:, i, j, m]), meaning="Tags matched so."),
                column("share", shares, "of felt tags", "share", "Share of the felt tags.", better=False),
                caption=f"{self.where}; pairs that occur in two conversations or more. Counts are small for single "
                f"models: read them with the table over all models. {self.intervals}.",
            )
        ]


def _totals(tags: Floats) -> list[int]:
    """The sum of each column of counts, which epochs make fractions."""
    return [round(float(total)) for total in tags.sum(axis=0)]
