"""A conversation whose calls somebody else makes: what is open when, by the same rules as a run's."""

from __future__ import annotations

import json
from typing import Any

import pytest
from entries import an_entry
from talks import talk

from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.journal import Entry
from attunebench.protocol.plan import plan_conversation
from attunebench.runner.engine import Job
from attunebench.runner.walk import Open, Walk
from attunebench.selftest.answers import filled

TURNS = 2
BOOK = default_codebook()


def walk(*, judges: int = 0, **options: Any) -> Walk:
    conversation = talk(seed=1, turns=TURNS)
    job = Job(conversation, "default", plan_conversation(conversation, "default", BOOK, judges=judges))
    return Walk(job, BOOK, **{"max_tokens": 100, "max_reasks": 1, **options})


def entry(asked: Open, text: str | None = None, **reply: Any) -> Entry:
    """What comes back for an ask: a complete answer unless a text is given."""
    text = json.dumps(filled(asked.call.schema)) if text is None else text
    return an_entry(call_id=asked.call.id, ask=asked.ask.number, reply=Reply(text=text, **reply))


def of_kind(walked: Walk, kind: str) -> Open:
    return next(each for each in walked.open if each.call.kind == kind)


def test_everything_but_judges_is_open_at_first() -> None:
    walked = walk(judges=2)
    assert (4 * TURNS + 1, 2 * TURNS) == (len(walked.open), len(walked.waiting))
    assert {0} == {each.who for each in walked.open}


def test_a_draft_frees_its_judges_with_the_draft_in_their_prompts() -> None:
    walked = walk(judges=2)
    draft = of_kind(walked, "draft")
    walked.add(entry(draft, '{"drafted_response": "A reply of its own."}'))
    judges = [each for each in walked.open if each.who]
    assert [1, 2] == [each.who for each in judges]
    assert all("A reply of its own." in each.ask.messages[-1].content for each in judges)
    assert 2 * (TURNS - 1) == len(walked.waiting)


def test_without_a_draft_there_is_nothing_to_judge() -> None:
    walked = walk(judges=1, max_reasks=0)
    walked.add(entry(of_kind(walked, "draft"), "", refusal="No."))
    assert TURNS - 1 == len(walked.waiting)
    assert [] == [each for each in walked.open if each.who]


def test_an_unusable_reply_is_asked_for_again_until_reasks_are_used_up() -> None:
    walked = walk(max_reasks=1)
    asks = []
    while any(each.call.kind == "post" for each in walked.open):
        asks.append(of_kind(walked, "post").ask.number)
        walked.add(entry(of_kind(walked, "post"), "no JSON"))
    assert [0, 1] == asks


def test_a_cut_reply_is_asked_for_with_more_room() -> None:
    walked = walk()
    walked.add(entry(of_kind(walked, "post"), '{"a', finish_reason="length"))
    assert 400 == of_kind(walked, "post").ask.max_tokens


def test_a_walk_ends_when_all_is_answered() -> None:
    walked = walk(judges=1)
    while walked.open:
        assert not walked.done
        walked.add(entry(walked.open[0]))
    assert walked.done
    assert walked.answered
    assert {call.id for call in walked.job.calls} == set(walked.job.records)


def test_a_result_can_be_made_before_the_judges_have_voted() -> None:
    walked = walk(judges=1)
    for asked in walked.open:
        walked.add(entry(asked))
    assert (True, False) == (walked.answered, walked.done)


def test_what_is_known_is_not_open() -> None:
    first = walk(judges=1)
    known = {}
    while first.open:
        asked = first.open[0]
        known[(asked.call.id, asked.ask.number)] = entry(asked)
        first.add(known[(asked.call.id, asked.ask.number)])
    assert walk(judges=1, known=lambda call, ask: known.get((call.id, ask.number))).done


def test_a_reply_to_what_was_not_asked_is_an_error() -> None:
    walked = walk()
    with pytest.raises(KeyError):
        walked.add(an_entry(call_id="another/call"))


@pytest.mark.parametrize(("again", "asks"), [(False, []), (True, [2])])
def test_a_call_that_ended_unanswered_is_asked_once_more_on_request(again: bool, asks: list[int]) -> None:
    known = {0: "no JSON", 1: "no JSON"}

    def find(call: Any, ask: Any) -> Entry | None:
        text = known.get(ask.number)
        return None if text is None else an_entry(call_id=call.id, ask=ask.number, reply=Reply(text=text))

    walked = walk(max_reasks=1, known=find, again=again)
    assert asks == sorted({each.ask.number for each in walked.open})
    for asked in walked.open:
        walked.add(entry(asked, "no JSON"))
    assert walked.done


def test_votes_on_drafts_that_are_there_are_open_at_once() -> None:
    conversation = talk(seed=1, turns=TURNS)
    calls = [call for call in plan_conversation(conversation, "default", BOOK, judges=1) if call.judge is not None]
    job = Job(conversation, "default", calls, earlier={}, drafts={1: "A draft."})
    walked = Walk(job, BOOK, max_tokens=100, max_reasks=1)
    assert ([1], [2]) == ([each.call.turn for each in walked.open], [call.turn for call in walked.waiting])
