"""Cuts a part out of a folder of conversations by file number: copies to the byte, a whole new folder or none."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from attunebench.codebook import FILE_NAME as CODEBOOK
from attunebench.codebook import codebook_for
from attunebench.conversations import validate_folder
from attunebench.datasets.building import Built, build, check_target, place, workspace
from attunebench.datasets.subsets import is_companion, lacking_text
from attunebench.datasets.verifying import files_by_number
from attunebench.errors import DataError


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
                f"Number {number} is that of {len(files)} files in {source} ({' and '.join(files[:3])}); "
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
