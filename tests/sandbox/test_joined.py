"""Two programs that run at once and can reach each other by two pipes only."""

import asyncio
import os
import sys
import time

import pytest

from helpers.attacked import TIERS, force_tier, list_calls, start_runner
from helpers.corpora import ATTACKS, select
from trl_grpo_rewards.sandbox.local import LocalSandbox
from trl_grpo_rewards.sandbox.protocol import Limits


ASK = "import os\nos.write(4, b'ping')\nprint(os.read(3, 99))\n"
REPLY = "import os\nprint(os.read(3, 99))\nos.write(4, b'pong')\nwhile os.read(3, 9): pass\nprint('end')"


@pytest.fixture(scope="module")
def sandbox():
    sandbox = LocalSandbox(1)
    yield sandbox
    sandbox.stop()


def run(sandbox, first, second, **limits):
    return asyncio.run(sandbox.run_joined(first, second, Limits(**limits)))


def test_each_reads_what_the_other_one_writes(sandbox):
    first, second = run(sandbox, ASK, REPLY)
    assert (first.status, first.output, first.errors) == ("finished", "b'pong'\n", "")
    assert second.status == "finished" and second.output in ("", "b'ping'\n", "b'ping'\nend\n")


def test_only_the_streams_and_the_two_ends_are_open(sandbox):
    look = """
import os
def is_open(file):
    try:
        return os.fstat(file) is not None
    except OSError:
        return False
print([file for file in range(5000) if is_open(file)], input() if os.read(0, 1) else 'nothing')
"""
    first, second = run(sandbox, look + "os.read(3, 1)", look)
    assert first.output == second.output == "[0, 1, 2, 3, 4] nothing\n"


def test_the_second_ends_with_the_first(sandbox):
    start = time.monotonic()
    first, second = run(sandbox, "import os; os.read(3, 1)", "import os; os.write(4, b'x')\nwhile True: pass")
    assert (first.status, second.status) == ("finished", "finished") and time.monotonic() - start < 2


@pytest.mark.parametrize(
    ("program", "status"),
    [("1 / 0", "crashed"), ("", "finished"), ("while True: pass", "timed_out"), ("import os; os.abort()", "crashed")],
)
def test_the_first_sees_the_end_of_the_second(sandbox, program, status):
    first, second = run(sandbox, "import os; print(os.read(3, 9))", program, seconds=0.5)
    assert (first.status, first.output, second.status) == ("finished", "b''\n", status)


def test_each_has_its_own_limits(sandbox):
    loop = "while True: pass"
    first, second = run(sandbox, loop, "import os; os.read(3, 1)", seconds=0.3)
    assert (first.status, second.status) == ("timed_out", "finished") and first.seconds >= 0.3 > second.seconds
    busy = "import os, time\nwhile time.process_time() < 0.3: pass\nos.write(4, b'x'); os.read(3, 1)"
    assert [one.status for one in run(sandbox, busy, busy, seconds=0.5)] == ["finished", "finished"]
    first, second = run(sandbox, "import os; os.read(3, 1)", "print('x' * 200)", output_bytes=100)
    assert (first.status, second.status, len(second.output)) == ("finished", "flooded", 100)


def test_two_that_wait_for_each_other_are_idle(sandbox):
    start = time.monotonic()
    first, second = run(sandbox, "import os; os.read(3, 1)", "import os; os.read(3, 1)", seconds=0.3)
    assert (first.status, second.status) == ("timed_out", "timed_out") and time.monotonic() - start < 2


def test_a_second_that_floods_the_pipe_is_stopped(sandbox):
    flood = "import os\nwhile True: os.write(4, b'x' * 65536)"
    first, _ = run(sandbox, "import os\nwhile True: os.read(3, 1 << 20)", flood, seconds=0.3)
    assert first.status in ("timed_out", "finished")
    first, second = run(sandbox, "import time; time.sleep(99)", flood, seconds=0.3)
    assert (first.status, second.status) == ("timed_out", "timed_out")
    write = "import os\nfor _ in range(9): os.write(4, b'x' * 65536)"
    first, _ = run(sandbox, write, "import time; time.sleep(99)", seconds=0.3)
    assert first.status == "timed_out"


def test_modules_are_imported_before_any_run():
    sandbox = LocalSandbox(1, modules=("sandbox.filters",))
    assert sandbox.modules == {"sandbox.filters"}
    program = b"import sys; print('sandbox.filters' in sys.modules, sys.path[0].endswith('trl_grpo_rewards'))"
    try:
        assert sandbox.run_once(program, b"", Limits()).output == "True False\n"
    finally:
        sandbox.stop()


@pytest.fixture(scope="module", params=TIERS)
def runner(request):
    prefix = force_tier(request.param, sys.executable)
    with start_runner(None, {"PATH": os.environ["PATH"]}, sys.executable, prefix) as runner:
        yield runner


(RAW,) = (one.program for one in ATTACKS if one.name == "raw")

VICTIM = """
import os
secret = "S3CR3T" + "0123456789abcdef"
os.write(4, str(os.getpid()).encode())
os.read(3, 1)
print("alive", len(secret))
"""


@pytest.mark.parametrize("program", select(ATTACKS, "other").values())
def test_the_second_does_the_first_no_harm(runner, program):
    calls = list_calls()
    attack = f"W = {{'calls': {calls!r}}}\n{RAW}\nother = int(os.read(3, 99))\ntry:\n"
    attack += "".join(f"    {line}\n" for line in program.splitlines())
    attack += "except OSError as error:\n    print(error)\nos.write(4, b'x')"
    first, second = runner.run_joined(VICTIM, attack, seconds=2.0)
    assert (first["status"], first["output"]) == ("finished", "alive 22\n"), (first, second)
    assert "HARM" not in second["output"] and second["status"] in ("finished", "crashed", "refused"), second
