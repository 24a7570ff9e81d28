"""A published subset from a folder, an archive or an address into a folder of its own: whole, checked, or not at all.

Joins the steps: where from, which files, are they valid, into place. Each is a module of its own; nothing is printed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from attunebench.conversations import ValidationReport, validate_folder
from attunebench.conversations.loading import digest_of
from attunebench.conversations.subsets import published_subsets
from attunebench.datasets.choosing import conversation_number
from attunebench.datasets.known import ALL, DEFAULT_PARENT, subsets_named
from attunebench.datasets.partfile import PartFile
from attunebench.datasets.placing import Workplace, check_target, workplace
from attunebench.datasets.sources import PUBLISHED, REPOSITORY, Address, open_source, parse_source
from attunebench.datasets.staging import Offer, Staged, stage
from attunebench.datasets.watching import Unwatched, Watcher
from attunebench.errors import DataError, UsageError
from attunebench.text import printable

if TYPE_CHECKING:
    from attunebench.datasets.downloading import Pause

_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Got:
    """A subset in its place. `digest` is the one that `scores.json` gives for these conversations.

    `fetched`: False where it was there already, complete and valid, and was left alone. `missing`: numbers that the
    source does not have. `invalid`: files that were left out, each with the reason. `companions`: what lies beside.
    """

    subset: str
    folder: Path
    n_conversations: int
    digest: str
    fetched: bool = True
    missing: tuple[int, ...] = ()
    invalid: tuple[str, ...] = ()
    n_warnings: int = 0
    companions: tuple[str, ...] = ()


def get(
    name: str,
    *,
    source: str | None = None,
    to: Path | None = None,
    sha256: str | None = None,
    replace: bool = False,
    partial: bool = False,
    watcher: Watcher | None = None,
    pause: Pause | None = None,
) -> tuple[Got, ...]:
    """Bring the subset called `name` (`all`: each of them) from `source` into the folder `to`.

    `source`: a folder, a zip, a tar or an http(s) address of one; None is the published repository. `to`: the folder
    itself, and for `all` the one that theirs are made in; None is `./data/<name>`. `sha256`: of the archive, in hex.
    `replace`: an older folder gives way. `partial`: what is missing or invalid is left out and named. `pause`: how
    waits between tries are waited.
    Raises UsageError and DataError; then every target is as it was.
    """
    watcher = watcher or Unwatched()
    subsets = subsets_named(name)
    targets = _targets(subsets, name, to)
    origin = parse_source(PUBLISHED if source is None else source)
    expected = _checksum(sha256, origin)
    there = {} if replace else {subset: got for subset in subsets if (got := _there(subset, targets[subset]))}
    wanted = {subset: numbers for subset, numbers in subsets.items() if subset not in there}
    for subset in wanted:
        check_target(targets[subset], replace=replace)
    if wanted and source is None:
        watcher.note(f"From the published repository, {REPOSITORY}.")
    fetched = _fetch(wanted, targets, origin, expected, replace, partial, watcher, pause) if wanted else {}
    return tuple((there | fetched)[subset] for subset in subsets)


def _fetch(
    wanted: Mapping[str, frozenset[int]],
    targets: Mapping[str, Path],
    origin: Path | Address,
    expected: str | None,
    replace: bool,
    partial: bool,
    watcher: Watcher,
    pause: Pause | None,
) -> dict[str, Got]:
    """All of `wanted` staged, and only then all of them placed."""
    parent = next(iter(targets.values())).parent
    with workplace(parent) as work:
        offer = _offer(origin, expected, work, watcher, pause)
        if isinstance(origin, Path) and origin.is_dir():
            for target in targets.values():
                _refuse_among(offer, origin, target)
        with _writing(work, origin):
            folders = {subset: work.new(targets[subset].name) for subset in wanted}
            staged = {
                subset: stage(offer, subset, wanted[subset], folder, partial=partial, watcher=watcher)
                for subset, folder in folders.items()
            }
            for subset, folder in folders.items():
                work.place(folder, targets[subset], replace=replace)
        work.spent = True
    return {subset: _got(subset, targets[subset], built) for subset, built in staged.items()}


def _refuse_among(offer: Offer, source: Path, target: Path) -> None:
    """A folder is read with all that is below it: a set below another's conversations would be one set with them."""
    above = target.resolve().parents
    folders = {e.folders for e in offer.entries if conversation_number(e.name) is not None and not e.hidden}
    for folder in sorted(folders):
        if (outer := source.joinpath(*folder)).resolve() in above:
            raise UsageError(
                f"{printable(str(target))} lies below the conversations in {printable(str(outer))}, and a folder is "
                "read with all that is below it: both would be one set. Name a folder elsewhere with --to."
            )


def _targets(subsets: Mapping[str, frozenset[int]], name: str, to: Path | None) -> dict[str, Path]:
    if name.strip().lower() == ALL or to is None:
        return {subset: (to or DEFAULT_PARENT) / subset for subset in subsets}
    if not to.name or to.name == "..":
        # The parent of such a name is not the folder above.
        to = to.resolve()
    return dict.fromkeys(subsets, to)


def _checksum(sha256: str | None, origin: Path | Address) -> str | None:
    if sha256 is None:
        return None
    digits = sha256.strip().lower().removeprefix("sha256:")
    if not re.fullmatch(r"[0-9a-f]{64}", digits):
        raise UsageError("A SHA-256 has 64 hexadecimal digits; check what is given to --sha256.")
    if isinstance(origin, Path) and origin.is_dir():
        raise UsageError("--sha256 is of an archive, and --from names a folder; leave one of them out.")
    return digits


def _there(subset: str, target: Path) -> Got | None:
    """The subset where it lies at its place already, complete and valid."""
    if not target.is_dir():
        return None
    try:
        report = validate_folder(target)
    except DataError:
        return None
    numbers = [conversation_number(Path(name).name) for name in report.files]
    if report.errors or sorted(n for n in numbers if n is not None) != sorted(published_subsets()[subset]):
        return None
    return Got(subset, target, report.n_conversations, _digest(report), fetched=False, n_warnings=len(report.warnings))


def _offer(
    origin: Path | Address, expected: str | None, work: Workplace, watcher: Watcher, pause: Pause | None
) -> Offer:
    """The source with what it lists. A downloaded archive that is unusable goes; one that is sound stays for later."""
    if isinstance(origin, Path):
        return _listed(origin, printable(str(origin)), expected)
    # The HTTP client is heavy, and data that lies here needs none.
    from attunebench.datasets.downloading import download

    part = PartFile(work.folder, origin)
    download(origin, part, watcher, pause=pause)
    try:
        return _listed(part.path, str(origin), expected)
    except DataError:
        work.spent = True
        raise


def _listed(path: Path, label: str, expected: str | None) -> Offer:
    if expected is not None and path.is_file():
        digest = hashlib.sha256()
        with path.open("rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
        if digest.hexdigest() != expected:
            raise DataError(
                f"{label} has the SHA-256 {digest.hexdigest()} and not {expected}; nothing was unpacked. It is another "
                "file than the one that was meant, or was damaged on its way."
            )
    source = open_source(path, label)
    return Offer(source, source.entries())


@contextmanager
def _writing(work: Workplace, origin: Path | Address) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kept = " What was downloaded is kept there for the next time." if isinstance(origin, Address) else ""
        raise DataError(
            f"The data cannot be written to {work.folder.parent} ({error.strerror or error}); make room, or name "
            f"another place with --to. Nothing was left half done.{kept}"
        ) from None


def _digest(report: ValidationReport) -> str:
    return digest_of((Path(c.source_file).name, c.source_sha256) for c in report.conversations)


def _got(subset: str, target: Path, staged: Staged) -> Got:
    return Got(
        subset,
        target,
        staged.manifest.n_conversations,
        staged.manifest.ground_truth_sha256,
        missing=staged.missing,
        invalid=staged.invalid,
        n_warnings=staged.n_warnings,
        companions=staged.companions,
    )
