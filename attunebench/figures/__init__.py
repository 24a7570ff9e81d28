"""Figures for print, drawn from a study's analyses: the same numbers as in their tables.

`FIGURES` lists them, `draw` makes them, `render` turns one into bytes. Needs the extra `analyses` (matplotlib), which
is imported only when something is drawn. Computes no statistic of its own.
"""

from attunebench.figures.catalogue import FIGURES, Entry, draw, entry, require_matplotlib
from attunebench.figures.model import Look, Picture, Skipped
from attunebench.figures.saving import CAPTIONS, Format, captions, render, write

__all__ = [
    "CAPTIONS",
    "FIGURES",
    "Entry",
    "Format",
    "Look",
    "Picture",
    "Skipped",
    "captions",
    "draw",
    "entry",
    "render",
    "require_matplotlib",
    "write",
]
