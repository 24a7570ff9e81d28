"""Each endpoint's failures come out as what they are: to be mended, to be tried again, or too much at once."""

from __future__ import annotations

import asyncio
import gc
import io
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import pytest
from batch_server import BatchServer
from keys import KEY
from pydantic import SecretStr

from attunebench.backends.providers import Endpoint
from attunebench.batches.service import (
    Batch,
    NoSuchBatchError,
    RefusedError,
    Service,
    TooMuchError,
    read_batch,
)
from attunebench.errors import UNBILLED, AttuneBenchError, ConfigurationError, TransientError
from attunebench.selftest.server import Broken, Status

ENDPOINT = Endpoint("local", "fake-model", "http://127.0.0.1:9/v1", SecretStr(KEY), "--api-key")
Act = Callable[[Service], Awaitable[Any]]


async def _upload(service: Service) -> str:
    with NamedTemporaryFile() as file:
        return await service.upload(Path(file.name), "x.jsonl")


ACTS: dict[str, Act] = {
    "upload": _upload,
    "create": lambda service: service.create("file-1", "tag.1"),
    "look": lambda service: service.look("batch_1"),
    "cancel": lambda service: service.cancel("batch_1"),
    "list": lambda service: service.batches(),
    "download": lambda service: service.download("file-1", io.BytesIO()),
    "delete": lambda service: service.delete("file-1"),
}


def outcome(url: str, act: Act) -> Any:
    """What an act gives or raises."""

    async def do() -> Any:
        async with Service(replace(ENDPOINT, base_url=url), tries=1) as service:
            return await act(service)

    try:
        return asyncio.run(do())
    except AttuneBenchError as error:
        return error


def failing(behaviour: Any, act: str) -> AttuneBenchError:
    with BatchServer(before=lambda _: behaviour) as server:
        error = outcome(server.url, ACTS[act])
    assert isinstance(error, AttuneBenchError)
    assert KEY not in str(error)
    return error


@pytest.mark.parametrize("act", ACTS)
@pytest.mark.parametrize("status", [401, 402, 403])
def test_key_and_money_are_for_the_user_to_mend(act: str, status: int) -> None:
    error = failing(Status(status, {"error": {"message": f"no, {KEY}"}}), act)
    assert isinstance(error, ConfigurationError)


@pytest.mark.parametrize("act", ACTS)
def test_a_rate_limit_says_how_long(act: str) -> None:
    error = failing(Status(429, {"error": {"message": "Rate limit reached"}}, {"retry-after": "7"}), act)
    assert isinstance(error, TransientError)
    assert (7.0, "rate") == (error.retry_after, error.kind)


@pytest.mark.parametrize("act", [act for act in ACTS if act != "download"])
def test_a_web_page_in_place_of_an_answer_is_a_wrong_address(act: str) -> None:
    error = failing(Status(200, "<!doctype html><title>Welcome</title>"), act)
    assert isinstance(error, ConfigurationError)
    assert "web page" in str(error)


def test_a_server_without_the_endpoints_is_told_from_an_id_that_it_does_not_know() -> None:
    missing = Status(404, {"error": {"message": "Not Found"}})
    for act in ("upload", "create", "list"):
        error = failing(missing, act)
        assert "no batch service" in str(error), act
        assert not isinstance(error, NoSuchBatchError)
    for act in ("look", "cancel", "download", "delete"):
        assert isinstance(failing(missing, act), NoSuchBatchError), act


def test_what_is_too_much_is_told_from_what_is_wrong() -> None:
    full = {"error": {"message": "Enqueued token limit reached", "code": "token_limit_exceeded"}}
    for act, behaviour in (
        ("create", Status(400, full)),
        ("create", Status(429, full)),
        ("upload", Status(413, "<html>Request Entity Too Large</html>")),
        ("upload", Status(400, {"error": {"message": "File is too large."}})),
    ):
        assert isinstance(failing(behaviour, act), TooMuchError), behaviour
    wrong = failing(Status(400, {"error": {"message": "Invalid value for endpoint"}}), "create")
    assert isinstance(wrong, RefusedError)
    assert not isinstance(wrong, TooMuchError)


def test_a_file_that_is_not_found_right_after_its_upload_is_waited_for() -> None:
    error = failing(Status(400, {"error": {"message": "Cannot find file file-1, or you have no access."}}), "create")
    assert isinstance(error, TransientError)
    assert error.kind in UNBILLED


@pytest.mark.parametrize("identifier", ["a/b?c#d", "../files/x", "a b", "ä", "%2e%2e", "..", "."])
def test_an_id_of_a_server_s_leads_to_no_other_resource(identifier: str) -> None:
    with BatchServer(before=lambda _: Status(200, {"id": identifier, "status": "completed"})) as server:
        found = outcome(server.url, lambda service: service.look(identifier))
        paths = [asked.path for asked in server.fake.asked]
    assert isinstance(found, Batch | ConfigurationError)
    assert all(path.startswith("/v1/batches/") and path.count("/") == 3 for path in paths)
    assert isinstance(found, Batch) == bool(paths)


def test_a_redirect_is_not_followed() -> None:
    error = failing(Status(307, "", {"location": "https://elsewhere.example/v1/files"}), "upload")
    assert isinstance(error, ConfigurationError)
    assert "redirects" in str(error)


def test_a_download_that_breaks_is_no_whole_file() -> None:
    assert isinstance(failing(Broken("length"), "download"), TransientError)


def test_a_server_that_knows_no_pages_is_read_once() -> None:
    """It gives the same page for ever, and says that there is more."""
    listed = {"data": [{"id": "batch_1", "status": "completed"}], "has_more": True}
    with BatchServer(before=lambda _: Status(200, listed)) as server:
        assert ["batch_1"] == [batch.id for batch in outcome(server.url, ACTS["list"])]
        assert 2 == len(server.asked)


def test_an_upload_goes_with_its_length_and_leaves_nothing_behind(tmp_path: Path) -> None:
    """Closed as soon as the answer is there, time and again: nobody reads on."""
    complaints: list[Any] = []
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"{}\n" * 30_000)

    async def upload(url: str) -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: complaints.append(context))
        async with Service(replace(ENDPOINT, base_url=url), tries=1) as service:
            for _ in range(20):
                await service.upload(path, "x.jsonl")
        gc.collect()

    with BatchServer() as server:
        asyncio.run(upload(server.url))
        assert {b"{}\n" * 30_000} == set(server.files.values())
        assert all("content-length" in asked.headers for asked in server.fake.asked)
    assert [] == complaints


@pytest.mark.parametrize(
    "body",
    [None, [], "batch", {}, {"id": 3, "status": "completed"}, {"id": "x"}, {"id": "x", "status": None}],
)
def test_what_is_no_batch_is_not_taken_for_one(body: Any) -> None:
    with pytest.raises(ValueError, match="it has no"):
        read_batch(body, ENDPOINT)


@pytest.mark.parametrize(
    "extra",
    [
        {},
        {"request_counts": None, "metadata": None, "errors": None, "created_at": None},
        {"request_counts": [1], "metadata": "x", "errors": "x", "created_at": "now"},
        {"request_counts": {"total": "9", "completed": -1, "failed": True}, "created_at": 1e300},
    ],
)
def test_a_batch_without_the_rest_is_read_all_the_same(extra: dict[str, Any]) -> None:
    batch = read_batch({"id": "x", "status": "in_progress", **extra}, ENDPOINT)
    assert (False, 0, 0, None, ()) == (
        batch.ended,
        batch.completed,
        batch.failed,
        batch.created,
        batch.files,
    )


def test_problems_of_any_shape_are_told() -> None:
    errors = {"data": [{"code": "a", "message": "b \x1b[31m", "line": 7}, {"code": "c"}, "d", None]}
    batch = read_batch({"id": "x", "status": "failed", "errors": errors}, ENDPOINT)
    assert ["b (line 7)", "c", "d", "no reason given"] == [str(problem) for problem in batch.problems]
