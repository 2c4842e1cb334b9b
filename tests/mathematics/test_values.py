"""What values of every kind share: their parts, which can be listed and changed."""

from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.values import (
    Number,
    Symbol,
    change_parts,
    find_names,
    find_symbols,
    list_parts,
    make_number,
    substitute,
    walk,
)


TEXTS = ["x+1", "f(x)", "(x,2)", r"\{x, 2\}", "x < 2", "x:2", "5x \\text{ cm}", r"\begin{pmatrix}x&2\\3&4\end{pmatrix}",
         r"\{x \mid x > 1\}", r"2x\pi, x \in \mathbb{Z}", r"x \pmod 5", r"\begin{cases}x & x<0\\1 & x\ge 0\end{cases}", "B. x"]  # fmt: skip


def test_a_value_is_changed_in_its_parts():
    for text in TEXTS:
        value = read(text)
        assert list_parts(value) and change_parts(value, lambda part: part) == value, text
        changed = list_parts(change_parts(value, lambda part: Symbol("y")))
        assert changed == [Symbol("y")] * len(list_parts(value)), text


def test_a_name_is_replaced_everywhere():
    assert substitute(read("(x, x+1) = y"), {"x": make_number(3)}) == read("(3, 3+1) = y")
    assert substitute(read("x, x<2"), {"x": Symbol("z")}) == read("z, z<2")


def test_names_of_indices_and_constants_are_no_variables():
    value = read(r"\sum_{k=1}^n k x + \pi e")
    assert find_symbols(value) == {"n", "x"} and find_names(value) == {"n", "x", "e", "\\pi"}
    assert {one.value for one in walk(read("2x+3")) if isinstance(one, Number)} == {2, 3}
