"""A subset beside the conversations that do not match: model by model, and from model to model.

Participants move as a whole in differences, since what is known of a person holds for all of their conversations.
What too few conversations or participants stand behind is shown and never tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from attunebench.analyses import common, within
from attunebench.analyses.common import Sampling, counted, listed
from attunebench.analyses.model import Analysis, Cell, Column, Settings, Table, known, legend, text
from attunebench.analyses.testing import reach_text
from attunebench.scores import BASE_RATE
from attunebench.scores.references import standing
from attunebench.scores.table import ReferenceValues, ScoreTable
from attunebench.selection.wording import Row, sentences, tests_in
from attunebench.statistics.bootstrap import Floats
from attunebench.statistics.contrasts import Mask
from attunebench.statistics.intervals import zero_inflated
from attunebench.statistics.multiple import adjust


@dataclass(frozen=True, slots=True)
class Family:
    """Metrics that share a table; the tests of a table are corrected together."""

    id: str
    title: str
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Sides:
    """A study of one mode over the conversations that match (`inside`) and those that do not.

    Its lines are the models in display order, then the references, which are made from the labels alone.
    """

    study: ScoreTable
    mode: str
    inside: Mask
    references: tuple[ReferenceValues, ...]

    @classmethod
    def of(cls, study: ScoreTable, mode: str, chosen: Sequence[str], others: Sequence[str]) -> Sides:
        """Of the groups of a mode, over those of the conversations that at least one of them has."""
        part = study.of_mode(mode)
        scored = {i for i, row in zip(part.ids, part.scored(), strict=True) if row.any()}
        part = part.with_conversations([i for i in (*chosen, *others) if i in scored])
        inside = np.isin(np.array(part.ids, dtype=object), np.array(chosen, dtype=object))
        return cls(part, mode, inside, tuple(map(standing, part.references)))

    @property
    def lines(self) -> list[Cell]:
        """The names of the lines; references are marked."""
        return [*map(text, self.study.labels), *(text(one.label, mark="reference") for one in self.references)]

    @property
    def base_rate(self) -> int | None:
        """The position of the base rate among the lines."""
        ids = [reference.id for reference in self.references]
        return len(self.study.groups) + ids.index(BASE_RATE) if BASE_RATE in ids else None

    def values(self, metric_id: str) -> Floats:
        """A metric's values: (conversations, lines); NaN where a line has none."""
        nothing = np.full(len(self.study.ids), np.nan)
        references = [reference.values.get(metric_id, nothing) for reference in self.references]
        return np.column_stack([self.study.values(metric_id), *references])

    def side(self, mask: Mask) -> ScoreTable:
        """The study over one side alone."""
        return self.study.with_conversations([i for i, there in zip(self.study.ids, mask, strict=True) if there])

    def people(self, mask: Mask, column: Floats) -> int:
        """Of how many participants the conversations of a side are that have a value."""
        return len(np.unique(self.study.clusters[mask & ~np.isnan(column)]))


_What = tuple[tuple[Column, Column], str, str]
"""Of a table: the columns of its names, what its values are, and what their difference is."""
_MODELS: _What = ((Column("metric", "metric", "text"), Column("model", "model", "text")), "Mean", "difference")
_GAINS = Column("gains", "gains", "text", "The model whose standing against the other is the better one there.")
_PAIRS: _What = ((_GAINS, Column("on", "on", "text")), "First minus second", "difference in differences")


def beside(sides: Sides, families: Sequence[Family], settings: Settings) -> Analysis:
    """All tables of a mode: a row for each metric and model; then, where there are two models, one for each pair."""
    begun = Analysis(
        f"subset-{sides.mode}",
        f"The subset beside the rest, mode {sides.mode}",
        "Do models do otherwise on the subset than on the rest, and does one of them lose more than another?",
    )
    if not sides.inside.any() or sides.inside.all():
        where = "the rest" if sides.inside.any() else "the subset"
        return replace(begun, missing=f"no conversation of {where} was scored in mode {sides.mode}.")
    contrasts = [(family, rows) for family in families if (rows := _contrast(sides, family, settings))]
    if not contrasts:
        return replace(begun, missing="none of the metrics asked for is defined for any conversation here.")
    # Models are compared in the metrics that were asked for, else in those of the first table.
    metrics = [metric_id for family in (families if settings.metrics else families[:1]) for metric_id in family.metrics]
    pairs = [rows for metric_id in metrics if (rows := _pairs(sides, metric_id, settings))]
    tables = []
    for family, rows in contrasts:
        title = f"{family.title}, subset and rest"
        tables.append(_table(sides, rows, settings, f"beside-{family.id}", title, _MODELS))
    for rows in pairs:
        title = f"{common.label_of(rows[0].metric_id)} from model to model, subset and rest"
        tables.append(_table(sides, rows, settings, f"between-{rows[0].metric_id}", title, _PAIRS))
    of_tables = [*(rows for _, rows in contrasts), *pairs]
    by_people = replace(settings, by_participant=True)
    reach = [reach_text(np.array([row.least for row in rows]), by_people, together=False) for rows in of_tables]
    return replace(
        begun,
        tables=tuple(tables),
        shows=" ".join(sentences(sides.inside, [rows for _, rows in contrasts], pairs, settings)),
        cannot="That there is no difference: one that was not found may still be as large as the MDE.",
        warnings=tuple(dict.fromkeys(sentence for found in reach for sentence in found)),
        notes=(*_notes(sides, settings), *legend(tables)),
    )


def _contrast(sides: Sides, family: Family, settings: Settings) -> list[Row]:
    """The metrics of a family on both sides, of the models and the base rate, as far as there are values."""
    models, base, lines = len(sides.study.groups), sides.base_rate, sides.lines
    keys, columns, beyond = [], [], []
    for metric_id in family.metrics:
        values = sides.values(metric_id)
        for i, line in enumerate(lines):
            if (i < models or i == base) and not np.isnan(values[:, i]).all():
                keys.append((metric_id, (text(common.label_of(metric_id)), line), i >= models))
                columns.append(values[:, i])
                beyond.append(values[:, i] - (values[:, base] if i < models and base is not None else np.nan))
    name = f"subset/{sides.mode}/{family.id}"
    rows = _rows(sides, keys, columns, name, settings)
    if not any(row.reference for row in rows):
        return rows
    further = _rows(sides, keys, beyond, f"{name}/base", settings, tested=False)
    return [replace(row, beyond=other.difference) for row, other in zip(rows, further, strict=True)]


def _pairs(sides: Sides, metric_id: str, settings: Settings) -> list[Row]:
    """The models of a mode two by two, largest differences first: the one that gains in the subset, and on which."""
    values, labels = sides.study.values(metric_id), sides.study.labels
    keys, columns = [], []
    for a, b in combinations(range(len(labels)), 2):
        apart = values[:, a] - values[:, b]
        if np.isnan(apart).all():
            continue
        inside, outside = (within.column_means(apart[side, None])[0] for side in (sides.inside, ~sides.inside))
        # "a gains on b" reads without a sign, so the one that gains comes first.
        turned = inside < outside if common.better(metric_id) else inside > outside
        keys.append((metric_id, tuple(map(text, (labels[b], labels[a]) if turned else (labels[a], labels[b]))), False))
        columns.append(-apart if turned else apart)
    rows = _rows(sides, keys, columns, f"subset/{sides.mode}/{metric_id}/pairs", settings)
    return [rows[i] for i in common.by_value(np.array([abs(common.value_of(row.difference)) for row in rows]))]


def _rows(
    sides: Sides,
    keys: Sequence[tuple[str, tuple[Cell, ...], bool]],
    columns: Sequence[Floats],
    name: str,
    settings: Settings,
    *,
    tested: bool = True,
) -> list[Row]:
    """Both means of each column, and their difference tested as one family; `name` is the use that the chance is for.

    `keys`: metric, names and whether it is a reference, which is not tested.
    """
    if not keys:
        return []
    study, values, masks = sides.study, np.column_stack(columns), (sides.inside, ~sides.inside)
    everybody = np.ones(len(values), dtype=bool)
    contrast = within.group_contrast(study, values, sides.inside, everybody, name, settings)
    asked = np.array(
        [
            tested and not reference and not any(within.is_small(study, column, mask, settings) for mask in masks)
            for (*_, reference), column in zip(keys, values.T, strict=True)
        ]
    )
    p, least = np.where(asked, contrast.p, np.nan), np.where(asked, contrast.least, np.nan)
    corrected = adjust(p, common.plain_correction(settings))
    differences = within.contrast_cells(study, contrast, values, sides.inside, everybody, settings, corrected)
    means = [Sampling.of(sides.side(mask), settings).cells(values[mask], flag=False) for mask in masks]
    inflated = zero_inflated(values[sides.inside]) | zero_inflated(values[~sides.inside])
    rows = []
    for i, (metric_id, names, reference) in enumerate(keys):
        inside, outside = (replace(cells[i], n=cells[i].n or None) for cells in means)
        difference = replace(differences[i], p=known(p[i]), n=None)
        difference = replace(difference, mark="differs" if common.claimed(difference, settings) else "")
        people = (sides.people(masks[0], values[:, i]), sides.people(masks[1], values[:, i]))
        flagged = bool(inflated[i]) and not reference and not difference.small
        se = float(contrast.se[i])
        rows.append(Row(metric_id, names, inside, outside, difference, people, flagged, least[i], se, reference))
    return rows


def _table(sides: Sides, rows: Sequence[Row], settings: Settings, table_id: str, title: str, what: _What) -> Table:
    """Both sides with their difference, without columns that would be the same in every row."""
    names, of, difference = what
    unit, tests = common.unit_of(rows[0].metric_id), tests_in(rows)
    effect = f"the smallest true difference that would be found with {100 * settings.power:.0f} % power"
    effects = [
        (Column("mde", "MDE", unit, f"Minimum detectable effect: {effect} by a test alone."), 1),
        (Column("mde_corrected", f"MDE α/{tests}", unit, f"MDE: {effect} after correction."), tests),
    ]
    people = [
        Column("participants", "people", "count", "Participants of the subset behind the row."),
        Column("participants_rest", "people, rest", "count", "Participants of the rest behind the row."),
    ]
    columns = [(column, [row.names[i] for row in rows]) for i, column in enumerate(names)]
    columns = [one for one in columns if one[0].id != "metric" or len({name.value for name in one[1]}) > 1]
    columns += [
        (Column("subset", "subset", unit, f"{of} over the conversations that match."), [r.inside for r in rows]),
        (Column("rest", "rest", unit, f"{of} over those that do not match."), [row.outside for row in rows]),
        (Column("difference", difference, unit, "Subset minus rest."), [row.difference for row in rows]),
    ]
    for column, among in effects[: min(tests, 2)]:
        columns.append((column, [Cell(known(row.detectable(settings, among))) for row in rows]))
    if len({row.people for row in rows}) > 1:
        columns += [(column, [Cell(row.people[i]) for row in rows]) for i, column in enumerate(people)]
    if beyond := [row.beyond for row in rows if row.beyond]:
        columns.append((Column("beyond", "beyond base rate", unit, "Difference minus that of the base rate."), beyond))
    inflated = list(dict.fromkeys(str(row.names[0].value) for row in rows if row.inflated and what is _MODELS))
    note = (
        "At least nine in ten conversations of a side share one value (mostly 0), so that intervals are narrower than "
        f"they should be: {listed(inflated, most=8)}."
    )
    cells = tuple(zip(*(cells for _, cells in columns), strict=True))
    return Table(
        table_id,
        title,
        tuple(column for column, _ in columns),
        cells,
        _caption(sides, rows, settings),
        (note,) if inflated else (),
    )


def _caption(sides: Sides, rows: Sequence[Row], settings: Settings) -> str:
    """What n is, how intervals were made and what was corrected."""
    inside, outside = (common.sample_text(sides.side(mask)) for mask in (sides.inside, ~sides.inside))
    correction, tests = common.CORRECTIONS[common.plain_correction(settings)], tests_in(rows)
    over = f"permutation p, corrected ({correction}) over the {counted(tests, 'test')} of this table"
    few = any(min(row.people) < settings.small for row in rows)
    return (
        f"Subset: {inside}; rest: {outside}. Means: {common.intervals_text(settings)}. Difference: subset minus rest, "
        f"participants resampled as a whole; {over if tests else 'nothing is tested on so few'}."
        + (f" On under {settings.small} participants a side its intervals are too narrow; go by p." * few)
    )


def _notes(sides: Sides, settings: Settings) -> tuple[str, ...]:
    notes = [common.small_text(settings)]
    if settings.correction == "maxt":
        notes.append("Max-T does not exist for differences between groups of conversations; Holm's correction is used.")
    if sides.base_rate is not None:
        notes.append(
            "The base rate is made from the labels alone and not tested: where it differs itself, the subset is easier "
            "or harder to be right about, whoever answers; “beyond base rate” is what a model's difference is without "
            "that."
        )
    if len(sides.study.groups) < 2:
        notes.append("One model alone: there is no difference in differences.")
    return tuple(notes)
