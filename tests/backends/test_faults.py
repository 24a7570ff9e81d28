"""Whose fault a failed try is: a row of the table for everything that can happen."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import aiohttp
import httpx2
import openai
import pytest
from aiohttp.http_exceptions import ContentEncodingError, HttpProcessingError, TransferEncodingError
from keys import OPENROUTER_KEY as KEY
from pydantic import SecretStr

from attunebench.backends.caught import EXCEPTIONS, fault_of_exception, located
from attunebench.backends.faults import RULES, Fault, Rule, error_for, rule_for
from attunebench.backends.providers import Endpoint
from attunebench.backends.transport import CLIENT_ERRORS, TooLargeError
from attunebench.backends.wire import error_in_text, fault_of_error
from attunebench.errors import AttuneBenchError, ConfigurationError, ItemError, TransientError

ENDPOINT = Endpoint("openrouter", "some/model", "https://host.example/v1", SecretStr(KEY), "OPENROUTER_API_KEY")


def said(status: int, body: str, **changes: Any) -> Fault:
    headers = changes.pop("headers", {})
    fault = fault_of_error(error_in_text(body.encode()), status=status, parsed=body[:1] in "{[")
    return located(
        replace(fault, headers=headers),
        ENDPOINT,
        answered=changes.get("answered", False),
        reask=changes.get("reask", 0),
    )


def raised(fault: Fault) -> AttuneBenchError:
    return error_for(fault, ENDPOINT)


@pytest.mark.parametrize(
    ("status", "body", "rule"),
    [
        (401, '{"error": {"message": "No auth credentials found"}}', "key wanted"),
        (400, '{"error": {"message": "API key not valid. Please pass a valid API key."}}', "key wanted"),
        (402, '{"error": {"message": "Insufficient credits"}}', "money"),
        (429, '{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}', "money"),
        (429, '{"error": {"message": "Rate limit exceeded: free-models-per-day"}}', "day"),
        (429, '{"error": {"message": "Rate limit reached on tokens per minute"}}', "rate"),
        (429, '{"error": {"message": "Too many tokens, please wait before trying again."}}', "rate"),
        (429, '{"error": {"message": "Request too large: Limit 6000, Requested 14368"}}', "too large"),
        (413, "", "too large"),
        (403, '{"error": {"message": "flagged", "metadata": {"reasons": ["x"], "flagged_input": "y"}}}', "moderated"),
        (400, '{"error": {"message": "The response was filtered", "code": "content_filter"}}', "moderated"),
        (403, '{"error": {"message": "Country not supported"}}', "forbidden"),
        (403, "<html><title>Attention Required</title></html>", "forbidden"),
        (404, '{"error": {"message": "The model `m` does not exist", "code": "model_not_found"}}', "model"),
        (404, '{"error": {"message": "No endpoints found for some/model."}}', "model"),
        (400, '{"error": {"message": "some/modell is not a valid model ID"}}', "model"),
        (404, '{"error": {"message": "No endpoints found matching your data policy"}}', "privacy"),
        (404, '{"detail": "Not Found"}', "path"),
        (404, "404 page not found", "path"),
        (405, "", "path"),
        (200, '{"error": "Unexpected endpoint or method. (POST /chat/completions)"}', "path"),
        (307, "", "redirect"),
        (400, '{"error": {"message": "This model\'s maximum context length is 4096 tokens."}}', "too long"),
        (400, '{"error": {"code": "context_length_exceeded", "message": "Too long"}}', "too long"),
        (400, '{"error": {"type": "exceed_context_size_error", "message": "x"}}', "too long"),
        (500, '{"error": "the input length exceeds the context length"}', "too long"),
        (400, '{"type": "error", "error": {"message": "prompt is too long: 210000 tokens > 200000"}}', "too long"),
        (408, "", "transient status"),
        (409, "", "transient status"),
        (425, "", "transient status"),
        (500, "", "transient status"),
        (502, "<html><title>Bad gateway</title></html>", "transient status"),
        (503, '{"error": {"message": "Loading model"}}', "starting"),
        (504, "", "gateway"),
        (524, "", "gateway"),
        (407, "", "proxy"),
        (529, "", "transient status"),
        (200, '{"error": {"code": 502, "message": "Provider returned error"}}', "transient status"),
        (200, '{"error": {"code": 401, "message": "No"}}', "key wanted"),
        (200, '{"error": {"code": "insufficient_quota", "message": "No"}}', "money"),
        (200, '{"error": {"message": "Something"}}', "error body"),
        (400, '{"error": {"message": "Bad request"}}', "rejected"),
        (418, "", "rejected"),
        (400, '{"error": {"message": "max_tokens is too large: 99999"}}', "limit"),
    ],
)
def test_what_a_server_says_falls_under_one_rule(status: int, body: str, rule: str) -> None:
    assert rule == rule_for(said(status, body)).name


@pytest.mark.parametrize(
    ("fault", "rule"),
    [
        (Fault(line="timeout"), "timeout"),
        (Fault(line="connection"), "connection"),
        (Fault(line="unknown host"), "host"),
        (Fault(line="unknown host", answered=True), "unreachable"),
        (Fault(line="unreachable"), "unreachable"),
        (Fault(line="proxy", status=403), "proxy"),
        (Fault(line="proxy", status=502), "proxy's trouble"),
        (Fault(line="no tls"), "no tls"),
        (Fault(line="no tls", answered=True), "unreachable"),
        (Fault(line="encoding"), "body"),
        (Fault(line="html"), "page"),
        (Fault(line="html", answered=True), "body"),
        (Fault(line="body"), "body"),
        (Fault(line="certificate"), "certificate"),
        (Fault(line="address"), "address"),
        (Fault(line="client"), "client"),
        (Fault(status=402, headers={"retry-after": "5"}), "wait for money"),
        (Fault(status=400, message="max_tokens is too large", reask=1), "larger limit"),
        (Fault(), "body"),
    ],
)
def test_what_the_line_does_falls_under_one_rule(fault: Fault, rule: str) -> None:
    assert rule == rule_for(fault).name


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_every_rule_s_sentence_can_be_filled_in(rule: Rule) -> None:
    words = ("provider", "model", "url", "host", "status", "says", "after", "location", "key_state", "key_remedy")
    words += ("after_the_day",)
    assert "{" not in rule.sentence.format_map(dict.fromkeys(words, "x"))


def test_rules_have_names_of_their_own() -> None:
    assert len(RULES) == len({rule.name for rule in RULES})


def test_the_outcome_decides_the_error() -> None:
    assert isinstance(raised(said(401, "")), ConfigurationError)
    assert isinstance(raised(said(503, "")), TransientError)
    assert isinstance(raised(said(413, "")), ItemError)


def test_a_refusal_by_moderation_is_told_apart_from_other_items() -> None:
    refused, long = raised(said(400, '{"error": {"code": "content_filter"}}')), raised(said(413, ""))
    assert isinstance(refused, ItemError)
    assert isinstance(long, ItemError)
    assert ("refused", "unreadable") == (refused.outcome, long.outcome)


def test_a_transient_error_carries_the_wait_that_the_server_asked_for() -> None:
    error = raised(said(429, "", headers={"retry-after": "12"}))
    assert isinstance(error, TransientError)
    assert 12.0 == error.retry_after


def test_a_sentence_names_provider_model_and_remedy_and_ends_in_one_stop() -> None:
    text = str(raised(said(404, '{"error": {"message": "The model does not exist."}}')))
    assert (
        "openrouter at https://host.example/v1 has no model some/model: check the name: The model does not exist."
        == text
    )
    assert "OPENROUTER_API_KEY" in str(raised(said(401, "")))
    assert "(502)" not in str(raised(said(502, "")))


@pytest.mark.parametrize(
    "echo",
    [KEY, "sk-or-v1-****cdef", f"Bearer {KEY}", "key '" + KEY[:10] + "...'", "ends in " + KEY[-8:], "sk-proj-abcdefgh"],
)
@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 429, 500])
def test_a_key_that_the_server_repeats_is_not_passed_on(status: int, echo: str) -> None:
    text = str(raised(said(status, json.dumps({"error": {"message": f"Wrong: {echo}"}}))))
    assert not any(part in text for part in (KEY[:10], KEY[-8:], "cdef", "abcdefgh"))


def test_no_money_without_a_key_names_no_key_that_is_not_there() -> None:
    keyless = Endpoint("local", "m", "http://127.0.0.1:1/v1", SecretStr("none"), "none")
    text = str(error_for(Fault(status=402, message="Pay"), keyless))
    assert "from none" not in text
    assert "none was given" in text


def test_the_key_is_not_in_a_redirect_s_address() -> None:
    text = str(raised(said(302, "", headers={"location": f"https://other.example/{KEY}"})))
    assert KEY not in text


def subclasses(cls: type[Exception]) -> set[type[Exception]]:
    return {cls}.union(*(subclasses(inner) for inner in cls.__subclasses__()))


OF_THE_CLIENT = subclasses(aiohttp.ClientError) - {aiohttp.ClientError}
OF_TRANSPORTS = subclasses(httpx2.RequestError) - {
    httpx2.RequestError, httpx2.TransportError, httpx2.ProtocolError, httpx2.SSEError
}  # fmt: skip
"""What clients of the user's raise inside; of these roots no instance is raised, and no events are read by httpx2."""
CATCH_ALL = {"ClientError", "OSError", "ValueError", "APIConnectionError"}


@pytest.mark.parametrize("cls", sorted(OF_THE_CLIENT | OF_TRANSPORTS, key=lambda cls: cls.__name__))
def test_every_exception_class_of_the_installed_clients_is_mapped_more_closely_than_by_its_root(
    cls: type[Exception],
) -> None:
    assert next(base.__name__ for base in cls.__mro__ if base.__name__ in EXCEPTIONS) not in CATCH_ALL


def test_every_exception_of_the_client_can_be_caught() -> None:
    for cls in OF_THE_CLIENT | {aiohttp.ClientError, openai.APIConnectionError, openai.APITimeoutError}:
        assert issubclass(cls, CLIENT_ERRORS)


NOT_OF_A_PLAIN_REQUEST = {
    "APIResponseValidationError", "ContentFilterFinishReasonError", "InvalidWebhookSignatureError",
    "LengthFinishReasonError", "OAuthError", "SubjectTokenProviderError", "WebSocketConnectionClosedError",
    "WebSocketQueueFullError",
}  # fmt: skip
"""What the SDK raises where it parses, signs or streams, none of which it does here."""


def test_the_sdk_has_no_exception_that_is_not_looked_after() -> None:
    named = [getattr(openai, name) for name in openai.__all__ if name.endswith("Error")]
    public = {cls for cls in named if issubclass(cls, openai.OpenAIError)}
    left = public - subclasses(openai.APIStatusError) - subclasses(openai.APIConnectionError)
    assert {"OpenAIError", "APIError"} == {cls.__name__ for cls in left} - NOT_OF_A_PLAIN_REQUEST


@pytest.mark.parametrize(
    "cls",
    sorted(subclasses(OSError) | {asyncio.TimeoutError, asyncio.IncompleteReadError}, key=lambda cls: cls.__name__),
    ids=lambda cls: cls.__name__,
)
def test_every_exception_of_the_system_is_covered(cls: type[Exception]) -> None:
    assert issubclass(cls, CLIENT_ERRORS)
    assert {base.__name__ for base in cls.__mro__} & set(EXCEPTIONS)


KEY_OF_A_CONNECTION: Any = SimpleNamespace(host="host.example", port=443, ssl=True, is_ssl=True)


def unreachable(cause: OSError) -> Exception:
    error = aiohttp.ClientConnectorError(KEY_OF_A_CONNECTION, cause)
    error.__cause__ = cause
    return error


def payload(cause: Exception) -> Exception:
    error = aiohttp.ClientPayloadError("Response payload is not completed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (unreachable(ConnectionRefusedError(111, "Connection refused")), "connect"),
        (unreachable(OSError(113, "No route to host")), "connect"),
        (unreachable(socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")), "connect"),
        (aiohttp.ConnectionTimeoutError("slow"), "connect"),
        (aiohttp.ClientConnectorSSLError(KEY_OF_A_CONNECTION, ssl.SSLError(1, "handshake failure")), "connect"),
        (aiohttp.ServerDisconnectedError(), "line"),
        (aiohttp.ClientOSError(104, "Connection reset by peer"), "line"),
        (ConnectionResetError(104, "Connection reset by peer"), "line"),
        (ssl.SSLError(1, "decryption failed"), "line"),
        (payload(TransferEncodingError("cut")), "line"),
        (payload(ContentEncodingError("gzip")), "body"),
        (TooLargeError("too large"), "body"),
        (HttpProcessingError(message="Bad status line"), "body"),
        (aiohttp.SocketTimeoutError("slow"), "timeout"),
        (asyncio.TimeoutError(), "timeout"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else value,
)
def test_trouble_of_the_line_is_transient_and_of_a_kind(error: Exception, kind: str) -> None:
    transient = raised(fault_of_exception(error))
    assert isinstance(transient, TransientError)
    assert kind == transient.kind


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind"),
    [
        (429, "", {}, "rate"),
        (503, "Slow Down", {}, "rate"),
        (200, '{"error": {"code": 429, "message": "x"}}', {}, "rate"),
        (200, '{"error": {"message": "Too many requests"}}', {}, "rate"),
        (402, '{"error": {"message": "Pay"}}', {"retry-after": "5"}, "money"),
        (503, '{"error": {"message": "Loading model"}}', {}, "starting"),
        (503, '{"error": "Model some/model is currently loading"}', {}, "starting"),
        (500, '{"error": "llm server loading model"}', {}, "starting"),
        (504, "", {}, "gateway"),
        (524, "", {}, "gateway"),
        (200, '{"error": {"code": 504, "message": "x"}}', {}, "gateway"),
        (500, "", {}, "server"),
        (503, "no healthy upstream", {}, "server"),
        (529, '{"error": {"message": "Overloaded"}}', {}, "server"),
        (200, '{"error": {"message": "Something"}}', {}, "server"),
    ],
)
def test_trouble_of_the_server_is_of_a_kind(status: int, body: str, headers: dict[str, str], kind: str) -> None:
    transient = raised(said(status, body, headers=headers))
    assert isinstance(transient, TransientError)
    assert kind == transient.kind


def test_a_gateway_s_time_out_carries_and_tells_how_long_it_took() -> None:
    error = raised(located(Fault(status=504), ENDPOINT, answered=True, reask=0, elapsed=60.2))
    assert isinstance(error, TransientError)
    assert 60.2 == error.elapsed
    assert "gave up waiting for some/model (504 after 60 s)" in str(error)


def test_the_cause_of_a_broken_connection_is_in_the_sentence() -> None:
    error = raised(fault_of_exception(unreachable(OSError(111, "Connection refused"))))
    assert "[Errno 111] Connection refused" in str(error)


@pytest.mark.parametrize(
    ("cause", "rule"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "host"),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), "unreachable"),
        (ssl.SSLCertVerificationError(1, "self-signed certificate"), "certificate"),
    ],
)
def test_the_cause_of_a_broken_connection_decides(cause: OSError, rule: str) -> None:
    assert rule == rule_for(fault_of_exception(unreachable(cause))).name


def test_a_proxy_that_refuses_stops_and_one_in_trouble_is_tried_again() -> None:
    def answered(status: int) -> AttuneBenchError:
        where: Any = SimpleNamespace(real_url="http://me:secret@proxy.example:3128")
        return raised(fault_of_exception(aiohttp.ClientHttpProxyError(where, (), status=status, message="No")))

    refused, busy = answered(407), answered(503)
    assert isinstance(refused, ConfigurationError)
    assert "HTTPS_PROXY" in str(refused)
    assert isinstance(busy, TransientError)
    assert "connect" == busy.kind
    assert "secret" not in f"{refused} {busy}"


def test_a_bug_is_no_fault() -> None:
    with pytest.raises(KeyError):
        fault_of_exception(KeyError("x"))
