"""Compressed chunks of a page: what is put in comes out, whatever it is, and links to lists keep their ids."""

from __future__ import annotations

import json
from typing import Any

import pytest
from html_study import Texts, chunk, small_scores

from attunebench.analyses.table import Drill
from attunebench.analyses.within import turns_of
from attunebench.reports.html import chunks
from attunebench.reports.html.drills import Drills
from attunebench.reports.html.facets import facets
from attunebench.scores.loading import score_table
from attunebench.scores.table import ScoreTable
from attunebench.transcripts import RawReply

BUDGET = 10**7
LETTERS = {"y": "yes", "n": "no", "t": "true", "f": "false", "-": "null", "A": "A", "B": "B"}
REPLIES = (
    '{"B1": "yes", "B2": "no", "tags": [], "own": "what I said"}',
    '{"0": "A", "1":"B", "ok": true, "not": false, "none": null}',
    "yes, no, true",
    '```json\n{"B1": "no"}\n```',
    "a \ue000 of its own \ue001",
    '"yes" \ud800 "no"',
    "",
)


@pytest.fixture(scope="module")
def study() -> ScoreTable:
    return score_table(small_scores(), files=["small"])


def page_of(packed: chunks.Packed) -> str:
    return "".join(f'<script id="{one.id}">{one.data}</script>' for one in packed.chunks)


def pack(study: ScoreTable, evidence: Any, budget: int = BUDGET) -> chunks.Packed:
    return chunks.pack(study, ["composite"], evidence, budget=budget)


def reply_text(text: Any, forms: list[str], draft: str) -> Any:
    """What the script makes of a reply."""
    if not isinstance(text, list):
        return text
    form, letters = text
    values = iter(letters)
    restored = "".join(LETTERS[next(values)] if letter == chunks.VALUE else letter for letter in forms[form])
    return restored.replace(chunks.DRAFT, json.dumps(draft, ensure_ascii=False)[1:-1])


class Replies(Texts):
    def replies(self, conversation_id: str) -> list[RawReply]:
        return [RawReply("test", "strong", "default", 1, "review", ask, text) for ask, text in enumerate(REPLIES)]


def test_every_reply_comes_out_as_it_was_sent(study: ScoreTable) -> None:
    page = page_of(pack(study, Replies(draft="what I said")))
    replies = chunk(page, "replies-23")
    sent = [reply_text(text, replies["forms"], "what I said") for text, _, _ in replies["raw"]["1"]["1"]["review"]]
    assert list(REPLIES) == sent


def test_a_reply_that_repeats_the_own_reply_holds_it_once(study: ScoreTable) -> None:
    replies = chunk(page_of(pack(study, Replies(draft="what I said"))), "replies-0")
    assert "what I said" not in json.dumps(replies)


def test_each_layer_of_many_conversations_has_one_dictionary(study: ScoreTable) -> None:
    ids = [one.id for one in pack(study, Texts(draft="short")).chunks]
    assert [f"c-dictionary-{layer}" for layer in chunks.LAYERS] == [one for one in ids if "dictionary" in one]


def test_a_few_conversations_need_none(study: ScoreTable) -> None:
    few = study.with_conversations(study.ids[:3])
    packed = pack(few, Texts(draft="short"))
    assert not any("dictionary" in one.id for one in packed.chunks)
    assert "1" in chunk(page_of(packed), "drafts-2")


def test_without_room_for_the_dictionary_nothing_of_a_layer_is_there(study: ScoreTable) -> None:
    packed = pack(study, None, budget=1000)
    assert () == packed.chunks
    assert {"labels": len(study.ids)} == dict(packed.left_out)


def test_a_list_has_the_same_id_whatever_stands_before_it(study: ScoreTable) -> None:
    wanted = Drill(metric="composite", conversations=study.ids[:4])
    alone, after = Drills(study), Drills(study)
    after.place(Drill(metric="composite", conversations=study.ids[4:]), "others")
    for drills in (alone, after):
        drills.place(wanted, "the first four")
    assert alone.for_page()["sets"][0] == after.for_page()["sets"][1]


def test_a_list_has_all_turns_behind_its_number_and_its_own_words(study: ScoreTable) -> None:
    turns, drills = turns_of(study, range(len(study.turns))), Drills(study)
    for metric_id in ("binary_om_accuracy", "pairwise_accuracy"):
        drills.place(Drill(metric=metric_id, turns=turns), metric_id)
    lists = drills.for_page()["sets"]
    assert ["binary_om_accuracy", "pairwise_accuracy"] == [words for _, words, *_ in lists]
    assert 2 == len({id for id, *_ in lists})
    assert {len(study.turns)} == {sum(len(numbers) for _, *numbers in members) for _, _, *members in lists}


def test_groups_have_the_names_of_where_and_their_conversations(study: ScoreTable) -> None:
    found = {facet["name"]: dict(facet["values"]) for facet in facets(study)}
    truths = study.truths()
    for value, rows in found["topic"].items():
        assert rows == [row for row, truth in enumerate(truths) if truth and value in truth["topics"]]
    assert "conversation" not in found
