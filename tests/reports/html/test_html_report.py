"""The HTML report as text: complete, the same each time, safe with foreign text, and within its budget."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import zlib
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any

import pytest
from html_study import HOSTILE, LONG, SETTINGS, Texts, chunk

from attunebench.analyses import ANALYSES
from attunebench.reports.html import render_html
from attunebench.scores import Scores
from attunebench.text import visible

VOID = {"meta", "link", "br", "img", "input", "hr"}


class Reader(HTMLParser):
    """Notes ids, references to them, levels of headings, and whether every element is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.named: set[str] = set()
        self.levels: list[int] = []
        self.open: list[str] = []
        self.scripts: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(str(given["id"]))
        for name in ("aria-labelledby", "href"):
            value = str(given.get(name) or "")
            if name != "href" or value.startswith("#"):
                self.named.update(value.lstrip("#").split())
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
        if tag == "script":
            self.scripts.append(given)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert tag == self.open.pop()


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    return reader


def whole(page: str) -> str:
    """The page with the parts that are folded away at first."""
    bodies = [
        json.loads(zlib.decompress(base64.b64decode(data))) for data in re.findall(r'id="c-body-[^"]+">([^<]*)<', page)
    ]
    return page.replace("</main>", "".join(bodies) + "</main>")


def brief(scores: Any, **how: Any) -> str:
    """A page of the leaderboard's analysis alone, which is quicker to make."""
    return render_html(scores, settings=SETTINGS, analyses=("leaderboard",), **how)


def without_data(page: str) -> str:
    """The page without its style, script and chunks."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", page, flags=re.DOTALL)


@pytest.mark.slow
def test_two_pages_of_the_same_scores_are_the_same_bytes(html_scores: Scores, html_page: str) -> None:
    assert render_html(html_scores, evidence=Texts(), settings=SETTINGS) == html_page


def test_the_page_is_well_formed_with_unique_ids_and_links_that_lead_somewhere(html_page: str) -> None:
    reader = read(whole(html_page))
    assert [] == reader.open
    assert len(set(reader.ids)) == len(reader.ids)
    assert set() == reader.named - set(reader.ids) - {"behind-title"}


def test_headings_skip_no_level(html_page: str) -> None:
    levels = read(html_page).levels
    assert 1 == levels[0]
    assert [] == [(one, next_) for one, next_ in pairwise(levels) if next_ > one + 1]


def test_every_analysis_is_there_with_its_question(html_page: str) -> None:
    for name, entry in ANALYSES.items():
        assert f'id="a-{name}"' in html_page
        assert entry.question in html_page.replace("&#39;", "'")


def test_the_first_view_says_who_is_best_how_sure_and_on_what(html_page: str) -> None:
    board = html_page.partition('id="board"')[2].partition("</section>")[0]
    assert "strong is best" in board
    assert "3 of 3 pairs of models" in board


def test_nothing_in_the_page_leads_outside_and_the_policy_allows_its_own_script_alone(html_page: str) -> None:
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', html_page)
    (script,) = re.findall(r"<script>(.*?)</script>", html_page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}'" in policy
    assert [] == re.findall(r"https?://", html_page)
    assert [] == re.findall(r'(?:src|href)="(?!#|data:,")', without_data(html_page))


def test_foreign_text_is_never_markup(html_page: str) -> None:
    assert "alert(" not in whole(html_page)
    assert {None, "application/octet-stream"} == {given.get("type") for given in read(html_page).scripts}


def test_names_in_tables_are_escaped_and_what_cannot_be_seen_is_made_visible(html_scores: Scores) -> None:
    named: Any = json.loads(json.dumps(html_scores).replace('"weak"', '"<b>weak</b>"'))
    named["ground_truth"][0]["topics"] = ["<i>a</i>\u202e\x1b"]
    page = whole(brief(named))
    assert "&lt;b&gt;weak&lt;/b&gt;" in page
    assert "&lt;i&gt;a&lt;/i&gt;‹U+202E›‹U+001B›" in page
    assert [] == re.findall("<b>weak|<i>a|[\u202e\x1b]", page)


def test_invisible_characters_are_shown_and_joiners_of_scripts_and_emoji_stay() -> None:
    assert "a‹U+0000›b‹U+200F›c‹U+FEFF›" == visible("a\x00b\u200fc\ufeff")
    assert "tab\tline\n👩‍👧 می‌روم" == visible("tab\tline\n👩‍👧 می‌روم")


def test_labels_answers_and_every_text_are_in_the_chunk_of_their_conversation(html_page: str) -> None:
    labels = chunk(html_page, "labels-0")
    assert {"0", "1", "2", "3"} == set(labels["given"])
    assert 5 == len(labels["truth"]["turns"])
    assert LONG == chunk(html_page, "drafts-0")["1"]["0"][0][0]
    assert HOSTILE in chunk(html_page, "talk-0")["1"][0]
    replies = chunk(html_page, "replies-23")
    assert HOSTILE in replies["forms"][replies["raw"]["5"]["1"]["review"][0][0][0]]


def test_every_cell_leads_to_a_drill_that_is_there(html_page: str) -> None:
    about = chunk(html_page, "about")
    places = {int(place) for place in re.findall(r'data-d="(\d+)"', whole(html_page))}
    assert len(about["drills"]["list"]) > max(places)
    assert {drill["m"] for drill in about["drills"]["list"] if "m" in drill} <= set(about["metrics"])


def test_what_does_not_fit_is_left_out_from_the_end_of_the_priorities_and_counted(html_scores: Scores) -> None:
    whole = len(brief(html_scores, evidence=Texts(draft="short")).encode())
    bare = len(brief(html_scores).encode())
    budget = bare + 64_000 + (whole - bare) // 2
    page = brief(html_scores, evidence=Texts(draft="short"), budget=budget)
    assert len(page.encode()) <= budget
    assert 'id="c-labels-23"' in page
    assert "5" in chunk(page, "drafts-23")
    left = re.findall(r"Omitted to keep the file small: (.*?) of (\d+) of 24 conversations", page)
    assert "raw replies" == left[-1][0]
    assert 0 < int(left[-1][1]) <= 24


def test_a_budget_that_nothing_fits_into_still_gives_a_page(html_scores: Scores) -> None:
    page = brief(html_scores, evidence=Texts(), budget=0)
    assert "labels and answers of 24 of 24 conversations" in page
    assert "c-labels" not in page


def test_without_evidence_the_page_says_what_is_not_in_it(html_scores: Scores) -> None:
    page = brief(html_scores)
    assert "Not in this file: the models’ own replies, the messages, raw replies." in page


def test_remarks_of_the_evidence_are_shown(html_scores: Scores) -> None:
    page = brief(html_scores, evidence=Texts(remarks=("The folder <x> is gone.",)))
    assert "The folder &lt;x&gt; is gone." in page


@pytest.mark.slow
@pytest.mark.parametrize("kept", [("strong",), ("weak", "middle")])
def test_one_model_or_two_make_a_page(html_scores: Scores, kept: tuple[str, ...]) -> None:
    fewer: Any = {
        **html_scores,
        "conversations": [entry for entry in html_scores["conversations"] if entry["em_model"] in kept],
        "aggregates": [entry for entry in html_scores["aggregates"] if entry["em_model"] in kept],
    }
    page = render_html(fewer, settings=SETTINGS)
    assert 'class="verdict"' in page
    assert [] == read(page).open


@pytest.mark.parametrize(("rate", "told"), [(60.0, "below the base rate of 60.0"), (40.0, "base rate 40.0")])
def test_the_verdict_holds_the_best_model_against_the_base_rate(html_scores: Scores, rate: float, told: str) -> None:
    alone: Any = json.loads(json.dumps(html_scores))
    alone["conversations"] = [entry for entry in alone["conversations"] if entry["em_model"] == "weak"]
    alone["aggregates"] = [entry for entry in alone["aggregates"] if entry["em_model"] == "weak"]
    (base,) = [reference for reference in alone["references"] if reference["id"] == "base-rate"]
    base["metrics"]["composite"]["mean"] = rate
    assert told in brief(alone).partition('class="verdict"')[2].partition("</p>")[0]


@pytest.mark.slow
def test_one_conversation_makes_a_page_without_claims(html_scores: Scores) -> None:
    first = html_scores["ground_truth"][0]["conversationId"]
    fewer: Any = {
        **html_scores,
        "conversations": [entry for entry in html_scores["conversations"] if entry["conversationId"] == first],
        "ground_truth": html_scores["ground_truth"][:1],
        "references": [],
    }
    page = render_html(fewer, settings=SETTINGS)
    assert "too few" in page


@pytest.mark.slow
def test_scores_of_the_older_version_make_a_page(html_scores: Scores) -> None:
    old: Any = {key: value for key, value in html_scores.items() if key not in ("ground_truth", "questions")}
    old |= {"schema_version": "1.0", "references": []}
    old["conversations"] = [
        {key: value for key, value in entry.items() if key not in ("answers", "usage", "api_cost", "duration_seconds")}
        | {"turns": [{"turnNumber": t["turnNumber"], "metrics": t["metrics"]} for t in entry["turns"]]}
        for entry in html_scores["conversations"]
    ]
    page = render_html(old, settings=SETTINGS)
    assert 'class="forest' in page
    assert [] == read(page).open


def test_backticks_are_code_and_never_printed(html_scores: Scores, html_page: str) -> None:
    assert "`" not in without_data(whole(html_page))
    page = brief(html_scores, evidence=Texts(remarks=("Run `<b>`.",)))
    assert "Run <code>&lt;b&gt;</code>." in page


def test_a_note_is_said_once_however_often_it_is_referred_to(html_page: str) -> None:
    page = whole(html_page)
    (note,) = re.findall(r'<li id="note-(\d+)">No claim is made', page)
    assert 1 == page.count("No claim is made on fewer")
    assert page.count(f'href="#note-{note}"') > 1


def test_the_notes_of_the_leaderboard_are_among_the_notes(html_page: str) -> None:
    notes = html_page.partition('id="notes"')[2].partition("</section>")[0]
    assert "Tier: models that do not differ significantly" in notes
    assert "a reference that is not ranked" in notes
