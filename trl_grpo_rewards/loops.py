"""Coroutines that synchronous code runs: without an event loop, or in one of another thread."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import ContextVar
from queue import SimpleQueue
from typing import Any, TypeVar


Result = TypeVar("Result")
# Calls for the thread that waits for the current event loop, each with a future of how it ended, and None at the end
HANDED_OVER: ContextVar[SimpleQueue | None] = ContextVar("HANDED_OVER", default=None)


def run_without_loop(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine that awaits only other coroutines, without an event loop."""
    outside = HANDED_OVER.set(None)
    try:
        coroutine.send(None)
    except StopIteration as stop:
        result: Result = stop.value
        return result
    finally:
        HANDED_OVER.reset(outside)
    raise RuntimeError("A synchronous reward awaited something. Declare its function with `async def`.")


def run_in_own_loop(coroutine: Coroutine[Any, Any, Result]) -> Result:
    """
    Run a coroutine in an event loop in another thread, since this thread may already run one.

    Meanwhile, this thread makes the calls that the coroutine passes to [`call_in_caller`].
    """
    calls: SimpleQueue = SimpleQueue()

    def run() -> Result:
        HANDED_OVER.set(calls)
        return asyncio.run(coroutine)

    with ThreadPoolExecutor(max_workers=1) as thread:
        result = thread.submit(run)
        result.add_done_callback(lambda _: calls.put(None))
        try:
            for function, ended in iter(calls.get, None):
                if ended.set_running_or_notify_cancel():
                    ended.set_result(attempt(function))
        except BaseException:  # such as Ctrl-C: the loop must not wait for this thread
            for _, ended in iter(calls.get, None):
                ended.cancel()
            raise
        return result.result()


async def call_in_caller(function: Callable[[], Result]) -> Result:
    """
    Call a function in the thread that waits for this event loop, or else here.

    TRL calls plain functions in the main thread. Signals, some connections to databases and `asyncio.run` need that.
    """
    calls = HANDED_OVER.get()
    if calls is None:
        return function()
    ended: Future[Future[Result]] = Future()
    calls.put((function, ended))
    return (await asyncio.wrap_future(ended)).result()


def attempt(function: Callable[[], Result]) -> Future[Result]:
    """Return what a function returned or raised. A future of asyncio could not carry every error, such as StopIteration."""
    outcome: Future[Result] = Future()
    try:
        outcome.set_result(function())
    except BaseException as error:
        outcome.set_exception(error)
    return outcome


async def await_all(awaitables: Iterable[Awaitable[Result]], *, concurrent: bool) -> list[Result]:
    """Await everything in order. After an error, no other coroutine is left unawaited."""
    if concurrent:
        return await asyncio.gather(*awaitables)
    return [await one for one in awaitables]
