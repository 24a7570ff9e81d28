"""The small study and its page, made once."""

from __future__ import annotations

import pytest
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
