r"""Names and lists: what only names a value, what is an equation, and which lists say the same."""

import pytest

from trl_grpo_rewards.mathematics.comparison import compare
from trl_grpo_rewards.mathematics.items import ItemReader, fill_dots, is_condition
from trl_grpo_rewards.mathematics.lists import as_collection, find_item_names, is_letter
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.mathematics.names import find_labelled_value, have_same_name, is_name, is_set_name
from trl_grpo_rewards.mathematics.reader import Reader, read
from trl_grpo_rewards.mathematics.relations import compare_differences, find_factor
from trl_grpo_rewards.mathematics.values import Collection, Symbol


def is_equal(one, other):
    return compare(read(one), read(other), AnswerRules())


@pytest.mark.parametrize("name", [
    "x", "x_1", "AB", "|AB|", r"\angle ABC", r"m\angle A", "f(2)", "f'(x)", "y'", r"\frac{dy}{dx}", r"P(A \mid B)",
    r"n(A \cap B)", "(f+g)(2)", r"(f \circ g)(2)", r"f \circ g(2)", r"|AB|_{\max}", r"\left.\frac{dy}{dx}\right|_{x=1}",
    r"\det A", r"\dim V", r"\max f(x)", r"\text{Area}", r"\text{Area}(ABC)", r"|\vec a + \vec b|", r"\tan(A+B)",
    r"\sin 2\alpha", "A^c", r"\complement_U A", r"A \cap B", r"\frac{AB}{CD}", r"\vec a \cdot \vec b", r"\nabla f",
])  # fmt: skip
def test_a_name_is_no_part_of_the_answer(name):
    assert is_equal("7", f"{name} = 7") is is_equal(f"{name} = 7", "7") is True
    assert is_equal("7", f"{name} = 8") is False


@pytest.mark.parametrize(
    "left",
    [
        "2x",
        "x^2",
        "-x",
        "x+1",
        "|x|",
        "|n|",
        "x-y",
        r"\sqrt{x}",
        r"\frac{x}{2}",
        r"\sin^2 x + \cos^2 x",
        "3!",
        "8",
        "",
    ],
)
def test_an_equation_is_not_answered_by_its_right_side(left):
    assert not is_equal("7", f"{left} = 7") or left == ""


def test_the_value_of_a_name():
    assert find_labelled_value(read("5 = x")) == read("5")
    assert (
        find_labelled_value(read("S = 3 + 4 = 7")) == read("7") and find_labelled_value(read("S = 3 + 4 = 8")) is None
    )
    assert find_labelled_value(read(r"\{1\} = A \cap B")) == read(r"\{1\}")
    assert find_labelled_value(read("x < 5")) is None
    assert is_name(Symbol("x")) and not is_name(Symbol("\\pi")) and is_set_name(read(r"A \cup B"))


@pytest.mark.parametrize(
    "one, other, same",
    [
        ("y", "f(x)", True),
        ("y'", "f'(x)", True),
        (r"\frac{dy}{dx}", "y'", True),
        ("P(A)", "P(B)", False),
        ("y", "y'", False),
    ],
)
def test_two_names_of_one_thing(one, other, same):
    assert have_same_name(read(one), read(other)) is same is have_same_name(read(other), read(one))


@pytest.mark.parametrize(
    "gold, answers",
    [
        ("2, 3", ["3 and 2", r"\{2, 3\}", "x=2, y=3", r"2 \text{ or } 3", r"2 \& 3", "x = 2, 3", r"\{x : x = 2 \text{ or } x = 3\}"]),
        ("2, 2", ["m = n = 2", "m = 2, n = 2"]),
        ("x = 2, y = 3", ["y = 3, x = 2", "(x, y) = (2, 3)", "2, 3"]),
        (r"\pm 2", ["2, -2", r"x = \pm 2", r"\{2, -2\}", "-2 or 2"]),
        (r"(\pm 1, 2)", ["(1, 2), (-1, 2)", r"(\pm 1, 2)"]),
        ("1, 2, 3, 4, 5", [r"1, 2, \ldots, 5", "1,2,3,...,5"]),
        ("(1, 2)", [r"\langle 1, 2 \rangle", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"]),
        ("BD", ["B, D", "D and B"]),
        ("5", ["5 or 5.0", r"\{5\}"]),
        (r"2k\pi, k \in \mathbb{Z}", [r"2n\pi, n \in \mathbb{Z}", r"\{2k\pi \mid k \in \mathbb{Z}\}", r"\{x \mid x = 2k\pi, k \in \mathbb{Z}\}"]),
    ],
)  # fmt: skip
def test_lists_that_say_the_same(gold, answers):
    assert [is_equal(gold, answer) for answer in answers] == [True] * len(answers)


@pytest.mark.parametrize(
    "gold, answers",
    [
        ("2, 3", ["2", "2, 3, 4", "2, 2", "x = 3, 4", "2 or 4"]),
        ("2", ["2, 3", "2 or 3", "x = 2, y = 3"]),
        ("x = 2", ["x = y = 2", "y = 2"]),
        ("x = 2, y = 3", ["x = 3, y = 2"]),
        ("(1, 2)", ["(2, 1)", "(1, 2, 0)", r"\{1, 2\}", r"(\pm 1, 2)"]),
        ("2n", ["2k"]),
        (r"1, 2, \ldots, 5", [r"1, 2, \ldots, 6"]),
        (r"\emptyset", [r"\{\emptyset\}"]),
    ],
)
def test_lists_that_differ(gold, answers):
    assert [is_equal(gold, answer) for answer in answers] == [False] * len(answers)


def test_what_counts_as_a_list():
    pair = read("(1, 2)")
    assert as_collection(read("BD"), read("B, D")) == Collection("", (Symbol("B"), Symbol("D")))
    assert as_collection(read("i + 2j"), pair).brackets == "<>" and as_collection(read("x"), pair) is None
    assert is_letter(Symbol("B")) and not is_letter(Symbol("x"))
    assert len(find_item_names(read("x=1, y=2"))) == 2 and find_item_names(read("x=1, 2")) != []


def test_equations_are_equal_if_their_differences_are_proportional():
    assert compare_differences(read("2x - 4 = 0"), read("x = 2")) and not compare_differences(
        read("x = 2"), read("x = 3")
    )
    assert compare_differences(read("-x < 2"), read("x > -2")) and not compare_differences(
        read("-x < 2"), read("x < -2")
    )
    assert abs(find_factor(read("x + y"), read("3x + 3y")) - 3) < 1e-30
    assert find_factor(read("x"), read("x^2")) is None and find_factor(read("1"), read("2")) is None


def test_items_of_lists():
    assert issubclass(Reader, ItemReader)
    assert is_condition(read(r"k \in \mathbb{Z}"), read("k")) and is_condition(read(r"x \ne 0"), read(r"\frac1x"))
    assert not is_condition(read(r"x \ne 0"), read("5")) and not is_condition(read("x < 0"), read("x"))
    assert fill_dots([read("2"), read("4"), read(r"\ldots"), read("8")]) == [read(number) for number in "2468"]
    assert len(fill_dots([read("1"), read("2"), read(r"\ldots"), read("1000")])) == 4  # too many
