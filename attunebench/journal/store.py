"""The journal's store: finds what is kept and keeps what is new, with one writer per file. Once `keep` returns, a reply
is on disk. There is no status: whether a call is done follows from the replies. `files` decides what may be done to
one."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import Any, Literal

from attunebench.errors import DataError
from attunebench.journal.entries import COLUMNS, Entry, from_row, json_object, to_row
from attunebench.journal.files import FORMAT, check, copied, create, is_shared, reading, unusable, writing
from attunebench.journal.locks import LOOK, has_record_locks, is_held, try_lock

_SELECT = f"SELECT {', '.join(COLUMNS)} FROM replies"
_INSERT = (
    f"INSERT INTO replies ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))}) ON CONFLICT (request_hash) "
    f"DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in COLUMNS)} "
    # A final error may still be replaced by a reply: that of another engine, from a response file.
    "WHERE replies.error_outcome IS NOT NULL AND excluded.error_outcome IS NULL"
)
_OF_MODEL = "provider = ? AND base_url = ? AND model = ?"
Execute = Callable[[str, Sequence[Any]], Iterable[tuple[Any, ...]]]


class Journal:
    """The replies of a results folder, made by `open` or `read`, for one event loop's thread: its own file takes new
    ones, the others are read. `unread`: files that are not, since another process was writing to them when it was
    opened."""

    def __init__(self, folder: Path, *, writes: bool, shard: str | None = None, copies: bool = False) -> None:
        with ExitStack() as held:
            # Elsewhere no second connection is allowed beside a writer's, so other files are copied and its own is read
            # through it.
            direct = shard is None and not copies and has_record_locks(folder)
            files, unread = _at_rest(folder, None) if direct else ({}, [])
            own = _lock_own(folder, shard, held) if writes else None
            if own is not None and not own.exists():
                create(own)
            elif own is not None and own not in files:
                check(own)
            if not direct:
                scratch = held.enter_context(tempfile.TemporaryDirectory(prefix="attunebench-"))
                files, unread = _at_rest(folder, Path(scratch), own)
            elif own is not None:
                files[own] = own
            self.path, self.unread = own, tuple(unread)
            self._writer = held.enter_context(closing(_Writer(own))) if own is not None else None
            self._readers: list[tuple[Path, Execute]] = []
            for path, file in files.items():
                self._readers.append((path, held.enter_context(closing(reading(file))).execute))
            if self._writer is not None and own not in files:
                self._readers.append((self._writer.path, self._writer.rows))
            self._held = held.pop_all()

    @classmethod
    def open(cls, folder: Path, *, shard: str | None = None) -> Journal:
        """The folder's journal for reading and writing, in a file of its own with a `shard` or while another process
        writes. Raises DataError for a file that is damaged, not ours or of a newer version; it is not changed."""
        return cls(folder, writes=True, shard=shard)

    @classmethod
    def read(cls, folder: Path, *, copies: bool = False) -> Journal:
        """The folder's journal for reading alone, but for files that a shard is writing to. Raises DataError as `open`
        does. `copies`: read copies, for a folder that other machines write to."""
        return cls(folder, writes=False, copies=copies)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, *hashes: str) -> Entry | None:
        """The outcome of the request with one of these hashes, from any file; a reply before an error."""
        entries = list(self.entries(_one_of(hashes), hashes))
        return next((entry for entry in entries if entry.reply is not None), next(iter(entries), None))

    def state(self, *hashes: str) -> Literal["reply", "error"] | None:
        """Whether there is a reply to the request with one of these hashes, or an error for which there can be none;
        None for neither."""
        sql = f"SELECT error_outcome IS NULL FROM replies WHERE {_one_of(hashes)}"
        known = {bool(row[0]) for row in self.select(sql, hashes)}
        return ("reply" if True in known else "error") if known else None

    async def keep(self, entry: Entry) -> None:
        """Returns when the entry is on the disk, where it gets even if the caller does not wait. Raises DataError where
        it cannot be written. The first entry of a request stays, but a reply takes the place of an error."""
        await self._own_writer().written(_INSERT, to_row(entry))

    def entries(self, where: str = "", values: Sequence[Any] = ()) -> Iterator[Entry]:
        """All entries, or those of an SQL condition over `COLUMNS`, in the order in which they were kept."""
        condition = f"WHERE {where}" if where else ""
        for path, row in self._rows(f"{_SELECT} {condition} ORDER BY rowid", values):
            try:
                entry = from_row(row)
            except ValueError as error:
                raise unusable(path, str(error)) from error
            yield entry

    def select(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, file after file."""
        return (row for _, row in self._rows(sql, values))

    def count(self) -> int:
        return sum(int(row[0]) for row in self.select("SELECT count(*) FROM replies"))

    def terms(self, provider: str, base_url: str, model: str) -> Mapping[str, Any]:
        """What was learned about this model's server; of several files the latest counts."""
        sql = f"SELECT learned_at, learned FROM terms WHERE {_OF_MODEL}"
        return json_object(max(self.select(sql, (provider, base_url, model)), default=("", ""))[1])

    def constraints_taken(self, provider: str, base_url: str, model: str) -> set[str]:
        """How the output was constrained ("schema", "object", "text") in those of this model's requests that were
        answered; empty where none was."""
        sql = f"SELECT DISTINCT coalesce(structured, 'text') FROM replies WHERE {_OF_MODEL} AND error_outcome IS NULL"
        return {str(row[0]) for row in self.select(sql, (provider, base_url, model))}

    def learn(self, provider: str, base_url: str, model: str, learned: Mapping[str, Any]) -> None:
        """Record what the server does not accept, in place of what was known."""
        now = datetime.now(timezone.utc).isoformat()
        row = (provider, base_url, model, json.dumps(dict(learned)), now)
        self._own_writer().put("INSERT OR REPLACE INTO terms VALUES (?, ?, ?, ?, ?)", row)

    async def flush(self) -> None:
        """Returns when all that was learned before is on the disk, and so is found."""
        await self._own_writer().written("SELECT 1", ())

    def close(self) -> None:
        self._held.close()

    def _own_writer(self) -> _Writer:
        assert self._writer is not None, "opened for reading"
        return self._writer

    def _rows(self, sql: str, values: Sequence[Any]) -> Iterator[tuple[Path, tuple[Any, ...]]]:
        try:
            for path, execute in self._readers:
                for row in execute(sql, values):
                    yield path, row
        except sqlite3.Error as error:
            raise unusable(path, str(error)) from error


class _Writer:
    """The one thread that writes: all that waits goes into one commit, and one call into the event loop tells all."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._waiting: deque[tuple[str, Sequence[Any], asyncio.Future[None] | None]] = deque()
        try:
            self._connection = writing(path)
            # Write once before the first request is sent: SQLite opens its files, and an unwritable disk is noticed.
            self._connection.execute(f"PRAGMA user_version = {FORMAT}")
            self._thread = ThreadPoolExecutor(1, "journal")
            self._thread.submit(self._commit).result()  # starts it: no reply may be bought that cannot be kept
        except (sqlite3.Error, RuntimeError) as error:
            raise unusable(path, str(error)) from error

    def written(self, sql: str, row: Sequence[Any]) -> asyncio.Future[None]:
        """Done when the row is on the disk, where it gets even if that is cancelled."""
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.put(sql, row, written)
        return written

    def put(self, sql: str, row: Sequence[Any], written: asyncio.Future[None] | None = None) -> None:
        self._waiting.append((sql, row, written))
        if len(self._waiting) == 1:  # else the thread has yet to take what came before, and looks again after that
            self._thread.submit(self._commit)

    def rows(self, sql: str, values: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(sql, values).fetchall()

    def close(self) -> None:
        self._thread.shutdown()
        self._commit()  # what an interrupt kept from the thread
        with suppress(sqlite3.Error):
            if is_shared(self.path):
                self._connection.execute("PRAGMA journal_mode = DELETE")  # leaves no empty log beside the file
            self._connection.close()

    def _commit(self) -> None:
        while self._waiting:
            items = [self._waiting.popleft() for _ in range(len(self._waiting))]
            failure = None
            try:
                with self._lock, self._connection:
                    for sql, row, _ in items:
                        self._connection.execute(sql, row)
            except Exception as error:  # whatever it is, nobody may wait for ever
                failure = DataError(
                    f"The call journal {self.path} cannot be written ({error}); free some space or use another results "
                    "folder, and rerun the command: what was written before is kept."
                )
            futures = [written for *_, written in items if written is not None]
            for loop in {written.get_loop() for written in futures}:
                with suppress(RuntimeError):  # the loop is closed, so nobody waits
                    loop.call_soon_threadsafe(_settle, [one for one in futures if one.get_loop() is loop], failure)


def _settle(futures: Sequence[asyncio.Future[None]], failure: DataError | None) -> None:
    for written in (one for one in futures if not one.done()):  # the others were cancelled
        written.set_exception(failure) if failure else written.set_result(None)


def _one_of(hashes: Sequence[str]) -> str:
    return f"request_hash IN ({', '.join('?' * len(hashes))})"


def _lock_own(folder: Path, shard: str | None, held: ExitStack) -> Path:
    """The first file of this shard (or of undivided runs) that nobody else writes to; `held` releases its lock."""
    stem = "_calls." + re.sub(r"[^A-Za-z0-9-]+", "-", shard) if shard else "_calls"
    for number in range(1, 1000):
        path = folder / f"{stem}{f'.{number}' if number > 1 else ''}.sqlite3"
        if release := try_lock(_lock_of(path), LOOK if shard else 0.0):
            held.callback(release)
            return path
    raise DataError(f"A thousand processes write to {folder} already; use another results folder.")


def _lock_of(path: Path) -> Path:
    return path.with_name(f".attunebench-{path.name.removesuffix('.sqlite3')}.lock")


def _at_rest(folder: Path, into: Path | None, own: Path | None = None) -> tuple[dict[Path, Path], list[Path]]:
    """The folder's files but `own` → what is read, the file or a copy `into` there; and those that are written to."""
    # A database that another machine is changing can be read only if the file system propagates locks and shows changes
    # in order, and not all do. A copy made at rest stays unchanged, however long it is read.
    files: dict[Path, Path] = {}
    left = [path for path in sorted(folder.glob("_calls*.sqlite3")) if path != own]
    for pause in (0.0, LOOK / 10, LOOK / 5):  # checking whether a file is at rest holds its lock for a moment
        if left:
            time.sleep(pause)
        for path in left:
            if into is not None and (copy := _copy_at_rest(path, into)) is not None:
                files[path] = copy
            elif into is None and not (is_shared(path) and _is_written_to(path)):
                check(path)
                files[path] = path
        left = [path for path in left if path not in files]
    return files, left


def _copy_at_rest(path: Path, into: Path) -> Path | None:
    """A copy made while nobody wrote to the file, or None."""
    if _is_written_to(path):
        return None
    before = path.stat()
    try:
        copy = copied(path, into)
    except DataError:
        if _is_written_to(path):
            return None
        raise
    after = path.stat()
    unchanged = (before.st_mtime_ns, before.st_size) == (after.st_mtime_ns, after.st_size)
    return copy if unchanged and not _is_written_to(path) else None


def _is_written_to(path: Path) -> bool:
    try:
        return is_held(_lock_of(path))
    except DataError:  # without permission to lock this is unknown, and the file is read
        return False
