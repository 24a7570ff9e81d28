"""The journal's files: SQLite in WAL mode, one writer each, checked before anything is written to them.

A reply that `keep` has returned for is on the disk. There is no status anywhere: whether a call is done follows from
the replies that are there. Files that are damaged or not ours stop the command and stay as they are.
"""

from __future__ import annotations

import asyncio
import json
import os
import queue
import re
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from attunebench.errors import DataError
from attunebench.journal.entries import COLUMNS, DECLARED, Entry, from_row, to_row
from attunebench.journal.locks import release, try_lock

if TYPE_CHECKING:
    from filelock import FileLock

APPLICATION_ID = 0x41747475
"""In the header of every journal ("Attu"), so that no other program's database is taken for one."""
FORMAT = 1
_HEADER = b"SQLite format 3\x00"
_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_MOST_AT_ONCE = 1000
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM replies"
_INSERT = f"INSERT OR IGNORE INTO replies ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"
_SCHEMA = f"""
CREATE TABLE replies ({DECLARED});
CREATE INDEX replies_of_a_call ON replies (call_id, provider, base_url, model, ask);
CREATE TABLE terms (provider TEXT, base_url TEXT, model TEXT, learned TEXT, learned_at TEXT,
                    PRIMARY KEY (provider, base_url, model));
"""


class Journal:
    """The replies of a results folder; its own file takes new ones, the folder's other files are read.

    Use it as a context manager, in one event loop's thread. Open it with `Journal.open`, or `Journal.read` to look
    only.
    """

    def __init__(self, path: Path | None, files: Sequence[Path], lock: FileLock | None) -> None:
        self.path = path
        self._lock = lock
        self._readers = [_reader(file) for file in files]
        self._read_from = [connection for connection in self._readers if _holds_any(connection)]
        self._writer = _Writer(path) if path is not None else None

    @classmethod
    def open(cls, folder: Path, *, shard: str | None = None) -> Journal:
        """The folder's journal for reading and writing, made where there is none.

        While another process writes to it, this one gets a file of its own; with a `shard` always. Raises DataError
        for a file that is damaged, of another program or of a newer version; it is left as it is.
        """
        _check_all(folder)
        for number in range(1, 1000):
            parts = ["_calls", _clean(shard) if shard else "", str(number) if number > 1 else ""]
            name = ".".join(filter(None, parts))
            lock = try_lock(folder / f".attunebench-{name}.lock")
            if lock is None:
                continue
            try:
                path = folder / f"{name}.sqlite3"
                if not path.exists():
                    _create(path)
                return cls(path, _files(folder), lock)
            except sqlite3.Error as error:
                release(lock)
                raise _unusable(folder / f"{name}.sqlite3", str(error)) from error
            except BaseException:
                release(lock)
                raise
        raise DataError(f"A thousand processes write to {folder} already; give another folder with --output.")

    @classmethod
    def read(cls, folder: Path) -> Journal:
        """The folder's journal for reading alone; empty where there is none. Raises DataError as `open` does."""
        _check_all(folder)
        return cls(None, _files(folder), None)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def find(self, request_hash: str) -> Entry | None:
        """The reply to this request, from whichever file has it."""
        for connection in self._read_from:
            if row := connection.execute(f"{_SELECT} WHERE request_hash = ?", (request_hash,)).fetchone():
                return from_row(row)
        return None

    async def keep(self, entry: Entry) -> None:
        """Returns when the entry is on the disk. Raises DataError where it cannot be written.

        Once this is called the entry is written, even if the caller does not wait.
        """
        assert self._writer is not None, "opened for reading"
        await self._writer.put(entry)

    def entries(self, where: str = "", values: Sequence[Any] = ()) -> Iterator[Entry]:
        """All entries, or those of an SQL condition over `COLUMNS`, in the order in which they were kept."""
        condition = f" WHERE {where}" if where else ""
        for connection in self._readers:
            for row in connection.execute(f"{_SELECT}{condition} ORDER BY rowid", values):
                yield from_row(row)

    def select(self, sql: str, values: Sequence[Any] = ()) -> Iterator[tuple[Any, ...]]:
        """The rows of a query, file after file."""
        for connection in self._read_from:
            yield from connection.execute(sql, values)

    def count(self) -> int:
        """Replies that were there when the journal was opened, over all files."""
        return sum(int(row[0]) for row in self.select("SELECT count(*) FROM replies"))

    def terms(self, provider: str, base_url: str, model: str) -> Mapping[str, Any]:
        """What was learned of this model's server; of several files the latest counts."""
        found: list[tuple[str, str]] = []
        for connection in self._readers:
            found += connection.execute(
                "SELECT learned_at, learned FROM terms WHERE provider = ? AND base_url = ? AND model = ?",
                (provider, base_url, model),
            )
        try:
            learned = json.loads(max(found)[1]) if found else {}
        except ValueError:
            return {}
        return learned if isinstance(learned, dict) else {}

    def learn(self, provider: str, base_url: str, model: str, learned: Mapping[str, Any]) -> None:
        """Remember what the server does not take, in place of what was known."""
        assert self._writer is not None, "opened for reading"
        now = datetime.now(timezone.utc).isoformat()
        self._writer.put_terms((provider, base_url, model, json.dumps(dict(learned)), now))

    def close(self) -> None:
        """Write what is waiting, and give the file back."""
        if self._writer is not None:
            self._writer.close()
        for connection in self._readers:
            connection.close()
        if self._lock is not None:
            release(self._lock)
            self._lock = None


class _Writer:
    """The one thread that writes: whatever waits goes into one commit, so that one flush to disk serves many."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._queue: queue.SimpleQueue[tuple[str, tuple[Any, ...], asyncio.Future[None] | None] | None]
        self._queue = queue.SimpleQueue()
        self._connection = _writer_connection(path)
        self._thread = threading.Thread(target=self._run, name="journal", daemon=True)
        self._thread.start()

    async def put(self, entry: Entry) -> None:
        written: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.put((_INSERT, to_row(entry), written))
        await written

    def put_terms(self, row: tuple[Any, ...]) -> None:
        self._queue.put(("INSERT OR REPLACE INTO terms VALUES (?, ?, ?, ?, ?)", row, None))

    def close(self) -> None:
        if self._thread.is_alive():
            self._queue.put(None)
            self._thread.join()
        with suppress(sqlite3.Error):
            self._connection.close()

    def _run(self) -> None:
        ended = False
        while not ended:
            batch = [self._queue.get()]
            # Nobody else takes from the queue, so what it is said to hold is there.
            while batch[-1] is not None and len(batch) < _MOST_AT_ONCE and self._queue.qsize():
                batch.append(self._queue.get())
            ended = batch[-1] is None
            items = [item for item in batch if item is not None]
            if items:
                failure = self._commit([(sql, row) for sql, row, _ in items])
                _tell([written for _, _, written in items if written is not None], failure)

    def _commit(self, statements: Sequence[tuple[str, tuple[Any, ...]]]) -> DataError | None:
        try:
            with self._connection:
                for sql, row in statements:
                    self._connection.execute(sql, row)
        except sqlite3.Error as error:
            return DataError(
                f"The call journal {self._path} cannot be written ({error}); make room or give another --output, and "
                "repeat the command: what was written before is kept."
            )
        return None


def _tell(waiting: Sequence[asyncio.Future[None]], failure: DataError | None) -> None:
    def tell() -> None:
        for written in waiting:
            if written.done():
                continue
            if failure is None:
                written.set_result(None)
            else:
                written.set_exception(failure)

    if waiting:
        # The loop may be closed by now: then nobody waits any more, and the commit stands all the same.
        with suppress(RuntimeError):
            waiting[0].get_loop().call_soon_threadsafe(tell)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("_calls*.sqlite3"))


def _clean(shard: str) -> str:
    return re.sub(r"[^A-Za-z0-9-]+", "-", shard)


def _uri(path: Path, options: str) -> str:
    return f"file:{quote(str(path.resolve()))}?{options}"


def _reader(path: Path) -> sqlite3.Connection:
    # Writing is possible to the file and not through this connection: a reader of a journal that was left by a killed
    # process has to make the index of its log.
    try:
        connection = sqlite3.connect(_uri(path, "mode=rw"), uri=True, timeout=30.0)
        connection.execute("PRAGMA query_only = ON")
    except sqlite3.Error as error:
        raise _unusable(path, str(error)) from error
    return connection


def _holds_any(connection: sqlite3.Connection) -> bool:
    return connection.execute("SELECT 1 FROM replies LIMIT 1").fetchone() is not None


def _writer_connection(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(_uri(path, "mode=rw"), uri=True, timeout=30.0, check_same_thread=False)
    # A file system without shared memory cannot do WAL: the older ways are as safe, and slower.
    for mode in ("WAL", "TRUNCATE"):
        with suppress(sqlite3.OperationalError):
            connection.execute(f"PRAGMA journal_mode = {mode}")
            break
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def _create(path: Path) -> None:
    """A new journal, whole or not at all: from its first moment its header says what it is."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(part)) as connection, connection:
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {FORMAT}")
            connection.executescript(_SCHEMA)
        part.replace(path)
    except (OSError, sqlite3.Error) as error:
        raise DataError(f"The call journal {path} cannot be made ({error}); give another --output.") from error
    finally:
        part.unlink(missing_ok=True)


def _check_all(folder: Path) -> None:
    for path in _files(folder):
        _check(path)


def _check(path: Path) -> None:
    """Raises DataError for a file that is no whole journal of ours. Writes nothing, whatever it finds."""
    log = path.with_name(f"{path.name}-wal")
    try:
        head = _head(path)
        log_head = _head(log)[:4] if log.exists() else b""
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    if len(head) < 100 or not head.startswith(_HEADER):
        raise _unusable(path, "it is no SQLite file, or a damaged one")
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise _unusable(path, "it is another program's database")
    if (version := int.from_bytes(head[60:64], "big")) != FORMAT:
        raise _unusable(path, f"its format is {version} and this version knows {FORMAT}: it was made by another one")
    if len(log_head) == 4 and log_head not in _WAL_MAGIC:
        raise _unusable(path, f"{log.name} beside it is no log of its")
    try:
        # Without a log nothing may be made beside the file; with one it has to be read through.
        options = "mode=ro" if log.exists() else "mode=ro&immutable=1"
        with closing(sqlite3.connect(_uri(path, options), uri=True, timeout=30.0)) as connection:
            found = connection.execute("PRAGMA quick_check(1)").fetchone()
            columns = {row[1] for row in connection.execute("PRAGMA table_info(replies)")}
    except sqlite3.Error as error:
        raise _unusable(path, str(error)) from error
    if found != ("ok",) or not columns.issuperset(COLUMNS):
        raise _unusable(path, "it is damaged")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(100)


def _unusable(path: Path, reason: str) -> DataError:
    return DataError(
        f"The call journal {path} cannot be used: {reason}. Nothing was changed; move it away (written results still "
        "count, unfinished conversations are asked again) or give another folder with --output."
    )
