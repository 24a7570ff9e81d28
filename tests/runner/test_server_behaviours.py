"""What servers do, row by row, through the command line: how the run ends, how many requests it takes, what is read.

One conversation of one turn (five calls), one call at a time. Each row has its number in the table of behaviours, says
what the server does with the first call (all others are answered), and what must come of it. What takes several calls,
servers or settings stands in test_server_behaviours_at_length.
"""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from keys import KEY

from attunebench.codebook import default_codebook
from attunebench.conversations import load_conversations
from attunebench.protocol.plan import plan_calls
from attunebench.selftest.answers import filled, first_ask
from attunebench.selftest.plans import call_key
from attunebench.selftest.server import Answer, Asked, Behaviour, Drip, FakeServer, Raw, Status

if TYPE_CHECKING:
    from conftest import Command

CALLS = 5
NOW = 1_790_000_000
"""The time on the servers' clocks, which is nobody else's."""
PAGE = "<!DOCTYPE html><html><head><title>Bad Gateway</title></head></html>"
GOOD = json.dumps({"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "{}"}}]}).encode()
LIMIT = 4096
SENTENCE = "the useful sentence"


@dataclass(frozen=True)
class Row:
    """`behaviours`: what the requests of the first call get before a good answer. `requests`: of that call. `ends`: the
    exit status. `reads`: words that the user reads, `unread`: words that nobody reads. `calls`: part of the result's
    counts, None where no result may be there. `waits`: seconds at least before the second request. `limits`: the first
    call's limits of tokens, request by request."""

    name: str
    behaviours: Sequence[Behaviour]
    requests: int = 1
    ends: int = 0
    reads: Sequence[str] = ()
    unread: Sequence[str] = ("Traceback",)
    calls: dict[str, int] | None = field(default_factory=lambda: {"reasked": 0, "refused": 0, "truncated": 0})
    lost: bool = False
    adapted: dict[str, str] = field(default_factory=dict)
    result: dict[str, Any] = field(default_factory=dict)
    draft: str | None = None
    options: tuple[str, ...] = ()
    waits: float = 0.0
    limits: tuple[int, ...] = ()


def error(status: int, message: str, headers: dict[str, str] | None = None, **fields: Any) -> Status:
    return Status(status, {"error": {"message": message, **fields}}, headers or {})


def raw(body: bytes, *, length: int | None = None, headers: str = "") -> Raw:
    """These bytes as a body under status 200; `length`: what the head says of their number."""
    size = len(body) if length is None else length
    # Without the word of its end the next call would cross it on the connection, and be one more retry.
    head = f"HTTP/1.1 200 OK\r\ncontent-length: {size}\r\n{headers}connection: close\r\n\r\n"
    return Raw(head.encode() + body)


def answered(name: str, behaviour: Answer, **expected: Any) -> Row:
    return Row(name, [behaviour], **expected)


def retried(name: str, behaviour: Behaviour, reads: str, **expected: Any) -> Row:
    """Trouble of the line: asked again, nothing of it is in the result, and it may have to be paid for."""
    told = ("1 retry", reads, "1 request got no usable reply")
    return Row(name, [behaviour], 2, reads=told, **expected)


def stopped(name: str, behaviour: Behaviour, reads: str, **expected: Any) -> Row:
    """Trouble of the set-up: one request, one sentence, nothing written."""
    return Row(name, [behaviour], ends=2, reads=(reads,), calls=None, **expected)


def rejected(
    name: str, behaviour: Behaviour, adapted: dict[str, str], reads: str = "", times: int = 1, **expected: Any
) -> Row:
    """A parameter that the server does not take: asked once more without it, and never again with it."""
    return Row(
        name, [behaviour] * times, 1 + times, adapted=adapted, reads=(reads,), unread=("retry", "Traceback"), **expected
    )


def item(name: str, behaviours: Sequence[Behaviour], *reads: str, requests: int = 1, **counts: int) -> Row:
    """A call that gets no answer: a result is written with an item less, and nothing is asked for ever."""
    counts = {"reasked": 0, "refused": 0, "truncated": 0} | counts
    told = ("Calls without a complete answer: 1 ", *reads)
    return Row(name, behaviours, requests, reads=told, unread=("retry", "Traceback"), calls=counts, lost=True)


def busy(headers: dict[str, str], **fields: Any) -> Status:
    return error(429, "Rate limit reached", {"date": formatdate(NOW, usegmt=True)} | headers, **fields)


INNER = {"error": {"code": 502, "message": "Upstream trouble", "metadata": {"provider_name": "Some"}}}
NULLED = {"id": None, "choices": None, "error": {"code": 429, "message": "Busy upstream"}}
CUT = Answer("", finish_reason="length", extra={"usage": {"completion_tokens": LIMIT}})
PARTS = [
    {"type": "thinking", "thinking": "hm"},
    {"type": "text", "text": '{"drafted_'},
    {"type": "text", "text": 'response": "I am here."}'},
]
DECOY = '{"drafted_response": "a thought"}'
GIVEN = "unknown (the server reports none"
COSTLY = {
    "prompt_tokens": 50,
    "completion_tokens": 20,
    "cost": 0.25,
    "prompt_tokens_details": {"cached_tokens": 40},
    "completion_tokens_details": {"reasoning_tokens": 15},
}
NO_SCHEMA = {"response_format.json_schema": "not accepted"}
NO_OBJECT = NO_SCHEMA | {"response_format.json_object": "not accepted"}
FOLDED = {"system": "folded into the user message"}
TOO_LONG = "Not answered: "


ROWS = [
    retried("1 inner code", Status(200, INNER), "local answered 502 for fake-model: Upstream trouble"),
    retried(
        "1 nulls beside a 429", Status(200, NULLED), "accepts no more requests to fake-model for now: Busy upstream"
    ),
    retried("2 no choices", Status(200, {"id": "x"}), "it contains no choice"),
    retried("2 choices null", Status(200, {"choices": None}), "it contains no choice"),
    retried("2 choices empty", Status(200, {"choices": []}), "it contains no choice"),
    retried("2 message null", Status(200, {"choices": [{"message": None}]}), "it contains no choice"),
    stopped(
        "3 wrong path",
        Status(200, {"error": "Unexpected endpoint or method. (POST /chat)"}),
        "check the base URL (most end in /v1)",
    ),
    retried("4 empty", raw(b""), "the body was empty"),
    retried("4 white space", raw(b" \n \n"), "the body was empty"),
    retried("4 cut", raw(GOOD[:40]), "the body was truncated"),
    answered("5 BOM, white space", Answer(before=b"\xef\xbb\xbf \r\n\n")),
    answered("5 new lines", Answer(before=b"\n" * 50)),
    item("6 all spent", [CUT, CUT], "1 truncated at --max-tokens", requests=2, reasked=1, truncated=1),
    Row("6 more helps", [CUT], 2, calls={"reasked": 1, "truncated": 0}, limits=(LIMIT, 4 * LIMIT)),
    item("7 empty content", [Answer("")] * 3, "without a usable answer", requests=3, reasked=1),
    Row("7 empty once", [Answer("")], 2, calls={"reasked": 1}),
    answered("8 parts", Answer(message={"content": PARTS}), draft="I am here."),
    answered("9 reasoning", Answer(message={"reasoning": DECOY})),
    answered("9 reasoning_content", Answer(message={"reasoning_content": DECOY})),
    answered("9 reasoning_details", Answer(message={"reasoning_details": [{"type": "x", "text": DECOY}]})),
    item(
        "9 reasoning alone",
        [Answer("", message={"reasoning_content": DECOY})] * 3,
        "without a usable answer",
        requests=3,
        reasked=1,
    ),
    item("10 refusal", [Answer(message={"content": None, "refusal": "I cannot."})], "1 refused", refused=1),
    item("10 content filter", [Answer("", finish_reason="content_filter")], "1 refused", refused=1),
    answered("11 no usage", Answer(extra={"usage": None}), reads=(GIVEN,), result={"api_cost": None}),
    answered("11 other names", Answer(extra={"usage": {"input_tokens": 11, "output_tokens": 7}}), reads=(GIVEN,)),
    rejected(
        "12 the limit's name",
        error(400, "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."),
        {"max_tokens": "sent under its other name"},
    ),
    rejected(
        "12 with param and code",
        error(400, "Use 'max_completion_tokens'.", param="max_tokens", code="unsupported_parameter"),
        {"max_tokens": "sent under its other name"},
    ),
    rejected(
        "13 temperature",
        error(400, "'temperature' does not support 0 with this model.", param="temperature"),
        {"temperature": "not accepted"},
        "Temperature was not applied",
    ),
    rejected(
        "13 seed",
        error(400, "Unsupported parameter: seed"),
        {"seed": "not accepted"},
        "Seed was not applied",
        options=("--seed", "7"),
    ),
    rejected("14 no schema", error(400, "response_format json_schema is not supported"), NO_SCHEMA),
    rejected("14 neither", error(400, "Invalid response_format"), NO_OBJECT, times=2),
    rejected("16 no system role", error(400, "System role not supported"), FOLDED, "The system text was folded"),
    rejected("16 in a 500", error(500, "Conversation roles must alternate user/assistant"), FOLDED),
    *(
        item(f"17 context {n}", [behaviour], "without a usable answer", TOO_LONG, "too long for fake-model")
        for n, behaviour in enumerate(
            (
                error(400, "This is too much", code="context_length_exceeded"),
                error(400, "This model's maximum context length is 512 tokens. However, you requested 9000 tokens"),
                error(400, "too much", type="exceed_context_size_error"),
                error(400, "the input length exceeds the context length"),
                error(500, "the input length exceeds the context length"),
            )
        )
    ),
    Row(
        "17 the prompt fits",
        [error(400, "maximum context length is 8192 tokens. However, you requested 9096 (5000 in the messages)")],
        2,
        adapted={"max_tokens": "lowered to 3192"},
        reads=("Max_tokens was lowered to 3192",),
        limits=(LIMIT, 3192),
    ),
    *(
        stopped(f"18 error body {n}", Status(status, body), SENTENCE, options=("--structured", "text"))
        for n, (status, body) in enumerate(
            (
                (400, {"error": {"message": SENTENCE}}),
                (400, {"error": SENTENCE}),
                (400, {"object": "error", "message": SENTENCE}),
                (422, {"detail": [{"loc": ["body", "n"], "msg": SENTENCE}]}),
                (400, [{"error": {"message": SENTENCE}}]),
                (400, {"title": "Bad", "status": 400, "detail": SENTENCE}),
                (400, f"<html><head><title>{SENTENCE}</title></head></html>"),
            )
        )
    ),
    stopped(
        "19 key",
        error(401, f"Incorrect API key provided: {KEY[:8]}***{KEY[-4:]}. {KEY}"),
        "did not accept the API key (from --api-key)",
        unread=(KEY[:8], KEY[-4:]),
    ),
    stopped("19 forbidden", error(403, "not for you"), "does not allow fake-model for this key (from --api-key)"),
    item("20 moderated", [error(403, "no", metadata={"reasons": ["violence"]})], "1 refused", TOO_LONG, refused=1),
    item("20 filtered", [error(400, "no", code="content_filter")], "1 refused", TOO_LONG, refused=1),
    item("20 policy", [error(400, "no", code="content_policy_violation")], "1 refused", TOO_LONG, refused=1),
    stopped("21 money", error(402, "Insufficient credits"), "no balance or quota left"),
    retried(
        "21 money in flight",
        error(402, "Too much in flight", {"retry-after": "0.2"}),
        "earlier ones are settled",
        waits=0.2,
    ),
    stopped("22 no model", error(404, "The model does not exist", code="model_not_found"), "has no model fake-model"),
    stopped("22 privacy", error(404, "No endpoints found matching your data policy"), "privacy settings allow"),
    stopped("22 no JSON", Status(404, "404 page not found"), "check the base URL"),
    retried("23 seconds", busy({"retry-after": "1"}), "accepts no more requests", waits=1.0),
    retried("23 float", busy({"retry-after": "0.25"}), "accepts no more requests", waits=0.25),
    retried("23 date", busy({"retry-after": formatdate(NOW + 1, usegmt=True)}), "accepts no more requests", waits=1.0),
    retried("23 milliseconds", busy({"retry-after-ms": "150"}), "accepts no more requests", waits=0.15),
    retried("23 zero", busy({"retry-after": "0"}), "accepts no more requests"),
    *(
        retried(f"24 {name}", busy({"x-ratelimit-reset-requests": value}), "accepts no more requests", waits=wait)
        for name, value, wait in (
            ("duration", "250ms", 0.25),
            ("float of seconds", "0.21s", 0.21),
            ("epoch seconds", str(NOW + 1), 1.0),
            ("epoch milliseconds", str((NOW * 1000) + 300), 0.3),
            ("ISO time", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(NOW + 1)), 1.0),
        )
    ),
    retried(
        "24 in the body",
        busy({}, code=429, metadata={"headers": {"X-RateLimit-Reset": str(NOW * 1000 + 200)}}),
        "accepts no more requests",
        waits=0.2,
    ),
    stopped("25 quota", error(429, "You exceeded your quota", code="insufficient_quota"), "no balance or quota left"),
    stopped("25 hard limit", error(429, "Limit", code="billing_hard_limit_reached"), "no balance or quota left"),
    stopped("25 per day", error(429, "Rate limit exceeded: free-models-per-day"), "for today"),
    item(
        "26 too large",
        [error(429, "Request too large for m: Limit 6000, Requested 14368", {"retry-after": "1"})],
        "without a usable answer",
        "a lower --max-tokens may help: Request too large",
    ),
    item("26 payload", [Status(413, "")], "without a usable answer", "a lower --max-tokens may help"),
    *(
        retried(f"27 {status}", Status(status, body), f"local answered {status} for fake-model")
        for body in (PAGE, {"error": {"message": "trouble"}})
        for status in (408, 425, 500, 502, 503, 520, 521, 522, 523, 525, 526, 529)
    ),
    *(retried(f"27 {status}", Status(status, PAGE), f"({status} after 0 s)") for status in (504, 524)),
    retried("28 loading", error(503, "Loading model"), "still loading fake-model"),
    retried("30 closed", Raw(b""), "The connection to local at"),
    retried("30 closed in mid-body", raw(GOOD[:50], length=5000), "The connection to local at"),
    retried(
        "30 half a chunk",
        Raw(b'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nff\r\n{"cho'),
        "The connection to local at",
    ),
    retried("31 drip", Drip(0.2), "no complete answer within 1 s", options=("--call-timeout", "1")),
    retried("32 no gzip", raw(GOOD, headers="content-encoding: gzip\r\n"), "not compressed as declared"),
    retried("32 gzip cut", raw(gzip.compress(GOOD)[:40], headers="content-encoding: gzip\r\n"), "the body was"),
    answered("37 cost", Answer(extra={"usage": COSTLY}), reads=("at least $0.25 (4 replies of unknown cost)",)),
    answered(
        "38 another model",
        Answer(extra={"model": "quite-another"}),
        reads=("Attention: calls to fake-model were answered by quite-another",),
    ),
]


class FirstCall:
    """Does to the first call, reasks included, what is listed, and answers all the rest, also without a schema.

    Notes the first call's requests and the seconds at which they came.
    """

    def __init__(self, behaviours: Sequence[Behaviour], data: Path) -> None:
        planned = plan_calls(load_conversations(data), ["default"], default_codebook())
        self._schemas = {
            call_key("", "\n\n".join(each.content for each in call.messages)): call.schema for call in planned
        }
        self.asked: list[Asked] = []
        self.times: list[float] = []
        self.number = 0
        self._doings = behaviours

    def __call__(self, asked: Asked) -> Behaviour:
        self.number += 1
        good = Answer(json.dumps(filled(asked.schema or self._schemas.get(call_key("", asked.prompt)) or {})))
        if self.asked and first_ask(asked.prompt) != first_ask(self.asked[0].prompt):
            return good
        self.asked.append(asked)
        self.times.append(time.monotonic())
        number = len(self.asked) - 1
        return self._doings[number] if number < len(self._doings) else good


def result_in(folder: Path) -> dict[str, Any] | None:
    paths = list(folder.glob("results/[!_]*.json"))
    return json.loads(paths[0].read_text(encoding="utf-8")) if paths else None


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_behaviour_has_its_outcome(row: Row, command: Command, one_turn: Path, tmp_path: Path) -> None:
    """The exit status, the number of requests, the sentences, and what stands in the result."""
    script = FirstCall(row.behaviours, one_turn)
    with FakeServer(script) as server:
        ended = command(server, *row.options)
    assert row.ends == ended.status, ended.read
    assert row.requests == len(script.asked)
    assert [] == [words for words in row.reads if words not in ended.read], ended.read
    assert [] == [words for words in row.unread if words in ended.read], ended.read
    assert row.requests == 1 or row.waits <= script.times[1] - script.times[0] + 0.01
    assert row.limits in ((), tuple(asked.body.get("max_tokens") for asked in script.asked))
    result = result_in(tmp_path)
    if row.calls is None:
        assert result is None
        assert 1 == script.number
        return
    assert CALLS - 1 + row.requests == script.number
    assert result is not None
    counts = result["calls"]
    assert {"made": CALLS} | row.calls == {name: counts[name] for name in ("made", *row.calls)}
    assert row.lost == (counts["answered_items"] < counts["expected_items"])
    assert row.adapted == result["adapted"]
    assert row.result == {name: result[name] for name in row.result}
    assert "a thought" != result["turns"][0]["em_drafted_response"]
    assert row.draft in (None, result["turns"][0]["em_drafted_response"])
