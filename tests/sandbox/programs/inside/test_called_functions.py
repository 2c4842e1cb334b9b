"""What runs inside the sandbox: scripts, calls and their answers."""

import ast
import json
import subprocess
import sys
from shutil import which

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.judged_programs import PlainSandbox, count_passed, run_plainly
from trl_grpo_rewards.sandbox.programs.cases import INSIDE_FOLDER, CallCase, RowTests, bundle, write_call
from trl_grpo_rewards.sandbox.programs.formats import read_tests
from trl_grpo_rewards.sandbox.programs.inside.program import MAX_DECIMAL_BITS, NODES, list_values, tree_values


DOUBLE = "def double(x):\n    return 2 * x\n\nif __name__ == '__main__':\n    print(double(int(input())))\n"
SCRIPT = read_tests({"inputs": ["1234\n"], "outputs": ["2468\n"]})


def write_call_tests(arguments, expected):
    return RowTests((CallCase("f", json.dumps(arguments), (expected,)),))


def passes(program, arguments, expected):
    return count_passed(program, write_call_tests(arguments, expected)) == 1


def test_the_answer_holds_the_first_argument_only_after_none():
    def answer(program):
        return json.loads(run_plainly(bundle(write_call("program", "run_once", program, "f")), "[[2, 1]]") or "null")

    assert answer("def f(x): return x.sort()") == {"value": None, "first": [1, 2]}
    assert answer("def f(x): return x.sort() or len(x)") == {"value": 2}
    assert answer("def f(x): return {1: {2}, 'a': float('inf')}") == {
        "value": {"dict": {"1": {"object": "set"}, "a": {"float": "inf"}}}
    }
    assert answer("def f(x): raise ValueError") is None and answer("def g(x): pass") is None


def test_long_values_and_lines():
    for program, arguments, expected in (
        (DOUBLE.replace("\n", "\r\n").replace("double", "f"), [1234], 2468),
        ("f = lambda: 10**5000", [], 10**5000),
        (
            f"f = lambda: [2**{MAX_DECIMAL_BITS - 1}, 2**{MAX_DECIMAL_BITS}]",
            [],
            [2 ** (MAX_DECIMAL_BITS - 1), 2**MAX_DECIMAL_BITS],
        ),
        ("f = lambda n: n + 1", [10**4000], 10**4000 + 1),
        ("f = lambda x: x", [float("nan")], float("nan")),
        ("def f(a, b): return {a: (b, None, True)}", [1, "\ud800é"], {"1": ["\ud800é", None, True]}),
        ("f = lambda a: a.append(1)", [[0] * 9999], None),
        (LINKED.format("Optional[ListNode]"), [[*range(50_000)]], [*range(50_000)][::-1]),
    ):
        assert passes(program, arguments, expected) and not passes(program, arguments, 7)
    tests = read_tests({"inputs": ["9" * 5000], "outputs": ["9" * 5000]})
    assert count_passed("print(int(input()))", tests) == 1


LINKED = """
class Solution:
    def f(self, head: {}) -> Optional[ListNode]:
        last = None
        while head:
            head.next, last, head = last, head, head.next
        return last
"""


def find_oldest():
    """Return Python 3.8 if it is installed and runs."""
    found = which("python3.8")
    return found if found and subprocess.run([found, "-V"], capture_output=True).returncode == 0 else None


OLDEST = find_oldest()


@pytest.mark.parametrize("file", sorted(INSIDE_FOLDER.glob("*.py")), ids=lambda file: file.stem)
def test_the_code_inside_has_the_syntax_of_python_3_8_and_needs_only_the_standard_library(file):
    tree = ast.parse(file.read_text(), feature_version=(3, 8))
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    absolute = [node for node in nodes if not getattr(node, "level", 0)]
    names = {getattr(node, "module", None) or alias.name for node in absolute for alias in node.names}
    assert {one.partition(".")[0] for one in names} <= sys.stdlib_module_names


@pytest.mark.skipif(OLDEST is None, reason="there is no Python 3.8")
def test_python_3_8_answers_calls():
    tests = read_tests("import pytest\nassert double([1]) == [1, 1]\nwith pytest.raises(TypeError): double(None)")
    for program, cases, passed in (
        ("def f(n): return {'a': (n + 0.5, 10**n)}", write_call_tests([4500], {"a": [4500.5, 10**4500]}), 1),
        (LINKED.format("Optional[ListNode]"), write_call_tests([[1, 2]], [2, 1]), 1),
        (DOUBLE, SCRIPT, 1),
        (DOUBLE, tests, 1),
        ("def double(x): return x", tests, 0),
    ):
        assert count_passed(program, cases, sandbox=PlainSandbox(OLDEST)) == passed


list_node, tree_node = NODES["list_node"], NODES["tree_node"]


@given(st.lists(st.integers()))
def test_nodes(values):
    assert list_values(list_node(values)) == values
    assert NODES["is_same_list"](list_node(values), list_node(values))
    assert not NODES["is_same_list"](list_node(values), list_node([*values, 1]))
    for levels in ([], [1], [1, None, 2], [1, 2, 3, None, 4], [1, None, 2, 3]):
        assert tree_values(tree_node(levels)) == levels
    root = tree_node([1, None, 2, 3])
    assert root.left is None and root.right.val == 2 and root.right.left.val == 3
    assert not NODES["is_same_tree"](root, tree_node([1, None, 2, None, 3]))
    circle = list_node([1, 2])
    circle.next.next = circle
    assert list_values(circle) == [1, 2]
