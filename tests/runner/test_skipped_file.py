"""What stands in `_skipped_<model>.json`, whatever the models are called."""

from __future__ import annotations

import json
from pathlib import Path

from attunebench.runner.files import SkippedFile

NOTE = {"reason": "busy", "tries": 8, "when": "2026-01-01", "again": "attune-bench run"}


def test_a_very_long_name_of_a_model_still_gets_a_file(tmp_path: Path) -> None:
    for model in ("m" * 300 + "a", "m" * 300 + "b"):
        SkippedFile(tmp_path, "local", model).add("c", "default", **NOTE)
    assert 2 == len(list(tmp_path.iterdir()))


def test_models_whose_names_are_cleaned_to_the_same_one_keep_their_own_entries(tmp_path: Path) -> None:
    for model in ("a/b", "a b"):
        SkippedFile(tmp_path, "local", model).add("c", "default", **NOTE)
    SkippedFile(tmp_path, "local", "a b").remove("c", "default")
    [path] = tmp_path.iterdir()
    assert ["a/b"] == [entry["model"] for entry in json.loads(path.read_text())["skipped"]]


def test_lists_of_shards_become_one_without_what_is_done_and_without_entries_of_others(tmp_path: Path) -> None:
    for shard, model, name in (
        ("1-of-2", "m m", "a"),
        ("2-of-3", "m m", "b"),
        ("2-of-3", "m/m", "c"),
        ("", "m m", "d"),
    ):
        SkippedFile(tmp_path, "local", model, shard=shard).add(name, "default", **NOTE)
    SkippedFile(tmp_path, "local", "m m", shard="1-of-2").add("a", "default", **{**NOTE, "when": "2026-01-02"})
    SkippedFile(tmp_path, "local", "m m", shard="2-of-2").add("a", "default", **NOTE)
    SkippedFile(tmp_path, "local", "m m").join_shards({("b", "default"), ("a", "omniscient")})
    assert ["_skipped_m-m.json", "_skipped_m-m~2-of-3.json"] == sorted(path.name for path in tmp_path.iterdir())
    entries = json.loads((tmp_path / "_skipped_m-m.json").read_text())["skipped"]
    assert {"a": "2026-01-02", "d": "2026-01-01"} == {entry["conversationId"]: entry["when"] for entry in entries}
    SkippedFile(tmp_path, "local", "m m").join_shards({("a", "default"), ("d", "default")})
    assert ["_skipped_m-m~2-of-3.json"] == [path.name for path in tmp_path.iterdir()]
