"""Plain functions are called in the thread of the caller, as TRL calls them, whatever is in the expression around them."""

import asyncio
import json
import signal
import sqlite3
import threading
import time

import pytest
from datasets import Dataset
from math_verify import parse, verify
from trl import GRPOTrainer
from trl.trainer.utils import is_async_callable

from helpers.reward_functions import half_dead
from helpers.runs import small_config
from trl_grpo_rewards import boxed, clip, code, demo, gate, reward, route, shortest
from trl_grpo_rewards.checks import check


CONNECTION = sqlite3.connect(":memory:")


def accuracy(completions, solution, **kwargs):
    """The most published reward for mathematics. `parse` sets an alarm."""
    texts = [one if isinstance(one, str) else one[0]["content"] for one in completions]
    return [float(verify(parse(gold), parse(text))) for text, gold in zip(texts, solution, strict=True)]


def limited(completions, **kwargs):
    signal.setitimer(signal.ITIMER_REAL, 5)
    try:
        return [float(len(one)) for one in completions]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def queried(completions, **kwargs):
    return [float(CONNECTION.execute("SELECT ?", (len(one),)).fetchone()[0]) for one in completions]


def looped(completions, **kwargs):
    async def count(one):
        return float(len(one))

    return [asyncio.run(count(one)) for one in completions]


async def waits(completions, **kwargs):
    await asyncio.sleep(0.01)
    return [1.0] * len(completions)


PLAIN = [accuracy, limited, queried, looped]
TEXTS = {"completions": [r"\boxed{4}", r"\boxed{5}", "4"], "solution": ["4"] * 3, "prompts": ["2 + 2?"] * 3}
AROUND = {
    "alone": lambda one: one,
    "sum": lambda one: one + 0.0 * reward(waits)(),
    "product": lambda one: one * reward(waits)(),
    "gate": lambda one: gate(one, by=reward(waits)()),
    "route": lambda one: clip(route("solution", {"4": one}, default=reward(waits)()), low=-9.0),
}


@pytest.mark.parametrize("function", PLAIN)
@pytest.mark.parametrize("around", AROUND.values(), ids=AROUND)
def test_a_plain_function_gives_what_it_gives_trl(function, around):
    expression = around(reward(function)())
    assert not is_async_callable(expression) and not is_async_callable(expression.call_sync)
    expected = function(**TEXTS)
    assert expression(**TEXTS) == expected == expression.explain(**TEXTS).totals


def test_a_mixed_grouped_reward_calls_plain_functions_in_the_thread_of_its_caller():
    calls = {**TEXTS, "completion_ids": [[1], [2, 3], [4]]}
    grouped = shortest(reward(accuracy)())
    assert (grouped * reward(waits)())(**calls) == grouped(**calls) != [0.0] * 3


def test_only_expressions_without_plain_functions_of_users_are_awaited():
    assert is_async_callable(reward(waits)()) and is_async_callable(gate(code(tests="solution"), by=boxed()))
    assert not is_async_callable(gate(code(tests="solution"), by=reward(limited)()))


def test_plain_functions_run_while_others_wait():
    ended = []

    async def awaits_long(completions, **kwargs):
        await asyncio.sleep(0.1)
        ended.append("awaits_long")
        return [1.0] * len(completions)

    def quick(completions, **kwargs):
        ended.append(threading.current_thread())
        return [2.0] * len(completions)

    assert (reward(awaits_long)() * reward(quick)())(**TEXTS) == [2.0] * 3
    assert ended == [threading.main_thread(), "awaits_long"]


@pytest.mark.parametrize("error", [StopIteration, KeyError, SystemExit, KeyboardInterrupt])
def test_an_error_in_the_thread_of_the_caller_ends_the_call(error):
    def raises(completions, **kwargs):
        raise error("gone")

    for expression in (reward(raises)(), reward(raises)() * reward(waits)()):
        with pytest.raises(error if error in (KeyError, KeyboardInterrupt) else RuntimeError):
            expression(**TEXTS)


def test_ctrl_c_ends_a_call_that_waits():
    def interrupt(*_):
        raise KeyboardInterrupt

    async def waits_first(completions, **kwargs):
        await asyncio.sleep(0.3)
        return [1.0] * len(completions)

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    start = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            gate(reward(limited)(), by=reward(waits_first)())(**TEXTS)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - start < 5


def test_a_reward_may_call_other_rewards_in_an_event_loop():
    async def asks_others(completions, **kwargs):
        here = (reward(limited)() * 2.0)(completions=completions) if not asyncio.get_running_loop() else []
        inner = reward(half_dead_of_texts)() * boxed()
        return [*inner(completions=completions, solution=["4"] * len(completions)), *here]

    def half_dead_of_texts(completions, **kwargs):
        return [0.5] * len(completions)

    assert (reward(asks_others)() * reward(looped)())(**TEXTS) == [0.5 * len(TEXTS["completions"][0]), 0.0, 0.0]


@pytest.mark.parametrize("function", PLAIN)
def test_check_calls_a_plain_function_as_trl_does(function):
    rows = {"prompt": [f"{n} + {n}?" for n in range(20)], "solution": [str(2 * n) for n in range(20)]}
    for expression in (reward(function)(), reward(function)() * reward(waits)(), [function, waits]):
        found = [fault for one in check(expression, Dataset.from_dict(rows)) for fault in one.faults]
        assert not [fault for fault in found if "raised" in fault]


def test_trl_calls_plain_functions_in_mixed_expressions_in_the_main_thread(tmp_path):
    threads = []

    def tells(completions, **kwargs):
        threads.append(threading.current_thread())
        return half_dead(completions=completions, **kwargs)

    paid = gate(reward(waits)(name="gated"), by=reward(accuracy)(), otherwise=-1.0)
    rewards = reward(tells)() * reward(waits)(name="late") + 0.1 * reward(waits)() + clip(paid, low=0.0)
    args = small_config(tmp_path, reward_weights=rewards.weights)
    trainer = GRPOTrainer(demo.MODEL, rewards.rewards, args=args, train_dataset=demo.arithmetic(size=16))
    trainer.train()
    assert {*threads} == {threading.main_thread()}


def test_the_commands_call_a_plain_function_as_trl_does(command, tmp_path):
    (tmp_path / "published.py").write_text(
        "from math_verify import parse, verify\n\n"
        "def accuracy_reward(completions, solution, **kwargs):\n"
        "    texts = [one if isinstance(one, str) else one[0]['content'] for one in completions]\n"
        "    return [float(verify(parse(g), parse(t))) for t, g in zip(texts, solution)]\n"
    )
    rows = [{"prompt": f"{n} + {n}?", "solution": f"{2 * n}"} for n in range(20)]
    (tmp_path / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    given = ["--import", "published", "--rewards", "accuracy_reward()"]
    found = command("check", "--dataset_name", "sums.jsonl", *given, "--json")
    assert "raised" not in found.stdout + found.stderr and json.loads(found.stdout)["attacks"]
    answers = [{**row, "completion": f"It is ${row['solution']}$."} for row in rows[:2]]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    for expression in ("accuracy_reward()", "accuracy_reward() * code(tests='solution') + boxed()"):
        scored = command("score", expression, "answers.jsonl", "--import", "published")
        assert "math-verify" not in scored.stderr.lower() and scored.returncode == 0, scored.stderr
