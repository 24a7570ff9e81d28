"""What stands in `_skipped_<model>.json`, whatever the models are called."""

from __future__ import annotations

import json
from pathlib import Path

from attunebench.runner.skipped import SkippedFile

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
