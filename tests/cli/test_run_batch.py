"""`run --batch` as a user meets it: what it says, what it costs, how it is left and come back to."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from batch_server import BatchServer
from factory import write_conversations
from keys import KEY, TELLING

from attunebench.cli.main import main
from attunebench.selftest.server import Asked, Behaviour, Hang, Status


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    status: int
    out: str
    err: str


Batch = Callable[..., Ended]


@pytest.fixture
def server() -> Iterator[BatchServer]:
    with BatchServer() as server:
        yield server


@pytest.fixture
def batch(
    server: BatchServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Batch:
    """`batch(*options)`: `run --batch` over one conversation of one turn, five calls, without waits."""
    data = write_conversations(tmp_path / "data", 1, seed=3, turns=1)
    for name in os.environ:
        if name.upper().endswith(("_API_KEY", "_PROXY", "_BASE_URL")):
            monkeypatch.delenv(name)

    def call(*options: str, provider: str = "local", live: bool = False) -> Ended:
        words = ["run", provider, "fake-model", str(data), "-o", str(tmp_path / "results"), "--base-url", server.url]
        words += ["--api-key", KEY, *(() if live else ("--batch", "--poll-interval", "0")), *options]
        monkeypatch.setattr("sys.argv", ["attune-bench", *words])
        with pytest.raises(SystemExit) as ended:
            main(words)
        captured = capsys.readouterr()
        assert [] == [part for part in TELLING if part.decode() in captured.out + captured.err]
        return Ended(int(ended.value.code or 0), captured.out, " ".join(captured.err.split()))

    return call


def test_a_run_tells_of_its_batches_and_ends_like_any_other(batch: Batch, server: BatchServer) -> None:
    ended = batch("--judge-model", "judge-a")
    assert 0 == ended.status
    assert "batch_1 (fake-model): validating, 0 of 5 answered, since" in ended.err
    assert "batch_2 (judge-a): in_progress, 0 of 1 answered, since" in ended.err
    assert "next check in 0 s" in ended.err
    assert "1 result written" in ended.err
    assert "6 calls answered" in ended.err
    assert "Next: attune-bench score" in ended.err
    assert "" == ended.out


def test_quiet_says_the_closing_lines_only(batch: Batch) -> None:
    assert "batch_1" not in batch("--quiet").err


def test_events_tell_of_batches(batch: Batch) -> None:
    lines = [json.loads(line) for line in batch("--json").out.splitlines()]
    looks = [line["batches"] for line in lines if line["event"] == "batches" and line["batches"]]
    assert {"id", "status", "requests", "answered", "failed"} == looks[0][0].keys()
    assert ["batch_1", 5] == [looks[0][0][name] for name in ("id", "requests")]
    assert ["end", "exit"] == [line["event"] for line in lines][-2:]


def test_the_estimate_shows_both_prices(batch: Batch, server: BatchServer) -> None:
    ended = batch("--dry-run", "--price-in", "2", "--price-out", "8", "--batch-discount", "0.5")
    (live,) = re.findall(r"^Cost: about \$([\d.]+)", ended.out, re.MULTILINE)
    (by_batch,) = re.findall(r"^By batch: about \$([\d.]+)", ended.out, re.MULTILINE)
    assert pytest.approx(float(live) / 2, rel=0.01) == float(by_batch)
    assert "50% less for batches" in ended.out
    assert [] == server.asked


def test_openai_s_discount_is_known(batch: Batch) -> None:
    ended = batch("--price-in", "2", "--price-out", "8", provider="openai")
    assert "50% less for batches" in ended.err
    assert "The same calls made live: about $" in ended.err


def test_a_bound_that_is_too_low_ends_with_status_3(batch: Batch, server: BatchServer) -> None:
    ended = batch("--max-cost", "0.001", "--price-in", "2", "--price-out", "8")
    assert 3 == ended.status
    assert "Resume (raise --max-cost) with: attune-bench run" in ended.err
    assert [] == server.asked


def test_an_interrupted_run_says_how_to_come_back_and_how_to_cancel(batch: Batch, server: BatchServer) -> None:
    server.course = lambda _: ["in_progress"] * 1000
    looks = iter(range(1000))

    def interrupt(asked: Asked) -> Behaviour | None:
        if asked.path == "/v1/batches/batch_1" and next(looks) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return None

    server.after = interrupt
    ended = batch()
    assert 130 == ended.status
    assert "The batch continues at the provider: batch_1 (fake-model): in_progress" in ended.err
    assert re.search(r"Resume with: attune-bench run local .* --poll-interval 0 Cancel with: .* --cancel", ended.err)
    server.after = lambda _: None
    live = batch(live=True)
    assert 2 == live.status
    assert "in progress" in live.err
    assert [] == server.fake.bodies
    server.batches["batch_1"].course = ["completed"]
    assert 0 == batch().status
    assert 1 == len(server.made)


def test_who_interrupts_leaves_what_the_service_does_not_answer(batch: Batch, server: BatchServer) -> None:
    server.course = lambda _: ["in_progress"] * 1000

    def interrupt(asked: Asked) -> Behaviour | None:
        if asked.path != "/v1/batches/batch_1":
            return None
        os.kill(os.getpid(), signal.SIGINT)
        return Hang()

    server.after = interrupt
    ended = batch()
    assert (130, True, False) == (ended.status, "Resume with: attune-bench" in ended.err, "bug" in ended.err)


def test_cancelling_collects_what_is_done(batch: Batch, server: BatchServer) -> None:
    server.course = lambda _: ["in_progress"] * 1000
    server.answered = lambda _: 2
    server.after = lambda asked: (
        os.kill(os.getpid(), signal.SIGINT) if asked.path == "/v1/batches/batch_1" else None  # type: ignore[func-returns-value]
    )
    assert 130 == batch().status
    server.after = lambda _: None
    ended = batch("--cancel")
    assert 0 == ended.status
    assert "cancelled: 2 of 5 requests answered" in ended.err
    assert re.search(r"Resume with: attune-bench run .* --poll-interval 0$", ended.err)
    server.course = lambda _: ["completed"]
    assert 0 == batch().status
    assert [1] * 5 == list(server.billed.values())


def test_a_batch_that_somebody_cancelled_ends_with_status_1(batch: Batch, server: BatchServer) -> None:
    server.course = lambda _: ["cancelled"]
    ended = batch()
    assert 1 == ended.status
    assert "cancelled" in ended.err


def test_a_failed_batch_ends_with_status_2_and_harmless_words(batch: Batch, server: BatchServer) -> None:
    server.course = lambda _: ["failed"]
    server.problems = lambda _: [{"code": "model_not_found", "message": "no \x1b[31msuch\x1b[0m model", "line": 1}]
    ended = batch()
    assert 2 == ended.status
    assert "Batch batch_1 (fake-model) failed: no such model (line 1)." in ended.err
    assert "\x1b" not in ended.err


def test_a_server_without_batches_is_told_in_a_sentence(batch: Batch, server: BatchServer) -> None:
    server.before = lambda _: Status(404, {"detail": "Not Found"})
    ended = batch()
    assert 2 == ended.status
    assert "has no batch service" in ended.err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--shard", "1/2"), "--shard"),
        (("--judge-model", "j", "--judge-provider", "openrouter"), "attune-bench rejudge"),
    ],
)
def test_what_does_not_go_with_batches_is_refused(batch: Batch, options: tuple[str, ...], says: str) -> None:
    ended = batch(*options)
    assert 2 == ended.status
    assert says in ended.err


def test_options_of_batches_alone_are_refused_without_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "baseline", "random", str(tmp_path), "--cancel"])
    assert 2 == ended.value.code
    assert "require --batch" in capsys.readouterr().err
