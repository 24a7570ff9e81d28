"""What Inspect hands over → the reply that our reader takes."""

from __future__ import annotations

import pytest

from attunebench.errors import ItemError, TransientError
from attunebench.protocol.calls import Usage

pytest.importorskip("inspect_ai", reason="needs inspect_ai, the extra `inspect`")

from inspect_ai import model

from attunebench.harness.inspect_ai.solving import read_output, rejects_schema


def output(text="words", stop="stop", usage=None, **others):
    made = model.ModelOutput.from_content("served-1", text, stop_reason=stop)
    made.usage = usage
    for name, value in others.items():
        setattr(made, name, value)
    return made


def read(made):
    return read_output(made, structured="text")


def test_a_stop_at_the_limit_is_a_cut():
    assert "length" == read(output(stop="max_tokens")).finish_reason


def test_a_refusal_is_the_models_own_answer():
    reply = read(output("I cannot.", stop="content_filter"))
    assert ("I cannot.", "content_filter") == (reply.refusal, reply.finish_reason)


def test_a_refusal_in_a_field_of_its_own_is_one_though_the_model_stopped_of_itself():
    made = output()
    made.message.content = [model.ContentText(text="I cannot.", refusal=True)]
    assert ("I cannot.", "stop") == (read(made).refusal, read(made).finish_reason)


def test_a_moderation_error_is_a_refusal_though_nothing_was_said():
    assert "flagged" == read(output("", error="flagged")).refusal


def test_silence_is_an_answer_of_nothing():
    reply = read(output(""))
    assert (None, None) == (reply.text, reply.refusal)


def test_a_prompt_that_is_too_long_can_never_be_answered():
    with pytest.raises(ItemError, match="maximum context"):
        read(output("maximum context length is 4096", stop="model_length"))


def test_a_reply_that_filled_the_context_is_a_cut_reply():
    usage = model.ModelUsage(input_tokens=10, output_tokens=7)
    assert "length" == read(output('{"a":', stop="model_length", usage=usage)).finish_reason


def test_no_choice_at_all_is_the_lines_trouble():
    with pytest.raises(TransientError):
        read(model.ModelOutput(model="m", choices=[]))


def test_tokens_from_a_cache_are_among_the_prompts():
    usage = model.ModelUsage(
        input_tokens=10, output_tokens=7, input_tokens_cache_read=4, input_tokens_cache_write=1, reasoning_tokens=3
    )
    assert Usage(15, 4, 7, 3) == read(output(usage=usage)).usage


def test_no_usage_is_unknown_and_no_cost_is_none():
    reply = read(output())
    assert (Usage(), None) == (reply.usage, reply.cost)


def test_thoughts_are_kept_beside_the_answer_and_never_in_it():
    content = [model.ContentReasoning(reasoning="let me see"), model.ContentText(text="{}")]
    made = model.ModelOutput.from_message(model.ChatMessageAssistant(content=content))
    assert ("{}", "let me see") == (read(made).text, read(made).reasoning)


class RejectedError(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status_code = status


@pytest.mark.parametrize(
    ("error", "about"),
    [
        (RejectedError(400, "response_format is not supported"), True),
        (RejectedError(400, "Invalid schema for json_schema"), True),
        (RejectedError(429, "response_format: slow down"), False),
        (RejectedError(400, "temperature must be 1"), False),
        (RuntimeError("connection reset"), False),
    ],
)
def test_an_error_is_about_the_schema_only_where_it_says_so(error, about):
    assert about is rejects_schema(error)
