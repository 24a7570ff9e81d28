"""The endpoints of OpenAI's batch service: what goes over the wire, what failures mean, how they are waited out."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from openai import APIStatusError, Omit, omit

from attunebench.backends.caught import fault_of_exception, located, scrubbed
from attunebench.backends.faults import Fault, error_for
from attunebench.backends.providers import Endpoint, unsent
from attunebench.backends.transport import CLIENT_ERRORS, open_client
from attunebench.backends.wire import amount, error_in, fault_of_response, looks_like_html, parse_body, tidy
from attunebench.batches.requests import URL
from attunebench.errors import UNBILLED, AttuneBenchError, ConfigurationError, TransientError, Trouble, UsageError
from attunebench.runner.settings import RunSettings

T = TypeVar("T")

PROVIDERS_WITH_BATCHES = ("openai", "local")
MARK = "attunebench"  # the key in a batch's metadata that holds our own name of it
TIMEOUT = 60.0  # seconds for one request, files apart
SLOWEST = 50_000.0  # bytes a second, below which an upload is aborted
MOST_TRIES = 12  # failures in a row after which a service counts as out of reach
LONGEST_WAIT = 600.0  # seconds between two tries, unless the service asks for more
_TOKEN_LIMIT = re.compile(r"token_limit_exceeded|enqueued.{0,20}token|token.{0,40}enqueued", re.I)
_NO_FILE_YET = re.compile(r"(cannot|could not|can't) find file|no such file|file.{0,80}not (found|ready)", re.I)


class NoSuchBatchError(ConfigurationError):
    """The service does not know a batch or file of this id."""


class RefusedError(ConfigurationError):
    """The service certainly did not accept a batch: none exists."""


class TooMuchError(RefusedError):
    """A batch or its file is too large: fewer requests at a time may work."""


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch as the service sees it. `mark`: our own name of it; `files`: of its lines, first the answers, then the
    errors; `completed` and `failed` count requests; `created`: seconds since 1970 by the service's clock. `problems`
    are what it says is wrong, `full` that it failed for exceeding the service's limit now."""

    id: str
    status: str
    mark: str | None = None
    input_file: str | None = None
    files: tuple[str, ...] = ()
    completed: int = 0
    failed: int = 0
    created: float | None = None
    problems: tuple[str, ...] = ()
    full: bool = False

    @property
    def ended(self) -> bool:
        return self.status in ("completed", "expired", "cancelled", "failed")


def read_batch(body: Any, endpoint: Endpoint) -> Batch:
    """A batch from the JSON of it, without the endpoint's key. Raises ValueError for what is none."""
    identifier, status = _needed(body, "id"), tidy(_needed(body, "status"))
    errors, counts = body.get("errors"), body.get("request_counts")
    errors = errors.get("data") if isinstance(errors, Mapping) else errors
    entries = errors if isinstance(errors, list) else []
    counts = counts if isinstance(counts, Mapping) else {}
    return Batch(
        id=identifier,
        status=status,
        mark=_text(body.get("metadata"), MARK),
        input_file=_text(body, "input_file_id"),
        files=tuple(filter(None, (_text(body, "output_file_id"), _text(body, "error_file_id")))),
        completed=int(amount(counts.get("completed"), 1e9) or 0),
        failed=int(amount(counts.get("failed"), 1e9) or 0),
        created=amount(body.get("created_at"), 1e11),
        problems=tuple(scrubbed(_problem(entry), endpoint) for entry in entries),
        full=status == "failed" and _TOKEN_LIMIT.search(json.dumps(entries, default=str)) is not None,
    )


def _problem(entry: Any) -> str:
    said, line = error_in({"error": entry}), entry.get("line") if isinstance(entry, Mapping) else None
    where = f" (line {line})" if type(line) is int else ""
    return ((said.message or said.code) if said is not None else "no reason given") + where


def _text(body: Any, key: str) -> str | None:
    value = body.get(key) if isinstance(body, Mapping) else None
    return value if isinstance(value, str) and value.strip() else None


def _needed(body: Any, key: str) -> str:
    if text := _text(body, key):
        return text
    raise ValueError(f"it has no {key}")


def refuse_what_does_not_fit(settings: RunSettings) -> None:
    """Raises UsageError for settings that no batch service supports."""
    em = next(iter(settings.models.values()))
    if settings.shard is not None:
        raise UsageError(
            "--batch does not work with --shard: one process submits all requests, and a service distributes them."
        )
    if em.provider not in PROVIDERS_WITH_BATCHES:
        raise UsageError(
            f"--batch: no batch service is known at {em.provider}; {' and '.join(PROVIDERS_WITH_BATCHES)} (with "
            "--base-url) may have one. `attune-bench plan` writes the requests into files for other engines."
        )
    here = unsent(em)
    for there in map(unsent, settings.judges):
        if (there.provider, there.base_url) != (here.provider, here.base_url):
            raise UsageError(
                f"--batch: the judge {there.model} is at {there.provider} ({there.base_url}), not where the batches "
                "go. Run without this judge, and add its votes later with `attune-bench rejudge`."
            )


@dataclass(eq=False)
class Service:
    """The batch service behind an endpoint, to be used as a context manager. What may pass is tried `tries` times after
    as long as the service asks for, else `interval` seconds, growing; `pausing` is told why, and how many seconds.

    Every method raises ConfigurationError for what no retry can fix, and TransientError for what has not passed."""

    endpoint: Endpoint
    interval: float = 0.0
    pausing: Callable[[str, float], None] = lambda _reason, _seconds: None
    tries: int = MOST_TRIES

    async def __aenter__(self) -> Service:
        self._answered, self._client = False, open_client(self.endpoint, connections=2)
        self._batch = partial(read_batch, endpoint=self.endpoint)
        self._files, self._batches = self._client.files.with_raw_response, self._client.batches.with_raw_response
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def upload(self, path: Path, name: str) -> str:
        """Upload a file of requests; its id. Raises TooMuchError where it is too large."""
        timeout = TIMEOUT + path.stat().st_size / SLOWEST

        async def send(**options: Any) -> Any:
            with path.open("rb") as content:
                return await self._files.create(file=(name, content, "application/jsonl"), **options)

        return await self._ask("POST", "/files", partial(_needed, key="id"), send, purpose="batch", timeout=timeout)

    async def create(self, file: str, mark: str) -> Batch:
        """Make a batch of a file. Not repeated where it may have been made; RefusedError where certainly none was."""
        create = partial(self._batches.create, input_file_id=file, completion_window="24h", metadata={MARK: mark})
        return await self._ask("POST", "/batches", self._batch, create, endpoint=URL, only=UNBILLED)

    async def look(self, batch: str) -> Batch:
        """The current state of a batch. Raises NoSuchBatchError."""
        return await self._ask("GET", f"/batches/{batch}", self._batch, self._batches.retrieve, batch)

    async def cancel(self, batch: str) -> Batch:
        path = f"/batches/{batch}/cancel"
        return await self._ask("POST", path, self._batch, self._batches.cancel, batch, extra_body={})

    async def batches(self) -> list[Batch]:
        """All batches that the key may see, the newest first."""
        found: dict[str, Batch] = {}
        after: str | Omit = omit
        while True:
            listed = partial(self._batches.list, limit=100, after=after)
            page, more = await self._ask("GET", "/batches", self._page, listed)
            # A server without paging returns the same page for ever.
            more = more and not all(batch.id in found for batch in page)
            found |= {batch.id: batch for batch in page}
            if not more:
                return [*found.values()]
            after = page[-1].id

    async def download(self, file: str, into: BinaryIO) -> None:
        """Append a file's content. Raises NoSuchBatchError, and OSError where there is no room."""
        begin = into.tell()

        async def fetch() -> None:
            into.seek(begin)
            into.truncate()
            async with aclosing(self._parts(file)) as parts:
                async for part in parts:
                    into.write(part)
            into.write(b"\n")

        await self._patiently(fetch)

    async def delete(self, file: str) -> None:
        """Delete an uploaded file; tried once."""
        await self._ask("DELETE", f"/files/{file}", lambda body: body, self._files.delete, file, only=())

    async def _parts(self, file: str) -> AsyncGenerator[bytes, None]:
        with self._reading("GET", f"/files/{file}/content"):
            async with self._client.files.with_streaming_response.content(file, timeout=None) as response:
                async for part in response.iter_bytes():
                    yield part

    async def _ask(
        self,
        method: str,
        path: str,
        read: Callable[[Any], T],
        send: Callable[..., Awaitable[Any]],
        *identifiers: str,
        only: Collection[Trouble] | None = None,
        timeout: float = TIMEOUT,
        **options: Any,
    ) -> T:
        """What `read` makes of the JSON body of a successful response; the SDK's own types would drop parts."""

        async def once() -> T:
            with self._reading(method, path):
                content = (await send(*identifiers, timeout=timeout, **options)).content
            try:
                body = parse_body(content)
            except ValueError:
                fault = Fault(line="html" if looks_like_html(content) else "body", parsed=False)
                raise self._error(fault, method, path) from None
            self._answered = True
            try:
                return read(body)
            except ValueError as error:
                raise self._error(Fault(line="body", message=str(error)), method, path) from None

        return await self._patiently(once, only)

    async def _patiently(self, act: Callable[[], Awaitable[T]], only: Collection[Trouble] | None = None) -> T:
        """Retry until it works; with `only`, after errors of these kinds alone."""
        for number in count(1):
            try:
                return await act()
            except TransientError as error:
                if number == self.tries or (only is not None and error.kind not in only):
                    raise
                wait = max(error.retry_after or 0.0, min(LONGEST_WAIT, self.interval * 2.0 ** (number - 1)))
                self.pausing(str(error), wait)
            await asyncio.sleep(wait)
        raise AssertionError("unreachable")

    def _page(self, body: Any) -> tuple[list[Batch], bool]:
        data = body.get("data") if isinstance(body, Mapping) else None
        if not isinstance(data, list):
            raise ValueError("its list of batches is not in the expected format")
        return [*map(self._batch, data)], body.get("has_more") is True

    @contextmanager
    def _reading(self, method: str, path: str) -> Iterator[None]:
        try:
            yield
        except APIStatusError as error:
            fault = fault_of_response(error.status_code, error.response.content)
            raise self._error(replace(fault, headers=dict(error.response.headers)), method, path) from None
        except CLIENT_ERRORS as error:
            raise self._error(fault_of_exception(error), method, path) from None

    def _error(self, fault: Fault, method: str, path: str) -> AttuneBenchError:
        fault = located(fault, self.endpoint, answered=self._answered, reask=0)
        status, says = fault.status, f": {fault.message}" if fault.message else ""
        where = f"{self.endpoint.provider} at {self.endpoint.base_url}"
        creating = method == "POST" and path in ("/batches", "/files")
        if method == "POST" and status in (400, 404) and _NO_FILE_YET.search(fault.text):
            return TransientError(f"{where} does not find the uploaded file yet{says}.", kind="starting")
        if status == 404 and path.count("/") > 1:
            return NoSuchBatchError(f"{where} does not know {path.strip('/')} (404){says}.")
        if status in (404, 405, 501):
            return RefusedError(
                f"{where} has no batch service ({path} answers {status}){says}. Run without --batch, or write the "
                "requests to files with `attune-bench plan`."
            )
        if fault.line == "html" and not self._answered:
            return ConfigurationError(f"{where}{path} answers with a web page: check the base URL.")
        if fault.line in ("html", "body"):
            return TransientError(f"{where} gave no usable answer for {path}{says}.", kind="body")
        if status in (400, 409) and path.endswith("/cancel"):
            return RefusedError(f"{where} does not cancel {path.strip('/').removesuffix('/cancel')}{says}.")
        too_large = path == "/files" and status == 400 and "too large" in fault.text.lower()
        if creating and (status == 413 or too_large or (status in (400, 429) and _TOKEN_LIMIT.search(fault.text))):
            return TooMuchError(f"{where} did not accept a batch of this size{says}.")
        error = error_for(fault, self.endpoint)
        if creating and isinstance(error, ConfigurationError) and 400 <= status < 500:
            return RefusedError(str(error))
        if not isinstance(error, ConfigurationError | TransientError):
            return RefusedError(f"{where} did not accept {path.strip('/')} ({status}){says}.")
        return error
