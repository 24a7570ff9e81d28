"""Kills runs at random moments with SIGKILL, repeats the command, and checks what was lost and what was paid twice.

Usage: python benchmarks/random_kills.py [--kills N] [--seed S] [WAY …]
Ways: live, batch, rejudge, arena (verdicts of two judges), audit, ray. Each kill comes after a random request of a
small run. A way is good when its results are those of an undisturbed run, no answered line of a batch was bought twice,
no more calls were asked again than were under way at the kills, and one more repetition asks nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from batch_server import BatchServer, Said
from factory import write_conversations

from attunebench.selftest.answers import varied_text
from attunebench.selftest.server import Answer, Asked

CONCURRENCY = 4
JUDGES = ("--judge-model", "judge-a", "--judge-model", "judge-b")
BY_THE_WAY = ("run_timestamp", "duration_seconds", "rejudged", "seconds")
BEFORE = {"rejudge": ["unjudged"], "arena": ["new", "pairs"], "audit": ["unjudged"]}
"""What is done, undisturbed, before the command of a way."""
MOST_KILLS = 4
"""Kills of one run, before it is left alone."""


def slowly(asked: Asked) -> Said:
    """A complete answer that no other prompt gets, after a moment."""
    return Answer(varied_text(asked), delay=0.02)


class Case:
    """One run of a way in a folder of its own, repeated until it is done."""

    def __init__(self, way: str, folder: Path, data: Path, server: BatchServer) -> None:
        self.way, self.folder, self.data, self.server = way, folder, data, server
        self.results, self.arena = folder / "results", folder / "arena"

    def command(self, way: str) -> list[str]:
        """The words of the command that is killed and repeated."""
        address = ["--base-url", self.server.url]
        judges = ["--judge", "local:judge-a", "--judge", "local:judge-b", *address, "--concurrency", str(CONCURRENCY)]
        arena, results, data = str(self.arena), str(self.results), str(self.data)
        commands = {
            "new": ["arena", "new", arena, "-d", data],
            "pairs": ["arena", "pairs", arena],
            "arena": ["arena", "judge", arena, *judges],
            "audit": ["judge-audit", "-r", results, "-d", data, *judges],
        }
        if way in commands:
            return commands[way]
        if way == "rejudge":
            words = ["rejudge", "-r", results, "-d", data, "--judge-provider", "local", *JUDGES]
            return [*words, "--judge-base-url", self.server.url, "--concurrency", str(CONCURRENCY)]
        words = ["run", "local", "fake-model", data, *address, "-o", results, *JUDGES]
        if way == "unjudged":
            return [*words[: -len(JUDGES)], "--concurrency", str(CONCURRENCY)]
        more = {"batch": ["--batch", "--poll-interval", "0.05"], "ray": ["--executor", "ray", "--workers", "2"]}
        return [*words, "--concurrency", str(CONCURRENCY), *more.get(way, [])]

    def start(self, way: str) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": tempfile.gettempdir() + "/kills-compiled"}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        return subprocess.Popen(
            [sys.executable, "-m", "attunebench.cli.main", *self.command(way)],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=(self.folder / "said.txt").open("ab"),
            start_new_session=True,
        )

    def finish(self, way: str) -> None:
        process = self.start(way)
        status = process.wait(timeout=300)
        assert status == 0, f"{way}: exit status {status}: {(self.folder / 'said.txt').read_text()[-2000:]}"

    def kill(self, rng: random.Random, most: int) -> bool:
        """Start it, and kill it after a random request; whether it was not over before."""
        begun, wanted = len(self.server.fake.asked), rng.randrange(1, max(2, most))
        process = self.start(self.way)
        until = time.monotonic() + 120
        while process.poll() is None and len(self.server.fake.asked) - begun < wanted and time.monotonic() < until:
            time.sleep(0.002)
        time.sleep(rng.random() * 0.05)
        killed = process.poll() is None
        os.killpg(process.pid, signal.SIGKILL) if killed else None
        process.wait()
        return killed

    def content(self) -> dict[str, Any]:
        """What each result file and each line of verdicts holds."""
        texts = {path.name: path.read_text() for path in self.results.glob("[!_.]*.json")}
        for path in self.folder.rglob("verdicts/*.jsonl"):
            lines = path.read_text().splitlines()
            texts |= {f"{path.name}, line {number}": line for number, line in enumerate(lines, 1)}
        return {
            name: {key: value for key, value in json.loads(text).items() if key not in BY_THE_WAY}
            for name, text in sorted(texts.items())
        }


def asked_twice(server: BatchServer) -> int:
    """Live calls beyond the first of each."""
    counts = Counter(json.dumps(body, sort_keys=True) for body in server.fake.bodies)
    return sum(count - 1 for count in counts.values())


def one(way: str, rng: random.Random, at: Path, data: Path) -> tuple[int, int]:
    """A run with up to MOST_KILLS kills; (kills, live calls asked again)."""
    with BatchServer(says=slowly) as server:
        case = Case(way, at, data, server)
        case.folder.mkdir()
        for earlier in BEFORE.get(way, ()):
            case.finish(earlier)
        before = len(server.fake.asked)
        case.finish(way)
        whole, most = case.content(), len(server.fake.asked) - before
    shutil.rmtree(at)
    with BatchServer(says=slowly) as server:
        case = Case(way, at, data, server)
        case.folder.mkdir()
        for earlier in BEFORE.get(way, ()):
            case.finish(earlier)
        kills = sum(case.kill(rng, most) for _ in range(rng.randint(1, MOST_KILLS)))
        case.finish(way)
        found = case.content()
        assert found.keys() == whole.keys(), f"{way}: other results"
        for name, result in found.items():
            different = [key for key in {**result, **whole[name]} if result.get(key) != whole[name].get(key)]
            assert not different, f"{way}: {name} differs in {different}"
        again = asked_twice(server)
        assert again <= kills * CONCURRENCY * 3, f"{way}: {again} calls asked again after {kills} kills"
        assert all(count == 1 for count in server.billed.values()), f"{way}: a line of a batch was bought twice"
        before = len(server.fake.bodies), len(server.batches)
        case.finish(way)
        assert before == (len(server.fake.bodies), len(server.batches)), f"{way}: a finished run asked again"
        return kills, again


def main(words: Sequence[str] | None = None, say: Callable[..., None] = print) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("ways", nargs="*", default=["live", "batch", "rejudge", "arena", "audit", "ray"])
    options = parser.parse_args(words)
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="kills-") as folder:
        data = write_conversations(Path(folder) / "data", 2, seed=5, turns=2)
        for way in options.ways:
            kills = again = runs = 0
            while kills < options.kills // len(options.ways):
                more = one(way, rng, Path(folder) / way, data)
                shutil.rmtree(Path(folder) / way)
                kills, again, runs = kills + more[0], again + more[1], runs + 1
            say(
                f"{way}: {kills} kills in {runs} runs, {again} calls asked again, nothing lost or bought twice",
                flush=True,
            )


if __name__ == "__main__":
    main()
