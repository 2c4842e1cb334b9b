"""Clients of judges: options that are refused, requests that go wrong, what batches share, deadlines, and kept verdicts."""

import asyncio
import gzip
import json
import resource
import shutil
import threading
import time

import pytest

from helpers.judging import build_settings, scored
from helpers.local_http import build_reply, run_local_server
from trl_grpo_rewards import column, failures, judge, ranking
from trl_grpo_rewards.judging import client, settings
from trl_grpo_rewards.judging.client import MAX_REPLY, OPEN_CLIENTS, VerdictCache, connect
from trl_grpo_rewards.judging.graders import ScaleGrader
from trl_grpo_rewards.judging.settings import check_server


KEY = "secret-key-1234"
VERDICT = {"reason": "fine", "score": 7}


@pytest.fixture(autouse=True)
def unknown_servers(monkeypatch):
    monkeypatch.setattr(client, "ACCEPTED", {})
    monkeypatch.setattr(failures, "FAILED_ONCE", set())
    monkeypatch.setattr(failures, "SHOWN_FAILURES", set())


def ask(url: str | None, *texts: str, **options):
    """Return the scores, the metrics and the reasons of a judge without retries."""
    given = {"base_url": url, "retries": 0, "max_failures": 1, **options}
    scores, metrics, extra = scored(judge("m", "Is it clear?", **given), texts or ["4"])
    return scores, metrics, extra["judge/reason"]


def answer_with(*replies):
    """Answer one request after another; the last reply is given again and again."""

    def answer(request):
        content, status = replies[min(len(request.server.requests), len(replies)) - 1]
        request.send(content, status, retry_after_ms="1")

    return answer


FINE, BUSY = (build_reply(VERDICT), 200), ({"error": {"message": "busy"}}, 503)


@pytest.mark.parametrize("usage", [None, [], {}, {"prompt_tokens": None, "completion_tokens": "20"}])
def test_tokens_that_are_not_counted_are_none(usage):
    with run_local_server(answer_with((build_reply(VERDICT, usage=usage), 200))) as server:
        scores, metrics, _ = ask(server.url)
    assert scores == [0.7] and (metrics["judge/tokens_in"], metrics["judge/tokens_out"]) == (0, 0)


@pytest.mark.parametrize("status, calls", [(401, 1), (403, 1), (400, 2), (404, 2), (422, 2)])
def test_only_a_refusal_of_the_request_itself_is_tried_another_way(status, calls):
    with run_local_server(answer_with(({"error": {"message": "no"}}, status))) as server:
        scores, _, reasons = ask(server.url, retries=2)
    assert scores == [None] and len(server.requests) == calls and "Error: " in reasons[0]


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503])
def test_a_server_that_is_busy_is_asked_again(status):
    with run_local_server(answer_with(({}, status), FINE)) as server:
        scores, metrics, _ = ask(server.url, retries=1)
    assert scores == [0.7] and len(server.requests) == metrics["judge/calls"] == 2


def test_retries_are_those_of_the_whole_call():
    refusal = {"error": {"message": "Unsupported parameter: 'response_format'"}}, 400
    with run_local_server(answer_with(BUSY, refusal, BUSY)) as server:
        assert "InternalServerError" in ask(server.url, retries=2)[2][0]
    bodies = [json.loads(request.body) for request in server.requests]
    assert ["response_format" in body for body in bodies] == [True, True, False, False]


def test_the_time_before_a_request_is_sent_does_not_count():
    def answer(request):
        time.sleep(0.6)
        request.send(FINE[0])

    with run_local_server(answer) as server:
        assert ask(server.url, "1", "2", "3", timeout=1.0, max_concurrency=1)[0] == [0.7] * 3


def drip(request):
    """Send a byte now and then, so that the connection is never silent for long."""
    request.send(" ", announced=100)
    for _ in range(20):
        request.wfile.write(b" ")
        time.sleep(0.05)


def flood(request):
    body = gzip.compress(b" " * (2 * MAX_REPLY))
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    request.wfile.write(head + body)


@pytest.mark.parametrize(
    "answer, reason",
    [
        (flood, "longer than 8,388,608 bytes"),
        (drip, "no reply within timeout=0.2 s"),
        (lambda request: request.hang_up(), "APIConnectionError: "),
        (lambda request: request.send(FINE[0], announced=10_000), "APIConnectionError: "),
        (lambda request: request.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n") and request.hang_up(), "APIConnectionError: "),
    ],
    ids=["flooding", "dripping", "no reply", "half a reply", "another protocol"],
)  # fmt: skip
def test_a_reply_that_does_not_arrive_whole_and_in_time_is_a_failure(answer, reason):
    with run_local_server(answer) as server:
        scores, metrics, reasons = ask(server.url, timeout=0.2 if answer is drip else 5.0)
    assert scores == [None] and reason in reasons[0] and metrics["judge/calls"] == len(server.requests) == 1


def test_a_redirect_is_followed_and_the_key_stays_at_home(monkeypatch):
    def answer(request):
        if request.path == "/moved/chat/completions":
            request.send(FINE[0])
        else:
            request.send("", 307, location=f"{targets.pop()}/moved/chat/completions")

    monkeypatch.setenv("JUDGE_KEY", KEY)
    with run_local_server(answer) as home, run_local_server(answer) as other:
        targets = [other.url, home.url]
        assert [ask(home.url, api_key_env="JUDGE_KEY")[0] for _ in range(2)] == [[0.7], [0.7]]
    assert [request.headers["Authorization"] for request in home.requests] == [f"Bearer {KEY}"] * 3
    (moved,) = other.requests
    assert moved.headers["Authorization"] is None and b"Is it clear?" in moved.body


@pytest.mark.parametrize("key", ["1", "none", "sk", "token", "score", "completion_tokens", "assistant"])
def test_a_placeholder_for_a_key_changes_no_reply(monkeypatch, key):
    monkeypatch.setenv("JUDGE_KEY", key)
    reply = build_reply(VERDICT, usage={"prompt_tokens": 11, "completion_tokens": 21})
    with run_local_server(answer_with((reply, 200))) as server:
        scores, metrics, _ = ask(server.url, api_key_env="JUDGE_KEY")
    assert scores == [0.7] and (metrics["judge/tokens_in"], metrics["judge/tokens_out"]) == (11, 21)


def test_the_server_may_be_that_of_the_environment_and_only_that_of_openai_needs_a_key(monkeypatch):
    monkeypatch.delenv("JUDGE_KEY", raising=False)
    with run_local_server(answer_with(FINE)) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        assert ask(None, api_key_env="JUDGE_KEY")[0] == [0.7]
        assert server.requests[0].headers["Authorization"] == "Bearer none"
    monkeypatch.delenv("OPENAI_BASE_URL")
    for key in (None, " \n"):
        if key is not None:
            monkeypatch.setenv("JUDGE_KEY", key)
        with pytest.raises(ValueError, match="the environment has no JUDGE_KEY. Set JUDGE_KEY, or set base_url"):
            check_server(**judge("m", "Is it clear?", api_key_env="JUDGE_KEY").options)
    monkeypatch.setenv("JUDGE_KEY", " sk-1\n")
    assert settings.build_settings(judge("m", "Is it clear?", api_key_env="JUDGE_KEY").options).key == "sk-1"


@pytest.mark.parametrize("key", ["sk 1", "sk\n1", "sk\x7f", "sk-ä", "sk–1"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(monkeypatch, key):
    monkeypatch.setenv("JUDGE_KEY", key)
    with pytest.raises(ValueError, match="The key in JUDGE_KEY must consist of .* Copy the key again") as caught:
        ask("http://localhost:9", api_key_env="JUDGE_KEY")
    assert "sk" not in str(caught.value)


# --- batches

GRADER = ScaleGrader("Is it clear?", (0.0, 10.0))
ONE, OTHER = (prompt for answer in ("#1#", "#2#") for prompt in GRADER.build_prompts("2 + 2?", answer))


def give_number(request) -> None:
    """Give the number in the text as its score."""
    score = 1 if b"#1#" in request.body else 2
    request.send(build_reply({"reason": "so", "score": score}, usage={"prompt_tokens": 9, "completion_tokens": 1}))


def run_with(scenario, reply=give_number, **options):
    """Run a scenario with a judge's server, and return its result and the number of requests."""

    async def run():
        async with asyncio.timeout(30), connect(build_settings(local.url, **options)) as server:
            return await scenario(server)

    with run_local_server(reply) as local:
        return asyncio.run(run()), len(local.requests)


def test_a_batch_ends_at_its_deadline():
    over = threading.Event()

    def answer_one(request):
        if b"#1#" in request.body:
            return give_number(request)
        if sum(b"#2#" in one.body for one in request.server.requests) == 1:
            return request.send({}, 503, retry_after_ms="1")
        over.wait(30)
        request.hang_up()

    async def scenario(server):
        gradings = await server.ask([ONE, OTHER])
        over.set()
        return gradings

    options = {"batch_timeout": 1.0, "timeout": 10.0, "max_failures": 1.0, "retries": 1}
    (one, other), requests = run_with(scenario, answer_one, **options)
    assert one.values == {"score": 0.1} and other.values == {} and requests == 3
    assert other.error == "no reply within batch_timeout=1 s" and len(other.costs.seconds) == 2


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

    with run_local_server(give_number) as local:
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


# --- options


@pytest.mark.parametrize(
    "options",
    [
        {"model": ""}, {"rubric": " "}, {"rubric": {}}, {"rubric": {"a": -1.0}}, {"rubric": {"a": ("b", "c")}},
        {"scale": (10, 0)},
        {"model": " "}, {"rubric": {"a": ""}}, {"base_url": "localhost:8000/v1"}, {"api_key_env": "sk-1234"},
        {"request": {"stream": True}}, {"cache": ""}, {"rubric": {"": 1.0}}, {"rubric": {"a": 0}},
        {"rubric": {"a": True}}, {"rubric": {"a": ()}}, {"rubric": {"a": (1.0, 2.0)}}, {"scale": (1.0, 1.0)},
        {"rubric": column("r"), "scale": (0, 5)},
    ],
)  # fmt: skip
def test_judge_refuses_what_cannot_work(options):
    with pytest.raises(ValueError, match="A judge cannot use .*\\. ") as caught:
        judge(**{"model": "m", "rubric": "r", **options})
    assert "sk-1234" not in str(caught.value)


def test_options_of_columns_are_refused_without_one():
    with pytest.raises(ValueError, match=r"with rubric='Is it clear\?'. Leave it out, or set the rubric to column"):
        judge("m", "Is it clear?", separate=True)
    with pytest.raises(TypeError, match="'rubric' of 'ranking' must be of type str; got column"):
        ranking("m", column("rubric"))
    judge("m", column("rubric"), separate=True)


def test_a_criterion_is_a_sentence_a_weight_or_both():
    judge("m", {"clear": "Is it?", "brief": 2, "kind": ("Is it?", 2.0), "whole": (2.0, "Is it?")})
