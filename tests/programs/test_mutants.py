"""Small faults in right programs, and tests that do not notice them."""

import pytest

from trl_grpo_rewards.programs.examination import TRIED_FAULTS, list_faults, write_mutants


@pytest.mark.parametrize(
    "program, faults",
    [
        ("def f(a, b):\n    return a + b", {"    return a - b", "    return None"}),
        ("def f(x):\n    if x > 2:\n        raise ValueError(x + 1)\n    return not x", {
            "    if not x > 2:", "    if x >= 2:", "    if x > 3:", "    return  x", "    return None",
        }),
        ('print(max(int(input()), 7))\nA = "x + 1"', {"print(min(int(input()), 7))", "print(max(int(input()), 8))", "pass"}),
        ("def f(*many):\n    return g(*many, **{}) is not None", {"    return g(*many, **{}) is  None", "    return None"}),
        ("total = 0\nfor x in map(int, input().split()):\n    total += x", {"total = 1", "pass", "    pass"}),
        ("def f(x):\n    '''Add 1.'''\n    return x * 2", {"    return x + 2", "    return x * 3", "    return None"}),
    ],
)  # fmt: skip
def test_faults_are_operators_constants_branches_and_lines(program, faults):
    assert {line for _, line in list_faults(program)} == faults


def test_a_few_faults_that_are_spread_over_a_program_are_tried():
    program = "def f(x):\n" + "".join(f"    x = x + {one}\n" for one in range(40)) + "    return x"
    changed = [change for _, change in write_mutants(program)]
    assert len(changed) == TRIED_FAULTS and changed[0] == "'x = x + 0' became 'x = x + 1'" and "x + 2" in changed[-1]
    assert [change for _, change in write_mutants("a = b if c >= d else e")] == [
        "'a = b if c >= d else e' became 'a = b if not c >= d else e'"
    ]
    assert not [*write_mutants("def f(")] and not [*write_mutants("print 1")]
