"""An HTTP client for `openai` that limits the number of concurrent requests and the duration of each."""

import asyncio
import importlib
import time
from contextvars import ContextVar
from typing import Any

import openai


HTTP = importlib.import_module(type(openai.DEFAULT_CONNECTION_LIMITS).__module__.partition(".")[0])
"""The HTTP library that the installed openai client uses: httpx, or its successor."""

REQUEST_SECONDS: ContextVar[list[float]] = ContextVar("REQUEST_SECONDS")
"""Duration in seconds of each request that the current call has made, retries included."""


class LimitedHttpClient(openai.DefaultAsyncHttpxClient):
    """
    An HTTP client that has at most `concurrency` requests in flight, and at most `seconds` for each once it is sent.

    The limits apply below the client's retries, so a call that waits for its retry does not block others.
    """

    def __init__(self, concurrency: int, seconds: float) -> None:
        limits = type(openai.DEFAULT_CONNECTION_LIMITS)(max_connections=None, max_keepalive_connections=concurrency)
        super().__init__(limits=limits, timeout=None)
        self.slots, self.seconds = asyncio.Semaphore(concurrency), seconds

    async def send(self, *args: Any, **kwargs: Any) -> Any:
        async with self.slots:
            start = time.monotonic()
            try:
                async with asyncio.timeout(self.seconds):
                    return await super().send(*args, **kwargs)
            except TimeoutError:
                raise HTTP.ReadTimeout(f"no reply within timeout={self.seconds:g} s") from None
            finally:
                REQUEST_SECONDS.get().append(time.monotonic() - start)


def build_client(base_url: str | None, key: str, retries: int, concurrency: int, seconds: float) -> openai.AsyncOpenAI:
    """Build a client that retries as openai does: after a broken connection, a timeout, 408, 409, 429 and 5xx."""
    http = LimitedHttpClient(concurrency, seconds)
    return openai.AsyncOpenAI(api_key=key, base_url=base_url, max_retries=retries, timeout=None, http_client=http)
