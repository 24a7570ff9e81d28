"""Request files in the OpenAI batch format, and the table that maps answers back: `_batch.<tag>.jsonl` in the results
folder, a head and a row for each request. It holds no prompt and no key, but all that the journal stores of an ask, so
answers are kept even where conversations or prompts have changed meanwhile."""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import MISSING, asdict, dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from pydantic import TypeAdapter

from attunebench._version import __version__
from attunebench.backends.negotiation import Terms, first_terms
from attunebench.backends.wire import encoded
from attunebench.errors import DataError
from attunebench.files import atomic_write, replaces_a_file
from attunebench.journal import Entry, Hasher, Journal
from attunebench.results.schema import now
from attunebench.runner.clients import Place
from attunebench.runner.job import Ask, entry_of
from attunebench.runner.settings import RunSettings

T = TypeVar("T")
URL = "/v1/chat/completions"
FORMAT = 1
CUSTOM_ID = re.compile(r"attune-([0-9a-z]{1,32})-([0-9]{6,12})")  # tag of the plan, and number in it from 1
_BEGINNING = re.compile(rb'\{"custom_id": ?"attune-[0-9a-z]+-[0-9]+", ?"method"')
_KEYS: Any = {"em": {"api_key"}, "judges": {"__all__": {"api_key"}}}


def tag_of(custom_id: str) -> str | None:
    """The tag in a custom id of ours; None for somebody else's."""
    found = CUSTOM_ID.fullmatch(custom_id)
    return found[1] if found else None


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may hold at most; the defaults are those of OpenAI's batch service, and no engine accepts less."""

    lines: int = 50_000
    bytes: int = 200_000_000


SERVICE = Limits()


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the input of a plan is, as the user named it; None for what is in no file. `command` plans again."""

    conversations: Path | None = None
    codebook: Path | None = None
    skip_invalid: bool = False
    command: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One request: its journal entry, without an outcome and sent at the time of planning, and on which terms."""

    custom_id: str
    entry: Entry
    terms: Terms

    @property
    def place(self) -> Place:
        return (self.entry.provider, self.entry.base_url, self.entry.model)

    @property
    def own_place(self) -> Place:
        """Where the journal has the terms of this request alone; no model is named like a hash."""
        return (self.entry.provider, self.entry.base_url, self.entry.request_hash)

    def as_json(self) -> dict[str, Any]:
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
    """What a table says of its plan. `settings`: those of the run, without keys; `created`: ISO 8601. The rest is its
    `Origin`: `again` is the command; paths are from the results folder, "" and None where there is none."""

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
    """A table on disk. Everything raises DataError for a file that is no table, is truncated or of another version, and
    for a damaged row."""

    def __init__(self, path: Path) -> None:
        self.path, self._lines = path, path.read_bytes().split(b"\n")

    @cached_property
    def head(self) -> Head:
        if self._lines[-1]:  # it does not end with a line break
            raise self._damaged()
        if self._read(0, dict).get("format", FORMAT) != FORMAT:
            raise DataError(f"{self.path} was written by another version of attune-bench; collect with that one.")
        return self._read(0, _HEAD.validate_python)

    def find(self, custom_id: str) -> Row | None:
        found = CUSTOM_ID.fullmatch(custom_id)
        row = next(self.rows(int(found[2])), None) if found else None
        return row if row is not None and row.custom_id == custom_id else None

    def rows(self, number: int | None = None) -> Iterator[Row]:
        """All rows in order, or the one of this number."""
        created, numbers = self.head.created, range(1, len(self._lines) - 1)
        for each in numbers if number is None else numbers[max(0, number - 1) : number]:
            yield self._read(each, lambda data: Row.from_json(data, created))

    def _read(self, number: int, meaning: Callable[[Any], T]) -> T:
        try:
            return meaning(json.loads(self._lines[number]))
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


def open_tables(folder: Path) -> dict[str, Table]:
    paths = sorted(path for path in folder.glob("_batch.*.jsonl") if path.name.count(".") == 2)
    return {path.name.split(".")[1]: Table(path) for path in paths}


@dataclass(slots=True)
class RequestFile:
    """The requests `start` to `stop` of those to one model in the plan `tag`."""

    path: Path
    tag: str
    model: str
    start: int
    stop: int
    bytes: int = 0

    @property
    def lines(self) -> int:
        return self.stop - self.start


@dataclass(slots=True, eq=False)
class Plan:
    """A plan as it is written, by `writing_plan`: its `files`, and the `rows` of their table."""

    target: Path
    settings: RunSettings
    journal: Journal
    limits: Limits
    most: Mapping[str, int | None]
    held: ExitStack
    tag: str = field(default_factory=lambda: secrets.token_hex(4))
    files: list[RequestFile] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    _newest: dict[str, tuple[RequestFile, BinaryIO]] = field(default_factory=dict)

    @property
    def requests(self) -> int:
        return len(self.rows)

    def add(self, asked: Ask, hasher: Hasher) -> None:
        """Put an ask into a file of its model. Raises DataError where no file can hold it or the file is not ours."""
        entry = entry_of(asked, hasher)
        model, limits = entry.model, self.limits
        row = Row(f"attune-{self.tag}-{len(self.rows) + 1:06d}", entry, Terms())
        # What is known of the server, and what the request itself was rejected for.
        own, server = self.journal.terms(*row.own_place), self.journal.terms(*row.place)
        terms = first_terms(entry.provider, self.settings.structured, server)
        given_up = terms.given_up | first_terms("", terms.structured, own).given_up
        # A file's answers come in files, whatever the server wants of live requests.
        row = replace(row, terms=replace(terms, given_up=given_up - {"stream"}, ceiling=own.get("ceiling")))
        body = {"model": model, **row.terms.body(asked.request(self.settings))}
        line = encoded({"custom_id": row.custom_id, "method": "POST", "url": URL, "body": body}) + b"\n"
        if len(line) > limits.bytes:
            raise DataError(
                f"A request to {model} has {len(line):,} bytes, but a file takes {limits.bytes:,}: raise --max-bytes."
            )
        file, stream = self._newest.get(model) or self._begin(model, 0)
        if file.lines >= (self.most.get(model) or limits.lines) or file.bytes + len(line) > limits.bytes:
            file, stream = self._begin(model, file.stop)
        self.rows.append(_json_line(row.as_json()))
        stream.write(line)
        file.stop += 1
        file.bytes += len(line)

    def _begin(self, model: str, start: int) -> tuple[RequestFile, BinaryIO]:
        target, number = self.target, len(self.files) + 1
        path = target.with_name(f"{target.stem}-{number}{target.suffix}") if number > 1 else target
        if path.is_dir() or (replaces_a_file(path) and not _is_plan(path)):
            raise DataError(f"{path} already exists and is not a request file of a plan; name another file with -o.")
        self.files.append(RequestFile(path, self.tag, model, start, start))
        self._newest[model] = self.files[-1], self.held.enter_context(atomic_write(path))
        return self._newest[model]


@contextmanager
def writing_plan(
    target: Path,
    settings: RunSettings,
    journal: Journal,
    origin: Origin,
    limits: Limits = SERVICE,
    most: Mapping[str, int | None] | None = None,
) -> Iterator[Plan]:
    """A plan that takes requests: into `target` and, where limits or several models require it, into files next to it
    (`requests-2.jsonl` …). They appear when the block ends without an error, after their table in the results folder;
    without requests nothing is written. `most`: fewer requests in a file, of some models."""
    folder = settings.output
    with ExitStack() as held:  # the request files appear when it ends
        plan = Plan(target, settings, journal, limits, most or {}, held)
        yield plan
        told = settings.model_dump(mode="json", exclude=_KEYS)
        places = _path_from(folder, origin.conversations) or "", _path_from(folder, origin.codebook)
        head = Head(FORMAT, plan.tag, now(), __version__, told, *places, origin.command, origin.skip_invalid)
        if plan.rows:
            with atomic_write(table_path(folder, plan.tag)) as table:
                table.writelines([_json_line(asdict(head)), *plan.rows])


def _is_plan(path: Path) -> bool:
    """Whether a file begins as an earlier plan does: its requests are planned again, so it may be replaced."""
    with path.open("rb") as file:
        return _BEGINNING.match(file.read(200)) is not None


def _json_line(data: Mapping[str, Any]) -> bytes:
    # ASCII, so that half a surrogate pair in a name or path cannot stop it.
    return json.dumps(data, ensure_ascii=True).encode() + b"\n"


def _path_from(folder: Path, path: Path | None) -> str | None:
    """The path from the results folder: it stays valid where both move, and from any working directory."""
    with suppress(ValueError):  # on another drive
        return None if path is None else os.path.relpath(path.resolve(), folder.resolve())
    return str(path)
