"""Names of before, until every table has moved."""

from attunebench.analyses.base import SMALL as SMALL
from attunebench.analyses.base import Settings as Settings
from attunebench.analyses.base import Subject as Subject
from attunebench.analyses.table import NOT_ESTIMABLE as NOT_ESTIMABLE
from attunebench.analyses.table import Analysis as Analysis
from attunebench.analyses.table import Cell as Cell
from attunebench.analyses.table import Chart as Chart
from attunebench.analyses.table import ChartKind as ChartKind
from attunebench.analyses.table import Column as Column
from attunebench.analyses.table import Drill as Drill
from attunebench.analyses.table import Table as Table
from attunebench.analyses.table import Unit as Unit
from attunebench.analyses.table import known as known
from attunebench.analyses.table import legend as legend


def text(value: str, *, mark: str = "", drill: Drill | None = None) -> Cell:
    """A cell of words."""
    return Cell(value, mark=mark, drill=drill)
