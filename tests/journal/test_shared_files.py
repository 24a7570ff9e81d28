"""Journal files of parts of a run: no log that other machines cannot see, and read only while nobody writes."""

from __future__ import annotations

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from entries import an_entry, keep

from attunebench.errors import DataError
from attunebench.journal import Journal, is_shared


def mode_of(path: Path) -> str:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


def test_a_part_of_a_run_never_has_a_write_ahead_log(tmp_path: Path) -> None:
    with Journal.open(tmp_path, shard="1-of-2") as journal:
        keep(tmp_path, an_entry(1), shard="2-of-2")
        assert tmp_path / "_calls.1-of-2.sqlite3" == journal.path
        assert "wal" not in {mode_of(path) for path in tmp_path.glob("_calls*.sqlite3")}
    assert ["_calls.1-of-2.sqlite3", "_calls.2-of-2.sqlite3"] == sorted(path.name for path in tmp_path.glob("_calls*"))
    keep(tmp_path, an_entry(2))
    assert "wal" == mode_of(tmp_path / "_calls.sqlite3")


def test_a_part_finds_what_is_at_rest_and_leaves_out_what_is_written_to(tmp_path: Path) -> None:
    keep(tmp_path, an_entry(1))
    keep(tmp_path, an_entry(2), shard="1-of-2")
    keep(tmp_path, an_entry(3), shard="1-of-3")
    with Journal.open(tmp_path, shard="2-of-2") as busy, Journal.open(tmp_path, shard="1-of-3") as journal:
        assert (busy.path,) == journal.unread
        assert {1, 2, 3} == {int(entry.request_hash, 16) for entry in journal.entries()}
        with Journal.read(tmp_path, copies=True) as looking:
            assert {busy.path, journal.path} == set(looking.unread)
            assert 2 == looking.count()
    with Journal.read(tmp_path) as whole:
        assert 3 == whole.count()


def test_whoever_reads_the_whole_does_not_look_into_what_a_part_writes_to(tmp_path: Path) -> None:
    keep(tmp_path, an_entry(1))
    with Journal.open(tmp_path, shard="1-of-2") as busy:
        assert busy.path is not None
        for opened in (Journal.open, Journal.read):
            with opened(tmp_path) as journal:
                assert 1 == journal.count()


def test_a_damaged_file_is_named_where_it_lies_and_not_its_copy(tmp_path: Path) -> None:
    keep(tmp_path, an_entry(1), shard="1-of-2")
    damaged = tmp_path / "_calls.sqlite3"
    damaged.write_bytes(b"SQLite format 3\x00" + bytes(200))
    before = damaged.read_bytes()
    with pytest.raises(DataError, match=f"call journal {damaged} cannot be used"):
        Journal.open(tmp_path, shard="1-of-2")
    assert before == damaged.read_bytes()
    damaged.unlink()
    Journal.open(tmp_path, shard="1-of-2").close()  # and its lock is free again


def test_a_copy_takes_along_the_log_of_a_run_that_was_killed(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    keep(tmp_path / "run", an_entry(1))
    with Journal.open(tmp_path / "run") as running:
        assert running.path is not None
        with closing(sqlite3.connect(running.path)) as connection, connection:
            connection.execute("UPDATE replies SET error = error")
        shutil.copytree(tmp_path / "run", tmp_path / "killed")
    assert (tmp_path / "killed" / "_calls.sqlite3-wal").exists()
    with Journal.open(tmp_path / "killed", shard="1-of-2") as journal:
        assert an_entry(1) == journal.find(an_entry(1).request_hash)


@pytest.mark.parametrize(
    ("name", "shared"),
    [
        ("_calls.sqlite3", False),
        ("_calls.2.sqlite3", False),
        ("_calls.1-of-2-ab.sqlite3", True),
        ("_calls.x.2.sqlite3", True),
    ],
)
def test_a_part_is_known_by_its_name(name: str, shared: bool) -> None:
    assert shared == is_shared(Path(name))
