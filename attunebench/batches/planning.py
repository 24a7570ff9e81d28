"""A round on paper: request files and their table, written whole before anybody can send them."""

from __future__ import annotations

import glob
import secrets
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from attunebench._version import __version__
from attunebench.batches.answers import read_line
from attunebench.batches.requests import SERVICE, Ids, Limits, request_line, tag_of
from attunebench.batches.table import Head, Row, table_file, table_path
from attunebench.errors import DataError, UsageError
from attunebench.wholefile import replaces_a_file, whole_file

if TYPE_CHECKING:
    from attunebench.batches.rounds import Round, ToAsk

_LONGEST_LOOK = 1 << 24
_KEYS: Any = {"em": {"api_key"}, "judges": {"__all__": {"api_key"}}}


@dataclass(slots=True)
class RequestFile:
    """One file of requests, all to one model."""

    path: Path
    model: str
    lines: int = 0
    bytes: int = 0


@dataclass(slots=True)
class Planned:
    """What a plan wrote. Without requests no file is written, nor a table."""

    tag: str
    files: list[RequestFile] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return sum(file.lines for file in self.files)


async def write_plan(
    round_: Round,
    target: Path,
    *,
    conversations: str,
    codebook: str | None,
    command: str,
    again: bool = False,
    limits: Limits = SERVICE,
    asks: AsyncIterator[ToAsk] | None = None,
    skip_invalid: bool = False,
) -> Planned:
    """Write the round's open asks into `target` and, where the limits or the models want it, files beside it
    (`requests-2.jsonl` …), and their table into the results folder.

    `asks` are those of the round as its caller has them: some left out, say. The table is on the disk before the first
    request file is. `conversations`, `codebook`, `command` and `skip_invalid` are kept in it, as `Head` has them.
    Raises DataError where a file cannot be written, or is there and no request file of ours, and UsageError for a name
    that is none.
    """
    planned, settings = Planned(secrets.token_hex(4)), round_.settings
    _check_name(target, settings.output)
    open_asks = aiter(asks or round_.asks(again=again))
    first = await anext(open_asks, None)
    if first is None:
        return planned
    head = Head(
        tag=planned.tag,
        created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        attunebench_version=__version__,
        settings=settings.model_dump(mode="json", exclude=_KEYS),
        conversations=conversations,
        codebook=codebook,
        again=command,
        skip_invalid=skip_invalid,
    )
    try:
        # Request files take their places when the outer block is left, behind the table.
        with ExitStack() as held, table_file(table_path(settings.output, planned.tag), head) as add_row:
            sheaf, ids = _Sheaf(target, limits, held, planned), Ids(planned.tag)
            ask: ToAsk | None = first
            while ask is not None:
                custom_id = next(ids)
                add_row(Row.of(custom_id, ask))
                sheaf.add(ask.target.model, request_line(custom_id, ask, settings))
                ask = await anext(open_asks, None)
    except OSError as error:
        raise DataError(
            f"{target}, or its table in {settings.output}, cannot be written ({error.strerror or error}); make room, "
            "or name a file in another folder."
        ) from error
    return planned


def older_files(target: Path, planned: Planned) -> list[Path]:
    """Request files beside those of this plan that an earlier one has left under names of the same kind."""
    ours = {file.path.name for file in planned.files}
    beside = target.parent.glob(f"{glob.escape(target.stem)}-*{glob.escape(target.suffix)}")
    named = [path for path in beside if path.stem.removeprefix(f"{target.stem}-").isdecimal()]
    return sorted(path for path in (target, *named) if path.name not in ours and path.is_file() and _is_plan(path))


def _check_name(target: Path, results: Path) -> None:
    """Raises UsageError for no name, and for one under which a results folder keeps files of its own."""
    if not target.name:
        raise UsageError("-o names no file for the requests; give it one, such as requests.jsonl.")
    if target.name.startswith("_") and target.parent.resolve() == results.resolve():
        raise UsageError(f"{target}: names with _ in front are the results folder's own; name another file with -o.")


class _Sheaf:
    """The files of one plan: each model's requests go into its newest file until that is full."""

    def __init__(self, target: Path, limits: Limits, held: ExitStack, planned: Planned) -> None:
        self._target = target
        self._limits = limits
        self._held = held
        self._planned = planned
        self._open: dict[str, tuple[RequestFile, BinaryIO]] = {}

    def add(self, model: str, line: bytes) -> None:
        """Put a line where it belongs. Raises DataError for one that no file can hold."""
        if len(line) > self._limits.bytes:
            raise DataError(
                f"A request to {model} has {len(line):,} bytes, and a file takes {self._limits.bytes:,}: raise "
                "--max-bytes."
            )
        file, stream = self._open.get(model) or self._begin(model)
        if file.lines >= self._limits.lines or file.bytes + len(line) > self._limits.bytes:
            file, stream = self._begin(model)
        stream.write(line)
        file.lines += 1
        file.bytes += len(line)

    def _begin(self, model: str) -> tuple[RequestFile, BinaryIO]:
        number = len(self._planned.files) + 1
        name = f"{self._target.stem}-{number}{self._target.suffix}" if number > 1 else self._target.name
        path = self._target.with_name(name)
        if path.is_dir() or (replaces_a_file(path) and not _is_plan(path)):
            raise DataError(f"{path} is there already and no request file of a plan; name another file with -o.")
        opened = RequestFile(path, model), self._held.enter_context(whole_file(path))
        self._planned.files.append(opened[0])
        self._open[model] = opened
        return opened


def _is_plan(path: Path) -> bool:
    """Whether a file begins as an earlier plan does: what it asks is planned anew, so it may be replaced."""
    with path.open("rb") as file:
        line = read_line(file.readline(_LONGEST_LOOK))
    return line is not None and line.asks and tag_of(line.custom_id) is not None
