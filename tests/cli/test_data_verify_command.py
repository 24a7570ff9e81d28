"""`attune-bench data verify` as somebody types it: what it says, what it writes and how it ends."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

MANIFEST = "attunebench-manifest.json"


def test_a_sound_folder_ends_with_0_and_is_not_touched(cli: Callable[..., Any], data: Path) -> None:
    before = sorted(data.iterdir())
    ended = cli("data", "verify", data)
    assert (0, "") == (ended.status, ended.err)
    assert "3 conversation files" in ended.out
    assert before == sorted(data.iterdir())


def test_a_manifest_is_written_once_and_then_compared(cli: Callable[..., Any], data: Path) -> None:
    assert 0 == cli("data", "verify", data, "--write-manifest").status
    written = (data / MANIFEST).read_bytes()
    assert 0 == cli("data", "verify", data, "--write-manifest").status
    assert written == (data / MANIFEST).read_bytes()
    changed = data / "conversation_2.json"
    changed.write_text(changed.read_text() + " ")
    ended = cli("data", "verify", "-d", data)
    assert 1 == ended.status
    assert "changed: conversation_2.json" in ended.out


def test_a_manifest_that_says_otherwise_is_replaced_only_when_asked(cli: Callable[..., Any], data: Path) -> None:
    cli("data", "verify", data, "--write-manifest")
    written = (data / MANIFEST).read_bytes()
    (data / "conversation_2.json").unlink()
    ended = cli("data", "verify", data, "--write-manifest")
    assert 1 == ended.status
    assert "--replace" in ended.out
    assert written == (data / MANIFEST).read_bytes()
    assert 0 == cli("data", "verify", data, "--write-manifest", "--replace").status
    assert 2 == json.loads((data / MANIFEST).read_text())["n_conversations"]


def test_a_manifest_may_lie_elsewhere(cli: Callable[..., Any], data: Path, tmp_path: Path) -> None:
    place = tmp_path / "kept.json"
    assert 2 == cli("data", "verify", data, "--manifest", place).status
    assert 0 == cli("data", "verify", data, "--manifest", place, "--write-manifest").status
    assert place.exists()
    assert not (data / MANIFEST).exists()
    (data / "conversation_1.json").rename(data / "conversation_12.json")
    ended = cli("data", "verify", data, "--manifest", place)
    assert 1 == ended.status
    assert "moved: conversation_1.json to conversation_12.json" in ended.out


def test_a_damaged_manifest_is_a_sentence_and_can_be_replaced(cli: Callable[..., Any], data: Path) -> None:
    (data / MANIFEST).write_text('{"format": "attunebench-manifest", "version": 1, "files": [')
    ended = cli("data", "verify", data)
    assert (2, "") == (ended.status, ended.out)
    assert MANIFEST in ended.err
    assert 0 == cli("data", "verify", data, "--write-manifest", "--replace").status
    assert 0 == cli("data", "verify", data).status


def test_errors_are_listed_and_end_with_1_without_a_manifest(cli: Callable[..., Any], data: Path) -> None:
    (data / "conversation_2.json").write_text('{"turns": []}')
    (data / "conversation_3.json").write_text("{")
    ended = cli("data", "verify", data, "--write-manifest")
    assert 1 == ended.status
    assert "conversation_2.json: turns" in ended.out
    assert "conversation_3.json" in ended.out
    assert not (data / MANIFEST).exists()


def test_a_folder_that_is_not_the_named_subset_ends_with_1(cli: Callable[..., Any], data: Path) -> None:
    ended = cli("data", "verify", data, "--as", "subsample20")
    assert 1 == ended.status
    assert "These files differ from Subsample20" in ended.out
    assert 2 == cli("data", "verify", data, "--as", "Subsample21").status
    assert 2 == cli("data", "verify", data.parent / "none").status
    assert 2 == cli("data", "verify").status


def test_nothing_in_a_file_name_steers_the_terminal(cli: Callable[..., Any], data: Path) -> None:
    (data / "conversation_9\x1b[31m.json").write_text("{}")
    ended = cli("data", "verify", data)
    assert 1 == ended.status
    assert "\x1b" not in ended.out


def test_a_file_that_is_no_manifest_is_never_replaced_by_one(cli: Callable[..., Any], data: Path) -> None:
    file = data / "conversation_1.json"
    before = file.read_bytes()
    ended = cli("data", "verify", data, "--write-manifest", "--replace", "--manifest", file)
    assert (2, before) == (ended.status, file.read_bytes())
    assert 2 == cli("data", "verify", data, "--replace").status
