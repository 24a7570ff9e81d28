"""How each model looks in every figure and in the HTML report: colour, marker and dash, the same everywhere.

Given out by sorted name over the whole study, so that a figure of some models shows each as the others do. Knows no
metric and no drawing library.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from attunebench.scores.table import Group

Outline = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Style:
    """One model's looks. `colour` is for white paper, `colour_dark` for a dark screen; both are `#RRGGBB`.

    `marker` is a name of `OUTLINES`. `dash` has lengths of strokes and gaps in line widths; () is a solid line.
    """

    colour: str
    colour_dark: str
    marker: str
    dash: tuple[float, ...]


COLOURS: tuple[tuple[str, str], ...] = (
    ("#0072B2", "#B4E1FF"),
    ("#D55E00", "#D2B496"),
    ("#009E73", "#96FFA5"),
    ("#2B2B2B", "#F0FFF0"),
    ("#8778F0", "#5A96FF"),
    ("#961E00", "#A5785A"),
    ("#A587A5", "#C369C3"),
    ("#001E87", "#B4B4FF"),
    ("#F03C69", "#E16987"),
    ("#695A3C", "#FFF05A"),
    ("#961E87", "#F0A5C3"),
    ("#C3693C", "#E15A2D"),
    ("#783C5A", "#C35A96"),
    ("#4B004B", "#A55AD2"),
    ("#5A0F00", "#F09669"),
)
"""Light and dark. Okabe and Ito's blue, vermillion and green, and those farthest from all before them as people with
protanopia, deuteranopia, tritanopia and full colour vision see them, among colours with a contrast of 3:1 or more."""

_DASH_KINDS = {"-": (), "=": (4.0, 1.6), ".": (1.2, 1.4), ";": (5.0, 1.5, 1.2, 1.5), "_": (8.0, 2.0)}
# Colours of like lightness have different dashes, so that a grey copy still tells lines apart.
_DASHES: tuple[tuple[float, ...], ...] = tuple(_DASH_KINDS[kind] for kind in "-=-;_==-;_;..._")


def _regular(corners: int, turn: float = 0.0, inner: float | None = None) -> Outline:
    """A regular polygon, or a star whose other corners lie at `inner`; `turn` in degrees from a corner on top."""
    count = corners * (1 if inner is None else 2)
    radii = [1.0 if inner is None or k % 2 == 0 else inner for k in range(count)]
    angles = [math.radians(90.0 + turn + 360.0 * k / count) for k in range(count)]
    return tuple((round(r * math.cos(a), 4), round(r * math.sin(a), 4)) for r, a in zip(radii, angles, strict=True))


def _cross(arm: float, turn: float) -> Outline:
    """A cross with arms of half width `arm`."""
    corners = [(arm, arm), (arm, 1.0), (-arm, 1.0), (-arm, arm), (-1.0, arm), (-1.0, -arm)]
    corners += [(-x, -y) for x, y in corners]
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    return tuple((round(x * cos - y * sin, 4), round(x * sin + y * cos, 4)) for x, y in corners)


OUTLINES: Mapping[str, Outline] = MappingProxyType(
    {
        "circle": _regular(32),
        "square": ((0.85, 0.85), (-0.85, 0.85), (-0.85, -0.85), (0.85, -0.85)),
        "triangle-up": ((0.0, 1.0), (-1.0, -0.8), (1.0, -0.8)),
        "diamond": _regular(4),
        "triangle-down": ((0.0, -1.0), (1.0, 0.8), (-1.0, 0.8)),
        "plus": _cross(0.33, 0.0),
        "cross": _cross(0.33, 45.0),
        "star": _regular(5, inner=0.42),
        "triangle-right": ((1.0, 0.0), (-0.8, 1.0), (-0.8, -1.0)),
        "pentagon": _regular(5),
        "triangle-left": ((-1.0, 0.0), (0.8, -1.0), (0.8, 1.0)),
        "hexagon": _regular(6),
        "bar": ((0.3, 1.0), (-0.3, 1.0), (-0.3, -1.0), (0.3, -1.0)),
        "hourglass": ((0.9, 1.0), (-0.9, 1.0), (0.9, -1.0), (-0.9, -1.0)),
        "star-four": _regular(4, inner=0.4),
    }
)
"""Marker → its corners in order, within about −1 to 1, y upwards: closed, and filled with the model's colour."""


def palette(groups: Sequence[Group]) -> Mapping[tuple[str, str], Style]:
    """`Group.model_key` → looks, the same in all figures if it is always given all groups of the study.

    Models come first, then people, then baselines, each by name, so that a model's looks don't depend on whether
    baselines are shown. Up to 15 differ in colour and in marker; beyond, colours return with other markers.
    """
    kinds = {"model": 0, "human": 1, "baseline": 2, "oracle": 2}
    order = {group.model_key: (kinds[group.kind], group.model.casefold(), group.model_key) for group in groups}
    keys = sorted(order, key=order.__getitem__)
    return MappingProxyType({key: style_at(place) for place, key in enumerate(keys)})


def style_at(place: int) -> Style:
    """The looks of the model at a place from 0 in the order of `palette`."""
    lap, colour = divmod(place, len(COLOURS))
    markers = tuple(OUTLINES)
    light, dark = COLOURS[colour]
    return Style(light, dark, markers[(colour + lap) % len(markers)], _DASHES[(colour + lap) % len(_DASHES)])
