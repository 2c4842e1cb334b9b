"""Programs are paid if they pass, whatever the format of the tests, and programs that cheat are not."""

import asyncio
import contextlib
import json
import os
import threading
from pathlib import Path

import pytest

from helpers.attacked import find_descendants, list_calls
from helpers.corpora import ATTACKS, select
from trl_grpo_rewards import code
from trl_grpo_rewards.checks import assert_not_gameable
from trl_grpo_rewards.checks.contract import check_readiness
from trl_grpo_rewards.sandbox.local import get_local_sandbox
from trl_grpo_rewards.sandbox.programs.cases import MODULES
from trl_grpo_rewards.sandbox.protocol import RunResult, SandboxFailed


SUM = "print(sum(map(int, input().split())))"
PAIRS = {"inputs": ["1 2", "3 4", "5 6"], "outputs": ["3", "7", "11"]}
CALLS = {"fn_name": "add", "inputs": [[1, 2], [5, 6]], "outputs": [3, 11]}
ADD = "def add(a, b):\n    return a + b"
METHOD = "class Solution:\n    def add(self, a, b):\n        return a + b"


def block(program):
    return f"Here it is:\n```python\n{program}\n```"


def call(value, programs, tests, **columns):
    """Return the scores of programs, the metrics and the logged columns."""
    metrics, extras = {}, {}
    scores = value(
        completions=programs,
        tests=tests if isinstance(tests, list) and len(tests) == len(programs) else [tests] * len(programs),
        log_metric=metrics.__setitem__,
        log_extra=extras.__setitem__,
        **columns,
    )
    return scores, metrics, extras


HUMAN_EVAL = {"test": "def check(candidate):\n    assert candidate(1, 2) == 3\n", "entry_point": "add"}
STATEMENTS = "total = 0\nfor n in range(3):\n    total += add(n, n)\nassert total == add(3, 3)"
PRIME = json.dumps([{"type": "function_call", "fn_name": "add", "input": [1, 2], "output": 3}])
OPEN_R1 = {"language": "python", "test_cases": [{"input": "1 2", "output": "3", "type": "stdin_stdout"}]}
FORMATS = {
    "APPS": (PAIRS, SUM, "print(3)"),
    "APPS as text": (json.dumps(PAIRS), SUM, "print(3)"),
    "APPS with a function": (CALLS, METHOD, "def add(a, b): return 3"),
    "open-r1": (OPEN_R1, SUM, "print(4)"),
    "PrimeIntellect": (PRIME, ADD, "def add(a, b): return 4"),
    "MBPP": (["assert add(1, 2) == 3", "assert add(0, 0) == 0"], ADD, "def add(a, b): return 3"),
    "HumanEval": (HUMAN_EVAL, ADD, "def add(a, b): return '3'"),
    "statements": ([STATEMENTS], ADD, "def add(a, b): return 1"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_right_program_is_paid_and_a_wrong_one_is_not(name):
    tests, right, wrong = FORMATS[name]
    scores, _, extras = call(code(), [block(right), block(wrong)], [tests, tests])
    assert scores == [1.0, 0.0], extras
    right, wrong = extras["code/failure"]
    assert right == "" and ("case" in wrong or "assert" in wrong)


WRONG = "def add(a, b):\n    return 3"
CLASS = "Solution = type('Solution', (), {'add': lambda self, a, b: a + b})"
COMPLETIONS = {
    "an example": ([block(ADD), block("total = add(1, 2)\nprint(total)")], 1),
    "tests": ([block(ADD), block("class TestAdd(TestCase):\n    def test(self): self.assertEqual(add(1, 2), 3)")], 1),
    "pieces": ([block(ADD), block("def add(a, b): ..."), "- So:\n  ```py\n  def add(a, b):\n      # so\n  ```"], 1),
    "no language, and an example": (["```", ADD, "```", block("print(add(1, 2))")], 1),
    "assigned names": ([block(f"{CLASS}\nadd = Solution().add"), block("print(add(1, 2))")], 1),
    "code further left than its fence": (["1. So:\n     ```python", ADD, "     ```"], 1),
    "two, the last one right": ([block(WRONG), block(ADD)], 1),
    "two, the last one wrong": ([block(ADD), block(WRONG)], 0),
    "two parts": ([block("def plus(a, b):\n    return a + b"), block("add = lambda a, b: plus(a, b)")], 0),
    "a quote of the prompt": (["> ```python\n> def add(a, b):\n>     pass\n> ```", block(ADD)], 1),
    "only thought of": (["<think>", block(ADD), "</think>", block(WRONG)], 0),
    "a fence that ends a text": ([block(f"'''\n```\nadd(1, 2)\n```\n'''\n{ADD}")], 0),
    "cut off": ([block(ADD), block(ADD)[:-3]], 0),
}


def test_the_last_block_that_defines_what_the_tests_call_is_the_program():
    imports = ["import solution\nassert solution.add(5, 6) == 11", "from solution import add\nassert add(5, 6) == 11"]
    checked = {"test": "def check(candidate):\n    assert candidate(5, 6) == 11", "entry_point": "add"}
    methods = [CALLS, {**checked, "entry_point": "Solution().add"}]
    functions = [CALLS, ["total = add(5, 6)\nassert total == 11"], checked, *imports]
    for place, tests in enumerate(methods + functions):
        texts = ["\n".join(parts) for parts, _ in COMPLETIONS.values()]
        if place < len(methods):
            texts = [text.replace(ADD, METHOD).replace(WRONG, METHOD.replace("a + b", "3")) for text in texts]
        scores, _, _ = call(code(), texts, [tests] * len(texts))
        assert dict(zip(COMPLETIONS, scores, strict=True)) == {name: paid for name, (_, paid) in COMPLETIONS.items()}


def test_the_share_of_cases_is_paid_on_request():
    programs = [block(SUM), block("print(7)"), block("x = input(); print(3) if x == '1 2' else 1 / 0"), "none"]
    scores, metrics, extras = call(code(partial=True), programs, PAIRS)
    assert scores == pytest.approx([1.0, 1 / 3, 1 / 3, 0.0])
    assert (metrics["code/crashes"], metrics["code/no_program"], extras["code/failure"][3]) == (
        1,
        1 / 4,
        "no code block",
    )
    assert extras["code/failure"][1] == "case 1 of 3: input '1 2'; expected '3'; wrote '7\\n'"
    assert extras["code/failure"][2].startswith("case 2 of 3") and "ZeroDivisionError" in extras["code/failure"][2]


def test_equal_programs_run_once_and_every_failure_is_counted():
    programs = {
        SUM: None,
        "while True: pass": "timeouts",
        "1 / 0": "crashes",
        "import os; os.kill(os.getppid(), 9)": "refusals",
        "print('x' * 10 ** 6)": "floods",
    }
    completions = [block(program) for program in programs for _ in range(3)]
    scores, metrics, _ = call(code(timeout=0.3, output_bytes=1000), completions, PAIRS)
    assert scores == [1.0] * 3 + [0.0] * 12
    expected = {f"code/{name}": 3 for name in programs.values() if name} | {"code/runs": 5}
    others = ("failures", "unreadable_tests", "doubtful_tests", "no_program")
    assert metrics == expected | {f"code/{name}": 0 for name in others}


def test_tests_that_cannot_be_read_give_no_score(caplog):
    wrong_language = {"language": "cpp", "test_cases": []}
    for tests in (None, "", 7, {}, [], {"inputs": ["1"], "outputs": []}, "{broken", ["def f("], wrong_language):
        scores, metrics, extras = call(code(), [block(SUM), "none"], [tests, tests])
        assert scores == [None, None] and metrics["code/unreadable_tests"] == 2
        assert extras["code/failure"][0].startswith("tests cannot be read: ")
    assert "not scored. Correct these tests, or remove their rows (shown once): " in caplog.text


def test_what_a_right_program_does_not_cause_is_a_failure_of_the_program():
    tests = "make = f()\nassert g(make()) == 1"  # to make a plain object that cannot cross
    right, wrong = (block(f"def f(): return {kind}\ndef g(found): return 1") for kind in ("list", "object"))
    alone = call(code(), [wrong, block("def g(found): return 1")], [tests, "import threading\ng(threading.Lock())"])
    assert alone[0] == [0.0, None] and "after they used the program" in alone[2]["code/failure"][0]
    assert (alone[1]["code/doubtful_tests"], alone[1]["code/unreadable_tests"]) == (1, 1)
    assert call(code(), [block("Node = object\ndef g(found): return 1")], ["g(Node())"])[0] == [0.0]
    assert [call(code(), [wrong], [tests], solution=[own], trainer_state=object())[0] for own in (wrong, right)] == [
        [None],
        [0.0],
    ]
    scores, metrics, extras = call(code(), [right, wrong], [tests] * 2)
    assert (
        scores == [1.0, 0.0]
        and metrics["code/doubtful_tests"] == 0
        and extras["code/failure"][1].startswith("another program passes, but here: ")
    )


def test_tests_are_unreadable_only_for_what_they_name_themselves():
    for line in ("importlib.import_module({})", "open({})", "os.stat({})", "pathlib.Path({}).read_text()"):
        code_of = ("import importlib, os, pathlib\ndef read(name):\n    " + line.format("name") + "\n").__add__
        named, chosen = code_of("f()\nname = 'no/such.thing'\nread(name)"), code_of("read(f())  # such.thing")
        assert call(code(), [block("def f(): return 'no/such.thing'")] * 2, [named, chosen])[0] == [None, 0.0]


def test_a_row_in_another_language_gives_no_score():
    languages = ["python", "Python3", "py", None, "", "cpp", "C++", "rust", ["python"]]
    scores, metrics, extras = call(code(), [block(SUM)] * 9, [PAIRS] * 9, language=languages)
    assert scores == [1.0] * 5 + [None] * 4 and metrics["code/unreadable_tests"] == 4
    assert "Only programs in Python are run; found language='cpp'" in extras["code/failure"][5]


BAD = {
    "a megabyte": "x = '" + "x" * 150_000 + "'\n" + SUM,
    "output without end": "while True: print('x' * 1000)",
    "closed streams": "import os\nfor n in range(3): os.close(n)",
    "ignored signals": "import signal\nfor n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\nwhile True: pass",
    "recursion": "def f(): return f()\nf()",
    "threads": "import threading\nwhile True: threading.Thread(target=threading.Event().wait, daemon=True).start()",
    "huge integers": "print(9 ** 9 ** 9)",
    "an expression without end": "import re\nre.match('(a|a)*$', 'a' * 99 + 'b')",
    "invalid UTF-8": "import sys\nsys.stdout.buffer.write(b'\\xff' * 9)",
    "lone surrogates": "print('\ud800')",
    "a null": "print('\0')",
}


def test_bad_programs_get_a_score_and_the_workers_live_on():
    scores, _, extras = call(code(timeout=0.3), [block(program) for program in BAD.values()], PAIRS)
    assert scores == [1.0] + [0.0] * (len(BAD) - 1), dict(zip(BAD, extras["code/failure"], strict=True))
    assert call(code(), [block(SUM)], PAIRS)[0] == [1.0]


CHEATS = {
    "equals everything": "class E(int):\n    def __eq__(s, o): return True\n    __ne__ = __lt__ = __gt__ = __eq__\n    def __hash__(s): return 0\ndef add(a, b): return E(0)",
    "prints a value": 'print(\'["int", "3"]\'); import os; os._exit(0)',
    "writes a value": 'import os; os.write(1, b\'["int", "3"]\'); os._exit(0)',
    "looks for the answer": "import gc\ndef add(a, b):\n    for one in gc.get_objects():\n        if isinstance(one, dict) and 'accepted' in one: return one['accepted'][0]\n    return None",
    "traces": "import sys\nsys.settrace(lambda *a: None)\ndef add(*a): raise SystemExit(0)",
    "skips": "import unittest\ndef add(a, b): raise unittest.SkipTest",
    "asserts off": "import sys\nsys.flags = None\ndef add(a, b): return 4",
    **{name: f"W = {{'calls': {list_calls()}}}\n{one}" for name, one in select(ATTACKS, "suicide").items()},
}
ASSERTS = ["assert add(1, 2) == 3", "assert add(5, 6) == 11"]


@pytest.mark.parametrize("tests", ["from solution import f\n", "import solution\nf = solution.f\n"])
def test_built_in_functions_are_not_those_of_a_program_that_is_imported(tests):
    cheat, right = "def f(x): return 0\ndef abs(x): return 0", "def f(x): return 3 * x"
    assert call(code(), [block(cheat), block(right)], [tests + "assert abs(f(1) - 3) < 1e-6"] * 2)[0] == [0.0, 1.0]


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_is_not_paid(name):
    scores, _, extras = call(code(), [block(CHEATS[name])], [ASSERTS])
    assert scores == [0.0], extras


LATE = "x = b'x' * (80 << 20)\nimport time\ntime.sleep(0.3)\n"


@pytest.mark.parametrize(
    ("program", "tests", "times", "memory", "score"),
    [(SUM, PAIRS, 1, 1024, 1.0), (ADD, ASSERTS, 1, 1024, 1.0), (ADD, ASSERTS, 99, 1024, None), (ADD, ASSERTS, 99, 128, 0.0)],
)  # fmt: skip
def test_a_program_that_somebody_kills_runs_again(program, tests, times, memory, score):
    workers, killed, done = get_local_sandbox(MODULES).workers, set(), threading.Event()

    def kill():
        while not done.wait(0.01):
            known = {worker.process.pid for worker in workers if worker.process is not None}
            for fork in {*find_descendants([*known])} - known - killed:
                with contextlib.suppress(OSError):
                    pages = int(Path(f"/proc/{fork}/statm").read_text().split()[1])
                    if len(killed) < times and pages > 70 << 8:  # more than half of 128 MB
                        os.kill(fork, 9)
                        killed.add(fork)

    call(code(), [block("")], tests)  # starts a worker
    thread = threading.Thread(target=kill)
    thread.start()
    found, _, extras = call(code(max_failures=1, memory_mb=memory), [block(LATE + program)], tests)
    done.set()
    thread.join()
    assert found == [score] and killed, extras


def test_no_attack_on_the_reward_pays():
    rows = [
        {"prompt": "Add two numbers.", "tests": PAIRS, "solution": SUM},
        {"prompt": "Write add(a, b).", "tests": ASSERTS, "solution": ADD},
    ]
    assert_not_gameable(code(), rows)
    assert_not_gameable(code(partial=True), rows)


@pytest.mark.parametrize(
    "options",
    [
        {"backend": "docker"}, {"backend": "ftp://x"},
        {"backend": "a.b"},
        {"backend": "a:b:c"}, {"backend": "a b:C"}, {"backend": "LOCAL"},
    ],
)  # fmt: skip
def test_options_that_cannot_work_are_refused(options):
    with pytest.raises(ValueError, match=r"code\(\) cannot use .*Set it to"):
        code(**options)


class Scripted:
    """A back end of a user: it fails for some programs, and never ends for others."""

    async def run(self, program, inputs, limits):
        for text in inputs:
            if "will fail" in program:
                raise SandboxFailed("it is down")
            if "no threads" in program:
                raise RuntimeError("can't start new thread")
            if "will sleep" in program:
                await asyncio.sleep(60)
            yield RunResult("finished", str(sum(map(int, text.split()))), "")

    def check_ready(self):
        pass

    async def close(self):
        pass


OWN = f"{__name__}:Scripted"


def test_a_failure_of_the_back_end_gives_no_score_and_too_many_stop_the_run(caplog):
    value = code(backend=OWN, batch_timeout=0.5, max_failures=0.7)
    scores, metrics, extras = call(value, [block("will fail"), block("will sleep"), block("any"), "none"], PAIRS)
    assert scores == [None, None, 1.0, 0.0] and metrics["code/failures"] == 2
    assert extras["code/failure"][:2] == ["not run: it is down", "not run: no result within batch_timeout=0.5 s"]
    scores, _, extras = call(code(backend=OWN, max_failures=1), [block("no threads")], PAIRS)
    assert scores == [None] and "can't start new thread" in extras["code/failure"][0]
    with pytest.raises(RuntimeError, match="gave no result in 2 of 2 calls .* max_failures=0.2 .*it is down"):
        call(code(backend=OWN), [block("will fail"), block("will fail 2")], PAIRS)


SLOW = "import time\ntime.sleep(0.2)\nprint(0)  # {}"
MANY = {"inputs": [*map(str, range(60))], "outputs": [*map(str, range(60))]}


def test_programs_that_use_up_their_share_of_time_get_0_and_stop_no_run():
    texts = [*(block(SLOW.format(place)) for place in range(4)), block("print(int(input()))")]
    tests = [*[MANY] * 4, {"inputs": ["7", "8"], "outputs": ["7", "8"]}]
    scores, metrics, extras = call(code(partial=True, timeout=1.0, batch_timeout=4.0), texts, tests)
    assert scores == [0.0] * 4 + [1.0]
    assert extras["code/failure"][0] == "stopped after its share of batch_timeout=4 s"
    assert (metrics["code/timeouts"], metrics["code/failures"]) == (4, 0)


def test_a_slow_program_finishes_if_time_is_left():
    slow = block("import time\ntime.sleep(0.2)\nprint(int(input()))")
    tests = {"inputs": [*map(str, range(6))], "outputs": [*map(str, range(6))]}
    texts = [slow, block("print(1)"), block("print(2)"), block("print(3)")]
    scores, _, extras = call(code(timeout=1.0, batch_timeout=6.0), texts, [tests] * 4)
    assert scores == [1.0, 0.0, 0.0, 0.0], extras


def test_a_program_on_another_back_end_that_ran_is_too_slow_and_one_that_never_did_is_a_failure():
    class Endless(Scripted):
        async def run(self, program, inputs, limits):
            for place, _ in enumerate(inputs):
                if place or "neverland" in program:
                    await asyncio.sleep(60)
                yield RunResult("finished", "0", "")

    globals()["Endless"] = Endless
    value = code(backend=f"{__name__}:Endless", partial=True, batch_timeout=0.5, max_failures=0.7)
    scores, metrics, _ = call(value, [block("neverland"), block("once")], MANY)
    assert scores == [None, 0.0] and metrics["code/failures"] == 1


def test_a_missing_back_end_stops_the_run():
    with pytest.raises(ValueError, match="must be a class that can be imported"):
        call(code(backend="no_such_module:Sandbox"), [block(SUM)], PAIRS)


def test_the_check_says_how_programs_are_kept_in():
    found = check_readiness(code())
    assert not found.faults and len(found.lines) == 1 and found.lines[0].startswith("code(): Programs")
