"""How often replies of people win against those of models (spec 10.3, item 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
from attunebench.arena.cells import excludes, sampled_cells
from attunebench.arena.contests import best_first
from attunebench.arena.folder import Arena
from attunebench.arena.objects import ADVERSARIAL, DIMENSIONS, REGULAR
from attunebench.arena.sampling import (
    ArenaSettings,
    Draws,
    RaterGroup,
    Ties,
    intervals_text,
    leading_groups,
    rater_groups,
    size_text,
)
from attunebench.arena.table import PEOPLE, VerdictTable
from attunebench.statistics.bootstrap import Floats, ratio, sum_by_cluster
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
        cannot="A win shows which reply was preferred, not by how much. The results hold for the people and models of "
        "this arena, not for others.",
        tables=tuple(one for one in tables if one.rows),
        notes=(
            f"The Elo difference is 400 · log₁₀ of people's odds, {_TIES[settings.ties]}.",
            intervals_text(first.table, settings),
            *(("Model replies edited by people are not among “all models”.",) if not duels.own.all() else ()),
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
    """Verdicts on pairs of a person and a model. `outcomes` is 1 where the person won, tied or lost against each of the
    `names`, all models and each of them: (verdicts, names, 3). Among all models are those whose words are their own."""

    table: VerdictTable
    outcomes: Floats
    names: tuple[str, ...]
    settings: ArenaSettings

    @classmethod
    def of(cls, verdicts: VerdictTable, settings: ArenaSettings) -> Duels:
        kinds = np.array(verdicts.kinds)
        human = kinds == "human"
        met = verdicts.where(human[verdicts.left] != human[verdicts.right])
        left = human[met.left]
        author, won = np.where(left, met.right, met.left), np.where(left, met.winner, -met.winner)
        there = np.unique(author)
        against = np.column_stack([np.isin(kinds[author], _MODELS), author[:, None] == there])
        outcomes = against[:, :, None] * (won[:, None] == (1, 0, -1))[:, None].astype(np.float64)
        return cls(met, outcomes, (ALL, *(verdicts.authors[place] for place in there)), settings)

    def where(self, rows: NDArray[np.bool_]) -> Duels:
        """Those on these rows; the names stay."""
        return replace(self, table=self.table.where(rows), outcomes=self.outcomes[rows])

    @property
    def own(self) -> NDArray[np.bool_]:
        """Which verdicts count among all models."""
        return np.asarray(self.outcomes[:, 0].any(axis=1))

    @property
    def slices(self) -> NDArray[np.str_]:
        return np.array(self.table.slices, dtype=np.str_)[self.table.history]

    @cached_property
    def samples(self) -> Floats:
        """Wins, ties and losses of people in each resample: (resamples, names, 3)."""
        drawn = Draws(self.table, self.settings).sums(self.outcomes.reshape(len(self.table), -1))
        return drawn.reshape(-1, len(self.names), 3)

    @cached_property
    def by_unit(self) -> Floats:
        """The same of each unit: (units, names, 3)."""
        return sum_by_cluster(self.outcomes.reshape(len(self.table), -1), self.table.unit).reshape(
            -1, len(self.names), 3
        )

    @cached_property
    def p(self) -> Floats:
        """That people win as often as they lose: whole units change sides."""
        win, _, loss = np.moveaxis(np.where(self.by_unit.any(axis=2, keepdims=True), self.by_unit, np.nan), 2, 0)
        return paired_tests(win, loss, rng=self.settings.rng("people"), resamples=1, joint=False).p

    def counts(self, at: int = 0) -> tuple[int, int]:
        """Of verdicts against one of the names, and of units that they are in."""
        met = self.by_unit[:, at].sum(axis=1)
        return int(met.sum()), int((met > 0).sum())

    def drills(self, *where: tuple[str, str]) -> list[Drill | None]:
        against = [("without", "human edited"), *(("against", name) for name in self.names[1:])]
        return [Drill(where=(("kind", "human"), one, *where)) for one in against]

    def cells(
        self, *where: tuple[str, str], p: Floats | None = None, corrected: Floats | None = None
    ) -> list[list[Cell]]:
        """Of each name: shares of wins, ties and losses, the share of decided pairs with its p, the Elo difference."""
        drills, both, met = self.drills(*where), (self.by_unit.sum(axis=0), self.samples), self.by_unit.sum(axis=2)

        def shown(value: Floats, samples: Floats, n: Floats, share: bool = True, **more: Any) -> list[Cell]:
            verdicts, units = n.sum(axis=0).astype(np.int64), (n > 0).sum(axis=0)
            return sampled_cells(value, samples, verdicts, units, self.settings, drills, share=share, **more)

        shares, drawn_shares = (ratio(of, of.sum(axis=-1, keepdims=True)) for of in both)
        columns = [shown(shares[:, at], drawn_shares[..., at], met) for at in range(3)]
        columns.append(
            shown(decided(both[0]), decided(both[1]), met - self.by_unit[:, :, 1], p=p, p_corrected=corrected)
        )
        points, drawn_points = (elo_difference(of, self.settings.ties) for of in both)
        columns.append(shown(np.where(np.isinf(points), np.nan, points), drawn_points, met, share=False))
        return [list(row) for row in zip(*columns, strict=True)]


Rated = Sequence[tuple[RaterGroup, Duels]]


def people_win(cell: Cell) -> int:
    """1 where people win significantly more often than models, −1 where they lose, 0 where neither is sure."""
    return int(np.sign((number_of(cell) or 0.0) - _EVEN["even"])) if _is_sure(cell, _EVEN["even"]) else 0


def _is_sure(cell: Cell, null: float) -> bool:
    """Whether a value differs from the null by both the test, which holds for these raters, and the interval."""
    p = cell.p if cell.p_corrected is None else cell.p_corrected
    return p is not None and p <= _ALPHA and excludes(cell, null)


def _shares_table(
    id: str, title: str, keys: Sequence[str], groups: Rated, rows: Iterable[Sequence[Any]], caption: str = ""
) -> Table:
    """A table whose rows are text for each of the `keys`, numbers of verdicts and units, and `Duels.cells`."""
    units = groups[0][1].table.unit_names[1]
    return table(
        id,
        title,
        *map(words, keys),
        counts("verdicts"),
        counts("histories", (), units),
        *(column(outcome, (), label, "share", "Share of verdicts.") for outcome, label in _OUTCOMES.items()),
        column("decided", (), "people win without ties", "share", "Share of the decided verdicts that people win."),
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
            across=keys[0] if keys[1:] else "",
            lead=not keys[1:],
        ),
    )


def _overall(groups: Rated) -> Table:
    rows = [(group.name, *duels.counts(), *duels.cells(("rater", group.key), p=duels.p)[0]) for group, duels in groups]
    (first, duels), *_ = groups
    caption = f"{size_text(duels.where(duels.own).table)} by {first.name}; "
    return _shares_table("overall", "People against all models", ("rater",), groups, rows, caption)


def _models(groups: Rated) -> Table:
    rows: list[Sequence[Any]] = []
    for group, duels in groups:
        cells = duels.cells(("rater", group.key), p=duels.p, corrected=_corrected(duels.p))
        order = [at for at in best_first(decided(duels.by_unit.sum(axis=0))) if at]
        rows += [(group.name, duels.names[at], *duels.counts(at), *cells[at]) for at in order]
    return _shares_table("models", "People against each model", ("rater", "model"), groups, rows)


def _dimensions(groups: Rated) -> Table:
    rows: list[Sequence[Any]] = []
    for group, whole in groups:
        parts = {name: Duels.of(group.table.in_dimension(at), whole.settings) for at, name in enumerate(DIMENSIONS)}
        parts = {name: part for name, part in parts.items() if part.own.any()}
        corrected = adjust(np.array([part.p[0] for part in parts.values()]), "holm")
        for (name, part), p in zip(parts.items(), corrected, strict=True):
            tests = {"p": part.p, "corrected": np.full(len(part.names), p)}
            cells = part.cells(("rater", group.key), ("dimension", name), **tests)[0]
            rows.append((group.name, name.replace("_", " "), *part.counts(), *cells))
    return _shares_table("dimensions", "People against models by dimension", ("rater", "dimension"), groups, rows)


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
            difference = _difference(duels, parts[REGULAR], parts[ADVERSARIAL], by)
            rows += zip([group.name] * len(duels.names), duels.names, *shares, difference, strict=True)
    share = "Share of the decided verdicts that people win."
    # A chart of all raters would have too many lines.
    first = [row[0] for row in rows if row[0] == rows[0][0]]
    title = f"People against models by slice, {''.join(first[:1])}"
    lines = (REGULAR, ADVERSARIAL)
    return table(
        "slices",
        "People against models in regular and adversarial histories",
        words("rater"),
        words("model"),
        *(column(name, (), "", "share", share) for name in lines),
        column("difference", (), "", "share", "Adversarial minus regular."),
        rows=rows,
        caption=f"p of the difference by permuting {groups[0][1].table.unit_names[1]} between the slices"
        f"{_HOLM['model']}; n counts decided verdicts.",
        chart=Chart(
            "lines", "model", lines, title, "share won by people", _EVEN, len(first), roles={ALL: "all models"}
        ),
    )


def _difference(duels: Duels, regular: Duels, adversarial: Duels, by: tuple[str, str]) -> list[Cell]:
    """A cell for each name: what people win in adversarial histories beyond what they win in regular ones."""
    won, _, lost = np.moveaxis(duels.outcomes, 2, 0)
    rows = np.isin(duels.slices, (REGULAR, ADVERSARIAL)) & (won + lost).any(axis=1)
    tests = group_difference(
        np.where(won + lost > 0, won, np.nan)[rows],
        duels.slices[rows] == ADVERSARIAL,
        clusters=duels.table.unit[rows],
        rng=duels.settings.rng("slices"),
        resamples=1,
    )
    decided_in = [(part.by_unit[:, :, ::2].sum(axis=2) > 0).sum(axis=0) for part in (regular, adversarial)]
    return sampled_cells(
        decided(adversarial.by_unit.sum(axis=0)) - decided(regular.by_unit.sum(axis=0)),
        decided(adversarial.samples) - decided(regular.samples),
        tests.n_in + tests.n_out,
        np.minimum(*decided_in),
        duels.settings,
        duels.drills(by),
        p=tests.p,
        p_corrected=_corrected(tests.p),
    )


def _sentence(group: RaterGroup, duels: Duels) -> str:
    """Whether people or models win, and against which models."""
    whole, *each = (row[3] for row in duels.cells(p=duels.p, corrected=_corrected(duels.p)))
    if whole.value is None:
        return f"Rated by {group.name}, every verdict on a person and a model is a tie."
    text = f"Rated by {group.name}, people's replies win {with_interval(whole)} of the decided verdicts (n = {whole.n})"
    who = {1: "people win significantly more often", -1: "models win significantly more often"}
    text += f"; {who.get(people_win(whole), 'neither side wins significantly more often')}."
    for sign, verb in ((1, "win"), (-1, "lose")):
        names = [name for name, cell in zip(duels.names[1:], each, strict=True) if people_win(cell) == sign]
        text += f" People {verb} significantly more often against {listed(names)}." if names and len(each) > 1 else ""
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
