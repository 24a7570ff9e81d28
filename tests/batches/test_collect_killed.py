"""`collect` killed at any moment and repeated loses nothing and doubles nothing."""

from __future__ import annotations

import json
import random
import shutil
import sqlite3
import time
from pathlib import Path
from typing import Any

import pytest
from collecting import begun
from engines import openai_line, requests_in, write_lines
from planned import CONVERSATIONS, PER_CONVERSATION, Planning

from attunebench import api


def replies(results: Path) -> list[tuple[Any, ...]]:
    found = []
    for path in results.glob("_calls*.sqlite3"):
        connection = sqlite3.connect(path)
        found += connection.execute("SELECT request_hash, text FROM replies").fetchall()
        connection.close()
    return sorted(found)


def results_of(results: Path) -> dict[str, Any]:
    read = {path.name: json.loads(path.read_text("utf-8")) for path in results.glob("[!_.]*.json")}
    for result in read.values():
        del result["run_timestamp"]
    return read


@pytest.fixture
def answers(planning: Planning, tmp_path: Path) -> Path:
    """A plan, its answers, and in `whole` what comes of them without a kill."""
    planning(modes=("default", "verbose"))
    lines = list(map(openai_line, requests_in(tmp_path / "requests.jsonl")))
    # Enough of them that a kill can fall between two commits.
    strangers = [{"custom_id": "other", "response": None, "error": None}] * 500
    path = write_lines(tmp_path / "answers.jsonl", [*lines, *strangers, *lines])
    shutil.copytree(tmp_path / "results", tmp_path / "whole")
    assert api.collect([path], tmp_path / "whole").done
    return path


@pytest.mark.slow
def test_killed_at_random_moments_nothing_is_lost_or_doubled(answers: Path, tmp_path: Path) -> None:
    chance, results = random.Random(11), tmp_path / "results"
    for _ in range(6):
        process = begun(answers, results)
        time.sleep(chance.random() * 0.3)
        process.kill()
        process.join()
        kept = replies(results)
        assert len({row[0] for row in kept}) == len(kept)
        assert set(kept) <= set(replies(tmp_path / "whole"))
        for path in results.glob("[!_.]*.json"):
            json.loads(path.read_text("utf-8"))
    summary = api.collect([answers], results)
    assert summary.done
    assert 2 * CONVERSATIONS * PER_CONVERSATION == len(replies(results))
    assert replies(tmp_path / "whole") == replies(results)
    assert results_of(tmp_path / "whole") == results_of(results)


def test_killed_between_journal_and_results_the_results_are_made_by_the_next_one(answers: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "whole").glob("[!_.]*.json"):
        path.unlink()
    summary = api.collect([answers], tmp_path / "whole")
    assert (0, 2 * CONVERSATIONS) == (summary.collected.kept, summary.written)
