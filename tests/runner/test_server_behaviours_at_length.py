"""Behaviours of servers that take several calls, servers or settings to see; the numbers are those of the table.

No test measures how long something takes: they order requests, or see that nothing came before its time.
"""

from __future__ import annotations

import gzip
import json
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from keys import KEY
from lines import Told

from attunebench.backends.providers import resolve
from attunebench.cli.main import main
from attunebench.protocol.modes import MODES
from attunebench.runner import ModelSettings, RunSummary, clients, live, pacing
from attunebench.selftest.answers import answer_text, first_ask
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Raw, Status

if TYPE_CHECKING:
    from conftest import Command

CALLS = 2 * (4 * 3 + 1)
"""Of two conversations of three turns."""
AT_ONCE = 4
Run = Callable[..., RunSummary]


def error(status: int, message: str, headers: dict[str, str] | None = None) -> Status:
    return Status(status, {"error": {"message": message}}, headers or {})


def result_in(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(next(folder.glob("results/[!_]*.json")).read_text(encoding="utf-8"))
    return found


def authorizations(server: FakeServer) -> set[str | None]:
    return {asked.headers.get("authorization") for asked in server.asked}


def objects_in(schema: Any) -> Iterator[dict[str, Any]]:
    """The schema and all that are in it."""
    if isinstance(schema, dict):
        yield schema
    for inner in schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ():
        yield from objects_in(inner)


def test_10_a_judge_that_refuses_gives_no_vote_and_costs_the_model_nothing(
    command: Command, server: FakeServer, tmp_path: Path
) -> None:
    refusal = Answer(message={"content": None, "refusal": "I cannot."})
    server.script = lambda asked: refusal if asked.model == "judge" else Answer()
    ended = command(server, "--judge-model", "judge")
    assert 0 == ended.status, ended.read
    assert 6 == len(server.bodies)
    result = result_in(tmp_path)
    assert {"judge": {}} == result["turns"][0]["em_draft_judge_scores_by_model"]
    assert result["calls"]["expected_items"] == result["calls"]["answered_items"]
    assert 0 == result["calls"]["refused"]
    assert result["scores"].get("draft_judge") is None


def test_15_schemas_are_closed_require_every_key_and_have_no_bounds(command: Command, server: FakeServer) -> None:
    assert 0 == command(server, "--modes", ",".join(MODES), "--judge-model", "judge").status
    formats = [body["response_format"]["json_schema"] for body in server.bodies]
    assert {True} == {each["strict"] for each in formats}
    parts = [part for each in formats for part in objects_in(each["schema"])]
    closed = [part for part in parts if part.get("type") == "object"]
    assert closed
    assert [] == [part for part in closed if part["additionalProperties"] or [*part["properties"]] != part["required"]]
    kinds = ("type", "properties", "required", "additionalProperties", "items", "enum")
    values = [part for part in parts if isinstance(part.get("type"), str)]
    assert [] == [part for part in values if set(part) - set(kinds)]


def test_15_bounds_are_checked_here(command: Command, server: FakeServer, tmp_path: Path) -> None:
    server.script = lambda asked: Answer(answer_text(asked).replace(": 4", ": 99"))
    ended = command(server, "--max-reasks", "0")
    assert (0, 5) == (ended.status, len(server.bodies))
    assert "answered in part" in ended.read
    counts = result_in(tmp_path)["calls"]
    assert counts["answered_items"] < counts["expected_items"]


def test_19_the_variable_that_was_tried_is_named(
    command: Command, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", KEY)
    server.script = [error(401, f"No auth for {KEY}")]
    ended = command(server, provider="openrouter", key=None)
    assert (2, 1) == (ended.status, len(server.bodies))
    assert "(from OPENROUTER_API_KEY): check OPENROUTER_API_KEY, or give --api-key" in ended.read


@pytest.mark.slow
@pytest.mark.parametrize(
    ("busy", "why"),
    [
        (error(402, "Too much in flight", {"retry-after": "1"}), "until earlier ones are settled"),
        (error(429, "Slow down", {"retry-after": "1"}), "accepts no more requests"),
        (error(429, "Slow down", {"x-ratelimit-reset-tokens": "1000ms"}), "accepts no more requests"),
    ],
    ids=["21 money", "23 retry-after", "24 reset"],
)
def test_a_pause_is_everybody_s_and_fewer_go_at_once_after_it(
    busy: Status, why: str, run: Run, server: FakeServer
) -> None:
    """The last of the first calls is refused while the others are under way; then nobody sends before the time."""
    times: list[float] = []
    lock = threading.Lock()

    def script(asked: Asked) -> Behaviour:
        with lock:
            times.append(time.monotonic())
            number = len(times)
        return busy if number == AT_ONCE else Answer(delay=0.4 if number < AT_ONCE else 0.0)

    server.script, told = script, Told()
    summary = run(concurrency=AT_ONCE, observer=told)
    assert CALLS + 1 == len(times)
    assert 1.0 - 0.01 <= times[AT_ONCE] - times[AT_ONCE - 1]
    assert int(AT_ONCE * 0.7) == told.limits[0]
    assert (1, 1, {}) == (summary.retries, summary.spending.lost, summary.skipped)
    assert why in told.reasons[0]
    assert 1.0 == summary.answered_rate


def test_24_a_longer_pause_than_is_waited_for_is_said(
    command: Command, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (pacing, clients):
        monkeypatch.setattr(module, "LONGEST_WAIT", 0.1)
    server.script = [error(429, "Come back later", {"retry-after": "300"})] * 2 + [Answer()]
    ended = command(server)
    assert (0, 5 + 1) == (ended.status, len(server.bodies))
    assert "asks for a pause of 300 s" in ended.read
    assert 1 == ended.read.count("asks for a pause")


@pytest.mark.slow  # in virtual time the same stands in test_pacing
@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(
    ("trouble", "failures", "settled"),
    [("Out of order", 28, 20), ("Loading model", 20, 8)],
    ids=["27 an outage", "28 a server that starts"],
)
def test_while_a_server_is_out_one_call_at_a_time_asks_whether_it_is_back(
    trouble: str, failures: int, settled: int, run: Run, server: FakeServer
) -> None:
    """After the first failures (`settled`) at most one request is under way, until one is answered."""
    together: list[int] = []
    count = 0

    def script(_: Asked) -> Behaviour:
        nonlocal count
        count += 1
        if count == settled:
            server.most_at_once = 1
        if settled < count <= failures:
            together.append(server.most_at_once)
        return Status(503, {"error": {"message": trouble}}, delay=0.03) if count <= failures else Answer()

    server.script, told = script, Told()
    summary = run(concurrency=AT_ONCE, max_tries=8, observer=told)
    assert [1] * (failures - settled) == together
    assert CALLS + failures == count
    assert (failures, {}, 1.0) == (summary.retries, summary.skipped, summary.answered_rate)
    assert [] != [why for why, _ in told.pauses if trouble in why or "loading its model" in why]


@pytest.mark.parametrize("status", [504, 524])
def test_29_a_gateway_that_gives_up_twice_after_the_same_time_is_asked_no_third_time(
    status: int, command: Command, server: FakeServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(clients, "GATEWAY_SHORTEST", 0.0)
    monkeypatch.setattr(clients, "GATEWAY_ALIKE", 1.0)
    sent: list[str] = []

    def script(asked: Asked) -> Behaviour:
        sent.append(first_ask(asked.prompt))
        return Status(status, "", delay=0.05) if sent[-1] == sent[0] else Answer()

    server.script = script
    ended = command(server)
    assert 1 == ended.status
    assert 2 == sent.count(sent[0])
    assert "its limit is shorter than the answer takes" in ended.read
    assert "Resume with: attune-bench run" in ended.read
    assert [] == list(tmp_path.glob("results/[!_]*.json"))


@pytest.mark.usefixtures("quick")
def test_30_a_server_that_is_not_there_yet_is_tried_again_and_may_bill_nothing(run: Run) -> None:
    with FakeServer() as gone:
        port = int(gone.url.split(":")[2].split("/")[0])
    later = FakeServer(port=port)

    class Starting(Told):
        def retrying(self, *args: Any) -> None:
            super().retrying(*args)
            if 1 == len(self.reasons):
                later.start()

    told = Starting()
    try:
        summary = run(url=gone.url, concurrency=1, max_tries=8, observer=told)
    finally:
        later.stop()
    assert "Cannot connect" in told.reasons[0]
    assert CALLS == len(later.bodies)
    assert (len(told.reasons), 0, {}) == (summary.retries, summary.spending.lost, summary.skipped)


def test_30_a_server_that_never_comes_ends_the_run(command: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "OUTAGE_CHECK", 0.05)
    monkeypatch.setattr(live, "NEVER_ANSWERED", 1e-4)
    with FakeServer() as gone:
        pass
    ended = command(gone)
    assert 1 == ended.status, ended.read
    assert "Stopped by an outage: the server no longer answers" in ended.read
    assert "Resume with: attune-bench run local fake-model" in ended.read


def test_32_the_third_request_does_without_compression(command: Command, server: FakeServer, tmp_path: Path) -> None:
    whole = json.dumps({"choices": [{"message": {"content": "{}"}}]}).encode()
    head = b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\nconnection: close\r\ncontent-length: %d\r\n\r\n"
    packed = gzip.compress(whole)[:30]
    first: list[str] = []
    ways: list[str] = []

    def script(asked: Asked) -> Behaviour:
        first.append(asked.prompt)
        if asked.prompt != first[0]:
            return Answer()
        ways.append(asked.headers.get("accept-encoding", ""))
        body = (whole, packed)[len(ways) % 2]
        return Answer() if ways[-1] == "identity" else Raw(head % len(body) + body)

    server.script = script
    ended = command(server)
    assert 0 == ended.status
    assert [True, True, False] == ["gzip" in way for way in ways]
    assert "2 retries" in ended.read
    assert 5 + 2 == len(first)


@pytest.mark.parametrize("status", [301, 302, 307])
def test_33_a_redirect_stops_the_run_and_the_key_does_not_follow_it(
    status: int, command: Command, server: FakeServer
) -> None:
    with FakeServer() as other:
        server.script = [Status(status, "", {"location": f"{other.url}/chat/completions?key={KEY}"})]
        ended = command(server)
        assert [] == other.asked
    assert (2, 1) == (ended.status, len(server.bodies))
    assert f"redirects to {other.url}" in ended.read
    assert "--base-url" in ended.read


@pytest.mark.parametrize(
    ("variable", "value", "url"),
    [
        ("ALL_PROXY", "socks5://127.0.0.1", "http://models.example/v1"),
        ("HTTPS_PROXY", "http://user:pa ss@", "https://models.example/v1"),
        ("SSL_CERT_FILE", "missing.pem", "https://models.example/v1"),
    ],
)
def test_34_a_setting_of_the_network_that_cannot_be_used_is_named(
    variable: str, value: str, url: str, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, value)
    ended = command(url)
    assert 2 == ended.status
    assert variable in ended.read
    assert "pa ss" not in ended.read
    assert "Traceback" not in ended.read


def test_34_this_machine_is_reached_without_a_proxy(
    command: Command, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("ALL_PROXY", "HTTP_PROXY", "all_proxy", "http_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    assert 0 == command(server).status
    assert 5 == len(server.bodies)


def test_35_a_key_is_trimmed(command: Command, server: FakeServer) -> None:
    assert 0 == command(server, key=f" {KEY}\r\n").status
    assert {f"Bearer {KEY}"} == authorizations(server)


@pytest.mark.parametrize("mark", ["\u2013", "\n", " "])
def test_35_a_key_that_no_header_can_carry_is_refused_unseen(mark: str, command: Command, server: FakeServer) -> None:
    ended = command(server, key=KEY[:9] + mark + KEY[9:])
    assert 2 == ended.status
    assert "copy it again" in ended.read
    assert [] == [part for part in (KEY[:9], KEY[9:]) if part in ended.read]
    assert [] == server.asked


def test_36_openai_s_key_goes_to_no_other_provider(
    command: Command, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert 0 == command(server, key=None).status
    ended = command(server, provider="openrouter", key=None)
    assert 2 == ended.status
    assert "OPENROUTER_API_KEY" in ended.read
    assert [] == [asked for asked in server.asked if KEY in f"{asked.headers} {asked.path} {asked.body}"]


def test_37_who_answered_at_what_price_is_recorded_for_each_call_and_several_providers_are_warned_of(
    command: Command, server: FakeServer, one_turn: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    usage = {
        "prompt_tokens": 50,
        "completion_tokens": 20,
        "cost": 0.25,
        "is_byok": True,
        "cost_details": {"upstream_inference_cost": 0.5},
        "prompt_tokens_details": {"cached_tokens": 40},
        "completion_tokens_details": {"reasoning_tokens": 15},
    }
    hosts = iter("ABABA")
    server.script = lambda _: Answer(extra={"usage": usage, "provider": next(hosts), "model": "fake-model-0613"})
    ended = command(server)
    assert "Cost: $3.75" in ended.read
    columns = "served_provider, served_model, cost, prompt_tokens, cached_tokens, completion_tokens, reasoning_tokens"
    with closing(sqlite3.connect(tmp_path / "results" / "_calls.sqlite3")) as journal:
        rows = journal.execute(f"SELECT {columns} FROM replies ORDER BY 1").fetchall()
    assert [(host, "fake-model-0613", 0.75, 50, 40, 20, 15) for host in "AAABB"] == rows
    result = result_in(tmp_path)
    assert (3.75, ["A", "B"]) == (result["api_cost"], sorted(result["providers_reported"]))
    assert (250, 200, 100, 75) == tuple(result["usage"].values())
    for words in (["score", "-d", str(one_turn)], ["report"]):
        with pytest.raises(SystemExit):
            main(words)
    said = " ".join(capsys.readouterr().out.split())
    assert "More than one provider answered" in said
    assert "A different model answered" not in said


@pytest.fixture
def prime_config(tmp_path: Path) -> Path:
    path = tmp_path / "home" / ".prime" / "config.json"
    path.parent.mkdir(parents=True)
    return path


def test_39_prime_is_asked_for_the_team_of_its_own_settings_file_which_stays_as_it_is(
    command: Command, server: FakeServer, prime_config: Path
) -> None:
    text = json.dumps({"api_key": KEY, "team_id": "team-7", "unknown": [1]})
    prime_config.write_text(text)
    ended = command(server, provider="prime", key=None)
    assert 0 == ended.status, ended.read
    assert {f"Bearer {KEY}"} == authorizations(server)
    assert "team team-7 pays" in ended.read
    assert {"team-7"} == {asked.headers.get("x-prime-team-id") for asked in server.asked}
    assert text == prime_config.read_text()


@pytest.mark.parametrize("content", [None, "", "{", "[1]", '{"team_id": 7, "api_key": null}', "\xff\xfe"])
def test_39_a_missing_or_broken_file_is_no_file(
    content: str | None,
    command: Command,
    server: FakeServer,
    prime_config: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if content is not None:
        prime_config.write_bytes(content.encode("latin-1"))
    monkeypatch.setenv("PRIME_API_KEY", KEY)
    ended = command(server, provider="prime", key=None)
    assert 0 == ended.status, ended.read
    assert "the personal wallet pays" in ended.read
    assert {None} == {asked.headers.get("x-prime-team-id") for asked in server.asked}
    assert {f"Bearer {KEY}"} == authorizations(server)


@pytest.mark.usefixtures("command")
def test_39_prime_s_address_and_payer() -> None:
    settings = ModelSettings(provider="prime", model="m")
    mine = resolve(settings, {"PRIME_API_KEY": KEY, "HOME": "nowhere"})
    ours = resolve(settings, {"PRIME_API_KEY": KEY, "HOME": "nowhere", "PRIME_TEAM_ID": "team-7"})
    assert "https://api.pinference.ai/api/v1" == mine.base_url == ours.base_url
    assert ("the personal wallet pays", "team team-7 pays") == (mine.payer, ours.payer)


def test_40_a_seed_is_sent_and_recorded_and_nothing_is_promised_of_it(
    command: Command, server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ended = command(server, "--seed", "7", "--temperature", "0")
    assert 0 == ended.status
    assert {(7, 0.0)} == {(body["seed"], body["temperature"]) for body in server.bodies}
    result = result_in(tmp_path)
    assert (7, 0.0) == (result["parameters"]["seed"], result["parameters"]["temperature"])
    with pytest.raises(SystemExit):
        main(["run", "--help-all"])
    promises = f"{ended.read} {capsys.readouterr().out}".casefold()
    assert "may ignore it" in " ".join(promises.split())
    assert [] == [word for word in ("deterministic", "reproducib", "identical") if word in promises]
