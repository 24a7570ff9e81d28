"""A file appears whole or not at all, and nothing else stays beside it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from attunebench.wholefile import whole_file


def fail_half_way(target: Path) -> None:
    with whole_file(target) as file:
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
    with whole_file(target) as file:
        file.write(b"new")
        assert "old" == target.read_text()
    assert "new" == target.read_text()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_others_may_read_what_was_written(tmp_path: Path) -> None:
    with whole_file(tmp_path / "scores.json") as file:
        file.write(b"new")
    assert 0o644 == stat.S_IMODE((tmp_path / "scores.json").stat().st_mode)
