"""Figures for print, drawn from a study's analyses: the same numbers as in their tables.

`FIGURES` lists them, `draw` makes them, `render` turns one into bytes. Needs the extra `analyses` (matplotlib), which
is imported only when something is drawn. Computes no statistic of its own.
"""

from attunebench.figures.catalogue import Picture, Skipped, draw, entry, require_matplotlib
from attunebench.figures.saving import CAPTIONS, METHODS, Format, captions, methods, render, write
from attunebench.figures.sheets import FIGURES, Entry
from attunebench.figures.source import Look

__all__ = [
    "CAPTIONS",
    "FIGURES",
    "METHODS",
    "Entry",
    "Format",
    "Look",
    "Picture",
    "Skipped",
    "captions",
    "draw",
    "entry",
    "methods",
    "render",
    "require_matplotlib",
    "write",
]
