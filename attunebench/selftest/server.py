"""A real HTTP server that speaks the chat API of OpenAI-compatible servers and behaves, or misbehaves, as it is told.

In this process: `with FakeServer(script) as server: … server.url`. As a program: `python -m attunebench.selftest.server
--port 0 --delay 0.25` prints its URL and serves until it is ended. Owns sockets and bytes; what is done when is the
script's (`behaviours`), what a good answer says is `answers`'.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from attunebench.selftest.answers import completion
from attunebench.selftest.behaviours import (
    Answer,
    Asked,
    Behaviour,
    Broken,
    Drip,
    Hang,
    Raw,
    Script,
    Status,
    Together,
)

__all__ = [
    "Answer",
    "Asked",
    "Behaviour",
    "Broken",
    "Drip",
    "FakeServer",
    "Hang",
    "Raw",
    "Script",
    "Status",
    "Together",
]

_REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER for no time: closing resets the connection


class FakeServer:
    """Serves from a thread of its own, on a free port of 127.0.0.1 unless `port` names one.

    `asked` holds every request in the order of arrival (their number alone where `keep` is false), `most_at_once` the
    largest number under way together. `script` may be replaced at any time. `prices` (USD for a prompt token, for a
    completion token) are listed under /models and stated as the cost of answers.
    """

    def __init__(
        self,
        script: Script = None,
        *,
        port: int = 0,
        keep: bool = True,
        models: tuple[str, ...] = ("fake-model",),
        prices: tuple[float, float] | None = None,
    ) -> None:
        self.script = script
        self.asked: list[Asked] = []
        self.most_at_once = 0
        self._keep = keep
        self._models = models
        self._prices = prices
        self._count = 0
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
        """Serve. Raises RuntimeError where the port cannot be had."""
        self._thread.start()
        self._ready.wait()
        if self._failure is not None:
            raise RuntimeError("the fake server did not start") from self._failure
        return self

    def stop(self) -> None:
        """End every connection and the thread."""
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
        while True:
            asked = await self._read(reader)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
            try:
                kept = await self._respond(asked, reader, writer)
            finally:
                self._under_way -= 1
            if not kept:
                return

    async def _read(self, reader: asyncio.StreamReader) -> Asked:
        head = await reader.readuntil(b"\r\n\r\n")
        request_line, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = request_line.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = Asked(len(self.asked) if self._keep else self._count, method, path, headers, content)
        self._count += 1
        if self._keep:
            self.asked.append(asked)
        return asked

    async def _respond(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Do what the script says; whether the connection may be used again."""
        behaviour = self._doing(asked)
        if isinstance(behaviour, Together):
            while self.most_at_once < behaviour.count:
                await asyncio.sleep(0.01)
            behaviour = Answer()
        if isinstance(behaviour, Answer | Status | Raw) and behaviour.delay:
            await asyncio.sleep(behaviour.delay)
        if isinstance(behaviour, Answer):
            writer.write(self._whole(asked, behaviour))
            await writer.drain()
            if behaviour.then is not None:
                behaviour.then()
        elif isinstance(behaviour, Status):
            writer.write(_response(behaviour.status, behaviour.body, behaviour.headers))
            await writer.drain()
        elif isinstance(behaviour, Raw) and behaviour.goes_on:
            writer.write(behaviour.content)
            await writer.drain()
        elif isinstance(behaviour, Drip):
            await _drip(writer, self._whole(asked, Answer()), behaviour.every)
        else:
            await self._misbehave(asked, behaviour, reader, writer)
            return False
        return True

    async def _misbehave(
        self, asked: Asked, behaviour: Raw | Broken | Hang, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """What ends the connection."""
        if isinstance(behaviour, Raw):
            writer.write(behaviour.content)
        elif isinstance(behaviour, Broken):
            writer.write(_broken(completion(asked, Answer()), behaviour))
        else:
            whole = self._whole(asked, Answer())
            writer.write(whole[: int(len(whole) * behaviour.share)])
        await writer.drain()
        if isinstance(behaviour, Hang):
            await reader.read()  # until the client leaves; a client says nothing more before it has its answer
        elif isinstance(behaviour, Broken) and behaviour.how == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if isinstance(behaviour, Broken) and behaviour.then is not None:
            behaviour.then()
        writer.close()

    def _doing(self, asked: Asked) -> Behaviour:
        if asked.path.endswith("/models"):
            return Status(200, {"object": "list", "data": [self._listed(model) for model in self._models]})
        if callable(self.script):
            return self.script(asked)
        if self.script:
            return self.script[min(asked.number, len(self.script) - 1)]
        return (
            Answer() if asked.path.endswith("/chat/completions") else Status(404, {"error": {"message": "Not Found"}})
        )

    def _listed(self, model: str) -> dict[str, Any]:
        entry: dict[str, Any] = {"id": model, "object": "model"}
        if self._prices is not None:
            prompt, completed = self._prices
            entry["pricing"] = {"prompt": f"{prompt:.12f}", "completion": f"{completed:.12f}"}
        return entry

    def _whole(self, asked: Asked, answer: Answer) -> bytes:
        body = completion(asked, answer)
        if self._prices is not None and answer.cost is None:
            usage, (prompt, completed) = body["usage"], self._prices
            usage["cost"] = usage["prompt_tokens"] * prompt + usage["completion_tokens"] * completed
        content = answer.before + json.dumps(body).encode()
        fields = {"content-type": "application/json", **answer.headers}
        if answer.gzip:
            content, fields["content-encoding"] = gzip.compress(content, mtime=0), "gzip"
        return _head(200, {**fields, "content-length": str(len(content))}) + content


async def _drip(writer: asyncio.StreamWriter, response: bytes, every: float) -> None:
    for byte in response:
        writer.write(bytes([byte]))
        await writer.drain()
        await asyncio.sleep(every)


def _response(status: int, body: Any, headers: Mapping[str, str]) -> bytes:
    content = body if isinstance(body, bytes) else body.encode() if isinstance(body, str) else json.dumps(body).encode()
    kind = "application/json" if not isinstance(body, str | bytes) else "text/html"
    return _head(status, {"content-type": kind, "content-length": str(len(content)), **headers}) + content


def _broken(body: Mapping[str, Any], behaviour: Broken) -> bytes:
    """A response that is not what its head says."""
    content = json.dumps(body).encode()
    fields = {"content-type": "application/json"}
    sent = int(len(content) * behaviour.share)
    if behaviour.how == "chunked":
        chunk = b"%x\r\n%s\r\n" % (sent, content[:sent])
        return _head(200, {**fields, "transfer-encoding": "chunked"}) + chunk
    if behaviour.how in ("length", "reset"):
        return _head(200, {**fields, "content-length": str(len(content))}) + content[:sent]
    if behaviour.how == "cut gzip":
        content = gzip.compress(content, mtime=0)[:-20]
    return _head(200, {**fields, "content-encoding": "gzip", "content-length": str(len(content))}) + content


def _head(status: int, fields: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}\r\n{lines}\r\n".encode("latin-1")


def failing_first(times: int, status: int, otherwise: Answer) -> Callable[[Asked], Behaviour]:
    """The first requests fail with this status, all later ones are answered."""
    return lambda asked: Status(status, {"error": {"message": "busy"}}) if asked.number < times else otherwise


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--fail-first", type=int, default=0, metavar="N", help="fail the first N requests")
    parser.add_argument("--status", type=int, default=503, help="status of the failures")
    parser.add_argument("--text", help="answer everything with this text")
    parser.add_argument(
        "--prices",
        type=float,
        nargs=2,
        metavar=("IN", "OUT"),
        help="USD per million tokens: listed, and stated as cost",
    )
    options = parser.parse_args()
    answer = Answer(text=options.text, delay=options.delay)
    script = failing_first(options.fail_first, options.status, answer)
    prices = (options.prices[0] / 1e6, options.prices[1] / 1e6) if options.prices else None
    with FakeServer(script, port=options.port, keep=False, prices=prices) as server:
        print(server.url, flush=True)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
