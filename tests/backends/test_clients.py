"""What leaves by this package's client, how trouble of the line is told with any client, and clients of the user's."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import openai
import pytest
from factory import write_conversations
from keys import KEY
from openai import AsyncAzureOpenAI, AsyncOpenAI, DefaultAioHttpClient
from pydantic import SecretStr

import attunebench
from attunebench import eventloop
from attunebench.backends import open_backend
from attunebench.backends.base import Reply, Request
from attunebench.backends.providers import NO_KEY, Endpoint, resolve
from attunebench.batches.service import Service
from attunebench.errors import AttuneBenchError, ConfigurationError, TransientError, UsageError
from attunebench.protocol.calls import Asked as CallAsked
from attunebench.protocol.calls import Call, Message
from attunebench.runner import ModelSettings, RunSettings
from attunebench.selftest.server import Answer, Broken, FakeServer, Hang, Raw, Status

MESSAGES = (Message("user", "Hello."),)
CALL = Call("c/default/1/draft", "c", "default", 1, "draft", MESSAGES, CallAsked("draft"), {"type": "object"})


def request(timeout: float = 20.0) -> Request:
    return Request(CALL, MESSAGES, max_tokens=10, temperature=None, seed=None, timeout=timeout)


def ended(settings: ModelSettings, timeout: float = 20.0) -> Reply | AttuneBenchError:
    """What one call ends in; a client of the settings is closed behind it."""

    async def asked() -> Reply | AttuneBenchError:
        backend = open_backend(settings)
        try:
            return await backend.complete(request(timeout))
        except AttuneBenchError as error:
            return error
        finally:
            await backend.aclose()
            if settings.client is not None:
                await settings.client.close()

    return asyncio.run(asked())


# What leaves


OURS = {"host", "user-agent", "accept", "accept-encoding", "authorization", "content-type", "content-length"}


@pytest.fixture
def _planted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything that the SDK reads of its own accord."""
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", "planted")
    headers = ("X-Planted", "Authorization", "Content-Type", "User-Agent", "Accept", "Host", "Cookie")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "\n".join(f"{name}: planted" for name in headers))
    monkeypatch.setenv("OPENAI_BASE_URL", "http://planted.invalid/v1")


@pytest.mark.usefixtures("_planted")
@pytest.mark.parametrize(("provider", "key"), [("local", None), ("local", KEY), ("openrouter", KEY)])
def test_a_call_leaves_with_our_headers_and_no_others(provider: str, key: str | None, server: FakeServer) -> None:
    secret = SecretStr(key) if key else None
    settings = ModelSettings(provider=provider, model="m", base_url=server.url, api_key=secret)
    assert isinstance(ended(settings), Reply)
    [asked] = server.asked
    assert set(asked.headers) == OURS
    assert "planted" not in str(asked.headers)
    expected = ("application/json", f"Bearer {key or NO_KEY}")
    assert expected == (asked.headers["content-type"], asked.headers["authorization"])


@pytest.mark.usefixtures("_planted")
def test_files_and_batches_leave_with_our_headers_and_no_others(tmp_path: Path) -> None:
    async def used(url: str) -> None:
        async with Service(Endpoint("local", "m", url, SecretStr(KEY), "--api-key")) as service:
            (tmp_path / "x.jsonl").write_bytes(b"{}\n")
            await service.upload(tmp_path / "x.jsonl", "x.jsonl")
            await service.create("file-1", "mark")

    said = Status(200, {"id": "x-1", "status": "validating"})
    with FakeServer(lambda _: said) as server:
        asyncio.run(used(server.url))
        for asked in server.asked:
            assert set(asked.headers) == OURS
            assert "planted" not in str(asked.headers)


def test_a_custom_header_of_the_sdk_s_that_cannot_be_sent_is_told(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Planted: é")
    settings = ModelSettings(provider="local", model="m", base_url=server.url)
    assert isinstance(ended(settings), Reply | ConfigurationError)


@pytest.mark.parametrize("status", [301, 303, 307, 308])
@pytest.mark.parametrize("location", ["http://other.example/v1", "//", "http://[", "ftp://x", "/else", "", "\xff"])
def test_no_redirect_is_followed_wherever_it_leads(status: int, location: str, server: FakeServer) -> None:
    server.script = [Status(status, b"", {"Location": location})]
    settings = ModelSettings(provider="prime", model="m", base_url=server.url, api_key=SecretStr(KEY))
    assert isinstance(ended(settings), ConfigurationError)
    assert 1 == len(server.asked)


# Trouble of the line, by any client


def ours(url: str) -> ModelSettings:
    return ModelSettings(provider="local", model="m", base_url=url)


def stock(url: str) -> ModelSettings:
    return ModelSettings(provider="local", model="m", client=AsyncOpenAI(api_key=KEY, base_url=url))


def over_aiohttp(url: str) -> ModelSettings:
    client = AsyncOpenAI(api_key=KEY, base_url=url, http_client=DefaultAioHttpClient())
    return ModelSettings(provider="local", model="m", client=client)


CLIENTS = pytest.mark.parametrize("client", [ours, stock, over_aiohttp], ids=lambda each: each.__name__)
Settings = Callable[[str], ModelSettings]
BAD_STATUS_LINE = Raw(b"no http at all\r\n\r\n")


@CLIENTS
@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        (Raw(b""), "line"),
        (Broken("reset", share=0.0), "line"),
        (Broken("reset", share=0.5), "line"),
        (Broken("length"), "line"),
        (BAD_STATUS_LINE, "body"),
        (Status(200, b"{"), "body"),
        (Broken("no gzip"), "body"),
        (Status(503, b""), "server"),
        (Status(429, b""), "rate"),
    ],
    ids=lambda value: value if isinstance(value, str) else str(value)[:40],
)
def test_trouble_of_the_line_is_of_its_kind(client: Settings, behaviour: Any, kind: str, server: FakeServer) -> None:
    server.script = [behaviour]
    error = ended(client(server.url))
    assert isinstance(error, TransientError), error
    assert kind == error.kind, error
    assert 1 == len(server.asked)


@CLIENTS
def test_a_refused_connection_was_none(client: Settings) -> None:
    with FakeServer() as server:
        pass
    error = ended(client(server.url))
    assert isinstance(error, TransientError)
    assert "connect" == error.kind


@CLIENTS
def test_an_unknown_host_is_no_connection(client: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    error = ended(client("http://nowhere.invalid/v1"))
    # A resolver that cannot be reached says so, and then the name may be right.
    assert isinstance(error, ConfigurationError) or (isinstance(error, TransientError) and error.kind == "connect")


@CLIENTS
@pytest.mark.parametrize("share", [0.0, 0.9])
def test_a_silent_server_times_out(client: Settings, share: float, server: FakeServer) -> None:
    server.script = [Hang(share=share)]
    error = ended(client(server.url), timeout=0.2)
    assert isinstance(error, TransientError)
    assert "timeout" == error.kind


@CLIENTS
def test_a_server_that_takes_no_connection_in_time_was_not_reached(client: Settings) -> None:
    with full_backlog() as url:
        error = ended(client(url), timeout=0.3)
    assert isinstance(error, TransientError)
    assert error.kind in ("connect", "timeout")


@contextmanager
def full_backlog() -> Iterator[str]:
    """A port whose queue of connections is full."""
    with socket.socket() as listening, socket.socket() as first, socket.socket() as second:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for each in (first, second):
            each.setblocking(False)
            each.connect_ex(listening.getsockname())
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/v1"


def test_the_same_length_twice_is_read_whatever_comes_in_which_piece(server: FakeServer) -> None:
    body = b'{"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}]}'
    length = f"Content-Length: {len(body)}\r\n".encode()
    server.script = [Raw(b"HTTP/1.1 200 OK\r\n" + length + b"X-Y: z\r\n" + length.lower() + b"\r\n" + body)]
    reply = ended(ours(server.url))
    assert isinstance(reply, Reply)
    assert "yes" == reply.text


def test_two_lengths_that_differ_are_no_http(server: FakeServer) -> None:
    server.script = [Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 20\r\n\r\n{}")]
    error = ended(ours(server.url))
    assert isinstance(error, TransientError)
    assert "body" == error.kind


# A client of the user's


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_conversations(tmp_path / "data", 1, turns=1)


def closing(client: AsyncOpenAI) -> None:
    """Close the client, which a run has left open, in the loop of its connections."""
    assert not client.is_closed()
    eventloop.run(client.close(), owner=client)


def test_runs_by_a_client_of_the_user_s_are_resumed_and_may_follow_each_other(
    data: Path, tmp_path: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)
    client = AsyncOpenAI(api_key=KEY, base_url=server.url, default_headers={"X-Mine": "1"})
    em = ModelSettings(provider="openrouter", model="fake-model")
    for folder, posted in (("one", 5), ("one", 5), ("two", 10)):
        attunebench.run(data, RunSettings(em=em, output=tmp_path / folder), client=client)
        assert posted == len(server.bodies)
    posts = [asked for asked in server.asked if asked.method == "POST"]
    assert {("1", f"Bearer {KEY}")} == {(asked.headers["x-mine"], asked.headers["authorization"]) for asked in posts}
    closing(client)


def test_the_run_s_tries_take_the_place_of_the_client_s(data: Path, tmp_path: Path, server: FakeServer) -> None:
    server.script = [Answer(), Status(503), Status(401, {"error": {"message": f"no such key {KEY}"}})]
    client = AsyncOpenAI(api_key=KEY, base_url=server.url, max_retries=5)
    settings = RunSettings(em=ModelSettings(provider="local", model="m"), output=tmp_path / "results", concurrency=1)
    with pytest.raises(ConfigurationError, match="credentials") as caught:
        attunebench.run(data, settings, client=client)
    assert 2 == len(server.bodies)
    assert KEY[:10] not in str(caught.value)
    closing(client)


def test_a_token_of_the_moment_is_in_no_error(server: FakeServer) -> None:
    async def token() -> str:
        return "rotating-token-0123456789"

    server.script = [Status(401, {"error": {"message": "unknown: rotating-token-0123456789"}})]
    client = AsyncOpenAI(api_key=token, base_url=server.url)
    error = ended(ModelSettings(provider="local", model="m", client=client))
    assert isinstance(error, ConfigurationError)
    assert "rotating" not in str(error)


def test_a_function_that_gets_no_token_stops_the_run_with_its_words(server: FakeServer) -> None:
    async def token() -> str:
        raise LookupError("the vault is sealed")

    error = ended(ModelSettings(provider="local", model="m", client=AsyncOpenAI(api_key=token, base_url=server.url)))
    assert isinstance(error, ConfigurationError)
    assert "the vault is sealed" in str(error)
    assert [] == server.asked


def test_azure_s_client_finds_its_deployment_by_the_model(server: FakeServer) -> None:
    client = AsyncAzureOpenAI(
        azure_endpoint=server.url.removesuffix("/v1"), api_version="2024-10-21", api_key="azure-key"
    )
    server.script = lambda _: Answer()
    reply = ended(ModelSettings(provider="azure", model="dep", client=client))
    assert isinstance(reply, Reply)
    [asked] = server.asked
    assert "/openai/deployments/dep/chat/completions?api-version=2024-10-21" == asked.path
    assert "azure-key" == asked.headers["api-key"]


@pytest.mark.parametrize("client", [openai.OpenAI(api_key="k"), httpx2.AsyncClient(), "client"], ids=type)
def test_what_is_no_client_is_refused(client: Any, data: Path, tmp_path: Path) -> None:
    settings = RunSettings(em=ModelSettings(provider="local", model="m"), output=tmp_path / "results")
    with pytest.raises(UsageError, match="AsyncOpenAI"):
        attunebench.run(data, settings, client=client)


def test_a_client_serves_no_baseline_and_no_other_process(data: Path, tmp_path: Path) -> None:
    client = AsyncOpenAI(api_key="k")
    baseline = RunSettings(em=ModelSettings(provider="baseline", model="majority"), output=tmp_path / "results")
    shard = RunSettings(
        em=ModelSettings(provider="local", model="m"), output=tmp_path, shard=attunebench.runner.settings.Shard(1, 2)
    )
    for settings in (baseline, shard):
        with pytest.raises(UsageError):
            attunebench.run(data, settings, client=client)
    alone = RunSettings(em=ModelSettings(provider="local", model="m"), output=tmp_path)
    with pytest.raises(UsageError):
        attunebench.run(data, alone, client=client, executor=lambda *_, **__: pytest.fail("was called"))


def test_a_client_is_in_no_text_of_the_settings() -> None:
    settings = ModelSettings(provider="local", model="m", client=AsyncOpenAI(api_key=KEY))
    assert KEY not in f"{settings!r} {settings.model_dump()}"
    assert "client" not in settings.model_dump()


# Azure on the command line


AZURE = {"AZURE_OPENAI_API_KEY": "azure-key", "OPENAI_API_VERSION": "2024-10-21"}


@pytest.mark.parametrize(
    ("environment", "base_url", "path", "header"),
    [
        ({}, None, "/openai/deployments/gpt%204", ("api-key", "azure-key")),
        ({"AZURE_OPENAI_DEPLOYMENT": "dep"}, None, "/openai/deployments/dep", ("api-key", "azure-key")),
        ({}, "/openai/deployments/other", "/openai/deployments/other", ("api-key", "azure-key")),
        ({"AZURE_OPENAI_API_KEY": "", "AZURE_OPENAI_AD_TOKEN": "a.b.c"}, None, "/openai/deployments/gpt%204",
         ("authorization", "Bearer a.b.c")),
    ],
)  # fmt: skip
def test_azure_is_reached_by_the_usual_variables(
    environment: dict[str, str],
    base_url: str | None,
    path: str,
    header: tuple[str, str],
    server: FakeServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = server.url.removesuffix("/v1")
    for name, value in {**AZURE, "AZURE_OPENAI_ENDPOINT": f"{root}/", **environment}.items():
        monkeypatch.setenv(name, value)
    server.script = lambda _: Answer()
    settings = ModelSettings(provider="azure", model="gpt 4", base_url=base_url and root + base_url)
    assert isinstance(ended(settings), Reply)
    [asked] = server.asked
    assert f"{path}/chat/completions?api-version=2024-10-21" == asked.path
    assert header[1] == asked.headers[header[0]]
    assert 1 == len({"api-key", "authorization"} & set(asked.headers))


@pytest.mark.parametrize(
    ("lacks", "error", "named"),
    [
        ("AZURE_OPENAI_ENDPOINT", UsageError, "AZURE_OPENAI_ENDPOINT"),
        ("AZURE_OPENAI_API_KEY", ConfigurationError, "AZURE_OPENAI_API_KEY"),
        ("OPENAI_API_VERSION", ConfigurationError, "OPENAI_API_VERSION"),
    ],
)
def test_what_azure_lacks_is_told_by_its_variable(lacks: str, error: type[Exception], named: str) -> None:
    environment = {**AZURE, "AZURE_OPENAI_ENDPOINT": "https://my-resource.openai.azure.com"}
    del environment[lacks]
    with pytest.raises(error, match=named):
        resolve(ModelSettings(provider="azure", model="m"), environment)
