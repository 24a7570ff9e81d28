"""A model that never stops talking fills no disk, and what is written about it can be read again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from recipe_server import RecipeServer

from attunebench import api
from attunebench.journal.entries import LONGEST_TEXT

if TYPE_CHECKING:
    from conftest import Command


@pytest.mark.slow
def test_drafts_of_megabytes_are_not_answered_and_their_results_are_scored(command: Command, tmp_path: Path) -> None:
    rule = {"match": {"kind": "draft"}, "reply": {"content": "word " * LONGEST_TEXT}}
    with RecipeServer({"rules": [rule]}) as server:
        assert command(server).status == 0
    folder = tmp_path / "results"
    results = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob("[!_]*.json")]
    assert {turn["em_drafted_response"] for result in results for turn in result["turns"]} == {None}
    assert sum(path.stat().st_size for path in folder.iterdir()) < 3 * LONGEST_TEXT
    assert api.score(folder, tmp_path / "one")["aggregates"][0]["coverage"]["scored"] == len(results) == 1
