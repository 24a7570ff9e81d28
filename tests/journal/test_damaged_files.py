"""A journal that is damaged or not ours stops the command with one sentence, and nothing in the folder changes."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from entries import an_entry, keep
from hypothesis import given, settings
from hypothesis import strategies as st

from attunebench.errors import DataError
from attunebench.journal import Journal, files

ENTRIES = tuple(map(an_entry, range(40)))
Look = Callable[[Path], Journal]
POSIX = pytest.mark.skipif(os.name == "nt", reason="pipes and permissions of POSIX")
LOOKS = pytest.mark.parametrize("look", [Journal.open, Journal.read])


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a journal of forty entries."""
    folder = tmp_path_factory.mktemp("sound")
    keep(folder, *ENTRIES)
    return folder / "_calls.sqlite3"


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a journal whose process was killed: most of it is in the log."""
    folder = tmp_path_factory.mktemp("killed")
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__).parents[1] / "support" / "entries.py"), str(folder), "40", "held"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert "held" in (line.strip() for line in process.stdout)
    process.kill()
    process.communicate()
    assert (folder / "_calls.sqlite3-wal").stat().st_size > 40_000
    return folder


def contents(folder: Path) -> dict[str, bytes | None]:
    """Every file of the folder but the locks, which hold nothing, and the shared memory, which is made anew."""
    return {
        path.name: path.read_bytes() if path.is_file() else None
        for path in folder.iterdir()
        if not path.name.endswith((".lock", "-shm"))
    }


def refused(folder: Path, look: Look, *named: str) -> str:
    """The sentence with which the folder's journal is refused; nothing in the folder has changed by then."""
    before = contents(folder)
    memory = (folder / "_calls.sqlite3-shm").exists()
    with pytest.raises(DataError) as error:
        look(folder)
    assert before == contents(folder)
    assert memory == (folder / "_calls.sqlite3-shm").exists()
    for part in (str(folder / "_calls.sqlite3"), "move it away", "another results folder", *named):
        assert part in str(error.value)
    return str(error.value)


@LOOKS
@pytest.mark.parametrize("data", [b"", b"hello\n" * 1000, b"SQLite format 3\0", bytes(8192)])
def test_what_is_no_database_is_left_alone(tmp_path: Path, look: Look, data: bytes) -> None:
    (tmp_path / "_calls.sqlite3").write_bytes(data)
    refused(tmp_path, look, "not an SQLite file")


@LOOKS
@pytest.mark.parametrize("make", [os.mkdir, pytest.param(getattr(os, "mkfifo", None), marks=POSIX)])
def test_a_folder_or_a_pipe_in_its_place_is_left_alone_and_not_waited_for(
    tmp_path: Path, look: Look, make: Callable[[Path], None]
) -> None:
    make(tmp_path / "_calls.sqlite3")
    refused(tmp_path, look)


@LOOKS
def test_a_journal_that_another_program_has_locked_is_not_to_be_moved_away(
    tmp_path: Path, sound: Path, look: Look, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PATIENCE", 0.0)
    shutil.copy(sound, tmp_path)
    with closing(sqlite3.connect(tmp_path / "_calls.sqlite3", isolation_level=None)) as browser:
        browser.execute("PRAGMA locking_mode = EXCLUSIVE")
        browser.execute("BEGIN EXCLUSIVE")
        with pytest.raises(DataError, match="another program has locked it") as error:
            look(tmp_path)
    assert "move it away" not in str(error.value)


@LOOKS
def test_a_file_that_somebody_else_s_shard_left_counts_too(tmp_path: Path, look: Look) -> None:
    (tmp_path / "_calls.7.sqlite3").write_bytes(b"")
    with pytest.raises(DataError, match=r"_calls\.7\.sqlite3"):
        look(tmp_path)
    assert {"_calls.7.sqlite3": b""} == contents(tmp_path)


@LOOKS
@pytest.mark.parametrize(
    ("pragma", "named"),
    [
        ("application_id = 0", "another program's"),
        ("application_id = 252006674", "another program's"),
        ("user_version = 2", "its format is 2"),
        ("user_version = 0", "its format is 0"),
    ],
)
def test_a_foreign_or_newer_database_is_left_alone(
    tmp_path: Path, sound: Path, look: Look, pragma: str, named: str
) -> None:
    shutil.copy(sound, tmp_path)
    connection = sqlite3.connect(tmp_path / "_calls.sqlite3")
    connection.execute(f"PRAGMA {pragma}")
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.close()
    refused(tmp_path, look, named)


@LOOKS
@pytest.mark.parametrize(("kind", "log"), [("wal", b"not a log" * 700), ("wal", b"\0" * 4096), ("journal", b"x" * 999)])
def test_a_log_of_something_else_is_left_alone(tmp_path: Path, sound: Path, look: Look, kind: str, log: bytes) -> None:
    shutil.copy(sound, tmp_path)
    (tmp_path / f"_calls.sqlite3-{kind}").write_bytes(log)
    refused(tmp_path, look, f"_calls.sqlite3-{kind}")


@LOOKS
def test_a_log_of_another_database_is_left_alone(tmp_path: Path, sound: Path, look: Look) -> None:
    other = sqlite3.connect(tmp_path / "other")
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE people (name)")
    other.commit()
    shutil.copy(tmp_path / "other-wal", tmp_path / "_calls.sqlite3-wal")
    shutil.copy(sound, tmp_path)
    other.close()
    refused(tmp_path, look)


@LOOKS
@pytest.mark.parametrize("left", [1, 99, 100, 4095, 4096, 8192, 20_000])
def test_a_truncated_file_is_left_alone(tmp_path: Path, sound: Path, look: Look, left: int) -> None:
    (tmp_path / "_calls.sqlite3").write_bytes(sound.read_bytes()[:left])
    refused(tmp_path, look)


@LOOKS
@pytest.mark.parametrize("shared_memory", [True, False])
def test_a_broken_page_under_a_log_is_left_alone(tmp_path: Path, killed: Path, look: Look, shared_memory: bool) -> None:
    """Most pages of the file are in the log once more, and then the log's count; the others stop the command."""
    broken = 0
    for page in range((killed / "_calls.sqlite3").stat().st_size // 4096):
        folder = tmp_path / str(page)
        shutil.copytree(killed, folder)
        if not shared_memory:
            (folder / "_calls.sqlite3-shm").unlink()
        _spoil(folder / "_calls.sqlite3", page * 4096 or 100)
        if not reads_whole(folder, look):
            broken += 1
            refused(folder, look)
    assert broken > 0


def reads_whole(folder: Path, look: Look) -> bool:
    """Whether a copy of the folder is taken for a journal; then nothing of it may be missing."""
    with TemporaryDirectory() as copy:
        shutil.copytree(folder, copy, dirs_exist_ok=True)
        try:
            with look(Path(copy)) as journal:
                assert list(ENTRIES) == list(journal.entries())
        except DataError:
            return False
        return True


def _spoil(path: Path, offset: int) -> None:
    with path.open("r+b") as file:
        file.seek(offset)
        file.write(b"\xff" * 64)


@pytest.mark.parametrize("byte", [18, 19])
def test_a_file_of_another_version_of_sqlite_stays_as_it_is(sound: Path, tmp_path: Path, byte: int) -> None:
    spoilt = bytearray(sound.read_bytes())
    spoilt[byte] = 3
    (tmp_path / "_calls.sqlite3").write_bytes(spoilt)
    with pytest.raises(DataError):
        Journal.open(tmp_path)
    assert {"_calls.sqlite3": bytes(spoilt)} == contents(tmp_path)


@settings(max_examples=50)
@given(st.data())
def test_a_flipped_bit_is_noticed_or_changes_no_entry(sound: Path, data: st.DataObject) -> None:
    spoilt = bytearray(sound.read_bytes())
    where = data.draw(st.one_of(st.integers(0, 200), st.integers(0, len(spoilt) - 1)))
    spoilt[where] ^= 1 << data.draw(st.integers(0, 7))
    look: Look = data.draw(st.sampled_from([Journal.open, Journal.read]))
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "_calls.sqlite3").write_bytes(spoilt)
        try:
            journal = look(folder)
        except DataError:
            assert {"_calls.sqlite3": bytes(spoilt)} == contents(folder)
            return
        with journal:
            for entry in ENTRIES:
                with suppress(DataError):
                    assert journal.find(entry.request_hash) in (entry, None)


@LOOKS
@pytest.mark.parametrize("shared_memory", [True, False])
def test_the_log_of_a_killed_process_is_read(tmp_path: Path, killed: Path, look: Look, shared_memory: bool) -> None:
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    if not shared_memory:
        (tmp_path / "_calls.sqlite3-shm").unlink()
    with look(tmp_path) as journal:
        assert list(ENTRIES) == list(journal.entries())


@LOOKS
@pytest.mark.parametrize("left", [0, 3, 31, 32, 40, 5000])
def test_a_log_that_was_cut_loses_its_end_alone(tmp_path: Path, killed: Path, look: Look, left: int) -> None:
    """What a power failure leaves of a log was acknowledged to nobody."""
    shutil.copytree(killed, tmp_path, dirs_exist_ok=True)
    (tmp_path / "_calls.sqlite3-shm").unlink()
    with (tmp_path / "_calls.sqlite3-wal").open("r+b") as file:
        file.truncate(left)
    with look(tmp_path) as journal:
        kept = list(journal.entries())
        assert list(ENTRIES)[: len(kept)] == kept


WITHOUT_RIGHTS = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override"]
COUNT = """
import os, sys
from pathlib import Path
from attunebench.journal import Journal, files
assert not os.access(sys.argv[1], os.W_OK)
with Journal.read(Path(sys.argv[1])) as journal:
    print(journal.count())
"""


@POSIX
@pytest.mark.parametrize("state", ["closed", "killed", "killed and copied"])
def test_a_folder_that_cannot_be_written_can_be_read(tmp_path: Path, sound: Path, killed: Path, state: str) -> None:
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    if root and shutil.which("setpriv") is None:
        pytest.skip("root may write everywhere")
    folder = tmp_path / "results"
    shutil.copytree(sound.parent if state == "closed" else killed, folder)
    if state == "killed and copied":
        (folder / "_calls.sqlite3-shm").unlink()
    for path in folder.iterdir():
        path.chmod(0o444)
    folder.chmod(0o555)
    words = [sys.executable, "-c", COUNT, str(folder)]
    try:
        ended = subprocess.run(WITHOUT_RIGHTS + words if root else words, capture_output=True, text=True, check=False)
    finally:
        folder.chmod(0o755)
    assert ("40\n", "") == (ended.stdout, ended.stderr)


@LOOKS
def test_a_commit_that_was_cut_short_where_there_is_no_shared_memory_is_undone(
    tmp_path: Path, sound: Path, look: Look
) -> None:
    """File systems without shared memory have no log: what a killed commit has overwritten is in a file beside."""
    (tmp_path / "live").mkdir()
    (tmp_path / "left").mkdir()
    shutil.copy(sound, tmp_path / "live")
    connection = sqlite3.connect(tmp_path / "live" / "_calls.sqlite3", isolation_level=None)
    connection.execute("PRAGMA journal_mode = TRUNCATE")
    connection.execute("PRAGMA cache_size = 1")
    connection.execute("BEGIN")
    connection.execute("UPDATE replies SET text = text || text || text, call_id = 'x'")
    for path in (tmp_path / "live").iterdir():
        shutil.copy(path, tmp_path / "left")
    connection.close()
    assert (tmp_path / "left" / "_calls.sqlite3-journal").stat().st_size > 4096
    assert (tmp_path / "left" / "_calls.sqlite3").read_bytes() != sound.read_bytes()
    with look(tmp_path / "left") as journal:
        assert list(ENTRIES) == list(journal.entries())
