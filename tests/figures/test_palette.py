"""A model looks the same in every figure, and unlike the others in colour, for the colour-blind and in grey."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from attunebench.analyses.palette import COLOURS, OUTLINES, palette, style_at
from attunebench.scores.table import Group

PAPER, SCREEN = "#FFFFFF", "#1B1D21"
SIGHTS = {
    "full": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]
    ),
}
"""Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB."""


def linear(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(light: np.ndarray) -> np.ndarray:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = to_xyz @ np.clip(light, 0, 1) / [0.9505, 1, 1.089]
    fx, fy, fz = (np.cbrt(v) if v > 0.008856 else 7.787 * v + 16 / 116 for v in (x, y, z))
    return np.array([116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)])


def contrast(one: str, other: str) -> float:
    bright = sorted(linear(colour) @ [0.2126, 0.7152, 0.0722] for colour in (one, other))
    return float((bright[1] + 0.05) / (bright[0] + 0.05))


def lightness(colour: str) -> float:
    return float(lab(linear(colour))[0])


def group(model: str, provider: str = "test", mode: str = "default") -> Group:
    return Group(provider, model, mode, label=model)


@pytest.mark.parametrize("place", range(15))
def test_every_colour_stands_out_from_its_background(place: int) -> None:
    light, dark = COLOURS[place]
    assert 3 <= contrast(light, PAPER)
    assert 3 <= contrast(dark, SCREEN)


@pytest.mark.parametrize("place", range(15))
def test_a_colour_has_the_same_hue_on_light_and_on_dark(place: int) -> None:
    (_, *light), (_, *dark) = (lab(linear(colour)) for colour in COLOURS[place])
    turn = np.degrees(np.arctan2(light[1], light[0]) - np.arctan2(dark[1], dark[0]))
    assert abs((turn + 180) % 360 - 180) < 40 or np.hypot(*light) < 5


@pytest.mark.parametrize("sight", SIGHTS)
@pytest.mark.parametrize("shade", [0, 1], ids=["light", "dark"])
def test_any_two_of_fifteen_colours_differ_for_every_kind_of_sight(sight: str, shade: int) -> None:
    seen = [lab(SIGHTS[sight] @ linear(pair[shade])) for pair in COLOURS]
    assert 14 <= min(np.linalg.norm(a - b) for a, b in combinations(seen, 2))


def test_any_two_of_fifteen_models_differ_in_marker_and_like_greys_differ_in_dash() -> None:
    styles = [style_at(place) for place in range(15)]
    assert 15 == len({style.marker for style in styles})
    for a, b in combinations(styles, 2):
        assert a.dash != b.dash or abs(lightness(a.colour) - lightness(b.colour)) > 5


def test_sixty_models_still_differ_in_colour_or_marker() -> None:
    assert 60 == len({(style_at(place).colour, style_at(place).marker) for place in range(60)})


def test_looks_follow_sorted_names_whatever_the_order_and_the_modes() -> None:
    groups = [group("b"), group("A"), group("c"), group("A", mode="verbose")]
    looks = palette(groups)
    assert looks == palette(groups[::-1])
    assert [style_at(0), style_at(1), style_at(2)] == [looks["test", "A"], looks["test", "b"], looks["test", "c"]]


def test_baselines_and_people_do_not_change_the_looks_of_models() -> None:
    models = [group("zeta"), group("mu")]
    more = [*models, group("random", "baseline"), group("ann", "human"), group("oracle", "baseline")]
    assert palette(models).items() <= palette(more).items()


@pytest.mark.parametrize("name", OUTLINES)
def test_outlines_are_polygons_within_the_unit_box(name: str) -> None:
    corners = np.array(OUTLINES[name])
    assert 3 <= len(corners)
    assert 1.21 >= np.abs(corners).max() >= 0.8
