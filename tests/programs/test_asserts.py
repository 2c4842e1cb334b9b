"""Asserts as calls: the forms that are rewritten, what stays weak, and what a call may tell the program."""

import ast

import pytest

from trl_grpo_rewards.programs.assert_forms import rewrite_test
from trl_grpo_rewards.programs.asserts import MAX_TEST_CHARS, rewrite_asserts
from trl_grpo_rewards.programs.cases import UnreadableTests


def rewrite(condition, own_names=frozenset()):
    cases = rewrite_test(ast.parse(condition, mode="eval").body, {*own_names})
    return None if cases is None else [(case.call, case.accepted, case.tolerance) for case in cases]


@pytest.mark.parametrize(
    "condition, call, accepted, tolerance",
    [
        (*one, None)[:4]
        for one in [
            ("f(1, [2]) == 3", "f(1, [2])", (3,)),
            ("3 == f(1)", "f(1)", (3,)),
            ("f(g(1)) == (3 + 5, 2 * 4)", "f(g(1))", ((8, 8),)),
            ("f(1) is None", "f(1)", (None,)),
            ("f(1) == True", "f(1)", (True,)),
            ("f(1)", "not not f(1)", (True,)),
            ("not f(1)", "not f(1)", (True,)),
            ("f(1) in [1, 2]", "f(1)", (1, 2)),
            ("abs(f(1) - 0.5) < 1e-6", "f(1)", (0.5,), 1e-6),
            ("abs(0.5 - f(1)) <= 1e-6", "f(1)", (0.5,), 1e-6),
            ("math.fabs(f(1) - 2) < 1", "f(1)", (2,), 1),
            ("math.isclose(f(1), 2.0, rel_tol=0.001)", "f(1)", (2.0,), 0.002),
            ("math.isclose(2.0, f(1), abs_tol=0.1)", "f(1)", (2.0,), 0.1),
            ("set(f(1)) == {1, 2}", "set(f(1))", ({1, 2},)),
            ("len(sorted(f(1))) == 2", "len(sorted(f(1)))", (2,)),
            ("round(f(1), 2) == 0.33", "round(f(1), 2)", (0.33,)),
            ("f(1)[0][1:] == 'a'", "f(1)[0][1:]", ("a",)),
            ("f(1).x == 2", "f(1).x", (2,)),
            ("Solution().f(1) == 2", "Solution().f(1)", (2,)),
            ("sum(10, 15) == 25", "sum(10, 15)", (25,)),
            ("tuple(f(1)) == tuple([1, 2])", "tuple(f(1))", ((1, 2),)),
        ]
    ],
)
def test_a_test_becomes_a_call_with_accepted_values(condition, call, accepted, tolerance):
    assert rewrite(condition) == [(call, accepted, pytest.approx(tolerance) if tolerance else None)]


def test_several_tests_become_several_calls():
    assert rewrite("f(1) == 2 and not g(3)") == [("f(1)", (2,), None), ("not g(3)", (True,), None)]
    assert rewrite("True") == []


@pytest.mark.parametrize(
    "condition",
    [
        # the program would see what is expected of it
        "int(f(1) == 2) == 1",
        "len([x for x in [1] if f(x) != 2]) == 0",
        "sum([f(1) == 2, f(2) == 3]) == 2",
        "all([f(1) == 2])",
        "abs(f(1) - 2) == 0",
        "round(f(1) - 2, 6) == 0",
        "max(f(1), 5) == 5",
        "sum(f(1), 5) == 9",
        "f(1).__eq__(2) == True",
        "f(1).startswith('ab')",
        "f(1).count(3) == 1",
        "is_close(g(1), 2)",
        "(f(1) == 2) == True",
        "(f(1) == 2) is True",
        "{True: 1}[f(1) == 2] == 1",
        "isinstance(f(1), int)",
        "not (f(1) != 2)",
        "[f(1)] == [2]",
        "'%s' % f(1) == '2'",
        "str(f(1) == 2) == 'True'",
        # what is expected is not a constant
        "f(1) == g(1)",
        "f(1) == x",
        "f(1) == [2 for _ in '1']",
        "abs(f(1) - g(2)) < 1",
        "math.isclose(f(1), g(1))",
        "math.isclose(f(1), 2.0, rel_tol=x)",
        "math.isclose(f(1), 2.0, what=1)",
        # other forms
        "f(1) != 2",
        "f(1) < 2",
        "f(1) in 'abc'",
        "f(1) is 'a'",
        "1 < f(1) < 3",
        "f(1) == 2 or f(1) == 3",
        "f(1) == 2 and f(1) != 3",
        "x == 2",
        "[1, 2] == [1, 2]",
        "x.f(1) == 2",
        "own(f(1), 2)",
        "own(f(1)) == 2",
        "Own().f(1) == 2",
        "math.floor(f(1)) == 2",
    ],
)
def test_other_tests_stay_as_they_are(condition):
    assert rewrite(condition, {"own", "Own", "math", "x"}) is None


HUMAN_EVAL = """
METADATA = {"author": "a"}

def check(candidate):
    import math
    assert True, "a message"
    assert candidate([1]) == 1, "another"
    assert math.isclose(candidate([2]), 2.5, abs_tol=0.1)
    for x in range(3):
        assert candidate([x]) == x
    y = 3
    assert candidate(y) == 3
"""


def test_a_check_function_is_rewritten_and_what_remains_is_weak():
    found = rewrite_asserts(HUMAN_EVAL, "head")
    assert [case.call for case in found.calls] == ["candidate([1])", "candidate([2])"]
    assert found.setup == "candidate = head"
    assert found.weak.asserts == 2 and found.weak.tests.endswith("check(head)") and "[1]" not in found.weak.tests
    assert {"candidate", "head"} <= found.weak.names


def test_a_check_function_without_a_name_to_check_is_refused_unless_it_is_called():
    with pytest.raises(UnreadableTests, match="'entry_point'"):
        rewrite_asserts(HUMAN_EVAL)
    assert "candidate = head" in rewrite_asserts(HUMAN_EVAL + "\ncheck(head)").setup


def test_test_functions_are_rewritten():
    found = rewrite_asserts("from solution import f\n\ndef test_f():\n    assert f(1) == 2\n\ntest_f()\n")
    assert [case.call for case in found.calls] == ["f(1)"] and found.weak is None
    assert found.setup == "from solution import f" and found.weak is None


def test_names_that_change_between_asserts_stay_weak():
    changing = "x = [1]\nassert f(x) == 1\nx = [2]\nassert f(x) == 2"
    assert rewrite_asserts(changing).calls == [] and rewrite_asserts(changing).weak.asserts == 2
    late = "assert f(1) == 1\nx = 2\nassert f(x) == 2\n"
    assert [case.call for case in rewrite_asserts(late).calls] == ["f(1)"]
    assert [case.call for case in rewrite_asserts("x = [1]\nassert f(x) == 1\nassert g(x) == 2").calls] == [
        "f(x)",
        "g(x)",
    ]


def test_statements_before_the_first_assert_prepare_every_call():
    found = rewrite_asserts("x = []\nx.append(1)\nassert f(x) == 1\nassert f(2) == 2")
    assert found.setup == "x = []\nx.append(1)" and [case.call for case in found.calls] == ["f(x)", "f(2)"]
    changed = rewrite_asserts("x = []\nassert f(x) == 0\nx.append(1)\nassert f(x) == 1\nassert f(2) == 2")
    assert changed.setup == "" and [case.call for case in changed.calls] == ["f(2)"]
    assert changed.weak.asserts == 2 and "x.append(1)" in changed.weak.tests


def test_calls_get_only_the_statements_that_they_need():
    source = """
import math, copy
def reference(x):
    return 2 * x
LIMIT = 3
def build(n):
    return [LIMIT] * n
expected = reference(5)
x = build(2)
x.append(4)
assert double(5) == 10
assert total(copy.copy(x)) == 10
"""
    found = rewrite_asserts(source)
    assert len(found.calls) == 2 and found.weak is None
    assert "reference" not in found.setup and "expected" not in found.setup
    assert all(needed in found.setup for needed in ("copy", "LIMIT = 3", "def build", "x.append(4)"))


def test_asserts_in_a_helper_are_weak_if_it_is_called():
    helper = "def same(a, b):\n    assert a == b\n"
    assert rewrite_asserts(f"{helper}same(f(1), 2)").weak.asserts == 1
    assert rewrite_asserts(f"{helper}assert f(1) == 2").weak is None
    assert rewrite_asserts("if __name__ == '__main__':\n    assert f(1) != 2").weak.asserts == 1


def test_functions_of_the_tests_are_not_functions_of_the_program():
    found = rewrite_asserts("def same(a, b):\n    return a == b\nassert same(f(1), 2)\nassert same(1, 1)")
    assert found.calls == [] and found.weak.asserts == 2


def test_loose_loops_run_only_in_the_weak_case():
    found = rewrite_asserts("n = 3\nfor x in range(n):\n    assert f(x) == x\nassert f(0) == 0")
    assert found.setup == "" and [case.call for case in found.calls] == ["f(0)"] and found.weak.asserts == 1


@pytest.mark.parametrize(
    "source, reason",
    [
        ("assert f(1) ==", "invalid syntax"),
        ("", "found none"),
        ("x = 1", "found none"),
        ("assert True", "found none"),
        ("print(f(1))", "found none"),
        ("def verify():\n    assert f(1) == 2", "found none"),
        ("class TestF:\n    def test_f(self):\n        assert f(1) == 2", "found TestF"),
        ("async def test_f():\n    assert f(1) == 2", "found test_f"),
        ("def test_f(tmp_path):\n    assert f(1) == 2", "without pytest"),
        ("@given(x)\ndef test_f():\n    assert f(1) == 2", "without pytest"),
        ("#" * (MAX_TEST_CHARS + 1), "characters"),
        ("assert f(1) == " + "9" * 5000, "4300"),
        ("assert f(" + "-" * 100_000 + "1) == 2", "begin with 'assert f"),
        ("assert f(1" + ".x" * 100_000 + ") == 2", "begin with 'assert f"),
        ("assert f(1) == 2\0", "null"),
        ("assert f('\ud800') == 2", "begin with"),
    ],
    ids=range(16),
)
def test_what_cannot_be_read_is_one_error(source, reason):
    with pytest.raises(UnreadableTests, match=reason):
        rewrite_asserts(source)
