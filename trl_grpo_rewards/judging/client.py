"""Clients of judges: OpenAI's chat protocol, with structured output and a limit of tokens where a server accepts them."""

import asyncio
import contextlib
import importlib
import json
import logging
import re
import time
from collections.abc import AsyncIterator
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import openai

from ..distributed import world_size
from ..failures import Failure, FailureCounter
from ..files import replace_file
from .settings import Settings
from .verdicts import (
    Grading,
    GradingPrompt,
    JsonObject,
    QuotedReply,
    TruncatedReply,
    UnreadableReply,
    read_values,
    read_verdict,
)


logger = logging.getLogger(__name__)
UNRELATED_STATUSES = frozenset({401, 403, 408, 409, 429})  # to structured output and the limit of tokens
HTTP = importlib.import_module(type(openai.DEFAULT_CONNECTION_LIMITS).__module__.partition(".")[0])  # httpx
MAX_REPLY = 8 << 20  # maximum size of a reply in bytes, after decompression
ENCODING = ("content-encoding", "content-length", "transfer-encoding")  # no longer true of a reply that is read
# Default limit of a reply, in tokens, the judge's reasoning included. A verdict takes about 100, and reasoning before
# it usually 500 to 3000. At 70 tokens a second, the limit is reached within the default timeout. A judge that loops is
# therefore reported as such after one call, instead of being retried after a timeout.
MAX_REPLY_TOKENS = 4096
# Names of the limit in a request, each with what is tried if a server refuses it; None is a request without a limit.
# Nearly all servers know the first one; OpenAI's reasoning models take only the second.
LIMITS = {"max_tokens": "max_completion_tokens", "max_completion_tokens": None}


@dataclass
class Accepted:
    structured: bool | None = None  # None if that is not known
    limit: str = "max_tokens"


ACCEPTED: dict[tuple[str | None, str], Accepted] = {}  # what is known of each endpoint
CONTEXT_EXCEEDED = re.compile("context.?(length|size|window)")
LIMIT_REFUSED = re.compile(rf"max_[a-z_]*tokens|{CONTEXT_EXCEEDED.pattern}")  # a server refuses the limit
REQUEST_SECONDS: ContextVar[list[float]] = ContextVar("REQUEST_SECONDS")  # of the current call, retries included
# Clients in use, by event loop, since a client belongs to one event loop.
OPEN_CLIENTS: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Settings, Client]]" = WeakKeyDictionary()


class RequestForm(NamedTuple):
    """What a request has beyond its prompt, unless a server refuses it."""

    structured: bool  # whether it asks for structured output
    limit: str | None  # the name of the limit of tokens


class LimitedHttpClient(openai.DefaultAsyncHttpxClient):
    """Limits requests in flight, and the seconds of each once it is sent. A call that waits for its retry does not count."""

    def __init__(self, concurrency: int, seconds: float) -> None:
        pool = type(openai.DEFAULT_CONNECTION_LIMITS)(max_connections=None, max_keepalive_connections=concurrency)
        super().__init__(limits=pool, timeout=None)
        self.slots = asyncio.Semaphore(concurrency)
        self.seconds = seconds

    async def send(self, *args: Any, **kwargs: Any) -> Any:
        async with self.slots:
            start = time.monotonic()
            try:
                async with asyncio.timeout(self.seconds):
                    return await read_bounded(await super().send(*args, **{**kwargs, "stream": True}))
            except TimeoutError:
                raise HTTP.ReadTimeout(f"no reply within timeout={self.seconds:g} s") from None
            finally:
                REQUEST_SECONDS.get().append(time.monotonic() - start)


async def read_bounded(response: Any) -> Any:
    content = bytearray()
    try:
        async for part in response.aiter_bytes():
            content += part
            if len(content) > MAX_REPLY:
                raise UnreadableReply(f"the reply is longer than {MAX_REPLY:,} bytes")
    finally:
        await response.aclose()
    headers = [(name, value) for name, value in response.headers.items() if name not in ENCODING]
    return HTTP.Response(response.status_code, headers=headers, content=bytes(content), request=response.request)


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
        path = self._path(key)
        return json.loads(path.read_text()) if path.is_file() else None  # reading a pipe would not end

    def write(self, key: str, verdict: JsonObject) -> None:
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


@contextlib.asynccontextmanager
async def connect(settings: Settings) -> "AsyncIterator[Client]":
    """Yield the client with these settings in this event loop. When the last user leaves, its connections end."""
    clients = OPEN_CLIENTS.setdefault(asyncio.get_running_loop(), {})
    if settings not in clients:
        clients[settings] = Client(settings)
    client = clients[settings]
    client.users += 1
    try:
        yield client
    finally:
        client.users -= 1
        if not client.users:
            clients.pop(settings)
            await client.client.close()


class Client:
    """A client of one model, shared by all rewards that use it at the same time."""

    def __init__(self, settings: Settings) -> None:
        concurrency = max(1, settings.max_concurrency // world_size())
        # the client retries after a broken connection, a timeout, 408, 409, 429 and 5xx
        self.client = openai.AsyncOpenAI(
            api_key=settings.key,
            base_url=settings.base_url,
            max_retries=settings.retries,
            timeout=None,
            http_client=LimitedHttpClient(concurrency, settings.timeout),
        )
        self.slots = asyncio.Semaphore(2 * concurrency)
        self.settings = settings
        self.users = 0
        self.accepted = ACCEPTED.setdefault((settings.server_url, settings.model), Accepted())
        self.cache = None if settings.cache is None else VerdictCache(settings.cache)
        complaint = f"The judge {settings.model!r} gave no verdict"
        self.failures = FailureCounter(settings, complaint, settings.max_failures)

    async def ask(self, prompts: list[GradingPrompt]) -> list[Grading]:
        """Return the grading of each prompt, within the time limit of a batch. Equal prompts are sent once."""
        if not prompts:
            return []
        request = [self.settings.server_url, self.settings.model, self.settings.request_fields]
        keys = [prompt.cache_key(request) for prompt in prompts]
        different = dict(zip(keys, prompts, strict=True))
        gradings = {key: Grading() for key in different}
        calls = [asyncio.create_task(self._grade(different[key], key, grading)) for key, grading in gradings.items()]
        self.failures.expected += len(calls)
        try:
            await asyncio.wait(calls, timeout=self.settings.batch_timeout)
            for call, grading in zip(calls, gradings.values(), strict=True):
                if not call.done():
                    grading.error = f"no reply within batch_timeout={self.settings.batch_timeout:g} s"
        finally:
            for call in calls:
                call.cancel()
            await asyncio.gather(*calls, return_exceptions=True)
        self.failures.add(len(gradings), list_failures(different, gradings))
        return [gradings[key] for key in keys]

    async def _grade(self, prompt: GradingPrompt, key: str, grading: Grading) -> Grading:
        """Fill in a grading. A failed call costs one verdict, and does not stop the others."""
        try:
            if self.cache:
                with contextlib.suppress(Exception):  # without a readable file, the model is asked
                    fill_in_verdict(grading, self.cache.read(key), prompt)
                    grading.costs.cached = 1
                    return grading
            verdict = await self._fetch_verdict(prompt, grading)
            fill_in_verdict(grading, verdict, prompt)
        except Exception as error:
            grading.error = self.settings.hide_key(describe_with_cause(error))[:500]
            if isinstance(error, TruncatedReply):
                grading.advice = self._advise_on_limit()
        else:
            if self.cache:
                self.cache.write(key, verdict)
        return grading

    async def _fetch_verdict(self, prompt: GradingPrompt, grading: Grading) -> JsonObject:
        REQUEST_SECONDS.set(grading.costs.seconds)
        async with self.slots:  # requests are built just before they are sent, since a thousand take a second
            with contextlib.suppress(QuotedReply):
                return read_verdict(read_reply_text(await self._fetch_reply(prompt, grading)), prompt)
            return read_verdict(read_reply_text(await self._fetch_reply(prompt, grading)), prompt)

    async def _fetch_reply(self, prompt: GradingPrompt, grading: Grading) -> Any:
        """Send a request, and again without structured output or the default limit if the server refuses them."""
        costs = grading.costs
        retries = self.settings.retries
        has_limit = LIMITS.keys() & {*(self.settings.request or ())}
        limit = None if has_limit else self.accepted.limit
        form = RequestForm(structured=self.accepted.structured is not False, limit=limit)
        while True:
            try:
                reply = await self._send(prompt, form, retries)
                break
            except openai.APIStatusError as error:
                relaxed = self._relax(form, error)
                if relaxed is None:
                    raise
                form = relaxed
                retries = max(0, self.settings.retries + 1 - len(costs.seconds))
        self.accepted.structured = form.structured or bool(self.accepted.structured)
        self.accepted.limit = form.limit or self.accepted.limit
        costs.tokens_in += count_tokens(reply, "prompt_tokens")
        costs.tokens_out += count_tokens(reply, "completion_tokens")
        return reply

    def _relax(self, form: RequestForm, error: openai.APIStatusError) -> RequestForm | None:
        """Return a request without what a server may have refused, or None if the error has another cause."""
        if error.status_code in UNRELATED_STATUSES:
            return None
        refusal = str(error.body)
        if form.limit and LIMIT_REFUSED.search(refusal):
            return form._replace(limit=None if CONTEXT_EXCEEDED.search(refusal) else LIMITS[form.limit])
        is_known = bool(self.accepted.structured)
        if form.structured and not is_known:
            return form._replace(structured=False)
        return None

    async def _send(self, prompt: GradingPrompt, form: RequestForm, retries: int) -> Any:
        body = self.settings.request_fields
        if form.limit:
            body[form.limit] = MAX_REPLY_TOKENS
        if form.structured:
            schema = {"name": "verdict", "strict": True, "schema": prompt.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        if retries == self.settings.retries:
            client = self.client
        else:
            client = self.client.with_options(max_retries=retries)
        raw = await client.chat.completions.with_raw_response.create(
            model=self.settings.model, messages=[{"role": "user", "content": prompt.render()}], extra_body=body
        )
        text = raw.http_response.text
        try:
            return json.loads(text, object_hook=self.settings.hide_key_in_fields)
        except (ValueError, RecursionError):
            raise UnreadableReply(f"the reply is not JSON: {self.settings.hide_key(text)[:200]!r}") from None

    def _advise_on_limit(self) -> str:
        request = self.settings.request or {}
        name = next((name for name in LIMITS if name in request), self.accepted.limit)
        limit = request.get(name)
        larger = 4 * max(limit if isinstance(limit, int) else 0, MAX_REPLY_TOKENS)
        return (
            f"If the judge needs more tokens, for instance to reason, set request={{{name!r}: {larger}}} and a "
            f"longer timeout. If it repeats white space, start vLLM with "
            f"""--structured-outputs-config '{{"backend": "xgrammar", "disable_any_whitespace": true}}'. """
            f"If it repeats words, use a stronger judge."
        )


def list_failures(prompts: dict[str, GradingPrompt], gradings: dict[str, Grading]) -> list[Failure]:
    return [
        Failure(grading.error, f"The graded text was {prompts[key].texts[-1][1][:300]!r}", grading.advice)
        for key, grading in gradings.items()
        if grading.error is not None
    ]


def fill_in_verdict(grading: Grading, verdict: JsonObject, prompt: GradingPrompt) -> None:
    grading.values = read_values(verdict, prompt)
    reason = str(verdict.get("reason", ""))
    grading.reason = reason.encode(errors="replace").decode()  # a lone surrogate cannot be printed


def describe_with_cause(error: Exception) -> str:
    """Return the error in words, with its cause, which is the error of the connection."""
    if isinstance(error, UnreadableReply):
        return str(error)
    return f"{type(error).__name__}: {error}" + (f" {error.__cause__}" if error.__cause__ else "")


def read_reply_text(reply: Any) -> str:
    """Return the text of a chat completion, or raise [`UnreadableReply`], or [`TruncatedReply`] if it was cut off."""
    try:
        choice = reply["choices"][0]
        message = choice["message"]
        is_truncated = choice.get("finish_reason") == "length"
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise UnreadableReply(f"the reply is not a chat completion: {str(reply)[:200]}") from None
    if is_truncated:
        start = content or message.get("reasoning_content") or message.get("reasoning") or ""
        size = f"{count_tokens(reply, 'completion_tokens')} tokens".removeprefix("0 ")
        raise TruncatedReply(f"the reply was cut off at its limit of {size}: {str(start)[:200]!r}")
    if not isinstance(content, str) or not content.strip():
        raise UnreadableReply(f"the reply is empty: {str(choice)[:200]}")
    return content


def count_tokens(reply: Any, name: str) -> int:
    usage = None
    if isinstance(reply, dict):
        usage = reply.get("usage")
    count = None
    if isinstance(usage, dict):
        count = usage.get(name)
    return count if isinstance(count, int) else 0
