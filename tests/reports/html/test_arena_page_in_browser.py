"""The page of an arena in Chromium: numbers lead to verdicts, addresses from anywhere hurt nothing, it fits a phone.

Skipped, with the reason, where playwright or Chromium is missing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from browser import IN_CHROMIUM, SCREENS, Tab
from html_study import HOSTILE

from attunebench.arena.folder import Arena

pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
pytestmark = IN_CHROMIUM
RULES = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"]}
DESK, _, PHONE = SCREENS
FEW_ROWS = """for (const body of document.querySelectorAll('main tbody')) {
    [...body.rows].slice(3).forEach((row) => row.remove());
}"""
"""Rows look alike, and axe takes long for the colours of each."""


@pytest.fixture(scope="module")
def context(chromium: Any) -> Iterator[Any]:
    context = chromium.new_context(bypass_csp=True)  # the page allows no script but its own; axe is one
    yield context
    context.close()


@pytest.fixture
def tab(context: Any, arena_file: Path) -> Iterator[Tab]:
    opened = Tab(context, arena_file)
    opened.resize(*DESK)
    yield opened
    opened.page.close()
    assert [] == opened.complaints
    assert [] == opened.requests()


def at(tab: Tab, hash: str) -> None:
    tab.page.evaluate("hash => { document.querySelector('#behind .count')?.remove(); location.hash = hash; }", hash)


def behind(tab: Tab, selector: str) -> Any:
    found = tab.page.locator(f"#behind {selector}")
    found.first.wait_for()
    return found


def counted(tab: Tab) -> tuple[int, int]:
    """Pairs and verdicts of the open list."""
    pairs, verdicts, *_ = re.findall(r"(\d+) (?:pairs?|verdicts?)\b", behind(tab, ".count").first.inner_text())
    return int(pairs), int(verdicts)


def answered(tab: Tab) -> int:
    """Verdicts of the open list as numbers count them."""
    text = behind(tab, ".count").first.inner_text().rpartition("verdict")[2]
    return sum(map(int, re.findall(r"(\d+) (?:better|same|worse)", text)))


def test_a_number_leads_to_the_history_both_replies_and_every_verdict(tab: Tab, scored_arena: Any) -> None:
    arena, _ = scored_arena
    tab.page.locator("#board .d").first.click()
    behind(tab, "tbody .d").first.click()
    texts = behind(tab, "article").inner_text()
    pair = next(one for one in arena.pairs.values() if f"pair={one.id}&" in tab.page.url)
    assert all(turn.text[:9] in texts for turn in arena.histories[pair.history].turns)
    assert all(arena.replies[pair.history, author].text[:9] in texts for author in (pair.left, pair.right))
    assert sum(one.pair == pair.id for one in arena.verdicts) == tab.page.locator("#behind .items > li").count()
    assert "U+202E" in texts


def test_every_number_leads_to_as_many_verdicts_as_its_filter_names(tab: Tab, scored_arena: Any) -> None:
    arena, scores = scored_arena
    kinds = {author: one.kind for (_, author), one in arena.replies.items()}
    asked = {
        cell.drill.where: None
        for analysis in scores.analyses
        for table in analysis.tables
        for row in table.rows
        for cell in row
        if cell.drill is not None
    }
    assert len(asked) > 50
    for where in asked:
        named = dict(where)
        if "pairs" in named:
            continue
        expected = [one for one in arena.verdicts if _is_asked(arena, kinds, one, named)]
        at(tab, f"#pairs?{urlencode(named)}")
        title = ", ".join(map(str, named.items()))
        assert counted(tab) == (len({one.pair for one in expected}), len(expected)), title


def test_a_list_has_as_many_verdicts_as_the_number_it_is_behind(tab: Tab, scored_arena: Any) -> None:
    _, scores = scored_arena
    tables = {table.id: table for table in scores.analyses[0].tables}
    for table in map(tables.__getitem__, ("ratings", "by-rater")):
        for cell in (cell for row in table.rows for cell in row if cell.drill is not None and cell.n):
            at(tab, f"#pairs?{urlencode(cell.drill.where)}")
            assert (cell.n, cell.drill.where) == (answered(tab), cell.drill.where)


def _is_asked(arena: Arena, kinds: dict[str, str], verdict: Any, named: dict[str, str]) -> bool:
    """The same filter, written otherwise."""
    pair = arena.pairs[verdict.pair]
    both = {pair.left, pair.right}
    rater = named.get("rater")
    return (
        (("author" not in named) or named["author"] in both)
        and (("against" not in named) or named["against"] in both)
        and (("kind" not in named) or named["kind"] in {kinds[one] for one in both})
        and (("without" not in named) or not {kinds[one] for one in both} <= {*named["without"].split()})
        and (("slice" not in named) or arena.histories[pair.history].slice == named["slice"])
        and (rater in (None, verdict.rater) or rater == {"human": "people", "judge": "judges"}[verdict.rater_kind])
        and (("dimension" not in named) or named["dimension"] in verdict.dimensions)
    )


@pytest.mark.parametrize("sort", ["tied", "ambiguous", "unanimous"])
def test_pairs_are_sorted_by_what_people_say(tab: Tab, scored_arena: Any, sort: str) -> None:
    arena, _ = scored_arena
    at(tab, f"#pairs?pairs={sort}")
    pairs, _ = counted(tab)
    assert pairs == sum(sort in _sorts(arena, id) for id in arena.pairs)


@pytest.mark.parametrize(("sort", "verdicts"), [("unanswered", 1), ("flipped", 2)])
def test_verdicts_that_are_rare_are_found(tab: Tab, sort: str, verdicts: int) -> None:
    at(tab, f"#pairs?pairs={sort}")
    assert counted(tab) == (1, verdicts)


def _sorts(arena: Arena, id: str) -> set[str]:
    """What the people's verdicts on a pair make of it."""
    signs = [
        (v.preference > 0) - (v.preference < 0)
        for v in arena.verdicts
        if v.pair == id and v.rater_kind == "human" and v.preference is not None
    ]
    counts = [signs.count(side) for side in (1, 0, -1)]
    most = max(counts)
    tied = counts[1] == most or counts[0] == counts[2]
    names = {"tied": tied, "ambiguous": most / len(signs) < 2 / 3, "unanimous": most == len(signs)}
    return {name for name, holds in names.items() if holds}


def test_a_list_is_narrowed_and_its_address_says_how(tab: Tab) -> None:
    tab.page.locator("#board .d").first.click()
    whole = counted(tab)
    behind(tab, "[name=slice]").focus()
    behind(tab, "[name=slice]").select_option("adversarial")
    tab.page.wait_for_function("location.hash.includes('slice=adversarial')")
    assert counted(tab) < whole
    assert "slice" == tab.page.evaluate("document.activeElement.name")


def test_arrows_go_through_the_list_and_back_returns_to_it(tab: Tab) -> None:
    at(tab, "#pairs?author=lab0")
    behind(tab, "tbody .d").first.click()
    behind(tab, ".replies")
    first = tab.page.url
    tab.page.keyboard.press("ArrowRight")
    tab.page.wait_for_function("url => location.href !== url", arg=first)
    assert "2 of" in behind(tab, ".bar-of-buttons .count").inner_text()
    tab.page.get_by_role("button", name="Back to the list").click()
    behind(tab, "tbody .d")
    assert tab.page.url.endswith("#pairs?author=lab0")
    tab.page.keyboard.press("Escape")
    tab.page.wait_for_function("location.hash === ''")


@pytest.mark.parametrize(
    "hash",
    [
        "#pair?pair=nobody",
        "#pair?",
        "#pairs?author=__proto__",
        "#pairs?pairs=toString",
        "#pairs?rater=%zz%E0%A4%A",
        "#pairs?" + urlencode({"against": HOSTILE}),
        "#nonsense",
    ],
)
def test_an_address_that_names_nothing_is_said_to(tab: Tab, hash: str) -> None:
    at(tab, hash)
    tab.page.locator("#lost").wait_for()
    assert not tab.page.locator("#behind").is_visible()


@pytest.mark.parametrize("size", SCREENS, ids=str)
def test_nothing_is_wider_than_the_screen(tab: Tab, size: tuple[int, int]) -> None:
    tab.resize(*size)
    tab.unfold()
    at(tab, "#pairs?author=lab0")
    behind(tab, "tbody .d").first.click()
    behind(tab, ".replies")
    for one in ("document.documentElement", "document.getElementById('behind')"):
        assert tab.page.evaluate(f"{one}.scrollWidth <= {one}.clientWidth + 1")


def violations(tab: Tab, within: str | None = None) -> list[str]:
    options = {"resultTypes": ["violations"], "elementRef": False, "runOnly": RULES}
    found = axe.Axe().run(tab.page, within, options).response["violations"]
    return [f"{fault['id']}: {node['html']} ({node['failureSummary']})" for fault in found for node in fault["nodes"]]


@pytest.mark.parametrize(("scheme", "size"), [("light", DESK), ("dark", PHONE)], ids=["light", "dark"])
def test_the_page_and_its_window_follow_wcag(tab: Tab, scheme: Any, size: tuple[int, int]) -> None:
    tab.page.emulate_media(color_scheme=scheme)
    tab.resize(*size)
    tab.unfold()
    tab.page.evaluate(FEW_ROWS)
    assert [] == violations(tab)
    at(tab, "#pairs?author=lab0")
    behind(tab, "tbody .d")
    assert [] == violations(tab, "#behind")
    behind(tab, "tbody .d").first.click()
    behind(tab, ".replies")
    assert [] == violations(tab, "#behind")
