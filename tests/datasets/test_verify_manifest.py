"""The manifest of a data folder finds what has changed since it was written, and never gets in anybody's way."""

from __future__ import annotations

import hashlib
import json
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations

from attunebench.conversations import load_conversations, validate_folder
from attunebench.conversations.loading import MANIFEST_NAME
from attunebench.datasets.verifying import Manifest, differences, entries_of, manifest_of, read_manifest, save_manifest
from attunebench.errors import DataError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", 4, turns=1)


def write_manifest(folder: Path) -> Manifest:
    """The manifest of a folder, written into it."""
    manifest = manifest_of(folder, validate_folder(folder))
    save_manifest(manifest, folder / MANIFEST_NAME)
    return manifest


def changes(folder: Path) -> list[str]:
    return differences(read_manifest(folder / MANIFEST_NAME), entries_of(folder, validate_folder(folder)))


def test_a_manifest_says_of_each_file_what_can_be_recomputed_from_it_alone(folder: Path) -> None:
    (folder / "annotation_codebook.json").write_text("{}")
    write_manifest(folder)
    raw = json.loads((folder / MANIFEST_NAME).read_text())
    expected = []
    for number in range(1, 5):
        data = (folder / f"conversation_{number}.json").read_bytes()
        expected.append(
            {
                "name": f"conversation_{number}.json",
                "bytes": len(data),
                "sha256": hashlib.sha256(data).hexdigest(),
                "conversationId": json.loads(data)["conversationId"],
                "n_turns": 1,
            }
        )
    expected.append({"name": "annotation_codebook.json", "bytes": 2, "sha256": hashlib.sha256(b"{}").hexdigest()})
    assert expected == raw["files"]
    assert (None, 4) == (raw["subset"], raw["n_conversations"])
    assert datetime.fromisoformat(raw["created"]) <= datetime.now(timezone.utc)
    assert load_conversations(folder).ground_truth_sha256 == raw["ground_truth_sha256"]


def test_the_loader_passes_over_a_manifest_without_a_warning(folder: Path) -> None:
    before = load_conversations(folder)
    write_manifest(folder)
    after = load_conversations(folder)
    assert before.conversations == after.conversations
    assert (before.warnings, before.ground_truth_sha256) == (after.warnings, after.ground_truth_sha256)
    (folder / MANIFEST_NAME).write_text("{ damaged")
    assert () == load_conversations(folder).passed_over == before.passed_over


def test_what_is_written_is_what_is_read(folder: Path) -> None:
    written = write_manifest(folder)
    assert written == read_manifest(folder / MANIFEST_NAME)
    again = folder.parent / "again.json"
    save_manifest(written, again)
    assert again.read_bytes() == (folder / MANIFEST_NAME).read_bytes()


def test_an_untouched_folder_has_no_changes(folder: Path) -> None:
    write_manifest(folder)
    assert [] == changes(folder)


def test_changed_missing_new_and_moved_files_are_told_apart(folder: Path) -> None:
    write_manifest(folder)
    changed = folder / "conversation_1.json"
    changed.write_text(changed.read_text() + "\n")
    (folder / "conversation_2.json").unlink()
    (folder / "sub").mkdir()
    (folder / "conversation_3.json").rename(folder / "sub" / "conversation_3.json")
    write_conversations(folder.parent / "other", 1, seed=50, turns=1)
    (folder.parent / "other" / "conversation_1.json").rename(folder / "conversation_9.json")
    assert [
        "changed: conversation_1.json",
        "missing: conversation_2.json",
        "new: conversation_9.json",
        "moved: conversation_3.json to sub/conversation_3.json",
    ] == changes(folder)


def test_an_invalid_file_gets_no_manifest_and_leaves_the_old_one(folder: Path) -> None:
    write_manifest(folder)
    before = (folder / MANIFEST_NAME).read_bytes()
    (folder / "conversation_2.json").write_text('{"turns": []}')
    with pytest.raises(DataError, match=r"conversation_2.json: conversationId"):
        write_manifest(folder)
    assert before == (folder / MANIFEST_NAME).read_bytes()


def _without(key: str) -> Any:
    return lambda raw: raw.pop(key)


@pytest.mark.parametrize(
    "damage",
    [
        _without("files"),
        _without("ground_truth_sha256"),
        lambda raw: raw.update(files=3),
        lambda raw: raw.update(files=[3]),
        lambda raw: raw["files"][0].update(sha256="0" * 64),
        lambda raw: raw["files"][0].update(name="conversation_8.json"),
        lambda raw: raw["files"][0].update(bytes="many"),
        lambda raw: raw["files"].pop(),
    ],
)
def test_a_damaged_manifest_is_said_to_be_damaged(folder: Path, damage: Any) -> None:
    write_manifest(folder)
    path = folder / MANIFEST_NAME
    raw = json.loads(path.read_text())
    damage(raw)
    path.write_text(json.dumps(raw))
    with pytest.raises(DataError, match="damaged"):
        read_manifest(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"format": "attunebench-manifest", "ver',
        "[]",
        '{"format": "attunebench-scores"}',
        '{"format": "attunebench-manifest", "version": 2}',
        '{"format": "attunebench-manifest", "version": 1}',
    ],
)
def test_what_is_not_a_manifest_is_refused_by_a_sentence_that_names_it(tmp_path: Path, text: str) -> None:
    path = tmp_path / "m.json"
    path.write_text(text)
    with pytest.raises(DataError) as refused:
        read_manifest(path)
    assert str(path) in str(refused.value)
