"""A real HTTP server that speaks the chat API of OpenAI-compatible servers and behaves as it is told.

Standard library only. In a test: `with FakeServer(script) as server: … server.url`. As a program:
`python fake_server.py --port 0 --delay 0.25` prints its URL and serves until it is ended.

A script is a function from what was asked (`Asked`) to what is done (`Answer`, `Status`, `Raw`, `Drip`, `Together`,
`Hang`), a list of such doings (one for each request, the last one for ever), or None: every request gets a complete
answer.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import threading
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}


@dataclass(frozen=True)
class Asked:
    """One request as it arrived. `number` counts from 0; header names are in lower case; `body` is None for no JSON."""

    number: int
    method: str
    path: str
    headers: Mapping[str, str]
    body: Any

    @property
    def prompt(self) -> str:
        """All message texts, one after the other."""
        messages = self.body.get("messages", []) if isinstance(self.body, dict) else []
        return "\n".join(str(message.get("content")) for message in messages)

    @property
    def schema(self) -> Any:
        """The schema of the response format, or None."""
        form = self.body.get("response_format") if isinstance(self.body, dict) else None
        return (form or {}).get("json_schema", {}).get("schema")


@dataclass(frozen=True)
class Answer:
    """A completion. `text` None: a complete answer to what was asked; `message` and `extra` add to or override the
    message and the body; `delay` in seconds."""

    text: str | None = None
    delay: float = 0.0
    finish_reason: str | None = "stop"
    message: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Status:
    """A response with this status. `body` is sent as JSON, or as it is where it is a string or bytes."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    delay: float = 0.0


@dataclass(frozen=True)
class Raw:
    """These bytes and the end of the connection, whatever was asked; b"" closes without a word."""

    content: bytes = b""
    delay: float = 0.0


@dataclass(frozen=True)
class Drip:
    """A good answer, one byte every `every` seconds."""

    every: float = 0.05


@dataclass(frozen=True)
class Together:
    """A good answer as soon as so many requests have been under way at once."""

    count: int


@dataclass(frozen=True)
class Hang:
    """No answer until the server ends."""


Doing = Answer | Status | Raw | Drip | Together | Hang
Script = Callable[[Asked], Doing] | Sequence[Doing] | None


class FakeServer:
    """Serves from a thread of its own, on a free port of 127.0.0.1 unless `port` names one.

    `asked` holds every request in the order of arrival, `most_at_once` the largest number under way together.
    `script` may be replaced at any time.
    """

    def __init__(self, script: Script = None, *, port: int = 0) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._under_way = 0
        self._port = port
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="fake server", daemon=True)
        self._ready = threading.Event()
        self._failure: BaseException | None = None

    @property
    def url(self) -> str:
        """The base URL, with /v1."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of all chat requests so far."""
        return [asked.body for asked in self.asked if asked.path.endswith("/chat/completions")]

    def start(self) -> FakeServer:
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise RuntimeError("the fake server did not start") from self._failure
        return self

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    def __enter__(self) -> FakeServer:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        except BaseException as error:
            self._failure = error
            self._ready.set()
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        connections: set[asyncio.Task[None]] = set()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            connections.add(task)
            try:
                await self._converse(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                pass
            finally:
                connections.discard(task)
                writer.transport.abort()

        server = await asyncio.start_server(accept, "127.0.0.1", self._port, backlog=1024)
        self._port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()
        for task in tuple(connections):
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Request after request on one connection."""
        while (asked := await self._read(reader)) is not None:
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            try:
                kept = await self._respond(asked, writer)
            finally:
                self._under_way -= 1
            if not kept:
                return

    async def _read(self, reader: asyncio.StreamReader) -> Asked | None:
        head = await reader.readuntil(b"\r\n\r\n")
        request_line, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = request_line.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        try:
            body = json.loads(content)
        except ValueError:
            body = None
        asked = Asked(len(self.asked), method, path, headers, body)
        self.asked.append(asked)
        return asked

    async def _respond(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Do what the script says; whether the connection may be used again."""
        doing = self._doing(asked)
        if isinstance(doing, Hang):
            await self._stop.wait()
            return False
        if isinstance(doing, Together):
            while self.most_at_once < doing.count:
                await asyncio.sleep(0.01)
            doing = Answer()
        if isinstance(doing, Answer | Status | Raw) and doing.delay:
            await asyncio.sleep(doing.delay)
        if isinstance(doing, Raw):
            writer.write(doing.content)
            await writer.drain()
            writer.close()
            return False
        if isinstance(doing, Drip):
            for byte in _response(200, completion(asked, Answer())):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(doing.every)
            return True
        if isinstance(doing, Status):
            writer.write(_response(doing.status, doing.body, doing.headers))
        else:
            writer.write(_response(200, completion(asked, doing)))
        await writer.drain()
        return True

    def _doing(self, asked: Asked) -> Doing:
        if asked.path.endswith("/models"):
            return Status(200, {"object": "list", "data": [{"id": "fake-model", "object": "model"}]})
        if callable(self.script):
            return self.script(asked)
        if self.script:
            return self.script[min(asked.number, len(self.script) - 1)]
        return (
            Answer() if asked.path.endswith("/chat/completions") else Status(404, {"error": {"message": "Not Found"}})
        )


def _response(status: int, body: Any, headers: Mapping[str, str] | None = None) -> bytes:
    content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    kind = "application/json" if not isinstance(body, str | bytes) else "text/html"
    fields = {"content-type": kind, "content-length": str(len(content)), **(headers or {})}
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {REASONS.get(status, 'Status')}\r\n{lines}\r\n".encode("latin-1") + content


def completion(asked: Asked, answer: Answer) -> dict[str, Any]:
    """The body of a chat completion."""
    text = answer_text(asked) if answer.text is None else answer.text
    usage = {"prompt_tokens": len(asked.prompt) // 4, "completion_tokens": len(text) // 4}
    return {
        "id": f"chatcmpl-{asked.number}",
        "object": "chat.completion",
        "created": 0,
        "model": (asked.body or {}).get("model"),
        "choices": [
            {
                "index": 0,
                "finish_reason": answer.finish_reason,
                "message": {"role": "assistant", "content": text, **answer.message},
            }
        ],
        "usage": {**usage, "total_tokens": sum(usage.values())},
        **answer.extra,
    }


def answer_text(asked: Asked) -> str:
    """A complete answer: whatever the schema wants, or, without one, what the prompt's own words ask for."""
    value = filled(asked.schema) if asked.schema else answer_to_prompt(asked.prompt)
    return json.dumps(value, ensure_ascii=False)


def filled(schema: Mapping[str, Any], path: str = "") -> Any:
    """A value that fits the schema, the same at every call: closed choices vary with the place they stand in."""
    if "enum" in schema:
        return schema["enum"][(zlib.crc32(path.encode()) >> 8) % len(schema["enum"])]
    kind = schema.get("type")
    if kind == "object":
        return {name: filled(inner, f"{path}.{name}") for name, inner in schema.get("properties", {}).items()}
    if kind == "array":
        return [filled(schema["items"], f"{path}[]")]
    return {"integer": 4, "number": 4, "boolean": True}.get(str(kind), "I hear you. What would help most right now?")


def answer_to_prompt(prompt: str) -> dict[str, Any]:
    """The answer to one of this project's prompts, found by the answer keys that its format names."""
    wanted = set(re.findall(r'"(\w+)":', prompt))
    questions = re.findall(r"^\W*(B\d+)\b", prompt, re.MULTILINE)
    answers = {question: "yes" if zlib.crc32(question.encode()) % 3 else "no" for question in questions}
    answer: dict[str, Any] = {key: "A fake server gives no reasons." for key in wanted if key.endswith("reasoning")}
    if "drafted_response" in wanted:
        answer["drafted_response"] = "I hear you. What would help most right now?"
    if "emotion_tags" in wanted:
        answer["emotion_tags"] = [{"emotion": "Nervous", "intensity": 4}]
    if "pairwise_selections" in wanted:
        numbers = re.findall(r"^\W*(\d+)\W.*\bReply \d", prompt, re.MULTILINE)
        answer["pairwise_selections"] = {number: "AB"[int(number) % 2] for number in numbers}
    for key in ("binary_om_assessment", "binary_human_prediction", "draft_binary_assessment"):
        if key in wanted:
            answer[key] = answers
    for key in ("overall_score", "emotional_appropriateness", "helpfulness", "tone_match"):
        if key in wanted:
            answer[key] = 4
    return answer | _looking_back(prompt, wanted)


def _looking_back(prompt: str, wanted: set[str]) -> dict[str, Any]:
    """The answer about the whole conversation: the items and options are read off the prompt."""
    if "conversation_wide" not in wanted:
        return {}
    sides = re.findall(r"^(?:Positive|Negative): (.+)\.$", prompt, re.MULTILINE)
    items = {item.strip(): 4 for side in sides for item in side.split(",")}
    mood = "predicted_panas_delta" if "predicted_panas_delta" in wanted else "predicted_post_panas"
    listed = dict(re.findall(r"^(q\d\w*): .*\n\W*(.+)$", prompt, re.MULTILINE))
    branches = re.search(r"^fourBranchScores:.*\n((?:.+\n)+)", prompt, re.MULTILINE)
    names = re.findall(r"^\W*(\w+)", branches.group(1), re.MULTILINE) if branches else []
    return {
        mood: {"items": items},
        "conversation_wide": {
            "q1_lookingFor": [listed.get("q1_lookingFor", "Other")],
            "q2_emotionClarity": listed.get("q2_emotionClarity"),
            "q3_modelFit": listed.get("q3_modelFit"),
            "q3_followUp_whatFeltOff": [],
            "fourBranchScores": dict.fromkeys(names, 5),
        },
    }


def failing_first(times: int, status: int, otherwise: Answer) -> Callable[[Asked], Doing]:
    """The first requests fail with this status, all later ones are answered."""
    return lambda asked: Status(status, {"error": {"message": "busy"}}) if asked.number < times else otherwise


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--fail-first", type=int, default=0, metavar="N", help="fail the first N requests")
    parser.add_argument("--status", type=int, default=503, help="status of the failures")
    parser.add_argument("--text", help="answer everything with this text")
    options = parser.parse_args()
    answer = Answer(text=options.text, delay=options.delay)
    with FakeServer(failing_first(options.fail_first, options.status, answer), port=options.port) as server:
        print(server.url, flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
