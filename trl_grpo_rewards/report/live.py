"""The page of runs that go on, served on this machine.

The page is at an address that nobody can guess, since other users of the machine can reach the server, too. Pages of
other sites cannot read it: the server answers only requests for this machine by name, which also stops DNS rebinding,
and never allows another origin.
"""

import contextlib
import logging
import secrets
import sys
import threading
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from ..records.files import FOLDER, RecordReader, warn_of_damage
from ..records.logs import LOG_FILE
from ..records.runs import RUN_FILE, find_run_folder
from .pages import describe_page, render_page
from .summaries import Summary


ADDRESS = "127.0.0.1"
"""The address of the server, which only this machine reaches."""

HOSTS = ("127.0.0.1", "localhost")
"""The names in the Host header of allowed requests."""

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}
"""Headers of every response."""

IDLE = 30
"""Seconds after which a silent connection is closed."""

logger = logging.getLogger(__name__)


class LiveRuns:
    """
    The runs of the page. Their records are read as they grow.

    Args:
        sources (`list`):
            Output directories of the runs. They may have no records yet.
    """

    def __init__(self, sources: Sequence[str | Path]) -> None:
        self.sources = [*sources]
        self.lock = threading.Lock()
        self.readers = [RecordReader(source) for source in sources]
        self.summaries = [Summary(source, len(sources)) for source in sources]
        self.warned: set[tuple[Path, int]] = set()
        self.stamp: list[tuple[Path, int, int]] = []
        self.version, self.latest = 0, ("null", "[]")

    def describe(self) -> tuple[int, str, str]:
        """Return the version, the data and the groups. They are JSON, and the data are `null` without records."""
        with self.lock:
            if (stamp := stamp_files(self.sources)) != self.stamp:
                for place in range(len(self.sources)):
                    self._read(place)
                known = [summary for summary in self.summaries if summary.excerpts.count]
                self.latest = describe_page(known) if known else ("null", "[]")
                self.version, self.stamp = self.version + 1, stamp
            return self.version, *self.latest

    def _read(self, place: int) -> None:
        try:
            is_continued, records = self.readers[place].read_new()
        except FileNotFoundError:  # the run has not sampled anything yet
            return
        if not is_continued:
            self.summaries[place] = Summary(self.sources[place], len(self.sources))
        for record in records:
            self.summaries[place].add(record)
        damaged = [one for one in self.readers[place].damaged if one not in self.warned]
        warn_of_damage(self.sources[place], damaged)
        self.warned.update(damaged)


def stamp_files(sources: Sequence[str | Path]) -> list[tuple[Path, int, int]]:
    """Return the size and the time of each file that the page is made from."""
    stamps = []
    for source in sources:
        folder = find_run_folder(source)
        for file in [*sorted(folder.glob(f"{FOLDER}/*.jsonl")), folder / LOG_FILE, folder / RUN_FILE, Path(source)]:
            with contextlib.suppress(OSError):
                state = file.stat()
                stamps.append((file, state.st_size, state.st_mtime_ns))
    return stamps


class Handler(BaseHTTPRequestHandler):
    """Answers with the page or with its data, and with an error to anything else."""

    server: "LiveServer"
    timeout = IDLE
    server_version, sys_version = "trl-grpo-rewards", ""

    def do_GET(self) -> None:
        path = self.path.partition("?")[0].encode()
        is_page, is_data = (
            secrets.compare_digest(path, f"/{self.server.key}/{name}".encode()) for name in ("", "data")
        )
        if not is_this_machine(self.headers.get("Host", "")):
            self._answer(HTTPStatus.FORBIDDEN)
        elif not is_page and not is_data:
            self._answer(HTTPStatus.NOT_FOUND)
        else:
            self._answer_with_runs(is_page)

    def _answer_with_runs(self, is_page: bool) -> None:
        version, data, groups = self.server.runs.describe()
        tag = f'"{version}"'
        if is_page:
            page = render_page(data, groups, "connect-src 'self'; ", version)
            self._answer(HTTPStatus.OK, page, {"Content-Type": "text/html; charset=utf-8"})
        elif self.headers.get("If-None-Match") == tag:
            self._answer(HTTPStatus.NOT_MODIFIED)
        else:
            content = f'{{"data":{data},"groups":{groups}}}'
            self._answer(HTTPStatus.OK, content, {"Content-Type": "application/json", "ETag": tag})

    def _answer(self, status: HTTPStatus, content: str = "", headers: dict[str, str] | None = None) -> None:
        body = content.encode()
        self.send_response(status)
        for name, value in {**HEADERS, **(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Requests are not logged."""


def is_this_machine(host: str) -> bool:
    """Whether a Host header names this machine. The port may be another one, as with a forwarded port."""
    return host.partition(":")[0] in HOSTS


class LiveServer(ThreadingHTTPServer):
    """
    Serves the page of runs.

    Args:
        sources (`list`):
            Output directories of the runs.
        port (`int`, *optional*, defaults to 0):
            Port to listen on. 0 is any free one.
    """

    daemon_threads = True

    def __init__(self, sources: Sequence[str | Path], port: int = 0) -> None:
        self.runs, self.key = LiveRuns(sources), secrets.token_urlsafe(16)
        try:
            super().__init__((ADDRESS, port), Handler)
        except OSError as error:
            raise OSError(
                f"The page cannot be served on port {port}: {error.strerror}. Choose another --port."
            ) from None

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}/{self.key}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Log an error in one line. A browser that closes a connection is not an error."""
        error = sys.exception()
        if not isinstance(error, ConnectionError):
            logger.warning(f"The page could not be sent: {type(error).__name__}: {error}. Reload it to try again.")
