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


FULL = model.ModelUsage(input_tokens=10, output_tokens=7)
CACHED = model.ModelUsage(
    input_tokens=10, output_tokens=7, input_tokens_cache_read=4, input_tokens_cache_write=1, reasoning_tokens=3
)


@pytest.mark.parametrize(
    ("made", "read_as"),
    [
        pytest.param(output(stop="max_tokens"), {"finish_reason": "length"}, id="a stop at the limit is a cut"),
        pytest.param(
            output("I cannot.", stop="content_filter"),
            {"refusal": "I cannot.", "finish_reason": "content_filter"},
            id="a refusal is the model's own answer",
        ),
        pytest.param(output("", error="flagged"), {"refusal": "flagged"}, id="moderation is a refusal without words"),
        pytest.param(output(""), {"text": None, "refusal": None}, id="silence is an answer of nothing"),
        pytest.param(
            output('{"a":', stop="model_length", usage=FULL), {"finish_reason": "length"}, id="a full context cuts"
        ),
        pytest.param(output(usage=CACHED), {"usage": Usage(15, 4, 7, 3)}, id="tokens from a cache are the prompt's"),
        pytest.param(output(), {"usage": Usage(), "cost": None}, id="no usage is unknown"),
    ],
)
def test_an_output_is_read_as_the_live_path_reads_a_reply(made, read_as):
    reply = read(made)
    assert read_as == {name: getattr(reply, name) for name in read_as}


def test_a_refusal_in_a_field_of_its_own_is_one_though_the_model_stopped_of_itself():
    made = output()
    made.message.content = [model.ContentText(text="I cannot.", refusal=True)]
    assert ("I cannot.", "stop") == (read(made).refusal, read(made).finish_reason)


def test_a_prompt_that_is_too_long_can_never_be_answered():
    with pytest.raises(ItemError, match="maximum context"):
        read(output("maximum context length is 4096", stop="model_length"))


def test_no_choice_at_all_is_the_lines_trouble():
    with pytest.raises(TransientError):
        read(model.ModelOutput(model="m", choices=[]))


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
