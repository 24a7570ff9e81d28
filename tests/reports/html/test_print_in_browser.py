"""The page on paper: short by default, always light, with charts and tables on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import IN_CHROMIUM, Tab

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = IN_CHROMIUM
COLOURS = "[...document.querySelectorAll('#board .mark')].map((one) => getComputedStyle(one).fill)"


@pytest.fixture(scope="module")
def opened(chromium: Any, demo_file: Path) -> Iterator[Tab]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    context.add_init_script("window.print = () => { window.printed = true; }")
    yield Tab(context, demo_file)
    context.close()


@pytest.fixture
def tab(opened: Tab) -> Iterator[Tab]:
    opened.page.emulate_media(media="null", color_scheme="light")
    yield opened
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert [] == opened.complaints


def choose(tab: Tab, kind: str) -> None:
    tab.page.evaluate("window.printed = false")
    tab.page.locator(".top").get_by_role("button", name="Print").click()
    tab.page.locator(f"#print [data-kind={kind}]").click()
    tab.page.wait_for_function("window.printed")


@pytest.mark.parametrize("size", ["A4", "Letter"])
def test_verdicts_and_leaderboard_are_at_most_four_pages(tab: Tab, size: str) -> None:
    assert tab.printed_pages(size) <= 4


def test_paper_is_light_and_models_keep_their_colours(tab: Tab) -> None:
    colours = tab.page.evaluate(COLOURS)
    tab.page.emulate_media(media="print", color_scheme="dark")
    assert "rgb(255, 255, 255)" == tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert colours == tab.page.evaluate(COLOURS)


def test_by_default_verdicts_and_scores_are_printed_and_no_control(tab: Tab) -> None:
    tab.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    tab.page.emulate_media(media="print")
    assert 0 == tab.page.locator(".control:visible, .analysis .picture:visible").count()
    assert 1 == tab.page.locator("#board table:visible").count()
    verdicts = tab.page.locator(".analysis .shows")
    assert 0 < verdicts.count() == tab.page.locator(".analysis .shows:visible").count()


def test_charts_are_printed_on_request(tab: Tab) -> None:
    choose(tab, "charts")
    tab.page.emulate_media(media="print")
    charts = tab.page.locator(".analysis > .picture")
    assert 0 < charts.count() == tab.page.locator(".analysis > .picture:visible").count()
    assert 0 == tab.page.locator(".analysis .body:visible").count()


def test_with_tables_everything_is_unfolded_for_print_and_folded_again(tab: Tab) -> None:
    before = tab.page.locator("main details[open]").count()
    choose(tab, "tables")
    tab.page.emulate_media(media="print")
    assert 0 == tab.page.locator("#analyses details:not([open]):visible").count()
    tables = tab.page.locator("#analyses .body table")
    assert 0 < tables.count() == tab.page.locator("#analyses .body table:visible").count()
    tab.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert before == tab.page.locator("main details[open]").count()
