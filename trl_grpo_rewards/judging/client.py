"""
Clients of judges: OpenAI's chat protocol, with structured output and a limit of tokens where a server accepts them.

Equal prompts are sent once, calls end with their batch, and verdicts may be cached in a folder.
"""

import asyncio
import contextlib
import importlib
import json
import logging
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import openai

from ..distributed import world_size
from ..files import replace_file
from .failures import Failure, FailureCounter
from .prompts import GradingPrompt
from .settings import Settings
from .verdicts import Grading, QuotedReply, TruncatedReply, UnreadableReply, read_verdict


logger = logging.getLogger(__name__)

STRUCTURED_OUTPUT: dict[tuple[str | None, str], bool] = {}
"""Whether the model of an endpoint gives structured output, once that is known."""

UNRELATED_STATUSES = frozenset({401, 403, 408, 409, 429})
"""HTTP statuses that say nothing about structured output or the limit of tokens."""

HTTP = importlib.import_module(type(openai.DEFAULT_CONNECTION_LIMITS).__module__.partition(".")[0])
"""The HTTP library that the installed openai client uses: httpx, or its successor."""

MAX_REPLY = 8 << 20
"""Maximum size of a reply in bytes, after decompression."""

MAX_TOKENS = 4096
"""
Default limit of a reply, in tokens, the judge's reasoning included. A verdict takes about 100, and reasoning before it
usually 500 to 3000. At 70 tokens a second, the limit is reached within the default timeout. A judge that loops is
therefore reported as such after one call, instead of being retried after a timeout.
"""

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
"""Names of the limit in a request. Nearly all servers know the first; OpenAI's reasoning models take only the second."""

ACCEPTED_NAMES: dict[tuple[str | None, str], str] = {}
"""The name that an endpoint accepts, once that is known."""

CONTEXT_EXCEEDED = re.compile("context.?(length|size|window)")
"""Words in a server's refusal if the text and the limit together exceed the model's context."""

LIMIT_REFUSED = re.compile(rf"max_[a-z_]*tokens|{CONTEXT_EXCEEDED.pattern}")
"""Words in a server's refusal if the limit is the reason."""

ENCODING = ("content-encoding", "content-length", "transfer-encoding")
"""Headers about how a reply was sent, which do not hold for its text."""

REQUEST_SECONDS: ContextVar[list[float]] = ContextVar("REQUEST_SECONDS")
"""Duration in seconds of each request that the current call has made, retries included."""

Reader = Callable[[dict[str, Any], GradingPrompt], Any]
"""Returns the value of a verdict on a prompt, and raises [`UnreadableReply`] if it has none."""

OPEN_CLIENTS: "WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Settings, Client]]" = WeakKeyDictionary()
"""Clients in use, by event loop, since a client belongs to one event loop."""


class LimitedHttpClient(openai.DefaultAsyncHttpxClient):
    """
    An HTTP client that has at most `concurrency` requests in flight, and at most `seconds` for each once it is sent.

    The limits apply below the client's retries, so a call that waits for its retry does not block others.
    """

    def __init__(self, concurrency: int, seconds: float) -> None:
        pool = type(openai.DEFAULT_CONNECTION_LIMITS)(max_connections=None, max_keepalive_connections=concurrency)
        super().__init__(limits=pool, timeout=None)
        self.slots, self.seconds = asyncio.Semaphore(concurrency), seconds

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
    """Return a response with its whole text. Raises [`UnreadableReply`] if it is too long once it is decompressed."""
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


@dataclass
class PendingCall:
    """A call in flight, and the number of batches that wait for it."""

    task: "asyncio.Task[None]"
    grading: Grading
    waiting: int = 0


@contextlib.asynccontextmanager
async def connect(settings: Settings) -> "AsyncIterator[Client]":
    """Yield the client with these settings in this event loop, and close its connections when the last user leaves."""
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
    """A client of one model and its calls in flight, shared by all rewards that use it at the same time."""

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
        self.settings, self.users = settings, 0
        self.cache = None if settings.cache is None else VerdictCache(settings.cache)
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
            verdict = await self._fetch_verdict(prompt, grading)
            grading.value, grading.reason = read(verdict, prompt), read_reason(verdict)
        except Exception as error:  # a failed call costs one verdict, and does not stop the others
            grading.error = self.settings.hide_key(describe_with_cause(error))[:500]
            if isinstance(error, TruncatedReply):
                grading.advice = self._advise_on_limit()
            return
        if self.cache:
            self.cache.write(key, verdict)

    async def _fetch_verdict(self, prompt: GradingPrompt, grading: Grading) -> dict[str, Any]:
        """Return the verdict on a prompt, and add what the requests cost to the grading."""
        REQUEST_SECONDS.set(grading.seconds)
        async with self.slots:  # requests are built just before they are sent, since a thousand take a second
            with contextlib.suppress(QuotedReply):
                return read_verdict(read_content(await self._fetch_reply(prompt, grading)), prompt)
            return read_verdict(read_content(await self._fetch_reply(prompt, grading)), prompt)

    async def _fetch_reply(self, prompt: GradingPrompt, grading: Grading) -> Any:
        reply = await self._send_accepted(prompt, grading)
        usage = reply.get("usage") if isinstance(reply, dict) else None
        if isinstance(usage, dict):
            tokens = (usage.get("prompt_tokens"), usage.get("completion_tokens"))
            counts = [count if isinstance(count, int) else 0 for count in tokens]
            grading.tokens_in, grading.tokens_out = grading.tokens_in + counts[0], grading.tokens_out + counts[1]
        return reply

    async def _send_accepted(self, prompt: GradingPrompt, grading: Grading) -> Any:
        """Send a request, and again without structured output or the default limit if the server refuses them."""
        endpoint, retries = self.settings.endpoint, None
        structured = STRUCTURED_OUTPUT.get(endpoint, True)
        names = list_limit_names(self.settings.request, endpoint)
        while True:
            try:
                reply = await self._send(prompt, structured, names[0], retries)
                break
            except openai.APIStatusError as error:
                left = drop_refused_names(names, str(error.body))
                if error.status_code in UNRELATED_STATUSES or (
                    not left and (not structured or STRUCTURED_OUTPUT.get(endpoint))
                ):
                    raise
                structured, names = structured and bool(left), left or names
                retries = max(0, self.settings.retries + 1 - len(grading.seconds))
        if STRUCTURED_OUTPUT.get(endpoint) is None or structured:
            STRUCTURED_OUTPUT[endpoint] = structured
        if names[0]:
            ACCEPTED_NAMES[endpoint] = names[0]
        return reply

    async def _send(self, prompt: GradingPrompt, structured: bool, limit: str | None, retries: int | None) -> Any:
        body = self.settings.request_fields
        if limit:
            body[limit] = MAX_TOKENS
        if structured:
            schema = {"name": "verdict", "strict": True, "schema": json.loads(prompt.schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        client = self.client if retries is None else self.client.with_options(max_retries=retries)
        raw = await client.chat.completions.with_raw_response.create(
            model=self.settings.model, messages=[{"role": "user", "content": prompt.render()}], extra_body=body
        )
        text = raw.http_response.text
        try:
            return self.settings.hide_key_in_texts(json.loads(text))
        except (ValueError, RecursionError):
            raise UnreadableReply(f"the reply is not JSON: {self.settings.hide_key(text)[:200]!r}") from None

    def _advise_on_limit(self) -> str:
        """Return advice about a reply that reached its limit."""
        request = self.settings.request or {}
        accepted = ACCEPTED_NAMES.get(self.settings.endpoint, LIMIT_NAMES[0])
        name = next((name for name in LIMIT_NAMES if name in request), accepted)
        given = request.get(name)
        larger = 4 * max(given if isinstance(given, int) else 0, MAX_TOKENS)
        return (
            f"If the judge needs more tokens, for instance to reason, set request={{{name!r}: {larger}}} and a "
            f"longer timeout. If it repeats white space, start vLLM with "
            f"""--structured-outputs-config '{{"backend": "xgrammar", "disable_any_whitespace": true}}'. """
            f"If it repeats words, use a stronger judge."
        )


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


def read_content(reply: Any) -> str:
    """Return the text of a chat completion, or raise [`UnreadableReply`], or [`TruncatedReply`] if it was cut off."""
    try:
        choice = reply["choices"][0]
        message, is_truncated = choice["message"], choice.get("finish_reason") == "length"
        content = message.get("content")
    except (KeyError, IndexError, TypeError, AttributeError):
        raise UnreadableReply(f"the reply is not a chat completion: {str(reply)[:200]}") from None
    if is_truncated:
        start = content or message.get("reasoning_content") or message.get("reasoning") or ""
        raise TruncatedReply(f"the reply was cut off at its limit of {describe_size(reply)}: {str(start)[:200]!r}")
    if not isinstance(content, str) or not content.strip():
        raise UnreadableReply(f"the reply is empty: {str(choice)[:200]}")
    return content


def describe_size(reply: dict[str, Any]) -> str:
    usage = reply.get("usage")
    count = usage.get("completion_tokens") if isinstance(usage, dict) else None
    return f"{count} tokens" if isinstance(count, int) else "tokens"


def list_limit_names(request: Mapping[str, Any] | None, endpoint: tuple[str | None, str]) -> list[str | None]:
    """Return the names to try for the limit, in order; None is a request without one. What the user sets goes first."""
    if {*LIMIT_NAMES} & {*(request or ())}:
        return [None]
    known = ACCEPTED_NAMES.get(endpoint)
    return [*LIMIT_NAMES[LIMIT_NAMES.index(known) if known else 0 :], None]


def drop_refused_names(names: list[str | None], refusal: str) -> list[str | None]:
    """Return the names that are left to try after a refusal, or an empty list if it is not about the limit."""
    if names == [None] or not LIMIT_REFUSED.search(refusal):
        return []
    return [None] if CONTEXT_EXCEEDED.search(refusal) else names[1:]
