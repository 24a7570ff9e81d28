"""How near the live engine comes to what the line allows: each figure as a ratio to the ideal of the same run.

Usage: python benchmarks/live_engine.py [--quick] [ROW …]
Rows: second (5,200 calls, 1 s each, 100 at once), quarter (the same, 0.25 s each), deep (one conversation with a
judge), resume (nothing left to do for 200 conversations), memory (50 and 400 conversations). The server is the fault
server of `selftest`, in a process of its own, so both share the machine's cores. `--quick` makes a fifth of the calls.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from factory import write_conversations

import attunebench
from attunebench.protocol.calls import Call, Record
from attunebench.runner import ModelSettings, Observer, RunPlan, RunSettings

TURNS = 5
CALLS = 4 * TURNS + 1
AT_ONCE = 100


class Watch(Observer):
    """Times a run from the moment before its first request to its last answer."""

    def __init__(self) -> None:
        self.calls = 0
        self.began = self.ended = self.busy = 0.0

    def started(self, plan: RunPlan) -> None:
        self.began, self.busy = time.perf_counter(), time.process_time()

    def answered(self, call: Call, record: Record) -> None:
        self.calls += 1
        self.ended = time.perf_counter()

    def written(self, conversation_id: str, mode: str, path: Path) -> None:
        self.processor = time.process_time() - self.busy

    @property
    def seconds(self) -> float:
        return self.ended - self.began


def main() -> None:
    options = _options()
    conversations = 50 if options.quick else 248
    rows = {
        "second": lambda folder: _flood(folder, conversations, delay=1.0, target=1.05),
        "quarter": lambda folder: _flood(folder, conversations, delay=0.25, target=1.15),
        "deep": _deep,
        "resume": _resume,
        "memory": _memory,
    }
    for name in options.rows or rows:
        with tempfile.TemporaryDirectory() as scratch:
            print(f"{name:<8} {rows[name](Path(scratch))}", flush=True)


def _flood(folder: Path, n: int, *, delay: float, target: float) -> str:
    watch = Watch()
    with _server(delay) as url:
        _run(folder, url, n, watch)
    ideal = watch.calls * delay / AT_ONCE
    return (
        f"{watch.calls} calls of {delay} s, {AT_ONCE} at once: {watch.seconds:.1f} s = {watch.seconds / ideal:.3f} x "
        f"ideal (target {target}), {1000 * watch.processor / watch.calls:.2f} ms of processor time a call (target 2.8)"
    )


def _deep(folder: Path) -> str:
    watch = Watch()
    with _server(1.0) as url:
        _run(folder, url, 1, watch, judged=True)
    return f"{watch.calls} calls, one conversation with a judge, 1 s each: {watch.seconds:.2f} s (target 2.3)"


def _resume(folder: Path) -> str:
    with _server(0.0) as url:
        _run(folder, url, 200, Watch())
        command = [*_command(), "run", "local", "fake-model", str(folder / "conversations")]
        command += ["-o", str(folder / "results"), "--base-url", url, "--quiet", "--concurrency", str(AT_ONCE)]
        took = []
        for _ in range(3):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            took.append(time.perf_counter() - began)
    return f"200 conversations, nothing left to do: {min(took):.2f} s for the whole command (target 1.5)"


def _memory(folder: Path) -> str:
    peaks = []
    for n in (50, 400):
        place = folder / str(n)
        place.mkdir()
        with _server(0.0) as url:
            process = subprocess.run(
                [sys.executable, __file__, "--one", str(place), url, str(n)], check=True, capture_output=True, text=True
            )
        peaks.append(float(process.stdout))
    return f"peak memory beyond the loaded conversations: {peaks[0]:.0f} MB for 50, {peaks[1]:.0f} MB for 400"


def _grown_by(folder: Path, url: str, n: int) -> float:
    """MB by which the process grew from the loaded conversations to its peak."""
    write_conversations(folder / "conversations", n, turns=TURNS)
    conversations = attunebench.load_conversations(folder / "conversations")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    attunebench.run(conversations, _settings(folder, url))
    return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024


def _run(folder: Path, url: str, n: int, watch: Watch, *, judged: bool = False) -> None:
    write_conversations(folder / "conversations", n, turns=TURNS)
    conversations = attunebench.load_conversations(folder / "conversations")
    attunebench.run(conversations, _settings(folder, url, judged=judged), observer=watch)


def _settings(folder: Path, url: str, *, judged: bool = False) -> RunSettings:
    judges = (ModelSettings(provider="local", model="fake-judge", base_url=url),) if judged else ()
    return RunSettings(
        em=ModelSettings(provider="local", model="fake-model", base_url=url),
        judges=judges,
        output=folder / "results",
        concurrency=AT_ONCE,
    )


def _command() -> list[str]:
    return [str(Path(sys.executable).with_name("attune-bench"))]


@contextmanager
def _server(delay: float) -> Iterator[str]:
    command = [sys.executable, "-m", "attunebench.selftest.server", "--delay", str(delay)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=dict(os.environ)) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Time the live engine against a local server.")
    parser.add_argument("rows", nargs="*", metavar="ROW", help="second, quarter, deep, resume, memory; default all")
    parser.add_argument("--quick", action="store_true", help="a fifth of the calls")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        folder, url, n = options.one
        print(_grown_by(Path(folder), url, int(n)))
        sys.exit()
    return options


if __name__ == "__main__":
    main()
