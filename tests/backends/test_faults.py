"""Whose fault a failed try is: a row of the table for everything that can happen."""

from __future__ import annotations

import json
import socket
import ssl
from typing import Any

import httpx
import openai
import pytest
from openai import _exceptions
from pydantic import SecretStr

from attunebench.backends.caught import EXCEPTIONS, fault_of_error, fault_of_exception, located
from attunebench.backends.faults import RULES, Fault, Rule, error_for, rule_for
from attunebench.backends.providers import Endpoint
from attunebench.backends.wire import error_in_text
from attunebench.errors import AttuneBenchError, ConfigurationError, ItemError, TransientError

KEY = "-".join(("sk", "or-v1-0123456789abcdef"))  # in two parts: no scanner of secrets shall take it for one
ENDPOINT = Endpoint("openrouter", "some/model", "https://host.example/v1", SecretStr(KEY), "OPENROUTER_API_KEY")
REQUEST = httpx.Request("POST", "https://host.example/v1/chat/completions")


def said(status: int, body: str, **changes: Any) -> Fault:
    headers = changes.pop("headers", {})
    fault = fault_of_error(error_in_text(body.encode()), status=status, headers=headers, parsed=body[:1] in "{[")
    return located(fault, ENDPOINT, answered=changes.get("answered", False), reask=changes.get("reask", 0))


def raised(fault: Fault) -> AttuneBenchError:
    return error_for(fault, ENDPOINT)


@pytest.mark.parametrize(
    ("status", "body", "rule"),
    [
        (401, '{"error": {"message": "No auth credentials found"}}', "key wanted"),
        (400, '{"error": {"message": "API key not valid. Please pass a valid API key."}}', "key wanted"),
        (402, '{"error": {"message": "Insufficient credits"}}', "money"),
        (429, '{"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}', "money"),
        (429, '{"error": {"message": "Rate limit exceeded: free-models-per-day"}}', "money"),
        (429, '{"error": {"message": "Rate limit reached on tokens per minute"}}', "transient status"),
        (429, '{"error": {"message": "Too many tokens, please wait before trying again."}}', "transient status"),
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
        (503, '{"error": {"message": "Loading model"}}', "transient status"),
        (524, "", "transient status"),
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
        (Fault(line="unknown host", answered=True), "connection"),
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
    words = ("provider", "model", "url", "host", "status", "says", "location", "key_source", "key_state", "key_remedy")
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


def exceptions_of_the_sdk() -> set[str]:
    # `type(…)` and not `isinstance`, which would load everything that the SDK keeps for later.
    members = [member for module in (openai, _exceptions) for member in list(vars(module).values())]
    classes = [member for member in members if type(member) is type and issubclass(member, Exception)]
    return {cls.__name__ for cls in classes if not cls.__name__.startswith("_")}


def test_every_exception_class_of_the_installed_sdk_is_mapped_by_its_own_name() -> None:
    assert "APIStatusError" in exceptions_of_the_sdk()
    assert set() == exceptions_of_the_sdk() - set(EXCEPTIONS)


@pytest.mark.parametrize(
    "error",
    [
        httpx.ConnectError("refused"),
        httpx.ReadError(""),
        httpx.RemoteProtocolError("closed"),
        httpx.DecodingError("gzip"),
        httpx.ReadTimeout("slow"),
        httpx.PoolTimeout("slow"),
        openai.APITimeoutError(request=REQUEST),  # type: ignore[arg-type]
        openai.APIConnectionError(request=REQUEST),  # type: ignore[arg-type]
    ],
    ids=lambda error: type(error).__name__,
)
def test_trouble_of_the_line_is_transient(error: Exception) -> None:
    assert "retry" == rule_for(fault_of_exception(error)).outcome


def caused(cause: BaseException) -> Exception:
    error = openai.APIConnectionError(request=REQUEST)  # type: ignore[arg-type]
    error.__cause__ = cause
    return error


def test_the_cause_of_a_broken_connection_is_in_the_sentence() -> None:
    assert "[Errno 111] Connection refused" in str(
        raised(fault_of_exception(caused(OSError(111, "Connection refused"))))
    )


@pytest.mark.parametrize(
    ("cause", "rule"),
    [
        (socket.gaierror(socket.EAI_NONAME, "Name or service not known"), "host"),
        (socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution"), "connection"),
        (ssl.SSLCertVerificationError(1, "self-signed certificate"), "certificate"),
        (httpx.UnsupportedProtocol("no scheme"), "address"),
    ],
)
def test_the_cause_of_a_broken_connection_decides(cause: BaseException, rule: str) -> None:
    assert rule == rule_for(fault_of_exception(caused(cause))).name


def test_a_bug_is_no_fault() -> None:
    with pytest.raises(KeyError):
        fault_of_exception(KeyError("x"))
