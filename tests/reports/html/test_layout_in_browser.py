"""The demonstration's page at a desk, on a tablet and on a phone: what is seen at once, how much, and that it fits."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import IN_CHROMIUM, SCREENS, Tab

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = IN_CHROMIUM
BROKEN_NAMES = """[...document.querySelectorAll('.f-name, .line .name bdi, #board tbody th')].filter((one) => {
    const range = document.createRange();
    range.selectNodeContents(one);
    const lines = new Set([...range.getClientRects()].map((each) => Math.round(each.top)));
    return one.checkVisibility() && lines.size > 1 && !/[\\s\\u00b7]/u.test(one.textContent.trim());
}).map((one) => one.textContent)"""
"""Names of one word on more than one line."""

OTHER_COLOURS = """[...document.querySelectorAll('.legend .mark[class*=" k"]')].filter((one) => {
    const own = document.querySelector(`#board .mark.${one.classList[1]}`);
    return getComputedStyle(one).fill !== getComputedStyle(own).fill;
}).length"""
"""Keys that do not have the colour of their model."""


@pytest.fixture(scope="module")
def tab(chromium: Any, demo_file: Path) -> Iterator[Tab]:
    context = chromium.new_context()
    opened = Tab(context, demo_file)
    yield opened
    context.close()
    assert [] == opened.complaints
    assert [] == opened.requests()


def test_at_most_1500_words_are_seen_at_once(tab: Tab) -> None:
    assert tab.words() <= 1500


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_title_verdict_and_composite_are_on_the_first_screen(tab: Tab, width: int, height: int) -> None:
    tab.resize(width, height)
    for part in ("h1", ".verdict", ".f-main .f-plot"):
        box = tab.page.locator(part).first.bounding_box()
        assert box is not None
        assert 0 < box["y"] + box["height"] <= height
        assert 0 <= box["x"] < box["x"] + box["width"] <= width


@pytest.mark.parametrize(("width", "height"), SCREENS)
def test_no_name_breaks_within_a_word(tab: Tab, width: int, height: int) -> None:
    tab.resize(width, height)
    assert [] == tab.page.evaluate(BROKEN_NAMES)


def test_keys_have_the_colours_of_their_models(tab: Tab) -> None:
    assert 0 < tab.page.locator('.legend .mark[class*=" k"]').count()
    assert 0 == tab.page.evaluate(OTHER_COLOURS)


def test_unfolded_it_has_at_most_12000_words_and_nothing_is_off_screen(tab: Tab) -> None:
    widths = [width for width, _ in SCREENS]
    assert widths == [_width(tab, size) for size in SCREENS]
    tab.unfold(tables=False)
    assert tab.words() <= 12_000
    tab.unfold()
    assert widths == [_width(tab, size) for size in SCREENS]


def _width(tab: Tab, size: tuple[int, int]) -> int:
    tab.resize(*size)
    return int(tab.page.evaluate("document.documentElement.scrollWidth"))
