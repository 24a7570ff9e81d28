"""Downloads from servers that behave in every way: what arrives is whole, and a failure leaves nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from archive_server import ArchiveServer, Behaviour, Exchange, answer, cut, whole
from published import SMALL, files, tarred, tree, zipped
from tenacity import wait_none

from attunebench.datasets import downloading
from attunebench.datasets.building import Built
from attunebench.datasets.downloading import MOST_REDIRECTS, TRIES
from attunebench.datasets.getting import get
from attunebench.errors import DataError
from attunebench.text import address_text

ARCHIVE = zipped(files())
HALF = len(ARCHIVE) // 2


class Desk:
    """Gets the small subset from a server into a folder, without waiting; `told` is what is said meanwhile."""

    def __init__(self, server: ArchiveServer, parent: Path) -> None:
        self.server = server
        self.parent = parent
        self.told: list[str] = []

    def get(self, *script: Behaviour, url: str = "", sha256: str | None = None) -> Built:
        self.server.script[:] = script
        (built,) = get(
            SMALL,
            source=url or self.server.url,
            to=self.parent / SMALL,
            sha256=sha256,
            progress=lambda what, _done, _total: self.told.append(what),
        )
        return built

    def refusal(self, *script: Behaviour, url: str = "", sha256: str | None = None) -> str:
        """What is said where nothing comes; nothing is left."""
        with pytest.raises(DataError) as raised:
            self.get(*script, url=url, sha256=sha256)
        assert [] == list(self.parent.iterdir())
        return str(raised.value)

    @property
    def is_whole(self) -> bool:
        """Whether the subset is there to the byte, with its manifest, and nothing else."""
        found = tree(self.parent)
        found.pop(f"{SMALL}/attunebench-manifest.json")
        return found == files(folder=SMALL)

    @property
    def ranges(self) -> list[str | None]:
        """The range that each request asked for."""
        return [request.get("range") for request in self.server.requests]


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    monkeypatch.setattr(downloading, "WAIT", wait_none())
    (tmp_path / "place").mkdir()
    with ArchiveServer(ARCHIVE) as server:
        yield Desk(server, tmp_path / "place")


def test_an_archive_arrives_in_one_request_and_nothing_else_is_left(desk: Desk) -> None:
    built = desk.get()
    assert (20, (), ()) == (built.manifest.n_conversations, built.missing, built.left_out)
    assert [None] == desk.ranges
    assert desk.is_whole


def test_a_tar_is_taken_by_its_content_whatever_its_address_is_called(desk: Desk) -> None:
    desk.server.body = tarred(files())
    desk.get()
    assert desk.is_whole


def test_a_connection_that_breaks_is_retried_from_the_beginning(desk: Desk) -> None:
    desk.get(cut(1000), answer(503), lambda exchange: whole(exchange, HALF))
    assert [None] * 4 == desk.ranges
    assert desk.is_whole


def test_a_length_that_promises_less_than_an_archive_is_refused(desk: Desk) -> None:
    def short(exchange: Exchange) -> None:
        exchange.head(200, {"Content-Length": str(HALF)})
        exchange.wfile.write(ARCHIVE[:HALF])

    desk.refusal(short)


def test_a_connection_that_always_breaks_is_given_up(desk: Desk) -> None:
    assert "--from" in desk.refusal(*[cut(10)] * 50)
    assert TRIES == len(desk.server.requests)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 410])
def test_a_refusal_of_the_server_is_passed_on_at_once(desk: Desk, status: int) -> None:
    assert str(status) in desk.refusal(answer(status))
    assert 1 == len(desk.server.requests)


def test_a_web_page_is_refused(desk: Desk) -> None:
    assert "web page" in desk.refusal(answer(200, b"<!DOCTYPE html><title>Log in</title>", Content_Type="text/html"))


def test_redirects_are_followed_and_a_loop_of_them_ends(desk: Desk) -> None:
    desk.get(answer(302, Location="/elsewhere"), answer(307, Location=desk.server.url))
    assert ["/data.zip", "/elsewhere", "/data.zip"] == [request["path"] for request in desk.server.requests]
    desk.parent = desk.parent.parent / "other"
    desk.parent.mkdir()
    desk.server.requests.clear()
    desk.refusal(*[answer(302, Location="/again")] * 50)
    assert MOST_REDIRECTS < len(desk.server.requests) < 50


@pytest.mark.parametrize("location", ["file:///etc/passwd", "ftp://example.org/x", "http://a:b/"])
def test_a_redirect_leads_nowhere_but_to_the_web(desk: Desk, location: str) -> None:
    desk.refusal(*[answer(302, Location=location)] * 50)


def test_a_redirect_never_leaves_tls_behind() -> None:
    secure = httpx2.Response(302, request=httpx2.Request("GET", "https://example.org/a"))
    plain_text = httpx2.Response(200, request=httpx2.Request("GET", "http://example.org/b"), history=[secure])
    with pytest.raises(DataError, match="https to http"):
        downloading._check(plain_text, "https://example.org/a")
    secure.history = []
    again = httpx2.Response(200, request=httpx2.Request("GET", "https://other.example/b"), history=[secure])
    downloading._check(again, "https://example.org/a")


def test_a_password_goes_to_its_own_host_and_into_no_message(desk: Desk) -> None:
    url = desk.server.url.replace("http://", "http://me:s3cret-word@") + "?token=t0ken-word"
    elsewhere = desk.server.url.replace("127.0.0.1", "localhost")
    said = desk.refusal(answer(302, Location=elsewhere), cut(10), *[answer(500)] * TRIES, url=url)
    first, second, *_ = desk.server.requests
    assert first["authorization"].startswith("Basic ")
    assert "authorization" not in second
    assert not any(word in said + "".join(desk.told) for word in ("s3cret", "t0ken"))
    assert "https://a.org/x" == address_text("https://me:secret@a.org/x?token=1#there")


def test_a_checksum_is_compared_before_anything_is_unpacked(desk: Desk) -> None:
    right = hashlib.sha256(ARCHIVE).hexdigest()
    assert right in desk.refusal(sha256="0" * 64)
    desk.get(cut(HALF), sha256=f"sha256:{right.upper()}")
    assert desk.is_whole


def test_an_archive_that_is_too_large_is_refused_by_its_promise_or_by_its_bytes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(downloading, "MOST_ARCHIVE_BYTES", HALF)
    assert "larger than" in desk.refusal()

    def endless(exchange: Exchange) -> None:
        exchange.head(200, {"Connection": "close"})
        exchange.wfile.write(ARCHIVE)
        exchange.hang_up()

    assert "larger than" in desk.refusal(endless)


def test_a_host_that_does_not_answer_is_one_sentence_at_once(desk: Desk) -> None:
    with ArchiveServer() as gone:
        nobody = gone.url
    for url in (nobody, desk.server.url.replace("http://", "https://"), "http://no-such-host.invalid/data.zip"):
        assert "--from" in desk.refusal(url=url)
    assert [] == desk.told


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "ftp://127.0.0.1"])
def test_a_proxy_that_cannot_be_used_is_one_sentence(desk: Desk, monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("ALL_PROXY", proxy)
    assert "--from" in desk.refusal(url="http://example.org/data.zip")


def test_without_from_the_published_repository_is_asked_and_no_other_host(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    hosts: list[str] = []

    def connect(exchange: Exchange) -> None:
        hosts.append(exchange.path)
        exchange.head(403, {"Content-Length": "0"})

    monkeypatch.setattr("archive_server.Exchange.do_CONNECT", connect, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", desk.server.url.removesuffix("/data.zip"))
    with pytest.raises(DataError, match="codeload"):
        get(SMALL, to=desk.parent / SMALL)
    assert {"codeload.github.com:443"} == set(hosts)
