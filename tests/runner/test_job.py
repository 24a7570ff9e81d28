"""What is open of a job and when, whoever makes its calls; what runs make of it is shown against servers."""

from __future__ import annotations

import json

import pytest
from entries import an_entry
from talks import talk

from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.protocol.plan import plan_conversation
from attunebench.runner.job import Ask, Job, Rules
from attunebench.selftest.answers import filled

TURNS = 2
BOOK = default_codebook()


@pytest.fixture
def job() -> Job:
    calls = plan_conversation(talk(seed=1, turns=TURNS), "default", BOOK, judges=2)
    return Job(("talk", "default"), calls, Rules(BOOK, 100, 1))


def answer(job: Job, asked: Ask) -> None:
    """A complete answer comes back."""
    reply = Reply(text=json.dumps(filled(asked.call.schema)))
    job.add(asked, an_entry(call_id=asked.call.identity, ask=asked.number, reply=reply))


def test_judges_wait_for_their_drafts_and_a_result_for_no_judge(job: Job) -> None:
    assert (4 * TURNS + 1, 2 * TURNS) == (len(job.open), len(job.waiting))
    for asked in job.open:
        assert 0 == asked.who
        answer(job, asked)
    assert {1, 2} == {asked.who for asked in job.open}
    assert (True, 2 * TURNS, []) == (job.answered, job.left, list(job.waiting))
    for asked in job.open:
        answer(job, asked)
    assert (0, {call.id for call in job.calls}) == (job.left, set(job.records))


def test_a_reply_to_what_was_not_asked_is_an_error(job: Job) -> None:
    asked = job.open[0]
    answer(job, asked)
    with pytest.raises(KeyError):
        answer(job, asked)


def test_a_job_that_failed_has_nothing_left_and_keeps_its_first_reason(job: Job) -> None:
    job.fail("the line broke", 3)
    job.fail("and again", 1)
    assert ("the line broke", 3, 0, False) == (job.failed, job.tries, job.left, job.answered)
