"""`attune-bench view`: the report of a results folder in the browser, made anew while results come.

The page holds what people wrote, so it is served to this machine alone: on loopback, under an address that cannot be
guessed, and only to requests that name this host, which a foreign web page cannot (DNS rebinding).
"""

from __future__ import annotations

import hmac
import html
import os
import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTP_PORT
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Annotated, Any

import typer

from attunebench.cli.arguments import FOLDER, ran_folders
from attunebench.cli.emitting import say, working
from attunebench.cli.options import flag
from attunebench.errors import AttuneBenchError, UsageError
from attunebench.files import visible_files
from attunebench.text import counted, printable

LOOK_AGAIN = 2.0
"""Seconds between two looks at the folder, and at least five times as long as the page takes to make."""
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_PART = 1 << 16  # bytes
_WAITING = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="5"><title>AttuneBench</title><p>{}</p>'
)


def view(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of the result files.")] = Path("results"),
    conversations: Annotated[
        Path | None, flag("Folder of the conversations that were run.  [required]", *FOLDER)
    ] = None,
    port: Annotated[int, flag("Local port.", shown="a free one", min=0, max=65_535)] = 0,
    no_browser: Annotated[bool, flag("Print the address without opening a browser.", "--no-browser")] = False,
) -> None:
    """Score results and show their report in the browser. Reload the page to include new results.

    Serves this machine only; stop it with Ctrl-C. `report --format html` writes the same page to a file.
    """
    page = Page(results, ran_folders(results, conversations))
    with serving(page, port) as address:
        try:
            page.update()
            typer.echo(address)
            say("Ctrl-C ends it.")
            if not no_browser:
                import webbrowser

                webbrowser.open(address)
            while True:
                time.sleep(max(LOOK_AGAIN, 5 * page.seconds))
                page.update()
        except KeyboardInterrupt:
            say("Stopped.")


class Page:
    """The report as it was made last; `seconds`: how long that took."""

    def __init__(self, results: Path, conversations: Path) -> None:
        from attunebench.conversations import load_conversations

        self._results, self._conversations = results, conversations
        load_conversations(conversations)  # raises for what no later look would mend
        self._seen: object = None
        self.content = _WAITING.format("Scoring …").encode()
        self.seconds = 0.0

    def update(self) -> None:
        """Make the page anew where the result files are others than before."""
        seen = _versions(self._results)
        if seen == self._seen:
            return
        started = time.monotonic()
        try:
            with working("writing the page"):
                self.content, n_results = self._make()
            say(f"{time.strftime('%H:%M:%S')} {counted(n_results, 'result')} in the report.")
        except (AttuneBenchError, OSError) as error:
            message = printable(str(error), 1000)
            self.content = _WAITING.format(html.escape(message)).encode()
            say(f"{time.strftime('%H:%M:%S')} {message}")
        self._seen, self.seconds = seen, time.monotonic() - started

    def _make(self) -> tuple[bytes, int]:
        from attunebench import api
        from attunebench.reports.html import render_html
        from attunebench.scores.audits import with_audits
        from attunebench.transcripts import FolderTranscripts

        scores = api.score(self._results, self._conversations)
        metadata = scores["metadata"]
        digest = metadata.get("ground_truth_sha256")
        with FolderTranscripts(self._conversations, self._results, sha256=digest) as evidence:
            return render_html(with_audits(scores, ""), evidence=evidence).encode(), metadata["n_results"]


def _versions(folder: Path) -> set[tuple[Path, int, int]]:
    """Path, size and time of each result file, as far as they can be had: files come and go while a run goes on."""
    versions = set()
    with suppress(AttuneBenchError, OSError):  # no folder any more, which making the page says
        for path in visible_files(folder):
            with suppress(OSError):
                if path.suffix == ".json":
                    stat = path.stat()
                    versions.add((path, stat.st_size, stat.st_mtime_ns))
    return versions


class _Server(ThreadingHTTPServer):
    """Has its port alone, which the defaults do not make sure of on Windows and in some versions of Python."""

    daemon_threads = True
    allow_reuse_address = os.name == "posix"
    allow_reuse_port = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that is gone in the middle of an answer is no error."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


@contextmanager
def serving(page: Page, port: int = 0) -> Iterator[str]:
    """Serve the page's content on loopback; its address. Raises UsageError where the port is taken."""
    path = f"/{secrets.token_urlsafe(24)}/"

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version, timeout = "attune-bench", "", 10

        def do_GET(self) -> None:
            # A browser leaves the usual port out.
            end = "" if server.server_port == HTTP_PORT else f":{server.server_port}"
            hosts = [f"{name}{end}" for name in ("127.0.0.1", "localhost")]
            if self.headers.get_all("Host") not in [[host] for host in hosts]:
                self.send_error(421)
            elif not hmac.compare_digest(self.path.encode(), path.encode()):
                self.send_error(404)
            else:
                content = page.content
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                # The timeout is for each part: a large page over a slow tunnel takes longer.
                for start in range(0, len(content), _PART):
                    self.wfile.write(content[start : start + _PART])

        def end_headers(self) -> None:
            """Errors have them too: their address may hold the token."""
            for name, value in _HEADERS.items():
                self.send_header(name, value)
            super().end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing: the address holds the token."""

    try:
        server = _Server(("127.0.0.1", port), Handler)
    except OSError as error:
        raise UsageError(f"Port {port} cannot be used ({error.strerror}); leave --port out for a free one.") from None
    thread = Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{path}"
    finally:
        server.shutdown()
        server.server_close()
