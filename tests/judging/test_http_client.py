"""Requests to a judge's server as they go wrong: slow and dripping replies, redirects, cuts, and refusals."""

import asyncio
import gzip
import threading
import time

import openai
import pytest

from helpers.local_http import build_reply, run_local_server
from helpers.processes import find_free_port
from trl_grpo_rewards.judging.chat_client import MAX_REPLY, REQUEST_SECONDS, build_client
from trl_grpo_rewards.judging.verdicts import UnreadableReply


KEY = "secret-key-1234"


async def ask(client: openai.AsyncOpenAI) -> tuple[str | Exception, list[float]]:
    """Return the reply or the error, and the seconds of each request."""
    REQUEST_SECONDS.set(seconds := [])
    try:
        reply = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": "2 + 2?"}])
        return reply.choices[0].message.content, seconds
    except openai.OpenAIError as error:
        return error, seconds


def ask_once(url: str, *, retries: int = 0, seconds: float = 5.0) -> tuple[str | Exception, list[float]]:
    async def run() -> tuple[str | Exception, list[float]]:
        async with build_client(url, KEY, retries, 4, seconds) as client:
            return await ask(client)

    return asyncio.run(run())


def test_a_reply_is_bounded_after_it_is_decompressed():
    body = gzip.compress(b" " * (2 * MAX_REPLY))
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    assert len(body) < MAX_REPLY / 100
    with run_local_server(lambda request: request.wfile.write(head + body)) as server:
        with pytest.raises(UnreadableReply, match="longer than 8,388,608 bytes"):
            ask_once(f"{server.url}/v1")


def test_no_more_requests_are_in_flight_than_the_limit():
    flying, most, three = [], [], threading.Event()

    def answer(request):
        flying.append(request)
        most.append(len(flying))
        three.set() if len(flying) >= 3 else three.wait(5)
        time.sleep(0.05)  # a fourth one would arrive now
        flying.remove(request)
        request.send(build_reply("4"))

    async def run(url):
        async with build_client(url, KEY, 0, 3, 30.0) as client:
            return await asyncio.gather(*(ask(client) for _ in range(9)))

    with run_local_server(answer) as server:
        replies = asyncio.run(run(server.url))
    assert [reply for reply, _ in replies] == ["4"] * 9 and max(most) == 3


def test_the_time_before_a_request_is_sent_does_not_count():
    async def run(url):
        async with build_client(url, KEY, 0, 1, 1.0) as client:
            async with client._client.slots:
                waiting = asyncio.create_task(ask(client))
                await asyncio.sleep(1.1)
                assert not server.requests
            return await waiting

    with run_local_server(lambda request: request.send(build_reply("4"))) as server:
        reply, (seconds,) = asyncio.run(run(server.url))
    assert reply == "4" and seconds < 1


def stall(request):
    time.sleep(1)
    request.hang_up()


def drip(request):
    """Send a byte now and then, so that the connection is never silent for long."""
    request.send(" ", announced=100)
    for _ in range(20):
        request.wfile.write(b" ")
        time.sleep(0.05)


@pytest.mark.parametrize("answer", [stall, drip])
def test_a_reply_that_takes_too_long_is_a_timeout(answer):
    with run_local_server(answer) as server:
        error, (seconds,) = ask_once(server.url, seconds=0.2)
    assert isinstance(error, openai.APITimeoutError) and seconds >= 0.2
    assert "no reply within timeout=0.2 s" in str(error.__cause__)


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(status):
    def answer(request):
        is_first = len(server.requests) == 1
        request.send({}, status, retry_after_ms="1") if is_first else request.send(build_reply("4"))

    with run_local_server(answer) as server:
        reply, seconds = ask_once(server.url, retries=1)
    assert reply == "4" and len(server.requests) == len(seconds) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_a_refusal_is_final(status):
    with run_local_server(lambda request: request.send({"error": {"message": "no"}}, status)) as server:
        error, seconds = ask_once(server.url, retries=2)
    assert error.status_code == status and error.body == {"message": "no"} and len(seconds) == 1


@pytest.mark.parametrize(
    "answer",
    [
        lambda request: request.hang_up(),
        lambda request: request.send(build_reply("4"), announced=10_000),
        lambda request: request.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n") and request.hang_up(),
    ],
    ids=["no reply", "half a reply", "another protocol"],
)
def test_a_broken_connection_is_an_error_of_the_connection(answer):
    with run_local_server(answer) as server:
        error, seconds = ask_once(server.url)
    assert type(error) is openai.APIConnectionError and error.__cause__ is not None
    assert len(server.requests) == len(seconds) == 1


def test_a_server_that_is_not_there_is_an_error_of_the_connection():
    error, seconds = ask_once(f"http://127.0.0.1:{find_free_port()}")
    assert type(error) is openai.APIConnectionError and len(seconds) == 1


def test_a_redirect_is_followed_and_the_key_stays_at_home():
    def answer(request):
        if request.path == "/moved/chat/completions":
            request.send(build_reply("4"))
        else:
            request.send("", 307, location=f"{targets.pop()}/moved/chat/completions")

    with run_local_server(answer) as home, run_local_server(answer) as other:
        targets = [other.url, home.url]
        assert [ask_once(home.url)[0] for _ in range(2)] == ["4", "4"]
    assert [request.headers["Authorization"] for request in home.requests] == [f"Bearer {KEY}"] * 3
    (moved,) = other.requests
    assert moved.headers["Authorization"] is None and b"2 + 2?" in moved.body


def test_a_circle_of_redirects_ends():
    with run_local_server(lambda request: request.send("", 307, location=request.path)) as server:
        error, _ = ask_once(server.url)
    assert type(error) is openai.APIConnectionError and "redirect" in str(error.__cause__)
