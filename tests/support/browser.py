"""Where Chromium is, the marks of tests that need it, and a tab that notes what its page complains of and asks for."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
IN_CHROMIUM = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no chromium, chromium-browser or google-chrome is on the path"),
    # Playwright's event loop is closed by its own process, at a time that no test decides.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
SCREENS = ((1400, 900), (820, 1100), (390, 844))
"""A desk, a tablet and a phone."""


class Tab:
    """An opened page, and everything that it complained of or asked for."""

    def __init__(self, context: Any, path: Path) -> None:
        self.page = context.new_page()
        self.page.set_default_timeout(60_000)
        self.complaints: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: self.complaints.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(path.as_uri())

    def requests(self) -> list[str]:
        """What was asked for beside the file itself."""
        return [url for url in self.asked if not url.startswith("data:")][1:]

    def resize(self, width: int, height: int) -> None:
        self.page.set_viewport_size({"width": width, "height": height})

    def focused(self) -> str:
        return str(self.page.evaluate("document.activeElement.textContent.trim()"))

    def unfold(self, tables: bool = True) -> None:
        """Open every fold of the page, those in what was packed too; and all further `tables` and rows that it has."""
        for _ in range(2):
            self.page.evaluate("for (const one of document.querySelectorAll('details:not([open])')) one.open = true")
            self.page.wait_for_function("!document.querySelector('details[open][data-body]')")
            self.page.evaluate("new Promise((done) => setTimeout(done, 300))")
        if tables:
            self.page.evaluate("for (const one of document.querySelectorAll('[data-show], [data-all]')) one.click()")

    def words(self) -> int:
        return int(self.page.evaluate("document.body.innerText.split(/\\s+/).length"))

    def printed_pages(self, size: str) -> int:
        return len(re.findall(rb"/Type\s*/Page[^s]", self.page.pdf(format=size)))
