"""Request files in the OpenAI batch format, and the table that maps answers back to calls.

A table is one file of JSON lines in the results folder, `_batch.<tag>.jsonl`, on the disk before the request files are:
a head, then a row for each request. It holds no prompt and no key, but all that the journal stores of an ask; so
answers are kept even where conversations or prompts have changed meanwhile. Requests are streamed; no prompt is kept.
"""

from __future__ import annotations

import glob
import json
import mmap
import os
import re
import secrets
from array import array
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from pydantic import TypeAdapter

from attunebench._version import __version__
from attunebench.backends.negotiation import Terms, first_terms
from attunebench.backends.wire import encoded
from attunebench.batches.answers import CUSTOM_ID, read_line, tag_of
from attunebench.errors import DataError
from attunebench.files import atomic_write, replaces_a_file
from attunebench.journal import Entry
from attunebench.results.schema import now
from attunebench.runner.clients import Place
from attunebench.runner.exchange import entry_of

if TYPE_CHECKING:
    from attunebench.journal import RequestHash
    from attunebench.runner.job import Open
    from attunebench.runner.run import Run

T = TypeVar("T")
URL = "/v1/chat/completions"
FORMAT = 1
_LONGEST_LOOK = 1 << 24
_KEYS: Any = {"em": {"api_key"}, "judges": {"__all__": {"api_key"}}}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may hold at most; the defaults are those of OpenAI's batch service, and no engine accepts less."""

    lines: int = 50_000
    bytes: int = 200_000_000


SERVICE = Limits()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the input of a plan is, for `collect`: as the user named it, None for what is in no file. `command` plans
    again."""

    conversations: Path | None = None
    codebook: Path | None = None
    skip_invalid: bool = False
    command: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One request: its journal entry, without an outcome and sent at the time of planning, and the terms on which it is
    sent."""

    custom_id: str
    entry: Entry
    terms: Terms

    @property
    def place(self) -> Place:
        return (self.entry.provider, self.entry.base_url, self.entry.model)

    @property
    def own_place(self) -> Place:
        """Where the journal has the terms of this request; no model is named like a hash."""
        return (self.entry.provider, self.entry.base_url, self.entry.request_hash)

    def as_json(self) -> dict[str, Any]:
        """What a table says of it."""
        terms, entry = self.terms, {name: getattr(self.entry, name) for name in _OF_A_ROW}
        put = {"structured": terms.structured, "given_up": sorted(terms.given_up), "ceiling": terms.ceiling}
        return {"custom_id": self.custom_id, **entry, **put}

    @classmethod
    def from_json(cls, data: Mapping[str, Any], planned: str = "") -> Row:
        """The row of which a table says this. Raises ValueError, KeyError and TypeError for what is none."""
        entry = _ENTRY.validate_python({**_NOTHING_BACK, "sent_at": planned, **data})
        memory, ceiling = {"given_up": data["given_up"]}, data.get("ceiling")
        terms = replace(first_terms(entry.provider, data["structured"], memory), ceiling=ceiling, recalled=False)
        return cls(str(data["custom_id"]), entry, terms)


_ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)
_NOTHING_BACK = {"sent_at": "", "seconds": None, "tries": 1, "lost": 0, "attunebench_version": __version__}
_OF_A_ROW = [each.name for each in fields(Entry) if each.default is MISSING and each.name not in _NOTHING_BACK]


@dataclass(frozen=True, slots=True)
class Head:
    """What a table says of its plan. `settings`: those of the run, without keys; `created`: ISO 8601; `again`: the
    command that plans what is missing. `conversations` and `codebook` are paths from the results folder, "" and None
    where there is none; `skip_invalid`: whether conversations that are not valid were left out."""

    format: int
    tag: str
    created: str
    attunebench_version: str
    settings: Mapping[str, Any]
    conversations: str
    codebook: str | None
    again: str
    skip_invalid: bool = False


_HEAD: TypeAdapter[Head] = TypeAdapter(Head)


class Table:
    """A table on disk; only the offsets of its rows are held. Raises DataError for a file that is no table, is
    truncated or of another version, and for a damaged row."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            with path.open("rb") as file:
                self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except OSError as error:
            raise DataError(f"{path} cannot be read ({error.strerror}).") from error
        except ValueError as error:  # it is empty
            raise self._damaged() from error
        self._starts = array("Q", [0, *(line.end() for line in re.finditer(b"\n", self._bytes))])
        if self._starts[-1] < len(self._bytes):
            raise self._damaged()
        if self._read(0, dict).get("format", FORMAT) != FORMAT:
            raise DataError(f"{path} was written by another version of attune-bench; collect with that one.")
        self.head = self._read(0, _HEAD.validate_python)

    def find(self, custom_id: str) -> Row | None:
        """The row of an id, None where there is none."""
        found = CUSTOM_ID.fullmatch(custom_id)
        number = int(found[2]) if found else 0
        row = self._row(number) if 1 <= number < len(self._starts) - 1 else None
        return row if row is not None and row.custom_id == custom_id else None

    def rows(self) -> Iterator[Row]:
        """All rows in order."""
        return map(self._row, range(1, len(self._starts) - 1))

    def _row(self, number: int) -> Row:
        return self._read(number, lambda data: Row.from_json(data, self.head.created))

    def _read(self, number: int, meaning: Callable[[Any], T]) -> T:
        try:
            return meaning(json.loads(self._bytes[self._starts[number] : self._starts[number + 1]]))
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged() from error

    def _damaged(self) -> DataError:
        return DataError(
            f"{self.path} is not a table of requests or is damaged; answers cannot be matched to calls without it. "
            "Restore it from a backup, or plan again."
        )


def table_path(folder: Path, tag: str) -> Path:
    """Where the table of the plan with this tag is."""
    return folder / f"_batch.{tag}.jsonl"


def table_tags(folder: Path) -> list[str]:
    """The tags of the plans whose tables are in a folder."""
    return sorted(path.name.split(".")[1] for path in folder.glob("_batch.*.jsonl") if path.name.count(".") == 2)


def judges_asked(folder: Path) -> Iterator[tuple[str, str]]:
    """(model, parameters) of each judge's request in the folder's tables; tables that cannot be read are skipped."""
    for tag in table_tags(folder):
        with suppress(DataError):
            asked = (row.entry for row in Table(table_path(folder, tag)).rows())
            yield from {(entry.model, entry.parameters): None for entry in asked if entry.judge is not None}


@dataclass(slots=True)
class RequestFile:
    """Requests of the plan `tag` to one model; `start` of the plan's requests to it are in files before this one."""

    path: Path
    tag: str
    model: str
    start: int = 0
    lines: int = 0
    bytes: int = 0


@dataclass(slots=True, eq=False)
class Plan:
    """A plan as it is written: its `files`, and their table. Made by `writing_plan`."""

    _target: Path
    _run: Run
    _origin: Origin
    _limits: Limits
    _held: ExitStack
    _table: ExitStack
    _rows: BinaryIO | None = None
    _newest: dict[str, tuple[RequestFile, BinaryIO]] = field(default_factory=dict)
    tag: str = field(default_factory=lambda: secrets.token_hex(4))
    files: list[RequestFile] = field(default_factory=list)

    @property
    def requests(self) -> int:
        return sum(file.lines for file in self.files)

    def add(self, asked: Open, hashed: RequestHash) -> None:
        """Put an ask into a file of its model. Raises DataError for one that no file can hold, and for an existing file
        that is not ours."""
        hasher, limits, settings = self._run.hashers[asked.who], self._limits, self._run.settings
        assert hasher is not None, "its replies are kept"
        entry = entry_of(asked.call, asked.ask, hashed, hasher, sent_at="", seconds=None)
        row = self._with_terms(Row(f"attune-{self.tag}-{self.requests + 1:06d}", entry, Terms()))
        model, body = entry.model, {"model": entry.model, **row.terms.body(asked.request(settings))}
        line = encoded({"custom_id": row.custom_id, "method": "POST", "url": URL, "body": body}) + b"\n"
        if len(line) > limits.bytes:
            raise DataError(
                f"A request to {model} has {len(line):,} bytes, but a file takes {limits.bytes:,}: raise --max-bytes."
            )
        file, stream = self._newest.get(model) or self._begin(model, 0)
        if file.lines >= limits.lines or file.bytes + len(line) > limits.bytes:
            file, stream = self._begin(model, file.start + file.lines)
        if self._rows is None:
            self._rows = self._table.enter_context(atomic_write(table_path(settings.output, self.tag)))
            self._rows.write(_json_line(asdict(self._head())))
        self._rows.write(_json_line(row.as_json()))
        stream.write(line)
        file.lines += 1
        file.bytes += len(line)

    def _with_terms(self, row: Row) -> Row:
        """How a request is sent: by what is known of the server, and what the request itself was rejected for."""
        journal = self._run.journal
        assert journal is not None, "its replies are kept"
        own = journal.terms(*row.own_place)
        terms = first_terms(row.entry.provider, self._run.settings.structured, journal.terms(*row.place))
        given_up = terms.given_up | first_terms("", terms.structured, own).given_up
        # A file's answers come in files, whatever the server wants of live requests.
        return replace(row, terms=replace(terms, given_up=given_up - {"stream"}, ceiling=own.get("ceiling")))

    def _begin(self, model: str, start: int) -> tuple[RequestFile, BinaryIO]:
        number = len(self.files) + 1
        name = f"{self._target.stem}-{number}{self._target.suffix}" if number > 1 else self._target.name
        path = self._target.with_name(name)
        if path.is_dir() or (replaces_a_file(path) and not _is_plan(path)):
            raise DataError(f"{path} already exists and is not a request file of a plan; name another file with -o.")
        self.files.append(RequestFile(path, self.tag, model, start))
        self._newest[model] = self.files[-1], self._held.enter_context(atomic_write(path))
        return self._newest[model]

    def _head(self) -> Head:
        origin, folder = self._origin, self._run.settings.output
        return Head(
            format=FORMAT,
            tag=self.tag,
            created=now(),
            attunebench_version=__version__,
            settings=self._run.settings.model_dump(mode="json", exclude=_KEYS),
            conversations=_path_from(folder, origin.conversations) or "",
            codebook=_path_from(folder, origin.codebook),
            again=origin.command,
            skip_invalid=origin.skip_invalid,
        )


@contextmanager
def writing_plan(target: Path, run: Run, origin: Origin, limits: Limits = SERVICE) -> Iterator[Plan]:
    """A plan that takes requests of a run: into `target` and, where limits or several models require it, into files
    next to it (`requests-2.jsonl` …). They appear when the block ends without an error, after their table in the
    results folder; without requests nothing is written. Raises DataError where a file cannot be written."""
    folder = run.settings.output
    try:
        # Request files appear when the outer block ends, after the table.
        with ExitStack() as held, ExitStack() as table:
            yield Plan(target, run, origin, limits, held, table)
    except OSError as error:
        raise DataError(
            f"{target}, or its table in {folder}, cannot be written ({error.strerror or error}); make room, "
            "or name a file in another folder."
        ) from error


def older_files(target: Path, plan: Plan) -> list[Path]:
    """Request files beside those of this plan that an earlier one has left under names of the same kind."""
    ours = {file.path.name for file in plan.files}
    beside = target.parent.glob(f"{glob.escape(target.stem)}-*{glob.escape(target.suffix)}")
    named = [path for path in beside if path.stem.removeprefix(f"{target.stem}-").isdecimal()]
    return sorted(path for path in (target, *named) if path.name not in ours and path.is_file() and _is_plan(path))


def _is_plan(path: Path) -> bool:
    """Whether a file begins as an earlier plan does: its requests are planned again, so it may be replaced."""
    with path.open("rb") as file:
        line = read_line(file.readline(_LONGEST_LOOK))
    return line is not None and line.outcome is None and tag_of(line.custom_id) is not None


def _json_line(data: Mapping[str, Any]) -> bytes:
    # ASCII, so that half a surrogate pair in a name or path cannot stop it.
    return json.dumps(data, ensure_ascii=True).encode() + b"\n"


def _path_from(folder: Path, path: Path | None) -> str | None:
    """The path from the results folder: it stays valid where both move, and from any working directory."""
    if path is None:
        return None
    try:
        return os.path.relpath(path.resolve(), folder.resolve())
    except ValueError:  # on another drive
        return str(path.resolve())
