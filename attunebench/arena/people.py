"""How often replies of people win against those of models (spec 10.3, item 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunebench.analyses.sampling import cells_of
from attunebench.analyses.table import (
    Analysis,
    Cell,
    Chart,
    Drill,
    Missing,
    Table,
    column,
    counts,
    table,
    words,
)
from attunebench.analyses.verdicts import listed, with_interval
from attunebench.arena.contests import best_first
from attunebench.arena.folder import Arena
from attunebench.arena.objects import ADVERSARIAL, DIMENSIONS, REGULAR
from attunebench.arena.sampling import (
    ArenaSettings,
    Draws,
    RaterGroup,
    Ties,
    interval_of,
    intervals_text,
    leading_groups,
    rater_groups,
    size_text,
)
from attunebench.arena.table import VerdictTable
from attunebench.statistics.bootstrap import Floats, Labels, ratio
from attunebench.statistics.contrasts import group_difference
from attunebench.statistics.multiple import adjust
from attunebench.statistics.paired import paired_tests

ALL = "all models"
_MODELS = ("model", "original", "alternate")
"""Kinds that are a model's own words. What a person has edited stands apart and is in no sum."""
_OUTCOMES = {"win": "people win", "tie": "tie", "loss": "models win"}
_EVEN = {"even": 0.5}
_ALPHA = 0.05


def people(_arena: Arena, verdicts: VerdictTable, settings: ArenaSettings) -> Analysis:
    """Wins, ties and losses of people against models: overall, by model, by dimension and by slice."""
    if "human" not in verdicts.kinds:
        raise Missing("This arena has no replies by people.")
    groups = [(group, Duels.of(group.table, settings)) for group in rater_groups(verdicts, settings)]
    groups = [(group, duels) for group, duels in groups if len(duels.table)]
    if not groups:
        raise Missing("No verdict compares a reply by a person with one by a model.")
    leading = leading_groups([group for group, _ in groups])
    chosen = [(group, duels) for group, duels in groups if group in leading]
    slices = _slices(chosen)
    tables = (_overall(groups), _models(chosen), _dimensions(chosen, settings), slices)
    first, duels = groups[0]
    return Analysis(
        shows=" ".join((*(_sentence(group, each) for group, each in chosen), *_interaction(slices))),
        cannot="A win says which of two replies was preferred, not by how much. People and models are those of this "
        "arena; nothing follows for other people or models.",
        tables=tuple(one for one in tables if one.rows),
        notes=(
            f"The Elo difference is 400 · log₁₀ of people's odds, {_TIES[settings.ties]}.",
            intervals_text(first.table, settings),
            *(("Edited replies of models stand apart and are not among “all models”.",) if duels.edited else ()),
        ),
    )


_TIES = {"half": "ties as half wins", "dropped": "without ties", "davidson": "without ties, as in Davidson's model"}


def elo_difference(ties: Ties, win: Floats, tie: Floats, loss: Floats) -> Floats:
    """Elo points that a side with these wins, ties and losses is ahead; NaN where it won, or lost, everything."""
    part = tie / 2 if ties == "half" else np.zeros_like(tie)
    odds = ratio(win + part, loss + part)
    return 400 * np.log10(np.where(odds > 0, odds, np.nan))


def decided(win: Floats, _tie: Floats, loss: Floats) -> Floats:
    """The share of wins where one side won."""
    return ratio(win, win + loss)


@dataclass(frozen=True)
class Duels:
    """Verdicts on pairs of a person and a model. `outcome` is 1 where the person won, −1 where the model did; `model`
    is a place in `models`, of which `edited` are not in the sum."""

    table: VerdictTable
    outcome: Floats
    model: Labels
    models: tuple[str, ...]
    edited: frozenset[int]
    settings: ArenaSettings

    @classmethod
    def of(cls, verdicts: VerdictTable, settings: ArenaSettings) -> Duels:
        kinds = np.array(verdicts.kinds)
        human, other = kinds == "human", kinds != "human"
        left = human[verdicts.left] & other[verdicts.right]
        rows = left | (human[verdicts.right] & other[verdicts.left])
        met = verdicts.where(rows)
        model = np.where(left[rows], met.right, met.left)
        there = np.unique(model)
        return cls(
            met,
            np.where(left[rows], met.winner, -met.winner),
            np.searchsorted(there, model),
            tuple(verdicts.authors[place] for place in there),
            frozenset(at for at, place in enumerate(there.tolist()) if verdicts.kinds[place] not in _MODELS),
            settings,
        )

    def in_slice(self, name: str) -> Duels:
        """Those in one slice; the models stay."""
        rows = (np.array(self.table.slices) == name)[self.table.history]
        return replace(self, table=self.table.where(rows), outcome=self.outcome[rows], model=self.model[rows])

    @cached_property
    def names(self) -> tuple[str, ...]:
        """All models together and each of them, as columns of what follows."""
        return (ALL, *self.models)

    def with_sum(self, of_each: Floats) -> Floats:
        """(…, models, …) with the sum over all models, which is the first: along the second axis."""
        summed = [at for at in range(len(self.models)) if at not in self.edited]
        return np.concatenate([np.asarray(of_each[:, summed].sum(axis=1, keepdims=True)), of_each], axis=1)

    @cached_property
    def columns(self) -> Labels:
        """Where each verdict counts: wins, ties and losses of each model."""
        return np.asarray(3 * self.model + (1 - self.outcome).astype(np.intp), dtype=np.intp)

    @cached_property
    def whole(self) -> Floats:
        """Wins, ties and losses of people: (all models and each, 3)."""
        sums = np.bincount(self.columns, minlength=3 * len(self.models)).astype(np.float64)
        return np.asarray(self.with_sum(sums.reshape(1, -1, 3))[0])

    @cached_property
    def samples(self) -> Floats:
        """The same in each resample: (resamples, all models and each, 3)."""
        draws, ones = Draws(self.table, self.settings), np.ones((len(self.table), 1))
        drawn = np.concatenate(list(draws.tallies(self.columns[:, None], ones, 3 * len(self.models))))
        return self.with_sum(drawn.reshape(len(drawn), -1, 3))

    @cached_property
    def by_history(self) -> Floats:
        """The same of each history: (histories, all models and each, 3)."""
        width = 3 * len(self.models)
        places = self.table.history * width + self.columns
        sums = np.bincount(places, minlength=width * len(self.table.histories)).astype(np.float64)
        return np.asarray(self.with_sum(sums.reshape(-1, len(self.models), 3)))

    @cached_property
    def histories(self) -> Labels:
        """In how many histories there are verdicts."""
        return np.asarray((self.by_history.sum(axis=2) > 0).sum(axis=0), dtype=np.intp)

    @cached_property
    def small(self) -> NDArray[np.bool_]:
        """What is over too few histories for a claim."""
        return np.asarray(self.histories < self.settings.small)

    @cached_property
    def p(self) -> Floats:
        """That people win as often as they lose: whole histories change sides."""
        there = self.by_history.sum(axis=2) > 0
        win, loss = (np.where(there, self.by_history[:, :, at], np.nan) for at in (0, 2))
        return paired_tests(win, loss, rng=self.settings.rng("people"), resamples=1, joint=False).p

    def corrected(self) -> Floats:
        """p, that of single models corrected for their number."""
        return np.concatenate([self.p[:1], adjust(self.p[1:], "holm")])

    def drills(self, *where: tuple[str, str]) -> list[Drill | None]:
        named = [("kind", "human")]
        return [
            Drill(where=(*named, *((("against", name),) if at else ()), *where)) for at, name in enumerate(self.names)
        ]

    def cells(self, corrected: Floats | None, *where: tuple[str, str]) -> list[list[Cell]]:
        """Of all models and each: shares of wins, ties and losses, the share of decided pairs, the Elo difference.

        `corrected`: p of the share of decided pairs, where it is tested.
        """
        drills, n = self.drills(*where), self.whole.sum(axis=1).astype(np.int64)
        units, few = self.histories, self.small

        def shown(values: Floats, samples: Floats, over: NDArray[np.int64], p: Floats | None = None) -> list[Cell]:
            ends = interval_of(samples, units, self.settings)
            tested = None if p is None else self.p
            return cells_of(values, *ends, over, few, drills, p=tested, p_corrected=p, units=units)

        whole, drawn = np.moveaxis(self.whole, -1, 0), np.moveaxis(self.samples, -1, 0)
        columns = [
            shown(ratio(part, n), ratio(own, drawn.sum(axis=0)), n) for part, own in zip(whole, drawn, strict=True)
        ]
        share, own = (decided(*of) for of in (whole, drawn))
        columns.append(shown(share, own, n - whole[1].astype(np.int64), corrected))
        points, own = (elo_difference(self.settings.ties, *of) for of in (whole, drawn))
        columns.append(shown(points, own, n))
        return [list(row) for row in zip(*columns, strict=True)]


Rated = Sequence[tuple[RaterGroup, Duels]]


def people_win(cell: Cell) -> int:
    """1 where people win significantly more often than models, −1 where they lose, 0 where neither is sure."""
    p = cell.p if cell.p_corrected is None else cell.p_corrected
    if cell.low is None or cell.high is None or cell.small or p is None or p > _ALPHA:
        return 0
    return int(cell.low > 0.5) - int(cell.high < 0.5)


def _shares_table(
    id: str, title: str, keys: Sequence[str], rows: Iterable[Sequence[Any]], caption: str, *, lead: bool = False
) -> Table:
    """A table whose rows are text for each of the `keys`, numbers of verdicts and histories, and `Duels.cells`."""
    across = keys[0] if len(keys) > 1 else ""
    return table(
        id,
        title,
        *map(words, keys),
        counts("verdicts"),
        counts("histories"),
        *(column(outcome, (), label, "share", "Share of verdicts.") for outcome, label in _OUTCOMES.items()),
        column("decided", (), "of decided", "share", "Share of the decided pairs that people win."),
        column("elo", (), "Elo difference", "number", "People minus models.", digits=0),
        rows=rows,
        caption=caption,
        chart=Chart("intervals", keys[-1], ("decided",), title, "share won by people", _EVEN, across=across, lead=lead),
    )


def _overall(groups: Rated) -> Table:
    rows = [
        (group.name, int(each.whole[0].sum()), each.histories[0], *each.cells(each.p, ("rater", group.key))[0])
        for group, each in groups
    ]
    first, duels = groups[0]
    size = size_text(duels.table.where(np.isin(duels.model, list(duels.edited), invert=True)))
    caption = f"{size} by {first.name}; p by flipping whole histories."
    return _shares_table("overall", "People against all models", ("rater",), rows, caption, lead=True)


def _models(groups: Rated) -> Table:
    rows: list[Sequence[Any]] = []
    for group, duels in groups:
        cells = duels.cells(duels.corrected(), ("rater", group.key))
        columns = (duels.models, duels.whole.sum(axis=1)[1:].astype(int), duels.histories[1:], cells[1:])
        order = best_first(decided(*duels.whole.T)[1:])
        lines = list(zip(*columns, strict=True))
        rows += [(group.name, *lines[at][:-1], *lines[at][-1]) for at in order]
    caption = "p by flipping whole histories, corrected (Holm) over the models of a rater."
    return _shares_table("models", "People against each model", ("rater", "model"), rows, caption)


def _dimensions(groups: Rated, settings: ArenaSettings) -> Table:
    rows: list[Sequence[Any]] = []
    for group, _ in groups:
        parts = [Duels.of(group.table.in_dimension(at).answered(), settings) for at in range(len(DIMENSIONS))]
        known = [(name, part) for name, part in zip(DIMENSIONS, parts, strict=True) if len(part.table)]
        corrected = adjust(np.array([part.p[0] for _, part in known]), "holm")
        for (name, part), p in zip(known, corrected, strict=True):
            cells = part.cells(np.full(len(part.names), p), ("rater", group.key), ("dimension", name))[0]
            rows.append((group.name, name.replace("_", " "), int(part.whole[0].sum()), part.histories[0], *cells))
    caption = "p by flipping whole histories, corrected (Holm) over the dimensions of a rater."
    return _shares_table("dimensions", "People against models by dimension", ("rater", "dimension"), rows, caption)


def _slices(groups: Rated) -> Table:
    """Regular against adversarial histories, with the test of their difference; no row without both."""
    rows: list[tuple[str | Cell, ...]] = []
    for group, duels in groups:
        parts = [duels.in_slice(name) for name in (REGULAR, ADVERSARIAL)]
        if all(len(part.table) for part in parts):
            shown = [
                part.cells(None, ("rater", group.key), ("slice", name))
                for name, part in zip((REGULAR, ADVERSARIAL), parts, strict=True)
            ]
            decided = [[row[3] for row in cells] for cells in shown]
            columns = (duels.names, *decided, _difference(duels, *parts))
            rows += [(group.name, *row) for row in zip(*columns, strict=True)]
    share = "Share of the decided pairs that people win."
    return table(
        "slices",
        "People against models in regular and adversarial histories",
        words("rater"),
        words("model"),
        column(REGULAR, (), "", "share", share, digits=3),
        column(ADVERSARIAL, (), "", "share", share, digits=3),
        column("difference", (), "", "share", "Adversarial minus regular.", digits=3),
        rows=rows,
        caption="p of the difference by permuting histories between the slices, corrected (Holm) over the models of a "
        "rater; n counts decided verdicts.",
        chart=Chart("lines", "model", (REGULAR, ADVERSARIAL), "People against models by slice", "share won", _EVEN),
    )


def _difference(duels: Duels, regular: Duels, adversarial: Duels) -> list[Cell]:
    """A cell for all models and each: what people win in adversarial histories beyond what they win in regular ones."""
    settings = duels.settings
    (base, drawn_base), (share, drawn) = (
        [decided(*np.moveaxis(of, -1, 0)) for of in (part.whole, part.samples)] for part in (regular, adversarial)
    )
    slices = np.array(duels.table.slices)[duels.table.history]
    rows = np.isin(slices, (REGULAR, ADVERSARIAL)) & (duels.outcome != 0)
    won = np.where(duels.model[rows, None] == np.arange(len(duels.models)), duels.outcome[rows, None] > 0, np.nan)
    summed = np.isin(duels.model[rows], list(duels.edited), invert=True)
    tests = group_difference(
        np.column_stack([np.where(summed, duels.outcome[rows] > 0, np.nan), won]),
        slices[rows] == ADVERSARIAL,
        clusters=duels.table.history[rows],
        rng=settings.rng("slices"),
        resamples=1,
    )
    return cells_of(
        share - base,
        *interval_of(drawn - drawn_base, np.minimum(regular.histories, adversarial.histories), settings),
        tests.n_in + tests.n_out,
        regular.small | adversarial.small,
        duels.drills(),
        p=tests.p,
        p_corrected=np.concatenate([tests.p[:1], adjust(tests.p[1:], "holm")]),
    )


def _sentence(group: RaterGroup, duels: Duels) -> str:
    """Whether people or models win, and against how many models."""
    whole, *each = (row[3] for row in duels.cells(duels.corrected()))
    if whole.value is None:
        return f"Rated by {group.name}, no pair of a person and a model is decided."
    text = f"Rated by {group.name}, replies of people win {with_interval(whole)} of the decided pairs (n = {whole.n})"
    who = {1: "people win significantly more often", -1: "models win significantly more often"}
    text += f"; {who.get(people_win(whole), 'neither side wins significantly more often')}."
    for sign, verb in ((1, "win"), (-1, "lose")):
        names = [name for name, cell in zip(duels.models, each, strict=True) if people_win(cell) == sign]
        text += f" They {verb} significantly more often against {listed(names)}." if names and len(each) > 1 else ""
    return text


def _interaction(slices: Table) -> list[str]:
    """What the test of all models says, of each rater."""
    sentences = []
    for rater, model, _, _, cell in slices.rows:
        if model.value == ALL and cell.value is not None:
            sure = cell.p is not None and cell.p <= _ALPHA and not cell.small
            sentences.append(
                f"Adversarial minus regular, rated by {rater.value}: {with_interval(cell, sign=True)}, "
                f"{'' if sure else 'not '}significant."
            )
    return sentences
