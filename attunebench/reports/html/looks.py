"""What models look like on a page: the name of each one's looks, its colours, and the outlines of markers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from attunebench.analyses.palette import OUTLINES, Style, palette
from attunebench.reports.html.charts import SHAPES
from attunebench.scores.table import Group

_REACH = 5.0
"""Half the width of a symbol in pixels."""


class Looks(NamedTuple):
    """Name of looks ("k0") by model key and by label; `styles` and `symbols` by that name.

    A symbol is the corners of its polygon, y downwards: each model's, and those of a row's values.
    """

    of_key: Mapping[tuple[str, str], str]
    of_label: Mapping[str, str]
    styles: Sequence[tuple[str, Style]]
    symbols: Sequence[tuple[str, str]]


def looks_of(groups: Sequence[Group]) -> Looks:
    """The looks of the models among all groups of a study."""
    styles = palette(groups)
    names = {key: f"k{place}" for place, key in enumerate(styles)}
    markers = {**{names[key]: style.marker for key, style in styles.items()}, **SHAPES}
    corners = {
        name: " ".join(f"{_REACH * x:.2f},{-_REACH * y:.2f}" for x, y in OUTLINES[marker])
        for name, marker in markers.items()
    }
    of_label = {group.label: names[group.model_key] for group in groups}
    return Looks(names, of_label, [(names[key], style) for key, style in styles.items()], list(corners.items()))
