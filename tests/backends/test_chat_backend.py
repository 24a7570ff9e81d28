"""The chat backend against a real HTTP server."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest
from keys import KEY
from pydantic import SecretStr

from attunebench.backends import open_backend
from attunebench.backends.base import Backend, Reply, Request
from attunebench.errors import AttuneBenchError, ConfigurationError, TransientError
from attunebench.protocol.calls import Asked as CallAsked
from attunebench.protocol.calls import Call, Message
from attunebench.runner.settings import ModelSettings
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Hang, Status, Together

SCHEMA = {
    "type": "object",
    "properties": {"drafted_response": {"type": "string"}},
    "required": ["drafted_response"],
    "additionalProperties": False,
}
MESSAGES = (Message("system", "Answer in JSON."), Message("user", "Hello."))
CALL = Call("c/default/1/draft", "c", "default", 1, "draft", MESSAGES, CallAsked("draft"), SCHEMA)
T = TypeVar("T")


def request(**changes: Any) -> Request:
    defaults: dict[str, Any] = {"max_tokens": 100, "temperature": 0.0, "seed": 7, "timeout": 20.0}
    return Request(CALL, **{"messages": MESSAGES, **defaults, **changes})


def settings(server: FakeServer, provider: str = "local", key: str | None = KEY) -> ModelSettings:
    secret = SecretStr(key) if key else None
    return ModelSettings(provider=provider, model="some/model", base_url=server.url, api_key=secret)


def with_backend(
    server: FakeServer, use: Callable[[Backend], Coroutine[Any, Any, T]], provider: str = "local", **options: Any
) -> T:
    async def used() -> T:
        backend = open_backend(settings(server, provider, options.pop("key", KEY)), **options)
        try:
            return await use(backend)
        finally:
            await backend.aclose()

    return asyncio.run(used())


def complete(server: FakeServer, *requests: Request, provider: str = "local", **options: Any) -> list[Reply]:
    async def one_by_one(backend: Backend) -> list[Reply]:
        return [await backend.complete(each) for each in requests or (request(),)]

    return with_backend(server, one_by_one, provider, **options)


def failure(server: FakeServer, *requests: Request, **options: Any) -> AttuneBenchError:
    with pytest.raises(AttuneBenchError) as caught:
        complete(server, *requests, **options)
    return caught.value


def rejecting(
    *parts: str, message: str = "Unsupported parameter: {}", status: int = 400
) -> Callable[[Asked], Behaviour]:
    """A server that refuses requests with any of these keys, naming the first."""

    def script(asked: Asked) -> Behaviour:
        refused = [part for part in parts if part in asked.body]
        return Status(status, {"error": {"message": message.format(refused[0])}}) if refused else Answer()

    return script


def test_a_reply_has_text_usage_model_and_latency(server: FakeServer) -> None:
    [reply] = complete(server)
    assert {"drafted_response"} == set(json.loads(reply.text or ""))
    assert ("stop", "some/model", "schema") == (reply.finish_reason, reply.model, reply.structured)
    assert reply.usage.prompt_tokens is not None
    assert reply.latency is not None
    assert (None, {}) == (reply.cost, reply.notes)


def test_the_request_is_openai_s(server: FakeServer) -> None:
    complete(server)
    json_schema = {"name": "attunebench_draft", "strict": True, "schema": SCHEMA}
    assert {
        "model": "some/model",
        "messages": [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": "Hello."}],
        "max_tokens": 100,
        "temperature": 0.0,
        "seed": 7,
        "response_format": {"type": "json_schema", "json_schema": json_schema},
    } == server.bodies[0]


def test_what_is_not_set_is_not_sent(server: FakeServer) -> None:
    complete(server, request(temperature=None, seed=None), structured="text")
    assert {"model", "messages", "max_tokens"} == set(server.bodies[0])


def test_openai_s_own_name_of_the_limit_is_used_there(server: FakeServer) -> None:
    complete(server, provider="openai")
    assert 100 == server.bodies[0]["max_completion_tokens"]


@pytest.mark.parametrize("structured", ["schema", "object", "text"])
def test_the_output_is_constrained_as_asked(structured: str, server: FakeServer) -> None:
    [reply] = complete(server, structured=structured)
    kinds = {"schema": "json_schema", "object": "json_object", "text": None}
    assert kinds[structured] == server.bodies[0].get("response_format", {}).get("type")
    assert structured == reply.structured


def test_a_text_that_no_encoding_carries_is_sent_mended(server: FakeServer) -> None:
    complete(server, request(messages=(Message("user", "half \ud83d 😀"),)))
    assert "half \ufffd 😀" == server.bodies[0]["messages"][0]["content"]


# Negotiation


@pytest.mark.parametrize(
    ("part", "message", "notes"),
    [
        ("temperature", "Unsupported value: '{}' does not support 0 with this model.", {"temperature": "not accepted"}),
        ("seed", "{} is not supported", {"seed": "not accepted"}),
        ("max_tokens", "Use 'max_completion_tokens' instead.", {"max_tokens": "sent under its other name"}),
        ("max_tokens", "Unsupported parameter: '{}'", {"max_tokens": "sent under its other name"}),
    ],
)
def test_a_rejected_parameter_is_left_out_at_once_and_for_good(
    part: str, message: str, notes: dict[str, str], server: FakeServer
) -> None:
    server.script = rejecting(part, message=message)
    replies = complete(server, request(), request())
    assert [notes, notes] == [reply.notes for reply in replies]
    assert [True, False, False] == [part in body for body in server.bodies]


@pytest.mark.parametrize(
    ("part", "status", "error"),
    [
        ("temperature", 400, {"error": {"message": "Bad value", "param": "temperature"}}),
        ("seed", 422, {"detail": [{"loc": ["body", "seed"], "msg": "extra fields not permitted"}]}),
    ],
)
def test_a_parameter_may_be_named_in_a_field(part: str, status: int, error: dict[str, Any], server: FakeServer) -> None:
    server.script = lambda asked: Status(status, error) if part in asked.body else Answer()
    assert {part: "not accepted"} == complete(server)[0].notes


def test_several_rejected_parameters_are_left_out_one_after_the_other(server: FakeServer) -> None:
    server.script = rejecting("temperature", "seed", "max_tokens", "response_format")
    [reply] = complete(server)
    assert {"messages", "model", "max_completion_tokens"} == set(server.bodies[-1])
    assert "text" == reply.structured


@pytest.mark.parametrize(
    ("message", "heard"), [("response_format is not supported", 1), ("json_schema: no", 1), ("Bad request", 2)]
)
def test_the_ladder_goes_from_schema_to_object_to_text(message: str, heard: int, server: FakeServer) -> None:
    """A reason that names nothing is heard twice before anything is given up for it."""
    server.script = rejecting("response_format", message=message)
    first, second = complete(server, request(), request())
    kinds = [body.get("response_format", {}).get("type") for body in server.bodies]
    assert [*["json_schema"] * heard, "json_object", None, None] == kinds
    assert ("text", "text") == (first.structured, second.structured)


def test_the_ladder_stops_at_the_first_rung_that_holds(server: FakeServer) -> None:
    def script(asked: Asked) -> Behaviour:
        kind = asked.body["response_format"]["type"]
        return Status(400, {"error": "json_schema is not supported"}) if kind == "json_schema" else Answer("{}")

    server.script = script
    [reply] = complete(server)
    assert ("object", {"response_format.json_schema": "not accepted"}) == (reply.structured, reply.notes)


@pytest.mark.parametrize("structured", ["schema", "object"])
def test_a_constraint_that_was_asked_for_by_name_is_not_given_up(structured: str, server: FakeServer) -> None:
    server.script = rejecting("response_format")
    error = failure(server, structured=structured)
    assert isinstance(error, ConfigurationError)
    assert f"--structured {structured}" in str(error)
    assert 1 == len(server.bodies)


@pytest.mark.parametrize(
    ("status", "message"),
    [(400, "System role not supported"), (500, "Conversation roles must alternate user/assistant/user/assistant/...")],
)
def test_a_system_text_is_folded_into_the_user_s_message(status: int, message: str, server: FakeServer) -> None:
    def script(asked: Asked) -> Behaviour:
        return (
            Status(status, {"error": {"message": message}})
            if asked.body["messages"][0]["role"] == "system"
            else Answer()
        )

    server.script = script
    complete(server)
    assert [{"role": "user", "content": "Answer in JSON.\n\nHello."}] == server.bodies[-1]["messages"]


def test_a_limit_above_the_room_that_is_left_is_lowered_for_this_call_alone(server: FakeServer) -> None:
    message = "maximum context length is 4096 tokens. However, you requested 5000 tokens (3996 in the messages, 1004 in"

    def script(asked: Asked) -> Behaviour:
        return Status(400, {"error": {"message": message}}) if asked.body["max_tokens"] > 100 else Answer()

    server.script = script
    replies = complete(server, request(max_tokens=1004), request(max_tokens=50), request(max_tokens=1004))
    lowered = {"max_tokens": "lowered to 100"}
    assert [lowered, {}, lowered] == [reply.notes for reply in replies]
    assert [1004, 100, 50, 1004, 100] == [body["max_tokens"] for body in server.bodies]


def test_a_failure_after_a_guess_leaves_nothing_remembered(server: FakeServer) -> None:
    server.script = [Status(400, {"error": "Bad"}), Status(400, {"error": "Bad"}), Status(503), Answer()]

    async def use(backend: Backend) -> str | None:
        with pytest.raises(TransientError):
            await backend.complete(request())
        return (await backend.complete(request())).structured

    assert "schema" == with_backend(server, use)


# Whose rejection it is


REJECTED = Status(422, {"error": "The gateway dislikes this"})


def test_a_constraint_that_one_request_is_rejected_for_by_name_is_given_up_for_it_alone(
    server: FakeServer,
) -> None:
    named = Status(400, {"error": "json_schema is too deep"})
    server.script = [Answer(), named, Answer(), Answer()]
    replies = complete(server, *[request()] * 3)
    assert ["schema", "object", "schema"] == [reply.structured for reply in replies]


@pytest.mark.parametrize("structured", ["text", "auto"])
def test_where_every_request_under_way_is_rejected_the_run_stops(structured: str, server: FakeServer) -> None:
    server.script = [REJECTED]

    async def use(backend: Backend) -> list[Any]:
        return await asyncio.gather(*[backend.complete(request()) for _ in range(3)], return_exceptions=True)

    errors = with_backend(server, use, structured=structured)
    assert [ConfigurationError] * 3 == list(map(type, errors))


# Memory


def learned(server: FakeServer, **options: Any) -> dict[str, Any]:
    async def use(backend: Backend) -> dict[str, Any]:
        await backend.complete(request())
        return json.loads(json.dumps(backend.learned()))

    return with_backend(server, use, **options)


def test_what_was_learned_survives_as_json(server: FakeServer) -> None:
    assert {} == learned(server)
    server.script = rejecting("temperature", "response_format")
    memory = learned(server)
    server.asked.clear()
    [reply] = complete(server, memory=memory)
    assert 1 == len(server.bodies)
    assert not {"temperature", "response_format"} & set(server.bodies[0])
    assert "not accepted" == reply.notes["temperature"]
    assert memory == learned(server, memory=memory)


@pytest.mark.parametrize(
    "memory", [{}, {"given_up": None}, {"given_up": "seed"}, {"given_up": ["other", 5, None]}, {"more": {}}]
)
def test_a_memory_that_says_nothing_known_is_none(memory: dict[str, Any], server: FakeServer) -> None:
    complete(server, memory=memory)
    assert {"temperature", "seed", "response_format"} < set(server.bodies[0])


def test_a_memory_that_has_aged_is_given_up_before_it_stops_a_run(server: FakeServer) -> None:
    server.script = rejecting("max_completion_tokens", message="{} is not supported")
    memory = {"given_up": ["limit", "seed"]}
    [reply] = complete(server, memory=memory)
    assert {} == reply.notes
    assert {} == learned(server, memory=memory)
    assert ["max_completion_tokens", "max_tokens"] == [
        next(name for name in body if name.startswith("max_")) for body in server.bodies[:2]
    ]


def test_a_rejection_under_an_aged_memory_is_asked_once_more_and_then_stops(server: FakeServer) -> None:
    server.script = [Status(400, {"error": {"message": "Bad request"}})]
    error = failure(server, memory={"given_up": ["schema", "object"]})
    assert isinstance(error, ConfigurationError)
    kinds = [body.get("response_format", {}).get("type") for body in server.bodies]
    assert [None, None, "json_schema", "json_object", None] == kinds


def test_a_constraint_asked_for_by_name_is_tried_whatever_is_remembered(server: FakeServer) -> None:
    [reply] = complete(server, memory={"given_up": ["schema"]}, structured="schema")
    assert ("schema", {}) == (reply.structured, reply.notes)


# Faults over the wire


def test_headers_that_trace_a_reply_are_kept_and_no_others(server: FakeServer) -> None:
    traced = {"X-Request-ID": "req-1", "CF-Ray": "ray", "X-RateLimit-Remaining-Tokens": "5", "Server": "x" * 500}
    private = {"Set-Cookie": "session=1", "Authorization": "Bearer x", "OpenAI-Organization": "org", "X-Else": "y"}
    server.script = [Answer(headers=traced | private)]
    [reply] = complete(server)
    assert {"x-request-id", "cf-ray", "x-ratelimit-remaining-tokens", "server"} == set(reply.headers)
    assert ("req-1", 200) == (reply.headers["x-request-id"], len(reply.headers["server"]))


# Keys, environment, connections


def test_no_error_log_or_repr_shows_the_key(server: FakeServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    texts: list[str] = []
    for status in (307, 400, 401, 402, 403, 404, 413, 429, 500, 200):
        body = {"error": {"message": f"Incorrect API key provided: {KEY}. Or {KEY[:8]}***{KEY[-4:]}", "param": KEY}}
        server.script = [Status(status, body, {"Location": f"http://x/{KEY}"})]
        error = failure(server)
        texts += [str(error), repr(error), repr(error.__cause__)]
    server.script = None
    complete(server)
    text = "\n".join([*texts, caplog.text, repr(open_backend(settings(server)))])
    assert [] == [part for part in (KEY, KEY[:8], KEY[-4:]) if part in text]


def test_requests_are_not_logged_at_info(server: FakeServer, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    complete(server)
    assert [] == caplog.records


def test_openai_gets_its_own_organisation_and_project(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-1")
    monkeypatch.setenv("OPENAI_PROJECT_ID", " proj-1\n")
    complete(server, provider="openai")
    headers = server.asked[0].headers
    assert ("org-1", "proj-1") == (headers["openai-organization"], headers["openai-project"])


def test_as_many_connections_are_open_as_calls_may_be_under_way(server: FakeServer) -> None:
    async def use(backend: Backend) -> int:
        replies = await asyncio.gather(*(backend.complete(request()) for _ in range(100)))
        return len(replies)

    server.script = [Together(100)]
    assert 100 == with_backend(server, use, concurrency=100)


def test_calls_that_meet_the_same_rejection_together_all_come_through(server: FakeServer) -> None:
    async def use(backend: Backend) -> set[str | None]:
        replies = await asyncio.gather(*(backend.complete(request()) for _ in range(20)))
        return {reply.structured for reply in replies}

    server.script = rejecting("response_format", "seed")
    assert {"text"} == with_backend(server, use)


def test_a_cancelled_call_leaves_the_backend_usable(server: FakeServer) -> None:
    async def use(backend: Backend) -> str | None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(backend.complete(request()), 0.1)
        server.script = None
        return (await backend.complete(request())).text

    server.script = [Hang()]
    assert with_backend(server, use, concurrency=1)


def test_a_key_that_the_server_repeats_is_in_no_part_of_a_reply(server: FakeServer) -> None:
    said = {"content": f"My key is {KEY}.", "reasoning": KEY, "refusal": f"No, {KEY}"}
    headers = {"X-Request-ID": f"Bearer {KEY}", "Via": KEY[:10], "CF-Ray": "ray"}
    server.script = [Answer(message=said, extra={"model": KEY, "provider": f"Bearer {KEY}"}, headers=headers)]
    [reply] = complete(server)
    assert ("My key is ***.", "ray") == (reply.text, reply.headers["cf-ray"])
    assert KEY[:9] not in f"{reply}"
