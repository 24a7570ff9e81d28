"""What `attune-bench doctor` finds, against real servers on this machine."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import typer
from keys import KEY as SECRET
from typer.testing import CliRunner

from attunebench import doctor
from attunebench.backends.providers import NO_KEY
from attunebench.cli import doctor as command

Answer = tuple[int, dict[str, str], bytes]


@contextmanager
def serving(answer: Answer | Callable[[dict[str, str]], Answer]) -> Iterator[str]:
    """A server that gives every request the same answer; yields its base URL."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, headers, body = answer(dict(self.headers)) if callable(answer) else answer
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def models(*names: str) -> bytes:
    return json.dumps({"object": "list", "data": [{"id": name} for name in names]}).encode()


def test_a_server_that_answers_is_shown_with_its_models() -> None:
    with serving((200, {}, models("qwen", "llama"))) as url:
        assert doctor.Finding("ok", f"{url}: answers; models: qwen and llama") == doctor.server(url)


def test_at_most_ten_models_are_named() -> None:
    with serving((200, {}, models(*(f"m{number}" for number in range(13))))) as url:
        text = doctor.server(url).text
    assert text.endswith("m9 and 3 more")


def test_names_of_models_cannot_steer_the_terminal() -> None:
    with serving((200, {}, models("a\x1b[2J\nb\u202ec"))) as url:
        assert doctor.server(url).text.endswith("models: a bc")


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((401, {}, b"{}"), "rejects the key (status 401)"),
        ((403, {}, b"{}"), "rejects the key (status 403)"),
        (
            (302, {"Location": "https://u:p@elsewhere.example/v1?token=x"}, b""),
            "redirects to https://elsewhere.example/v1;",
        ),
        ((404, {}, b"nothing"), "/v1 at the end of --base-url"),
        ((500, {}, b"oops"), "status 500"),
        ((200, {}, b"<html>Welcome</html>"), "not with JSON"),
        ((200, {}, b"[" * 100_000), "not with JSON"),
    ],
)
def test_what_is_wrong_with_a_server_is_one_sentence(answer: Answer, sentence: str) -> None:
    with serving(answer) as url:
        finding = doctor.server(url)
    assert "fail" == finding.state
    assert sentence in finding.text


@pytest.mark.parametrize("body", [b"{}", b"[]", b"3", b'{"data": null}', b'{"data": [{"id": 1}, "x"]}'])
def test_a_list_of_models_that_names_none_is_a_note(body: bytes) -> None:
    with serving((200, {}, body)) as url:
        assert "note" == doctor.server(url).state


def test_a_server_that_is_not_there_is_not_reachable() -> None:
    with socket.socket() as place:
        place.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{place.getsockname()[1]}/v1"
        text = doctor.server(url).text
    assert "not reachable" in text
    assert "event loop" not in text


def test_https_to_a_plain_server_is_told_as_a_matter_of_tls() -> None:
    with serving((200, {}, b"{}")) as url:
        assert "TLS connection failed" in doctor.server(url.replace("http:", "https:")).text


def test_a_server_that_keeps_silent_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        finding = doctor.server(f"http://127.0.0.1:{mute.getsockname()[1]}/v1")
    assert "no answer within 0.2 s" in finding.text


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x/v1", "", "http://"])
def test_what_is_no_address_is_refused_with_an_example(url: str) -> None:
    finding = doctor.server(url)
    assert "fail" == finding.state
    assert "http://localhost:8000/v1" in finding.text


def test_only_the_key_that_was_given_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENROUTER_API_KEY"):
        monkeypatch.setenv(name, SECRET)
    seen: list[str | None] = []

    def answer(headers: dict[str, str]) -> Answer:
        seen.append(headers.get("Authorization"))
        return 200, {}, models("m")

    with serving(answer) as url:
        doctor.server(url)
        doctor.server(url, "mine")
    assert [f"Bearer {NO_KEY}", "Bearer mine"] == seen


def test_keys_are_found_by_name_and_never_shown(tmp_path: Path) -> None:
    (tmp_path / ".prime").mkdir()
    (tmp_path / ".prime" / "config.json").write_text(json.dumps({"api_key": SECRET}))
    found = list(doctor.keys({"OPENAI_API_KEY": SECRET, "HOME": str(tmp_path)}))
    text = "\n".join(finding.text for finding in found)
    assert "found (OPENAI_API_KEY)" in text
    assert "found (~/.prime/config.json)" in text
    assert "OPENROUTER_API_KEY" in text
    assert SECRET[:5] not in text
    assert str(len(SECRET)) not in text


def test_a_provider_whose_address_is_missing_is_a_note(tmp_path: Path) -> None:
    environment = {"AZURE_OPENAI_API_KEY": SECRET, "OPENAI_API_VERSION": "2024-10-21", "HOME": str(tmp_path)}
    [finding] = [each for each in doctor.keys(environment) if "AZURE_OPENAI_ENDPOINT" in each.text]
    assert "note" == finding.state


def test_a_key_that_cannot_be_sent_is_told_and_not_shown(tmp_path: Path) -> None:
    environment = {"OPENAI_API_KEY": f"{SECRET} {SECRET}", "HOME": str(tmp_path)}
    text = "\n".join(finding.text for finding in doctor.keys(environment))
    assert "from OPENAI_API_KEY contains a space" in text
    assert SECRET not in text


def test_a_folder_that_does_not_exist_yet_is_not_made(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "results"
    assert "ok" == doctor.writable(folder).state
    assert [] == list(tmp_path.iterdir())


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    assert doctor.writable(tmp_path / "results").state == "fail"


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="permissions bind no administrator")
def test_a_folder_that_is_read_only_is_told(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    assert "cannot be written" in doctor.writable(tmp_path / "results").text


def test_this_installation_is_complete() -> None:
    for finding in (doctor.dependencies(), doctor.codebook(), doctor.demonstration()):
        assert "ok" == finding.state, finding.text


def run(*words: str) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(command.doctor)
    result = CliRunner().invoke(app, list(words))
    return result.exit_code, result.output


def test_the_command_ends_with_0_where_nothing_is_to_mend(tmp_path: Path) -> None:
    with serving((200, {}, models("m"))) as url:
        status, output = run("--base-url", url, "-o", str(tmp_path))
    assert 0 == status, output
    assert output.endswith("No problems found.\n")


def test_the_command_ends_with_1_and_says_what_is_to_mend(tmp_path: Path) -> None:
    with serving((401, {}, b"")) as url:
        status, output = run("--base-url", url, "--api-key", SECRET, "-o", str(tmp_path))
    assert 1 == status
    assert "FAIL" in output
    assert SECRET not in output
