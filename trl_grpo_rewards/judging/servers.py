"""Servers that speak OpenAI's chat protocol: asked within limits, about nothing twice, and given up in time."""

import asyncio
import contextlib
import importlib.util
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from ..distributed import world_size
from ..options import thaw
from . import limits
from .grading_prompts import Sheet
from .verdicts import CutOff, Unreadable, object_in


logger = logging.getLogger(__name__)

SETTLED = 200
"""Calls after which failures are looked at, though more are on their way: AsyncGRPO never comes to an end."""

FINAL = frozenset({401, 403, 408, 409, 429})
"""Statuses that say nothing about structured output or the limit of tokens."""

ADVICE = "See that the server answers, and resume; or raise retries, timeout or max_failures."
"""What to do where an answer has no advice of its own."""


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
    def fields(self) -> dict[str, Any]:
        """Fields of the request beside the model, the message and the default limit; None leaves one out."""
        fields = {"temperature": 0, **thaw(self.request or {})}
        return {name: value for name, value in fields.items() if value is not None}

    @property
    def server(self) -> str | None:
        return self.base_url or os.environ.get("OPENAI_BASE_URL")

    @property
    def where(self) -> tuple[str | None, str]:
        return self.server, self.model

    @property
    def key(self) -> str:
        key = os.environ.get(self.api_key_env, "").strip()
        if not key and not self.server:
            raise ValueError(
                f"The judge {self.model!r} was given no base_url, so that it is OpenAI's, and the environment has no "
                f"{self.api_key_env}. Set that, or base_url to a server of yours: base_url='http://localhost:8000/v1'."
            )
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError(
                f"The key in {self.api_key_env} has characters that cannot be sent. Copy it anew: it is one word of "
                f"ASCII letters, digits and signs."
            )
        return key or "none"  # the client refuses to be built without one

    def without_key(self, text: str) -> str:
        return text.replace(self.key, "...") if os.environ.get(self.api_key_env, "").strip() else text

    def folder(self) -> Path | None:
        """
        Where verdicts are kept.

        Raises:
            `ValueError`: it cannot be made.
        """
        if self.cache is None:
            return None
        folder = Path(self.cache).expanduser()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"The judge {self.model!r} has cache={self.cache!r}, and there can be no such folder: {error.strerror}. "
                f"Name one that can be made and written."
            ) from None
        return folder


@dataclass
class Answer:
    """What a judge said, or why nothing can be made of it; and what it took."""

    value: Any = None
    reason: str = ""
    error: str | None = None
    advice: str = ""
    seconds: list[float] = field(default_factory=list)
    cached: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass
class Call:
    """A call on its way, and how many wait for it."""

    task: asyncio.Task
    answer: Answer
    waiting: int = 0


OPEN: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Settings, Server]]" = WeakKeyDictionary()
"""Servers that are being asked in each event loop, since a client belongs to one."""

STRUCTURED: dict[tuple[str | None, str], bool] = {}
"""Whether a server's model gives structured output, where that is known."""

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
            await server.client.close()


class Server:
    """A client, what is on its way, and what became of it; shared by all who ask at the same time."""

    def __init__(self, settings: Settings) -> None:
        from .client import client_of

        self.settings, self.users = settings, 0
        self.folder = settings.folder()
        count = max(1, settings.max_concurrency // world_size())
        self.client = client_of(settings.base_url, settings.key, settings.retries, count, settings.timeout)
        self.turns = asyncio.Semaphore(2 * count)
        self.calls: dict[str, Call] = {}
        self.asked = self.done = self.failed = 0
        self.last_failure = Answer()

    async def ask(self, sheets: list[Sheet], read: Callable[[Sheet, dict], Any], counts: bool = True) -> list[Answer]:
        """
        An answer to each sheet, of which no two are asked that are alike; those have one answer.

        Args:
            sheets (`list[Sheet]`):
                What to ask, within the time of a batch.
            read (`Callable`):
                Value of a verdict on a sheet; raises [`Unreadable`] where it is none.
            counts (`bool`, *optional*, defaults to `True`):
                Whether failures count among those that stop the run.

        Raises:
            `RuntimeError`: too many calls failed.
        """
        keys = [sheet.key([self.settings.server, self.settings.model, self.settings.fields]) for sheet in sheets]
        different = dict(zip(keys, sheets, strict=True))
        others = {*self.calls}
        for key, sheet in different.items():
            if key not in self.calls:
                answer = Answer()
                self.calls[key] = Call(asyncio.create_task(self._answer(sheet, key, read, answer)), answer)
            self.calls[key].waiting += 1
        calls = {key: self.calls[key] for key in different}
        self.asked += len(calls) * counts
        try:
            if calls:
                await asyncio.wait([call.task for call in calls.values()], timeout=self.settings.batch_timeout)
        finally:
            await self._leave(calls)
        answers = {key: self._result(call, key in others) for key, call in calls.items()}
        if counts:
            self._count(different, answers)
        return [answers[key] for key in keys]

    async def _leave(self, calls: dict[str, Call]) -> None:
        """Cancel the calls that nobody else waits for."""
        for key, call in calls.items():
            call.waiting -= 1
            if not call.waiting:
                call.task.cancel()
                self.calls.pop(key)
        left = [call.task for call in calls.values() if not call.waiting]
        if left:
            await asyncio.wait(left)

    def _result(self, call: Call, others: bool) -> Answer:
        """The answer, which costs nothing here where others asked first."""
        answer, seconds = call.answer, [] if others else call.answer.seconds
        if not call.task.done() or call.task.cancelled():
            return Answer(error=f"no answer within the {self.settings.batch_timeout:g} s of a batch", seconds=seconds)
        return Answer(answer.value, answer.reason, answer.error, answer.advice) if others else answer

    def _count(self, sheets: dict[str, Sheet], answers: dict[str, Answer]) -> None:
        """Show the first failure of all, and stop where too many of a batch failed; one alone may."""
        for key, answer in answers.items():
            self.done += 1
            if answer.error is None:
                continue
            self.failed, self.last_failure = self.failed + 1, answer
            if self.settings not in SHOWN:
                SHOWN.add(self.settings)
                logger.warning(
                    f"The judge {self.settings.model!r} gave no verdict, and the score is None (shown once): "
                    f"{answer.error}. The text was {sheets[key].texts[-1][1][:300]!r}. {answer.advice}".rstrip()
                )
        if self.done < min(self.asked, SETTLED):  # others of the same batch are on their way
            return
        done, failed = self.done, self.failed
        self.asked, self.done, self.failed = self.asked - done, 0, 0
        if failed <= self.settings.max_failures * done:
            FAILED.discard(self.settings)
        elif failed == 1 and self.settings not in FAILED:
            FAILED.add(self.settings)
        else:
            raise RuntimeError(
                f"The judge {self.settings.model!r} gave no verdict in {failed} of {done} calls of a batch, more than "
                f"max_failures={self.settings.max_failures}. The last one: {self.last_failure.error}. "
                f"{self.last_failure.advice or ADVICE}"
            )

    async def _answer(self, sheet: Sheet, key: str, read: Callable[[Sheet, dict], Any], answer: Answer) -> None:
        from .client import REQUESTS

        REQUESTS.set(answer.seconds)
        try:
            verdict = self._kept(key)
            if verdict is not None:
                with contextlib.suppress(Exception):  # whatever is wrong with it, it can be asked again
                    answer.value, answer.reason, answer.cached = read(sheet, verdict), reason_of(verdict), 1
                    return
            async with self.turns:  # requests are built as they are sent, since a thousand take a second
                verdict = object_in(await self._reply(sheet, answer), sheet)
            answer.value, answer.reason = read(sheet, verdict), reason_of(verdict)
        except Exception as error:  # one odd reply is one verdict less
            answer.error = self.settings.without_key(said_by(error))[:500]
            if isinstance(error, CutOff):
                answer.advice = limits.advice(self.settings.request, self.settings.where)
            return
        self._keep(key, verdict)

    async def _reply(self, sheet: Sheet, answer: Answer) -> Any:
        """The body of the server's reply, and what it cost."""
        reply = await self._accepted(sheet, answer)
        usage = reply.get("usage") if isinstance(reply, dict) else None
        if isinstance(usage, dict):
            tokens = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
            answer.tokens_in, answer.tokens_out = (count if isinstance(count, int) else 0 for count in tokens)
        return reply

    async def _accepted(self, sheet: Sheet, answer: Answer) -> Any:
        """The reply to a request without what the server refuses: structured output, or the default limit of tokens."""
        import openai

        where, retries = self.settings.where, None
        structured, names = STRUCTURED.get(where, True), limits.names_to_try(self.settings.request, where)
        while True:
            try:
                reply = await self._sent(sheet, structured, names[0], retries)
                break
            except openai.APIStatusError as error:
                left = limits.names_left(names, str(error.body))
                if error.status_code in FINAL or not left and (not structured or STRUCTURED.get(where)):
                    raise
                structured, names = structured and bool(left), left or names
                retries = max(0, self.settings.retries + 1 - len(answer.seconds))
        if STRUCTURED.get(where) is None or structured:
            STRUCTURED[where] = structured
        if names[0]:
            limits.ACCEPTED[where] = names[0]
        return reply

    async def _sent(self, sheet: Sheet, structured: bool, limit: str | None, retries: int | None) -> Any:
        body = self.settings.fields
        if limit:
            body[limit] = limits.MAX_TOKENS
        if structured:
            schema = {"name": "verdict", "strict": True, "schema": json.loads(sheet.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        client = self.client if retries is None else self.client.with_options(max_retries=retries)
        raw = await client.chat.completions.with_raw_response.create(
            model=self.settings.model, messages=[{"role": "user", "content": sheet.message()}], extra_body=body
        )
        text = self.settings.without_key(raw.http_response.text)
        try:
            return json.loads(text)
        except (ValueError, RecursionError):
            raise Unreadable(f"the reply is no JSON: {text[:200]!r}") from None

    def _kept(self, key: str) -> Any:
        with contextlib.suppress(OSError, ValueError, RecursionError):
            return json.loads(self._place(key).read_text()) if self.folder else None
        return None

    def _keep(self, key: str, verdict: dict[str, Any]) -> None:
        if self.folder:
            place = self._place(key)
            place.parent.mkdir(exist_ok=True)
            unfinished = place.with_suffix(f".{os.getpid()}-{id(verdict)}")
            unfinished.write_text(json.dumps(verdict))
            unfinished.replace(place)  # so that no process reads half of it

    def _place(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key[2:]}.json"


def said_by(error: Exception) -> str:
    """The error in words, with that of the connection below it."""
    if isinstance(error, Unreadable):
        return str(error)
    return f"{type(error).__name__}: {error}" + (f" {error.__cause__}" if error.__cause__ else "")


def reason_of(verdict: dict[str, Any]) -> str:
    return str(verdict.get("reason", "")).encode(errors="replace").decode()  # half a surrogate pair cannot be shown


def check_client() -> None:
    if importlib.util.find_spec("openai") is None:
        raise ImportError(
            "A judge is asked through the openai client, which is not installed. "
            "Install it: pip install 'trl_grpo_rewards[judge]'."
        )
