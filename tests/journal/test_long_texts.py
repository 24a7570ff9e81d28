"""A text that is longer than any answer is kept in its beginning alone, and read the same out of the journal."""

from __future__ import annotations

import json

import pytest
from entries import an_entry

from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.journal.entries import BEGINNING, LONGEST_TEXT, from_row, to_row
from attunebench.protocol.calls import Asked, Call, Message, Record
from attunebench.runner.job import Exchange, Rules

CALL = Call("c/default/1/draft", "c", "default", 1, "draft", (Message("user", "Hello"),), Asked("draft"), {})
DRAFT = json.dumps({"drafted_response": "I am here."})


def record(reply: Reply) -> tuple[Record, int]:
    """What a reply comes to, which is the same out of the journal, and the characters that are kept."""
    entry = an_entry(reply=reply)
    kept = from_row(to_row(entry))
    assert kept == entry
    assert kept.reply is not None
    exchange = Exchange(CALL, Rules(default_codebook(), max_tokens=4096, max_reasks=0))
    exchange.add(kept)
    return exchange.record(), sum(
        len(each or "") for each in (kept.reply.text, kept.reply.reasoning, kept.reply.refusal)
    )


@pytest.mark.parametrize("unit", ["word ", "{", "é心", '{"drafted_response": "a"} ', "<think>"])
def test_a_text_longer_than_any_answer_is_not_answered_and_hardly_kept(unit: str) -> None:
    found, kept = record(Reply(text=unit * (8 * LONGEST_TEXT // len(unit))))
    assert (found.answer.outcome, found.answer.values) == ("unreadable", {"drafted_response": None})
    assert kept == BEGINNING


def test_white_space_without_end_behind_an_answer_costs_nothing() -> None:
    found, kept = record(Reply(text=DRAFT + " \n" * LONGEST_TEXT))
    assert found.answer.values == {"drafted_response": "I am here."}
    assert kept == len(DRAFT)


def test_thoughts_beside_an_answer_are_kept_within_bounds() -> None:
    found, kept = record(Reply(text=DRAFT, reasoning="so " * LONGEST_TEXT))
    assert found.answer.values == {"drafted_response": "I am here."}
    assert kept == len(DRAFT) + LONGEST_TEXT


def test_a_text_of_usual_length_is_kept_as_it_is() -> None:
    text = DRAFT.ljust(LONGEST_TEXT)
    entry = an_entry(reply=Reply(text=text))
    assert entry.reply is not None
    assert entry.reply.text is text
