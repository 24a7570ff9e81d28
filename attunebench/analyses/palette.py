"""How each model looks in every figure and in the HTML report: colour, marker and dash, the same everywhere.

Given out by sorted name over the whole study, so that a figure of some models shows each as the others do.
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


def _regular(corners: int, inner: float | None = None) -> Outline:
    """A regular polygon with a corner on top, or a star whose other corners lie at `inner`."""
    count = corners * (1 if inner is None else 2)
    radii = [1.0 if inner is None or k % 2 == 0 else inner for k in range(count)]
    angles = [math.radians(90.0 + 360.0 * k / count) for k in range(count)]
    return tuple((round(r * math.cos(a), 4), round(r * math.sin(a), 4)) for r, a in zip(radii, angles, strict=True))


def _cross(arm: float, turn: float) -> Outline:
    """A cross with arms of half width `arm`."""
    corners = [(arm, arm), (arm, 1.0), (-arm, 1.0), (-arm, arm), (-1.0, arm), (-1.0, -arm)]
    corners += [(-x, -y) for x, y in corners]
    cos, sin = math.cos(math.radians(turn)), math.sin(math.radians(turn))
    return tuple((round(x * cos - y * sin, 4), round(x * sin + y * cos, 4)) for x, y in corners)


_SOLID: tuple[float, ...] = ()
_DASHED, _DOTTED, _MIXED, _LONG = (4.0, 1.6), (1.2, 1.4), (5.0, 1.5, 1.2, 1.5), (8.0, 2.0)
_LOOKS: tuple[tuple[str, str, tuple[float, ...], str, Outline], ...] = (
    ("#0072B2", "#1878B4", _SOLID, "circle", _regular(32)),
    ("#D55E00", "#E46C18", _DASHED, "square", ((0.85, 0.85), (-0.85, 0.85), (-0.85, -0.85), (0.85, -0.85))),
    ("#009E73", "#54CC84", _SOLID, "triangle-up", ((0.0, 1.0), (-1.0, -0.8), (1.0, -0.8))),
    ("#2B2B2B", "#606C6C", _MIXED, "diamond", _regular(4)),
    ("#8778F0", "#8478F0", _LONG, "triangle-down", ((0.0, -1.0), (1.0, 0.8), (-1.0, 0.8))),
    ("#961E00", "#C03C18", _DASHED, "plus", _cross(0.33, 0.0)),
    ("#A587A5", "#C0A8CC", _DASHED, "cross", _cross(0.33, 45.0)),
    ("#001E87", "#6054E4", _SOLID, "star", _regular(5, inner=0.42)),
    ("#F03C69", "#E49CA8", _MIXED, "triangle-right", ((1.0, 0.0), (-0.8, 1.0), (-0.8, -1.0))),
    ("#695A3C", "#9C846C", _LONG, "pentagon", _regular(5)),
    ("#961E87", "#F078E4", _MIXED, "triangle-left", ((-1.0, 0.0), (0.8, -1.0), (0.8, 1.0))),
    ("#C3693C", "#D87848", _DOTTED, "hexagon", _regular(6)),
    ("#783C5A", "#B46C9C", _DOTTED, "bar", ((0.3, 1.0), (-0.3, 1.0), (-0.3, -1.0), (0.3, -1.0))),
    ("#4B004B", "#C024A8", _DOTTED, "hourglass", ((0.9, 1.0), (-0.9, 1.0), (0.9, -1.0), (-0.9, -1.0))),
    ("#5A0F00", "#A8543C", _LONG, "star-four", _regular(4, inner=0.4)),
)
"""Colour on light and on dark, dash, and a marker: its corners in order, within about −1 to 1, y upwards.

Okabe and Ito's blue, vermillion and green, and those farthest from all before them as people with protanopia,
deuteranopia, tritanopia and full colour vision see them, among colours with a contrast of 3:1 or more. On dark each has
its hue (within 18° in OKLCH), as near as such differences allow. Colours of like lightness have different dashes, so
that a grey copy still tells lines apart.
"""
COLOURS: tuple[tuple[str, str], ...] = tuple((light, dark) for light, dark, *_ in _LOOKS)
OUTLINES: Mapping[str, Outline] = MappingProxyType({marker: outline for *_, marker, outline in _LOOKS})


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
    lap, colour = divmod(place, len(_LOOKS))
    _, _, dash, marker, _ = _LOOKS[(colour + lap) % len(_LOOKS)]
    return Style(*COLOURS[colour], marker, dash)
