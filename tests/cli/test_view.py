"""`view` serves the report to this machine alone, and makes it anew when results come."""

from __future__ import annotations

import shutil
import socket
import struct
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from factory import write_conversations

from attunebench import api
from attunebench.cli.view import Page, serving
from attunebench.errors import DataError
from attunebench.runner import ModelSettings, RunSettings

if TYPE_CHECKING:
    from conftest import Command


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("view")
    data = write_conversations(folder / "data", 2, seed=7, turns=1)
    em = ModelSettings(provider="baseline", model="majority")
    api.run(data, RunSettings(em=em, output=folder / "made"))
    return data, folder / "made"


@pytest.fixture
def page(folders: tuple[Path, Path], tmp_path: Path) -> Page:
    (tmp_path / "results").mkdir()
    return Page(tmp_path / "results", folders[0])


@pytest.fixture
def address(page: Page) -> Iterator[str]:
    with serving(page) as address:
        yield address


def fetched(address: str, path: str | None = None, **headers: str) -> tuple[int, bytes]:
    parts = urlsplit(address)
    connection = HTTPConnection("127.0.0.1", parts.port, timeout=5)
    connection.request("GET", parts.path if path is None else path, headers=headers)
    response = connection.getresponse()
    return response.status, response.read()


@pytest.mark.slow
def test_the_page_is_the_report_of_the_folder(page: Page, address: str, folders: tuple[Path, Path]) -> None:
    page.update()
    status, waiting = fetched(address)
    assert (200, True) == (status, b'http-equiv="refresh"' in waiting)
    source = next(folders[1].glob("*.json"))
    shutil.copy(source, page._results / source.name)
    page.update()
    status, made = fetched(address)
    assert (200, True) == (status, b'content="AttuneBench"' in made)


def test_the_page_is_made_anew_when_results_come(
    page: Page, address: str, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []

    def counted() -> tuple[bytes, int]:
        made.append(1)
        return b"page %d" % len(made), len(made)

    monkeypatch.setattr(page, "_make", counted)
    page.update()
    page.update()
    assert (200, b"page 1") == fetched(address)
    source = next(folders[1].glob("*.json"))
    shutil.copy(source, page._results / source.name)
    page.update()
    assert (200, b"page 2") == fetched(address)


def test_files_that_vanish_while_it_looks_do_not_end_it(page: Page) -> None:
    (page._results / "gone.json").symlink_to(page._results / "nothing.json")
    page.update()
    shutil.rmtree(page._results)
    page.update()
    assert b'http-equiv="refresh"' in page.content


def test_only_the_address_that_was_printed_is_answered_and_only_by_that_name(address: str) -> None:
    parts = urlsplit(address)
    assert "127.0.0.1" == parts.hostname
    assert 200 == fetched(address, Host=f"localhost:{parts.port}")[0]
    for path in ("/", "/favicon.ico", parts.path[:-2] + "/", f"{parts.path}../", f"{parts.path}x"):
        assert 404 == fetched(address, path)[0]
    for host in ("evil.example", f"evil.example:{parts.port}", "127.0.0.1", f"127.0.0.1.evil.example:{parts.port}"):
        assert 421 == fetched(address, Host=host)[0]
    with serving(Page.__new__(Page)) as other:
        assert urlsplit(other).path != parts.path


def test_every_answer_keeps_the_address_to_itself(address: str) -> None:
    parts = urlsplit(address)
    for method, path in (("GET", parts.path), ("GET", f"{parts.path}x"), ("POST", parts.path)):
        connection = HTTPConnection("127.0.0.1", parts.port, timeout=5)
        connection.request(method, path)
        headers = connection.getresponse().headers
        assert ("no-store", "no-referrer", "nosniff") == tuple(
            headers[name] for name in ("Cache-Control", "Referrer-Policy", "X-Content-Type-Options")
        )


def test_a_browser_that_hangs_up_is_no_error(page: Page, address: str, capsys: pytest.CaptureFixture[str]) -> None:
    parts = urlsplit(address)
    page.content = b"x" * 10_000_000
    for request in (b"GET ", f"GET {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()):
        with socket.create_connection(("127.0.0.1", parts.port)) as browser:
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # ends with a reset
            browser.sendall(request)
            if request.endswith(b"\n"):
                browser.recv(1)
    assert (200, page.content) == fetched(address)
    time.sleep(0.05)
    assert "" == capsys.readouterr().err


@pytest.mark.parametrize("failure", [FileNotFoundError(2, "gone", "a.json"), DataError("b\udcff.json is <broken>")])
def test_results_that_cannot_be_read_now_do_not_end_it(
    page: Page, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def failing() -> tuple[bytes, int]:
        raise failure

    monkeypatch.setattr(page, "_make", failing)
    page.update()
    assert b".json" in page.content
    assert b"<broken>" not in page.content


def test_a_port_that_is_taken_is_said_in_a_sentence(cli: Command, folders: tuple[Path, Path]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ended = cli("view", folders[1], "-d", folders[0], "--no-browser", "--port", taken.getsockname()[1])
    assert 2 == ended.status
    assert 1 == len(ended.err.strip().splitlines())


def test_ctrl_c_ends_it_and_the_browser_gets_the_address(
    cli: Command, folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)

    def interrupted(_seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("attunebench.cli.view.time.sleep", interrupted)
    monkeypatch.setattr(Page, "update", lambda _: None)
    ended = cli("view", folders[1], "-d", folders[0])
    assert (0, opened) == (ended.status, [ended.out.strip()])


def test_folders_that_are_missing_are_named(cli: Command, folders: tuple[Path, Path], tmp_path: Path) -> None:
    assert 2 == cli("view", folders[1], "--no-browser").status
    assert 2 == cli("view", tmp_path / "nowhere", "-d", folders[0], "--no-browser").status
    assert 2 == cli("view", folders[1], "-d", tmp_path / "nowhere", "--no-browser").status
