"""A solution with a command that nobody knows may mean anything: it is None, and never 0, for the right answer."""

import itertools
import random
import string

import pytest

from trl_grpo_rewards import answer, boxed


GOLDS = [
    "5",
    "\\frac{1}{2}",
    "x^2+1",
    "(1, 2)",
    "\\{1, 2\\}",
    "x = 5",
    "5 \\text{ cm}",
    "\\sqrt{2}",
    "[0, \\infty)",
    "\\sin x",
    "A",
    "1, 2",
]
FORMS = ["{c}{g}", "{c} {g}", "{g}{c}", "{g} {c}", "{c}{{{g}}}", "{g}^{{{c}}}", "{c}({g})", "\\left{c}{g}\\right{c}", "{c}[1]{{{g}}}", "${c}$ {g}", "{c}{g}{c}"]  # fmt: skip


def make_commands(count):
    rng = random.Random(0)
    return ["\\" + "zq" + "".join(rng.choices(string.ascii_lowercase, k=rng.randint(2, 8))) for _ in range(count)]


@pytest.mark.parametrize("reward", [boxed, answer])
def test_a_made_up_command_makes_a_solution_unreadable(reward):
    for command, form, gold in itertools.product(make_commands(3), FORMS, GOLDS):
        solution = form.format(c=command, g=gold)
        scores = reward()(completions=[f"\\boxed{{{gold}}}", "\\boxed{77}"], solution=[solution] * 2)
        assert scores == [None, None], solution


@pytest.mark.parametrize("right", ["5", "\\frac{1}{2}"])
def test_an_answer_with_a_made_up_command_is_wrong(right):
    for command, form in itertools.product(make_commands(2), FORMS):
        assert boxed()(completions=[f"\\boxed{{{form.format(c=command, g=right)}}}"], solution=[right]) == [0.0]


@pytest.mark.parametrize(
    "solution, right",
    [
        ("\\num{5}", "5"), ("5\\displaylimits", "5"), ("A\\smallsetminus B", "A\\setminus B"), ("1+\\dotsb+n", "1+\\dots+n"),
        ("\\lambda^2", "\\lambda\\lambda"), ("lambda + 1", "1+\\lambda"), ("\\hbar\\omega", "\\omega\\hbar"), ("\\aleph_0", "\\aleph_0"),
        ("\\lim_{x \\to 0} \\frac{\\sin x}{x}", "1"),
    ],
)  # fmt: skip
def test_known_commands_are_read(solution, right):
    assert boxed()(completions=[f"\\boxed{{{right}}}"], solution=[solution]) == [1.0]


@pytest.mark.parametrize("sign", ["\\oslash", "\\emptyset", "\\O"])
def test_the_empty_set_is_no_factor(sign):
    assert boxed()(completions=[f"\\boxed{{b {sign} a}}"], solution=[f"a {sign} b"]) == [None]
    assert boxed()(completions=[f"\\boxed{{5{sign}}}"], solution=["0"]) == [0.0]
