"""A local server that speaks the endpoints of OpenAI's batch service, and the chat API with the same answers.

Time is counted in looks: a batch goes one state further each time that it is looked at. What a test wants otherwise it
says by the attributes of `BatchServer`. As a program it serves until it is ended.
"""

from __future__ import annotations

import argparse
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

from attunebench.selftest.answers import completion, varied_text
from attunebench.selftest.server import Answer, Asked, Behaviour, FakeServer, Status

COURSE = ("validating", "in_progress", "completed")
Said = Answer | Status | None
"""What comes of one line: an answer, an error line, or no line at all."""


@dataclass
class Made:
    """A batch. `course`: the states that it still goes through; `lines` the requests."""

    id: str
    number: int
    file: str
    metadata: Any
    lines: list[dict[str, Any]]
    course: list[str]
    status: str = "validating"
    output: str | None = None
    errors: str | None = None
    problems: Sequence[dict[str, Any]] = ()
    completed: int = 0
    failed: int = 0
    hidden: int = 0
    """Looks for which the files are not shown yet."""

    @property
    def model(self) -> str:
        return str(self.lines[0]["body"]["model"]) if self.lines else ""

    def shown(self) -> dict[str, Any]:
        files = (None, None) if self.hidden else (self.output, self.errors)
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": "/v1/chat/completions",
            "errors": {"object": "list", "data": list(self.problems)} if self.problems else None,
            "input_file_id": self.file,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": files[0],
            "error_file_id": files[1],
            "created_at": 1_790_000_000 + self.number,
            "request_counts": {"total": len(self.lines), "completed": self.completed, "failed": self.failed},
            "metadata": self.metadata,
        }


def varied(asked: Asked) -> Said:
    """A complete answer that no other prompt gets."""
    return Answer(varied_text(asked))


@dataclass
class BatchServer:
    """Use it as `with BatchServer() as server`.

    `says` answers lines and live calls; `course` gives the states of a batch after its making, `problems` what is wrong
    with one that fails; `answered` how many lines one has answered that is cut short. `before` and `after` hear of each
    request before and after it has its effect, and may give something else to be done in place of the answer.
    `billed` counts answered lines by what was asked.
    """

    says: Callable[[Asked], Said] = varied
    course: Callable[[Made], Sequence[str]] = lambda _: COURSE[1:]
    problems: Callable[[Made], Sequence[dict[str, Any]]] = lambda _: ()
    answered: Callable[[Made], int] = lambda made: len(made.lines) // 2
    before: Callable[[Asked], Behaviour | None] = lambda _: None
    after: Callable[[Asked], Behaviour | None] = lambda _: None
    hidden: int = 0
    page: int = 100
    prices: tuple[float, float] | None = None
    port: int = 0
    models: tuple[str, ...] = ("fake-model", "judge-a", "judge-b")
    files: dict[str, bytes] = field(default_factory=dict)
    batches: dict[str, Made] = field(default_factory=dict)
    billed: Counter[str] = field(default_factory=Counter)
    uploads: int = 0
    _numbers: Iterator[int] = field(default_factory=count)

    def __enter__(self) -> BatchServer:
        self._lock = threading.Lock()
        self.fake = FakeServer(self._script, port=self.port, models=self.models, prices=self.prices).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.fake.stop()

    @property
    def url(self) -> str:
        return self.fake.url

    @property
    def asked(self) -> list[str]:
        """ "POST /files", "GET /batches/ID" … of all requests so far, without live ones."""
        return [_name(each) for each in self.fake.asked if not each.path.endswith(("/chat/completions", "/models"))]

    @property
    def made(self) -> list[Made]:
        """The batches in the order of their making."""
        return list(self.batches.values())

    def _script(self, asked: Asked) -> Behaviour:
        if asked.path.endswith("/chat/completions"):
            return self.says(asked) or Status(500)
        if (instead := self.before(asked)) is not None:
            return instead
        with self._lock:
            answer = self._answer(asked)
        return self.after(asked) or answer

    def _answer(self, asked: Asked) -> Status:
        path = urlsplit(asked.path).path.removeprefix("/v1")
        parts = path.strip("/").split("/")
        if (asked.method, path) == ("POST", "/files"):
            return self._upload(asked)
        if (asked.method, path) == ("POST", "/batches"):
            return self._create(asked)
        if (asked.method, path) == ("GET", "/batches"):
            return self._listed(asked)
        if parts[0] == "files" and parts[1] in self.files:
            content = self.files[parts[1]]
            if asked.method == "DELETE":
                del self.files[parts[1]]
            return Status(200, content) if parts[-1] == "content" else Status(200, {"id": parts[1], "deleted": True})
        if parts[0] == "batches" and parts[1] in self.batches:
            made = self.batches[parts[1]]
            return self._cancelled(made) if parts[-1] == "cancel" else self._looked_at(made)
        return Status(404, {"error": {"message": f"No such object: {parts[-1]}"}})

    def _upload(self, asked: Asked) -> Status:
        boundary = re.search(r'boundary="?([^";]+)', asked.headers["content-type"])
        assert boundary is not None
        found = {}
        for part in asked.content.split(b"--" + boundary[1].encode())[1:-1]:
            head, _, content = part.partition(b"\r\n\r\n")
            name = re.search(rb'name="([^"]+)"', head)
            assert name is not None
            found[name[1].decode()] = content.removesuffix(b"\r\n")
        assert found["purpose"] == b"batch"
        self.uploads += 1
        return Status(200, {"id": self._store(found["file"]), "object": "file", "purpose": "batch"})

    def _store(self, content: bytes) -> str:
        name = f"file-{next(self._numbers)}"
        self.files[name] = content
        return name

    def _create(self, asked: Asked) -> Status:
        body = asked.body
        assert body["endpoint"] == "/v1/chat/completions"
        assert body["completion_window"] == "24h"
        number = len(self.batches) + 1
        lines = [json.loads(line) for line in self.files[body["input_file_id"]].splitlines()]
        made = Made(f"batch_{number}", number, body["input_file_id"], body.get("metadata"), lines, [])
        made.course, made.hidden = list(self.course(made)), self.hidden
        self.batches[made.id] = made
        return Status(200, made.shown())

    def _listed(self, asked: Asked) -> Status:
        query = parse_qs(urlsplit(asked.path).query)
        newest = list(reversed(self.made))
        after = query.get("after", [""])[0]
        start = next((place + 1 for place, made in enumerate(newest) if made.id == after), 0)
        page = newest[start : start + self.page]
        more = start + self.page < len(newest)
        return Status(200, {"object": "list", "data": [made.shown() for made in page], "has_more": more})

    def _looked_at(self, made: Made) -> Status:
        if made.course:
            made.status = made.course.pop(0)
            if made.status in ("completed", "expired", "cancelled"):
                self._do(made)
            elif made.status == "failed":
                made.problems = self.problems(made)
        elif made.hidden:
            made.hidden -= 1
        return Status(200, made.shown())

    def _cancelled(self, made: Made) -> Status:
        if not made.course:
            return Status(400, {"error": {"message": f"Cannot cancel a batch with status {made.status!r}."}})
        made.status, made.course = "cancelling", ["cancelled"]
        return Status(200, made.shown())

    def _do(self, made: Made) -> None:
        """Answer the lines, the last one first: nothing may go by their order."""
        whole = made.status == "completed"
        number = len(made.lines) if whole else self.answered(made)
        output, errors = [], []
        for place, line in reversed(list(enumerate(made.lines))):
            if place >= number:
                error = {"code": f"batch_{made.status}", "message": "This request could not be executed in time."}
                errors.append({"custom_id": line["custom_id"], "response": None, "error": error})
                continue
            asked = Asked(0, "POST", line["url"], {}, json.dumps(line["body"], separators=(",", ":")).encode())
            said = self.says(asked)
            if isinstance(said, Answer):
                self.billed[json.dumps(line["body"], sort_keys=True)] += 1
                response = {"status_code": 200, "request_id": "r", "body": completion(asked, said)}
                output.append({"id": "x", "custom_id": line["custom_id"], "response": response, "error": None})
            elif isinstance(said, Status):
                response = {"status_code": said.status, "request_id": "r", "body": said.body}
                errors.append({"id": "x", "custom_id": line["custom_id"], "response": response, "error": None})
        made.completed, made.failed = len(output), len(errors)
        made.output = self._store(_lines(output)) if output else None
        made.errors = self._store(_lines(errors)) if errors else None


def _lines(entries: Sequence[Any]) -> bytes:
    return b"".join(json.dumps(entry).encode() + b"\n" for entry in entries)


def _name(asked: Asked) -> str:
    path = urlsplit(asked.path).path.removeprefix("/v1")
    return f"{asked.method} {re.sub(r'(file-|batch_)[^/]+', 'ID', path)}"


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--looks", type=int, default=2, help="looks until a batch is done")
    parser.add_argument("--prices", type=float, nargs=2, metavar=("IN", "OUT"), help="USD per million tokens")
    options = parser.parse_args()
    course = ["in_progress"] * max(0, options.looks - 1) + ["completed"]
    prices = (options.prices[0] / 1e6, options.prices[1] / 1e6) if options.prices else None
    with BatchServer(course=lambda _: course, port=options.port, prices=prices) as server:
        print(server.url, flush=True)
        while True:
            time.sleep(3600)


if __name__ == "__main__":
    main()
