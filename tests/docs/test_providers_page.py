"""The Python examples of docs/providers.md run as they stand there, against a server on this machine."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from factory import write_conversations

from attunebench import eventloop
from attunebench.selftest.server import Answer, Asked, FakeServer

ROOT = Path(__file__).resolve().parents[2]
AZURE, GATEWAY = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "providers.md").read_text("utf-8"), re.DOTALL)
CALLS = 13


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with one conversation, in which no key is to be found."""
    write_conversations(tmp_path / "conversations", 1, turns=3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("AZURE_OPENAI_API_KEY", "AZURE_OPENAI_AD_TOKEN", "OPENAI_API_KEY", "HTTP_PROXY", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def run(example: str) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(example, "docs/providers.md", "exec"), names)
    eventloop.run(names["client"].close(), owner=names["client"])


def test_the_example_for_azure_asks_its_deployment_by_its_token(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer(lambda _: Answer()) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))
        monkeypatch.setenv("MY_ENTRA_TOKEN", "header.payload.signature")
        run(AZURE)
        asked = [each for each in server.asked if each.method == "POST"]
    assert CALLS == len(asked)
    assert {"/openai/deployments/my-deployment/chat/completions?api-version=2024-10-21"} == {e.path for e in asked}
    assert {"Bearer header.payload.signature"} == {each.headers["authorization"] for each in asked}
    [result] = (here / "results").glob("[!_]*.json")
    assert "header.payload.signature" not in result.read_text("utf-8")


def test_the_example_for_a_gateway_sends_each_request_with_the_token_of_that_moment(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = here / "gateway-token"
    token.write_text("token-0\n")

    def script(asked: Asked) -> Answer:
        renewed = here / "renewed"
        renewed.write_text(f"token-{asked.number + 1}\n")
        renewed.replace(token)  # whole at any moment
        return Answer()

    with FakeServer(script) as server:
        monkeypatch.setenv("GATEWAY_URL", server.url)
        run(GATEWAY)
        asked = [each for each in server.asked if each.method == "POST"]
    assert CALLS == len(asked)
    assert {"evaluation"} == {each.headers["x-team"] for each in asked}
    assert 1 < len({each.headers["authorization"] for each in asked})
