"""The page of an arena: one file, hostile texts only as text, and everything behind its numbers within a budget."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest
from arena_pages import arena_scores, small_arena
from html_study import HOSTILE, chunk

from attunebench.analyses.table import Analysis, Cell, Drill, column, table
from attunebench.arena.folder import Arena
from attunebench.reports.html.arena import render_arena


@pytest.fixture(scope="module")
def arena() -> Arena:
    return small_arena()


@pytest.fixture(scope="module")
def page(arena: Arena) -> str:
    return render_arena(arena_scores(arena), arena=arena)


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_the_same_arena_gives_the_same_page(arena: Arena, page: str) -> None:
    assert page == render_arena(arena_scores(arena), arena=arena)


def test_the_whole_finding_on_ratings_and_their_intervals_stand_open(page: str) -> None:
    front = page.partition('id="analyses"')[0]
    assert "is rated highest. More." in front
    assert len(re.findall(r'data-d="\d+">[\d.]+ \[', front)) == 4


def test_no_text_of_an_arena_is_markup(page: str) -> None:
    parser = _Tags()
    parser.feed(page)
    scripts = [attributes for tag, attributes in parser.tags if tag == "script" and "type" not in attributes]
    assert len(scripts) == 1
    assert not [attributes for tag, attributes in parser.tags if tag == "img" or "onerror" in attributes]
    assert "ann <b>" not in page


def test_every_history_is_packed_with_its_replies_and_rationales(arena: Arena, page: str) -> None:
    for row, history in enumerate(arena.histories):
        turns, replies = chunk(page, f"texts-{row}")
        assert [text for _, text in turns] == [one.text for one in arena.histories[history].turns]
        assert replies == {author: one.text for (of, author), one in arena.replies.items() if of == history}
        count = sum(arena.pairs[one.pair].history == history for one in arena.verdicts)
        assert count == len(chunk(page, f"reasons-{row}"))


def test_verdicts_are_packed_as_they_are_in_the_arena(arena: Arena, page: str) -> None:
    about = chunk(page, "about")
    ids, raters = about["pairs"]["id"], [name for name, _ in about["raters"]]
    packed = about["verdicts"]
    found = sorted(
        (ids[pair], raters[rater], order, value)
        for pair, rater, order, value in zip(packed["p"], packed["r"], packed["o"], packed["v"], strict=True)
    )
    assert found == sorted(
        (v.pair, v.rater, v.order[0], "-" if v.preference is None else str(v.preference + 2)) for v in arena.verdicts
    )


def test_rationales_are_in_the_order_of_the_verdicts(arena: Arena, page: str) -> None:
    numbered = [v.model_copy(update={"rationale": str(place)}) for place, v in enumerate(arena.verdicts)]
    page = render_arena(arena_scores(arena), arena=replace(arena, verdicts=numbered))
    about = chunk(page, "about")
    packed, of_pair = about["verdicts"], about["pairs"]
    reasons = {row: iter(chunk(page, f"reasons-{row}")) for row in set(of_pair["h"])}
    for pair, rater, order in zip(packed["p"], packed["r"], packed["o"], strict=True):
        said, *_ = next(reasons[of_pair["h"][pair]])
        verdict = numbered[int(said)]
        assert (verdict.pair, verdict.rater, verdict.order[0]) == (
            of_pair["id"][pair],
            about["raters"][rater][0],
            order,
        )


def test_checks_of_attention_are_not_behind_numbers(arena: Arena) -> None:
    checked = [v.model_copy(update={"check": True}) for v in arena.verdicts[:5]]
    page = render_arena(arena_scores(arena), arena=replace(arena, verdicts=[*checked, *arena.verdicts[5:]]))
    assert len(chunk(page, "about")["verdicts"]["p"]) == len(arena.verdicts) - 5


def test_a_number_without_verdicts_of_its_own_leads_to_those_of_its_row(arena: Arena) -> None:
    drills = (Drill(where=(("author", "lab0"), ("rater", "people"))), Drill(where=(("author", "lab0"),)), None)
    cells = [column(f"c{place}", [Cell(place, drill=drill)]) for place, drill in enumerate(drills)]
    scores = replace(arena_scores(arena), analyses=[Analysis("arena-ratings", tables=(table("t", "T", *cells),))])
    listed = chunk(render_arena(scores, arena=arena), "about")["drills"]
    assert listed[:2] == [{"author": "lab0", "rater": "people"}, {"author": "lab0"}]
    assert {"author": "lab0"} not in listed[2:]


def test_without_the_arena_numbers_lead_nowhere(arena: Arena) -> None:
    assert "data-d=" not in render_arena(arena_scores(arena))


def test_rationales_are_left_out_first(arena: Arena, page: str) -> None:
    reasons = sum(map(len, re.findall(r'id="c-reasons-\d+">([^<]*)<', page)))
    small = render_arena(arena_scores(arena), arena=arena, budget=len(page) + 32_000 - reasons // 2)
    ids = re.findall(r'id="c-(\w+)-\d+"', small)
    assert ids.count("texts") == len(arena.histories)
    assert ids.count("reasons") < len(arena.histories)


def test_a_page_without_room_still_has_its_numbers(arena: Arena) -> None:
    bare = render_arena(arena_scores(arena), arena=arena, budget=1)
    assert "texts-" not in re.findall(r'id="c-(\w+-)\d+"', bare)
    assert "data-d=" in bare


def test_an_empty_arena_has_a_page() -> None:
    empty = Arena({})
    scores = replace(arena_scores(small_arena()), analyses=())
    assert "</html>" in render_arena(scores, arena=empty)


def test_hostile_names_stay_text() -> None:
    made = small_arena(histories=3)
    pairs = {id: one.model_copy(update={"left": HOSTILE}) for id, one in made.pairs.items()}
    arena = replace(made, pairs=pairs, verdicts=[one.model_copy(update={"rater": HOSTILE}) for one in made.verdicts])
    parser = _Tags()
    parser.feed(render_arena(replace(arena_scores(made)), arena=arena))
    assert not [tag for tag, _ in parser.tags if tag == "img"]
