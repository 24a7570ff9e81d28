"""`attune-bench analyze`: one screen for all of them, tables for those that are named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from demo_scores import demo_scores_file

import attunebench
from attunebench.analyses import ANALYSES
from attunebench.analyses.table import Analysis, column, table, words
from attunebench.arena.scores import About, ArenaScores

QUICK = ("--resamples", "100")


@pytest.fixture
def analyze(cli: Callable[..., Any]) -> Callable[..., str]:
    def call(*words: str) -> str:
        ended = cli("analyze", *words, "-s", demo_scores_file(), *QUICK)
        assert (0, "") == (ended.status, ended.err)
        return str(ended.out)

    return call


@pytest.mark.slow
def test_all_of_them_fit_on_a_few_screens_and_full_has_their_tables(analyze: Callable[..., str]) -> None:
    brief, full = analyze("all"), analyze("all", "--full")
    lines = brief.splitlines()
    assert len(lines) <= 120
    assert list(ANALYSES) == [line.split()[0] for line in lines if line and line.split()[0] in ANALYSES]
    assert max(map(len, lines)) <= 80
    assert "--full" in brief
    assert all(entry.question.split()[0] in full for entry in ANALYSES.values())
    assert len(full.splitlines()) > 1000


def test_one_that_is_named_prints_its_tables(analyze: Callable[..., str]) -> None:
    out = analyze("perspective-gap")
    assert ANALYSES["perspective-gap"].question in out
    assert "Gap per model" in out


def test_ratings_of_an_arena_stand_in_the_matrix_of_independence(analyze: Callable[..., str], tmp_path: Path) -> None:
    labels = [group.label for group in attunebench.load_scores(demo_scores_file()).groups]
    ratings = table("ratings", "Ratings by people", words("author", labels), column("rating", range(len(labels))))
    file = tmp_path / "arena-scores.json"
    file.write_text(ArenaScores([Analysis("arena-ratings", tables=(ratings,))], About(folder="arena")).json())
    assert "arena rating" in analyze("independence", "--with-baselines", "--arena", str(file))


def test_a_file_that_is_not_of_an_arena_is_refused(cli: Callable[..., Any]) -> None:
    ended = cli("analyze", "independence", "-s", demo_scores_file(), *QUICK, "--arena", demo_scores_file())
    assert (2, True) == (ended.status, "arena" in ended.err)
