"""Published subsets: got from a folder, an archive or an address, cut out of a larger folder, found on this machine.
A folder that is made is whole and checked, or it is not there."""

from __future__ import annotations

import filecmp
import hashlib
import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from attunebench.codebook import FILE_NAME as CODEBOOK
from attunebench.codebook import codebook_for
from attunebench.conversations import validate_folder
from attunebench.conversations.loading import demo_folder
from attunebench.datasets.archives import unpack
from attunebench.datasets.building import Built, build, check_target, place, workspace
from attunebench.datasets.subsets import (
    belongs_to_data,
    conversation_number,
    is_companion,
    lacking_text,
    published_subsets,
    subset_called,
    subset_file_name,
)
from attunebench.datasets.verifying import files_by_number, manifest_of
from attunebench.errors import DataError, UsageError
from attunebench.files import visible_files
from attunebench.text import address_text, printable

if TYPE_CHECKING:
    from attunebench.datasets.downloading import Progress

PUBLISHED = "https://codeload.github.com/Thoughtful-Lab/attunebench/zip/HEAD"
"""The public repository of the published benchmark, its default branch as an archive."""
DEFAULT_PARENT = Path("data")
ALL = "all"
DEMO = "Demo12"
_PLACES_IN = (Path(), DEFAULT_PARENT, Path("Test Samples"))

Files = Mapping[PurePosixPath, Path]
"""Name in a folder or archive → where the file is."""


def get(
    name: str,
    *,
    source: str | None = None,
    to: Path | None = None,
    sha256: str | None = None,
    replace: bool = False,
    partial: bool = False,
    progress: Progress = lambda _what, _done, _total: None,
) -> tuple[Built, ...]:
    """Bring the subset called `name` (`all`: each of them) from `source` into the folder `to`.

    `source`: a folder, a zip, a tar or an http(s) address of one; None is the published repository. `to`: the folder
    itself, and for `all` the one that theirs are made in; None is `./data/<name>`. `sha256`: of the archive, in hex.
    `replace`: an older folder gives way. `partial`: what is missing or invalid is left out and named.
    Raises UsageError and DataError; then every target is as it was.
    """
    subsets = subsets_named(name)
    if name.strip().lower() == ALL or to is None:
        targets = {subset: (to or DEFAULT_PARENT) / subset for subset in subsets}
    else:
        targets = dict.fromkeys(subsets, to.resolve() if to.name in ("", "..") else to)
    origin = _origin(PUBLISHED if source is None else source)
    expected = _checksum(sha256, origin)
    built = {} if replace else {subset: old for subset in subsets if (old := _existing(subset, targets[subset]))}
    wanted = {subset: numbers for subset, numbers in subsets.items() if subset not in built}
    for subset in wanted:
        check_target(targets[subset], replace=replace)
    if wanted:
        if source is None:
            progress(f"From the published repository, {PUBLISHED}.", 0, None)
        with workspace(targets[next(iter(wanted))]) as work:
            files, label = _files(origin, work, expected, progress)
            for subset, numbers in wanted.items():
                progress(f"Checking {subset}.", 0, None)
                chosen, missing = choose(files, subset, numbers)
                if missing and not (partial and len(missing) < len(numbers)):
                    raise DataError(lacking_text(label, numbers, missing))
                if isinstance(origin, Path) and origin.is_dir():
                    conversations = {path.parent for file, path in chosen.items() if not is_companion(file)}
                    check_target(targets[subset], replace=replace, sources=conversations)
                built[subset] = build(
                    subset, chosen, work / "new" / subset, targets[subset], missing=missing, partial=partial
                )
            for subset in wanted:
                place(work / "new" / subset, targets[subset], replace=replace)
    return tuple(built[subset] for subset in subsets)


def subsets_named(name: str) -> dict[str, frozenset[int]]:
    """Published name → numbers of the subset called `name`, or of each for `all`; UsageError for another name."""
    if name.strip().lower() == DEMO.lower():
        raise UsageError(f"{DEMO} comes with the package:  {demo_folder()}")
    return dict(published_subsets() if name.strip().lower() == ALL else [subset_called(name)])


def choose(files: Files, subset: str, numbers: frozenset[int]) -> tuple[dict[str, Path], tuple[int, ...]]:
    """The files of the numbers and what goes with them, by their new names; and the numbers that are missing.

    Files in a folder named as the subset is (in any letter case) come first. Codebook, licences and readmes come from
    the deepest folder above a conversation. Raises DataError where a number has two files that differ.
    """
    candidates: dict[int, list[PurePosixPath]] = {}
    for name in sorted(files, key=lambda name: (len(name.parts), name)):
        number = conversation_number(name.name)
        if number in numbers:
            candidates.setdefault(number, []).append(name)
    chosen: dict[str, Path] = {}
    above: set[PurePosixPath] = set()
    for number, same in sorted(candidates.items()):
        named = [name for name in same if subset.lower() in (part.lower() for part in name.parts[:-1])]
        first, *others = named or same
        for other in others:
            if not filecmp.cmp(files[first], files[other], shallow=False):
                raise DataError(
                    f"{printable(f'{first} and {other}')} differ, but only one can belong to {subset}; give the folder "
                    "of the right one with --from."
                )
        chosen[subset_file_name(number)] = files[first]
        above |= set(first.parents)
    for name in sorted(files, key=lambda name: (-len(name.parts), name)):
        if name.parent in above and is_companion(name.name):
            chosen.setdefault(name.name, files[name])
    return chosen, tuple(sorted(numbers - candidates.keys()))


def _origin(text: str) -> Path | str:
    """The folder or file that is meant, or an http(s) address. Raises UsageError where it is none of these."""
    if scheme := re.match(r"([A-Za-z][A-Za-z0-9+.-]*)://", text):
        try:
            usable = bool(urlsplit(text).hostname) and urlsplit(text).port != 0 and text.isprintable()
        except ValueError:
            usable = False
        if not usable or scheme[1].lower() not in ("http", "https"):
            raise UsageError("The address of --from cannot be used; give an http(s) address with a host, or a path.")
        return text
    path = Path(text).expanduser()
    if not text.strip() or not path.exists():
        raise UsageError(f"There is no {printable(text)!r}; give a folder, a zip, a tar or an address with --from.")
    return path


def _checksum(sha256: str | None, origin: Path | str) -> str | None:
    if sha256 is None:
        return None
    digits = sha256.strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", digits):
        raise UsageError("A SHA-256 has 64 hexadecimal digits; check the value of --sha256.")
    if isinstance(origin, Path) and origin.is_dir():
        raise UsageError("--sha256 requires an archive, but --from names a folder.")
    return digits


def _existing(subset: str, target: Path) -> Built | None:
    """The subset where it is in its place already, complete and valid."""
    with suppress(DataError):
        report = validate_folder(target)
        numbers = {conversation_number(Path(name).name) for name in report.files}
        if not report.errors and numbers == published_subsets()[subset] and len(report.files) == len(numbers):
            return Built(subset, target, manifest_of(target, report), n_warnings=len(report.warnings), is_new=False)
    return None


def _files(origin: Path | str, work: Path, expected: str | None, progress: Progress) -> tuple[Files, str]:
    """The conversations and companions of the source, and its name for sentences."""
    if isinstance(origin, Path) and origin.is_dir():
        paths = (path for path in visible_files(origin) if path.is_file())
        named = {PurePosixPath(path.relative_to(origin).as_posix()): path for path in paths}
        sizes = {name: path for name, path in named.items() if belongs_to_data(name, path.stat().st_size)}
        return sizes, printable(str(origin))
    if isinstance(origin, str):
        # The HTTP client is heavy, and data that is on this machine needs none.
        from attunebench.datasets.downloading import download

        archive, label = work / "archive", address_text(origin)
        download(origin, archive, progress)
    else:
        archive, label = origin, printable(str(origin))
        if not archive.is_file():
            raise DataError(f"{label} is neither a file nor a folder; give one with --from.")
    if expected is not None:
        digest = hashlib.sha256()
        with archive.open("rb") as file:
            while piece := file.read(1 << 20):
                digest.update(piece)
        if digest.hexdigest() != expected:
            raise DataError(
                f"{label} has the SHA-256 {digest.hexdigest()}, not {expected}: a different file, or damaged in "
                "transit. Nothing was unpacked."
            )
    progress("Unpacking.", 0, None)
    unpacked = work / "unpacked"
    unpacked.mkdir()
    return unpack(archive, label, unpacked), label


def cut(
    source: str | Path, target: str | Path, numbers: Collection[int], *, replace: bool = False, partial: bool = False
) -> Built:
    """Copy the conversation files of these numbers from `source` into the new folder `target`, with a manifest.

    The codebook that belongs to the source comes along, and licences and readmes in it. `replace`: a data set that is
    there gives way. `partial`: what is missing or invalid is left out and named.
    Raises DataError and UsageError; then the target is as it was.
    """
    source, target = Path(source), Path(target)
    if not source.is_dir():
        raise DataError(f"There is no folder {source}; give the folder to cut from with --from.")
    check_target(target, replace=replace, sources=[source])
    wanted = {
        number: files
        for number, files in files_by_number(validate_folder(source).files).items()
        if number in set(numbers)
    }
    for number, files in wanted.items():
        if len(files) > 1:
            raise DataError(
                f"Number {number} occurs in {len(files)} files in {source} ({' and '.join(files[:3])}); "
                "give the one folder to cut from."
            )
    missing = sorted(set(numbers) - wanted.keys())
    if missing and not (partial and wanted):
        raise DataError(lacking_text(str(source), numbers, missing))
    chosen = {Path(files[0]).name: source / files[0] for files in wanted.values()}
    chosen |= {
        path.name: path for path in source.iterdir() if path.is_file() and is_companion(path.name, path.stat().st_size)
    }
    if (codebook := codebook_for(source)) is not None:
        chosen[CODEBOOK] = codebook
    with workspace(target) as work:
        built = build(target.name, chosen, work / "new", target, missing=missing, partial=partial)
        place(work / "new", target.resolve(), replace=replace)
    return built


class FoundFolder(NamedTuple):
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
    found: list[FoundFolder]
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
                found.append(FoundFolder(folder, tuple(sorted(numbers - present)), len(present - numbers)))
            elif numbers <= present:
                within.append(folder)
        listed.append(Listed(name, len(numbers), found, sorted(within, key=lambda f: f.resolve().name not in subsets)))
    demo = demo_folder()
    return [*listed, Listed(DEMO, sum(1 for _ in demo.glob("conversation_*.json")), [], [], demo)]


def _folders(places: Iterable[Path]) -> dict[Path, frozenset[int]]:
    """Folders with published numbers in them: the places, usual ones in them, and one level down."""
    published = frozenset().union(*published_subsets().values())
    folders: dict[Path, tuple[Path, frozenset[int]]] = {}
    for base in (where / inner for where in places for inner in _PLACES_IN):
        # `glob` skips folders that cannot be read.
        for folder in (base, *(child for child in sorted(base.glob("[!.]*")) if child.is_dir())):
            numbers = published & {conversation_number(path.name) for path in folder.glob("conversation_*.json")}
            if numbers:
                folders.setdefault(folder.resolve(), (folder, numbers))
    return dict(folders.values())
