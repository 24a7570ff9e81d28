"""A local web server for one archive that behaves as it is told, request by request, and then as a good one does."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

Behaviour = Callable[["Exchange"], None]


class Exchange(BaseHTTPRequestHandler):
    """One request, and the ways to answer it."""

    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self) -> None:
        owner = self.server.owner
        owner.requests.append({"path": self.path, **{name.lower(): value for name, value in self.headers.items()}})
        behaviour = owner.script.pop(0) if owner.script else whole
        try:
            behaviour(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def head(self, status: int, headers: Mapping[str, str]) -> None:
        """Send status and headers."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def hang_up(self) -> None:
        """Close in the middle."""
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:
        """Print nothing."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: ArchiveServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is none."""


class ArchiveServer:
    """`body` under every path; `script` holds what the next requests meet; `requests` what was asked."""

    def __init__(self, body: bytes = b"") -> None:
        self.body = body
        self.script: list[Behaviour] = []
        self.requests: list[dict[str, str]] = []
        self.released = threading.Event()

    @property
    def url(self) -> str:
        """An address of the archive."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/data.zip"

    def __enter__(self) -> ArchiveServer:
        self._server = _Server(("127.0.0.1", 0), Exchange)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02})
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


def cut(after: int) -> Behaviour:
    """So many bytes of what was promised, then the line breaks."""
    return lambda exchange: whole(exchange, after)


def stall(after: int) -> Behaviour:
    """So many bytes, then nothing until the server ends."""

    def behave(exchange: Exchange) -> None:
        whole(exchange, after)
        exchange.server.owner.released.wait()

    return behave


def whole(exchange: Exchange, after: int | None = None, **headers: str) -> None:
    """Everything, or so many bytes of it before the connection breaks."""
    body = exchange.server.owner.body
    exchange.head(200, {"Content-Length": str(len(body)), **headers})
    exchange.wfile.write(body[:after])
    if after is not None:
        exchange.hang_up()


def answer(status: int, body: bytes = b"", **headers: str) -> Behaviour:
    """This status with these headers (`_` stands for `-`)."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}

    def behave(exchange: Exchange) -> None:
        exchange.head(status, {"Content-Length": str(len(body)), **named})
        exchange.wfile.write(body)
        exchange.hang_up()

    return behave
