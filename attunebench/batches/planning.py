"""A round on paper: request files and their table, written whole before anybody can send them."""

from __future__ import annotations

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
from attunebench.batches.table import Head, Row, table_path, write_table
from attunebench.errors import DataError
from attunebench.wholefile import whole_file

if TYPE_CHECKING:
    from attunebench.batches.rounds import Round, ToAsk

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
) -> Planned:
    """Write the round's open asks into `target` and, where the limits or the models want it, files beside it
    (`requests-2.jsonl` …), and their table into the results folder.

    `asks` are those of the round as its caller has them: some left out, say. The table is on the disk before the first
    request file is. `command` is kept in the table for whoever plans again.
    Raises DataError where a file cannot be written or is there already.
    """
    planned = Planned(secrets.token_hex(4))
    settings, ids, rows = round_.settings, Ids(planned.tag), []
    try:
        with ExitStack() as held:  # files take their places when it is left, behind the table
            sheaf = _Sheaf(target, limits, held, planned)
            async for ask in asks or round_.asks(again=again):
                custom_id = next(ids)
                rows.append(Row.of(custom_id, ask))
                sheaf.add(ask.target.model, request_line(custom_id, ask, settings))
            if rows:
                head = Head(
                    tag=planned.tag,
                    created=datetime.now(timezone.utc).isoformat(timespec="seconds"),
                    attunebench_version=__version__,
                    settings=settings.model_dump(mode="json", exclude=_KEYS),
                    conversations=conversations,
                    codebook=codebook,
                    again=command,
                )
                write_table(table_path(settings.output, planned.tag), head, rows)
    except OSError as error:
        raise DataError(f"{error.filename or target} cannot be written ({error.strerror}).") from error
    return planned


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
            raise DataError(f"A request to {model} has {len(line):,} bytes; a file takes {self._limits.bytes:,}.")
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
        if path.exists() and not _is_plan(path):
            raise DataError(f"{path} is there already and holds no requests of ours; give another name.")
        opened = RequestFile(path, model), self._held.enter_context(whole_file(path))
        self._planned.files.append(opened[0])
        self._open[model] = opened
        return opened


def _is_plan(path: Path) -> bool:
    """Whether a file begins as an earlier plan does: what it asks is planned anew, so it may be replaced."""
    with path.open("rb") as file:
        line = read_line(file.readline(1 << 24))
    return line is not None and tag_of(line.custom_id) is not None
