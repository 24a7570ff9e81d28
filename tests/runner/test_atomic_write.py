"""A file appears whole or not at all, and nothing else stays beside it."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from attunebench.files import atomic_write

posix = pytest.mark.skipif(os.name != "posix", reason="modes, links and devices of POSIX")


def fail_half_way(target: Path) -> None:
    with atomic_write(target) as file:
        file.write(b"half")
        raise KeyboardInterrupt


def test_after_an_error_the_old_content_stands_and_no_part_is_left(tmp_path: Path) -> None:
    target = tmp_path / "scores.json"
    target.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        fail_half_way(target)
    assert [(target, "old")] == [(path, path.read_text()) for path in tmp_path.iterdir()]


def test_until_the_end_the_old_content_stands(tmp_path: Path) -> None:
    target = tmp_path / "scores.json"
    target.write_text("old")
    with atomic_write(target) as file:
        file.write(b"new")
        assert "old" == target.read_text()
    assert "new" == target.read_text()


def write(target: Path, content: bytes = b"new") -> None:
    with atomic_write(target) as file:
        file.write(content)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@posix
@pytest.mark.parametrize(("umask", "expected"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_has_the_mode_that_the_umask_leaves(tmp_path: Path, umask: int, expected: int) -> None:
    before = os.umask(umask)
    try:
        write(tmp_path / "scores.json")
    finally:
        os.umask(before)
    assert expected == mode(tmp_path / "scores.json")


@posix
@pytest.mark.parametrize("kept", [0o600, 0o640, 0o664, 0o444])
def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path, kept: int) -> None:
    target = tmp_path / "scores.json"
    target.write_text("old")
    target.chmod(kept)
    write(target)
    assert ("new", kept) == (target.read_text(), mode(target))


@posix
@pytest.mark.parametrize("there", [True, False])
def test_a_link_is_written_through_however_long_the_chain(tmp_path: Path, there: bool) -> None:
    kept = tmp_path / "elsewhere" / "kept.json"
    kept.parent.mkdir()
    if there:
        kept.write_text("old")
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    second.symlink_to("elsewhere/kept.json")
    first.symlink_to(second)
    write(first)
    assert (True, True, "new") == (first.is_symlink(), second.is_symlink(), kept.read_text())
    assert [kept] == list(kept.parent.iterdir())


@posix
def test_links_in_a_circle_are_an_error_and_stay(tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    first.symlink_to(second)
    second.symlink_to(first)
    with pytest.raises(OSError, match="symbolic links"):
        write(first)
    assert {first, second} == set(tmp_path.iterdir())


@posix
def test_a_pipe_is_written_to_and_stays(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as other:
        heard = other.submit(pipe.read_bytes)
        write(pipe)
        assert b"new" == heard.result()
    assert pipe.is_fifo()


@posix
def test_a_device_is_written_to_and_stays() -> None:
    ours, theirs = os.openpty()
    try:
        write(Path(os.ttyname(theirs)))
        assert b"new" == os.read(ours, 100)
    finally:
        os.close(ours)
        os.close(theirs)


@posix
@pytest.mark.parametrize("name", ["/dev/fd/{}", "/proc/self/fd/{}"])
def test_a_descriptor_is_written_to_where_it_stands(tmp_path: Path, name: str) -> None:
    target = tmp_path / "log"
    with target.open("wb") as file:
        file.write(b"before,")
        file.flush()
        if not Path(name.format(file.fileno())).exists():
            pytest.skip("no such way to name a descriptor")
        write(Path(name.format(file.fileno())))
        file.write(b",after")
    assert b"before,new,after" == target.read_bytes()
    assert [target] == list(tmp_path.iterdir())
