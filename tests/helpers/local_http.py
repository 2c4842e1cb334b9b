"""A server on loopback, in the process of the test, that answers as the test says."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Request:
    """A request as it arrived."""

    path: str
    headers: Message
    body: bytes
    method: str = "POST"


class Connection(BaseHTTPRequestHandler):
    """The connection of the latest request, with the ways to answer it."""

    protocol_version = "HTTP/1.1"
    server: "LocalServer"

    def do_POST(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append(Request(self.path, self.headers, self.body, self.command))
        self.server.answer(self)

    do_GET = do_PUT = do_DELETE = do_POST

    def log_message(self, *arguments: Any) -> None:
        pass

    def send(self, content: Any = "", status: int = 200, announced: int | None = None, **headers: str) -> None:
        """Send the content: a text, or a value as JSON. `announced` is a length that it does not have."""
        data = (content if isinstance(content, str) else json.dumps(content)).encode()
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(data) if announced is None else announced))
        self.end_headers()
        self.wfile.write(data)
        if announced is not None:
            self.hang_up()

    def hang_up(self) -> None:
        self.close_connection = True


class LocalServer(ThreadingHTTPServer):
    """
    The server, with the requests that it got.

    Args:
        answer (`Callable`):
            Called with the connection of each request, in a thread of its own.
    """

    def __init__(self, answer: Callable[[Connection], None]) -> None:
        self.request_queue_size = 128  # more connections at once would be reset
        super().__init__(("127.0.0.1", 0), Connection)
        self.answer = answer
        self.requests: list[Request] = []
        self.url = f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a client that gives up breaks the connection


@contextmanager
def serve(server: LocalServer) -> Iterator[LocalServer]:
    """Run a server until the block ends."""
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def run_local_server(answer: Callable[[Connection], None]) -> AbstractContextManager[LocalServer]:
    return serve(LocalServer(answer))


def build_reply(content: Any, **fields: Any) -> dict:
    """Return a chat completion whose message is this text, or this value as JSON."""
    text = content if isinstance(content, str) else json.dumps(content)
    message = {"role": "assistant", "content": text}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], **fields}
