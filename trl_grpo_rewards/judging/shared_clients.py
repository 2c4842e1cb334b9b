"""Clients of judges: equal prompts are sent once, calls end with their batch, and verdicts may be cached in a folder."""

import asyncio
import contextlib
import json
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from ..distributed import world_size
from ..files import replace_file
from .failures import Failure, FailureCounter
from .prompts import GradingPrompt
from .settings import Settings
from .verdicts import Grading, TruncatedReply, UnreadableReply


logger = logging.getLogger(__name__)


class VerdictCache:
    """A folder, which is created if needed, with a file for each verdict."""

    def __init__(self, folder: str) -> None:
        self.folder = Path(folder).expanduser()
        self.has_warned = False
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The folder of a judge's cache cannot be created: cache={folder!r}, {error.strerror}. "
                f"Choose a path that you can write to."
            ) from None

    def read(self, key: str) -> Any:
        """Return the verdict with this key, or None if there is none or it cannot be read."""
        with contextlib.suppress(OSError, ValueError, RecursionError):
            return json.loads(self._path(key).read_text())
        return None

    def write(self, key: str, verdict: dict[str, Any]) -> None:
        """Keep a verdict. If it cannot be written, one warning is logged."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(path) as file:
                file.write(json.dumps(verdict))
        except OSError as error:
            if not self.has_warned:
                logger.warning(
                    f"Verdicts cannot be written to the cache '{self.folder}': {error}. They count, but they are not kept, "
                    f"so the judge will be asked for them again. Free disk space, or make the folder writable."
                )
            self.has_warned = True

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"


Reader = Callable[[dict[str, Any], GradingPrompt], Any]
"""Returns the value of a verdict on a prompt, and raises [`UnreadableReply`] if it has none."""

OPEN_CLIENTS: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Settings, SharedClient]]" = WeakKeyDictionary()
"""Clients in use, by event loop, since a client belongs to one event loop."""


@dataclass
class PendingCall:
    """A call in flight, and the number of batches that wait for it."""

    task: "asyncio.Task[None]"
    grading: Grading
    waiting: int = 0


@contextlib.asynccontextmanager
async def connect(settings: Settings) -> "AsyncIterator[SharedClient]":
    """Yield the client with these settings in this event loop, and close its connections when the last user leaves."""
    clients = OPEN_CLIENTS.setdefault(asyncio.get_running_loop(), {})
    if settings not in clients:
        clients[settings] = SharedClient(settings)
    client = clients[settings]
    client.users += 1
    try:
        yield client
    finally:
        client.users -= 1
        if not client.users:
            clients.pop(settings)
            await client.client.close()


class SharedClient:
    """A client and its calls in flight, shared by all rewards that use it at the same time."""

    def __init__(self, settings: Settings) -> None:
        from .chat_client import ChatClient

        self.settings, self.users = settings, 0
        self.cache = None if settings.cache is None else VerdictCache(settings.cache)
        self.client = ChatClient(settings, max(1, settings.max_concurrency // world_size()))
        complaint = f"The judge {settings.model!r} gave no verdict"
        self.failures = FailureCounter(settings, complaint, settings.max_failures)
        self.calls: dict[str, PendingCall] = {}

    async def ask(self, prompts: list[GradingPrompt], read: Reader, counts: bool = True) -> list[Grading]:
        """Return the grading of each prompt, within the time limit of a batch. Equal prompts are sent once."""
        request = [self.settings.server_url, self.settings.model, self.settings.request_fields]
        keys = [prompt.cache_key(request) for prompt in prompts]
        different = dict(zip(keys, prompts, strict=True))
        in_flight = {*self.calls}
        for key, prompt in different.items():
            if key not in self.calls:
                grading = Grading()
                self.calls[key] = PendingCall(asyncio.create_task(self._grade(prompt, key, read, grading)), grading)
            self.calls[key].waiting += 1
        calls = {key: self.calls[key] for key in different}
        self.failures.expected += len(calls) * counts
        try:
            if calls:
                await asyncio.wait([call.task for call in calls.values()], timeout=self.settings.batch_timeout)
        finally:
            await self._leave(calls)
        gradings = {key: self._collect(call, key in in_flight) for key, call in calls.items()}
        if counts:
            self.failures.add(len(gradings), [*list_failures(different, gradings)])
        return [gradings[key] for key in keys]

    async def _leave(self, calls: dict[str, PendingCall]) -> None:
        """Stop waiting for the calls, and cancel those that no other batch waits for."""
        for key, call in calls.items():
            call.waiting -= 1
            if not call.waiting:
                call.task.cancel()
                self.calls.pop(key)
        left = [call.task for call in calls.values() if not call.waiting]
        if left:
            await asyncio.wait(left)

    def _collect(self, call: PendingCall, was_in_flight: bool) -> Grading:
        """Return the grading of a call. Its costs count for the batch that made the call, not for one that joined."""
        grading, seconds = call.grading, [] if was_in_flight else call.grading.seconds
        if not call.task.done() or call.task.cancelled():
            return Grading(error=f"no reply within batch_timeout={self.settings.batch_timeout:g} s", seconds=seconds)
        if was_in_flight:
            return Grading(grading.value, grading.reason, grading.error, grading.advice)
        return grading

    async def _grade(self, prompt: GradingPrompt, key: str, read: Reader, grading: Grading) -> None:
        try:
            verdict = self.cache.read(key) if self.cache else None
            if verdict is not None:
                with contextlib.suppress(Exception):  # the model is asked again if anything is wrong with the file
                    grading.value, grading.reason, grading.cached = read(verdict, prompt), read_reason(verdict), 1
                    return
            verdict = await self.client.fetch_verdict(prompt, grading)
            grading.value, grading.reason = read(verdict, prompt), read_reason(verdict)
        except Exception as error:  # a failed call costs one verdict, and does not stop the others
            grading.error = self.settings.hide_key(describe_with_cause(error))[:500]
            if isinstance(error, TruncatedReply):
                grading.advice = self.client.advise_on_limit()
            return
        if self.cache:
            self.cache.write(key, verdict)


def list_failures(prompts: dict[str, GradingPrompt], gradings: dict[str, Grading]) -> Iterator[Failure]:
    """Yield the failures among the gradings, each with the graded text."""
    for key, grading in gradings.items():
        if grading.error is not None:
            yield Failure(grading.error, f"The graded text was {prompts[key].texts[-1][1][:300]!r}", grading.advice)


def describe_with_cause(error: Exception) -> str:
    """Return the error in words, with its cause, which is the error of the connection."""
    if isinstance(error, UnreadableReply):
        return str(error)
    return f"{type(error).__name__}: {error}" + (f" {error.__cause__}" if error.__cause__ else "")


def read_reason(verdict: dict[str, Any]) -> str:
    return str(verdict.get("reason", "")).encode(errors="replace").decode()  # a lone surrogate cannot be printed
