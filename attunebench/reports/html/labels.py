"""Where the names of lines and points stand so that none covers another; in percent of a plot of about 500 × 270."""

from __future__ import annotations

from collections.abc import Sequence

_WIDTH, _HEIGHT = 500.0, 270.0
_LETTER, _LINE = 6.6, 15.0
"""Pixels of a letter and of a line of small type."""
_GAP = 9.0
_TOWARDS = {"right": (1, 0), "left": (-1, 0), "above": (0, -1), "below": (0, 1)}
"""Side → to the right and downwards, in the order of preference."""


def spread(places: Sequence[float], least: float = 100 * _LINE / _HEIGHT) -> list[float]:
    """The places moved as little as it takes to lie `least` apart, in their order."""
    order = sorted(range(len(places)), key=lambda at: places[at])
    groups: list[tuple[float, list[int]]] = []  # (centre, members), each `least` apart within
    for at in order:
        groups.append((places[at], [at]))
        while len(groups) > 1 and groups[-1][0] - groups[-2][0] < least * (len(groups[-1][1]) + len(groups[-2][1])) / 2:
            (_, later), (_, earlier) = groups.pop(), groups.pop()
            members = earlier + later
            groups.append((sum(places[one] for one in members) / len(members), members))
    moved = list(places)
    for centre, members in groups:
        for step, at in enumerate(members):
            moved[at] = round(centre + least * (step - (len(members) - 1) / 2), 2)
    return moved


def beside_points(points: Sequence[tuple[str, float, float]]) -> list[str]:
    """The side of each point (name, x, y) on which its name has room, "" without."""
    taken = [_box(x, y, 2 * _GAP, 2 * _GAP) for _, x, y in points]
    sides = []
    for name, x, y in points:
        found = ""
        for side in _TOWARDS:
            width = _LETTER * len(name)
            over, down = _TOWARDS[side]
            right, below = over * (_GAP + width / 2), down * _LINE
            box = _box(x + 100 * right / _WIDTH, y + 100 * below / _HEIGHT, width, _LINE)
            own = _box(x, y, 2 * _GAP, 2 * _GAP)
            inside = box[0] >= -2 and box[1] <= 102 and box[2] >= -4 and box[3] <= 104
            if inside and not any(_meet(box, other) for other in taken if other != own):
                taken.append(box)
                found = side
                break
        sides.append(found)
    return sides


def _box(x: float, y: float, width: float, height: float) -> tuple[float, float, float, float]:
    """Left, right, top and bottom in percent."""
    half, over = 50 * width / _WIDTH, 50 * height / _HEIGHT
    return x - half, x + half, y - over, y + over


def _meet(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3]
