"""An HTTP server with an OpenAI-compatible chat API that answers like a model and injects faults on request.
In this process: `with FakeServer(script) as server: … server.url`. As a program: `python -m attunebench.selftest.server
--port 0 --delay 0.25` prints its URL and serves until it is ended."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import gzip
import json
import socket
import struct
import threading
from collections.abc import Mapping
from typing import Any, Literal

from attunebench.selftest.answers import completion
from attunebench.selftest.behaviours import Answer, Asked, Behaviour, Broken, Drip, Hang, Raw, Script, Status, Together

_REASONS = {200: "OK", 307: "Temporary Redirect", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found"}
_NOT_FOUND = Status(404, {"error": {"message": "Not Found"}})
_RESET = struct.pack("ii", 1, 0)  # SO_LINGER for no time: closing resets the connection
_End = Literal["", "close", "reset", "hang"]
"""What becomes of a connection behind a response: it serves the next request, it is closed, or nothing comes."""


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
        self._socket: socket.socket | None = None
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="fake server", daemon=True)

    @property
    def url(self) -> str:
        """The base URL, with /v1."""
        return f"http://127.0.0.1:{self._port}/v1"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of all chat requests so far."""
        return [asked.body for asked in self.asked if asked.path.endswith("/chat/completions")]

    def start(self) -> FakeServer:
        """Serve. Raises OSError where the port cannot be had."""
        self._socket = socket.create_server(("127.0.0.1", self._port), backlog=1024)
        self._port = self._socket.getsockname()[1]
        self._thread.start()
        return self

    def stop(self, *_: object) -> None:
        """End every connection and the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join()

    __enter__, __exit__ = start, stop

    def _run(self) -> None:
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._converse, sock=self._socket, backlog=1024)
        await self._stop.wait()
        server.close()
        connections = asyncio.all_tasks() - {asyncio.current_task()}
        for task in connections:
            task.cancel()
        await asyncio.gather(*connections, return_exceptions=True)

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Request after request on one connection."""
        end: _End = ""
        try:
            while not end:
                asked = await self._read(reader)
                self._under_way += 1
                self.most_at_once = max(self.most_at_once, self._under_way)
                try:
                    end = await self._respond(asked, reader, writer)
                finally:
                    self._under_way -= 1
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _read(self, reader: asyncio.StreamReader) -> Asked:
        head = await reader.readuntil(b"\r\n\r\n")
        request_line, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = request_line.split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
        content = await reader.readexactly(int(headers.get("content-length", "0")))
        asked = Asked(self._count, method, path, headers, content)
        self._count += 1
        if self._keep:
            self.asked.append(asked)
        return asked

    async def _respond(self, asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> _End:
        """Do what the script says."""
        behaviour = self._behaviour(asked)
        if isinstance(behaviour, Together):
            while self.most_at_once < behaviour.count:
                await asyncio.sleep(0.01)
        elif isinstance(behaviour, Answer | Status | Raw) and behaviour.delay:
            await asyncio.sleep(behaviour.delay)
        content, end = self._response(asked, behaviour)
        if isinstance(behaviour, Drip):
            for byte in content:
                writer.write(bytes((byte,)))
                await asyncio.sleep(behaviour.every)
        else:
            writer.write(content)
        await writer.drain()
        if end == "hang":
            await reader.read()  # until the client leaves; a client says nothing more before it has its answer
        elif end == "reset":
            writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        if isinstance(behaviour, Answer | Broken) and behaviour.then is not None:
            behaviour.then()
        return end

    def _behaviour(self, asked: Asked) -> Behaviour:
        if asked.path.endswith("/models"):
            costs = [f"{price:.12f}" for price in self._prices or ()]
            pricing = {"pricing": dict(zip(("prompt", "completion"), costs, strict=True))} if costs else {}
            entries = [{"id": model, "object": "model", **pricing} for model in self._models]
            return Status(200, {"object": "list", "data": entries})
        if callable(self.script):
            return self.script(asked)
        if self.script:
            return self.script[min(asked.number, len(self.script) - 1)]
        return Answer() if asked.path.endswith("/chat/completions") else _NOT_FOUND

    def _response(self, asked: Asked, behaviour: Behaviour) -> tuple[bytes, _End]:
        """All bytes that are sent, and what comes behind them."""
        match behaviour:
            case Status(status, str() | bytes() as body, headers):
                content = body.encode() if isinstance(body, str) else body
                return _with_head(content, headers, "text/html", status), ""
            case Status(status, body, headers):
                return _with_head(json.dumps(body).encode(), headers, status=status), ""
            case Raw(content, _, goes_on):
                return content, "" if goes_on else "close"
            case Broken(how):
                good = json.dumps(completion(asked, Answer())).encode()
                return _broken(good, behaviour), "reset" if how == "reset" else "close"
            case Hang(share):
                whole = self._whole(asked, Answer())
                return whole[: int(len(whole) * share)], "hang"
        return self._whole(asked, behaviour if isinstance(behaviour, Answer) else Answer()), ""

    def _whole(self, asked: Asked, answer: Answer) -> bytes:
        body = completion(asked, answer)
        if self._prices is not None and answer.cost is None:
            usage, (prompt, completed) = body["usage"], self._prices
            usage["cost"] = usage["prompt_tokens"] * prompt + usage["completion_tokens"] * completed
        content = answer.before + json.dumps(body).encode()
        if answer.gzip:
            return _with_head(gzip.compress(content, mtime=0), {**answer.headers, "content-encoding": "gzip"})
        return _with_head(content, answer.headers)


def _broken(content: bytes, behaviour: Broken) -> bytes:
    """A response that is not what its head says."""
    part = content[: int(len(content) * behaviour.share)]
    match behaviour.how:
        case "chunked":
            head = _head(200, {"content-type": "application/json", "transfer-encoding": "chunked"})
            return head + b"%x\r\n%s\r\n" % (len(part), part)
        case "no gzip":
            return _with_head(content, {"content-encoding": "gzip"})
        case "cut gzip":
            return _with_head(gzip.compress(content, mtime=0)[:-20], {"content-encoding": "gzip"})
    return _with_head(content, {})[: len(part) - len(content) or None]


def _with_head(content: bytes, fields: Mapping[str, str], kind: str = "application/json", status: int = 200) -> bytes:
    return _head(status, {"content-type": kind, "content-length": str(len(content)), **fields}) + content


def _head(status: int, fields: Mapping[str, str]) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}\r\n{lines}\r\n".encode("latin-1")


def main() -> None:
    """The program."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=0, help="0 for a free port")
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    parser.add_argument("--fail-first", type=int, default=0, metavar="N", help="answer the first N requests with 503")
    options = parser.parse_args()
    failure = Status(503, {"error": {"message": "busy"}})
    script = [*(failure,) * options.fail_first, Answer(delay=options.delay)]
    with FakeServer(script, port=options.port, keep=False) as server, contextlib.suppress(KeyboardInterrupt):
        print(server.url, flush=True)
        threading.Event().wait()


if __name__ == "__main__":
    main()
