"""How numbers stand in the framework's table: with their n where it is not that of the table, undefined as a dash."""

from __future__ import annotations

import math


class Figure(float):
    """A number that knows over how many conversations it was taken. As a float it is that number, NaN where undefined.

    `n` of `of` conversations. The framework formats the values of its table by `__format__` alone and writes floats to
    its files: so people read the n beside the number, and programs read a number.
    """

    n: int
    of: int

    def __new__(cls, value: float | None, n: int, of: int) -> Figure:
        figure = super().__new__(cls, math.nan if value is None else value)
        figure.n, figure.of = n, of
        return figure

    def __format__(self, spec: str) -> str:
        text = "–" if math.isnan(self) else super().__format__(spec)
        return text if self.n == self.of else f"{text} (n {self.n})"

    def __reduce__(self) -> tuple[type[Figure], tuple[float, int, int]]:
        return Figure, (float(self), self.n, self.of)
