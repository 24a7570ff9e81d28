"""The page by the rules of WCAG 2.1 AA, as axe-core checks them: three widths, light, dark and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import IN_CHROMIUM, SCREENS, Tab

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
pytestmark = IN_CHROMIUM
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
DESK, _, PHONE = SCREENS
LIGHT, DARK, PAPER = ("screen", "light"), ("screen", "dark"), ("print", "light")
ALIKE = """const kept = [
    ['table:not(.heat) tbody', 2], ['.heat tbody', 6], ['.picture', 5], ['ol, ul, dl', 4], ['svg', 0],
];
for (const [holder, first] of kept) {
    for (const one of document.querySelectorAll(`main :is(${holder})`)) {
        [...one.children].slice(first).forEach((each) => each.remove());
    }
}"""
"""Of rows that look alike the first are enough: axe takes minutes for the colours of 40,000 elements."""


@pytest.fixture(scope="module")
def context(chromium: Any) -> Iterator[Any]:
    # The page allows no script but its own; axe is one.
    context = chromium.new_context(bypass_csp=True)
    yield context
    context.close()


@pytest.fixture
def tab(context: Any, demo_file: Path) -> Iterator[Tab]:
    opened = Tab(context, demo_file)
    yield opened
    opened.page.close()


def violations(tab: Tab, *looks: tuple[tuple[str, str], tuple[int, int]], within: str | None = None) -> list[str]:
    """Rule and element, each once, and what is wrong with it. Colours, which take longest, are checked once a look."""
    found, coloured = {}, set()
    for look, size in looks:
        media, scheme = look
        tab.page.emulate_media(media=media, color_scheme=scheme)
        tab.resize(*size)
        rules = {"color-contrast": {"enabled": look not in coloured}}
        coloured.add(look)
        options = {"resultTypes": ["violations"], "elementRef": False, "runOnly": RULES, "rules": rules}
        for fault in axe.Axe().run(tab.page, within, options).response["violations"]:
            for node in fault["nodes"]:
                found[f"{fault['id']}: {node['html']}"] = f"{media} {scheme} {size[0]}: {node['failureSummary']}"
    return [f"{element} ({summary})" for element, summary in found.items()]


def test_the_page_as_loaded(tab: Tab) -> None:
    tab.page.evaluate(ALIKE)
    assert [] == violations(tab, *((LIGHT, size) for size in SCREENS), (DARK, PHONE), (PAPER, DESK))


def test_everything_unfolded(tab: Tab) -> None:
    tab.unfold()
    tab.page.evaluate(ALIKE)
    assert [] == violations(tab, (LIGHT, DESK), (DARK, PHONE))


def test_the_window_behind_a_number(tab: Tab) -> None:
    tab.page.locator("#a-question-heatmap .picture .d").first.click()
    tab.page.locator("#behind tbody .d").first.click()
    tab.page.locator("#behind .say.person").first.wait_for()
    assert [] == violations(tab, (LIGHT, PHONE), (DARK, DESK), within="#behind")
