"""The backend for every OpenAI-compatible server: one request, one reply, no retries.

Owns the wire: the HTTP client, what goes over it, how a body is read. What a failure means stands in `faults`, what
can be given up to be understood in `negotiation`; a call's meaning is none of its business.
"""

from __future__ import annotations

import logging
import os
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import httpx

from attunebench.backends.caught import fault_of_error, fault_of_exception, located, without_key
from attunebench.backends.faults import Fault, error_for
from attunebench.backends.negotiation import Terms, adapted
from attunebench.backends.wire import error_in, error_in_text, looks_like_html, parse_body, read_completion
from attunebench.errors import ConfigurationError

if TYPE_CHECKING:
    from openai import AsyncOpenAI

    from attunebench.backends.base import Reply, Request
    from attunebench.backends.providers import Endpoint
    from attunebench.runner.settings import Structured

LONGEST_CONNECT = 30.0
"""Seconds for making a connection; the whole try has `Request.timeout`."""
_SDK_MARK = "x-stainless-raw-response"
"""The SDK marks a request by this header and looks at the mark again when the response is there."""
_OWN_HEADERS = frozenset(
    (_SDK_MARK, "host", "accept", "accept-encoding", "connection", "content-type", "content-length", "user-agent")
)
_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_CERTIFICATE_VARIABLES = ("SSL_CERT_FILE", "SSL_CERT_DIR")


class ChatBackend:
    """One model at one endpoint. What the server turned out not to accept is remembered for this object's life."""

    def __init__(self, endpoint: Endpoint, *, structured: Structured = "auto", concurrency: int = 16) -> None:
        self.provider = endpoint.provider
        self.model = endpoint.model
        self._endpoint = endpoint
        self._terms = Terms(structured, "max_completion_tokens" if endpoint.provider == "openai" else "max_tokens")
        self._answered = False
        self._client = _sdk_client(endpoint, _http_client(endpoint, concurrency))

    def __repr__(self) -> str:
        return f"ChatBackend({self.provider!r}, {self.model!r}, {self._endpoint.base_url!r})"

    async def complete(self, request: Request) -> Reply:
        """One try; where the server rejects a parameter, again at once without it.

        Raises TransientError, ItemError or ConfigurationError; their texts hold no part of the key.
        """
        terms = self._terms
        while True:
            start = time.perf_counter()
            outcome = await self._send(request, terms)
            if not isinstance(outcome, Fault):
                self._answered = True
                self._terms = self._terms.learned(terms)
                return replace(
                    without_key(outcome, self._endpoint),
                    latency=time.perf_counter() - start,
                    structured=terms.rung,
                    notes=terms.notes(request),
                )
            fault = located(outcome, self._endpoint, answered=self._answered, reask=request.reask)
            further = adapted(terms, request, fault)
            if further is None:
                # The SDK's exception holds the request with its key, so it does not travel along as the cause.
                raise error_for(fault, self._endpoint) from None
            terms = further

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _send(self, request: Request, terms: Terms) -> Reply | Fault:
        import openai

        body = terms.body(request)
        timeout = httpx.Timeout(request.timeout, connect=min(request.timeout, LONGEST_CONNECT))
        try:
            raw = await self._client.chat.completions.with_raw_response.create(
                model=self.model,
                # Typed parameters are walked through key by key, which takes longer than all the rest; the body is not.
                messages=[],
                extra_body=body,
                timeout=cast("Any", timeout),
            )
        except (openai.OpenAIError, httpx.HTTPError, httpx.InvalidURL) as error:
            return fault_of_exception(error)
        response = raw.http_response
        headers = {str(name).lower(): str(value) for name, value in response.headers.items()}
        return _read(response.content, response.status_code, headers)


def _read(content: bytes, status: int, headers: dict[str, str]) -> Reply | Fault:
    """The reply in a body under a status of success, or why there is none."""
    if looks_like_html(content):
        return Fault(line="html", message=error_in_text(content).message, headers=headers, parsed=False)
    try:
        body = parse_body(content)
    except ValueError:
        reason = "the body was cut or is no JSON" if content.strip() else "the body was empty"
        return Fault(line="body", message=reason, headers=headers, parsed=False)
    if error := error_in(body):
        return fault_of_error(error, status=status, headers=headers)
    reply = read_completion(body)
    return reply or Fault(line="body", message="there was no choice in it", headers=headers)


def _http_client(endpoint: Endpoint, concurrency: int) -> httpx.AsyncClient:
    """An HTTP client for one host: no redirects (a key would follow), no proxy for this machine's own servers."""
    limits = httpx.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)
    try:
        # A transport of our own keeps the client from reading the proxy variables.
        transport = httpx.AsyncHTTPTransport(limits=limits) if endpoint.is_this_machine else None
        return httpx.AsyncClient(
            transport=transport,
            limits=limits,
            follow_redirects=False,
            event_hooks={"request": [_header_guard(endpoint)]},
        )
    except (ImportError, ValueError, OSError, httpx.InvalidURL) as error:
        names = [v for v in (*_PROXY_VARIABLES, *_CERTIFICATE_VARIABLES) for v in (v, v.lower()) if os.environ.get(v)]
        # The values may hold a proxy's password, and so may the error's text.
        cause = "socks proxies need the package socksio" if isinstance(error, ImportError) else type(error).__name__
        where = (
            f"check the environment variables {', '.join(names)}" if names else "check proxy and certificate settings"
        )
        raise ConfigurationError(f"No connection can be set up ({cause}): {where}.") from None


def _header_guard(endpoint: Endpoint) -> Any:
    """A hook that lets only our own headers leave: the SDK adds some that it finds in OPENAI_* variables."""
    organisation = {"openai-organization", "openai-project"} if endpoint.provider == "openai" else set()
    kept = _OWN_HEADERS | organisation | {name.lower() for name in endpoint.headers}
    authorization = f"Bearer {endpoint.key.get_secret_value()}"

    async def guard(request: httpx.Request) -> None:
        for name in [name for name in request.headers if name.lower() not in kept]:
            del request.headers[name]
        request.headers["Authorization"] = authorization
        request.headers.update(endpoint.headers)

    return guard


def _sdk_client(endpoint: Endpoint, http_client: httpx.AsyncClient) -> AsyncOpenAI:
    from openai import AsyncOpenAI

    _quieten()
    # openai 3 types the client as httpx2's and takes httpx's too.
    return AsyncOpenAI(
        api_key=endpoint.key.get_secret_value(),
        base_url=endpoint.base_url,
        max_retries=0,
        http_client=cast("Any", http_client),
    )


def _quieten() -> None:
    """httpx writes a line with the URL for every request at INFO; whoever set its level keeps it."""
    for name in ("httpx", "httpx2", "openai"):
        logger = logging.getLogger(name)
        if logger.level == logging.NOTSET:
            logger.setLevel(logging.WARNING)
