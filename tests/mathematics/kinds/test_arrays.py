r"""Vectors and matrices: what is worked out, what only looks like a vector, and that the work is bounded."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.arrays import Matrix
from trl_grpo_rewards.mathematics.kinds.lists import Collection


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
    rows = [" & ".join(str(int(row == place)) for place in range(5)) for row in range(5)]
    four, five = (r" \\ ".join(row[: 4 * size - 3] for row in rows[:size]) for size in (4, 5))
    assert is_equal("1", rf"\det\begin{{pmatrix}} {four} \end{{pmatrix}}") is True
    assert read(rf"\begin{{vmatrix}} {five} \end{{vmatrix}}") is None
    assert is_equal(r"\begin{vmatrix}1&2&3\\4&5&6\end{vmatrix}", "0") is not True


def test_rows_in_brackets_are_a_matrix_next_to_one():
    matrix = r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"
    assert isinstance(read("[[1,2],[3,4]]"), Collection) and is_equal(matrix, "[[1,2],[3,4]]") is True
    assert is_equal(matrix, "[[1,2],[3]]") is is_equal(matrix, "[[1,2],[4,3]]") is is_equal(matrix, "I") is False
    assert is_equal(r"\begin{pmatrix}1&0\\0&1\end{pmatrix}", "I") is True
    assert is_equal("(1,2)^T", r"\begin{pmatrix}1\\2\end{pmatrix}") is True and read(r"\{1,2\}^T") is None


@pytest.mark.parametrize(
    "text, worked_out",
    [
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}\begin{pmatrix}0&1\\1&0\end{pmatrix}", r"\begin{pmatrix}2&1\\4&3\end{pmatrix}"),
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}-\begin{pmatrix}0&1\\1&0\end{pmatrix}", r"\begin{pmatrix}1&1\\2&4\end{pmatrix}"),
        (r"2\begin{pmatrix}1\\3\end{pmatrix}", r"\begin{pmatrix}2\\6\end{pmatrix}"),
    ],
)  # fmt: skip
def test_operations_on_matrices_are_worked_out(text, worked_out):
    assert isinstance(read(text), Matrix) and is_equal(worked_out, text) is True


def test_repeated_work_is_bounded():
    start = time.process_time()
    matrix = r"\begin{pmatrix}x&1\\1&x\end{pmatrix}"
    nested = "x"
    for _ in range(25):
        nested = rf"\begin{{vmatrix}}{nested}&1&2&3\\1&2&y&4\\3&1&4&z\\2&7&1&8\end{{vmatrix}}"
    for text in (matrix * 60, matrix + "^{-1}" * 30, matrix + "^3" * 30, nested, "+".join(["t(1,2)"] * 300)):
        assert read(text) is None or is_equal(text, text.replace("x", "y")) is not None
    assert time.process_time() - start < 2


integers = st.integers(-999, 999)


@given(st.lists(integers, min_size=2, max_size=4, unique=True))
@settings(deadline=None)
def test_a_vector_and_a_set_have_one_value_in_every_notation(items):
    listed, cells = ", ".join(map(str, items)), r" \\ ".join(map(str, items))
    vectors = [rf"\langle {listed} \rangle", rf"\begin{{pmatrix}} {cells} \end{{pmatrix}}"]
    vectors += [f"({listed})", rf"\left[\begin{{array}}{{c}} {cells} \end{{array}}\right]"]
    if len(items) == 3:
        vectors.append("+".join(rf"({item})\mathbf{{{name}}}" for item, name in zip(items, "ijk", strict=True)))
        vectors.append(f"[{listed}]")
    assert all(is_equal(one, other) is True for one in vectors for other in vectors)
    backwards = ", ".join(map(str, items[::-1]))
    assert is_equal(f"({listed})", f"({backwards})") is False
    sets = [rf"\{{{listed}\}}", rf"\{{{backwards}\}}", listed, backwards, rf"{listed.replace(', ', ' or ')}"]
    assert all(is_equal(one, other) is True for one in sets for other in sets)
    assert is_equal(rf"\{{{listed}\}}", rf"\{{{listed}, 1000\}}") is False
