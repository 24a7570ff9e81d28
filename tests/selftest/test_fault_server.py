"""The fault server on the wire: every doing is what it is called, and good answers depend on the request alone."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import pytest

from attunebench.backends.base import Reply
from attunebench.codebook import default_codebook
from attunebench.conversations import load_conversations
from attunebench.conversations.loading import demo_folder
from attunebench.protocol.calls import Call, Message
from attunebench.protocol.modes import MODES
from attunebench.protocol.plan import plan_conversation, reask, with_draft
from attunebench.protocol.read import read_reply
from attunebench.selftest.answers import varied_text
from attunebench.selftest.server import Answer, Asked, Broken, Drip, FakeServer, Hang, Raw, Status

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hello."}], "max_tokens": 9}


def ask(server: FakeServer, body: Any = BODY, path: str = "/v1/chat/completions") -> tuple[int, Any, bytes]:
    """Status, headers and the body's bytes, by a client that forgives nothing."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=10)
    try:
        connection.request("POST" if body is not None else "GET", path, json.dumps(body) if body is not None else None)
        response = connection.getresponse()
        return response.status, response.headers, response.read()
    finally:
        connection.close()


def sent(server: FakeServer) -> socket.socket:
    """A connection on which a request has just gone out."""
    content = json.dumps(BODY).encode()
    line = socket.create_connection((urlsplit(server.url).hostname, urlsplit(server.url).port), timeout=10)
    line.sendall(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: %d\r\n\r\n" % len(content) + content)
    return line


@pytest.mark.parametrize("how", ["length", "chunked"])
def test_a_cut_body_is_shorter_than_its_head_says(server: FakeServer, how: Any) -> None:
    server.script = [Broken(how)]
    with pytest.raises(http.client.IncompleteRead):
        ask(server)


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_a_reset_is_a_reset(server: FakeServer, share: float) -> None:
    server.script = [Broken("reset", share)]
    with pytest.raises((ConnectionResetError, http.client.IncompleteRead)):
        ask(server)


def test_gzip_is_gzip_only_where_it_should_be(server: FakeServer) -> None:
    server.script = [Answer(gzip=True), Broken("no gzip"), Broken("cut gzip")]
    (_, head, whole), (_, _, plain), (_, _, cut) = (ask(server) for _ in range(3))
    assert "gzip" == head["content-encoding"]
    assert "choices" in json.loads(gzip.decompress(whole))
    assert "choices" in json.loads(plain)
    with pytest.raises(EOFError):
        gzip.decompress(cut)


def test_silence_in_the_middle_sends_a_part_alone(server: FakeServer) -> None:
    server.script = [Hang(0.5)]
    with sent(server) as line:
        head, _, body = line.recv(65536).partition(b"\r\n\r\n")
    assert b"200 OK" in head
    assert len(body) < int(head.split(b"content-length: ")[1].split(b"\r\n")[0])


def test_a_drip_arrives_whole_in_the_end(server: FakeServer) -> None:
    server.script = [Drip(0.0)]
    assert "choices" in json.loads(ask(server)[2])


def test_raw_bytes_go_out_as_they_are(server: FakeServer) -> None:
    server.script = [Raw(b"nonsense")]
    with sent(server) as line:
        assert b"nonsense" == line.recv(65536)
        assert b"" == line.recv(65536)


def test_an_answer_can_carry_a_bom_a_cost_and_headers(server: FakeServer) -> None:
    server.script = [Answer(before=b"\xef\xbb\xbf", cost=0.5, headers={"x-request-id": "r"})]
    _, head, content = ask(server)
    assert "r" == head["x-request-id"]
    assert 0.5 == json.loads(content.decode("utf-8-sig"))["usage"]["cost"]


def test_prices_are_listed_and_charged() -> None:
    with FakeServer(prices=(1e-6, 2e-6), models=("m",)) as server:
        (listed,) = json.loads(ask(server, None, "/v1/models")[2])["data"]
        usage = json.loads(ask(server)[2])["usage"]
    assert {"prompt": "0.000001000000", "completion": "0.000002000000"} == listed["pricing"]
    assert usage["prompt_tokens"] * 1e-6 + usage["completion_tokens"] * 2e-6 == pytest.approx(usage["cost"])


def test_what_comes_after_an_answer_is_called_when_it_is_out(server: FakeServer) -> None:
    out: list[str] = []
    server.script = [Answer(then=lambda: out.append("out")), Status(200, {})]
    ask(server)
    ask(server)
    assert ["out"] == out


def calls(mode: Any = "default", strategy: Any = "absolute") -> list[Call]:
    conversation = load_conversations(demo_folder()).conversations[0]
    planned = plan_conversation(conversation, mode, default_codebook(), judges=1, panas_strategy=strategy)
    return [with_draft(call, "I hear you.") if call.needs else call for call in planned]


def varied(call: Call, messages: Sequence[Message] = ()) -> str:
    body = {"messages": [{"content": message.content} for message in messages or call.messages]}
    return varied_text(Asked(0, "POST", "/", {}, json.dumps(body).encode()), call.schema)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("strategy", ["absolute", "delta"])
def test_a_varied_answer_is_complete_for_every_call(mode: Any, strategy: Any) -> None:
    for call in calls(mode, strategy):
        answer = read_reply(call.asked, Reply(varied(call)), default_codebook())
        assert ((), "answered") == (answer.missing, answer.outcome), call.id


def test_varied_answers_tell_calls_apart() -> None:
    texts = [varied(call) for call in calls()]
    assert len(texts) == len(set(texts))


def test_a_reask_gets_the_answer_of_the_call_itself() -> None:
    for call in calls():
        assert varied(call) == varied(call, reask(call, ["emotion_tags"]))
