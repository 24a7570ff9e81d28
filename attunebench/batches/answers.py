"""Lines of a response file: whose answer it is, and what it says. OpenAI's service, vLLM's `run-batch`, Ray Data.

Pure: lines in, outcomes out; it knows no journal and no folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from attunebench.backends.base import Request
from attunebench.backends.caught import fault_of_error, located, outcome_of_body, without_key
from attunebench.backends.faults import Fault, error_for
from attunebench.backends.negotiation import Terms, adapted, first_terms
from attunebench.backends.wire import error_in, parse_body, tidy
from attunebench.errors import AttuneBenchError, ConfigurationError, TransientError
from attunebench.protocol.calls import Asked, Call, Message

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.backends.providers import Endpoint
    from attunebench.batches.table import Row

NEVER_TAKEN = frozenset(("batch_expired", "batch_cancelled", "batch_cancelling", "batch_failed"))
"""Codes of lines whose request no model has seen."""


@dataclass(frozen=True, slots=True)
class Line:
    """One response line. `status` and `body` are the model's response, None where the engine has none; `error` is what
    the engine itself says went wrong."""

    custom_id: str
    status: int | None = None
    body: Any = None
    error: Any = None


def read_line(content: bytes) -> Line | None:
    """The line's parts; None where it is none of a response file (cut, no JSON, without an id)."""
    try:
        data = parse_body(content)
    except ValueError:
        return None
    custom_id = data.get("custom_id") if isinstance(data, Mapping) else None
    if not isinstance(custom_id, str):
        return None
    response = data.get("response")
    if isinstance(response, Mapping):
        status = response.get("status_code")
        # vLLM writes 200 for what it has answered and may leave the status of an error to the body.
        known = status if isinstance(status, int) and not isinstance(status, bool) else None
        return Line(custom_id, known, response.get("body"), data.get("error"))
    return Line(custom_id, error=data.get("error"))


def outcome_of_line(line: Line, row: Row, endpoint: Endpoint) -> Reply | Terms | AttuneBenchError:
    """What a line says of the request in `row`.

    A reply; or the terms under which to ask again, where the server does not take a part of the request; or the error:
    ItemError where the request can never be answered, TransientError where it may be asked again as it is,
    ConfigurationError where something has to be mended first.
    """
    terms, request = _terms(row), _request(row)
    outcome = _read(line)
    if not isinstance(outcome, Fault):
        reply = without_key(outcome, endpoint)
        return replace(reply, structured=terms.rung, notes=terms.notes(request))
    fault = located(outcome, endpoint, answered=True, reask=row.ask)
    if fault.code and NEVER_TAKEN.intersection(fault.code.split()):
        return TransientError(f"The batch ended before the request was taken ({tidy(fault.message or fault.code)}).")
    try:
        further = adapted(terms, request, fault)
    except ConfigurationError as error:
        return error
    if further is None:
        return error_for(fault, endpoint)
    if further.ceiling is not None:
        return ConfigurationError(
            f"{endpoint.model} has no room for replies of {row.max_tokens:,} tokens; plan again with "
            f"--max-tokens {further.ceiling}."
        )
    return further


def _read(line: Line) -> Reply | Fault:
    if line.error and not isinstance(line.body, Mapping):
        described = error_in({"error": line.error})
        assert described is not None, "an error that says something describes itself"
        return fault_of_error(described, status=line.status or described.status or 0)
    if line.status is not None and not 200 <= line.status < 300:
        said = error_in(line.body) or error_in({"error": line.error or "no reason given"})
        assert said is not None
        return fault_of_error(said, status=line.status)
    return outcome_of_body(line.body)


def _terms(row: Row) -> Terms:
    return replace(first_terms(row.provider, row.structured, {"given_up": row.given_up}), recalled=False)


def _request(row: Row) -> Request:
    """A request with all that its terms look at, and none of its texts."""
    call = Call(
        id=row.call_id,
        conversation_id=row.conversation_id,
        mode=row.mode,
        turn=row.turn,
        kind=row.kind,
        messages=(Message("system", ""), Message("user", "")),
        asked=Asked(kind=row.kind),
        schema={},
    )
    parameters = row.sent_parameters
    return Request(
        call=call,
        messages=call.messages,
        max_tokens=row.max_tokens,
        temperature=parameters.get("temperature"),
        seed=parameters.get("seed"),
        timeout=0.0,
        reask=row.ask,
    )
