"""The back end for Hugging Face Jobs: the real client of huggingface_hub, against a scripted server.

The real service was not used.
"""

import asyncio
import shutil
import sys
import time

import huggingface_hub
import pytest

from helpers.hugging_face import run_hugging_face
from trl_grpo_rewards import code
from trl_grpo_rewards.sandbox.backends import open_sandbox
from trl_grpo_rewards.sandbox.hf import RUNS_PER_MACHINE, HuggingFaceSandbox
from trl_grpo_rewards.sandbox.protocol import Limits, SandboxFailed, SandboxMissing


needs_pools = pytest.mark.skipif(
    not hasattr(huggingface_hub, "SandboxPool"), reason="this huggingface_hub has no SandboxPool"
)

needs_linux = pytest.mark.skipif(
    sys.platform != "linux" or not shutil.which("python3"), reason="the scripted server runs commands for Linux"
)

LIMITS = Limits(seconds=1.0, memory_mb=300, output_bytes=1000)


@pytest.fixture
def service(tmp_path):
    with run_hugging_face(tmp_path) as service:
        yield service


async def collect(sandbox, program, inputs):
    try:
        return [result async for result in sandbox.run(program, inputs, LIMITS)]
    finally:
        await sandbox.close()


def run(program, *inputs):
    return asyncio.run(collect(HuggingFaceSandbox(2), program, inputs or [""]))


@needs_pools
@needs_linux
def test_a_run_for_each_input(service):
    results = run("print(input() + 'é')", "1", "2\ud800")
    assert [(result.status, result.output) for result in results] == [("finished", "1é\n"), ("finished", "2?é\n")]
    assert len(service.jobs) == 1 and service.running == set() and service.homes == {}
    job = service.jobs["job0"]
    assert (
        job["dockerImage"].startswith("python:")
        and "HF_TOKEN" not in str(job)
        and job["environment"]["SBX_CAPACITY"] == "8"
    )


@needs_pools
@needs_linux
@pytest.mark.parametrize(
    ("program", "status", "output"),
    [
        ("print(sum(range(10)))", "finished", "45\n"),
        ("raise SystemExit(3)", "crashed", ""),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "crashed", ""),
        ("print(1 / 0)", "crashed", ""),
        ("print('x' * 999)", "finished", "x" * 999 + "\n"),
        ("print('x' * 1000)", "flooded", "x" * 1000),
        ("import sys; sys.stderr.write('x' * 1001)", "flooded", ""),
        ("x = bytearray(500_000_000); print(1)", "crashed", ""),
        ("x = bytearray(50_000_000); print(1)", "finished", "1\n"),
        ("while True: pass", "timed_out", ""),
        ("import signal; signal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", "crashed", ""),
        ("print(len({hash('a'), hash('b')}), end='', flush=True); import time; time.sleep(60)", "timed_out", "2"),
    ],
)
def test_the_status_of_a_run(service, program, status, output):
    (result,) = run(program)
    assert (result.status, result.output) == (status, output) and len(result.errors) <= 4000
    assert "ZeroDivisionError" in result.errors or "1 / 0" not in program


@needs_pools
@needs_linux
def test_no_run_finds_what_an_earlier_one_left(service):
    program = "import os; print(os.listdir()); open('left', 'w').write(input())"
    assert [result.output for result in run(program, "a secret", "another")] == ["['program.py']\n"] * 2
    assert not any("secret" in command["cmd"] for command in service.commands)


@needs_pools
def test_a_run_that_is_not_closed_by_an_exit_is_a_failure(service):
    for events in (
        [{"event": "stdout", "data": "1"}],
        [{"event": "exit", "exit_code": None, "signal": None}],
        [{"event": "exit"}],
    ):
        service.events = events
        with pytest.raises(SandboxFailed, match="Hugging Face Jobs gave no result"):
            run("print(1)")
    assert len(service.jobs) == 3 and service.running == set()


@needs_pools
@pytest.mark.parametrize("part", ["POST /api/jobs", "/v1/sandboxes", "/files/write", "/exec"])
def test_a_refusal_is_a_failure_and_never_a_wrong_program(service, part):
    service.failures[part] = 402
    with pytest.raises(SandboxFailed, match="402|refused by the script"):
        run("print(1)")
    assert service.running == set()


@needs_pools
def test_a_machine_that_cannot_be_ended_is_logged(service, caplog):
    service.failures["/cancel"] = 500
    service.events = [{"event": "exit", "exit_code": 0}]
    assert run("print(1)")[0].status == "finished"
    assert "could not be ended. It ends by itself" in caplog.text


@needs_pools
@needs_linux
def test_a_batch_shares_its_machines(service):
    """Twenty programs on two machines, each with eight runs at most."""
    tests = {"inputs": ["1 2", "40 2"], "outputs": ["3", "42"]}
    programs = [f"print(sum(map(int, input().split())) + {place % 2})" for place in range(20)]
    blocks = [f"```python\n{program}  # {place}\n```" for place, program in enumerate(programs)]
    value = code(backend="hf", max_concurrency=2 * RUNS_PER_MACHINE, timeout=60.0)
    assert value(completions=blocks, tests=[tests] * 20) == [1.0, 0.0] * 10
    assert len(service.jobs) == 2 and service.running == set() and max(service.most.values()) <= RUNS_PER_MACHINE
    assert not any("42" in command["stdin"] for command in service.commands)  # what is expected stays here


@pytest.mark.slow
@needs_pools
@needs_linux
def test_a_batch_that_is_too_slow_ends_its_machines(service, caplog):
    start = time.monotonic()
    value = code(backend="hf", max_concurrency=2, batch_timeout=2.0, timeout=20.0, max_failures=1.0)
    block = "```python\nimport time; time.sleep(4)\n```"
    assert value(completions=[block], tests=[{"inputs": ["1"], "outputs": ["1"]}]) == [None]
    assert service.running == set() and time.monotonic() - start < 30.0
    time.sleep(4.0)  # until the run has ended
    assert "huggingface_hub" not in caplog.text


@needs_pools
def test_the_user_is_logged_in(service, monkeypatch):
    sandbox = open_sandbox("hf", None, 0, 4)
    sandbox.check_ready()
    assert service.jobs == {}
    monkeypatch.setenv("HF_TOKEN", "hf_of_someone_else")
    with pytest.raises(ValueError, match="the server did not accept the token: Invalid"):
        sandbox.check_ready()
    monkeypatch.setattr(huggingface_hub, "get_token", lambda: None)
    with pytest.raises(ValueError, match="you are not logged in. Run `hf auth login`"):
        sandbox.check_ready()


def test_an_old_client_is_named(monkeypatch):
    monkeypatch.delitem(vars(huggingface_hub), "SandboxPool", raising=False)
    monkeypatch.setattr(huggingface_hub, "__getattr__", lambda name: getattr(None, name))
    with pytest.raises(SandboxMissing, match=r"version \d.* does not have it. Run `pip install"):
        HuggingFaceSandbox().check_ready()
