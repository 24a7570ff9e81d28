"""A prompt on paper is the prompt that would be sent."""

from __future__ import annotations

import pytest
from talks import parsed, small_file

from attunebench.codebook import default_codebook
from attunebench.errors import UsageError
from attunebench.protocol.plan import plan_conversation, show_prompt

CODEBOOK = default_codebook()
CONVERSATION = parsed(small_file())


def test_messages_stand_under_their_roles() -> None:
    call = next(c for c in plan_conversation(CONVERSATION, "verbose", CODEBOOK) if c.kind == "review")
    system, user = call.messages
    expected = f"=== system ===\n{system.content}\n=== user ===\n{user.content}\n"
    assert expected == show_prompt(CONVERSATION, 1, "review", "verbose", CODEBOOK)


def test_a_judge_is_shown_with_a_draft() -> None:
    assert "<draft>\nHello\n</draft>" in show_prompt(CONVERSATION, 1, "judge", "default", CODEBOOK, draft="Hello")


def test_the_call_after_the_talk_needs_no_turn() -> None:
    assert "LOOKED BACK" in show_prompt(CONVERSATION, None, "post", "default", CODEBOOK)


def test_the_call_for_a_profile_can_be_read_too() -> None:
    assert "STATED ABOUT THEMSELVES" in show_prompt(CONVERSATION, None, "profile", "default", CODEBOOK)


@pytest.mark.parametrize("turn", [None, 0, 7])
def test_a_turn_that_is_not_there_is_refused_with_those_that_are(turn: int | None) -> None:
    with pytest.raises(UsageError, match="its turns are 1"):
        show_prompt(CONVERSATION, turn, "draft", "default", CODEBOOK)


def test_a_call_that_the_turn_does_not_take_is_refused() -> None:
    raw = small_file()
    raw["turns"][0]["annotations"]["pairwiseComparisons"] = []
    with pytest.raises(UsageError, match="nothing for pairwise"):
        show_prompt(parsed(raw), 1, "pairwise", "default", CODEBOOK)
