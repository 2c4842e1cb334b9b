"""The local back end survives everything around it, leaves nothing behind, and refuses to run without a jail."""

import asyncio
import errno
import json
import os
import platform
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from helpers.attacked import WITHOUT_CALL, find_descendants, list_shared_memory
from helpers.processes import build_environment, run_in_spawned_child
from trl_grpo_rewards.sandbox.local import LocalSandbox, get_local_sandbox
from trl_grpo_rewards.sandbox.protocol import Limits, SandboxFailed, SandboxMissing


ECHO = "print(input())"
WAIT = b"import os; os.read(3, 1)"
WAKE = """
import hashlib, threading, time
def wake():
    while True: time.sleep(0.3 - time.monotonic() % 0.3), hashlib.sha256(bytes(1 << 20)).digest()
for _ in range(60): threading.Thread(target=wake).start()"""  # their waits for a processor add up


@pytest.fixture
def sandbox():
    sandbox = LocalSandbox(2)
    yield sandbox
    sandbox.stop()


async def collect(sandbox, program, inputs, limits):
    return [result async for result in sandbox.run(program, inputs, limits)]


def run(sandbox, program, *inputs, **limits):
    return asyncio.run(collect(sandbox, program, inputs or ("",), Limits(**limits)))


def list_descriptors():
    return sorted(os.listdir("/proc/self/fd"))


def test_each_input_gets_a_result_in_order(sandbox):
    assert [one.output for one in run(sandbox, ECHO, "1", "é", "3")] == ["1\n", "é\n", "3\n"]
    (result,) = run(sandbox, "import sys; print(1); sys.stderr.write('x' * 9000 + 'end'); raise ValueError")
    assert result.status == "crashed" and result.output == "1\n" and len(result.errors) == 4000
    assert 0 < result.seconds < 1


def test_no_more_runs_once_the_caller_knows_enough(sandbox):
    async def stop_early():
        results = sandbox.run("import time; time.sleep(0.05); print(input())", [str(n) for n in range(1000)], Limits())
        async for result in results:
            if result.output == "3\n":
                break
        await results.aclose()

    start = time.monotonic()
    asyncio.run(stop_early())
    assert time.monotonic() - start < 5


def test_threads_and_event_loops_share_the_workers(sandbox):
    outputs = []
    threads = [
        threading.Thread(target=lambda n=n: outputs.extend(run(sandbox, ECHO, *[str(n)] * 5))) for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.output for one in outputs) == sorted(f"{n}\n" for n in range(8) for _ in range(5))


def test_limits_of_time_memory_and_output(sandbox):
    run(sandbox, "")  # starts a worker
    start = time.monotonic()
    (result,) = run(sandbox, "while True: pass", seconds=0.3)
    assert result.status == "timed_out" and 0.3 <= result.seconds < 0.6 and time.monotonic() - start < 2
    (result,) = run(sandbox, "import time; time.sleep(9)", seconds=0.1)
    assert result.status == "timed_out" and result.seconds < 0.1
    start = time.monotonic()
    (result,) = run(sandbox, WAKE, seconds=1.0)
    assert result.status == "timed_out" and time.monotonic() - start < 5
    fill = "x = bytearray(int(input()) << 20); print(len(x) >> 20)"
    small, large = run(sandbox, fill, "100", "300", memory_mb=256)
    assert (small.status, small.output) == ("finished", "100\n") and large.status == "crashed"
    (result,) = run(sandbox, "print('x' * 99, end='')", output_bytes=100)
    assert (result.status, len(result.output)) == ("finished", 99)
    (result,) = run(sandbox, "print('x' * 101, end='')", output_bytes=100)
    assert (result.status, len(result.output)) == ("flooded", 100)


def test_a_killed_worker_is_replaced(sandbox):
    run(sandbox, ECHO, "1")
    for worker in sandbox.workers:
        if worker.process is not None:
            os.kill(worker.process.pid, signal.SIGKILL)
    assert run(sandbox, ECHO, "2")[0].output == "2\n"


@pytest.mark.slow
def test_a_worker_that_is_killed_during_a_run_takes_the_program_with_it(sandbox):
    results = []
    program = "import time, os; time.sleep(1); print(os.getpid())"
    thread = threading.Thread(target=lambda: results.extend(run(sandbox, program)))
    thread.start()
    time.sleep(0.5)
    (worker,) = [one.process.pid for one in sandbox.workers if one.process is not None]
    (fork,) = {*find_descendants([worker])} - {worker}
    os.kill(worker, signal.SIGKILL)
    thread.join()
    assert results[0].status == "finished" and int(results[0].output) != fork  # it ran again
    assert wait_until(lambda: not is_running(fork))


def test_workers_that_always_die_are_a_failure_of_the_back_end():
    sandbox = LocalSandbox(1)
    done = threading.Event()

    def kill():
        while not done.is_set():
            for worker in sandbox.workers:
                if (process := worker.process) is not None:
                    process.kill()
            time.sleep(0.01)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        with pytest.raises(SandboxFailed, match="in 3 attempts"):
            run(sandbox, "import time; time.sleep(1)")
    finally:
        done.set()
        thread.join()
        sandbox.stop()


def test_no_descriptors_are_left_for_a_run(sandbox):
    """The process that asks has as many files open as it may: no score, and later runs work."""
    run(sandbox, ECHO, "1")
    taken = []
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    try:
        with pytest.raises(SandboxFailed, match="Too many open files"):
            sandbox.run_once(b"", b"", Limits())
    finally:
        for file in taken:
            os.close(file)
    assert run(sandbox, ECHO, "2")[0].output == "2\n"


TRAINER = """
import sys
import helpers.program_runner  # without the rest of the package, which takes seconds
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.protocol import Limits
sandbox = get_local_sandbox()
print(sandbox.run_once(b"print(1)", b"", Limits()).output.strip(), flush=True)
if sys.argv[1] == "kill":
    sandbox.run_once(b"import time; time.sleep(60)", b"", Limits(seconds=60))
"""


def find_left(trainer):
    """Return the workers of a process, and their programs."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            arguments = Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if any(b'"parent": %d,' % trainer in one for one in arguments) and any(
            b"sandbox.worker" in one for one in arguments
        ):
            found.append(int(entry))
    return found


def is_running(process):
    """Return whether a process exists and is not only waiting to be reaped by the system."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def wait_until(is_true, seconds=5.0):
    end = time.monotonic() + seconds
    while not is_true() and time.monotonic() < end:
        time.sleep(0.05)
    return is_true()


@pytest.mark.parametrize("how", ["end", "kill"])
def test_nothing_outlives_the_trainer(how):
    command = [sys.executable, "-c", TRAINER, how]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=build_environment()) as trainer:
        assert trainer.stdout.readline() == "1\n"
        if how == "kill":
            assert wait_until(lambda: len(find_left(trainer.pid)) >= 2)  # a worker or two, and the program
            trainer.kill()
        trainer.wait(30)
        assert wait_until(lambda: not find_left(trainer.pid))


def test_a_forked_process_has_its_own_workers():
    assert get_local_sandbox().run_once(b"print(1)", b"", Limits()).output == "1\n"
    ours = get_local_sandbox()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            other = get_local_sandbox()
            code = int(other is ours or other.run_once(b"print(2)", b"", Limits()).output != "2\n")
            other.stop()
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    assert ours.run_once(b"print(3)", b"", Limits()).output == "3\n"


def test_a_forked_process_that_ends_leaves_our_workers_alone():
    script = """
import os, sys
import helpers.program_runner
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.protocol import Limits
sandbox = get_local_sandbox()
sandbox.run_once(b"", b"", Limits())
before = [worker.process and worker.process.pid for worker in sandbox.workers]
if os.fork() == 0:
    sys.exit(0)  # exit handlers run
os.wait()
sandbox.run_once(b"", b"", Limits())
print(before == [worker.process and worker.process.pid for worker in sandbox.workers])
print([worker.process.poll() for worker in sandbox.workers if worker.process])
"""
    environment = build_environment(TRL_GRPO_REWARDS_WORKERS="1")
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, env=environment)
    assert found.stdout == "True\n[None]\n", found.stderr


def run_many_programs(queue):
    """Put what a process holds before and after many runs, how the runs ended, and what the workers hold."""
    sandbox = LocalSandbox(2)
    programs = [
        b"print(input())",
        b"1 / 0",
        b"import os; os.kill(1, 9)",
        b"import threading; threading.Timer(0, print).start()",
    ]

    def look():
        return list_descriptors(), list_shared_memory(), threading.active_count(), find_descendants([os.getpid()])

    try:
        for program in programs:
            sandbox.run_once(program, b"1", Limits())
        before = look()
        statuses = {sandbox.run_once(programs[n % len(programs)], b"1", Limits()).status for n in range(200)}
        statuses |= {
            one.status for program in programs * 10 for one in sandbox.run_all([(WAIT, b""), (program, b"")], Limits())
        }
        after = look()
        workers = [worker.process.pid for worker in sandbox.workers if worker.process is not None]
        held = [(os.listdir(f"/proc/{worker}/fd"), read_memory(worker)) for worker in workers]
    finally:
        sandbox.stop()
    queue.put((before, after, statuses, held))


@pytest.mark.slow
def test_many_runs_leave_nothing_behind():
    before, after, statuses, held = run_in_spawned_child(run_many_programs)
    assert after == before
    assert statuses == {"finished", "crashed", "refused"}
    for files, memory in held:
        assert len(files) <= 6, files
        assert memory < 40 << 20  # what a worker takes after one


def read_memory(process):
    """Return the largest memory that a process has had, in bytes."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) << 10


def test_a_worker_takes_little_memory(sandbox):
    run(sandbox, "x = bytearray(200 << 20)")
    assert all(read_memory(one.process.pid) < 40 << 20 for one in sandbox.workers if one.process is not None)


def test_a_full_disk_is_not_needed(tmp_path):
    """Nothing is written to a disk: temporary folders that are full or missing change nothing."""
    script = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))\n" + TRAINER
    full = {"TMPDIR": "/dev/full", "TEMP": "/nowhere", "TMP": "/nowhere", "HOME": "/nowhere"}
    found = subprocess.run(
        [sys.executable, "-c", script, "end"], capture_output=True, text=True, env=build_environment(**full), cwd="/"
    )
    assert (found.returncode, found.stdout) == (0, "1\n"), found.stderr


def test_other_systems_are_refused(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SandboxMissing, match="lacks Linux .it runs darwin."):
        get_local_sandbox()


SCRIPT = """
import json, logging, sys
from helpers.program_runner import Limits, LocalSandbox  # without the rest of the package, which takes seconds
from trl_grpo_rewards.sandbox.protocol import SandboxMissing
logging.basicConfig(format="%(levelname)s %(name)s")
sandbox = LocalSandbox(int(sys.argv[1]))
try:
    tier = sandbox.find_tier()
    runs = [sandbox.run_once(program, b"", Limits()) for program in (b"print(1)", b"open('/etc/passwd')")]
    print(json.dumps([*tier, runs[0].output, runs[1].errors.splitlines()[-1]]))
except SandboxMissing as error:
    print(json.dumps([str(error)]))
sandbox.stop()
"""

IS_X86 = platform.machine() == "x86_64"
SECCOMP, CAPSET, PRLIMIT, MEMFD, PRCTL = (317, 126, 302, 319, 157) if IS_X86 else (277, 91, 261, 279, 167)
PIDFD_OPEN = 434

ERRORS = {
    errno.ENOSYS: "ENOSYS: the kernel was built without it",
    errno.EPERM: "EPERM: the profile of the container, or another sandbox, forbids it",
    errno.EINVAL: "EINVAL: Invalid argument",
}


def try_without(call, workers=1):
    command = [sys.executable, WITHOUT_CALL, call, sys.executable, "-c", SCRIPT, str(workers)]
    found = subprocess.run(command, capture_output=True, text=True, env=build_environment())
    assert found.returncode == 0, found.stderr
    return json.loads(found.stdout), found.stderr


@pytest.mark.parametrize(
    ("call", "error", "workers"), [(444, errno.ENOSYS, 2), (445, errno.EPERM, 1), (446, errno.EINVAL, 1)]
)
def test_without_landlock_no_file_can_be_opened(call, error, workers):
    (tier, about, output, refusal), logged = try_without(f"{call}:{error}", workers)
    assert tier == "no files" and f"lacks Landlock ({ERRORS[error]})" in about
    assert output == "1\n" and refusal.startswith("FileNotFoundError")
    assert logged == "WARNING trl_grpo_rewards.sandbox.local\n"  # once for two workers


@pytest.mark.parametrize(
    ("call", "layer", "error"),
    [
        (f"{SECCOMP}", "seccomp filters that can kill a process", errno.ENOSYS),
        (f"{SECCOMP}:{errno.EPERM}", "seccomp filters that can kill a process", errno.EPERM),
        (f"{PRCTL}:{errno.EPERM}:22", "seccomp filters that can kill a process", errno.EPERM),
        (f"{PRCTL}:{errno.EINVAL}:38", "no_new_privs", errno.EINVAL),
        (f"{PRCTL}:{errno.EPERM}:4", "PR_SET_DUMPABLE", errno.EPERM),
        (f"{PRCTL}:{errno.EPERM}:1", "PR_SET_PDEATHSIG", errno.EPERM),
        (f"{CAPSET}:{errno.EPERM}", "capset", errno.EPERM),
        (f"{PRLIMIT}:{errno.EPERM}", "limits of resources", errno.EPERM),
        (f"{MEMFD}", "files in memory", errno.ENOSYS),
    ],
)
def test_without_another_layer_nothing_runs(call, layer, error):
    (message,), _ = try_without(call)
    assert f"This machine lacks {layer} ({ERRORS[error]})." in message, message
    assert "Nothing was run" in message and "backend='my_module:MySandbox'" in message


def test_descriptors_of_processes_are_not_needed():
    (tier, _, output, _), logged = try_without(str(PIDFD_OPEN))
    assert (tier, output, logged) == ("landlock", "1\n", "")
