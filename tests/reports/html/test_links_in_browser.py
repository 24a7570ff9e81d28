"""Addresses of the HTML report in Chromium: everything that opens has one, it leads back there, and a bad one hurts
nothing. Also the search, the filters, and the way from a number to a wrong answer.

Skipped, with the reason, where playwright or Chromium is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from browser import IN_CHROMIUM

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
pytestmark = IN_CHROMIUM
LIST = "#answers?question=B1&block=binary_om&model=weak&mode=default"
WHOLE = {
    "list": LIST,
    "turn": "#turn?conversation=conversation_3&turn=2&question=B1&block=binary_om&model=weak&mode=default",
    "conversation": "#conversation?conversation=conversation_3&model=strong&mode=verbose",
    "search": "#search?q=right&model=strong&only=wrong",
}


@pytest.fixture
def opened(chromium: Any, page_file: Path) -> Iterator[Callable[..., Any]]:
    """Opens the page at an address in a tab of its own, which must not complain."""
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    complaints: list[str] = []

    def at(address: str = "", width: int = 1400) -> Any:
        page = context.new_page()
        page.set_viewport_size({"width": width, "height": 844})
        page.set_default_timeout(60_000)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(page_file.as_uri() + address)
        return page

    yield at
    context.close()
    assert [] == complaints


def address(page: Any) -> str:
    return "".join(page.url.partition("#")[1:])


def title(page: Any) -> str:
    return str(page.locator("#behind-title").inner_text())


@pytest.mark.parametrize("link", WHOLE.values(), ids=WHOLE)
def test_an_address_opens_its_dialog_and_closing_leaves_the_page(opened: Any, link: str) -> None:
    page = opened(link)
    page.locator("#behind[open] #behind-title").first.wait_for()
    assert link == address(page)
    page.keyboard.press("Escape")
    page.wait_for_function("location.hash === ''")
    assert not page.locator("#behind").is_visible()


def test_back_and_forward_move_between_dialogs(opened: Any) -> None:
    page = opened("#board")
    page.evaluate("hash => { location.hash = hash; }", LIST)
    page.locator("#behind tbody .d").first.click()
    page.locator("#behind .asked").wait_for()
    turn = address(page)
    page.go_back()
    page.locator("#behind tbody .d").first.wait_for()
    assert LIST == address(page)
    page.go_forward()
    page.locator("#behind .asked").wait_for()
    assert turn == address(page)
    page.go_back()
    page.go_back()
    page.wait_for_function("!document.getElementById('behind').open")
    assert "#board" == address(page)


def test_a_number_leads_to_a_wrong_answer_with_the_words_and_on_to_the_next(opened: Any) -> None:
    page = opened(LIST)
    page.locator("#behind tbody .d").first.click()
    asked = page.locator("#behind .asked")
    asked.wait_for()
    assert "(wrong)" in asked.inner_text()
    assert page.locator("#behind .say.person").first.is_visible()
    page.get_by_role("button", name="Next wrong answer").wait_for()
    first = address(page)
    page.keyboard.press("ArrowRight")
    page.wait_for_function("hash => location.hash !== hash", arg=first)
    page.get_by_role("button", name="Previous wrong answer").wait_for()
    assert "(wrong)" in asked.inner_text()
    page.keyboard.press("ArrowLeft")
    page.wait_for_function("hash => location.hash === hash", arg=first)


def test_closing_returns_the_focus_to_the_number(opened: Any) -> None:
    page = opened()
    number = page.locator("#board [data-d]:visible").first
    number.click()
    page.locator("#behind tbody .d").first.click()
    page.get_by_role("heading", name="Whole conversation", exact=True).wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function("!document.getElementById('behind').open")
    assert number.evaluate("one => one === document.activeElement")


@pytest.mark.parametrize(
    "link",
    [
        "#nonsense",
        "#turn?conversation=nobody&turn=1",
        "#turn?conversation=conversation_3&turn=99",
        "#answers?model=%zz%E0%A4%A&metric=composite",
        "#answers?metric=__proto__",
        "#answers?turns=list.0000000000",
        "#answers?metric=composite&mode=nonsense",
        "#turn?",
        "#conversation?conversation=" + "A" * 100_000,
        "#search?q=a&group=constructor:x",
        "#tour?conversation=conversation_3&turn=1&why=%00",
        "#<img src=x onerror=alert(1)>%",
    ],
)
def test_an_unknown_address_says_so_and_shows_the_page(opened: Any, link: str) -> None:
    page = opened(link)
    page.locator("#lost").wait_for()
    assert not page.locator("#behind").is_visible()
    assert page.locator("#board").is_visible()
    assert 0 == page.locator("img").count()


def test_the_search_finds_words_of_texts_questions_and_conversations(opened: Any) -> None:
    page = opened()
    page.keyboard.press("/")
    page.keyboard.type('"user <script>" left')
    page.keyboard.press("Enter")
    found = page.locator("#behind .count", has_text="found.")
    found.wait_for()
    assert "120 turns" in found.inner_text()
    assert "user <script>" == page.locator("#behind mark").first.inner_text()
    field = page.locator("#behind [name=q]")
    field.fill("conversation_7")
    field.press("Enter")
    page.locator("#behind .found .d", has_text="conversation_7").click()
    page.wait_for_function("document.getElementById('behind-title').textContent.startsWith('conversation_7')")
    assert "#conversation?conversation=conversation_7" == address(page)


def test_the_search_finds_an_analysis_and_leads_to_its_card(opened: Any) -> None:
    page = opened("#search?q=perspective", width=390)
    page.locator(".found button", has_text="gap").first.click()
    page.wait_for_function("!document.querySelector('dialog').open")
    assert "#a-perspective-gap" == address(page)
    assert page.locator("#h-a-perspective-gap").is_visible()
    assert 0 <= page.locator("#a-perspective-gap").bounding_box()["y"] < 844


def test_the_search_says_which_texts_are_not_in_the_page(opened: Any) -> None:
    page = opened("#search?q=nothing+like+this")
    page.locator("#behind .count", has_text="0 turns found").wait_for()
    assert "Searched:" in page.locator("#behind .note").last.inner_text()


@pytest.mark.parametrize("query", ["A" * 100_000, '"' + "a " * 40_000 + '"', "(.*+?^${}()|[]\\\\/-"])
def test_a_search_for_anything_ends(opened: Any, query: str) -> None:
    page = opened("#search?" + urlencode({"q": query}))
    page.locator("#behind .count", has_text="found.").wait_for()
    assert len(page.locator("#behind [name=q]").input_value()) <= 500


def test_filters_of_a_list_are_in_its_address_and_say_how_many_are_left(opened: Any) -> None:
    page = opened(LIST)
    count = page.locator("#behind .count")
    count.filter(has_text="wrong answers first").wait_for()
    left, all_ = map(int, re.findall(r"^(\d+) of (\d+) turns", count.inner_text())[0])
    assert left == all_
    page.locator("#behind [name=only]").check()
    page.wait_for_function("location.hash.endsWith('&only=wrong')")
    page.locator("#behind tbody .d").first.wait_for()
    left, same = map(int, re.findall(r"^(\d+) of (\d+) turns", count.inner_text())[0])
    assert 0 < left < same == all_
    group = page.locator("#behind [name=group]")
    group.select_option(index=1)
    page.wait_for_function("location.hash.includes('&group=')")
    page.get_by_role("button", name="Reset filters").click()
    page.wait_for_function("hash => location.hash === hash", arg=LIST)


def test_the_list_of_conversations_is_narrowed_in_place(opened: Any) -> None:
    page = opened("#conversations?group=topic:work")
    page.locator("#talk-filters .count", has_text="of 24 conversations").wait_for()
    assert page.locator("#talks tbody tr:visible").count() < 24
    page.get_by_role("button", name="Reset filters").click()
    page.locator("#talk-filters .count", has_text="24 of 24").wait_for()


def test_a_stop_of_the_tour_has_an_address(opened: Any) -> None:
    page = opened()
    page.locator("#tour").scroll_into_view_if_needed()
    page.get_by_role("heading", name="Stop 1 of").wait_for()  # it moves what stands below
    page.locator("#tour .stops summary").click()
    page.locator("[data-stop]").nth(4).click()
    page.get_by_role("heading", name="Stop 5 of").wait_for()
    link = address(page)
    assert link.startswith("#tour?conversation=")
    other = opened(link)
    other.get_by_role("heading", name="Stop 5 of").wait_for()


def test_a_link_is_copied(opened: Any) -> None:
    page = opened(LIST)
    page.get_by_role("button", name="Copy link").first.click()
    page.locator("#behind button, #behind input").filter(has_text="Link copied").or_(
        page.locator("#behind input[readonly]")
    ).first.wait_for()


@pytest.mark.parametrize("link", [*WHOLE.values(), "#conversations?"], ids=[*WHOLE, "conversations"])
def test_nothing_is_wider_than_a_phone(opened: Any, link: str) -> None:
    page = opened(link, width=390)
    page.locator("#behind[open] #behind-title, #talk-filters select").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("(one => one.scrollWidth - one.clientWidth)(document.getElementById('behind'))") <= 0


def test_touch_targets_of_a_dialog_are_large_on_a_phone(opened: Any) -> None:
    page = opened(WHOLE["turn"], width=390)
    page.get_by_role("button", name="Next wrong answer").wait_for()
    heights = page.locator("#behind .control:visible").evaluate_all("all => all.map(one => one.offsetHeight)")
    assert min(heights) >= 44
