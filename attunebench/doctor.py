"""Looks at an installation and says what is fit for a run and what is not: what is installed, the package's data, keys,
the output folder, a server. Changes and prints nothing. A key's value is never part of a finding, nor is its length."""

from __future__ import annotations

import asyncio
import json
import platform
import re
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, ParamSpec

from attunebench import eventloop
from attunebench._version import __version__
from attunebench.errors import AttuneBenchError, ConfigurationError
from attunebench.text import address_text, listed, printable

if TYPE_CHECKING:
    from httpx2 import Response

P = ParamSpec("P")

TIMEOUT = 5.0
"""Seconds that a server has for its list of models."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the examination. "note" is neither good nor bad: a key that is not there may not be needed."""

    state: Literal["ok", "note", "fail"]
    text: str


def _check(check: Callable[P, str | Finding]) -> Callable[P, Finding]:
    """A check that returns what is well, or raises what is not."""

    @wraps(check)
    def examined(*args: P.args, **options: P.kwargs) -> Finding:
        try:
            found = check(*args, **options)
        except AttuneBenchError as error:
            return Finding("fail", str(error))
        return found if isinstance(found, Finding) else Finding("ok", found)

    return examined


def examine(
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    output: Path = Path("results"),
) -> Iterator[Finding]:
    """All findings, as they are made. A server is asked only where `base_url` is given, and gets `api_key` alone."""
    yield Finding("ok", f"Python {platform.python_version()} on {platform.system()} ({sys.executable})")
    yield Finding("ok", f"attunebench {__version__}")
    yield dependencies()
    yield codebook()
    yield demonstration()
    yield from keys()
    yield writable(output)
    if base_url is not None:
        yield server(base_url, api_key)


@_check
def dependencies() -> str:
    """Which versions of the core dependencies are installed, and which are missing; those with a condition aside."""
    try:
        required = metadata.requires("attunebench") or []
    except metadata.PackageNotFoundError:
        problem = "the package itself is not installed (it was found on the path only): pip install ."
        raise ConfigurationError(problem) from None
    names = [match[0] for entry in required if ";" not in entry and (match := re.match(r"[\w.-]+", entry))]
    versions = {name: _version_of(name) for name in names}
    if missing := [name for name, version in versions.items() if version is None]:
        raise ConfigurationError(f"not installed: {', '.join(missing)}; install attunebench again with pip")
    return "with " + ", ".join(f"{name} {version}" for name, version in versions.items())


def _version_of(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


@_check
def codebook() -> str:
    """Whether the package's codebook can be read."""
    from attunebench.codebook import default_codebook

    book = default_codebook()
    asked = f"{len(book.binary)} binary and {len(book.pairwise)} pairwise questions"
    return f"codebook: {asked}, sha256 {book.sha256[:12]} ({book.origin})"


@_check
def demonstration() -> str:
    """Whether the bundled conversations are there and valid."""
    from attunebench.conversations.loading import demo_folder, load_conversations

    return f"demonstration conversations: {len(load_conversations(demo_folder()))} ({demo_folder()})"


def keys(environment: Mapping[str, str] | None = None) -> Iterator[Finding]:
    """For each provider that needs a key: where a run would find it, or where it would look."""
    from attunebench.backends.providers import PROVIDERS, resolve
    from attunebench.runner.settings import ModelSettings

    for provider in PROVIDERS.values():
        if not provider.key_variables:
            continue
        try:
            endpoint = resolve(ModelSettings(provider=provider.name, model="MODEL"), environment)
        except AttuneBenchError as error:
            yield Finding("note", str(error))
        else:
            yield Finding("ok", f"key for {provider.name}: found ({endpoint.key_source}), for {endpoint.base_url}")


@_check
def writable(folder: Path) -> str:
    """Whether a run could write into `folder`, which need not exist yet and is not made here."""
    place = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigurationError(
            f"output folder {folder}: {place} is not writable ({reason}); give another folder with --output"
        ) from None
    return f"output folder {folder}: writable"


@_check
def server(base_url: str, api_key: str | None = None) -> str | Finding:
    """Whether an OpenAI-compatible server answers at `base_url`: its list of models, or one sentence why not.

    Waits `TIMEOUT` seconds in all, follows no redirect, and passes by proxies where the host is this machine.
    """
    from pydantic import SecretStr

    from attunebench.backends.caught import fault_of_exception
    from attunebench.backends.prices import list_models
    from attunebench.backends.providers import resolve
    from attunebench.backends.transport import CLIENT_ERRORS, open_client
    from attunebench.runner.settings import ModelSettings

    async def asked() -> Response:
        async with open_client(endpoint, connections=1) as client:
            return await list_models(client, TIMEOUT)

    secret = SecretStr(api_key) if api_key else None
    endpoint = resolve(ModelSettings(provider="local", model="any", base_url=base_url, api_key=secret), {})
    url = endpoint.base_url
    try:
        response = eventloop.run(asked())
    except asyncio.TimeoutError:
        problem = f"no answer within {TIMEOUT:g} s; is the server still loading its model?"
    except CLIENT_ERRORS as error:
        fault = fault_of_exception(error)
        problem = f"not reachable ({fault.message}); is the server running, and are host and port right?"
        if fault.line in ("certificate", "no tls"):
            problem = (
                f"the TLS connection failed ({fault.message}); use http:// if the server has no TLS, or set "
                "SSL_CERT_FILE to its certificate authority"
            )
    else:
        problem = _problem(url, response)
    if problem:
        raise ConfigurationError(f"{url}: {problem}")
    return _models(url, response)


def _problem(url: str, response: Response) -> str:
    """What speaks against a server that gave this status; "" where nothing does."""
    status = response.status_code
    if status in (401, 403):
        return f"answers, but rejects the key (status {status}); give the right one with --api-key"
    if 300 <= status < 400:
        target = address_text(response.headers.get("location", "elsewhere"))
        return f"redirects to {target}; redirects are not followed, to protect the key; give that address"
    if status == 404:
        return f"there is no {url}/models; most servers want /v1 at the end of --base-url"
    return "" if status == 200 else f"answers with status {status}; see the server's log"


def _models(url: str, response: Response) -> str | Finding:
    try:
        answer: Any = json.loads(response.content)
    except (ValueError, RecursionError):
        problem = "answers, but not with JSON; is this the address of the API?"
        raise ConfigurationError(f"{url}: {problem}") from None
    entries = answer.get("data") if isinstance(answer, dict) else answer
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    models = [printable(name, 80) for name in names if isinstance(name, str)]
    if not models:
        return Finding("note", f"{url}: answers, but lists no models")
    return f"{url}: answers; models: {listed(models, most=11)}"
