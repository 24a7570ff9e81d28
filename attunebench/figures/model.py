"""What a figure is asked for and what it is when it is done. Draws nothing and knows no metric."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Width = Literal["single", "double"]
INCHES: dict[Width, float] = {"single": 89 / 25.4, "double": 183 / 25.4}
"""One column and two of a journal's page, 89 and 183 mm."""


@dataclass(frozen=True, slots=True)
class Look:
    """How figures are drawn: how wide, and how many dots an inch has in a raster format."""

    width: Width = "double"
    dpi: int = 300

    @property
    def inches(self) -> float:
        return INCHES[self.width]

    @property
    def wide(self) -> bool:
        return self.width == "double"


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure that was drawn. `id` is its file name without an ending; `caption` is in sentences."""

    id: str
    title: str
    figure: Figure
    caption: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A figure that these scores cannot give, and why, in a sentence."""

    name: str
    reason: str


class LackingError(Exception):
    """The scores lack what a figure needs; the text says what. It never leaves this package: it becomes `Skipped`."""
