"""Rewards where forks, timers of the kernel and limits of memory are missing, as on Windows, and text is not UTF-8.

Each script runs in a Python without these names, and so does its second opinion.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from helpers.every_reward import samples
from helpers.paths import TESTS
from helpers.processes import find_workers, has_no_workers_within
from trl_grpo_rewards import parse
from trl_grpo_rewards.answers.second_opinion import SECONDS


BARE = str(TESTS / "helpers" / "bare_platform")
HANGS = r"\boxed{\lim_{x \to 0} (99999^{99999})^{99999}}"
COLUMNS = {
    "prompts": ["Wie groß ist 2 + 2?"] * 4,
    "completions": [
        r"<think>2 + 2 = 4</think>so \boxed{4} [1]",
        r"{\"größer\": 4} \boxed{5}",
        r"$\boxed{\lim_{x \to 0} \sqrt{16}}$",  # only math-verify can decide this one and the next
        r"**Answer:** \boxed{\lim_{x \to 0} \sqrt{17}} <a>é</a>",
    ],
    "completion_ids": [[1] * 5, [1] * 7, [1] * 12, []],
    "solution": ["4"] * 4,
    "kind": ["math"] * 4,
    "sources": [["one"]] * 4,
    "tool_calls": [[]] * 4,
    "instruction_id_list": [["words:no_consecutive", "count:numbers"]] * 4,
    "kwargs": [[{}, {"N": 1}]] * 4,
}
SCORE = """
import json, sys
from types import SimpleNamespace
from trl_grpo_rewards import parse
from trl_grpo_rewards.records.files import read_groups

(group,) = read_groups(sys.argv[1])
state = SimpleNamespace(global_step=5)
scores = {text: parse(text)(**group.columns, trainer_state=state) for text in json.loads(sys.argv[2])}
print(json.dumps(scores))
"""


def start_bare(script: str, *arguments: str) -> subprocess.Popen[str]:
    variables = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    path = os.pathsep.join(filter(None, [BARE, os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        [sys.executable, "-c", script, *arguments],
        env={**os.environ, **variables, "PYTHONPATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run_bare(script: str, *arguments: str) -> str:
    """Return what a script prints. No worker may be left."""
    with start_bare(script, *arguments) as run:
        try:
            output, errors = run.communicate(timeout=120)
        finally:
            run.kill()
    assert run.returncode == 0, errors
    assert has_no_workers_within(run.pid, 3)
    return output


@pytest.mark.slow
def test_every_reward_gives_the_same_scores(tmp_path):
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
    rows = [{"prompt": row.pop("prompts"), "completion": row.pop("completions"), **row} for row in rows]
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (tmp_path / "rows.jsonl").write_text(lines, encoding="utf-8")
    texts = [*map(str, samples().values())]
    found = json.loads(run_bare(SCORE, str(tmp_path / "rows.jsonl"), json.dumps(texts)))
    state = type("State", (), {"global_step": 5})
    assert found == {text: parse(text)(**COLUMNS, trainer_state=state) for text in texts}
    assert found["boxed(partial=0.1)"] == [1.0, 0.1, 1.0, 0.1]


ASK = """
import os, sys
from trl_grpo_rewards import boxed

def ask(answer, solution="7"):
    counts = {}
    scores = boxed(partial=0.25)(completions=[answer], solution=[solution], log_metric=counts.__setitem__)
    print(scores, *counts.values(), flush=True)

ask(r"\\boxed{\\lim_{x \\to 0} \\sqrt{49}}")
"""
LISTEN = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's jobs ignore it
HANG = LISTEN + ASK + "ask(sys.argv[1])\n"


@pytest.mark.slow
def test_what_hangs_costs_one_deadline_and_the_worker_is_replaced():
    start = time.monotonic()
    asks = f"ask({HANGS!r})\nask({HANGS!r})\nask(r'\\boxed{{7}}', {HANGS[7:-1]!r})\nask(r'\\boxed{{\\lim_{{x \\to 0}} \\sqrt{{48}}}}')\n"
    assert run_bare(ASK + asks).splitlines() == [
        "[1.0] 0 0 1",
        "[0.25] 1 0 1",
        "[0.25] 1 0 1",  # from the cache
        "[0.25] 1 0 1",  # the solution is read, and comparing hangs
        "[0.25] 0 0 1",
    ]
    assert 2 * SECONDS < time.monotonic() - start < 6 * SECONDS + 10


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL], ids=lambda end: end.name)
def test_no_worker_outlives_its_parent(end):
    run = start_bare(HANG, HANGS)
    try:
        assert run.stdout.readline() == "[1.0] 0 0 1\n"
        time.sleep(1)
        assert len(find_workers(run.pid)) == 1
        os.kill(run.pid, end)
        run.wait(SECONDS + 3)
        assert run.returncode == -end and has_no_workers_within(run.pid, SECONDS + 3)
    finally:
        run.kill()
        run.communicate()
