r"""Vectors and matrices: what is worked out, what only looks like a vector, and that the work is bounded."""

import time

import pytest

from trl_grpo_rewards.mathematics.arrays import as_matrix, combine, find_determinant, make_identity, transpose
from trl_grpo_rewards.mathematics.comparison import compare
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.mathematics.rationals import evaluate_exactly
from trl_grpo_rewards.mathematics.tokens import Unreadable
from trl_grpo_rewards.mathematics.values import Collection, Matrix, Symbol


def is_equal(one, other):
    return compare(read(one), read(other), AnswerRules())


@pytest.mark.parametrize(
    "one, other, verdict",
    [
        (r"\frac15(3,-4)", "(0.6,-0.8)", True),
        ("-(1,2)", "(-1,-2)", True),
        ("-(1,2)", "(-1,2)", False),
        ("(2,4)-(1,1)", "(1,3)", True),
        ("(1,2,0)+t(1,-1,3)", "(1+t,2-t,3t)", True),
        ("(1,2,0)+t(1,-1,3)", "(1+t,2-t,3)", False),
        ("(3,6)/3", "(1,2)", True),
        ("<2,1,-3>", "(2,1,-3)", True),
        ("<1,2>+t<3,4>", "(1+3t,2+4t)", True),
        ("x<2, y>3", "(2,3)", False),
        (r"(4,-1)^{\mathsf T}", r"\begin{pmatrix}4\\-1\end{pmatrix}", True),
        (r"\begin{pmatrix}4&-1\end{pmatrix}^\top", r"\begin{pmatrix}4\\-1\end{pmatrix}", True),
        (r"\begin{pmatrix}1&3\\2&4\end{pmatrix}^T", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", True),
        (r"\begin{pmatrix}1&3\\2&4\end{pmatrix}^T", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}", False),
        (r"\begin{pmatrix}1&-1\\-1&2\end{pmatrix}^{-1}", "[[2,1],[1,1]]", True),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}^{2}", r"\begin{pmatrix}7&10\\15&22\end{pmatrix}", True),
        (r"\det\begin{pmatrix}1&2\\3&4\end{pmatrix}", "-2", True),
        (r"\left|\begin{matrix}1&2\\3&4\end{matrix}\right|", "-2", True),
        (r"\begin{vmatrix}2&0&1\\1&3&2\\1&1&4\end{vmatrix}", "18", True),
        (r"\begin{vmatrix}2&0&1\\1&3&2\\1&1&4\end{vmatrix}", "-18", False),
        ("I_2", r"\begin{pmatrix}1&0\\0&1\end{pmatrix}", True),
        ("I_3", r"\begin{pmatrix}1&0\\0&1\end{pmatrix}", False),
        (r"A^{-1}=\begin{pmatrix}2&1\\1&1\end{pmatrix}", r"\begin{pmatrix}2&1\\1&1\end{pmatrix}", True),
        (r"2A=\begin{pmatrix}2&1\\1&1\end{pmatrix}", r"\begin{pmatrix}2&1\\1&1\end{pmatrix}", False),
        ("A^{-1}=5", "5", False),
        ("P(1,2)", "(1,2)", True),
        ("A(1,2)", "(1,2)", True),
        ("A(1,2)", "B(1,2)", False),
        ("A(1,0), B(0,2)", "B=(0,2), A=(1,0)", True),
        ("f(1,2)", "(1,2)", False),
        (r"2\hat{\mathbf{i}}-\hat{\jmath}", "(2,-1)", True),
        (r"2\hat{x}+\hat{y}-3\hat{z}", "(2,1,-3)", True),
        (r"\nabla f=2x\mathbf{i}+2y\mathbf{j}", "(2x,2y)", True),
    ],
)  # fmt: skip
def test_arrays_are_worked_out(one, other, verdict):
    assert is_equal(one, other) is is_equal(other, one) is verdict


@pytest.mark.parametrize(
    "text", ["(1,2)(3,4)", "(1,2)^2", "(1,2)+(1,2,3)", r"2(0,\infty)", r"(0,1)+(2,\infty)", "-{1,2}", "2{1,2}"]
)
def test_other_operations_on_lists_are_not_read(text):
    assert read(text) is None


def test_a_determinant_needs_a_small_square():
    matrix = read(r"\begin{pmatrix}1&2&3\\4&5&6\end{pmatrix}")
    with pytest.raises(Unreadable):
        find_determinant(matrix.rows)
    with pytest.raises(Unreadable):
        find_determinant(make_identity(5).rows)
    assert evaluate_exactly(find_determinant(make_identity(4).rows)) == 1
    assert [len(row) for row in transpose(matrix).rows] == [2, 2, 2]
    with pytest.raises(Unreadable):
        transpose(read(r"\{1,2\}"))


def test_rows_in_brackets_are_a_matrix_next_to_one():
    identity = make_identity(2)
    assert isinstance(as_matrix(read("[[1,2],[3,4]]"), identity), Matrix)
    assert isinstance(as_matrix(read("[[1,2],[3]]"), identity), Collection)
    assert as_matrix(Symbol("I"), identity) == identity and as_matrix(Symbol("J"), identity) == Symbol("J")


def test_repeated_work_is_bounded():
    start = time.process_time()
    matrix = r"\begin{pmatrix}x&1\\1&x\end{pmatrix}"
    nested = "x"
    for _ in range(25):
        nested = rf"\begin{{vmatrix}}{nested}&1&2&3\\1&2&y&4\\3&1&4&z\\2&7&1&8\end{{vmatrix}}"
    for text in (matrix * 60, matrix + "^{-1}" * 30, matrix + "^3" * 30, nested, "+".join(["t(1,2)"] * 300)):
        value = read(text)
        assert value is None or compare(value, read(text.replace("x", "y")), AnswerRules()) is not None
    assert time.process_time() - start < 2


def test_a_product_with_a_list_has_a_reason():
    with pytest.raises(Unreadable, match="no expression"):
        combine("+", Symbol("x"), read("(1,2)"))
