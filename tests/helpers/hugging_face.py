"""A scripted stand-in for Hugging Face Jobs and for the server that runs on its machines.

It answers what huggingface_hub asks, in the form of huggingface_hub 2.4 and of https://github.com/huggingface/sandbox-server.
A command is run by a shell on this machine, in a folder of its own, without any protection.
"""

import json
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import huggingface_hub
import pytest
from huggingface_hub import constants

from helpers.local_http import Connection, run_local_server


TOKEN = "hf_of_a_test"

USER = {"type": "user", "id": "1", "name": "someone"}


class HuggingFace:
    """
    The state of the service.

    Args:
        folder (`Path`):
            Where the homes of the sandboxes are.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = ""
        self.jobs: dict[str, dict[str, Any]] = {}
        self.running: set[str] = set()
        self.homes: dict[str, Path] = {}
        self.most: Counter[str] = Counter()
        self.commands: list[dict[str, Any]] = []
        self.failures: dict[str, int] = {}
        self.events: list[dict[str, Any]] | None = None

    def answer(self, connection: Connection) -> None:
        path = urlsplit(connection.path).path
        failure = next(
            (status for part, status in self.failures.items() if part in f"{connection.command} {path}"), None
        )
        if failure is not None or connection.headers["Authorization"] != f"Bearer {TOKEN}":
            return connection.send({"error": "refused by the script"}, status=failure or 401)
        match = re.fullmatch(r"/(job\d+)--49983\.jobs(/.*)", path)
        if match:
            self.answer_machine(connection, match[1], match[2])
        else:
            self.answer_hub(connection, path)

    def answer_hub(self, connection: Connection, path: str) -> None:
        if path == "/api/whoami-v2":
            connection.send(USER)
        elif path == "/api/jobs/someone" and connection.command == "GET":
            connection.send([])
        elif path == "/api/jobs/someone":
            connection.send(self.start_job(json.loads(connection.body)))
        elif path.endswith("/cancel"):
            self.running.discard(path.split("/")[-2])
            connection.send({})
        else:
            connection.send({"error": path}, status=404)

    def start_job(self, spec: dict[str, Any]) -> dict[str, Any]:
        name = f"job{len(self.jobs)}"
        self.jobs[name] = spec
        self.running.add(name)
        status = {"stage": "RUNNING", "exposeUrls": [f"{self.url}/{name}--49983.jobs"]}
        return {"id": name, "owner": USER, "status": status, "dockerImage": spec["dockerImage"]}

    def answer_machine(self, connection: Connection, job: str, path: str) -> None:
        parts = path.strip("/").split("/")
        if path == "/health":
            return connection.send({"status": "ok", "protocol": 3})
        if path == "/v1/sandboxes":
            return connection.send({"sandboxes": [self.create_sandbox(job)], "rejected": 0})
        name = parts[2]
        if connection.headers["X-Sandbox-Token"] != f"token-{name}" or job not in self.running:
            return connection.send({"error": "no such sandbox"}, status=403)
        if connection.command == "DELETE":
            shutil.rmtree(self.homes.pop(name))
            connection.send({"deleted": True})
        elif parts[3:] == ["files", "write"]:
            (self.homes[name] / parse_qs(urlsplit(connection.path).query)["path"][0]).write_bytes(connection.body)
            connection.send({})
        else:
            self.commands.append(json.loads(connection.body))
            self.send_events(connection, self.events or self.run_command(self.commands[-1], self.homes[name]))

    def create_sandbox(self, job: str) -> dict[str, str]:
        home = Path(tempfile.mkdtemp(prefix=f"{job}-", dir=self.folder))
        self.homes[home.name] = home
        self.most[job] = max(self.most[job], sum(name.startswith(f"{job}-") for name in list(self.homes)))
        return {"id": home.name, "token": f"token-{home.name}"}

    def run_command(self, body: dict[str, Any], home: Path) -> list[dict[str, Any]]:
        start = time.monotonic()
        process = subprocess.Popen(
            ["/bin/sh", "-c", body["cmd"]],
            cwd=home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            output, errors = process.communicate(body["stdin"].encode(), timeout=body["timeout"])
            timed_out = False
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            (output, errors), timed_out = process.communicate(), True
        code = process.returncode
        ended = {"exit_code": None, "signal": -code} if code < 0 else {"exit_code": code, "signal": None}
        return [
            {"event": "start", "pid": process.pid},
            {"event": "stdout", "data": output.decode(errors="replace")},
            {"event": "ping"},
            {"event": "stderr", "data": errors.decode(errors="replace")},
            {"event": "exit", **ended, "timed_out": timed_out, "duration_ms": int(1000 * (time.monotonic() - start))},
        ]

    def send_events(self, connection: Connection, events: list[dict[str, Any]]) -> None:
        connection.send("".join(json.dumps(event) + "\n" for event in events), content_type="application/x-ndjson")


@contextmanager
def run_hugging_face(folder: Path) -> Iterator[HuggingFace]:
    """Run the service until the block ends, and let huggingface_hub use it."""
    service = HuggingFace(folder)
    with run_local_server(service.answer) as server, pytest.MonkeyPatch.context() as patch:
        service.url = server.url
        patch.setattr(constants, "ENDPOINT", server.url)
        patch.setattr(huggingface_hub.hf_api.api, "endpoint", server.url)
        patch.setattr(constants, "HF_HOME", str(folder / "cache"))
        patch.setenv("HF_TOKEN", TOKEN)
        yield service
