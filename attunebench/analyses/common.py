"""Names of before, until every analysis has moved."""

# ruff: noqa: F401, F403
from attunebench.analyses.base import *
from attunebench.analyses.base import value_of
from attunebench.analyses.catalogue import ANALYSES
from attunebench.analyses.sampling import *
from attunebench.analyses.table import ZERO_INFLATED as ZERO_INFLATED
from attunebench.analyses.table import Analysis
from attunebench.analyses.verdicts import *
from attunebench.scores import BASE_RATE as BASE_RATE
from attunebench.scores import EMPTY_TAGS as EMPTY_TAGS

ZERO_INFLATED_NOTE = "See the mark."


def begun(name: str) -> Analysis:
    """An analysis with its name, title and question, to be filled."""
    entry = ANALYSES[name]
    return Analysis(entry.name, entry.title, entry.question)
