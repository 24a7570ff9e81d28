"""Where Chromium is, and the marks of tests that need it."""

from __future__ import annotations

import shutil

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
IN_CHROMIUM = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome is on the path"),
    # Playwright's event loop is closed by its own process, at a time that no test decides.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
