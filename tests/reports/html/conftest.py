"""The small study and the demonstration, and a page of each, made once."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from arena_pages import arena_scores, small_arena
from browser import BROWSER
from demo_scores import demo_scores_file
from html_study import SETTINGS, Texts, small_scores

from attunebench.arena.folder import Arena
from attunebench.arena.sampling import ArenaSettings
from attunebench.arena.score import score_arena
from attunebench.arena.scores import ArenaScores
from attunebench.conversations import demo_folder
from attunebench.reports.html import render_html
from attunebench.reports.html.arena import render_arena
from attunebench.scores import Scores, read_scores
from attunebench.transcripts import FolderTranscripts


@pytest.fixture(scope="session")
def html_scores() -> Scores:
    return small_scores()


@pytest.fixture(scope="session")
def html_page(html_scores: Scores) -> str:
    """The page of these scores with hostile texts behind them."""
    return render_html(html_scores, evidence=Texts(), settings=SETTINGS)


@pytest.fixture(scope="session")
def page_file(html_page: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That page as a file."""
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(html_page, "utf-8")
    return path


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the demonstration with the texts of its conversations."""
    scores = demo_scores_file()
    with FolderTranscripts(demo_folder(), scores.parent) as evidence:
        text = render_html(read_scores(scores), evidence=evidence)
    path = tmp_path_factory.mktemp("demo") / "report.html"
    path.write_text(text, "utf-8")
    return path


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for the tests of one file alone: while it is there, no other test can run an event loop."""
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def scored_arena() -> tuple[Arena, ArenaScores]:
    """A small arena with hostile texts, and all analyses of it."""
    arena, settings = small_arena(), ArenaSettings(resamples=100, small=2)
    about = arena_scores(arena).about
    return arena, ArenaScores(score_arena(arena, settings), about)


@pytest.fixture(scope="session")
def arena_file(scored_arena: tuple[Arena, ArenaScores], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of that arena."""
    arena, scores = scored_arena
    path = tmp_path_factory.mktemp("arena") / "arena.html"
    path.write_text(render_arena(scores, arena=arena), "utf-8")
    return path
