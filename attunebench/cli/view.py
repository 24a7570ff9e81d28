"""`attune-bench view`: the report of a results folder in the browser, made anew while results come.

The page holds what people wrote, so it is served to this machine alone: on loopback, under an address that cannot be
guessed, and only to requests that name this host, which a foreign web page cannot (DNS rebinding).
"""

from __future__ import annotations

import hmac
import html
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_WAITING = (
    '<!doctype html><meta charset="utf-8"><meta http-equiv="refresh" content="5"><title>AttuneBench</title><p>{}</p>'
)


def view(
    results: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of the result files.")] = Path("results"),
    conversations: Annotated[
        Path | None, flag("Folder of the conversations that were run.  [required]", *FOLDER)
    ] = None,
    port: Annotated[int, flag("Port on this machine.", shown="a free one", min=0, max=65_535)] = 0,
    no_browser: Annotated[bool, flag("Print the address, and open no browser.", "--no-browser")] = False,
) -> None:
    """Score results and show their report in the browser. Made anew when results come: reload the page.

    Serves this machine alone. Ctrl-C ends it; `report --format html` makes a file of the same page.
    """
    page = Page(results, ran_folders(results, conversations))
    with serving(page, port) as address:
        page.update()
        typer.echo(address)
        say("Ctrl-C ends it.")
        if not no_browser:
            import webbrowser

            webbrowser.open(address)
        try:
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
            with working("making the page"):
                self.content, n_results = self._make()
            say(f"{time.strftime('%H:%M:%S')} {counted(n_results, 'result')} in the report.")
        except AttuneBenchError as error:
            self.content = _WAITING.format(html.escape(str(error))).encode()
            say(f"{time.strftime('%H:%M:%S')} {printable(str(error), 1000)}")
        self._seen, self.seconds = seen, time.monotonic() - started

    def _make(self) -> tuple[bytes, int]:
        from attunebench import api
        from attunebench.reports.html import render_html
        from attunebench.transcripts import FolderTranscripts

        scores = api.score(self._results, self._conversations)
        metadata = scores["metadata"]
        digest = metadata.get("ground_truth_sha256")
        with FolderTranscripts(self._conversations, self._results, sha256=digest) as evidence:
            return render_html(scores, evidence=evidence).encode(), metadata["n_results"]


def _versions(folder: Path) -> set[tuple[Path, int, int]]:
    """Path, size and time of each result file, as far as they can be had: files come and go while a run goes on."""
    versions = set()
    with suppress(AttuneBenchError):  # no folder any more, which making the page says
        for path in visible_files(folder):
            with suppress(OSError):
                if path.suffix == ".json":
                    stat = path.stat()
                    versions.add((path, stat.st_size, stat.st_mtime_ns))
    return versions


@contextmanager
def serving(page: Page, port: int = 0) -> Iterator[str]:
    """Serve the page's content on loopback; its address. Raises UsageError where the port is taken."""
    path = f"/{secrets.token_urlsafe(24)}/"

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version, timeout = "attune-bench", "", 10

        def do_GET(self) -> None:
            hosts = [f"{name}:{server.server_port}" for name in ("127.0.0.1", "localhost")]
            if self.headers.get_all("Host") not in [[host] for host in hosts]:
                self.send_error(421)
            elif not hmac.compare_digest(self.path.encode(), path.encode()):
                self.send_error(404)
            else:
                content = page.content
                self.send_response(200)
                for name, value in {**_HEADERS, "Content-Length": str(len(content))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

        def log_message(self, format: str, *args: Any) -> None:
            """Says nothing: the address holds the token."""

    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    except OSError as error:
        raise UsageError(f"Port {port} cannot be used ({error.strerror}); leave --port out for a free one.") from None
    server.daemon_threads = True
    thread = Thread(target=server.serve_forever, args=(0.1,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{path}"
    finally:
        server.shutdown()
        server.server_close()
