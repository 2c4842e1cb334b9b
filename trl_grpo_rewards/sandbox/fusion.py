"""A back end for servers that speak Sandbox Fusion's HTTP interface. The server decides how well programs are locked in."""

import socket
import urllib.parse
from collections.abc import AsyncGenerator, Sequence
from typing import Any

from ..judging.http_client import HTTP, REQUEST_SECONDS, build_client
from .protocol import WAITING, Limits, RunResult, SandboxFailed, Status


CONNECT_SECONDS = 5.0
"""Time limit of the attempt to reach a server before training."""

MARGIN_SECONDS = 30.0
"""Time that a server may take in addition to the time of a run, for example because runs wait for each other."""

COMPILE_SECONDS = 30.0
"""Time limit of a compiler, in seconds of wall time. Rust and Java need more than the server's 10 on a busy machine."""

STATUSES: dict[str, Status] = {"TimeLimitExceeded": "timed_out"}

RESERVING = frozenset({"csharp", "go", "java", "julia", "kotlin_script", "nodejs", "scala", "swift", "typescript"})
"""
Languages whose runtimes reserve far more address space than they use. The server limits the address space, so an ordinary
limit would stop every program: Node.js does not start with 512 MB. Their memory is not limited.
"""

LANGUAGES = RESERVING | {
    "R", "bash", "cpp", "cuda", "lua", "perl", "php", "python", "racket", "ruby", "rust", "sql",
}  # fmt: skip
"""Languages of the server that run a program with a standard input. The others are test frameworks and provers."""


class SandboxFusion:
    """A server. Requests are repeated and limited as those to judges are. A program that cannot be compiled has crashed."""

    languages = LANGUAGES

    def __init__(self, url: str, retries: int, concurrency: int) -> None:
        self.url, self.retries, self.concurrency = url.rstrip("/"), retries, concurrency
        self.client: Any = None

    async def run(
        self, program: str, inputs: Sequence[str], limits: Limits, language: str = "python"
    ) -> AsyncGenerator[RunResult, None]:
        REQUEST_SECONDS.set([])
        seconds = WAITING * limits.seconds + COMPILE_SECONDS + MARGIN_SECONDS
        if self.client is None:
            self.client = build_client(self.url, "none", self.retries, self.concurrency, seconds)
        for text in inputs:
            body = {
                "code": program.encode(errors="replace").decode(),
                "stdin": text.encode(errors="replace").decode(),
                "language": language,
                "compile_timeout": COMPILE_SECONDS,
                "run_timeout": limits.seconds,
                "memory_limit_MB": -1 if language in RESERVING else limits.memory_mb,
            }
            try:
                response = await self.client.post("/run_code", cast_to=HTTP.Response, body=body)
                reply = response.json()
            except Exception as error:  # of the connection, the server or JSON
                raise SandboxFailed(f"{self.url} gave no result: {type(error).__name__}: {error}") from None
            yield read_reply(reply, limits)

    def check_ready(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname, port), timeout=CONNECT_SECONDS).close()
        except (OSError, ValueError) as error:
            raise ValueError(
                f"The back end {self.url} must be a Sandbox Fusion server; it cannot be reached: {error}. Start the "
                f"server, correct its URL, or leave out backend= to run programs on this machine."
            ) from None

    async def close(self) -> None:
        if self.client is not None:
            await self.client.close()
            self.client = None


def read_reply(reply: Any, limits: Limits) -> RunResult:
    """Read a reply of the server strictly. An error of its own, or a reply of another form, is a failure."""
    result = find_result(reply)
    if result is None:
        raise SandboxFailed(f"the server reports an error of its own: {str(reply)[:300]}")
    output, errors, code = result.get("stdout") or "", result.get("stderr") or "", result.get("return_code")
    status = STATUSES.get(str(result.get("status")))
    if status is None and (result.get("status") != "Finished" or not isinstance(code, int)):
        raise SandboxFailed(f"the server gave a result in an unknown format: {str(result)[:300]}")
    if not isinstance(output, str) or not isinstance(errors, str):
        raise SandboxFailed(f"the server gave an output that is not text: {str(result)[:300]}")
    is_flooded = len(output.encode(errors="replace")) > limits.output_bytes
    status = status or ("flooded" if is_flooded else "crashed" if code else "finished")
    seconds = result.get("execution_time")
    return RunResult(
        status, output[: limits.output_bytes], errors[-4000:], seconds if isinstance(seconds, float) else None
    )


def find_result(reply: Any) -> dict[str, Any] | None:
    """Return the result of the run or, if the program could not be compiled, that of the compiler."""
    if not isinstance(reply, dict) or reply.get("status") not in ("Success", "Failed"):
        return None
    run, compiled = reply.get("run_result"), reply.get("compile_result")
    if run is None and isinstance(compiled, dict):
        return compiled if compiled.get("return_code") or compiled.get("status") in STATUSES else None
    return run if isinstance(run, dict) else None
