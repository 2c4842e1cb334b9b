"""What runs inside the sandbox: scripts, calls and their answers."""

import ast
import json
import subprocess
import sys
from shutil import which

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers import plain_programs
from helpers.judged_programs import count_passed
from trl_grpo_rewards.programs.cases import CallCase, RowTests
from trl_grpo_rewards.programs.comparison import is_right_value
from trl_grpo_rewards.programs.formats import read_tests
from trl_grpo_rewards.programs.inside import prelude as nodes
from trl_grpo_rewards.programs.inside.calls import MAX_BITS
from trl_grpo_rewards.programs.inside.prelude import NODES, PRELUDES
from trl_grpo_rewards.programs.row_verdicts import FOLDER, bundle, write_call


DOUBLE = "def double(x):\n    return 2 * x\n\nif __name__ == '__main__':\n    print(double(int(input())))\n"
SCRIPT = read_tests({"inputs": ["1234\n"], "outputs": ["2468\n"]})
FUNCTION = read_tests({"inputs": ["1234"], "outputs": ["2468"], "fn_name": "double"})


def write_call_tests(arguments, expected):
    return RowTests((CallCase("f", json.dumps(arguments), (expected,)),))


def passes(program, arguments, expected, packages=()):
    return count_passed(program, write_call_tests(arguments, expected), packages) == 1


@pytest.mark.parametrize("tests", [SCRIPT, FUNCTION], ids=["script", "function"])
@pytest.mark.parametrize(
    "program",
    [
        DOUBLE,
        "from __future__ import annotations\n" + DOUBLE,
        "class Solution:\n    def double(self, x): return 2 * x\n" + DOUBLE,
        "print('hello', end='') if __name__ != '__main__' else None\n" + DOUBLE,
        "import sys, io\nif __name__ != '__main__': sys.stdout = io.StringIO()\n" + DOUBLE,
        "import atexit\natexit.register(len, ())\n" + DOUBLE,
        "import threading\nthreading.Thread(target=len, args=([],)).start()\n" + DOUBLE,
        "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: 'int'\n" + DOUBLE,
        "# café ☕ \U0001f600 \n" + DOUBLE,
        DOUBLE.replace("\n", "\r\n"),
        "double = lambda x: 2 * x\nif __name__ == '__main__':\n    import sys\n    sys.stdout.buffer.write(b'2468')",
    ],
    ids=range(11),
)
def test_honest_programs_pass(tests, program):
    assert count_passed(program, tests) == 1


@pytest.mark.parametrize(
    "program, arguments, expected",
    [
        ("from collections import *\nf = lambda: Counter('aab')", [], {"a": 2, "b": 1}),
        ("from collections import *\nf = lambda: namedtuple('P', 'x')(1)", [], [1]),
        ("import enum\nE = enum.IntEnum('E', 'A')\nf = lambda: [E.A]", [], [1]),
        ("import enum\nE = enum.Enum('E', {'A': 'a'}, type=str)\nf = lambda: E.A", [], "a"),
        ("f = lambda: 10**5000", [], 10**5000),
        (f"f = lambda: [2**{MAX_BITS - 1}, 2**{MAX_BITS}]", [], [2 ** (MAX_BITS - 1), 2**MAX_BITS]),
        ("f = lambda n: n + 1", [10**4000], 10**4000 + 1),
        ("f = lambda x: x", [float("nan")], float("nan")),
        ("def f(n): return [] if n == 0 else [f(n - 1)]", [3], [[[[]]]]),
        ("import sys\nsys.setrecursionlimit(10**5)\ndef f(n): return n and f(n - 1)", [5000], 0),
        ("def f(x: List[int]) -> Optional[int]: return heappop(x) + gcd(4, 6) + pow(2, 3, 5)", [[1]], 6),
        ("def f(a, b): return {a: (b, None, True)}", [1, "\ud800é"], {"1": ["\ud800é", None, True]}),
        ("print('x' * 500_000)\nf = lambda: 1", [], 1),
        ("from fractions import *\nfrom decimal import *\nf = lambda: [Fraction(6, 3), Decimal('0.5')]", [], [2, 0.5]),
        ("class F(float):\n    def __repr__(self): return '7'\nf = lambda: F(1.5)", [], 1.5),
        ("class Solution:\n    def g(self): return 2\ndef f(): return Solution().g()", [], 2),
        ("f = max", [1, 3], 3),
        ("f = lambda: None", [], None),
        ("f = lambda a: a.append(1)", [[0] * 9999], None),
    ],
    ids=range(19),
)
def test_what_honest_functions_return(program, arguments, expected):
    assert passes(program, arguments, expected)
    assert not passes(program, arguments, 7)


def test_what_is_no_list_equals_none():
    for value in "{1}|frozenset([1])|(x for x in [1])|map(int, '1')|{1: 0}.keys()|deque([1])|b'1'|range(1, 2)".split(
        "|"
    ):
        assert not passes(f"f = lambda: {value}", [], [1]), value


def test_scalars_of_numpy_are_numbers():
    pytest.importorskip("numpy")
    program = (
        "import numpy as np\nf = lambda: [np.int64(3), np.float32(0.5), np.bool_(True), np.float64(2), np.array(4)]"
    )
    numpy = ("numpy",)
    assert passes(program, [], [3, 0.5, True, 2, 4], numpy) and not passes(program, [], [3, 0.5, False, 2, 4], numpy)
    assert not passes("import numpy as np\nf = lambda: np.array([1])", [], [1], numpy)


def test_scripts_may_read_and_print_integers_of_any_length():
    tests = read_tests({"inputs": ["9" * 5000], "outputs": ["9" * 5000]})
    assert count_passed("print(int(input()))", tests) == 1


def test_a_script_has_a_main_module():
    program = (
        "from __future__ import annotations\nimport sys, dataclasses\n@dataclasses.dataclass\nclass A:\n    x: int\n"
        "print(sys.modules['__main__'].A(3).x, __name__)"
    )
    assert count_passed(program, read_tests({"inputs": [""], "outputs": ["3 __main__"]})) == 1


@pytest.mark.parametrize("name", ["factorial", "gcd", "merge", "count", "List", "math", "reduce", "sum", "ListNode"])
def test_what_is_imported_for_a_program_does_not_pass_its_tests(name):
    tests = read_tests({"inputs": ["5"], "outputs": ["120"], "fn_name": name})
    assert count_passed("", tests) == 0
    assert count_passed(f"def {name}(n): return 120", tests) == 1


def test_methods_of_a_class_are_called_on_a_new_object():
    tests = read_tests({"inputs": ["1", "2"], "outputs": ["1", "1"], "fn_name": "count"})
    program = "class Solution:\n    n = 0\n    def count(self, x):\n        self.n += 1\n        return self.n"
    assert count_passed(program, tests) == 2
    assert count_passed("class Solution:\n    def count(self, x): return count", tests) == 0


def test_the_answer_holds_the_first_argument_only_after_none():
    def answer(program):
        return json.loads(
            plain_programs.run_plainly(bundle(write_call("calls", "answer_call", program, "f")), "[[2, 1]]") or "null"
        )

    assert answer("def f(x): return x.sort()") == {"value": None, "first": [1, 2]}
    assert answer("def f(x): return x.sort() or len(x)") == {"value": 2}
    assert answer("def f(x): return {1: {2}, 'a': float('inf')}") == {
        "value": {"dict": {"1": {"object": "set"}, "a": {"float": "inf"}}}
    }
    assert answer("def f(x): raise ValueError") is None and answer("def g(x): pass") is None


LINKED = """
class Solution:
    def f(self, head: {}) -> Optional[ListNode]:
        last = None
        while head:
            head.next, last, head = last, head, head.next
        return last
"""
OWN = "class ListNode:\n    def __init__(self, x):\n        self.val, self.next, self.own = x, None, True\n"


@pytest.mark.parametrize(
    "hint", ["Optional[ListNode]", "ListNode", "'ListNode'", "Optional['ListNode']", "ListNode | None"]
)
def test_linked_lists(hint):
    for program in (LINKED, OWN + LINKED, "from __future__ import annotations\n" + LINKED, "# definition\n" + LINKED):
        assert passes(program.format(hint), [[1, 2, 3]], [3, 2, 1])
    assert passes(LINKED.format(hint), [[]], []) and not passes(LINKED.format(hint), [[1, 2]], [1, 2])
    assert passes(LINKED.format(hint), [[*range(50_000)]], [*range(50_000)][::-1])


def test_lists_of_linked_lists():
    program = """
def f(lists: List[Optional[ListNode]], k: int) -> List[Optional[ListNode]]:
    assert all(isinstance(one, (ListNode, type(None))) for one in lists) and k == 2
    return [lists[1], lists[0]]
"""
    assert passes(program, [[[1], [2, 3]], 2], [[2, 3], [1]]) and passes(program, [[[], [2]], 2], [[2], []])


def test_a_linked_list_that_is_changed_in_place():
    tests = read_tests({"inputs": [[[1, 2, 3]]], "outputs": [[3, 2]], "fn_name": "f"})
    program = "def f(head: ListNode) -> None:\n    head.val, head.next = 3, head.next{}"
    assert count_passed(program.format("\n    head.next.next = None"), tests) == 1
    assert count_passed(program.format(""), tests) == 0
    empty = read_tests({"inputs": [[[]], [[1]]], "outputs": [[], [2]], "fn_name": "f"})
    assert count_passed("def f(head: ListNode) -> None:\n    if head: head.val = 2", empty) == 2
    assert passes("def f() -> ListNode: return None", [], [])


@pytest.mark.parametrize(
    "tree, mirrored",
    [
        ([1, 2, 3], [1, 3, 2]),
        ([1, None, 2, 3], [1, 2, None, None, 3]),
        ([5, 4, 8, 11, None, 13, 4, 7, 2, None, None, None, 1], [5, 8, 4, 4, 13, None, 11, 1, None, None, None, 2, 7]),
        ([0, 0], [0, None, 0]),
        ([], []),
    ],
    ids=range(5),
)
def test_trees(tree, mirrored):
    program = """
def f(root: Optional[TreeNode]) -> Optional[TreeNode]:
    return root and TreeNode(root.val, f(root.right), f(root.left))
"""
    assert passes(program, [tree], mirrored) and passes(program, [mirrored], tree)
    assert passes("def f(root: TreeNode) -> TreeNode: return root", [tree], tree)


def find_oldest():
    """Return Python 3.8 if it is installed and runs."""
    found = which("python3.8")
    return found if found and subprocess.run([found, "-V"], capture_output=True).returncode == 0 else None


OLDEST = find_oldest()


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.py")), ids=lambda file: file.stem)
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
        assert plain_programs.count_passed(program, cases, OLDEST) == passed


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(), inner, max_size=5),
    max_leaves=10,
)


@given(st.lists(PLAIN, min_size=10))
@settings(max_examples=5, deadline=None)
def test_what_is_written_inside_is_read_outside(values):
    case = CallCase("f", json.dumps(values), (values,))
    source = bundle(write_call("calls", "answer_call", "def f(*values): return values", "f"))
    output = plain_programs.run_plainly(source, case.arguments)
    assert output and is_right_value(output, case)
    assert not is_right_value(output, CallCase("f", case.arguments, ([*values, None],)))


@given(st.lists(st.integers()))
def test_nodes_of_lists(values):
    assert nodes.list_values(nodes.list_node(values)) == values
    assert NODES["is_same_list"](nodes.list_node(values), nodes.list_node(values))
    assert not NODES["is_same_list"](nodes.list_node(values), nodes.list_node([*values, 1]))


def test_nodes_of_trees():
    for values in ([], [1], [1, None, 2], [1, 2, 3, None, 4], [1, None, 2, 3]):
        assert nodes.tree_values(nodes.tree_node(values)) == values
    root = nodes.tree_node([1, None, 2, 3])
    assert root.left is None and root.right.val == 2 and root.right.left.val == 3
    assert not NODES["is_same_tree"](root, nodes.tree_node([1, None, 2, None, 3]))


def test_a_list_that_is_a_circle_ends():
    first = nodes.list_node([1, 2])
    first.next.next = first
    assert nodes.list_values(first) == [1, 2]


def test_preludes():
    assert {"math", "collections", "re"} <= {*PRELUDES["usual"]}
    assert {"List", "math", "ListNode"} <= {*PRELUDES["usual"]} and "gcd" not in PRELUDES["usual"]
    assert {"gcd", "heappop", "Counter", "List"} <= {*PRELUDES["contest"]}
    assert PRELUDES["contest"]["pow"] is pow  # that of math has two parameters
