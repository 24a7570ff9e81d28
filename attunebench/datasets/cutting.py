"""Cuts a part out of a folder of conversations, by file number: copies to the byte, a whole new folder or none.

Owns what is taken along and what is refused. Which numbers a name stands for is `conversations.subsets`'; how a folder
takes its place is `placing`'s.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from attunebench.codebook import FILE_NAME as CODEBOOK_NAME
from attunebench.codebook import codebook_for
from attunebench.conversations import ValidationReport, validate_folder
from attunebench.conversations.loading import MANIFEST_NAME
from attunebench.datasets.choosing import LARGEST_PAPER, is_companion
from attunebench.datasets.manifest import Manifest, manifest_of, save_manifest
from attunebench.datasets.numbers import outside_text, spans
from attunebench.datasets.placing import check_target, workplace
from attunebench.datasets.verifying import files_by_number
from attunebench.errors import DataError, UsageError


@dataclass(frozen=True, slots=True)
class Cut:
    """What was cut: the new folder, its manifest, the wanted numbers that the source lacks, and what lies beside."""

    target: Path
    manifest: Manifest
    missing: tuple[int, ...]
    companions: tuple[str, ...]


def cut(
    source: str | Path,
    target: str | Path,
    numbers: Collection[int],
    *,
    replace: bool = False,
    partial: bool = False,
    created: datetime | None = None,
) -> Cut:
    """Copy the conversation files of these numbers from `source` into the new folder `target`, with a manifest.

    The codebook that belongs to the source comes along, and licences and readmes in it. `replace`: also where the
    target is there and holds a data set. `partial`: also where the source lacks some of the numbers.

    Raises DataError: no such source, a number that it lacks or that two of its files have, an invalid file among them,
    a target that cannot be written; UsageError: a target that is there, or one folder inside the other. Whatever is
    raised, the target is as it was.
    """
    source, target = Path(source), Path(target)
    _refuse_nested(source, target)
    check_target(target, replace=replace)
    report = validate_folder(source)
    wanted = _wanted(source, report, numbers)
    missing = tuple(sorted(set(numbers) - wanted.keys()))
    if missing and not (partial and wanted):
        raise DataError(_incomplete(source, missing, len(set(numbers))))
    files = {Path(name).name: source / name for name in wanted.values()}
    companions = _companions(source)
    with workplace(target.resolve().parent) as work:
        new = work.new(target.name)
        for name, path in {**files, **companions}.items():
            _copy(path, new / name)
        manifest = _checked(new, report, created)
        save_manifest(manifest, new / MANIFEST_NAME)
        work.place(new, target.resolve(), replace=replace)
    return Cut(target, manifest, missing, tuple(sorted(companions)))


def _refuse_nested(source: Path, target: Path) -> None:
    """A folder is read with all that is below it: one inside the other would make one set of both."""
    if not source.is_dir():
        raise DataError(f"There is no folder {source}; give the folder to cut from with --from.")
    here, there = source.resolve(), target.resolve()
    if here == there:
        raise UsageError(f"{target} is the folder to cut from; name another one with --to.")
    if here in there.parents or there in here.parents:
        inner, outer = (target, source) if here in there.parents else (source, target)
        raise UsageError(
            f"{inner} lies inside {outer}, and a folder is read with all that is below it: both would be one set. "
            "Name a folder beside it with --to."
        )


def _wanted(source: Path, report: ValidationReport, numbers: Collection[int]) -> Mapping[int, str]:
    found = {number: names for number, names in files_by_number(report.files).items() if number in set(numbers)}
    for number, names in found.items():
        if len(names) > 1:
            raise DataError(
                f"Number {number} is that of {len(names)} files in {source} ({' and '.join(names[:3])}); "
                "give the one folder to cut from."
            )
    return {number: names[0] for number, names in found.items()}


def _incomplete(source: Path, missing: tuple[int, ...], of: int) -> str:
    outside = outside_text(missing)
    if len(missing) == of:
        return f"{source} has none of the {of} files; give another folder with --from.{outside}"
    return (
        f"{source} lacks {len(missing)} of the {of} files ({spans(missing)}).{outside} "
        f"--partial cuts the other {of - len(missing)}."
    )


def _companions(source: Path) -> dict[str, Path]:
    papers = sorted(
        path
        for path in source.iterdir()
        if path.is_file() and is_companion(path.name) and path.stat().st_size <= LARGEST_PAPER
    )
    found = {path.name: path for path in papers}
    codebook = codebook_for(source)
    return {**found, CODEBOOK_NAME: codebook} if codebook is not None else found


def _copy(path: Path, to: Path) -> None:
    try:
        with path.open("rb") as given, to.open("xb") as copy:
            shutil.copyfileobj(given, copy)
            copy.flush()
            os.fsync(copy.fileno())
    except OSError as error:
        raise DataError(
            f"{path} cannot be copied to {to.parent.name} ({error.strerror or error}); nothing was cut."
        ) from None


def _checked(new: Path, source: ValidationReport, created: datetime | None) -> Manifest:
    """The manifest of the copies, which have to be valid as a set and the same as what was read in the source."""
    report = validate_folder(new)
    if report.errors:
        raise DataError(
            f"{report.errors[0]}. Nothing was cut; `attune-bench validate {source.folder}` lists all errors."
        )
    known = {conversation.source_sha256 for conversation in source.conversations}
    changed = [c for c in report.conversations if c.source_sha256 not in known]
    if changed:
        name = Path(changed[0].source_file).name
        raise DataError(f"{name} changed while it was copied; nothing was cut, so try again.")
    return manifest_of(new, report, created=created)
