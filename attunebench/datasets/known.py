"""The data sets that are known by name, and where on this machine they lie. Reads names of files, never their content.

Whether a folder holds what its names promise is for `verifying` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attunebench.conversations.bundled import demo_folder
from attunebench.conversations.subsets import published_subsets
from attunebench.datasets.choosing import conversation_number
from attunebench.datasets.partfile import PART_NAME
from attunebench.datasets.placing import WORK_NAME
from attunebench.errors import UsageError

ALL = "all"
DEMO = "Demo12"
DEFAULT_PARENT = Path("data")
"""Where `data get` puts a subset when it is told no place: in a folder of the subset's name."""
_PLACES_IN = (Path(), DEFAULT_PARENT, Path("Test Samples"))


@dataclass(frozen=True, slots=True)
class Found:
    """A folder that is, or could be, a subset. `missing`: wanted numbers that it lacks; `others`: how many more files
    of the published names it has."""

    folder: Path
    missing: tuple[int, ...]
    others: int


@dataclass(frozen=True, slots=True)
class Listed:
    """A known data set. `found`: folders that have its name or exactly its numbers; `within`: folders of more than the
    set from which it can be cut whole, published sets first; `bundled`: the folder of a set that comes with the
    package, else None."""

    name: str
    size: int
    found: tuple[Found, ...] = ()
    within: tuple[Path, ...] = ()
    bundled: Path | None = None


def subsets_named(name: str) -> dict[str, frozenset[int]]:
    """Published name → numbers of the subset called `name` in any letter case, or of all for `all`.

    Raises UsageError that names those there are.
    """
    subsets = published_subsets()
    wanted = name.strip().lower()
    if wanted == ALL:
        return dict(subsets)
    if wanted == DEMO.lower():
        raise UsageError(f"{DEMO} comes with the package and need not be got: {demo_folder()}")
    for known, numbers in subsets.items():
        if wanted == known.lower():
            return {known: numbers}
    raise UsageError(f"There is no data set '{name}'; choose one of {', '.join(subsets)}, or {ALL}.")


def list_known(places: Iterable[Path] = (Path(),)) -> tuple[Listed, ...]:
    """Every known data set, the largest first, with the folders in or below `places` that have it."""
    folders = _folders(places)
    listed = [_listed(name, numbers, folders) for name, numbers in published_subsets().items()]
    demo = demo_folder()
    return (*listed, Listed(DEMO, sum(1 for _ in demo.glob("conversation_*.json")), bundled=demo))


def unfinished(places: Iterable[Path] = (Path(),)) -> dict[Path, int]:
    """Downloads that were broken off and can be gone on with, in the places where `list_known` looks: file → bytes."""
    parts = {
        part.resolve(): part
        for place in places
        for inner in _PLACES_IN
        if (part := place / inner / WORK_NAME / PART_NAME).is_file()
    }
    return {part: part.stat().st_size for part in parts.values()}


def _listed(name: str, numbers: frozenset[int], folders: Sequence[tuple[Path, frozenset[int]]]) -> Listed:
    found, within = [], []
    for folder, present in folders:
        if folder.resolve().name.lower() == name.lower() or present == numbers:
            found.append(Found(folder, tuple(sorted(numbers - present)), len(present - numbers)))
        elif numbers <= present:
            within.append(folder)
    within.sort(key=lambda folder: folder.resolve().name not in published_subsets())
    return Listed(name, len(numbers), tuple(found), tuple(within))


def _folders(places: Iterable[Path]) -> list[tuple[Path, frozenset[int]]]:
    """Folders with published numbers in them, each once: the places, usual ones in them, and one level down."""
    published = frozenset().union(*published_subsets().values())
    seen: dict[Path, tuple[Path, frozenset[int]]] = {}
    for place in places:
        for base in dict.fromkeys(place / inner for inner in _PLACES_IN):
            for folder in (base, *_children(base)):
                numbers = _numbers(folder) & published
                if numbers:
                    seen.setdefault(folder.resolve(), (folder, numbers))
    return list(seen.values())


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(child for child in folder.iterdir() if child.is_dir() and not child.name.startswith("."))
    except OSError:
        return []  # what cannot be looked into has nothing to offer


def _numbers(folder: Path) -> frozenset[int]:
    try:
        names = [path.name for path in folder.iterdir()]
    except OSError:
        return frozenset()
    return frozenset(number for name in names if (number := conversation_number(name)) is not None)
