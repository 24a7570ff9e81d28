"""What a reader who never saw the page finds by clicking: docs/html-report.md lists the same clicks."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import IN_CHROMIUM, Tab

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = IN_CHROMIUM


@pytest.fixture(scope="module")
def tab(chromium: Any, demo_file: Path) -> Iterator[Tab]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    opened = Tab(context, demo_file)
    yield opened
    context.close()
    assert [] == opened.complaints


def contents(tab: Tab, title: str) -> None:
    tab.page.locator(".toc").get_by_role("link", name=title).click()


def best(tab: Tab) -> str:
    return str(tab.page.locator(".f-name").first.inner_text())


def test_who_is_best_and_how_sure_that_is(tab: Tab) -> None:
    assert best(tab) in tab.page.locator(".verdict").first.inner_text()
    assert 0 < tab.page.locator(".f-main .whisk").count()
    tab.page.get_by_text("Table of scores").first.click()
    row = tab.page.locator("#board tbody tr", has_text=best(tab)).first
    assert "[" in row.inner_text()


def test_where_models_see_less_than_the_person_wanted(tab: Tab) -> None:
    contents(tab, "Perspective gap")
    analysis = tab.page.locator("#a-perspective-gap")
    analysis.locator("details.body table").first.wait_for()
    assert 0 <= analysis.evaluate("(card) => card.getBoundingClientRect().top") < 100
    assert "OM − HP" in analysis.locator(".shows").inner_text()
    assert best(tab) in analysis.locator(".picture").first.inner_text()


def test_a_wrong_answer_of_the_best_model_with_the_words_of_the_person(tab: Tab) -> None:
    name = best(tab)
    contents(tab, "Agreement by question")
    heat = tab.page.locator("#a-question-heatmap .picture table").first
    column = [head.strip() for head in heat.locator("thead th").all_inner_texts()].index(name)
    heat.locator("tbody tr").first.locator("th, td").nth(column).locator(".d").click()
    behind = tab.page.locator("#behind")
    behind.locator("tbody .d").first.click()
    behind.locator(".say.person .prose").wait_for()
    assert len(behind.locator(".say.person .prose").inner_text().split()) > 5
    assert 0 < behind.locator(".yes-wrong").count()
    assert name in behind.inner_text()
    assert "#turn?" in tab.page.url
