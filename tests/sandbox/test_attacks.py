"""Programs that attack the machine do no harm, as root and as an ordinary user, and their worker lives on."""

import json
import os
import subprocess
import time

import pytest

from helpers.attacked import NOBODY, TIERS, World, as_user, find_interpreter, force_tier, start_runner
from helpers.corpora import ATTACKS, read_corpus, select
from trl_grpo_rewards.sandbox.jail import MAX_OWN_THREADS
from trl_grpo_rewards.sandbox.protocol import WAITING


EVERY, ENDLESS, REAL = select(ATTACKS, without="other"), select(ATTACKS, "endless"), select(ATTACKS, "real")


@pytest.fixture(scope="module", params=["this user", "nobody"])
def user(request):
    if request.param == "this user":
        return None
    if os.getuid() != 0:
        pytest.skip("only root can start processes of another user")
    if find_interpreter(NOBODY) is None:
        pytest.skip("no interpreter of Python 3.11 or newer can be run by 'nobody'")
    return NOBODY


@pytest.fixture(scope="module", params=TIERS)
def tier(request):
    return request.param


@pytest.fixture(scope="module")
def attacked(user, tier):
    world = World(user)
    environment = {"TRL_SECRET": world.secret, "PATH": os.environ["PATH"]}
    interpreter = find_interpreter(user)
    with world.things, start_runner(user, environment, interpreter, force_tier(tier, interpreter)) as runner:
        assert runner.started["tier"] == tier
        world.processes |= {"trainer": runner.started["trainer"], "worker": runner.started["workers"][0]}
        yield world, runner


def write_program(world, name):
    return f"W = {world.describe()!r}\n{EVERY[name]}"


def test_there_are_enough_attacks():
    assert len(EVERY) >= 150 and len(REAL) >= 40


def test_no_attack_does_harm(attacked):
    check_harmless(*attacked, [name for name in EVERY if name not in ENDLESS], seconds=0.5)


@pytest.mark.slow
def test_programs_without_end_are_ended(attacked):
    check_harmless(*attacked, ENDLESS, seconds=0.2)


def check_harmless(world, runner, names, seconds):
    before = world.look()
    for name in names:
        start = time.monotonic()
        results = runner.run(write_program(world, name), seconds=seconds, output_bytes=100_000)
        assert time.monotonic() - start < WAITING * seconds + 2, name
        assert isinstance(results, list), (name, results)
        (result,) = results
        assert result["status"] in ("finished", "crashed", "refused", "timed_out", "flooded"), name
        written = result["output"] + result["errors"]
        is_written = "HARM\n" in written or "HARM " in result["output"] or world.secret in written
        assert not is_written and len(result["output"]) <= 100_000, (name, written)
        assert (name, world.look()) == (name, before)  # the worker is the same process, too
    (after,) = runner.run("print(input())", ("alive",), seconds=5.0)
    assert (after["status"], after["output"]) == ("finished", "alive\n")


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
def test_without_a_jail_the_attack_does_harm(name):
    """The witnesses see what they are there for, even if the attack has no privileges."""
    user = NOBODY if os.getuid() == 0 and find_interpreter(NOBODY) else None
    world = World(user)
    with world.things:
        before = world.look()
        world.processes["trainer"] = world.processes["victim"]
        found = subprocess.run(
            [find_interpreter(user), "-S", "-B", "-c", write_program(world, name)],
            **as_user(user),
            capture_output=True,
            text=True,
            timeout=60,
            env={"TRL_SECRET": world.secret},
            pass_fds=[world.sockets["udp"].fileno()],
            cwd="/",
        )
        del world.processes["trainer"]
        written = found.stdout + found.stderr
        is_written = "HARM\n" in written or "HARM " in found.stdout or world.secret in written
        end = time.monotonic() + 10
        while not is_written and world.look() == before:  # a killed process takes a moment to end
            assert time.monotonic() < end, written
            time.sleep(0.01)


COUNT_THREADS = """
import _thread, os, time
_thread.stack_size(32768)
started = 0
try:
    while started < 20_000:
        _thread.start_new_thread(time.sleep, (99,))
        os.write(1, b".")
        started += 1
except RuntimeError:
    os._exit(0)
"""

IS_COUNTED_ALONE = "import ctypes, os\nos.setresuid(1 << 30, -1, -1) if os.geteuid() == 0 else os._exit(ctypes.CDLL(None).unshare(1 << 28))"


def test_the_kernel_counts_the_threads_of_each_program(attacked, user):
    world, runner = attacked
    interpreter = find_interpreter(user)
    if subprocess.run([interpreter, "-S", "-c", IS_COUNTED_ALONE], **as_user(user), cwd="/").returncode:
        pytest.skip("the kernel cannot count the threads of a program alone")
    for (result,) in [runner.run(COUNT_THREADS, seconds=9.0, output_bytes=30_000) for _ in range(2)]:
        started = len(result["output"])
        if result["status"] == "refused":  # on a busy machine, the worker sees the threads before all have started
            assert started < MAX_OWN_THREADS
        else:
            assert (result["status"], started) == ("finished", MAX_OWN_THREADS - 1)


SEARCH = """
import ctypes, gc, re
given = input()
libc = ctypes.CDLL(None, use_errno=True)
searched, found = 0, set()
for part in sorted({id(one) >> 20 << 20 for one in (given, *gc.get_objects())}):
    for page in range(part, part + (1 << 20), 4096):
        if libc.write(2, ctypes.c_void_p(page), ctypes.c_size_t(1)) == 1:  # otherwise it is not mapped
            searched += 1
            found |= {*re.findall(rb"S3CR3T[0-9a-f]{16}", ctypes.string_at(page, 4096))}
print(searched, *sorted(one.decode() for one in found))
"""


def test_a_run_sees_nothing_of_another_one(attacked):
    """A program searches the memory of its process for inputs, and finds its own only."""
    _, runner = attacked
    secrets = ("S3CR3T0123456789abcdef", "S3CR3Tfedcba9876543210", "S3CR3T00112233445566ff")
    results = runner.run(SEARCH, secrets, seconds=5.0, output_bytes=10_000_000)
    for secret, result in zip(secrets, results, strict=True):
        searched, *found = result["output"].split()
        assert int(searched) > 1000 and found == [secret], result


def test_a_program_behaves_as_a_script(attacked):
    """What honest programs use is there."""
    _, runner = attacked
    program = """
import bisect, collections, fractions, heapq, itertools, json, math, random, re, resource, statistics, sys, threading
sys.setrecursionlimit(10 ** 6)
resource.setrlimit(resource.RLIMIT_STACK, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
threading.stack_size(1 << 26)
def depth(n): return n and 1 + depth(n - 1)
def main():
    data = sys.stdin.buffer.read().split()
    print(sum(map(int, data)), depth(20_000), fractions.Fraction(1, 3), json.dumps({"a": [1]}), sep=";")
    assert __name__ == "__main__" and sys.argv == ["program.py"]
    sys.stdout.write("é😀\\n")
thread = threading.Thread(target=main)
thread.start()
thread.join()
exit()
"""
    (result,) = runner.run(program, ("1 2\n3",), seconds=5.0)
    assert (result["status"], result["output"]) == ("finished", '6;20000;1/3;{"a": [1]}\né😀\n'), result


UNWRITABLE = {
    "\ud800": "crashed",
    "\0": "crashed",
    f"x = {'1 + ' * 200_000}1": "crashed",
    f"'{'x' * 1_000_000}'": "finished",
}


def test_the_end_of_a_run(attacked):
    _, runner = attacked
    for program, status in UNWRITABLE.items():
        (result,) = runner.run(program, seconds=5.0)
        assert result["status"] == status, (program[:99], result)
    for one in read_corpus("sandbox/endings.txt"):
        wanted = json.loads(one.tests or "{}")
        (result,) = runner.run(one.program, (wanted.pop("input", ""),), seconds=2.0, memory_mb=1024)
        assert result | wanted | {"status": one.marks[0]} == result, (one.name, result)


def test_errors_are_those_of_python(attacked):
    _, runner = attacked
    (result,) = runner.run("def f():\n    return 1 / 0\nf()")
    assert result["errors"].splitlines()[0] == "Traceback (most recent call last):"
    assert result["errors"].splitlines()[-1] == "ZeroDivisionError: division by zero"
    assert "worker" not in result["errors"]


def test_a_container_without_privileges(tmp_path):
    """A namespace of users without any capability, as in a container that is not privileged."""
    prefix = ("unshare", "--user", "--pid", "--fork", "--mount", "--mount-proc")
    drop = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
    interpreter = find_interpreter(NOBODY if os.getuid() == 0 else None)
    try:
        subprocess.run([*prefix, *drop, "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"this machine makes no namespaces: {error}")
    if interpreter is None:
        pytest.skip("no interpreter can be run without privileges")
    with start_runner(None, {"PATH": os.environ["PATH"]}, interpreter, (*prefix, *drop)) as runner:
        (result,) = runner.run("import os\nprint(input())\nopen('/etc/passwd')", ("there",))
        assert result["output"] == "there\n" and "PermissionError" in result["errors"]
        (result,) = runner.run("import os; os.fork()")
        assert result["status"] == "crashed" and "PermissionError" in result["errors"]
