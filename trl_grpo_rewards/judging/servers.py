"""Servers that speak OpenAI's chat protocol: asked within limits of number and time, and about nothing twice."""

import asyncio
import contextlib
import importlib.util
import json
import logging
import os
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from ..options import thaw
from ..ranks import world_size
from .sheets import Sheet
from .verdicts import Unreadable, object_in


logger = logging.getLogger(__name__)

REQUESTS: ContextVar[list] = ContextVar("REQUESTS")
"""Where the client notes the requests of one call, those again included."""


@dataclass(frozen=True)
class Settings:
    """Whom to ask, and how; the options of the same names in [`judge`]."""

    model: str
    base_url: str | None
    api_key_env: str
    request: Mapping[str, Any] | None
    max_concurrency: int
    timeout: float
    batch_timeout: float
    retries: int
    max_failures: float
    cache: str | None

    @property
    def asked(self) -> dict[str, Any]:
        """What of this a verdict depends on."""
        return {"model": self.model, **({"temperature": 0} if self.request is None else thaw(self.request))}

    @property
    def key(self) -> str:
        key, server = os.environ.get(self.api_key_env), self.base_url or os.environ.get("OPENAI_BASE_URL")
        if not key and not server:
            raise ValueError(
                f"The judge {self.model!r} was given no base_url, so that it is OpenAI's, and the environment has no "
                f"{self.api_key_env}. Set that, or base_url to a server of yours: base_url='http://localhost:8000/v1'."
            )
        return key or "none"  # the client refuses to be built without one

    def without_key(self, text: str) -> str:
        return text.replace(self.key, "...") if os.environ.get(self.api_key_env) else text


@dataclass
class Answer:
    """A verdict, or why there is none; and what it took."""

    verdict: dict[str, Any] | None = None
    error: str = ""
    seconds: float = 0.0
    calls: int = 0
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


OPEN: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Settings, Server]]" = WeakKeyDictionary()
"""Servers that are being asked in each event loop, since a client belongs to one."""

PLAIN: set[tuple[str | None, str]] = set()
"""Servers and models that refused structured output and answered without it."""

FAILED: set[Settings] = set()
"""Settings whose last batch failed, though by a single call, which alone does not stop a run."""

SHOWN: set[Settings] = set()
"""Settings of which a failure has been shown."""


@contextlib.asynccontextmanager
async def connected(settings: Settings) -> "AsyncIterator[Server]":
    """The server with these settings in this event loop; the last who leaves closes its connections."""
    servers = OPEN.setdefault(asyncio.get_running_loop(), {})
    if settings not in servers:
        servers[settings] = Server(settings)
    server = servers[settings]
    server.users += 1
    try:
        yield server
    finally:
        server.users -= 1
        if not server.users:
            servers.pop(settings)
            await server.close()


@dataclass
class Server:
    """A client with its limits; shared by all who ask at the same time, who then are one batch."""

    settings: Settings
    users: int = 0
    asked: int = 0
    failed: int = 0
    pending: dict[str, asyncio.Task] = field(default_factory=dict)

    def __post_init__(self) -> None:
        import openai

        count = max(1, self.settings.max_concurrency // world_size())
        limits = type(openai.DEFAULT_CONNECTION_LIMITS)(max_connections=count, max_keepalive_connections=count)
        # one request a connection is the limit; as many more may prepare, or wait before they try again
        self.slots = asyncio.Semaphore(2 * count)
        self.client = openai.AsyncOpenAI(
            api_key=self.settings.key,
            base_url=self.settings.base_url,
            max_retries=self.settings.retries,
            timeout=openai.Timeout(self.settings.timeout, pool=None),
            http_client=openai.DefaultAsyncHttpxClient(limits=limits, event_hooks={"request": [noted]}),
        )

    async def close(self) -> None:
        await self.client.close()

    async def ask(self, sheets: list[Sheet], read: Callable[[Sheet, dict], Any]) -> list[Answer]:
        """
        An answer to each sheet, of which no two are asked that are alike.

        Args:
            sheets (`list[Sheet]`):
                What to ask, within the time of a batch.
            read (`Callable`):
                Raises [`Unreadable`] where a verdict does not fit its sheet.
        """
        if not sheets:
            return []
        keys = [sheet.key(self.settings.asked) for sheet in sheets]
        mine = {}
        for sheet, key in zip(sheets, keys, strict=True):
            if key not in self.pending:
                self.pending[key] = mine[key] = asyncio.create_task(self._answer(sheet, key, read))
        tasks = {key: self.pending[key] for key in keys}
        self.asked += len(tasks)
        try:
            await asyncio.wait(tasks.values(), timeout=self.settings.batch_timeout)
        finally:
            for key, task in mine.items():
                task.cancel()
                self.pending.pop(key)
        answers = {key: self._result(task, key in mine) for key, task in tasks.items()}
        self._settle(dict(zip(keys, sheets, strict=True)), answers)
        return [answers[key] for key in keys]

    def _result(self, task: asyncio.Task, mine: bool) -> Answer:
        if not task.done() or task.cancelled():
            return Answer(error=f"no answer within the {self.settings.batch_timeout:g} s of a batch", calls=int(mine))
        return task.result() if mine else Answer(task.result().verdict, task.result().error)

    def _settle(self, sheets: dict[str, Sheet], answers: dict[str, Answer]) -> None:
        """Show the first failure of all, and stop where too many of this batch failed; one alone may."""
        failed = [key for key, answer in answers.items() if answer.verdict is None]
        self.failed += len(failed)
        if failed and self.settings not in SHOWN:
            SHOWN.add(self.settings)
            logger.warning(
                f"The judge {self.settings.model!r} gave no verdict, and the score is None (shown once): "
                f"{answers[failed[0]].error}. The text was {sheets[failed[0]].texts[-1][1][:300]!r}."
            )
        if self.failed <= self.settings.max_failures * self.asked:
            FAILED.discard(self.settings)
            return
        if self.failed > 1 or self.settings in FAILED:
            raise RuntimeError(
                f"The judge {self.settings.model!r} gave no verdict in {self.failed} of {self.asked} calls of a batch, "
                f"more than max_failures={self.settings.max_failures}. The last one: {answers[failed[-1]].error}. See that "
                f"the server answers, and resume; or raise retries, timeout or max_failures."
            )
        FAILED.add(self.settings)

    async def _answer(self, sheet: Sheet, key: str, read: Callable[[Sheet, dict], Any]) -> Answer:
        if kept := self._kept(key):
            return Answer(kept, cached=1)
        answer = Answer()
        REQUESTS.set(requests := [])
        async with self.slots:
            start = time.monotonic()
            try:
                answer.verdict = await self._verdict(sheet, read, answer)
            except Unreadable as error:
                answer.error = self.settings.without_key(str(error))
            answer.seconds, answer.calls = time.monotonic() - start, len(requests)
        if answer.verdict is not None:
            self._keep(key, answer.verdict)
        return answer

    async def _verdict(self, sheet: Sheet, read: Callable[[Sheet, dict], Any], answer: Answer) -> dict[str, Any]:
        import openai

        where = (self.settings.base_url, self.settings.model)
        try:
            try:
                reply = await self._reply(sheet, structured=where not in PLAIN)
            except (openai.BadRequestError, openai.UnprocessableEntityError):
                if where in PLAIN:
                    raise
                reply = await self._reply(sheet, structured=False)
                PLAIN.add(where)
        except openai.APIError as error:
            raise Unreadable(f"{type(error).__name__}: {str(error)[:500]} {error.__cause__ or ''}".strip()) from None
        usage = reply.get("usage") if isinstance(reply, dict) else None
        answer.tokens_in, answer.tokens_out = (
            int((usage or {}).get(name) or 0) for name in ("prompt_tokens", "completion_tokens")
        )
        verdict = object_in(reply)
        read(sheet, verdict)
        return verdict

    async def _reply(self, sheet: Sheet, *, structured: bool) -> Any:
        body = {key: value for key, value in self.settings.asked.items() if key != "model"}
        if structured:
            schema = {"name": "verdict", "strict": True, "schema": json.loads(sheet.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        raw = await self.client.chat.completions.with_raw_response.create(
            model=self.settings.model, messages=[{"role": "user", "content": sheet.message()}], extra_body=body
        )
        try:
            return raw.http_response.json()
        except ValueError:
            raise Unreadable(f"the reply is no JSON: {raw.http_response.text[:200]!r}") from None

    def _kept(self, key: str) -> dict[str, Any] | None:
        with contextlib.suppress(FileNotFoundError, ValueError):
            return self.settings.cache and json.loads(self._place(key).read_text())
        return None

    def _keep(self, key: str, verdict: dict[str, Any]) -> None:
        if self.settings.cache:
            place = self._place(key)
            place.parent.mkdir(parents=True, exist_ok=True)
            unfinished = place.with_suffix(f".{os.getpid()}.{id(verdict)}")
            unfinished.write_text(json.dumps(verdict))
            unfinished.replace(place)  # so that no process reads half of it

    def _place(self, key: str) -> Path:
        return Path(self.settings.cache, key[:2], f"{key[2:]}.json")


async def noted(request: Any) -> None:
    REQUESTS.get().append(request.url.path)


def check_client() -> None:
    if importlib.util.find_spec("openai") is None:
        raise ImportError(
            "A judge is asked through the openai client, which is not installed. "
            "Install it: pip install 'trl_grpo_rewards[judge]'."
        )
