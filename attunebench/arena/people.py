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
    number_of,
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
    share_interval_of,
    size_text,
)
from attunebench.arena.table import PEOPLE, VerdictTable
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
_HOLM = {name: f", corrected (Holm) over the {name}s of a rater" for name in ("model", "dimension")}


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
    tables = (_overall(groups), _models(chosen), _dimensions(chosen), slices)
    first, duels = groups[0]
    return Analysis(
        shows=" ".join((*(_sentence(group, each) for group, each in chosen), *_interaction(slices))),
        cannot="A win says which of two replies was preferred, not by how much. People and models are those of this "
        "arena; nothing follows for other people or models.",
        tables=tuple(one for one in tables if one.rows),
        notes=(
            f"The Elo difference is 400 · log₁₀ of people's odds, {_TIES[settings.ties]}.",
            intervals_text(first.table, settings),
            *(("Edited replies of models stand apart and are not among “all models”.",) if not duels.own.all() else ()),
        ),
    )


_TIES = {"half": "ties as half wins", "dropped": "without ties", "davidson": "without ties, as in Davidson's model"}


def elo_difference(outcomes: Floats, ties: Ties) -> Floats:
    """Elo points that a side with these wins, ties and losses (…, 3) is ahead; NaN where nothing was decided."""
    win, tie, loss = np.moveaxis(outcomes, -1, 0)
    part = tie / 2 if ties == "half" else np.zeros_like(tie)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(400 * np.log10((win + part) / (loss + part)))


def decided(outcomes: Floats) -> Floats:
    """The share of wins where one side won, of wins, ties and losses (…, 3)."""
    return ratio(outcomes[..., 0], outcomes[..., 0] + outcomes[..., 2])


@dataclass(frozen=True)
class Duels:
    """Verdicts on pairs of a person and a model, summed for each of the `names`: all models, and each of them.

    `outcome` is 1 where the person won, −1 where the model did; `model` is a place in the names. `own`: the model's own
    words, so that it counts among all models too.
    """

    table: VerdictTable
    outcome: Floats
    model: Labels
    own: NDArray[np.bool_]
    names: tuple[str, ...]
    settings: ArenaSettings

    @classmethod
    def of(cls, verdicts: VerdictTable, settings: ArenaSettings) -> Duels:
        kinds = np.array(verdicts.kinds)
        human = kinds == "human"
        met = verdicts.where(human[verdicts.left] != human[verdicts.right])
        left = human[met.left]
        author = np.where(left, met.right, met.left)
        there = np.unique(author)
        names = (ALL, *(verdicts.authors[place] for place in there))
        outcome = np.where(left, met.winner, -met.winner)
        own = np.isin(kinds[author], _MODELS)
        return cls(met, outcome, np.searchsorted(there, author) + 1, own, names, settings)

    def where(self, rows: NDArray[np.bool_]) -> Duels:
        """Those on these rows; the names stay."""
        own, outcome, model = self.own[rows], self.outcome[rows], self.model[rows]
        return replace(self, table=self.table.where(rows), outcome=outcome, model=model, own=own)

    @cached_property
    def slices(self) -> NDArray[np.str_]:
        return np.array(self.table.slices, dtype=np.str_)[self.table.history]

    @cached_property
    def _columns(self) -> tuple[Labels, Floats, int]:
        """Where each verdict counts, how much, and how many columns there are: three for each name."""
        place = (1 - self.outcome).astype(np.intp)
        columns = np.stack([place, 3 * self.model + place], axis=1)
        return columns, np.stack([self.own, np.ones(len(self.own))], axis=1), 3 * len(self.names)

    @cached_property
    def samples(self) -> Floats:
        """Wins, ties and losses of people in each resample: (resamples, names, 3)."""
        drawn = list(Draws(self.table, self.settings).tallies(*self._columns))
        return np.concatenate(drawn).reshape(-1, len(self.names), 3)

    @cached_property
    def by_unit(self) -> Floats:
        """The same of each unit: (units, names, 3)."""
        columns, values, width = self._columns
        places, size = self.table.unit[:, None] * width + columns, len(self.table.histories)
        return (
            np.bincount(places.ravel(), values.ravel(), minlength=width * size).reshape(size, -1, 3).astype(np.float64)
        )

    @cached_property
    def whole(self) -> Floats:
        """The same of all: (names, 3)."""
        return np.asarray(self.by_unit.sum(axis=0))

    @cached_property
    def n(self) -> NDArray[np.int64]:
        return np.asarray(self.whole.sum(axis=1), dtype=np.int64)

    @cached_property
    def units(self) -> Labels:
        """In how many units there are verdicts."""
        return np.asarray((self.by_unit.sum(axis=2) > 0).sum(axis=0), dtype=np.intp)

    @cached_property
    def p(self) -> Floats:
        """That people win as often as they lose: whole units change sides."""
        there = self.by_unit.sum(axis=2) > 0
        win, loss = (np.where(there, self.by_unit[:, :, at], np.nan) for at in (0, 2))
        return paired_tests(win, loss, rng=self.settings.rng("people"), resamples=1, joint=False).p

    def drills(self, *where: tuple[str, str]) -> list[Drill | None]:
        against = [(), *((("against", name),) for name in self.names[1:])]
        return [Drill(where=(("kind", "human"), *one, *where)) for one in against]

    def cells(
        self, *where: tuple[str, str], p: Floats | None = None, corrected: Floats | None = None
    ) -> list[list[Cell]]:
        """Of each name: shares of wins, ties and losses, the share of decided pairs with its p, the Elo difference."""
        drills, few = self.drills(*where), self.units < self.settings.small
        whole, drawn = self.whole, self.samples

        def shown(share: Floats, samples: Floats, outcomes: Floats, *ps: Floats | None) -> list[Cell]:
            units, n = (outcomes > 0).sum(axis=0), outcomes.sum(axis=0).astype(np.int64)
            low, high = share_interval_of(share, samples, units, self.settings)
            one, other = ps or (None, None)
            few = units < self.settings.small
            return cells_of(share, low, high, n, few, drills, p=one, p_corrected=other, units=units)

        met = self.by_unit.sum(axis=2)
        shares, drawn_shares = (ratio(of, of.sum(axis=-1, keepdims=True)) for of in (whole, drawn))
        columns = [shown(shares[:, at], drawn_shares[..., at], met) for at in range(3)]
        columns.append(shown(decided(whole), decided(drawn), met - self.by_unit[:, :, 1], p, corrected))
        points, drawn_points = (elo_difference(of, self.settings.ties) for of in (whole, drawn))
        with np.errstate(invalid="ignore"):
            ends = np.stack(interval_of(drawn_points, self.units, self.settings))
        # Where an end would be infinite there is no interval.
        ends[:, ~np.isfinite(ends).all(axis=0)] = np.nan
        points[~np.isfinite(points)] = np.nan
        columns.append(cells_of(points, *ends, self.n, few, drills, units=self.units))
        return [list(row) for row in zip(*columns, strict=True)]


Rated = Sequence[tuple[RaterGroup, Duels]]


def people_win(cell: Cell) -> int:
    """1 where people win significantly more often than models, −1 where they lose, 0 where neither is sure."""
    return int(np.sign((number_of(cell) or 0.0) - _EVEN["even"])) if _is_sure(cell, _EVEN["even"]) else 0


def _is_sure(cell: Cell, null: float) -> bool:
    """Whether a value differs from the null by both the test, which holds for these raters, and the interval."""
    p = cell.p if cell.p_corrected is None else cell.p_corrected
    if cell.small or p is None or p > _ALPHA or cell.low is None or cell.high is None:
        return False
    return not cell.low <= null <= cell.high


def _shares_table(
    id: str,
    title: str,
    keys: Sequence[str],
    rows: Iterable[Sequence[Any]],
    units: str,
    caption: str = "",
    *,
    lead: bool = False,
) -> Table:
    """A table whose rows are text for each of the `keys`, numbers of verdicts and units, and `Duels.cells`."""
    across = keys[0] if len(keys) > 1 else ""
    return table(
        id,
        title,
        *map(words, keys),
        counts("verdicts"),
        counts("histories", (), units),
        *(column(outcome, (), label, "share", "Share of verdicts.") for outcome, label in _OUTCOMES.items()),
        column("decided", (), "of decided", "share", "Share of the decided pairs that people win."),
        column("elo", (), "Elo difference", "number", "People minus models.", digits=0),
        rows=rows,
        caption=f"{caption}p by flipping whole {units}{_HOLM.get(keys[-1], '')}.",
        chart=Chart(
            "intervals",
            keys[-1],
            ("decided",),
            title,
            "share won by people",
            _EVEN,
            roles={PEOPLE: "person", ALL: "all models"},
            across=across,
            lead=lead,
        ),
    )


def _overall(groups: Rated) -> Table:
    rows = [
        (group.name, duels.n[0], duels.units[0], *duels.cells(("rater", group.key), p=duels.p)[0])
        for group, duels in groups
    ]
    (first, duels), *_ = groups
    caption, units = f"{size_text(duels.where(duels.own).table)} by {first.name}; ", duels.table.unit_names[1]
    return _shares_table("overall", "People against all models", ("rater",), rows, units, caption, lead=True)


def _models(groups: Rated) -> Table:
    rows: list[Sequence[Any]] = []
    for group, duels in groups:
        cells = duels.cells(("rater", group.key), p=duels.p, corrected=_corrected(duels.p))
        order = [at for at in best_first(decided(duels.whole)) if at]
        rows += [(group.name, duels.names[at], duels.n[at], duels.units[at], *cells[at]) for at in order]
    units = groups[0][1].table.unit_names[1]
    return _shares_table("models", "People against each model", ("rater", "model"), rows, units)


def _dimensions(groups: Rated) -> Table:
    rows: list[Sequence[Any]] = []
    for group, whole in groups:
        parts = [Duels.of(group.table.in_dimension(at).answered(), whole.settings) for at in range(len(DIMENSIONS))]
        known = [(name, part) for name, part in zip(DIMENSIONS, parts, strict=True) if part.own.any()]
        corrected = adjust(np.array([part.p[0] for _, part in known]), "holm")
        for (name, part), p in zip(known, corrected, strict=True):
            where, tested = (("rater", group.key), ("dimension", name)), np.full(len(part.names), p)
            cells = part.cells(*where, p=part.p, corrected=tested)[0]
            rows.append((group.name, name.replace("_", " "), part.n[0], part.units[0], *cells))
    units = groups[0][1].table.unit_names[1]
    return _shares_table("dimensions", "People against models by dimension", ("rater", "dimension"), rows, units)


def _corrected(p: Floats) -> Floats:
    """p of all models, and that of single models corrected for their number."""
    return np.concatenate([p[:1], adjust(p[1:], "holm")])


def _slices(groups: Rated) -> Table:
    """Regular against adversarial histories, with the test of their difference; no row without both."""
    rows: list[Sequence[Any]] = []
    for group, duels in groups:
        parts = {name: duels.where(duels.slices == name) for name in (REGULAR, ADVERSARIAL)}
        if all(len(part.table) for part in parts.values()):
            by = ("rater", group.key)
            shares = [[row[3] for row in part.cells(by, ("slice", name))] for name, part in parts.items()]
            columns = (duels.names, *shares, _difference(duels, parts[REGULAR], parts[ADVERSARIAL], by))
            rows += [(group.name, *row) for row in zip(*columns, strict=True)]
    share = "Share of the decided pairs that people win."
    # A chart of all raters would have too many lines.
    first = [row[0] for row in rows if row[0] == rows[0][0]]
    return table(
        "slices",
        "People against models in regular and adversarial histories",
        words("rater"),
        words("model"),
        column(REGULAR, (), "", "share", share),
        column(ADVERSARIAL, (), "", "share", share),
        column("difference", (), "", "share", "Adversarial minus regular."),
        rows=rows,
        caption=f"p of the difference by permuting {groups[0][1].table.unit_names[1]} between the slices"
        f"{_HOLM['model']}; n counts decided verdicts.",
        chart=Chart(
            "lines",
            "model",
            (REGULAR, ADVERSARIAL),
            f"People against models by slice, {''.join(first[:1])}",
            "share won by people",
            _EVEN,
            len(first),
            roles={ALL: "all models"},
        ),
    )


def _difference(duels: Duels, regular: Duels, adversarial: Duels, by: tuple[str, str]) -> list[Cell]:
    """A cell for each name: what people win in adversarial histories beyond what they win in regular ones."""
    settings, rows = duels.settings, duels.where(np.isin(duels.slices, (REGULAR, ADVERSARIAL)) & (duels.outcome != 0))
    counts_in = np.where(
        np.arange(len(rows.names)) == 0, rows.own[:, None], rows.model[:, None] == np.arange(len(rows.names))
    )
    tests = group_difference(
        np.where(counts_in, rows.outcome[:, None] > 0, np.nan),
        rows.slices == ADVERSARIAL,
        clusters=rows.table.unit,
        rng=settings.rng("slices"),
        resamples=1,
    )
    units = np.minimum(regular.units, adversarial.units)
    return cells_of(
        decided(adversarial.whole) - decided(regular.whole),
        *interval_of(decided(adversarial.samples) - decided(regular.samples), units, settings),
        tests.n_in + tests.n_out,
        units < settings.small,
        duels.drills(by),
        p=tests.p,
        p_corrected=_corrected(tests.p),
    )


def _sentence(group: RaterGroup, duels: Duels) -> str:
    """Whether people or models win, and against which models."""
    whole, *each = (row[3] for row in duels.cells(p=duels.p, corrected=_corrected(duels.p)))
    if whole.value is None:
        return f"Rated by {group.name}, no pair of a person and a model is decided."
    text = f"Rated by {group.name}, replies of people win {with_interval(whole)} of the decided pairs (n = {whole.n})"
    who = {1: "people win significantly more often", -1: "models win significantly more often"}
    text += f"; {who.get(people_win(whole), 'neither side wins significantly more often')}."
    for sign, verb in ((1, "win"), (-1, "lose")):
        names = [name for name, cell in zip(duels.names[1:], each, strict=True) if people_win(cell) == sign]
        text += f" They {verb} significantly more often against {listed(names)}." if names and len(each) > 1 else ""
    return text


def _interaction(slices: Table) -> list[str]:
    """What the test of all models says, of each rater."""
    sentences = []
    for rater, model, _, _, cell in slices.rows:
        if model.value == ALL and cell.value is not None:
            sentences.append(
                f"Rated by {rater.value}, the share that people win changes by {with_interval(cell, sign=True)} from "
                f"regular to adversarial histories, which is {'' if _is_sure(cell, 0.0) else 'not '}significant."
            )
    return sentences
