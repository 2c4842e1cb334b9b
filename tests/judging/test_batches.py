"""Servers that judges share: batches at the same time, deadlines, and the folder of verdicts."""

import asyncio
import resource
import shutil
import threading

import pytest

from helpers.judging import build_settings
from helpers.local_http import build_reply, run_local_server
from trl_grpo_rewards.judging import client, failures
from trl_grpo_rewards.judging.client import OPEN_CLIENTS, VerdictCache, connect
from trl_grpo_rewards.judging.graders import ScaleGrader


GRADER = ScaleGrader("Is it clear?", (0.0, 10.0))
ONE, OTHER = (prompt for answer in ("#1#", "#2#") for prompt in GRADER.build_prompts("2 + 2?", answer))


@pytest.fixture(autouse=True)
def unknown_servers(monkeypatch):
    monkeypatch.setattr(client, "ACCEPTED", {})
    monkeypatch.setattr(failures, "FAILED_ONCE", set())
    monkeypatch.setattr(failures, "WARNED", set())


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


async def wait_until(true) -> None:
    while not true():
        await asyncio.sleep(0.001)


@pytest.mark.parametrize("gives_up", [False, True])
def test_a_batch_joins_the_calls_of_another_and_outlives_it(gives_up):
    """It does not pay for these calls. A batch that is given up takes only its own calls along."""
    joined = threading.Event()

    def answer_late(request):
        joined.wait(30)
        answer(request)

    async def scenario(server):
        first = asyncio.create_task(server.ask([OTHER, ONE] if gives_up else [ONE]))
        await wait_until(lambda: len(server.calls) == 1 + gives_up)
        second = asyncio.create_task(server.ask([ONE]))
        await asyncio.sleep(0.01)
        if gives_up:
            first.cancel()
            await asyncio.wait([first])
        joined.set()
        gradings = [*([] if gives_up else await first), *await second]
        assert not server.calls
        return gradings

    gradings, requests = run_with(scenario, answer_late, batch_timeout=30.0, timeout=30.0)
    assert requests <= 1 + gives_up and [grading.values for grading in gradings] == [{"score": 0.1}] * len(gradings)
    assert [(len(one.costs.seconds), one.costs.tokens_in) for one in gradings] == [(1, 9), (0, 0)][gives_up:]


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
        first = asyncio.create_task(server.ask([ONE, OTHER]))
        await wait_until(lambda: len(asked) == 2)
        joined = await server.ask([OTHER])
        over.set()
        return [*await first, *joined], server.calls

    options = {"batch_timeout": 1.0, "timeout": 10.0, "max_failures": 1.0, "retries": 1}
    ((one, other, same), calls), _ = run_with(scenario, answer_one, **options)
    assert one.values == {"score": 0.1} and other.values == same.values == {} == calls
    assert other.error == same.error == "no reply within batch_timeout=1 s"
    assert other.costs.seconds and same.costs.seconds == []  # the batch that asked first has made the calls


def test_calls_that_do_not_count_leave_the_count_alone():
    async def scenario(server):
        (grading,) = await server.ask([ONE], counts=False)
        assert grading.error == "the reply is not a chat completion: []"
        await server.ask([ONE, OTHER])

    with pytest.raises(RuntimeError, match="gave no verdict in 2 of 2 calls"):
        run_with(scenario, lambda request: request.send("[]"))


def test_a_server_is_shared_until_its_last_user_leaves():
    async def run(url):
        async with connect(build_settings(url)) as one:
            async with connect(build_settings(url)) as same, connect(build_settings(f"{url}/other")) as other:
                assert one is same is not other
            assert not one.client.is_closed() and other.client.is_closed()
            assert (await one.ask([ONE]))[0].values == {"score": 0.1}
        assert one.client.is_closed() and OPEN_CLIENTS[asyncio.get_running_loop()] == {}
        async with connect(build_settings(url)) as new:
            assert new is not one

    with run_local_server(answer) as local:
        asyncio.run(run(local.url))


def test_a_verdict_that_cannot_be_read_is_not_kept(tmp_path):
    reply = build_reply({"reason": "none"})
    ask = lambda server: server.ask([ONE])  # noqa: E731
    ((grading,), _) = run_with(ask, lambda request: request.send(reply), cache=str(tmp_path))
    assert grading.error == "the score must be a number; got None" and not [*tmp_path.rglob("*.json")]


def test_a_folder_that_cannot_be_made_is_said(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match="cache cannot be created: .* Choose a path that you can"):
        VerdictCache(str(tmp_path / "file"))


def test_a_full_disk_or_a_lost_folder_costs_the_verdict_and_is_said_once(tmp_path, caplog):
    cache = VerdictCache(str(tmp_path / "kept"))
    cache.write("abcdef", {"score": 7})
    unlimited, ceiling = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20, ceiling))
    try:
        for key in ("abcdef", "ghijkl"):
            cache.write(key, {"score": 8, "reason": "It is longer than the disk has room for."})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (unlimited, ceiling))
    assert cache.read("abcdef") == {"score": 7} and not cache._path("ghijkl").exists()
    assert [file.name for file in tmp_path.rglob("*.*")] == ["cdef.json"]  # nothing unfinished is left
    shutil.rmtree(cache.folder)
    cache.write("ghijkl", {"score": 9})
    assert cache.read("ghijkl") == {"score": 9}
    shutil.rmtree(cache.folder)
    cache.folder.write_text("a file")
    cache.write("ghijkl", {"score": 9})
    (record,) = caplog.records
    assert "Verdicts cannot be written to the cache" in record.message and "File too large" in record.message
