"""What servers say in their own words, vendor by vendor, and what it has to mean: under which rule it falls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from attunebench.backends.base import Request
from attunebench.backends.caught import located
from attunebench.backends.faults import Fault, Rule, means, rule_for
from attunebench.backends.negotiation import adapted, first_terms
from attunebench.backends.providers import Endpoint
from attunebench.backends.wire import outcome_of
from attunebench.protocol.calls import Asked as CallAsked
from attunebench.protocol.calls import Call, Message

WORDS: dict[str, list[Any]] = json.loads(Path(__file__).with_name("server_words.json").read_text("utf-8"))
ENDPOINT = Endpoint("openrouter", "some/model", "https://host.example/v1", SecretStr("no-secret"), "none")


def fault(status: int, body: Any, *, answered: bool = True, known: bool = False) -> Fault:
    """What is made of a response; `known`: the model has answered at this address before, maybe in an earlier run."""
    made = outcome_of(status, body.encode() if isinstance(body, str) else json.dumps(body).encode())
    assert isinstance(made, Fault), "the body was read as an answer"
    return located(made, ENDPOINT, answered=answered, reask=0, known=known)


def rule(status: int, body: Any, answered: bool = True) -> Rule:
    return rule_for(fault(status, body, answered=answered))


def error(message: str) -> dict[str, Any]:
    return {"error": {"message": message}}


def _id(value: Any) -> str | None:
    return json.dumps(value, ensure_ascii=True)[:60] if isinstance(value, dict | list) else None


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize(
    ("group", "expected"),
    [("money", {"money"}), ("rates", {"rate"}), ("days", {"day"}), ("moderation", {"refused"}), ("length", {"item"}),
     ("stops", {"stop"})],
)  # fmt: skip
def test_what_vendors_say_means_one_thing_whatever_was_answered_before(
    group: str, expected: set[str], answered: bool
) -> None:
    for status, body in WORDS[group]:
        row = rule(status, body, answered)
        if (group, status) != ("money", 401):  # which asks for a key first
            assert expected & {row.name, row.outcome}, (status, body, row.name)
        assert group != "stops" or row.name != "money"


@pytest.mark.parametrize(("status", "body"), WORDS["own"], ids=_id)
def test_what_nobody_knows_stops_before_the_first_answer_and_skips_after_it(status: int, body: Any) -> None:
    if status != 409:
        assert "stop" == rule(status, body, answered=False).outcome
        assert "skip" == rule(status, body).outcome


@pytest.mark.parametrize(("status", "message", "name"), WORDS["look_alikes"])
def test_words_that_look_alike_mean_something_else(status: int, message: str, name: str) -> None:
    assert name == rule_for(fault(status, error(message), answered=False, known=True)).name


def test_a_system_role_that_is_not_taken_is_recognised() -> None:
    assert [] == [each for each in WORDS["no_system_role"] if not means("no system role", each)]
    assert [] == [each for each in WORDS["system_role_taken"] if means("no system role", each)]


@pytest.mark.parametrize(("message", "only"), WORDS["streams"])
def test_a_server_that_only_streams_is_recognised(message: str, only: bool) -> None:
    assert only == means("streams only", message)


LIMIT, ROOM = 4096, 1508
CALL = Call("c/default/draft", "c", "default", 1, "draft", (Message("user", "x"),), CallAsked("draft"), {})


@pytest.mark.parametrize(
    ("message", "room"),
    [
        *((message, ROOM) for message in WORDS["room"]),
        # A window as large as the limit leaves room too.
        (
            "maximum context length is 4096 tokens. However, you requested 5000 tokens (904 in the messages, 4096 in",
            3192,
        ),
    ],
)
def test_the_room_for_the_answer_is_computed_from_the_numbers(message: str, room: int) -> None:
    request = Request(CALL, CALL.messages, max_tokens=LIMIT, temperature=None, seed=None, timeout=1.0)
    terms = adapted(first_terms("local", "auto", None), request, fault(400, error(message)))
    assert terms is not None
    assert room == terms.ceiling
    assert adapted(terms, request, fault(400, error(message))) is None
