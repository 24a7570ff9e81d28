"""One journal file: how it is made, checked, copied and connected to. One that is damaged or not ours stops the command
and is not changed. WAL keeps its index in shared memory, which no other machine sees: so the file of a shard, which may
be on a network file system, has a rollback journal."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from attunebench.errors import DataError
from attunebench.journal.entries import COLUMNS, DECLARED
from attunebench.journal.locks import has_record_locks

APPLICATION_ID = 0x41747475  # "Attu", in the header of every journal, so that no other database is taken for one
FORMAT = 1
_HEADER = b"SQLite format 3\x00"
_WAL_MAGIC = (b"\x37\x7f\x06\x82", b"\x37\x7f\x06\x83")
_ROLLBACK_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_PATIENCE = 30.0
_UNLOCKED = f"vfs={'win32' if os.name == 'nt' else 'unix'}-none"
_UNSHARED = f"mode=ro&{_UNLOCKED}"
"""Reads a file with its log and makes nothing beside it; only for one that no process is writing to."""
_SCHEMA = f"""
PRAGMA application_id = {APPLICATION_ID};
PRAGMA user_version = {FORMAT};
CREATE TABLE replies ({DECLARED});
CREATE INDEX replies_of_a_call ON replies (call_id, provider, base_url, model, ask);
CREATE TABLE terms (provider TEXT, base_url TEXT, model TEXT, learned TEXT, learned_at TEXT,
                    PRIMARY KEY (provider, base_url, model));
"""


def is_shared(path: Path) -> bool:
    """Whether a journal file belongs to a shard, whose siblings may run on other machines."""
    return re.fullmatch(r"_calls(\.\d+)?\.sqlite3", path.name) is None


def create(path: Path) -> None:
    """Create a journal, whole or not at all: its header is valid from the start."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.unlink(missing_ok=True)
        with closing(_connect(part, "mode=rwc")) as connection, connection:
            connection.executescript(_SCHEMA)
        part.replace(path)
    except (OSError, sqlite3.Error, DataError) as error:
        raise DataError(
            f"The call journal {path} cannot be created ({error}); use another results folder, on a disk with free "
            "space and file locks."
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def writing(path: Path) -> sqlite3.Connection:
    """A connection for the one thread that writes; once a commit returns, it is on disk."""
    connection = _connect(path, "mode=rw", any_thread=True)
    # A file system without shared memory cannot do WAL: the older modes are as safe, but slower.
    for mode in ("TRUNCATE",) if is_shared(path) or not has_record_locks(path.parent) else ("WAL", "TRUNCATE"):
        with suppress(sqlite3.OperationalError):
            connection.execute(f"PRAGMA journal_mode = {mode}")
            break
    connection.execute("PRAGMA synchronous = FULL")
    return connection


def copied(path: Path, into: Path) -> Path:
    """A copy of a journal that no process is writing to, with its log files. Raises DataError."""
    copy = into / path.name
    try:
        _check_bytes(path)
        for file in filter(Path.exists, (path, _beside(path, "wal"), _beside(path, "journal"))):
            shutil.copyfile(file, into / file.name)
    except OSError as error:
        raise DataError(
            f"The call journal {path} cannot be copied to {into} ({error.strerror or error}); make room there, or set "
            "TMPDIR to another folder of this machine."
        ) from error
    if problem := _problem(copy):
        raise unusable(path, problem)
    return copy


def reading(path: Path) -> sqlite3.Connection:
    """A connection that changes no row. Raises DataError where the file cannot be read."""
    # A reader may have to make the index of a log that a killed process left; where it may not, it reads without one.
    writable = os.access(path.parent, os.W_OK) and os.access(path, os.W_OK)
    connection = _connect(path, "mode=rw" if writable else _to_look(path))
    try:
        connection.execute("PRAGMA query_only = ON")
        connection.execute("SELECT 1 FROM replies LIMIT 1").fetchone()
    except sqlite3.Error as error:
        connection.close()
        raise unusable(path, str(error)) from error
    return connection


def check(path: Path) -> None:
    """Raises DataError for a file that is no whole journal of ours. Writes nothing, whatever it finds."""
    try:
        _check_bytes(path)
    except OSError as error:
        raise unusable(path, error.strerror or str(error)) from error
    # A process that starts or stops writing meanwhile moves pages between file and log: check once more.
    if (problem := _problem(path)) and (not _beside(path, "wal").exists() or (problem := _problem(path))):
        raise unusable(path, problem)


def unusable(path: Path, reason: str) -> DataError:
    what, remedy = f": {reason}", "move it away (written results still count, unfinished conversations start again)"
    if "locked" in reason:
        what = ": another program has locked it"
        remedy = "close that program (a database browser, a backup) and rerun the command,"
    elif "full" in reason or "I/O error" in reason:
        what, remedy = f" ({reason}): its disk is full or fails", "free some space and rerun the command,"
    return DataError(
        f"The call journal {path} cannot be used{what}. Nothing was changed; {remedy} or use another results folder."
    )


def _check_bytes(path: Path) -> None:
    if path.is_fifo() or path.is_socket():
        raise unusable(path, "it is not a regular file")  # opening a pipe would block until somebody writes to it
    head = _head(path)
    # Above 2 the versions of its format say that it may only be read, or not even that.
    if len(head) < 100 or not head.startswith(_HEADER) or max(head[18:20]) > 2:
        raise unusable(path, "it is not an SQLite file, or is damaged")
    if int.from_bytes(head[68:72], "big") != APPLICATION_ID:
        raise unusable(path, "it is another program's database")
    if (version := int.from_bytes(head[60:64], "big")) != FORMAT:
        raise unusable(path, f"its format is {version}, but this version of attunebench reads {FORMAT}")
    for beside, known in ((_beside(path, "wal"), _WAL_MAGIC), (_beside(path, "journal"), (_ROLLBACK_MAGIC, bytes(8)))):
        start = _head(beside)[: len(known[0])] if beside.exists() else b""
        if len(start) == len(known[0]) and start not in known:
            raise unusable(path, f"{beside.name} beside it is not its log")


def _problem(path: Path) -> str | None:
    """What is wrong with the database as SQLite reads it, log included."""
    try:
        with closing(_connect(path, _to_look(path))) as connection:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()
            marks = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")]
            columns = {row[1] for row in connection.execute("PRAGMA table_info(replies)")}
    except UnicodeDecodeError:  # a name of a table or column that the disk has changed
        return "it is damaged"
    except (sqlite3.Error, OSError) as error:
        return str(error)
    if marks != [APPLICATION_ID, FORMAT]:
        return f"{_beside(path, 'wal').name} beside it is not its log"
    return None if found == ("ok",) and columns.issuperset(COLUMNS) else "it is damaged"


def _to_look(path: Path) -> str:
    """The options that read a file as it is and make nothing beside it."""
    log, rollback = _beside(path, "wal"), _beside(path, "journal")
    if rollback.exists() and rollback.stat().st_size:
        return "mode=rw"  # the first reader rolls back an interrupted commit: it cannot be read as it is
    if not log.exists():
        return "mode=ro&immutable=1"
    return "mode=ro" if _beside(path, "shm").exists() else _UNSHARED


def _connect(path: Path, options: str, *, any_thread: bool = False) -> sqlite3.Connection:
    try:
        if "vfs=" not in options and not has_record_locks(path.parent):
            options = f"{options}&{_UNLOCKED}"  # whoever opens it has made sure that nobody else writes to it
        uri = f"{path.resolve().as_uri()}?{options}"
        connection = sqlite3.connect(uri, uri=True, timeout=_PATIENCE, check_same_thread=not any_thread)
        if "vfs=" in options:
            # Without shared memory the index of the log is kept in this process's own, which only one may do.
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
    except (sqlite3.Error, OSError) as error:
        raise unusable(path, str(error)) from error
    return connection


def _beside(path: Path, what: str) -> Path:
    """What SQLite keeps beside a database: its log ("wal"), the index of that ("shm"), its rollback journal."""
    return path.with_name(f"{path.name}-{what}")


def _head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(100)
