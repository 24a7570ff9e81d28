"""How far two sets of labels agree, kind by kind: yes/no labels, tags, winners, conversation-wide answers.

Reads the labels that scores keep. Which sets these are and what follows from it is for `label_sets`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np

from attunebench.analyses.base import Settings
from attunebench.analyses.table import Cell, Table, column, counts, known, table, words
from attunebench.analyses.verdicts import intervals_text
from attunebench.constants import BRANCHES, PANAS_ITEMS, Q2_OPTIONS, Q3_OPTIONS
from attunebench.scores import GroundTruthEntry
from attunebench.scores.table import ScoreTable, Side
from attunebench.statistics.agreement import Agreement, cohen_kappa, gwet_ac1, krippendorff_alpha, percent_agreement
from attunebench.statistics.bootstrap import resample_weights

_DRAWS = 2000
"""Agreement sums tables of all labels in each resample; so many settle two digits."""
Labels = Mapping[Hashable, Hashable]
"""What is labelled → its label."""


class Agreed(NamedTuple):
    """How two label sets agree on one kind of label; `units` labels of `n` conversations in both."""

    set_name: str
    kind: str
    units: int
    n: int
    percent: Cell
    kappa: Cell
    ac1: Cell
    alpha: Cell


def agreements(name: str, first: ScoreTable, other: ScoreTable, settings: Settings) -> list[Agreed]:
    """How two sets over the same conversations agree; nothing where one of them does not hold its labels."""
    truths = list(enumerate(zip(first.truths(), other.truths(), strict=True)))
    found = []
    for kind, (read, labels) in _KINDS.items():
        both = [(row, read(mine), read(theirs)) for row, (mine, theirs) in truths if mine and theirs]
        units = [(row, mine[unit], theirs[unit]) for row, mine, theirs in both for unit in mine if unit in theirs]
        if units:
            found.append(_agreed(name, first, kind, units, labels, settings))
    return found


def _agreed(
    name: str,
    study: ScoreTable,
    kind: str,
    units: Sequence[tuple[int, Hashable, Hashable]],
    labels: Sequence[Hashable],
    settings: Settings,
) -> Agreed:
    """Of labels given twice: (conversation, label, label)."""
    rows, a, b = (list(part) for part in zip(*units, strict=True))
    people, n = study.clusters[rows], len(set(rows))
    small = n < settings.small or len(np.unique(people)) < 2
    clusters = np.unique(people if settings.by_participant else rows, return_inverse=True)[1].reshape(-1)
    rng, resamples = settings.rng(f"label-sets {kind}"), min(settings.resamples, _DRAWS)
    draws = resample_weights(int(clusters.max()) + 1, resamples, rng)
    doubt: dict[str, Any] = {"draws": draws, "clusters": clusters.astype(np.intp), "confidence": settings.level}
    ordered = kind == _BRANCH_POINTS
    ratings = np.array([[labels.index(one), labels.index(other)] for one, other in zip(a, b, strict=True)], dtype=float)

    def cell(found: Agreement) -> Cell:
        return Cell(known(found.value), known(found.low), known(found.high), small=small)

    return Agreed(
        name,
        kind,
        len(units),
        n,
        cell(percent_agreement(a, b, **doubt)),
        cell(cohen_kappa(a, b, labels=labels, weights="quadratic" if ordered else None, **doubt)),
        Cell(None) if ordered else cell(gwet_ac1(a, b, labels=labels, **doubt)),
        cell(krippendorff_alpha(ratings, "interval" if ordered else "nominal", **doubt)),
    )


def _binary(side: Side) -> Callable[[GroundTruthEntry], Labels]:
    return lambda fact: {
        (turn["turnNumber"], place): letter
        for turn in fact["turns"]
        for place, letter in enumerate(turn[side])
        if letter in "yn"
    }


def _tags(fact: GroundTruthEntry) -> Labels:
    """Each of the twenty items in each tagged or neutral turn: felt or not."""
    felt = {t["turnNumber"]: {name.casefold() for name in t["tags"]} for t in fact["turns"] if t["tags"] is not None}
    return {(number, item): item.casefold() in names for number, names in felt.items() for item in PANAS_ITEMS}


def _winners(fact: GroundTruthEntry) -> Labels:
    return {
        (turn["turnNumber"], place): comparison[3]
        for turn in fact["turns"]
        for place, comparison in enumerate(turn["comparisons"])
        if comparison[3] in ("A", "B")
    }


def _choice(question: Literal["q2", "q3"], options: Sequence[str]) -> Callable[[GroundTruthEntry], Labels]:
    return lambda fact: {question: answer} if (answer := fact["wide"][question]) in options else {}


def _branches(fact: GroundTruthEntry) -> Labels:
    given = fact["wide"]["four_branch"]
    return {name: round(given[name]) for name in BRANCHES if name in given}


_BRANCH_POINTS = "four branches (1–7)"
_KINDS: Mapping[str, tuple[Callable[[GroundTruthEntry], Labels], Sequence[Hashable]]] = {
    "observed behaviour": (_binary("observed"), ("y", "n")),
    "preferred behaviour": (_binary("preferred"), ("y", "n")),
    "emotion tags": (_tags, (True, False)),
    "preferred reply": (_winners, ("A", "B")),
    "Q2 clarity": (_choice("q2", Q2_OPTIONS), Q2_OPTIONS),
    "Q3 fit": (_choice("q3", Q3_OPTIONS), Q3_OPTIONS),
    _BRANCH_POINTS: (_branches, tuple(range(1, 8))),
}


def agreement_table(agreed: Sequence[Agreed], settings: Settings) -> Table:
    """A row for each set and kind of label."""
    names, kinds, units, n, percent, kappa, ac1, alpha = zip(*agreed, strict=True)
    settings = replace(settings, resamples=min(settings.resamples, _DRAWS))
    return table(
        "agreement",
        "Do the labels agree?",
        words("labels", names, "other labels"),
        words("kind", kinds, "kind of label"),
        counts("units", units, "labels", "Single labels that both sets have."),
        counts("n", n, "conversations"),
        column("percent", percent, "agree", "share", "Share of the labels that are the same.", better=True),
        column("kappa", kappa, "Cohen κ", "number", "Low where one answer dominates.", better=True, digits=2),
        column("ac1", ac1, "Gwet AC1", "number", "Stable where one answer dominates.", better=True, digits=2),
        column("alpha", alpha, "Krippendorff α", "number", "For any number of raters.", better=True, digits=2),
        caption="Over the labels of the conversations in both sets; κ, AC1 and α are corrected for chance. Emotion "
        "tags are twenty yes/no labels in each turn, most of them no. Points use κ with quadratic weights and α for "
        f"intervals. {intervals_text(settings)}.",
    )
