"""Choosing conversations by what is known of them: fields, conditions, options and `--where`.

Works on the entries of the ground truth that a scores file holds, and on nothing else. Importing it loads nothing
heavy, since the options of a command are made from its catalogue.
"""

from __future__ import annotations

from attunebench.selection.choosing import Selection, choose
from attunebench.selection.conditions import EVERYTHING, And, Condition, Not, Or, all_of, any_of
from attunebench.selection.fields import Field
from attunebench.selection.filters import Filter, condition_from, filters
from attunebench.selection.known import Fields, fields_of
from attunebench.selection.overview import FieldOverview, ValueCount, overview
from attunebench.selection.where import parse_where

__all__ = [
    "EVERYTHING",
    "And",
    "Condition",
    "Field",
    "FieldOverview",
    "Fields",
    "Filter",
    "Not",
    "Or",
    "Selection",
    "ValueCount",
    "all_of",
    "any_of",
    "choose",
    "condition_from",
    "fields_of",
    "filters",
    "overview",
    "parse_where",
]
