"""What is open of a job and when, whoever makes its calls."""

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
from attunebench.runner.job import Ask, Job, Rules
from attunebench.selftest.answers import filled

TURNS = 2
BOOK = default_codebook()


def job(*, judges: int = 0, max_reasks: int | None = 1, again: int = 0, **options: Any) -> Job:
    conversation = talk(seed=1, turns=TURNS)
    calls = plan_conversation(conversation, "default", BOOK, judges=judges)
    return Job(("talk", "default"), calls, Rules(BOOK, 100, max_reasks, again), **options)


def entry(asked: Ask, text: str | None = None, **reply: Any) -> Entry:
    """What comes back for an ask: a complete answer unless a text is given."""
    text = json.dumps(filled(asked.call.schema)) if text is None else text
    return an_entry(call_id=asked.call.identity, ask=asked.number, reply=Reply(text=text, **reply))


def add(walked: Job, asked: Ask, text: str | None = None, **reply: Any) -> list[Ask]:
    return walked.add(asked, entry(asked, text, **reply))


def of_kind(walked: Job, kind: str) -> Ask:
    return next(each for each in walked.open if each.call.kind == kind)


def test_everything_but_judges_is_open_at_first() -> None:
    walked = job(judges=2)
    assert (4 * TURNS + 1, 2 * TURNS) == (len(walked.open), len(walked.waiting))
    assert {0} == {each.who for each in walked.open}


def test_a_draft_frees_its_judges_with_the_draft_in_their_prompts() -> None:
    walked = job(judges=2)
    draft = of_kind(walked, "draft")
    add(walked, draft, '{"drafted_response": "A reply of its own."}')
    judges = [each for each in walked.open if each.who]
    assert [1, 2] == [each.who for each in judges]
    assert all("A reply of its own." in each.messages[-1].content for each in judges)
    assert 2 * (TURNS - 1) == len(walked.waiting)


def test_without_a_draft_there_is_nothing_to_judge() -> None:
    walked = job(judges=1, max_reasks=0)
    add(walked, of_kind(walked, "draft"), "", refusal="No.")
    assert TURNS - 1 == len(walked.waiting)
    assert [] == [each for each in walked.open if each.who]


def test_an_unusable_reply_is_asked_for_again_until_reasks_are_used_up() -> None:
    walked = job(max_reasks=1)
    asks = []
    while any(each.call.kind == "post" for each in walked.open):
        asks.append(of_kind(walked, "post").number)
        add(walked, of_kind(walked, "post"), "no JSON")
    assert [0, 1] == asks


def test_a_cut_reply_is_asked_for_with_more_room() -> None:
    walked = job()
    add(walked, of_kind(walked, "post"), '{"a', finish_reason="length")
    assert 400 == of_kind(walked, "post").max_tokens


def test_a_walk_ends_when_all_is_answered() -> None:
    walked = job(judges=1)
    while walked.open:
        assert walked.left
        add(walked, walked.open[0])
    assert not walked.left
    assert walked.answered
    assert {call.id for call in walked.calls} == set(walked.records)


def test_a_result_can_be_made_before_the_judges_have_voted() -> None:
    walked = job(judges=1)
    for asked in walked.open:
        add(walked, asked)
    assert walked.answered
    assert walked.left


def test_what_is_known_is_not_open() -> None:
    first = job(judges=1)
    known = {}
    while first.open:
        asked = first.open[0]
        known[(asked.call.id, asked.number)] = entry(asked)
        first.add(asked, known[(asked.call.id, asked.number)])
    assert not job(judges=1, known=lambda ask: known.get((ask.call.id, ask.number))).left


def test_a_reply_to_what_was_not_asked_is_an_error() -> None:
    walked = job()
    asked = walked.open[0]
    add(walked, asked)
    with pytest.raises(KeyError):
        add(walked, asked)


@pytest.mark.parametrize(("again", "asks"), [(0, []), (1, [2]), (2, [2, 3])])
def test_a_call_that_ended_unanswered_is_asked_once_more_on_request(again: int, asks: list[int]) -> None:
    known = {0: "no JSON", 1: "no JSON"}

    def find(ask: Ask) -> Entry | None:
        text = known.get(ask.number)
        return None if text is None else an_entry(call_id=ask.call.id, ask=ask.number, reply=Reply(text=text))

    walked = job(max_reasks=1, known=find, again=again)
    numbers = set()
    while walked.open:
        numbers.add(walked.open[0].number)
        add(walked, walked.open[0], "no JSON")
    assert asks == sorted(numbers)
    assert not walked.left


def test_votes_on_drafts_that_are_there_are_open_at_once() -> None:
    conversation = talk(seed=1, turns=TURNS)
    calls = [call for call in plan_conversation(conversation, "default", BOOK, judges=1) if call.judge is not None]
    walked = Job(("talk",), calls, Rules(BOOK, 100, 1), drafts={1: "A draft."})
    assert ([1], [2]) == ([each.call.turn for each in walked.open], [call.turn for call in walked.waiting])


def test_a_job_that_failed_has_nothing_left_and_keeps_its_first_reason() -> None:
    walked = job(judges=1)
    walked.fail("the line broke", 3)
    walked.fail("and again", 1)
    assert ("the line broke", 3, 0, False) == (walked.failed, walked.tries, walked.left, walked.answered)


def test_an_owed_vote_is_not_open_and_keeps_nothing_from_its_end() -> None:
    walked = job(judges=1)
    while walked.open:
        asked = walked.open[0]
        if asked.who:
            walked.owe(asked, "down")
        else:
            add(walked, asked)
    assert TURNS == len(walked.owed)
    assert walked.answered
    assert not walked.left
