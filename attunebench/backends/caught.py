"""From what was caught on the wire to a `Fault`: exceptions of the SDK and of the HTTP client, and error bodies.

Only describes; what a fault means stands in `faults`. No part of the key survives in what it describes.
"""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from attunebench.backends.faults import Fault, Line
from attunebench.backends.wire import ServerError, error_in_text, tidy

if TYPE_CHECKING:
    from attunebench.backends.base import Reply
    from attunebench.backends.providers import Endpoint

SHORTEST_SECRET = 16
"""Characters: a shorter key may be an ordinary word, which is only taken out of errors."""


def fault_of_error(error: ServerError, *, status: int, headers: Mapping[str, str], parsed: bool = True) -> Fault:
    """A fault from a status and what its body says; the status inside an error body under 200 counts."""
    return Fault(
        status=error.status or 0 if 200 <= status < 300 else status,
        line="error body" if 200 <= status < 300 else "",
        message=error.message,
        code=error.code,
        param=error.param,
        metadata=error.metadata,
        headers=headers,
        parsed=parsed,
    )


def fault_of_exception(error: Exception) -> Fault:
    """A fault from an exception of the SDK or of the HTTP client: by the nearest class that `EXCEPTIONS` knows."""
    for cls in type(error).__mro__:
        if cls.__name__ in EXCEPTIONS:
            return EXCEPTIONS[cls.__name__](error)
    raise error


def _status(error: Exception) -> Fault:
    response: Any = getattr(error, "response", None)
    content = response.content
    headers = {str(name).lower(): str(value) for name, value in response.headers.items()}
    said = error_in_text(content)
    # A gateway's page or a plain "404 page not found" is not the API speaking about its models.
    parsed = content.lstrip()[:1] in (b"{", b"[", b'"')
    return fault_of_error(said, status=response.status_code, headers=headers, parsed=parsed)


def _timeout(_: Exception) -> Fault:
    return Fault(line="timeout")


def _connection(error: Exception) -> Fault:
    causes = list(_causes(error))
    if any(isinstance(cause, ssl.SSLCertVerificationError) for cause in causes):
        line: Line = "certificate"
    elif any(isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN for cause in causes):
        line = "unknown host"
    elif any(type(cause).__name__ in ("UnsupportedProtocol", "InvalidURL", "LocalProtocolError") for cause in causes):
        line = "address"
    else:
        line = "connection"
    return Fault(line=line, message=_last_words(causes))


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def _last_words(causes: list[BaseException]) -> str:
    """The innermost cause that says something, with its kind where it says nothing."""
    inner = causes[1:] or causes
    said = next((text for cause in reversed(inner) if (text := tidy(str(cause)))), "")
    return said or type(inner[-1]).__name__


def _body(error: Exception) -> Fault:
    return Fault(line="body", message=tidy(str(error)))


def _client(error: Exception) -> Fault:
    return Fault(line="client", message=tidy(str(error)))


def _refused(_: Exception) -> Fault:
    return Fault(status=400, code="content_filter")


EXCEPTIONS: Mapping[str, Callable[[Exception], Fault]] = {
    "APITimeoutError": _timeout,
    "APIConnectionError": _connection,
    "BadRequestError": _status,
    "AuthenticationError": _status,
    "OAuthError": _status,
    "PermissionDeniedError": _status,
    "NotFoundError": _status,
    "ConflictError": _status,
    "UnprocessableEntityError": _status,
    "RateLimitError": _status,
    "InternalServerError": _status,
    "APIStatusError": _status,
    "APIResponseValidationError": _body,
    "APIError": _body,
    "LengthFinishReasonError": _body,
    "ContentFilterFinishReasonError": _refused,
    "SubjectTokenProviderError": _client,
    "InvalidWebhookSignatureError": _client,
    "WebSocketConnectionClosedError": _connection,
    "WebSocketQueueFullError": _client,
    "OpenAIError": _client,
    "TimeoutException": _timeout,
    "InvalidURL": _connection,
    "HTTPError": _connection,
}
"""Exception class of openai or httpx, by name since their releases differ in which they have → how to read it."""


def located(fault: Fault, endpoint: Endpoint, *, answered: bool, reask: int) -> Fault:
    """The fault with what only the backend knows, and without any part of the key in what the server said."""
    headers = {**fault.headers, "location": _scrubbed(fault.headers.get("location", ""), endpoint)}
    return replace(
        fault,
        message=_scrubbed(fault.message, endpoint),
        param=_scrubbed(fault.param, endpoint),
        headers=headers,
        answered=answered,
        reask=reask,
    )


def without_key(reply: Reply, endpoint: Endpoint) -> Reply:
    """The reply as it may be written to a file: servers that repeat a request's head repeat its key."""
    key = endpoint.key.get_secret_value()
    secret = endpoint.key_source != "none" and len(key) >= SHORTEST_SECRET
    told = (reply.text, reply.reasoning, reply.refusal)
    if secret and any(key in said for said in told if said):
        text, reasoning, refusal = (said and said.replace(key, "***") for said in told)
        reply = replace(reply, text=text, reasoning=reasoning, refusal=refusal)
    names = {reply.model, reply.provider} - {None, endpoint.model}
    if not names:
        return reply
    model, provider = (
        _scrubbed(name, endpoint) if name is not None and name in names else name
        for name in (reply.model, reply.provider)
    )
    return replace(reply, model=model, provider=provider)


def _scrubbed(said: str, endpoint: Endpoint) -> str:
    """Servers like to repeat the key in their errors, whole or with stars in its middle."""
    key = endpoint.key.get_secret_value()
    if endpoint.key_source != "none":
        said = said.replace(key, "***")
        if len(key) >= SHORTEST_SECRET:
            said = re.sub(rf"\S*({re.escape(key[:6])}|{re.escape(key[-6:])})\S*", "***", said)
    return re.sub(r"\b(sk|pk|pit|rk)[-_][\w*.-]{6,}", "***", said)
