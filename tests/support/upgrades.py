"""Result folders of an earlier version, and the server behind them: how they were made and how they are run again.

The address is part of a request's hash, and a fixed port may be taken. So the commands ask a host that does not exist,
and HTTP_PROXY leads to the test's own server. Every answer is a function of the model, the messages and the schema.

`python tests/support/upgrades.py OUT` makes the folders anew with whatever `attunebench` is imported.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from batch_server import BatchServer, Made
from engines import openai_line, requests_in, write_lines
from factory import write_conversations

from attunebench.selftest.answers import completion, filled, first_ask
from attunebench.selftest.server import Answer, Asked, Status

URL = "http://model.test/v1"
CONVERSATIONS, TURNS = 3, 2
MODES = ("default", "verbose")
JUDGES = ("judge-a", "judge-b")
TROUBLED = "em-troubled"
"""A model that leaves some calls unanswered, refuses some and never comes to the end of some; others are blocked."""
SERVER_STATE = "server.json.gz"
REQUESTS, RESPONSES = "requests.jsonl", "responses.jsonl"

_MODES = ("--modes", *MODES)
_JUDGES = ("--judge-model", JUDGES[0], "--judge-model", JUDGES[1])
_RUN = ("run", "local", "em", "data", "--base-url", URL, "--concurrency", "4", *_MODES)
_REJUDGE = ("rejudge", "-d", "data", "--judge-provider", "local", "--judge-base-url", URL, "--concurrency", "4")
_DELTA = (*_RUN, *_JUDGES[:2], "--panas-strategy", "delta")
_TROUBLED = ("run", "local", TROUBLED, *_RUN[3:], *_JUDGES)
_BATCH = ("--batch", "--poll-interval", "0")
PLAN = ("plan", "local", "em", "data", "--base-url", URL, *_MODES)
COLLECT = ("collect", RESPONSES)


@dataclass(frozen=True)
class Folder:
    """One folder: its commands in order; the last one was killed after so many answers (None: it ended).

    `whole` is the folder in which the same calls are finished.
    """

    commands: Sequence[Sequence[str]]
    killed_after: int | None = None
    whole: str = "finished"


FOLDERS: Mapping[str, Folder] = {
    "finished": Folder([(*_RUN, *_JUDGES)]),
    "killed": Folder([(*_RUN, *_JUDGES)], killed_after=45),
    "killed-early": Folder([(*_RUN, *_JUDGES)], killed_after=7),
    "unjudged": Folder([_RUN]),
    "delta-finished": Folder([_DELTA]),
    "delta-killed": Folder(
        [(*_RUN, *_JUDGES[:2], "--panas-strategy", "delta")], killed_after=38, whole="delta-finished"
    ),
    "sharded-killed": Folder([(*_RUN, *_JUDGES, "--shard", shard) for shard in ("1/2", "2/2")], killed_after=20),
    "rejudge-killed": Folder([_RUN, (*_REJUDGE, *_JUDGES)], killed_after=13),
    "troubled-finished": Folder([_TROUBLED]),
    "troubled-killed": Folder([_TROUBLED], killed_after=60, whole="troubled-finished"),
    "batch-finished": Folder([(*_RUN, *_JUDGES, *_BATCH)]),
}
"""The folders of live runs and of finished batches: their commands are repeated as they are."""
ADD_JUDGES = (*_RUN, *_JUDGES)
BATCH = (*_RUN, *_BATCH, "--limit", "1")
"""`batch-under-way`: killed while the provider has the requests."""


def says(asked: Asked) -> Answer | Status:
    """A complete answer to the schema, other for every model and prompt; trouble alike at every reask of a call."""
    salt = sha256(f"{asked.model}\n{first_ask(asked.prompt)}".encode()).hexdigest()[:8]
    good = Answer(json.dumps(filled(asked.schema, salt=salt)))
    if asked.model != TROUBLED:
        return good
    filtered = {"error": {"message": "The content filter has blocked this prompt.", "code": "content_filter"}}
    troubles: tuple[Answer | Status, ...] = (
        Answer("{}"),
        Answer("", message={"refusal": "I would rather not."}),
        replace(good, text=str(good.text)[:-9], finish_reason="length"),
        Status(400, filtered),
    )
    place = int(salt, 16) % 12
    return troubles[place] if place < len(troubles) else good


def environment(server: BatchServer, home: Path) -> dict[str, str]:
    """This process's environment, with no key, another home, and the server as the way to every host."""
    ours = ("_API_KEY", "_PROXY", "_BASE_URL", "_TEAM_ID")
    kept = {name: value for name, value in os.environ.items() if not name.upper().endswith(ours)}
    return {**kept, "HOME": str(home), "NO_COLOR": "1", "HTTP_PROXY": server.url.removesuffix("/v1")}


def set_up(server: BatchServer, state: Path) -> None:
    """Give the server the batches and files of a server that was seen before."""
    known = json.loads(gzip.decompress(state.read_bytes()))
    server.batches.update({made["id"]: Made(**made) for made in known["batches"]})
    server.files.update({name: content.encode() for name, content in known["files"].items()})


def answered(requests: Sequence[dict[str, Any]], responses: Path) -> None:
    """Answer requests as an engine of one's own would."""

    def line(request: dict[str, Any]) -> dict[str, Any]:
        asked = Asked(0, "POST", request["url"], {}, json.dumps(request["body"]).encode())
        said = says(asked)
        assert isinstance(said, Answer)
        return openai_line(request, completion(asked, said))

    write_lines(responses, map(line, requests))


def _command(server: BatchServer, folder: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    program = [sys.executable, "-m", "attunebench.cli.main", *words]
    return subprocess.Popen(program, cwd=folder, env=environment(server, folder), stderr=subprocess.DEVNULL)


def _make(folder: Path, made: Folder) -> None:
    """Do the commands; kill the last one once it was answered so often and waits for more."""
    with BatchServer(says=says, prices=(1e-6, 4e-6)) as server:
        *first, last = made.commands
        for words in first:
            assert 0 == _command(server, folder, words).wait()
        held, begun = threading.Event(), len(server.fake.bodies)

        def gate(asked: Asked) -> Answer | Status:
            if made.killed_after is None or len(server.fake.bodies) - begun <= made.killed_after:
                return says(asked)
            held.set()
            return Answer(delay=600)

        server.says = gate
        process = _command(server, folder, last)
        if made.killed_after is not None:
            assert held.wait(60)
            time.sleep(1.0)  # until what was answered is written
            process.send_signal(signal.SIGKILL)
        assert (0 if made.killed_after is None else -signal.SIGKILL) == process.wait()


def _make_batch_under_way(folder: Path) -> None:
    with BatchServer(says=says, course=lambda _: ["in_progress"] * 1000) as server:
        process = _command(server, folder, BATCH)
        looks = iter(range(1000))
        server.after = lambda asked: process.kill() if asked.method == "GET" and next(looks) == 3 else None  # type: ignore[func-returns-value]
        assert -signal.SIGKILL == process.wait()
        files = {name: content.decode() for name, content in server.files.items()}
        state = {"batches": [asdict(made) | {"course": ["completed"]} for made in server.made], "files": files}
        (folder / SERVER_STATE).write_bytes(gzip.compress(json.dumps(state).encode(), mtime=0))


def _make_collected(folder: Path) -> None:
    """Two thirds of the answers are there."""
    requests, responses = folder / REQUESTS, folder / RESPONSES
    with BatchServer(says=says) as server:
        assert 0 == _command(server, folder, PLAN).wait()
        lines = requests_in(requests)
        answered(lines[: len(lines) * 2 // 3], responses)
        assert 1 == _command(server, folder, COLLECT).wait()
    responses.unlink()
    (folder / f"{REQUESTS}.gz").write_bytes(gzip.compress(requests.read_bytes(), mtime=0))
    requests.unlink()


def main(out: Path) -> None:
    """Make all folders."""
    data = write_conversations(out / "data", CONVERSATIONS, seed=41, turns=TURNS)
    jobs = {name: lambda folder, made=made: _make(folder, made) for name, made in FOLDERS.items()}
    for name, job in (jobs | {"batch-under-way": _make_batch_under_way, "collected": _make_collected}).items():
        folder = out / name
        shutil.copytree(data, folder / "data")
        job(folder)
        shutil.rmtree(folder / "data")
        for lock in folder.rglob("*.lock"):
            lock.unlink()
        print(name, sorted(path.name for path in folder.rglob("*") if path.is_file()), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
