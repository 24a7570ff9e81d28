"""Tables of numbers with their doubt, built column by column, and the analysis that they belong to.

Every renderer (terminal, Markdown, CSV, JSON, HTML, figures) draws from this alone. Knows no metric, no scores and no
format.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np

Unit = Literal["text", "count", "share", "points", "number", "p", "rank", "usd", "seconds"]
"""How a number is written: share 0.612, points 61.2 (0–100), p 0.003 or < 0.001; `number` has three digits."""
ChartKind = Literal["intervals", "bars", "boxes", "heatmap", "matrix", "lines", "scatter", "dumbbells"]
Role = Literal["person", "all models", "reference"]
"""What is no model in a chart: the person (a thick neutral line), all models (dashed grey), what labels alone give."""

_FAR = 4.0
_IN_ROWS = ("intervals", "bars", "boxes", "dumbbells")

NOT_ESTIMABLE = "not estimable"
"""Mark of a value whose interval cannot be estimated, since every conversation (participant) has the same one."""
ZERO_INFLATED = "mostly one value"
"""Mark of a mean over values of which nine in ten or more are equal: its interval is too narrow."""


class Missing(Exception):  # noqa: N818
    """An analysis has nothing to show; the message says why in a sentence."""


@dataclass(frozen=True, slots=True)
class Drill:
    """Which answers stand behind a cell; None means all of them. `group` is a key, `turns` (conversation id, number).

    One of `metric` and `question` (with its `block`) says what of them the cell is about. `where` names verdicts of an
    arena instead, by what they have in common: ("author", "lab0"), ("rater", "people"), ("slice", "adversarial") …
    """

    group: tuple[str, str, str] | None = None
    metric: str | None = None
    question: str | None = None
    block: str | None = None
    conversations: tuple[str, ...] | None = None
    turns: tuple[tuple[str, int], ...] | None = None
    where: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Cell:
    """One value of a table, with its doubt. None is undefined and shown as "–".

    `n` counts what the value is over. `small`: too little for a claim. `mark` is a short word beside the number
    ("best"). `digits` take the place of the column's where each row is of another kind.
    """

    value: float | int | str | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    p: float | None = None
    p_corrected: float | None = None
    small: bool = False
    mark: str = ""
    drill: Drill | None = None
    digits: int | None = None


@dataclass(frozen=True, slots=True)
class Column:
    """A column: id for machines, label for people, what it means and which way is better (None: neither)."""

    id: str
    label: str
    unit: Unit = "number"
    meaning: str = ""
    higher_is_better: bool | None = None
    digits: int | None = None
    rounds_down: bool = False
    """1 is shown only where nothing is missing."""


@dataclass(frozen=True, slots=True)
class Chart:
    """How a table is best drawn: `label` and `values` name columns; `lines` are references (chance): label → value.

    A `heatmap` or `matrix` has a column for each of `values`, around a line's value where it has one; `lines` draw each
    row over them; `scatter` takes two, `dumbbells` join two; `boxes` take lowest, quartiles and highest; `intervals`
    and `bars` have a panel for each. `across`: a text column whose values stand side by side, as panels or as columns
    of a heat map. A line's value may differ by column or panel: column id or value of `across` → value.

    `sort`: rows stand best first by this column. `first`: only so many rows are drawn, of sorted ones those farthest
    from 0. `bands`: rows of one value in this column (a tier) stand on one ground. `roles`: ids of columns or labels of
    rows that are no model's; rows marked "reference" need none. `lead`: it answers the analysis' question. `shade`: two
    lines with a ground between them.
    """

    kind: ChartKind
    label: str
    values: tuple[str, ...]
    title: str = ""
    axis: str = ""
    lines: Mapping[str, float | Mapping[str, float]] = field(default_factory=dict)
    first: int | None = None
    roles: Mapping[str, Role] = field(default_factory=dict)
    across: str = ""
    sort: str = ""
    bands: str = ""
    lead: bool = False
    shade: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A table. Rows have a cell for each column. `caption` says n, what the intervals are and what was controlled.

    So many of the last rows stand `apart`: references, which are no part of what is compared.
    """

    id: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    notes: tuple[str, ...] = ()
    chart: Chart | None = None
    apart: int = 0


class PlotRow(NamedTuple):
    """What a row is of, and a cell for each of the plot's columns. `name` is the label without what stands before it:
    a model's, where rows are models. `mark` stands beside it."""

    label: str
    cells: tuple[Cell, ...]
    name: str = ""
    mark: str = ""
    role: Role | None = None
    band: str = ""


class Scale(NamedTuple):
    """Values between which a heat map is shaded, and where its two colours part; None: one colour, light to dark."""

    low: float
    high: float
    middle: float | None = None


@dataclass(frozen=True, slots=True)
class Plot:
    """A chart with its numbers: the page draws it as SVG and `figures` for print.

    `panels` are plots of some of its columns each, over the same rows, that stand side by side; () where it is one.
    `roles`: id of a column that is no model's. `more` counts the rows that are in the table alone. `shade`: from where
    to where the ground is shaded.
    """

    kind: ChartKind
    title: str
    axis: str
    columns: tuple[Column, ...]
    rows: tuple[PlotRow, ...]
    lines: Mapping[str, float] = field(default_factory=dict)
    roles: Mapping[str, Role] = field(default_factory=dict)
    panels: tuple[Plot, ...] = ()
    more: int = 0
    shade: tuple[float, float] | None = None

    def span(self, more: Iterable[float] = (), *, intervals: bool = True) -> tuple[float, float]:
        """The least and greatest of its values, of their intervals and of `more`; (0, 1) without any."""
        cells = (cell for row in self.rows for cell in row.cells)
        numbers = [*more, *ends_of(cells, intervals=intervals)]
        return (min(numbers), max(numbers)) if numbers else (0.0, 1.0)

    def references(self, *, intervals: bool = True) -> tuple[dict[str, float], dict[str, float]]:
        """Its lines near the values, and those so far off that drawing them would press the values together."""
        low, high = self.span([0.0] if self.kind == "bars" else (), intervals=intervals)  # bars begin at 0
        reach = high - low or abs(high) or 1.0
        # Zero is what differences are read against, so it is drawn from farther off.
        off = {name: max(low - at, at - high) / (reach if at else _FAR * reach) for name, at in self.lines.items()}
        near = {name: at for name, at in self.lines.items() if off[name] <= 1}
        return near, {name: at for name, at in self.lines.items() if name not in near}

    def scales(self) -> list[Scale | None]:
        """What colours of a heat map mean, column by column; None for a reference, which has no colour.

        All columns share one scale, unless they are written in different units.
        """
        shaded = [one for one in self.columns if self.roles.get(one.id) != "reference"]
        alike = len({(one.unit, one.digits) for one in shaded}) < 2
        return [self._scale(shaded if alike else [one]) if one in shaded else None for one in self.columns]

    def _scale(self, columns: Sequence[Column]) -> Scale:
        chosen = [place for place, one in enumerate(self.columns) if one in columns]
        rows = tuple(row._replace(cells=tuple(row.cells[place] for place in chosen)) for row in self.rows)
        low, high = replace(self, rows=rows).span(intervals=False)
        middle = next(iter(self.lines.values()), 0.0 if low < 0 < high else None)
        reach = 0.0 if middle is None else max(abs(low - middle), abs(high - middle))
        return Scale(low, high) if middle is None else Scale(middle - reach, middle + reach, middle)


def plot(table: Table, chart: Chart) -> Plot:
    """A chart of the table with its numbers; columns that the table lacks are left out."""
    index = {one.id: place for place, one in enumerate(table.columns)}
    places = [index[name] for name in chart.values if name in index]
    columns = values = tuple(table.columns[at] for at in places)
    rows = [table.rows[at] for at in _order(table, chart, index)]
    shown = [_plot_row(table, chart, index, row, places) for row in rows]
    total, width = len(table.rows), len(values) if chart.kind in ("dumbbells", "boxes") else 1
    if chart.across:
        keys = [str(row[index[chart.across]].value) for row in rows]
        shown, total, width = _side_by_side(shown, keys), len({row.label for row in shown}), len(values)
        columns = tuple(
            replace(one, id=key, label=key) if width == 1 else one for key in dict.fromkeys(keys) for one in values
        )
    shown = shown[: chart.first]
    whole = Plot(chart.kind, chart.title, chart.axis, columns, tuple(shown), roles=chart.roles, more=total - len(shown))
    if chart.kind not in _IN_ROWS or len(columns) <= width:
        lines = _lines_of(chart, columns[0].id if columns else "")
        ends = sorted(lines[name] for name in chart.shade if name in lines)
        return replace(whole, lines=lines, shade=(ends[0], ends[-1]) if len(ends) > 1 else None)
    titles = list(dict.fromkeys(keys)) if chart.across else [one.label for one in columns]
    panels = []
    for title, start in zip(titles, range(0, len(columns), width), strict=True):
        part = slice(start, start + width)
        cut = tuple(row._replace(cells=row.cells[part]) for row in shown)
        lines = _lines_of(chart, title if chart.across else columns[start].id)
        panels.append(replace(whole, title=title, columns=columns[part], rows=cut, lines=lines))
    return replace(whole, lines=_lines_of(chart), panels=tuple(panels))


def _plot_row(
    table: Table, chart: Chart, index: Mapping[str, int], row: Sequence[Cell], places: Sequence[int]
) -> PlotRow:
    """A row of the table with the cells at these places; text columns before the label tell more of what a row is."""
    at, band = index[chart.label], index.get(chart.bands)
    named = [
        place
        for place, one in enumerate(table.columns[:at])
        if one.unit == "text"
        and one.id != chart.across
        and (len({other[place].value for other in table.rows[: chart.first]}) > 1 or len(table.rows) == 1)
    ]
    label, name = " · ".join(str(row[place].value) for place in (*named, at)), str(row[at].value)
    mark = row[at].mark
    role = chart.roles.get(name) or ("reference" if mark == "reference" else None)
    of_band = "" if band is None else str(row[band].value)
    return PlotRow(label, tuple(row[place] for place in places), name, "" if role else mark, role, of_band)


def _order(table: Table, chart: Chart, index: Mapping[str, int]) -> Sequence[int]:
    """Places of the rows as they are drawn; references stay below."""
    own, apart = range(len(table.rows) - table.apart), range(len(table.rows) - table.apart, len(table.rows))
    if not chart.sort:
        return (*own, *apart)
    at = index[chart.sort]
    values = {place: number_of(table.rows[place][at]) for place in own}
    defined = [place for place, value in values.items() if value is not None]
    if chart.first and not chart.across:
        defined.sort(key=lambda place: (table.rows[place][at].small, -abs(values[place] or 0.0)))
        defined = defined[: chart.first]
    rising = table.columns[at].higher_is_better is False
    defined.sort(key=lambda place: (values[place] or 0.0) if rising else -(values[place] or 0.0))
    return (*defined, *(place for place, value in values.items() if value is None), *apart)


def _side_by_side(rows: Sequence[PlotRow], keys: Sequence[str]) -> list[PlotRow]:
    """A row for each label, with the cells of each key beside each other."""
    found: dict[str, dict[str, PlotRow]] = {}
    for key, row in zip(keys, rows, strict=True):
        found.setdefault(row.label, {})[key] = row
    gap = (Cell(None),) * len(rows[0].cells) if rows else ()
    order = list(dict.fromkeys(keys))
    return [
        next(iter(of.values()))._replace(
            cells=tuple(cell for key in order for cell in (of[key].cells if key in of else gap))
        )
        for of in found.values()
    ]


def _lines_of(chart: Chart, key: str = "") -> dict[str, float]:
    """The references of a chart, or of its panel of that key."""
    found = {name: at.get(key) if isinstance(at, Mapping) else at for name, at in chart.lines.items()}
    return {name: at for name, at in found.items() if at is not None}


@dataclass(frozen=True, slots=True)
class Analysis:
    """One question asked of the scores. `shows` says in sentences what the numbers show, `cannot` what they do not.

    `missing` says why there is no table. An analysis of the catalogue leaves empty what its entry has: name, title,
    question and a `cannot` that no number changes.
    """

    name: str = ""
    title: str = ""
    question: str = ""
    shows: str = ""
    cannot: str = ""
    tables: tuple[Table, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    missing: str = ""


class Filled(NamedTuple):
    """A column with its cells, one for each row."""

    column: Column
    cells: list[Cell]

    def repeated(self, times: int) -> Filled:
        """Each row so many times."""
        return Filled(self.column, [cell for cell in self.cells for _ in range(times)])


def column(
    id: str,
    values: Iterable[Cell | Any] = (),
    label: str = "",
    unit: Unit = "number",
    meaning: str = "",
    *,
    better: bool | None = None,
    digits: int | None = None,
    rounds_down: bool = False,
) -> Filled:
    """A column of cells or bare values; NaN is undefined. `label` is the id in words unless given."""
    cells = [as_cell(value) for value in values]
    return Filled(Column(id, label or id.replace("_", " "), unit, meaning, better, digits, rounds_down), cells)


def words(id: str, values: Iterable[Cell | str | None] = (), label: str = "", meaning: str = "") -> Filled:
    """A column of text."""
    return column(id, values, label, "text", meaning)


def counts(id: str, values: Iterable[Cell | Any] = (), label: str = "", meaning: str = "") -> Filled:
    """A column of whole numbers."""
    return column(id, values, label, "count", meaning)


def numbers_of(cells: Iterable[Cell], meaning: str = "") -> Filled:
    """The column "n": how many conversations are behind each of the cells."""
    return counts("n", [cell.n for cell in cells], "conversations", meaning)


def ranks(id: str, values: Iterable[Cell | Any], label: str = "", meaning: str = "") -> Filled:
    """A column of ranks: 1 is the best."""
    return column(id, values, label, "rank", meaning, better=False)


def table(
    id: str,
    title: str,
    *filled: Filled,
    rows: Iterable[Sequence[Cell | Any]] | None = None,
    order: Iterable[int] | None = None,
    caption: str = "",
    notes: tuple[str, ...] = (),
    chart: Chart | None = None,
    apart: int = 0,
) -> Table:
    """A table of these columns, or of `rows` of cells and bare values where these have none; in an `order`."""
    by_row = zip(*(one.cells for one in filled), strict=True) if rows is None else (map(as_cell, row) for row in rows)
    lines = list(map(tuple, by_row))
    shown = tuple(lines if order is None else [lines[position] for position in order])
    return Table(id, title, tuple(one.column for one in filled), shown, caption.strip(), notes, chart, apart)


def as_cell(value: Any) -> Cell:
    """A cell as it is; a bare value as a cell without doubt: no numpy type, None for NaN."""
    if isinstance(value, Cell):
        return value
    plain = value.item() if isinstance(value, np.generic) else value
    return Cell(None if plain != plain else plain)


def ends_of(cells: Iterable[Cell], *, intervals: bool = True) -> Iterable[float]:
    """The values that are defined, each with the ends of its interval: what an axis has to hold."""
    for cell in cells:
        if (value := number_of(cell)) is not None:
            yield from (value, *(end for end in (cell.low, cell.high) if intervals and end is not None))


def number_of(cell: Cell) -> float | None:
    """The cell's value if it is a finite number."""
    value = cell.value
    plain = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if plain else None  # type: ignore[arg-type]


def cell_of(value: float, low: float = np.nan, high: float = np.nan, **rest: Any) -> Cell:
    """A cell of numbers of which NaN is undefined; `rest` are further fields."""
    return Cell(known(value), known(low), known(high), **rest)


def known(value: float) -> float | None:
    """None for NaN: what arrays call undefined, as cells call it."""
    return None if np.isnan(value) else float(value)
