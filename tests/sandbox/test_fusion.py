"""The back end for Sandbox Fusion, against a scripted server: requests as its interface wants them, and its replies.

The replies have the form of `RunCodeResponse` in https://github.com/bytedance/SandboxFusion. The real server was not run.
"""

import asyncio
import json

import pytest

from helpers.local_http import run_local_server
from trl_grpo_rewards import code
from trl_grpo_rewards.sandbox.fusion import SandboxFusion, read_reply
from trl_grpo_rewards.sandbox.protocol import Limits, RunResult, SandboxFailed


LIMITS = Limits(seconds=1.5, memory_mb=300, output_bytes=100)


def reply(stdout="", code=0, status="Finished", stderr="", overall=None):
    result = {"status": status, "execution_time": 0.25, "return_code": code, "stdout": stdout, "stderr": stderr}
    if status == "TimeLimitExceeded":
        result["return_code"] = None
    overall = overall or ("Success" if status == "Finished" and code == 0 else "Failed")
    return {
        "status": overall,
        "message": "",
        "compile_result": None,
        "run_result": result,
        "executor_pod_name": None,
        "files": {},
    }


def uncompiled(**result):
    """Return the reply about a program that could not be compiled, which was not run."""
    given = reply(**result)
    return {**given, "compile_result": given["run_result"], "run_result": None, "status": "Failed"}


async def collect(sandbox, inputs, *language):
    try:
        return [result async for result in sandbox.run("print(input())\ud800", inputs, LIMITS, *language)]
    finally:
        await sandbox.close()


def test_a_request_for_each_input():
    with run_local_server(lambda connection: connection.send(reply(json.loads(connection.body)["stdin"]))) as server:
        sandbox = SandboxFusion(server.url + "/", 0, 4)
        sandbox.check_ready()
        results = asyncio.run(collect(sandbox, ["1", "2"]))
    assert results == [RunResult("finished", one, "", 0.25) for one in ("1", "2")]
    first = server.requests[0]
    assert first.path == "/run_code" and json.loads(first.body) == {
        "code": "print(input())?",
        "stdin": "1",
        "language": "python",
        "compile_timeout": 30.0,
        "run_timeout": 1.5,
        "memory_limit_MB": 300,
    }


@pytest.mark.parametrize(("language", "memory"), [("cpp", 300), ("R", 300), ("java", -1), ("nodejs", -1)])
def test_a_request_in_another_language(language, memory):
    """Node.js and Java do not start if their address space is limited to what they use."""
    with run_local_server(lambda connection: connection.send(reply("1"))) as server:
        asyncio.run(collect(SandboxFusion(server.url, 0, 4), ["1"], language))
    body = json.loads(server.requests[0].body)
    assert (body["language"], body["memory_limit_MB"]) == (language, memory)


@pytest.mark.parametrize(
    ("given", "status", "output"),
    [
        (reply("x" * 100), "finished", "x" * 100),
        (reply("x" * 101), "flooded", "x" * 100),
        (reply("1\n", code=1, stderr="e" * 9000), "crashed", "1\n"),
        (reply("1\n", code=-9), "crashed", "1\n"),
        (reply("1\n", status="TimeLimitExceeded"), "timed_out", "1\n"),
        (uncompiled(code=1), "crashed", ""),
        (uncompiled(status="TimeLimitExceeded"), "timed_out", ""),
    ],
)
def test_the_status_of_a_reply(given, status, output):
    result = read_reply(given, LIMITS)
    assert (result.status, result.output) == (status, output) and len(result.errors) <= 4000


@pytest.mark.parametrize(
    "given",
    [
        None,
        [],
        {},
        "text",
        reply(status="Error", overall="SandboxError"),
        reply(overall="Unknown"),
        reply(status="Unknown"),
        reply(code=None),
        reply(stdout=["1"]),
        {**reply(), "run_result": None},
        {**uncompiled(code=0), "status": "Success"},
        {**uncompiled(code=1), "status": "SandboxError"},
    ],
)
def test_a_reply_of_another_form_is_a_failure_and_never_a_wrong_program(given):
    with pytest.raises(SandboxFailed):
        read_reply(given, LIMITS)


def test_requests_are_repeated_and_then_fail():
    busy = iter([503, 429, 200, 500, 500, 500])

    def answer(connection):
        status = next(busy)
        connection.send(reply("3\n") if status == 200 else "busy", status=status, retry_after_ms="1")

    with run_local_server(answer) as server:
        assert asyncio.run(collect(SandboxFusion(server.url, 2, 1), ["1"]))[0].output == "3\n"
        with pytest.raises(SandboxFailed, match="gave no result: InternalServerError"):
            asyncio.run(collect(SandboxFusion(server.url, 2, 1), ["1"]))
    assert len(server.requests) == 6


def test_replies_that_are_not_json_and_servers_that_are_not_there():
    with run_local_server(lambda connection: connection.send("<html>")) as server:
        with pytest.raises(SandboxFailed, match="JSONDecodeError"):
            asyncio.run(collect(SandboxFusion(server.url, 0, 1), ["1"]))
    with pytest.raises(SandboxFailed, match="APIConnectionError"):
        asyncio.run(collect(SandboxFusion(server.url, 0, 1), ["1"]))
    with pytest.raises(ValueError, match="it cannot be reached"):
        SandboxFusion(server.url, 0, 1).check_ready()


def test_programs_are_judged_outside_of_the_server():
    """The server never gets an expected value, and its failures give no score."""

    def answer(connection):
        body = json.loads(connection.body)
        if "out of luck" in body["code"]:
            connection.send(reply(status="Error", overall="SandboxError"))
        else:
            connection.send(reply(str(sum(map(int, body["stdin"].split())))))

    tests = {"inputs": ["1 2", "40 2"], "outputs": ["3", "42"]}
    blocks = [f"```python\n{program}\n```" for program in ("right", "out of luck")]
    with run_local_server(answer) as server:
        value = code(backend=server.url, max_failures=0.5)
        assert value(completions=blocks, tests=[tests] * 2) == [1.0, None]
    assert not any(b"42" in request.body for request in server.requests)


def test_programs_in_another_language():
    """The program is sent as it is. Rows that are not inputs with outputs, or in another language, get None."""

    def answer(connection):
        body = json.loads(connection.body)
        connection.send(reply(body["stdin"] if body["code"] == "int main;\n" else "", code=int("bad" in body["code"])))

    pairs = {"inputs": ["1"], "outputs": ["1"]}
    tests = [pairs, pairs, ["assert f(1) == 1"], {**pairs, "language": "python"}, {**pairs, "language": "C++"}]
    blocks = ["```c++\nint main;\n```", "```cpp\nbad\n```", *["```cpp\nint main;\n```"] * 3]
    with run_local_server(answer) as server:
        value = code(backend=server.url, language="cpp")
        assert value(completions=blocks, tests=tests) == [1.0, 0.0, None, None, 1.0]
    assert all(json.loads(request.body)["language"] == "cpp" for request in server.requests)
