"""A new folder of conversations: built and checked out of sight, then moved into its place whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePath

from attunebench.codebook import FILE_NAME as CODEBOOK
from attunebench.codebook import load_codebook
from attunebench.conversations import ValidationReport, validate_folder
from attunebench.conversations.loading import MANIFEST_NAME
from attunebench.datasets.subsets import belongs_to_data, is_companion
from attunebench.datasets.verifying import Manifest, manifest_of, save_manifest
from attunebench.errors import DataError, UsageError
from attunebench.text import listed

_LITTER = frozenset((".DS_Store", "Thumbs.db", "desktop.ini"))
_LFS = b"version https://git-lfs"


@dataclass(frozen=True, slots=True)
class Built:
    """A folder of conversations in its place.

    `missing`: wanted numbers that the source lacks; `left_out`: its files that could not be used, each with the reason;
    `companions`: names of what lies beside the conversations. `is_new`: False where the folder was there already.
    """

    name: str
    folder: Path
    manifest: Manifest
    missing: tuple[int, ...] = ()
    left_out: tuple[str, ...] = ()
    companions: tuple[str, ...] = ()
    n_warnings: int = 0
    is_new: bool = True


@contextmanager
def workspace(target: Path) -> Iterator[Path]:
    """A hidden temporary folder on the disk where `target` is or will be. Raises DataError where the disk refuses."""
    base = next(place for place in target.resolve().parents if place.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".attunebench-", dir=base, ignore_cleanup_errors=True) as folder:
            yield Path(folder)
    except OSError as error:
        raise DataError(
            f"{target} cannot be written ({error.strerror or error}): free some space, or name another folder with "
            "--to. Nothing was changed."
        ) from None


def check_target(target: Path, *, replace: bool, sources: Iterable[Path] = ()) -> None:
    """Raise where `target` may not be written.

    UsageError: it lies in one of the folders `sources`, since a folder is read with all that is below it; or it exists
    and `replace` is False. DataError: with `replace`, a file, a link, or a folder with files that are none of a data
    set's.
    """
    place = target.resolve()
    for source in sources:
        if source.resolve() in (place, *place.parents):
            raise UsageError(
                f"{target} is inside {source}, and folders are read with their subfolders, so both would be one set. "
                "Name another folder with --to."
            )
    if not os.path.lexists(target):
        return
    if not replace:
        raise UsageError(f"{target} already exists; replace it with --replace, or name another folder with --to.")
    if target.is_symlink() or not target.is_dir():
        raise DataError(f"{target} is a link or a file and cannot be replaced; name a folder with --to.")
    ours = (MANIFEST_NAME, *_LITTER)
    foreign = sorted(
        path.name
        for path in target.iterdir()
        if not (path.is_file() and (path.name in ours or belongs_to_data(PurePath(path.name), 0)))
    )
    if foreign:
        raise DataError(
            f"{target} holds files that are not part of a data set ({', '.join(foreign[:3])}), and --replace would "
            "delete them; move them away, or name another folder with --to."
        )
    if place in (Path.cwd(), *Path.cwd().parents):
        raise UsageError(
            f"The current folder is {target}, which --replace would delete; leave it, or name another one with --to."
        )


def build(
    name: str, files: Mapping[str, Path], folder: Path, target: Path, *, missing: Iterable[int], partial: bool
) -> Built:
    """Copy `files` (by their new names) into the new `folder`, check the conversations and write the manifest.

    A codebook that cannot be used is left out; so are invalid conversations with `partial`, else they raise DataError.
    """
    folder.mkdir(parents=True)
    for file, source in files.items():
        with source.open("rb") as given, (folder / file).open("xb") as copy:
            if given.read(len(_LFS)) == _LFS:
                raise DataError(
                    f"{file} is a Git LFS pointer instead of the file; clone the repository, `git lfs pull`, and give "
                    "the folder with --from."
                )
            given.seek(0)
            shutil.copyfileobj(given, copy)
            copy.flush()
            os.fsync(copy.fileno())  # some disks say only now that they are full
    report, invalid = _validated(folder, name)
    if invalid and not partial:
        raise DataError(
            f"{name} has invalid files: {listed(invalid.values(), most=2)}. Nothing was written; --partial leaves them "
            "out."
        )
    for file in invalid:
        (folder / file).unlink()
    left_out = list(invalid.values())
    if invalid:
        report, _ = _validated(folder, name)
    if CODEBOOK in files:
        try:
            load_codebook(folder / CODEBOOK)
        except DataError as error:
            left_out.append(str(error).replace(f"{folder}{os.sep}", ""))
            (folder / CODEBOOK).unlink()
    manifest = manifest_of(folder, report)
    save_manifest(manifest, folder / MANIFEST_NAME)
    companions = sorted(file for file in files if is_companion(file) and (folder / file).exists())
    return Built(
        name, target, manifest, tuple(sorted(missing)), tuple(left_out), tuple(companions), len(report.warnings)
    )


def _validated(folder: Path, name: str) -> tuple[ValidationReport, dict[str, str]]:
    """The report on a new folder, and its files that are not valid conversations, each with the reason."""
    try:
        report = validate_folder(folder)
    except DataError as error:
        raise DataError(str(error).replace(str(folder), name)) from None
    invalid = {issue.file: str(issue) for issue in reversed(report.errors)}
    invalid |= {p.file: f"{p.file}: {p.reason}" for p in report.passed_over if p.file != CODEBOOK}
    return report, invalid


def place(new: Path, target: Path, *, replace: bool) -> None:
    """Move a new folder to `target`; with `replace` the one that is there gives way once the new one is in its place.

    A kill between the two renames leaves the old folder beside its place, as NAME.replaced.
    """
    check_target(target, replace=replace)  # it may have been made since it was looked at
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.exists():
        new.rename(target)
        return
    old = target.with_name(f"{target.name}.replaced")
    target.rename(old)
    try:
        new.rename(target)
    except OSError:
        old.rename(target)
        raise
    shutil.rmtree(old)
