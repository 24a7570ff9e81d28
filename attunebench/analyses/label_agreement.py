"""How far two sets of labels agree, kind by kind: yes/no labels, tags, winners, answers about the whole talk.

Reads the labels that scores keep. Which sets these are and what follows from it is for `label_sets`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attunebench.analyses import common
from attunebench.analyses.model import Cell, Column, Settings, Table, known, text
from attunebench.constants import BRANCHES, PANAS_ITEMS, Q2_OPTIONS, Q3_OPTIONS
from attunebench.scores import GroundTruthEntry
from attunebench.scores.table import ScoreTable
from attunebench.statistics.agreement import (
    Agreement,
    cohen_kappa,
    gwet_ac1,
    krippendorff_alpha,
    percent_agreement,
)
from attunebench.statistics.bootstrap import resample_weights

_DRAWS = 2000
"""Agreement sums tables of all labels in each resample; so many settle two digits."""


@dataclass(frozen=True)
class Agreed:
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
    facts = [
        (row, mine, theirs)
        for row, i in enumerate(first.ids)
        if (mine := first.ground_truth.get(i)) is not None and (theirs := other.ground_truth.get(i)) is not None
    ]
    found = []
    for kind, read, labels in _KINDS:
        units = [(row, a, b) for row, mine, theirs in facts for a, b in _matched(read(mine), read(theirs))]
        if units:
            found.append(_agreed(name, first, kind, units, labels, settings))
    return found


Labels = Mapping[Hashable, Hashable]
_Unit = tuple[int, Hashable, Hashable]


def _matched(mine: Labels, theirs: Labels) -> Iterator[tuple[Hashable, Hashable]]:
    """The labels of the units that both have."""
    for unit, label in mine.items():
        if unit in theirs:
            yield label, theirs[unit]


def _agreed(
    name: str, first: ScoreTable, kind: str, units: Sequence[_Unit], labels: Sequence[Hashable], settings: Settings
) -> Agreed:
    rows, a, b = (list(part) for part in zip(*units, strict=True))
    clusters = first.clusters[rows] if settings.by_participant else np.array(rows, dtype=np.intp)
    clusters = np.unique(clusters, return_inverse=True)[1].reshape(-1).astype(np.intp)
    draws = resample_weights(
        int(clusters.max()) + 1, min(settings.resamples, _DRAWS), settings.rng(f"label-sets {kind}")
    )
    n = len(set(rows))
    small = n < settings.small or len(set(first.clusters[rows].tolist())) < 2
    doubt = {"draws": draws, "clusters": clusters, "confidence": settings.level}
    ordered = kind in _ORDERED
    codes = {label: float(position) for position, label in enumerate(labels)}
    table = np.array([[codes[x], codes[y]] for x, y in zip(a, b, strict=True)])

    def cell(found: Agreement) -> Cell:
        return Cell(known(found.value), known(found.low), known(found.high), small=small)

    return Agreed(
        name,
        kind,
        len(units),
        n,
        cell(percent_agreement(a, b, **doubt)),  # type: ignore[arg-type]
        cell(cohen_kappa(a, b, labels=labels, weights="quadratic" if ordered else None, **doubt)),  # type: ignore[arg-type]
        Cell(None) if ordered else cell(gwet_ac1(a, b, labels=labels, **doubt)),  # type: ignore[arg-type]
        cell(krippendorff_alpha(table, "interval" if ordered else "nominal", **doubt)),  # type: ignore[arg-type]
    )


def _binary(side: str) -> Callable[[GroundTruthEntry], Labels]:
    def read(fact: GroundTruthEntry) -> Labels:
        return {
            (turn["turnNumber"], place): letter
            for turn in fact["turns"]
            for place, letter in enumerate(turn["observed"] if side == "observed" else turn["preferred"])
            if letter in "yn"
        }

    return read


def _tags(fact: GroundTruthEntry) -> Labels:
    """Each of the twenty items in each tagged or neutral turn: felt or not."""
    return {
        (turn["turnNumber"], item): item.casefold() in {name.casefold() for name in turn["tags"]}
        for turn in fact["turns"]
        if turn["tags"] is not None
        for item in PANAS_ITEMS
    }


def _winners(fact: GroundTruthEntry) -> Labels:
    return {
        (turn["turnNumber"], place): comparison[3]
        for turn in fact["turns"]
        for place, comparison in enumerate(turn["comparisons"])
        if comparison[3] in ("A", "B")
    }


def _choice(question: str, options: Sequence[str]) -> Callable[[GroundTruthEntry], Labels]:
    def read(fact: GroundTruthEntry) -> Labels:
        answer = fact["wide"]["q2"] if question == "q2" else fact["wide"]["q3"]
        return {question: answer} if answer in options else {}

    return read


def _branches(fact: GroundTruthEntry) -> Labels:
    return {name: round(fact["wide"]["four_branch"][name]) for name in BRANCHES if name in fact["wide"]["four_branch"]}


_BRANCH_POINTS = "four branches (1–7)"
_ORDERED = frozenset((_BRANCH_POINTS,))
_KINDS: tuple[tuple[str, Callable[[GroundTruthEntry], Labels], Sequence[Hashable]], ...] = (
    ("observed behaviour", _binary("observed"), ("y", "n")),
    ("preferred behaviour", _binary("preferred"), ("y", "n")),
    ("emotion tags", _tags, (True, False)),
    ("preferred reply", _winners, ("A", "B")),
    ("Q2 clarity", _choice("q2", Q2_OPTIONS), Q2_OPTIONS),
    ("Q3 fit", _choice("q3", Q3_OPTIONS), Q3_OPTIONS),
    (_BRANCH_POINTS, _branches, tuple(range(1, 8))),
)


def agreement_table(found: Sequence[Agreed], settings: Settings) -> Table:
    return Table(
        "agreement",
        "Do the labels agree?",
        (
            Column("labels", "other labels", "text"),
            Column("kind", "kind of label", "text"),
            Column("units", "labels", "count", "Single labels that both sets have."),
            Column("n", "conversations", "count"),
            Column("percent", "agree", "share", "Share of the labels that are the same.", True),
            Column("kappa", "Cohen κ", "number", "Beyond chance; low where one answer dominates.", True, 2),
            Column("ac1", "Gwet AC1", "number", "Beyond chance, and steady where one answer dominates.", True, 2),
            Column("alpha", "Krippendorff α", "number", "Beyond chance, for any number of raters.", True, 2),
        ),
        tuple(
            (
                text(row.set_name),
                text(row.kind),
                Cell(row.units),
                Cell(row.n),
                row.percent,
                row.kappa,
                row.ac1,
                row.alpha,
            )
            for row in found
        ),
        caption="Over the labels of the conversations in both sets; emotion tags are twenty yes/no labels in each "
        "turn, most of them no. Points use κ with quadratic weights and α for intervals. "
        f"{common.intervals_text(replace(settings, resamples=min(settings.resamples, _DRAWS)))}.",
    )
