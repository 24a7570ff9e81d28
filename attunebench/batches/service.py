"""The endpoints of OpenAI's batch service: one request, one result, no retries.

Owns what goes over the wire and what the service's own failures mean. `desk` decides when to send, `ledger` records
what was sent.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, BinaryIO

from openai import APIStatusError, Omit, omit

from attunebench.backends.caught import fault_of_exception, located, scrubbed
from attunebench.backends.faults import Fault, error_for
from attunebench.backends.transport import CLIENT_ERRORS, open_client
from attunebench.backends.wire import amount, error_in, fault_of_response, looks_like_html, parse_body, tidy
from attunebench.batches.requests import URL
from attunebench.errors import AttuneBenchError, ConfigurationError, TransientError

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai._legacy_response import LegacyAPIResponse

    from attunebench.backends.providers import Endpoint

MARK = "attunebench"
"""The key in a batch's metadata that holds our own name of it."""
TIMEOUT = 60.0
"""Seconds for one request, files apart."""
SLOWEST = 50_000.0
"""Bytes a second, below which an upload is aborted."""
_TOKEN_LIMIT = re.compile(r"token_limit_exceeded|enqueued.{0,20}token|token.{0,40}enqueued", re.I)
"""A batch exceeds what the service accepts at this moment."""
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


def read_batch(body: Any) -> Batch:
    """A batch from the JSON of it. Raises ValueError for what is none."""
    identifier, status = _text(body, "id"), _text(body, "status")
    if identifier is None or status is None:
        raise ValueError("no batch in it")
    errors, counts = body.get("errors"), body.get("request_counts")
    listed = errors.get("data") if isinstance(errors, Mapping) else errors
    entries = listed if isinstance(listed, list) else []
    counts = counts if isinstance(counts, Mapping) else {}
    return Batch(
        id=identifier,
        status=tidy(status),
        mark=_text(body.get("metadata"), MARK),
        input_file=_text(body, "input_file_id"),
        files=tuple(filter(None, (_text(body, "output_file_id"), _text(body, "error_file_id")))),
        completed=int(amount(counts.get("completed"), 1e9) or 0),
        failed=int(amount(counts.get("failed"), 1e9) or 0),
        created=amount(body.get("created_at"), 1e11),
        problems=tuple(map(_problem, entries)),
        full=status == "failed" and _TOKEN_LIMIT.search(json.dumps(entries, default=str)) is not None,
    )


def _problem(entry: Any) -> str:
    said, line = error_in({"error": entry}), entry.get("line") if isinstance(entry, Mapping) else None
    where = f" (line {line})" if type(line) is int else ""
    return ((said.message or said.code) if said is not None else "no reason given") + where


def _text(body: Any, key: str) -> str | None:
    value = body.get(key) if isinstance(body, Mapping) else None
    return value if isinstance(value, str) and value.strip() else None


@dataclass(slots=True, eq=False)
class Service:
    """The batch service behind an endpoint, to be used as a context manager.

    Every method raises ConfigurationError for what no retry can fix, and TransientError for what may pass;
    `TransientError.kind` tells whether the request may have been carried out (see `attunebench.errors.UNBILLED`).
    """

    endpoint: Endpoint
    _client: AsyncOpenAI = field(init=False, repr=False)
    _answered: bool = field(default=False, init=False, repr=False)

    async def __aenter__(self) -> Service:
        self._client = open_client(self.endpoint, connections=2)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.close()

    async def upload(self, content: BinaryIO, name: str, size: int) -> str:
        """Upload a file of requests; its id. Raises TooMuchError where it is too large."""
        file, timeout = (name, content, "application/jsonl"), TIMEOUT + size / SLOWEST
        files = self._client.files.with_raw_response
        body = await self._json("POST", "/files", files.create(file=file, purpose="batch", timeout=timeout))
        if identifier := _text(body, "id"):
            return identifier
        raise self._error(Fault(line="body", message="the file has no id"), "POST", "/files")

    async def create(self, file: str, mark: str) -> Batch:
        """Make a batch of an uploaded file. Raises RefusedError where certainly none was made."""
        endpoint: Any = URL
        made = self._client.batches.with_raw_response.create(
            input_file_id=file, endpoint=endpoint, completion_window="24h", metadata={MARK: mark}, timeout=TIMEOUT
        )
        return self._batch(await self._json("POST", "/batches", made))

    async def look(self, batch: str) -> Batch:
        """The current state of a batch. Raises NoSuchBatchError."""
        found = self._client.batches.with_raw_response.retrieve(batch, timeout=TIMEOUT)
        return self._batch(await self._json("GET", f"/batches/{batch}", found))

    async def cancel(self, batch: str) -> Batch:
        """Cancel the rest of a batch."""
        cancelled = self._client.batches.with_raw_response.cancel(batch, extra_body={}, timeout=TIMEOUT)
        return self._batch(await self._json("POST", f"/batches/{batch}/cancel", cancelled))

    async def batches(self) -> AsyncIterator[Batch]:
        """All batches that the key may see, the newest first."""
        seen: set[str] = set()
        after: str | Omit = omit
        while True:
            listed = self._client.batches.with_raw_response.list(limit=100, after=after, timeout=TIMEOUT)
            body = await self._json("GET", "/batches", listed)
            data = body.get("data") if isinstance(body, Mapping) else None
            if not isinstance(data, list):
                raise self._error(Fault(line="body", message="its list of batches is none"), "GET", "/batches")
            page = [self._batch(each) for each in data]
            new = [each for each in page if each.id not in seen]
            for batch in new:
                seen.add(batch.id)
                yield batch
            # A server without paging returns the same page for ever.
            if not new or body.get("has_more") is not True:
                return
            after = page[-1].id

    async def download(self, file: str) -> AsyncGenerator[bytes, None]:
        """A file's content as it comes."""
        with self._reading("GET", f"/files/{file}/content"):
            async with self._client.files.with_streaming_response.content(file, timeout=None) as response:
                async for part in response.iter_bytes():
                    yield part

    async def delete(self, file: str) -> None:
        """Delete an uploaded file."""
        await self._json("DELETE", f"/files/{file}", self._client.files.with_raw_response.delete(file, timeout=TIMEOUT))

    async def _json(self, method: str, path: str, asked: Awaitable[LegacyAPIResponse[Any]]) -> Any:
        """The whole JSON body of a successful response; the SDK's own types would drop parts."""
        with self._reading(method, path):
            content = (await asked).content
        try:
            body = parse_body(content)
        except ValueError:
            page = looks_like_html(content)
            raise self._error(Fault(line="html" if page else "body", parsed=False), method, path) from None
        self._answered = True
        return body

    @contextmanager
    def _reading(self, method: str, path: str) -> Iterator[None]:
        """Translates the client's exceptions into ours."""
        try:
            yield
        except APIStatusError as error:
            fault = fault_of_response(error.status_code, error.response.content)
            raise self._error(replace(fault, headers=dict(error.response.headers)), method, path) from None
        except CLIENT_ERRORS as error:
            raise self._error(fault_of_exception(error), method, path) from None

    def _error(self, fault: Fault, method: str, path: str) -> AttuneBenchError:
        """The error for a failed request."""
        fault = located(fault, self.endpoint, answered=self._answered, reask=0)
        status, says = fault.status, f": {fault.message}" if fault.message else ""
        where = f"{self.endpoint.provider} at {self.endpoint.base_url}"
        creating = method == "POST" and path in ("/batches", "/files")
        if method == "POST" and status in (400, 404) and _NO_FILE_YET.search(fault.text):
            return TransientError(f"{where} does not find the uploaded file yet{says}.", kind="starting")
        if status == 404 and path.count("/") > 1:
            return NoSuchBatchError(f"{where} knows no {path.strip('/')} (404){says}.")
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

    def _batch(self, body: Any) -> Batch:
        try:
            batch = read_batch(body)
        except ValueError as error:
            raise self._error(Fault(line="body", message=str(error)), "GET", "/batches") from None
        return replace(batch, problems=tuple(scrubbed(each, self.endpoint) for each in batch.problems))
