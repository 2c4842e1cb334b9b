"""Servers that judges share: equal prompts, batches at the same time, deadlines, and the folder of verdicts."""

import asyncio
import shutil
import threading
from contextlib import asynccontextmanager

import pytest

from helpers.judging import build_settings
from helpers.local_http import build_reply, run_local_server
from trl_grpo_rewards.judging import chat_client, failures
from trl_grpo_rewards.judging.grading_prompts import Rubric, build_grading_prompt
from trl_grpo_rewards.judging.shared_clients import OPEN_CLIENTS, connect, describe_with_cause, read_reason
from trl_grpo_rewards.judging.verdicts import UnreadableReply


RUBRIC = Rubric("Is it clear?", (0.0, 10.0))
ONE, OTHER = (build_grading_prompt(RUBRIC, "2 + 2?", answer) for answer in ("#1#", "#2#"))


@pytest.fixture(autouse=True)
def unknown_servers(monkeypatch):
    monkeypatch.setattr(chat_client, "STRUCTURED_OUTPUT", {})
    monkeypatch.setattr(failures, "FAILED_ONCE", set())
    monkeypatch.setattr(failures, "WARNED", set())


def read_score(verdict: dict, prompt) -> int:
    if "score" not in verdict:
        raise UnreadableReply("there is no score")
    return verdict["score"]


def answer(request) -> None:
    """Give the number in the text as its score."""
    score = 1 if b"#1#" in request.body else 2
    request.send(build_reply({"reason": "so", "score": score}, usage={"prompt_tokens": 9, "completion_tokens": 1}))


def run_with(scenario, reply=answer, **options):
    """Run a scenario with a judge's server, and return its result and the number of requests."""

    async def run():
        async with asyncio.timeout(30), connect(build_settings(local.url, **options)) as server:
            return await scenario(server)

    with run_local_server(reply) as local:
        return asyncio.run(run()), len(local.requests)


def test_equal_prompts_are_sent_once_and_gradings_keep_their_order():
    gradings, requests = run_with(lambda server: server.ask([OTHER, ONE, OTHER], read_score))
    assert [grading.value for grading in gradings] == [2, 1, 2] and requests == 2
    assert gradings[0] is gradings[2] and gradings[0].reason == "so" and gradings[0].tokens_in == 9
    assert run_with(lambda server: server.ask([], read_score)) == ([], 0)


async def wait_until(true) -> None:
    while not true():
        await asyncio.sleep(0.001)


def count_waiting(server) -> list[int]:
    return [call.waiting for call in server.calls.values()]


def test_a_batch_joins_the_calls_of_another_and_does_not_pay_for_them():
    joined = threading.Event()

    def answer_late(request):
        joined.wait(30)
        answer(request)

    async def scenario(server):
        first = asyncio.create_task(server.ask([ONE], read_score))
        await wait_until(lambda: count_waiting(server) == [1])
        second = asyncio.create_task(server.ask([ONE, OTHER], read_score))
        await wait_until(lambda: count_waiting(server) == [2, 1])
        joined.set()
        gradings = [*await first, *await second]
        assert not server.calls
        return gradings

    (first, same, other), requests = run_with(scenario, answer_late, batch_timeout=30.0, timeout=30.0)
    assert requests == 2 and (first.value, same.value, other.value) == (1, 1, 2)
    assert (len(first.seconds), same.seconds, len(other.seconds)) == (1, [], 1)
    assert (first.tokens_in, same.tokens_in) == (9, 0)


def test_a_batch_that_is_given_up_takes_only_its_own_calls_along():
    given_up = threading.Event()

    def answer_late(request):
        given_up.wait(30)
        answer(request)

    async def scenario(server):
        first = asyncio.create_task(server.ask([ONE, OTHER], read_score))
        await wait_until(lambda: count_waiting(server) == [1, 1])
        second = asyncio.create_task(server.ask([ONE], read_score))
        await wait_until(lambda: count_waiting(server) == [2, 1])
        first.cancel()
        await asyncio.wait([first])
        assert count_waiting(server) == [1]
        given_up.set()
        return await second

    (grading,), _ = run_with(scenario, answer_late, batch_timeout=30.0, timeout=30.0)
    assert grading.value == 1 and grading.error is None


def test_a_batch_ends_at_its_deadline():
    over, asked = threading.Event(), []

    def answer_one(request):
        if b"#1#" in request.body:
            return answer(request)
        asked.append(request)
        if len(asked) == 1:
            return request.send({}, 503, retry_after_ms="1")
        over.wait(30)
        request.hang_up()

    async def scenario(server):
        first = asyncio.create_task(server.ask([ONE, OTHER], read_score))
        await wait_until(lambda: len(asked) == 2)
        joined = await server.ask([OTHER], read_score)
        over.set()
        return [*await first, *joined], server.calls

    options = {"batch_timeout": 1.0, "timeout": 10.0, "max_failures": 1.0, "retries": 1}
    ((one, other, same), calls), _ = run_with(scenario, answer_one, **options)
    assert one.value == 1 and other.value is same.value is None and calls == {}
    assert other.error == same.error == "no reply within batch_timeout=1 s"
    assert other.seconds and same.seconds == []  # the batch that asked first has made the calls


def test_a_failed_call_costs_one_verdict():
    def some(request):
        answer(request) if b"#1#" in request.body else request.send({"error": {"message": "broken"}}, 500)

    (one, other), _ = run_with(lambda server: server.ask([ONE, OTHER], read_score), some, max_failures=1.0)
    assert one.value == 1 and other.value is None and other.error.startswith("InternalServerError: ")
    with pytest.raises(RuntimeError, match="gave no verdict in 2 of 2 calls"):
        run_with(lambda server: server.ask([ONE, OTHER], read_score), lambda request: request.send("[]"))
    (grading, _), _ = run_with(
        lambda server: server.ask([ONE, OTHER], read_score, counts=False), lambda request: request.send("[]")
    )
    assert grading.error == "the reply is not a chat completion: []"


def test_calls_that_do_not_count_leave_the_count_alone():
    async def scenario(server):
        await server.ask([ONE], read_score, counts=False)
        await server.ask([ONE, OTHER], read_score)

    with pytest.raises(RuntimeError, match="gave no verdict in 2 of 2 calls"):
        run_with(scenario, lambda request: request.send("[]"))


def test_a_server_is_shared_until_its_last_user_leaves():
    @asynccontextmanager
    async def connected(url):
        async with connect(build_settings(url)) as server:
            yield server

    async def run(url):
        async with connected(url) as one:
            async with connected(url) as same, connected(f"{url}/other") as other:
                assert one is same is not other
            assert not one.client.client.is_closed() and other.client.client.is_closed()
            assert (await one.ask([ONE], read_score))[0].value == 1
        assert one.client.client.is_closed() and OPEN_CLIENTS[asyncio.get_running_loop()] == {}
        async with connected(url) as new:
            assert new is not one

    with run_local_server(answer) as local:
        asyncio.run(run(local.url))


def test_a_verdict_that_cannot_be_read_is_not_kept(tmp_path):
    reply = build_reply({"reason": "none"})
    ask = lambda server: server.ask([ONE], read_score)  # noqa: E731
    ((grading,), _) = run_with(ask, lambda request: request.send(reply), cache=str(tmp_path))
    assert grading.error == "there is no score" and not [*tmp_path.rglob("*.json")]


def test_a_folder_that_vanished_costs_no_verdict(tmp_path, caplog):
    async def scenario(server):
        shutil.rmtree(tmp_path / "kept")
        (tmp_path / "kept").write_text("a file")
        return await server.ask([ONE], read_score)

    ((grading,), _) = run_with(scenario, cache=str(tmp_path / "kept"))
    assert grading.value == 1 and grading.error is None
    (record,) = caplog.records
    assert "Verdicts cannot be written to the cache" in record.message


def test_errors_are_described_with_their_cause():
    error = ValueError("no")
    error.__cause__ = OSError("cut")
    assert (
        describe_with_cause(error) == "ValueError: no cut" and describe_with_cause(UnreadableReply("empty")) == "empty"
    )
    assert read_reason({"reason": "a \ud800"}) == "a ?" and read_reason({}) == "" and read_reason({"reason": 7}) == "7"
