"""One module for each question that is asked of scores; each turns a study into tables and sentences.

`ANALYSES` lists them, `analyse` makes one. Nothing here reads a file, draws or prints.
"""

from attunebench.analyses.base import Settings, Subject
from attunebench.analyses.catalogue import ANALYSES, Entry, analyse, entry
from attunebench.analyses.table import Analysis, Cell, Chart, Column, Drill, Table

__all__ = [
    "ANALYSES",
    "Analysis",
    "Cell",
    "Chart",
    "Column",
    "Drill",
    "Entry",
    "Settings",
    "Subject",
    "Table",
    "analyse",
    "entry",
]
