"""Tables as grids of words: columns cut to the width that there is, the key columns repeated in each piece.

Draws nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

GAP = 2
"""Blanks between two columns."""
NO_BREAK = "\N{NO-BREAK SPACE}"
"""Stands where a line must not end; whoever draws makes it a blank."""
_WIDEST_HEAD = 24
_NARROWEST_KEY = 8
"""Names become no narrower than this to make room for numbers."""
_NARROWEST_TEXT = 24
"""A text beside names becomes no narrower than this to keep the names whole."""
_KEY_SHARE = 0.45
"""No more of the width than this is given to the key columns of a grid that is cut."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a grid. `key` columns say what a row is. Words of columns that are not `right` may wrap.

    `limit`: the width that its words may take at most. `tied`: it is about the column before it and stands beside it.
    """

    head: str
    words: tuple[str, ...]
    key: bool = False
    right: bool = False
    limit: int | None = None
    tied: bool = False

    @property
    def width(self) -> int:
        """The width that it takes when only its head is wrapped."""
        longest = max((len(word) for word in self.head.split()), default=0)
        words = max((len(line) for word in self.words for line in word.split("\n")), default=0)
        return max(min(longest, _WIDEST_HEAD), words if self.limit is None else min(words, self.limit))


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of words; so many of its last rows stand `apart`, below a line."""

    columns: tuple[Column, ...]
    apart: int = 0

    @property
    def rows(self) -> list[tuple[str, ...]]:
        return list(zip(*(column.words for column in self.columns), strict=True))

    @property
    def width(self) -> int:
        return sum(column.width + GAP for column in self.columns) - GAP

    def narrowed(self, width: int, least: int) -> Grid:
        """The grid with keys that wrap so that all of it takes `width`, but none of them narrower than `least`. Texts
        beside them wrap first where that keeps the words of the keys whole."""
        keys = [word for column in self.columns if column.key for word in column.words]
        unbroken = max((len(part) for word in keys for part in word.split()), default=0)
        if (excess := self._with_keys_of(max(unbroken, least)).width - width) > 0:
            texts = [c for c in self.columns if c.limit is not None and not c.key]
            if len(texts) == 1 and (room := texts[0].width - excess) >= _NARROWEST_TEXT:
                columns = tuple(replace(c, limit=room) if c is texts[0] else c for c in self.columns)
                return replace(self, columns=columns)._with_keys_of(max(unbroken, least))
        widest = max((column.width for column in self.columns if column.key), default=0)
        for limit in range(widest, least - 1, -1):
            if (grid := self._with_keys_of(limit)).width <= width:
                return grid
        return self._with_keys_of(least)

    def cut(self, width: int) -> list[Grid]:
        """The grid in pieces of at most `width`, each with the key columns; a piece has one other column at least.

        The last row is left out of a piece that says nothing in it (chance levels of metrics that have none). After the
        first piece the first key stands alone, where that is enough to tell the rows from each other.
        """
        others: list[tuple[Column, ...]] = []
        for column in self.columns:
            if not column.key:
                others[len(others) - column.tied :] = [(*(others[-1] if column.tied else ()), column)]
        widths = (sum(column.width + GAP for column in together) for together in others)
        room = width - max(widths, default=GAP)
        names = replace(self, columns=tuple(column for column in self.columns if column.key))
        keys = names.narrowed(min(int(width * _KEY_SHARE), room), _NARROWEST_KEY).columns
        again = keys[:1] if keys and len(set(keys[0].words)) == len(keys[0].words) else keys
        pieces: list[Grid] = []
        for together in others:
            wider = replace(pieces[-1], columns=(*pieces[-1].columns, *together)) if pieces else None
            if wider is not None and wider.width <= width:
                pieces[-1] = wider
            else:
                pieces.append(replace(self, columns=(*(again if pieces else keys), *together)))
        return [piece._with_room_used(width)._without_silent_end() for piece in pieces]

    def _with_keys_of(self, widest: int) -> Grid:
        limits = [widest if column.limit is None else min(widest, column.limit) for column in self.columns]
        pairs = zip(self.columns, limits, strict=True)
        return replace(self, columns=tuple(replace(c, limit=limit) if c.key else c for c, limit in pairs))

    def _with_room_used(self, width: int) -> Grid:
        """The grid with all of the width for a column that stands alone beside the keys, so that paths stay whole."""
        *keys, last = self.columns
        if last.limit is None or not all(column.key for column in keys):
            return self
        room = width - sum(column.width + GAP for column in keys)
        return replace(self, columns=(*keys, replace(last, limit=max(last.limit, room))))

    def _without_silent_end(self) -> Grid:
        """The grid less its last row where that stands apart and only its key columns say something."""
        if not self.apart or any(column.words[-1] for column in self.columns if not column.key):
            return self
        return Grid(tuple(replace(column, words=column.words[:-1]) for column in self.columns), self.apart - 1)
