"""From a client's exceptions to a `Fault`; and removes the key from what is shown or kept of a response."""

from __future__ import annotations

import re
import socket
import ssl
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from attunebench.backends.base import Reply
from attunebench.backends.faults import Fault, Line
from attunebench.backends.providers import Endpoint
from attunebench.backends.wire import tidy
from attunebench.text import printable

SHORTEST_SECRET = 16  # characters: a shorter key may be an ordinary word, and is removed from errors only
LONGEST_HEADER = 200  # characters of a header's value that are kept with a reply
_KEPT = frozenset((
    "apim-request-id", "cf-ray", "date", "openai-processing-ms", "openai-version", "request-id", "retry-after",
    "retry-after-ms", "server", "via", "x-amzn-requestid", "x-generation-id", "x-request-id",
))  # fmt: skip
_KEPT_FAMILIES = ("x-ratelimit-", "ratelimit", "anthropic-ratelimit-", "x-inference-")
_KEY_LIKE = re.compile(r"\b(sk|pk|pit|rk)[-_][\w*.-]{6,}")


def fault_of_exception(error: Exception) -> Fault:
    """A fault from what a client raised, by the nearest class that `EXCEPTIONS` knows. Anything else is raised."""
    # The SDK has one class for all network errors, and aiohttp one for every broken connection: their causes say more.
    order = {"aiohttp": 0, "openai": 2}
    for cause in sorted(_causes(error), key=lambda each: order.get(type(each).__module__.partition(".")[0], 1)):
        if name := next((cls.__name__ for cls in type(cause).__mro__ if cls.__name__ in EXCEPTIONS), None):
            return _fault_of(cause, *EXCEPTIONS[name])
    raise error


_ROWS: tuple[tuple[Line, str | None, str], ...] = (
    ("unreachable", None, "ClientConnectorError ServerFingerprintMismatch ConnectError ConnectionRefusedError gaierror "
     "herror ProxyConnectionError"),
    ("unreachable", "it could not be established in time", "ConnectionTimeoutError ConnectTimeout PoolTimeout "
     "ProxyTimeoutError"),
    ("proxy", None, "ClientHttpProxyError ProxyError"),
    ("connection", None, "ClientConnectionError ClientPayloadError UploadAbortedError ClientError NetworkError OSError "
     "EOFError APIConnectionError"),
    ("timeout", "", "ServerTimeoutError TimeoutError TimeoutException APITimeoutError"),
    ("timeout", "no data arrived for too long", "SocketTimeoutError"),
    ("body", None, "ClientResponseError HttpProcessingError RemoteProtocolError TooLargeError"),
    ("encoding", "the body was not compressed as declared", "DecodingError"),
    ("address", None, "InvalidURL NonHttpUrlClientError RedirectClientError TooManyRedirects UnsupportedProtocol"),
    ("client", None, "LocalProtocolError WSServerHandshakeError WSMessageTypeError ValueError"),
)  # fmt: skip
EXCEPTIONS = {name: (line, says) for line, says, names in _ROWS for name in names.split()}
"""Exception class of aiohttp, its SOCKS companion, httpx or the system, by name since releases differ in which they
have → the kind of network error, and a message in place of the exception's own."""
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "UNKNOWN_PROTOCOL", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE")
"""What the TLS library says where the other side speaks plain HTTP."""


def _fault_of(error: BaseException, line: Line, says: str | None) -> Fault:
    causes = _causes(error)
    texts = " ".join(f"{type(cause).__name__} {cause}" for cause in causes)
    if line == "proxy":
        # Its own text repeats the proxy's address.
        status = getattr(error, "status", None) or int((re.match(r"\d{3}\b", str(error)) or "0")[0])
        if status:
            message = tidy(str(getattr(error, "message", "")) or str(error)[4:])
            return Fault(status=status, line="proxy", message=f"the proxy answered {status} {message}".rstrip())
        line = "unreachable"  # a SOCKS proxy
    elif "ContentEncodingError" in texts or "content-encoding" in texts:
        line, says = EXCEPTIONS["DecodingError"]
    elif line == "body" and ("disconnected" in texts or "closed connection" in texts):
        line = "connection"
    for cause in causes if line in ("unreachable", "connection") else ():
        # The most specific cause decides.
        if isinstance(cause, ssl.SSLCertVerificationError):
            line = "certificate"
        elif isinstance(cause, ssl.SSLError) and getattr(cause, "reason", "") in _NO_TLS:
            line = "no tls"
        elif isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN:
            line = "unknown host"
    if says is None:  # the words of the innermost cause that has some; of a half-read response they are no text
        words = (getattr(cause, "message", None) or str(cause) for cause in reversed(causes))
        words = (tidy(each) if isinstance(each, str) else "the server closed the connection" for each in words)
        says = next(filter(None, words), type(causes[-1]).__name__)
    return Fault(line=line, message=says)


def _causes(error: BaseException | None) -> list[BaseException]:
    causes: dict[int, BaseException] = {}
    while error is not None and id(error) not in causes:
        causes[id(error)] = error
        # The client hides some causes.
        error = error.__cause__ or error.__context__ or getattr(error, "os_error", None)
    return [*causes.values()]


def located(
    fault: Fault, endpoint: Endpoint, answered: bool, reask: int, *, known: bool = False, elapsed: float | None = None
) -> Fault:
    """The fault with what only the backend knows, and without any part of the key in what the server said."""
    words: dict[str, Any] = {name: scrubbed(getattr(fault, name), endpoint) for name in ("message", "param")}
    words["headers"] = {**fault.headers, "location": scrubbed(fault.headers.get("location", ""), endpoint)}
    return replace(fault, **words, answered=answered, known=known or answered, reask=reask, elapsed=elapsed)


def kept_headers(headers: Mapping[str, str], endpoint: Endpoint) -> dict[str, str]:
    """Of a response's headers those that help to trace a reply: few, short, printable, and without the key."""
    kept: dict[str, str] = {}
    for name, value in headers.items():
        lower = name.lower()
        if (lower in _KEPT or lower.startswith(_KEPT_FAMILIES)) and len(kept) < 40:
            plain = len(value) <= LONGEST_HEADER and value.isascii() and value.isprintable()
            kept[lower[:LONGEST_HEADER]] = scrubbed(value if plain else printable(value, LONGEST_HEADER), endpoint)
    return kept


def without_key(reply: Reply, endpoint: Endpoint) -> Reply:
    """The reply as it may be written to a file: servers that repeat request headers repeat the key."""
    key, changed = endpoint.key.get_secret_value(), dict[str, Any]()
    if endpoint.key_source != "none" and len(key) >= SHORTEST_SECRET:
        texts = {name: getattr(reply, name) for name in ("text", "reasoning", "refusal")}
        changed = {name: text.replace(key, "***") for name, text in texts.items() if text and key in text}
    names = {name: getattr(reply, name) for name in ("model", "provider")}
    changed |= {name: scrubbed(text, endpoint) for name, text in names.items() if text not in (None, endpoint.model)}
    return replace(reply, **changed) if changed else reply


def scrubbed(text: str, endpoint: Endpoint) -> str:
    """Without the key, which servers may repeat in errors, whole or masked in the middle."""
    key = endpoint.key.get_secret_value()
    if endpoint.key_source != "none":
        text = text.replace(key, "***")
        if len(key) >= SHORTEST_SECRET and (key[:6] in text or key[-6:] in text):
            text = re.sub(rf"\S*({re.escape(key[:6])}|{re.escape(key[-6:])})\S*", "***", text)
    return _KEY_LIKE.sub("***", text)
