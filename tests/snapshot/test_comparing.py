"""The comparison sees a change of any number, id or answer, and lets new fields and other sentences pass."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from snapshot_compare import Parts, differences, parts_of, read

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def kept() -> Parts:
    return read(HERE / "small.tar.xz")["live"]


def a_result(parts: Parts) -> Any:
    return parts[min(name for name in parts if name.startswith("results/"))]


def a_row(parts: Parts) -> Any:
    journal = parts["journal.json"]["journal"]
    return journal[min(journal)][0]


CHANGES: dict[str, Callable[[Parts], Any]] = {
    "a file less": lambda parts: parts.pop("skipped.json"),
    "an answer more": lambda parts: a_result(parts)["turns"][0]["em_binary_om_assessment"].update(B999="yes"),
    "a vote more": lambda parts: a_result(parts)["turns"][0]["em_draft_judge_scores_by_model"].update(other={}),
    "an answer less": lambda parts: a_result(parts)["turns"][0]["em_binary_om_assessment"].popitem(),
    "a mean": lambda parts: next(iter(parts["scores.json"]["aggregates"].values()))["metrics"]["composite"].update(
        mean=1
    ),
    "a tag": lambda parts: a_result(parts)["turns"][0]["em_emotion_tags"].append({"emotion": "Calm", "intensity": 1}),
    "a cost": lambda parts: a_row(parts).update(cost=a_row(parts)["cost"] * 1.00001),
    "a text": lambda parts: a_row(parts).update(text="another"),
    "a reply more": lambda parts: parts["journal.json"]["journal"].update(other=[]),
    "an analysis less": lambda parts: parts["analyses.json"]["analyses"].popitem(),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_a_difference(change: Callable[[Parts], Any], kept: Parts) -> None:
    made = copy.deepcopy(kept)
    change(made)
    assert 1 == len(differences(kept, made))


def test_new_fields_and_new_analyses_are_told_on_request_alone(kept: Parts) -> None:
    made = copy.deepcopy(kept)
    a_result(made)["novel"] = 1
    made["analyses.json"]["analyses"]["novel"] = {}
    assert [] == differences(kept, made)
    assert 2 == len(differences(kept, made, strict=True))


def test_what_is_allowed_is_no_difference(kept: Parts) -> None:
    made = copy.deepcopy(kept)
    a_row(made)["cost"] = None
    assert [] == differences(kept, made, allowed={r"^journal\.json/.*/cost:": "nobody states it"})


def test_sentences_and_times_are_not_kept(tmp_path: Path) -> None:
    def scores(caption: str, created: str) -> Any:
        return {"created": created, "tables": [{"id": "a", "caption": caption, "rows": [{"n": 2, "of": "a b"}]}]}

    for name, content in (("one", scores("All of them.", "now")), ("two", scores("Every one.", "then"))):
        (tmp_path / name).mkdir()
        (tmp_path / name / "analyses.json").write_text(json.dumps(content), encoding="utf-8")
    assert parts_of(tmp_path / "one") == parts_of(tmp_path / "two")
    assert 2 == parts_of(tmp_path / "one")["analyses.json"]["tables"]["a"]["rows"][0]["n"]
