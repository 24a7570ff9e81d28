"""How a host is reached: proxies, certificates, connections, and what never leaves."""

from __future__ import annotations

import asyncio
import importlib.util
from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path

import pytest
from keys import KEY
from pydantic import SecretStr

from attunebench.backends import open_backend, transport
from attunebench.backends.base import Backend, Reply, Request
from attunebench.backends.providers import Endpoint
from attunebench.backends.transport import Route, route_to
from attunebench.errors import AttuneBenchError, ConfigurationError, TransientError
from attunebench.protocol.calls import Asked as CallAsked
from attunebench.protocol.calls import Call, Message
from attunebench.runner.settings import ModelSettings
from attunebench.selftest.server import Answer, FakeServer, Hang, Status

MESSAGES = (Message("user", "Hello."),)
CALL = Call("c/default/1/draft", "c", "default", 1, "draft", MESSAGES, CallAsked("draft"), {"type": "object"})
REQUEST = Request(CALL, MESSAGES, max_tokens=10, temperature=None, seed=None, timeout=20.0)
VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "NETRC")


@pytest.fixture(autouse=True)
def _no_settings_of_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def proxy() -> Iterator[FakeServer]:
    """A proxy that answers by itself; asked for a tunnel, it refuses."""
    with FakeServer(lambda asked: Status(407, "") if asked.method == "CONNECT" else Answer()) as server:
        yield server


def endpoint(url: str) -> Endpoint:
    return Endpoint("local", "m", url, SecretStr(KEY), "--api-key", {"X-Team": "team-1"})


def ask(url: str, times: int = 1) -> list[Reply | AttuneBenchError]:
    """What so many calls, one after the other on one backend, end in."""

    async def used() -> list[Reply | AttuneBenchError]:
        backend = open_backend(ModelSettings(provider="local", model="m", base_url=url, api_key=SecretStr(KEY)))
        ended = [await _ended(backend) for _ in range(times)]
        await backend.aclose()
        return ended

    return asyncio.run(used())


async def _ended(backend: Backend) -> Reply | AttuneBenchError:
    try:
        return await backend.complete(REQUEST)
    except AttuneBenchError as error:
        return error


def address(server: FakeServer, user: str = "") -> str:
    return server.url.removesuffix("/v1").replace("//", f"//{user}")


# Proxies


def test_a_proxy_that_is_asked_for_a_tunnel_learns_neither_key_nor_account(
    proxy: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address(proxy))
    ask("https://host.example/v1")
    assert ["CONNECT"] == [asked.method for asked in proxy.asked]
    for asked in proxy.asked:
        assert not {"authorization", "proxy-authorization", "x-team"} & set(asked.headers)
        assert KEY not in str(asked)


def test_a_proxy_s_password_goes_to_the_proxy_and_into_no_text(
    proxy: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", address(proxy, "me:p%40ss@"))
    [error] = ask("https://host.example/v1")
    expected = "Basic " + b64encode(b"me:p@ss").decode()
    assert expected == proxy.asked[0].headers["proxy-authorization"]
    assert isinstance(error, ConfigurationError)
    assert "407" in str(error)
    shown = f"{error} {error!r} {error.__cause__!r} {route_to(endpoint('https://host.example/v1'))!r}"
    assert not any(secret in shown for secret in ("p@ss", "p%40ss", expected[6:]))


def test_over_plain_http_password_and_key_each_go_their_way(proxy: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", address(proxy, "me:pass@"))
    [reply] = ask("http://host.example/v1")
    assert isinstance(reply, Reply)
    headers = proxy.asked[0].headers
    assert "http://host.example/v1/chat/completions" == proxy.asked[0].path
    assert ("Basic bWU6cGFzcw==", f"Bearer {KEY}") == (headers["proxy-authorization"], headers["authorization"])


@pytest.mark.parametrize(
    ("url", "environment", "expected"),
    [
        ("https://host.example/v1", {}, None),
        ("https://host.example/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://host.example/v1", {"https_proxy": "http://p:1"}, "http://p:1"),
        ("https://host.example/v1", {"ALL_PROXY": "http://p:1"}, "http://p:1"),
        ("https://host.example/v1", {"HTTPS_PROXY": "http://p:1", "ALL_PROXY": "http://q:1"}, "http://p:1"),
        ("https://host.example/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("https://host.example/v1", {"HTTPS_PROXY": "p.example:3128"}, "http://p.example:3128"),
        ("https://host.example/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "host.example"}, None),
        ("https://host.example/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": ".example"}, None),
        ("https://host.example/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "*"}, None),
        ("https://host.example/v1", {"HTTPS_PROXY": "http://p:1", "NO_PROXY": "other.example"}, "http://p:1"),
        ("http://127.0.0.1:8000/v1", {"HTTP_PROXY": "http://p:1"}, None),
        ("http://localhost:8000/v1", {"ALL_PROXY": "socks5://p:1"}, None),
        ("https://[::1]:8000/v1", {"HTTPS_PROXY": "http://p:1"}, None),
    ],
)
def test_the_proxy_is_the_environment_s_and_never_for_this_machine(
    url: str, environment: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    route = route_to(endpoint(url))
    assert (expected, None) == (route.options.get("proxy"), route.socks)


@pytest.mark.parametrize(
    ("url", "excepted", "direct"),
    [
        ("http://10.1.2.3:8000/v1", "10.0.0.0/8", True),
        ("http://10.1.2.3:8000/v1", "192.168.0.0/16, 10.1.0.0/255.255.0.0", True),
        ("http://10.1.2.3:8000/v1", "10.1.2.3/32", True),
        ("http://11.1.2.3:8000/v1", "10.0.0.0/8", False),
        ("http://10.1.2.3.example/v1", "10.0.0.0/8", False),
        ("http://[fd00::1]:8000/v1", "fd00::/8", True),
        ("http://[fe00::1]:8000/v1", "fd00::/8", False),
        ("http://[fd00::1]:8000/v1", "[fd00::1]", True),
        ("http://[fd00::1]:8000/v1", "fd00:0:0::1", True),
        ("http://[fd00::1]:8000/v1", "[fd00::1]:8000", True),
        ("http://[fd00::1]:8000/v1", "[fd00::1]:9000", False),
        ("http://[::ffff:10.0.0.1]:8000/v1", "10.0.0.0/8", True),
        ("http://a.b.example/v1", "b.example", True),
        ("http://a.b.example/v1", ".example", True),
        ("http://a.b.example/v1", "*.example", True),
        ("http://a.b.example/v1", "x.example b.example", True),
        ("http://abexample/v1", "example", False),
        ("http://a.example:8443/v1", "a.example:8443", True),
        ("http://a.example:8443/v1", "a.example:80", False),
        ("http://a.example/v1", "a.example:80", True),
        ("https://a.example/v1", "a.example:443", True),
        ("http://A.Example./v1", "a.example", True),
        ("http://a.example/v1", "x , *", True),
        ("http://a.example/v1", ",, .", False),
        ("http://192.168.1.9/v1", "192.168.1.*", True),
    ],
)
@pytest.mark.parametrize("variable", ["NO_PROXY", "no_proxy"])
def test_no_proxy_is_honoured_in_every_spelling(
    url: str, excepted: str, direct: bool, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", "http://p:1")
    monkeypatch.setenv(variable, excepted)
    assert (None if direct else "http://p:1") == route_to(endpoint(url)).options.get("proxy")


@pytest.mark.skipif(importlib.util.find_spec("aiohttp_socks") is not None, reason="the package is installed")
@pytest.mark.parametrize("scheme", ["socks", "socks4", "socks5", "socks5h"])
def test_a_socks_proxy_without_its_package_is_told_by_its_variable(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ALL_PROXY", f"{scheme}://me:secret@p:1")
    with pytest.raises(ConfigurationError, match=r"ALL_PROXY .*aiohttp-socks") as caught:
        route_to(endpoint("https://host.example/v1"))
    assert "secret" not in str(caught.value)


def test_a_socks_proxy_is_used_where_its_package_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("aiohttp_socks")
    monkeypatch.setenv("ALL_PROXY", "socks5h://me:secret@p:1")
    route = route_to(endpoint("https://host.example/v1"))
    assert (None, "socks5://me:secret@p:1") == (route.options.get("proxy"), route.socks)
    assert "secret" not in repr(route)


@pytest.mark.parametrize("value", ["http://", "ftp://secret", "http://secret:99999", "http://[secret"])
def test_what_is_no_address_of_a_proxy_is_told_by_its_variable(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", value)
    with pytest.raises(ConfigurationError, match="HTTPS_PROXY") as caught:
        route_to(endpoint("https://host.example/v1"))
    assert "secret" not in str(caught.value)


# Certificates


@pytest.mark.parametrize("variable", ["SSL_CERT_FILE", "SSL_CERT_DIR"])
def test_missing_certificates_are_told_by_their_variable(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(tmp_path / "secret"))
    with pytest.raises(ConfigurationError, match=variable) as caught:
        route_to(endpoint("https://host.example/v1"))
    assert "secret" not in str(caught.value)


def test_a_file_without_certificates_is_told_by_its_variable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no certificate")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "file"))
    with pytest.raises(ConfigurationError, match=r"SSL_CERT_FILE .*no certificates"):
        route_to(endpoint("https://host.example/v1"))


def test_plain_http_needs_no_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/no/such/file")
    assert Route() == route_to(endpoint("http://host.example/v1"))


def test_without_a_setting_the_usual_authorities_are_trusted() -> None:
    context = route_to(endpoint("https://host.example/v1")).certificates
    assert context is not None
    assert context.get_ca_certs()


# What is kept and sent


def test_a_netrc_file_is_not_read(server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login me password planted\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    [reply] = ask(server.url)
    assert isinstance(reply, Reply)
    assert f"Bearer {KEY}" == server.asked[0].headers["authorization"]


def test_cookies_are_not_kept(server: FakeServer) -> None:
    server.script = [Answer(headers={"Set-Cookie": "session=1"})]
    ask(server.url, times=2)
    assert ["cookie" in asked.headers for asked in server.asked] == [False, False]


# Bodies and time


def test_an_answer_that_begins_and_does_not_go_on_is_given_up(
    server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "IDLE", 0.05)
    server.script = [Hang(share=0.9)]
    [error] = ask(server.url)
    assert isinstance(error, TransientError)
    assert "timeout" == error.kind


def test_a_body_beyond_the_limit_is_not_read(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MOST_BYTES", 1000)
    server.script = [Answer("x" * 5000), Answer("yes")]
    error, reply = ask(server.url, times=2)
    assert isinstance(error, TransientError)
    assert "body" == error.kind
    assert isinstance(reply, Reply)


def test_a_compressed_answer_is_read(server: FakeServer) -> None:
    server.script = [Answer("yes", gzip=True)]
    [reply] = ask(server.url)
    assert isinstance(reply, Reply)
    assert "yes" == reply.text
