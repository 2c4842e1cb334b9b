"""Judging never hangs, whoever asks from wherever, and leaves no process behind."""

import asyncio
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from unittest.mock import patch

import pytest

from helpers.outside_data import read_outside_data
from helpers.processes import build_environment, has_no_workers_within
from trl_grpo_rewards import boxed, gate, reward
from trl_grpo_rewards.answers import second_opinion
from trl_grpo_rewards.answers.second_opinion import SECONDS, ask


LATE = SECONDS + 3
"""Seconds after which an answer that hangs is judged, and the process has been replaced. It allows for a loaded machine."""

# The reader does not read limits, so math-verify is asked. The powers and the factorial hang it for ever.
ANSWERS = [r"\sqrt{49}", r"\sqrt{50}", "(10^9)!", r"9^{9^{9^9}}", "(3^{88888})^{88888}"]
RIGHT, WRONG, *HANGING = [rf"\boxed{{\lim_{{x \to 0}} {answer}}}" for answer in ANSWERS]


def score(completions, solution="7"):
    return boxed()(completions=list(completions), solution=[solution] * len(completions))


def hurry():
    """Let nothing be waited for that hangs."""
    return patch.object(second_opinion, "SECONDS", 0.2)


@reward
async def judging(completion: str) -> float:
    await asyncio.sleep(0)
    return 0.5


def score_all(hanging):
    with hurry():
        late = score([hanging])
    return [*late, *score([RIGHT, WRONG])]


def scored_in_child(queue):
    thread = threading.Thread(target=lambda: queue.put(score_all(HANGING[0])))
    thread.start()
    thread.join()


@pytest.mark.slow
def test_hostile_answers_are_wrong_in_every_context_and_right_ones_right():
    start, scores = time.monotonic(), []
    assert score_all(HANGING[0]) == [0.0, 1.0, 0.0]  # in the main thread
    thread = threading.Thread(target=lambda: scores.extend(score_all(HANGING[1])))
    thread.start()
    thread.join()
    assert scores == [0.0, 1.0, 0.0]

    waiting = gate(judging(), by=boxed())  # in an event loop

    async def inside():
        return await waiting(completions=[HANGING[2], WRONG, RIGHT], solution=["7"] * 3)

    with hurry():
        assert asyncio.run(inside()) == [0.0, 0.0, 0.5]

    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    child = context.Process(target=scored_in_child, args=(queue,))
    child.start()
    assert queue.get(timeout=120) == [0.0, 1.0, 0.0]
    child.join(30)
    assert child.exitcode == 0
    assert time.monotonic() - start < 4 * LATE + 10  # four slow rows, of which one in a new process


@pytest.mark.slow
def test_equal_pairs_cost_one_deadline_and_are_counted():
    counted = {}
    start = time.monotonic()
    completions = [r"\boxed{\lim_{x \to 0} (88888^{88888})^{88888}}"] * 64
    scores = boxed(partial=0.25)(completions=completions, solution=["7"] * 64, log_metric=counted.__setitem__)
    assert scores == [0.25] * 64 and time.monotonic() - start < LATE
    assert counted == {"boxed/timeouts": 64, "boxed/unreadable_gold": 0, "boxed/second_opinions": 64}
    start = time.monotonic()
    assert score(completions) == [0.0] * 64 and time.monotonic() - start < 0.5  # remembered


def test_the_callers_alarm_is_its_own():
    handler = signal.signal(signal.SIGALRM, lambda *_: None)
    try:
        signal.setitimer(signal.ITIMER_REAL, 60.0)
        assert score([r"\boxed{\lim_{x \to 0} \sqrt{36}}", r"\boxed{\lim_{x \to 0} \sqrt{49}}"]) == [0.0, 1.0]
        assert 50 < signal.getitimer(signal.ITIMER_REAL)[0] <= 60
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, handler)


SCRIPT = r"""
import sys
from trl_grpo_rewards import boxed
from trl_grpo_rewards.answers import second_opinion

print("once", flush=True)  # a script without a guard: a worker that imported it would print again
print(boxed()(completions=[r"\boxed{\lim_{x \to 0} \sqrt{49}}"], solution=["7"]), flush=True)
second_opinion.SECONDS = float(sys.argv[1])
print(boxed()(completions=[r"\boxed{\lim_{x \to 0} (99999^{99999})^{99999}}"], solution=["7"]), flush=True)
second_opinion.SECONDS = 2.0
print(boxed()(completions=[r"\boxed{\lim_{x \to 0} \sqrt{48 + 1}}"], solution=["7"]), flush=True)
"""


def test_the_process_starts_when_it_is_first_needed_and_ends_with_its_own():
    code = "import os; from trl_grpo_rewards import boxed; from helpers.processes import build_environment, find_workers\n"
    code += "for box in (r'7', r'x+7', r'\\lim_{x \\to 0} \\sqrt{49}', r'\\lim_{x \\to 1} 7'):\n"
    code += "    print(boxed()(completions=[rf'\\boxed{{{box}}}'], solution=[7]), len(find_workers(os.getpid())))"
    run = subprocess.Popen([sys.executable, "-c", code], env=build_environment(), stdout=subprocess.PIPE, text=True)
    output, _ = run.communicate(timeout=60)
    assert (run.returncode, output.splitlines()) == (0, ["[1.0] 0", "[0.0] 0", "[1.0] 1", "[1.0] 1"])
    assert has_no_workers_within(run.pid, 3)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")  # Python 3.12: pytest has threads
def test_a_fork_has_workers_of_its_own():
    assert score([r"\boxed{\lim_{x \to 0} \sqrt{49}}"]) == [1.0]
    reading, writing = os.pipe()
    fork = os.fork()
    if fork == 0:
        answers = [r"\boxed{\lim_{x \to 0} \sqrt{81}}", r"\boxed{\lim_{x \to 0} \frac{\sqrt{196}}{2}}"]
        os.write(writing, str(score(answers)).encode())
        os._exit(0)
    os.waitpid(fork, 0)
    assert os.read(reading, 100) == b"[0.0, 1.0]"
    assert score([r"\boxed{\lim_{x \to 0} \frac{\sqrt{784}}{4}}"]) == [1.0]


@pytest.mark.slow
def test_no_pathological_completion_hangs_or_crashes():
    """In a thread, whose stack is smaller. What hangs is tried in the other contexts above."""
    rows, paid, seconds = read_outside_data("pathological.dev.jsonl.gz"), set(), []

    def judge_all():
        for row in rows:
            start = time.monotonic()
            paid.update({row["name"]} if score([row["completion"]], row["gold"]) == [1.0] else ())
            seconds.append(time.monotonic() - start)

    thread = threading.Thread(target=judge_all)
    thread.start()
    thread.join()
    assert len(seconds) == len(rows) == 149 and max(seconds) < LATE and score([RIGHT]) == [1.0]
    assert paid and not {row["name"] for row in rows if row["expected"] is False} & paid


TRAPS = {
    "many open files": "import os; held = [os.open('/dev/null', 0) for _ in range(1100)]",
    # `SIGCHLD` is ignored under some supervisors, and a process inherits that
    "ignored signals": "import signal; [signal.signal(s, signal.SIG_IGN) for s in (signal.SIGCHLD, signal.SIGTERM)]",
    "a fork that lives on": "import os; from trl_grpo_rewards.answers.second_opinion import ask; ask('1', '1'); "
    "os.fork() or (__import__('time').sleep(20), os._exit(0))",
}


@pytest.mark.slow
def test_what_a_process_brings_does_no_harm(tmp_path):
    (tmp_path / "sitecustomize.py").write_text("print('printed by every Python', flush=True)\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    start, runs = time.monotonic(), {}
    for name, trap in TRAPS.items():
        script = SCRIPT.replace('print("once"', f'{trap}\nprint("once"')
        (tmp_path / f"{name}.py").write_text(script)
        command = ["bash", "-c", f"ulimit -n 4096; exec {sys.executable} '{name}.py' 0.2"]
        environment = {**os.environ, "PYTHONPATH": path}
        runs[name] = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True)
    for name, run in runs.items():
        assert [run.stdout.readline() for _ in range(5)][1:] == ["once\n", "[1.0]\n", "[0.0]\n", "[1.0]\n"], name
        run.wait(30)
        run.stdout.close()
        assert time.monotonic() - start < 15 and has_no_workers_within(run.pid, 5), name


@pytest.mark.slow
def test_a_fork_that_exits_leaves_the_workers_alone():
    code = "import os, sys; from trl_grpo_rewards import boxed; answers = dict(completions=[{0!r}], solution=['7'])\n"
    code += "print(boxed()(**answers)); sys.stdout.flush()\nif os.fork() == 0: sys.exit()\nos.wait()\n"
    code += "from trl_grpo_rewards.answers import second_opinion\nbefore = second_opinion.PROCESS\n"
    code += "print(boxed()(completions=[{1!r}], solution=['7']), second_opinion.PROCESS is before)"
    code = code.format(r"\boxed{\lim_{x \to 0} \sqrt{49}}", r"\boxed{\lim_{x \to 0} \sqrt{48 + 1}}")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    assert run.stdout == "[1.0]\n[1.0] True\n", run.stderr[-2000:]


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGTERM], ids=lambda end: end.name)
def test_a_process_that_is_killed_from_outside_is_nobodys_answer(end):
    assert ask("7", rf"\lim_{{x \to {end:d}}} 7") is True
    threading.Timer(0.5, second_opinion.PROCESS.send_signal, [end]).start()
    hanging = rf"\boxed{{\lim_{{x \to {end:d}}} (77777^{{77777}})^{{77777}}}}"
    assert score([hanging, r"\boxed{\lim_{x \to 0} \sqrt{49}}"]) == [None, 1.0]
    with hurry():
        assert score([hanging]) == [0.0]  # nothing is remembered


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="processes cannot be stopped on this system")
def test_a_process_that_is_stopped_holds_nobody_up():
    assert second_opinion.ask("2", "2")
    os.kill(second_opinion.PROCESS.pid, signal.SIGSTOP)
    start = time.monotonic()
    with hurry():
        assert second_opinion.ask("3", "4 ") is None and time.monotonic() - start < 20
    assert second_opinion.ask("5", "5 ")
