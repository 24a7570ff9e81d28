"""The HTML report in Chromium: everything can be reached and read, by mouse and by keyboard alone, and asks nothing.

Skipped, with the reason, where playwright or Chromium is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import IN_CHROMIUM, Tab

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = IN_CHROMIUM
WIDTHS = (360, 800, 1400)


@pytest.fixture
def tab(chromium: Any, page_file: Path) -> Iterator[Tab]:
    """A tab that must not complain, and must ask for nothing but the file itself."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900}, color_scheme="light")
    opened = Tab(context, page_file)
    opened.page.locator("#board details.numbers").first.evaluate("fold => { fold.open = true; }")
    yield opened
    context.close()
    assert [] == opened.complaints
    assert [] == opened.requests()


def names(tab: Tab) -> list[str]:
    return [
        text.strip()
        for text in tab.page.locator("#board table").first.locator("tbody").first.locator("th").all_inner_texts()
    ]


@pytest.mark.slow
def test_the_leaderboard_sorts_both_ways_and_says_so(tab: Tab) -> None:
    table = tab.page.locator("#board table").first
    assert ["strong", "middle", "weak"] == names(tab)
    table.get_by_role("button", name="Composite").click()
    assert ["weak", "middle", "strong"] == names(tab)
    assert "ascending" == table.locator("th", has_text="Composite").first.get_attribute("aria-sort")
    assert "ascending" in tab.page.locator("#say").inner_text()
    table.get_by_role("button", name="model").click()
    assert ["middle", "strong", "weak"] == names(tab)
    assert 1 == table.locator("[aria-sort]").count()


def test_a_number_leads_to_its_turns_their_labels_answers_and_the_raw_reply(tab: Tab) -> None:
    tab.page.goto(tab.page.url + "#a-question-heatmap")
    cell = tab.page.locator("#a-question-heatmap td .d").first
    cell.click()
    dialog = tab.page.locator("#behind")
    dialog.locator("tbody .d").first.wait_for()
    assert "wrong answers first" in dialog.inner_text()
    dialog.locator("tbody .d").first.click()
    dialog.get_by_text("Yes/no questions about the reply").wait_for()
    text = dialog.inner_text()
    assert "The person wrote" in text
    assert "The person felt:" in text
    assert "did (person)" in text
    dialog.locator("select").select_option(label="strong (verbose)")
    dialog.get_by_text("strong (verbose) predicts:").wait_for()
    tab.page.keyboard.press("Escape")
    assert not dialog.is_visible()
    tab.page.goto(tab.page.url.partition("#")[0] + "#talks")


def test_foreign_text_is_shown_as_text_and_nothing_in_it_is_hidden(tab: Tab) -> None:
    tab.page.locator("#talks details").evaluate("fold => { fold.open = true; }")
    tab.page.locator("#talks tbody .d").first.click()
    said = tab.page.locator("#behind .prose").first
    said.wait_for()
    text = said.inner_text()
    assert "<script>alert(1)</script></script><img src=x onerror=alert(2)>" in text
    assert "U+0000U+001B[31mU+202Eright to leftU+2066 & done" in text
    assert "auto" == said.get_attribute("dir")
    assert 0 == tab.page.locator("#behind img").count()


@pytest.mark.slow
def test_a_long_draft_is_cut_until_all_of_it_is_asked_for(tab: Tab) -> None:
    tab.page.locator("#talks details").evaluate("fold => { fold.open = true; }")
    tab.page.locator("#talks tbody .d").first.click()
    dialog = tab.page.locator("#behind")
    dialog.locator("select").select_option(label="strong")
    more = dialog.get_by_role("button", name="Show all 100,000 characters")
    more.click()
    assert 100_000 == dialog.locator(".prose").evaluate_all(
        "all => Math.max(...all.map(one => one.textContent.length))"
    )
    assert 0 == more.count()
    dialog.locator("summary", has_text="feelings and questions (1)").first.click()
    assert '{"said": "<script>' in dialog.locator(".raw").first.inner_text()


def test_a_score_about_the_whole_talk_leads_to_the_answers_about_it(tab: Tab) -> None:
    tab.page.locator("#board .d:visible").first.click()
    dialog = tab.page.locator("#behind")
    dialog.get_by_text("24 conversations, worst first").wait_for()
    dialog.locator("tbody .d").first.click()
    dialog.get_by_role("heading", name="Whole conversation", exact=True).first.wait_for()
    assert "positive mood after the conversation" in dialog.inner_text()
    dialog.get_by_role("button", name="Back to the list").click()
    dialog.get_by_text("24 conversations, worst first").wait_for()


def test_the_tour_goes_on_and_back_by_keys(tab: Tab) -> None:
    tab.page.locator("#tour").scroll_into_view_if_needed()
    stop = tab.page.locator("#stop")
    stop.get_by_role("heading", name="Stop 1 of").wait_for()
    stop.get_by_role("button", name="Next").focus()
    tab.page.keyboard.press("Enter")
    stop.get_by_role("heading", name="Stop 2 of").wait_for()
    tab.page.keyboard.press("ArrowRight")
    stop.get_by_role("heading", name="Stop 3 of").wait_for()
    assert tab.focused().startswith("Stop 3 of")
    tab.page.keyboard.press("ArrowLeft")
    stop.get_by_role("heading", name="Stop 2 of").wait_for()
    assert "What did the person feel?" in stop.inner_text()


def test_the_keyboard_alone_reaches_a_turn_and_comes_back(tab: Tab) -> None:
    press = tab.page.keyboard.press
    press("Tab")
    assert "Skip to the leaderboard" == tab.focused()
    press("Enter")
    for _ in range(40):
        press("Tab")
        if tab.page.evaluate("document.activeElement.matches('tbody .d')"):
            break
    number = "document.activeElement.dataset.d"
    first = tab.page.evaluate(number)
    press("ArrowDown")
    assert first != tab.page.evaluate(number)
    press("ArrowUp")
    assert first == tab.page.evaluate(number)
    press("Enter")
    tab.page.locator("#behind tbody .d").first.wait_for()
    assert tab.page.evaluate("document.getElementById('behind').contains(document.activeElement)")
    press("Escape")
    assert first == tab.page.evaluate(number)


def test_light_and_dark_follow_the_system_until_somebody_decides(tab: Tab) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    light = tab.page.evaluate(background)
    tab.page.emulate_media(color_scheme="dark")
    dark = tab.page.evaluate(background)
    assert light != dark
    button = tab.page.locator("#theme")
    assert "true" == button.get_attribute("aria-pressed")
    button.click()
    assert light == tab.page.evaluate(background)
    assert "false" == button.get_attribute("aria-pressed")


def test_nothing_is_wider_than_the_window(tab: Tab) -> None:
    tab.page.locator("[data-open=analyses]").click()
    tab.page.locator("[data-open=models]").click()
    wide = []
    for width in WIDTHS:
        tab.page.set_viewport_size({"width": width, "height": 900})
        wide.append(tab.page.evaluate("document.documentElement.scrollWidth"))
    assert list(WIDTHS) == wide


def test_every_control_has_a_name_and_every_landmark_is_there(tab: Tab) -> None:
    unnamed = "all => all.filter(one => !(one.textContent.trim() || one.getAttribute('aria-label'))).length"
    assert 0 == tab.page.locator("button, a, select, summary").evaluate_all(unnamed)
    for landmark in ("banner", "navigation", "main"):
        assert 1 == tab.page.get_by_role(landmark).count()
    assert 0 == tab.page.locator("th:not([scope])").count()
