"""The `openai` client within limits: so many requests at a time, each with its own deadline."""

import asyncio
import importlib
import time
from contextvars import ContextVar
from typing import Any

import openai


HTTP = importlib.import_module(type(openai.DEFAULT_CONNECTION_LIMITS).__module__.partition(".")[0])
"""What the client stands on: httpx, or what has come after it."""

REQUESTS: ContextVar[list[float]] = ContextVar("REQUESTS")
"""Seconds of each request that the present call has made, those again included."""


class LimitedHttpClient(openai.DefaultAsyncHttpxClient):
    """
    An HTTP client that sends `count` requests at a time and gives each `seconds`, from when it is sent.

    It stands below the client's retries, so that a call which waits to be made again holds nobody up.
    """

    def __init__(self, count: int, seconds: float) -> None:
        limits = type(openai.DEFAULT_CONNECTION_LIMITS)(max_connections=None, max_keepalive_connections=count)
        super().__init__(limits=limits, timeout=None)
        self.slots, self.seconds = asyncio.Semaphore(count), seconds

    async def send(self, *args: Any, **kwargs: Any) -> Any:
        async with self.slots:
            start = time.monotonic()
            try:
                async with asyncio.timeout(self.seconds):
                    return await super().send(*args, **kwargs)
            except TimeoutError:
                raise HTTP.ReadTimeout(f"no reply within the {self.seconds:g} s of a call") from None
            finally:
                REQUESTS.get().append(time.monotonic() - start)


def client_of(base_url: str | None, key: str, retries: int, count: int, seconds: float) -> openai.AsyncOpenAI:
    """A client that calls again after a broken connection, a time-out, 408, 409, 429 and 5xx, as the library does."""
    http = LimitedHttpClient(count, seconds)
    return openai.AsyncOpenAI(api_key=key, base_url=base_url, max_retries=retries, timeout=None, http_client=http)
