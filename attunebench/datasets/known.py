"""The data sets that are known by name, and where they are on this machine. Looks at names of files alone."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from attunebench.conversations.loading import demo_folder
from attunebench.datasets.getting import DEFAULT_PARENT, DEMO
from attunebench.datasets.subsets import conversation_number, published_subsets

_PLACES_IN = (Path(), DEFAULT_PARENT, Path("Test Samples"))


class Found(NamedTuple):
    """A folder that is, or could be, a subset: the wanted numbers that it lacks, and how many more published ones it
    has."""

    folder: Path
    missing: tuple[int, ...]
    others: int


class Listed(NamedTuple):
    """A known data set. `found`: folders that have its name or exactly its numbers; `within`: folders of more than the
    set from which it can be cut, published sets first; `bundled`: the folder of a set that comes with the package."""

    name: str
    size: int
    found: list[Found]
    within: list[Path]
    bundled: Path | None = None


def list_known(places: Iterable[Path] = (Path(),)) -> list[Listed]:
    """Every known data set, the largest first, with the folders in or below `places` that have it."""
    subsets = published_subsets()
    folders = _folders(places)
    listed = []
    for name, numbers in subsets.items():
        found, within = [], []
        for folder, present in folders.items():
            if folder.resolve().name.lower() == name.lower() or present == numbers:
                found.append(Found(folder, tuple(sorted(numbers - present)), len(present - numbers)))
            elif numbers <= present:
                within.append(folder)
        listed.append(Listed(name, len(numbers), found, sorted(within, key=lambda f: f.resolve().name not in subsets)))
    demo = demo_folder()
    return [*listed, Listed(DEMO, sum(1 for _ in demo.glob("conversation_*.json")), [], [], demo)]


def _folders(places: Iterable[Path]) -> dict[Path, frozenset[int]]:
    """Folders with published numbers in them: the places, usual ones in them, and one level down."""
    published = frozenset().union(*published_subsets().values())
    folders: dict[Path, tuple[Path, frozenset[int]]] = {}
    for base in (place / inner for place in places for inner in _PLACES_IN):
        children = (child for child in _inside(base) if child.is_dir() and not child.name.startswith("."))
        for folder in (base, *children):
            numbers = published & {conversation_number(path.name) for path in _inside(folder)}
            if numbers:
                folders.setdefault(folder.resolve(), (folder, numbers))
    return dict(folders.values())


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []  # what cannot be looked into has nothing to offer
