"""The table beside request files: custom id → what was asked. By it answers find their calls again, in any order.

A table is one file of JSON lines in the results folder, `_batch.<tag>.jsonl`, written before anything is sent: a head,
then a row for each request. It holds no prompt and no key, and all that the journal wants to know of an ask; so answers
are kept even where conversations or prompts have changed meanwhile.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import TypeAdapter, ValidationError

from attunebench._version import __version__
from attunebench.batches.requests import number_of
from attunebench.errors import DataError
from attunebench.journal import Entry
from attunebench.protocol.calls import Kind, Mode
from attunebench.runner.replay import entry_of
from attunebench.runner.settings import Structured
from attunebench.wholefile import whole_file

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.batches.rounds import ToAsk
    from attunebench.errors import ItemError

FORMAT = 1
_MOST_HELD = 1 << 24
"""Bytes of a table that are kept in memory."""


@dataclass(frozen=True, slots=True)
class Row:
    """One request: all of its journal entry but what came back, and how it was put: `structured`, `given_up`, and a
    `ceiling` of its tokens where the server has told of one."""

    custom_id: str
    request_hash: str
    call_id: str
    conversation_id: str
    mode: Mode
    turn: int
    kind: Kind
    judge: int | None
    ask: int
    provider: str
    base_url: str
    model: str
    prompt_sha256: str
    schema_sha256: str
    parameters: str
    max_tokens: int
    structured: Structured
    given_up: tuple[str, ...]
    ceiling: int | None = None

    @classmethod
    def of(cls, custom_id: str, asked: ToAsk) -> Row:
        """The row of an ask under this id."""
        target = asked.target
        blank = entry_of(asked.open.call, asked.open.ask, asked.hashed, target.hasher, sent_at="", seconds=None)
        return cls(
            custom_id=custom_id,
            structured=target.terms.structured,
            given_up=tuple(sorted(target.terms.given_up)),
            ceiling=target.terms.ceiling,
            **_of_an_ask(blank),
        )

    def entry(self, *, sent_at: str, reply: Reply | None = None, error: ItemError | None = None) -> Entry:
        """What the journal keeps of the request: its `reply`, or the `error` for which there can never be one."""
        return Entry(
            **_of_an_ask(self),
            sent_at=sent_at,
            seconds=None,
            tries=1,
            lost=0,
            attunebench_version=__version__,
            reply=reply,
            error=str(error) if error else None,
            error_outcome=error.outcome if error else None,
        )


def _of_an_ask(source: Entry | Row) -> dict[str, Any]:
    """What a row and a journal's entry say alike."""
    return {name: getattr(source, name) for name in Row.__slots__ if name in _IN_ENTRY}


_IN_ENTRY = frozenset(Entry.__slots__)


@dataclass(frozen=True, slots=True)
class Head:
    """What a table says of its plan. `settings`: those of the run, without keys; `created`: ISO 8601; `again`: the
    command that plans what is missing. `conversations` and `codebook` are paths from the results folder, "" and None
    where there is none; `skip_invalid`: whether conversations that are not valid were left out."""

    tag: str
    created: str
    attunebench_version: str
    settings: Mapping[str, Any]
    conversations: str
    codebook: str | None
    again: str
    skip_invalid: bool = False


@contextmanager
def table_file(path: Path, head: Head) -> Iterator[Callable[[Row], None]]:
    """A table that takes rows, in the order of their numbers; it is there when the block ends without an error.

    Raises OSError.
    """
    with whole_file(path) as file:

        def add(data: Mapping[str, Any]) -> None:
            # ASCII, so that half a surrogate pair in a name or path cannot stop it.
            file.write(json.dumps(data, ensure_ascii=True).encode() + b"\n")

        add({"format": FORMAT, **asdict(head)})
        yield lambda row: add(asdict(row))


def table_path(folder: Path, tag: str) -> Path:
    """Where the table of the plan with this tag is."""
    return folder / f"_batch.{tag}.jsonl"


def table_tags(folder: Path) -> list[str]:
    """The tags of the plans whose tables are in a folder."""
    return sorted(path.name.split(".")[1] for path in folder.glob("_batch.*.jsonl") if path.name.count(".") == 2)


def judges_asked(folder: Path) -> Iterator[tuple[str, str]]:
    """(model, parameters) of each judge's request in the folder's tables; one that cannot be read is passed over."""
    for tag in table_tags(folder):
        with suppress(DataError):
            rows = Table(table_path(folder, tag)).rows()
            yield from {(row.model, row.parameters): None for row in rows if row.judge is not None}


def read_head(path: Path) -> Head:
    """The head of a table. Raises DataError for a file that is none, or of a newer version."""
    for line in _lines(path):
        return _head(path, line)
    raise _damaged(path)


class Table:
    """A table that is there. A large one is not held: only where each of its rows begins.

    Raises DataError for a file that is none, is cut or of a newer version.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._held = b"".join(_lines(path)) if path.stat().st_size <= _MOST_HELD else None
        self._starts = array("Q", [0])
        end, line = 0, b""
        for line in _lines(path):
            if not end:
                self.head = _head(path, line)
            end += len(line)
            self._starts.append(end)
        if not line.endswith(b"\n"):
            raise _damaged(path)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._starts) - 2

    def find(self, custom_id: str) -> Row | None:
        """The row of an id, None where there is none. Raises DataError for a damaged one."""
        number = number_of(custom_id)
        if number is None or not 1 <= number <= len(self):
            return None
        row = self._row(self._read(number))
        return row if row.custom_id == custom_id else None

    def rows(self) -> Iterator[Row]:
        """All rows in order. Raises DataError at a damaged one."""
        lines = iter(_lines(self.path))
        next(lines)
        yield from map(self._row, lines)

    def _read(self, number: int) -> bytes:
        start, end = self._starts[number], self._starts[number + 1]
        if self._held is not None:
            return self._held[start:end]
        try:
            with self.path.open("rb") as file:
                file.seek(start)
                return file.read(end - start)
        except OSError as error:
            raise _unreadable(self.path, error) from error

    def _row(self, line: bytes) -> Row:
        try:
            return _ROW.validate_json(line)
        except ValidationError as error:
            raise _damaged(self.path) from error


def read_rows(path: Path) -> dict[str, Row]:
    """Custom id → row. Raises DataError for a file that is damaged or cut."""
    return {row.custom_id: row for row in Table(path).rows()}


_ROW: TypeAdapter[Row] = TypeAdapter(Row)
_HEAD: TypeAdapter[Head] = TypeAdapter(Head)


def _head(path: Path, line: bytes) -> Head:
    try:
        data = json.loads(line)
        if data.pop("format") != FORMAT:
            raise DataError(f"{path} was written by another version of attune-bench; collect with that one.")
        return _HEAD.validate_python(data)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _damaged(path) from error


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: OSError) -> DataError:
    return DataError(f"{path} cannot be read ({error.strerror}).")


def _damaged(path: Path) -> DataError:
    return DataError(
        f"{path} is no table of requests, or a damaged one: without it answers cannot find their calls. "
        "Take it from a backup, or plan again."
    )
