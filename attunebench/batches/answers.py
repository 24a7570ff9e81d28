"""Lines of a response file: whose answer it is, and what it says. OpenAI's service, vLLM's `run-batch`, Ray Data LLM.

Pure: lines in, outcomes out; it knows no journal and no folder.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from attunebench.backends.base import Request
from attunebench.backends.caught import kept_headers, located, without_key
from attunebench.backends.faults import Fault, error_for
from attunebench.backends.negotiation import Terms, adapted, guessed
from attunebench.backends.wire import (
    error_in,
    fault_of_error,
    number,
    outcome_of_body,
    parse_body,
    says_something,
    tidy,
)
from attunebench.errors import AttuneBenchError, ConfigurationError, RejectedError, TransientError
from attunebench.protocol.calls import Asked, Call, Message

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.backends.providers import Endpoint
    from attunebench.batches.requests import Row

CUSTOM_ID = re.compile(r"attune-([0-9a-z]{1,32})-([0-9]{6,12})")
"""The ids of our requests: the tag of their plan, and their number in it from 1."""
NEVER_TAKEN = frozenset(("batch_expired", "batch_cancelled", "batch_cancelling", "batch_failed"))
"""Codes of lines whose request never reached a model."""


def tag_of(custom_id: str) -> str | None:
    """The tag in a custom id of ours; None for somebody else's."""
    found = CUSTOM_ID.fullmatch(custom_id)
    return found[1] if found else None


@dataclass(frozen=True, slots=True)
class Line:
    """One line with an id. `outcome`: the model's reply or what went wrong, None for a line that is a request;
    `request_id`: the engine's own name of it."""

    custom_id: str
    outcome: Reply | Fault | None = None
    request_id: str | None = None


def read_line(content: bytes) -> Line | None:
    """What a record says; None where it belongs to no request or response file (truncated, no JSON, no id).

    OpenAI's service and vLLM's `run-batch` write {custom_id, response {status_code, request_id, body}, error}; Ray Data
    LLM writes flat rows: `generated_text` with its counts of tokens, or `http_response`, or the completion itself, and
    `__inference_error__` where a row failed. Tools that convert them may turn objects into strings, and missing values
    into a word or NaN.
    """
    try:
        data = parse_body(content)
    except ValueError:
        return None
    custom_id = data.get("custom_id") if isinstance(data, Mapping) else None
    if not isinstance(custom_id, str):
        return None
    error = next((said for key in ("__inference_error__", "error") if says_something(said := data.get(key))), None)
    response, status, body, request_id = _object(data.get("response")), None, None, None
    if isinstance(response, Mapping):
        wrapped = "body" in response or "status_code" in response
        body = _object(response.get("body")) if wrapped else response
        status, request_id = number(response.get("status_code")), response.get("request_id")
    elif error is None and not _ANSWERED.isdisjoint(data):
        body = _flat(data)
    elif error is None and (isinstance(_object(data.get("body")), Mapping) or "request_hash" in data):
        return Line(custom_id.strip())  # a request, or the row of one in a table that lies in the same folder
    outcome = _outcome(int(status or 0), body, error)
    return Line(custom_id.strip(), outcome, request_id if isinstance(request_id, str) else None)


def _outcome(status: int, body: Any, error: Any) -> Reply | Fault:
    if error and not isinstance(body, Mapping):
        described = error_in(error) or error_in({"error": error})
        assert described is not None, "an error that says something describes itself"
        # A bare string is an exception of the engine, whatever status comes with it: no verdict on the request, and no
        # reason to change it.
        return fault_of_error(described, status=200 if isinstance(error, str) else status or 200)
    if status and not 200 <= status < 300:
        said = error_in(body) or error_in({"error": error or "no reason given"})
        assert said is not None
        return fault_of_error(said, status=status)
    return outcome_of_body(body)


def _object(value: Any) -> Any:
    """The object in a string, as JSON or as Python prints it; any other value unchanged."""
    if not isinstance(value, str) or value.lstrip()[:1] != "{":
        return value
    with suppress(ValueError):
        return parse_body(value.encode("utf-8", "replace"))
    with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
        return ast.literal_eval(value.strip()) if len(value) <= _LONGEST_PRINTED else value
    return value


_LONGEST_PRINTED = 1_000_000
"""The most characters of an object as Python prints it."""
_ANSWERED = frozenset(("generated_text", "http_response", "choices"))
"""Keys of flat rows that hold an answer."""


def _flat(row: Mapping[str, Any]) -> Any:
    """The completion in a flat row, as a server would have sent it."""
    if isinstance(response := _object(row.get("http_response")), Mapping):
        return response
    if not isinstance(row.get("generated_text"), str):
        return row
    counts = (("prompt_tokens", "num_input_tokens"), ("completion_tokens", "num_generated_tokens"))
    usage = {ours: row.get(theirs) for ours, theirs in counts}
    return {"choices": [{"message": {"content": row["generated_text"]}}], "usage": usage}


@dataclass(frozen=True, slots=True)
class Rejection:
    """A request was rejected without a clear reason; other requests' lines show whether the request is the cause.

    `constraint`: its output constraint. `guess`: the terms that may help, None where there are none.
    """

    error: RejectedError
    constraint: str
    guess: Terms | None


def outcome_of_line(line: Line, row: Row, endpoint: Endpoint) -> Reply | Terms | Rejection | AttuneBenchError:
    """The outcome of the request in `row`: a reply; the terms for asking again, where the server does not accept a part
    of the request; a rejection; or the error (ItemError where it can never be answered, TransientError where it may be
    sent again unchanged, ConfigurationError where something has to be repaired first).
    """
    terms, entry = row.terms, row.entry
    request = _request(entry.kind, entry.max_tokens, entry.ask, entry.parameters)
    assert line.outcome is not None, "a request is no answer"
    if not isinstance(line.outcome, Fault):
        headers = kept_headers({"x-request-id": line.request_id}, endpoint) if line.request_id else {}
        reply = without_key(line.outcome, endpoint)
        return replace(reply, structured=terms.rung, notes=terms.notes(request), headers=headers)
    fault = located(line.outcome, endpoint, answered=True, reask=entry.ask)
    if fault.code and NEVER_TAKEN.intersection(fault.code.split()):
        return TransientError(f"The batch ended before the request was run ({tidy(fault.message or fault.code)}).")
    try:
        further = adapted(terms, request, fault)
    except ConfigurationError as error:
        return error
    if further is not None:
        return further
    trouble = error_for(fault, endpoint)
    if isinstance(trouble, RejectedError):
        return Rejection(trouble, terms.rung, guessed(terms, fault, ()))
    return trouble


@lru_cache(maxsize=1024)
def _request(kind: Any, max_tokens: int, ask: int, parameters: str) -> Request:
    """A request with all that its terms depend on, and no texts: many rows share one."""
    sent = json.loads(parameters)
    call = Call(
        id="",
        conversation_id="",
        mode="default",
        turn=0,
        kind=kind,
        messages=(Message("system", ""), Message("user", "")),
        asked=Asked(kind=kind),
        schema={},
    )
    return Request(
        call=call,
        messages=call.messages,
        max_tokens=max_tokens,
        temperature=sent.get("temperature"),
        seed=sent.get("seed"),
        timeout=0.0,
        reask=ask,
    )
