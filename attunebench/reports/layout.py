"""Sections as grids of words: metrics or groups down the side, and columns cut to the width that there is.

Owns orientation, how value, interval and n share a cell, and what a column is called. Draws nothing; foreign names go
through the caller's `clean`, for only the caller knows what is harmless where it draws.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from attunebench.reports.model import Cell, Group, Reference, Row, Section

Clean = Callable[[str], str]
GAP = 2
"""Blanks between two columns."""
NO_BREAK = "\N{NO-BREAK SPACE}"
"""Stands in heads and labels where a line must not end; whoever draws makes it a blank."""
_WIDEST_HEAD = 24
_NARROWEST_KEY = 8
"""No narrower than this do names become to make room for numbers."""
_WIDEST_MODE = 18


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a grid. `key` columns say what a row is; keys and `prose` may wrap, other words may not.

    A line break in `head` or in a word is one on the page. `limit`: the width that its words may take at most.
    `links`: a URL for each word, "" for none; () where no word has one.
    """

    head: str
    words: tuple[str, ...]
    key: bool = False
    right: bool = False
    prose: bool = False
    limit: int | None = None
    links: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """The width that it takes when only its head is wrapped."""
        longest = max((len(word) for word in self.head.split()), default=0)
        words = max((len(line) for word in self.words for line in word.split("\n")), default=0)
        return max(min(longest, _WIDEST_HEAD), words if self.limit is None else min(words, self.limit))


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of words. `rules`: the rows before which a line is drawn."""

    columns: tuple[Column, ...]
    rules: frozenset[int] = field(default_factory=frozenset)

    @property
    def rows(self) -> list[tuple[str, ...]]:
        return list(zip(*(column.words for column in self.columns), strict=True))

    @property
    def width(self) -> int:
        return sum(column.width + GAP for column in self.columns) - GAP

    def cut(self, width: int, *, lean: bool = False) -> list[Grid]:
        """The grid in pieces of at most `width`, each with the key columns; a piece has one other column at least.

        The last row is left out of a piece that says nothing in it (chance levels of metrics that have none).
        `lean`: after the first piece the first key stands alone, where that is enough to tell the rows from each other.
        """
        keys = tuple(column for column in self._with_room(width).columns if column.key)
        again = keys[:1] if lean and keys and len(set(keys[0].words)) == len(keys[0].words) else keys
        pieces: list[Grid] = []
        for column in (column for column in self.columns if not column.key):
            wider = replace(pieces[-1], columns=(*pieces[-1].columns, column)) if pieces else None
            if wider is not None and wider.width <= width:
                pieces[-1] = wider
            else:
                pieces.append(replace(self, columns=(*(again if pieces else keys), column)))
        return [piece.without_silent_end() for piece in pieces]

    def narrowed(self, widest_key: int) -> Grid:
        """The grid with key columns of at most that width: their words wrap, where a number would lose digits."""
        limits = [widest_key if column.limit is None else min(widest_key, column.limit) for column in self.columns]
        pairs = zip(self.columns, limits, strict=True)
        return replace(self, columns=tuple(replace(c, limit=limit) if c.key else c for c, limit in pairs))

    def _with_room(self, width: int) -> Grid:
        """The widest keys give way until each other column has room beside them."""
        other = max((column.width for column in self.columns if not column.key), default=0)
        widest = max((column.width for column in self.columns if column.key), default=0)
        for limit in range(widest, _NARROWEST_KEY, -1):
            grid = self.narrowed(limit)
            if sum(column.width + GAP for column in grid.columns if column.key) + other <= width:
                return grid
        return self.narrowed(_NARROWEST_KEY)

    def without_silent_end(self) -> Grid:
        """The grid less its last row where only key columns say something there."""
        if any(column.words[-1] for column in self.columns if not column.key):
            return self
        columns = tuple(replace(column, words=column.words[:-1]) for column in self.columns)
        return Grid(columns, self.rules - {len(columns[0].words)})


def of_one_group(section: Section, clean: Clean, *, explained: bool) -> Grid:
    """Metrics down the side; value, interval, n and chance level beside them; with `explained` id and meaning too."""
    cells = [(row, row.cells[0]) for row in section.rows]
    columns = [
        Column("Metric", tuple(row.heading for row in section.rows), key=True),
        Column("Value", tuple(row.value_text(cell) for row, cell in cells), right=True),
        Column("95 % interval", tuple(row.interval_text(cell) for row, cell in cells)),
        Column("n", tuple(str(cell.n) if cell.mean is not None else "" for _, cell in cells), right=True),
        *_reference_values(section, clean),
        Column("Chance", tuple(row.chance_text for row in section.rows), right=True),
    ]
    if explained:
        columns.append(Column("Id", tuple(row.id for row in section.rows)))
        columns.append(Column("Meaning", tuple(row.legend for row in section.rows), prose=True))
    return Grid(tuple(column for column in columns if column.key or any(column.words)))


def by_metric(section: Section, groups: Sequence[Group], clean: Clean, *, widest_label: int | None = None) -> Grid:
    """Metrics down the side and a column for each group."""
    remarks = [_n_remark(row, groups) for row in section.rows]
    labels = tuple(f"{row.heading}{remark}" for row, remark in zip(section.rows, remarks, strict=True))
    columns = [Column("Metric", labels, key=True, limit=widest_label)]
    for index, group in enumerate(groups):
        cells = [(row, row.cells[index], group) for row in section.rows]
        words = _aligned(
            [_parts(row, cell, group, remark) for (row, cell, group), remark in zip(cells, remarks, strict=True)]
        )
        columns.append(Column(_head(group, groups, clean), words))
    columns += _reference_values(section, clean)
    if any(row.chance_text for row in section.rows):
        columns.append(Column("Chance", tuple(row.chance_text for row in section.rows), right=True))
    return Grid(tuple(columns))


def by_group(section: Section, groups: Sequence[Group], clean: Clean, *, widest_name: int | None = None) -> Grid:
    """Groups down the side and a column for each metric; last lines give references and chance levels, if any."""
    with_chance = any(row.chance_text for row in section.rows)
    references = section.references
    last = [""] * (len(references) + with_chance)
    names = [*(clean(group.marked) for group in groups), *(clean(reference.label) for reference in references)]
    names += ["chance"] if with_chance else []
    other = None if widest_name is None else max(_WIDEST_MODE, widest_name // 2)
    columns = [Column("Model", tuple(names), key=True, limit=widest_name)]
    if several_providers(groups):
        columns.append(Column("Provider", (*(clean(group.provider) for group in groups), *last), key=True, limit=other))
    columns.append(Column("Mode", (*(clean(group.mode) for group in groups), *last), key=True, limit=other))
    values = [_metric_column(row, groups, references, with_chance) for row in section.rows]
    if section.leaderboard:
        values[1:1] = _coverage_columns(groups, last)
        values[:0] = _standing_column(groups, last)
    elif len({group.n for group in groups}) > 1:
        counts = [*(str(group.n) for group in groups), *(str(reference.n) for reference in references)]
        columns.append(Column("n", (*counts, *last[len(references) :]), key=True, right=True))
    rules = {index for index in range(1, len(groups)) if groups[index].mode != groups[index - 1].mode}
    rules |= {len(groups)} if references else set()
    return Grid((*columns, *values), frozenset(rules | ({len(names) - 1} if with_chance else set())))


def several_providers(groups: Sequence[Group]) -> bool:
    """Whether a group's provider has to be named for it to be told apart."""
    return len({group.provider for group in groups}) > 1


def _standing_column(groups: Sequence[Group], last: Sequence[str]) -> list[Column]:
    """Tier and places, where anybody has them."""
    if not any(group.standing for group in groups):
        return []
    return [Column("Tier (places)", (*(group.standing.text if group.standing else "" for group in groups), *last))]


def _coverage_columns(groups: Sequence[Group], last: Sequence[str]) -> list[Column]:
    """What was scored and answered, where groups differ in it; the heading says what they have in common."""
    columns = (
        Column("Scored", (*(group.scored_text for group in groups), *last), right=True),
        Column("Answered", (*(group.answered_text for group in groups), *last), right=True),
    )
    return [column for column in columns if len(set(column.words[: len(groups)])) > 1]


def _reference_values(section: Section, clean: Clean) -> list[Column]:
    """What the references get, without their doubt: beside a model they are a line to be above of."""
    return [
        Column(clean(reference.label), tuple(row.value_text(row.beside[index]) for row in section.rows), right=True)
        for index, reference in enumerate(section.references)
    ]


def _metric_column(row: Row, groups: Sequence[Group], references: Sequence[Reference], with_chance: bool) -> Column:
    remark = _n_remark(row, groups)
    parts = [_parts(row, cell, group, remark) for cell, group in zip(row.cells, groups, strict=True)]
    parts += [_parts(row, cell, reference, remark) for cell, reference in zip(row.beside, references, strict=True)]
    if with_chance:
        parts.append((row.chance_text, "", ""))
    return Column(f"{row.heading}{remark}", _aligned(parts))


def _n_remark(row: Row, groups: Sequence[Group]) -> str:
    """ " (n 40)" where all groups have the same n and it is not simply their number of conversations."""
    counts = {cell.n for cell in row.cells if cell.mean is not None}
    if not row.n_shown or len(counts) != 1 or (not row.pooled and {group.n for group in groups} == counts):
        return ""
    return f" (n{NO_BREAK}{counts.pop()})"


def _parts(row: Row, cell: Cell, group: Group | Reference, remark: str) -> tuple[str, str, str]:
    """Value, interval and, where neither the row nor the group says it, the n of a cell."""
    silent = remark or not row.n_shown or cell.mean is None or (cell.n == group.n and not row.pooled)
    return row.value_text(cell), row.interval_text(cell), "" if silent else f"(n {cell.n})"


def _aligned(parts: Sequence[tuple[str, str, str]]) -> tuple[str, ...]:
    """Values under values and intervals under intervals."""
    value_width, interval_width = (max(len(part[i]) for part in parts) for i in (0, 1))
    lines = ((f"{value:>{value_width}}", f"{interval:<{interval_width}}", n) for value, interval, n in parts)
    return tuple(" ".join(word for word in line if word).rstrip() for line in lines)


def _head(group: Group, groups: Sequence[Group], clean: Clean) -> str:
    """Model, provider, mode and n, each on a line of its own, so that columns side by side read alike."""
    provider = [clean(group.provider)] if several_providers(groups) else []
    count = [f"(n{NO_BREAK}{group.n})"] if len({other.n for other in groups}) > 1 else []
    return "\n".join([clean(group.marked), *provider, clean(group.mode), *count])
