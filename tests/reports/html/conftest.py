"""The small study and its page, made once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browser import BROWSER
from html_study import SETTINGS, Texts, small_scores

from attunebench.reports.html import render_html
from attunebench.scores import Scores


@pytest.fixture(scope="session")
def html_scores() -> Scores:
    return small_scores()


@pytest.fixture(scope="session")
def html_page(html_scores: Scores) -> str:
    """The page of these scores with hostile texts behind them."""
    return render_html(html_scores, evidence=Texts(), settings=SETTINGS)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser for the tests of one file alone: while it is there, no other test can run an event loop."""
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield browser
        browser.close()
