"""Choosing conversations: a field has a name, a type and a way to be read; an expression over fields is a condition.

Works on the entries of the ground truth that a scores file holds, and on nothing else.
"""

from __future__ import annotations

from attunebench.selection.conditions import EVERYTHING, Condition, Selection, choose
from attunebench.selection.fields import Field, Fields, fields_of
from attunebench.selection.where import parse_where

__all__ = ["EVERYTHING", "Condition", "Field", "Fields", "Selection", "choose", "fields_of", "parse_where"]
