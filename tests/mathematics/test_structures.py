r"""Expressions: what binds to what, and what each LaTeX command and each kind of bracket becomes."""

from fractions import Fraction

import pytest

from trl_grpo_rewards.mathematics.arrays import combine
from trl_grpo_rewards.mathematics.cases import RowReader
from trl_grpo_rewards.mathematics.commands import CommandReader
from trl_grpo_rewards.mathematics.cursor import Cursor
from trl_grpo_rewards.mathematics.expressions import ExpressionReader
from trl_grpo_rewards.mathematics.operands import OperandReader
from trl_grpo_rewards.mathematics.operations import expand_plus_minus, make_number, negate
from trl_grpo_rewards.mathematics.rationals import evaluate_exactly
from trl_grpo_rewards.mathematics.reader import Reader, read
from trl_grpo_rewards.mathematics.tokens import MAX_DIGITS, Unreadable, tokenize
from trl_grpo_rewards.mathematics.values import Builder, Collection, Matrix, Number, Operation, Relation, Symbol


def write(value):
    """Return a value as nested lists, which are short to write."""
    match value:
        case Number():
            return int(value.value) if value.value.denominator == 1 else value.value
        case Symbol():
            return value.name
        case Operation():
            return [value.name, *map(write, value.operands)]
        case Collection():
            return [value.brackets, *map(write, value.items)]
        case Relation():
            return [*value.signs, *map(write, value.sides)]
        case Matrix():
            return [[write(cell) for cell in row] for row in value.rows]
        case Builder():
            return ["|", write(value.condition)]
        case _:
            return value


PRECEDENCE = {
    "1+2*3^2": ["+", 1, ["*", 2, ["^", 3, 2]]],
    "-x^2": ["-", ["^", "x", 2]],
    "2x/3y": ["*", ["/", ["*", 2, "x"], 3], "y"],
    "a-b-c": ["+", "a", ["-", "b"], ["-", "c"]],
    "2^3^2": ["^", ["^", 2, 3], 2],
    r"x \cdot -y": ["*", "x", ["-", "y"]],
    "3!^2": ["^", ["factorial", 3], 2],
    "5!!": ["double factorial", 5],
    r"A \cup B \cap C": ["\\cup", "A", ["\\cap", "B", "C"]],
    r"[1,2] U [3,4]": ["\\cup", ["[]", 1, 2], ["[]", 3, 4]],
    r"n \choose k": ["binom", "n", "k"],
    r"{1 \over 2}": ["/", 1, 2],
    "3 x 10^8": ["*", 3, ["^", 10, 8]],
    "2(3)": ["*", 2, 3],
    r"2^{10}": ["^", 2, 10],
    "2^10": ["^", 2, 10],
    "2^-1": ["^", 2, ["-", 1]],
    r"3 \pmod{5}": ["pmod", 3, 5],
    r"2^3-1 \pmod 5": ["pmod", ["+", ["^", 2, 3], -1], 5],
    r"3 (\text{mod } 5)": ["pmod", 3, 5],
    r"x \equiv 3 \bmod 5": ["\\equiv", "x", ["pmod", 3, 5]],
    "3*x**2": ["*", 3, ["^", "x", 2]],
    "**5**": 5,
    "kqQr": ["*", "k", "q", "Q", "r"],
    "GMmr^{-2}": ["*", "G", "M", "m", ["^", "r", -2]],
    r"22\frac12^\circ + x": ["+", ["degree", ["mixed", 22, ["/", 1, 2]]], "x"],
    "x{=}0{.}5": ["=", "x", Fraction(1, 2)],
}
COMMANDS = {
    r"\frac12": ["/", 1, 2],
    r"\frac{1}2x": ["*", ["/", 1, 2], "x"],
    r"\frac\pi2": ["/", "\\pi", 2],
    r"2\frac34": ["mixed", 2, ["/", 3, 4]],
    r"2\frac32": ["*", 2, ["/", 3, 2]],
    r"x \cdot 2\frac32": ["*", "x", 2, ["/", 3, 2]],
    "1 1/2": ["mixed", 1, ["/", 1, 2]],
    r"\sqrt2x": ["*", ["sqrt", 2], "x"],
    "√13": ["sqrt", 13],
    r"\sqrt[3]{x}": ["root", "x", 3],
    r"\sin^2 3x": ["^", ["sin", ["*", 3, "x"]], 2],
    r"\sin^{-1} x": ["arcsin", "x"],
    r"\sin x \cos x": ["*", ["sin", "x"], ["cos", "x"]],
    r"\sin 30^\circ": ["sin", ["radians", ["degree", 30]]],
    r"\cosh x": ["cosh", "x"],
    r"\sinh^{-1} x": ["arcsinh", "x"],
    r"\operatorname{arctg} x": ["arctan", "x"],
    r"\mathrm{arsinh}\,x": ["arcsinh", "x"],
    r"\operatorname{sgn}(x)x": ["*", ["sgn", "x"], "x"],
    r"\sin(60^\circ)": ["sin", ["radians", ["degree", 60]]],
    r"2\text{ cis }\theta": ["*", 2, ["^", "e", ["*", "i", "\\theta"]]],
    r"\overline{1+i}": ["conjugate", ["+", 1, "i"]],
    r"\frac{d}{dx} x^3": ["derivative", "x", ["^", "x", 3]],
    r"\frac{d}{dx} f": ["*", ["/", "d", ["*", "d", "x"]], "f"],
    r"\log_2 8": ["log", 8, 2],
    r"\ln(x)y": ["*", ["ln", "x"], "y"],
    r"\binom{5}{2}": ["binom", 5, 2],
    r"\sum_{k=1}^{n} k^2": ["sum", "k", 1, "n", ["^", "k", 2]],
    r"\int_0^1 x^2 \, dx": ["int", "x", 0, 1, ["^", "x", 2]],
    r"\gcd(6, 9)": ["gcd", 6, 9],
    r"\lcm(4,6)": ["lcm", 4, 6],
    r"\max\{1, 2\}": ["max", 1, 2],
    r"\dim V": "\\operatorname dim V",
    r"\vec{i}": "\\mathbf{i}",
    r"\overline{AB}": "\\overline{A B}",
}
OPERANDS = {
    "1011_2": ["base", 1011, 2],
    r"0.\overline{3}": Fraction(1, 3),
    r"0.1\overline{6}": Fraction(1, 6),
    r"0.1666\ldots": Fraction(1, 6),
    "0.1212...": Fraction(4, 33),
    "C_{10}^3": ["binom", 10, 3],
    r"\mathrm{C}^{3}_{10}": ["binom", 10, 3],
    "C_1^2": ["^", "C_1", 2],
    "{}_{10}C_3": ["binom", 10, 3],
    "^{5}P_2": ["*", ["binom", 5, 2], ["factorial", 2]],
    r"\Gamma(5)": ["gamma", 5],
    "x_{12}'": "x_12'",
    "f^{-1}(2)": ["call f^{-1}", 2],
    "x^{-1}": ["^", "x", -1],
    "f'(x)": ["call f'", "x"],
    "f^{\\prime}(x)": ["call f'", "x"],
    "x(2)": ["*", "x", 2],
    r"P(A \mid B)": ["call P", "A | B"],
    r"\mathbb{E}[X]": ["call \\mathbb{E}", "X"],
    r"f(x)_{\max}": "f(x)_\\max",
    "|x-1|": ["abs", ["+", "x", -1]],
    r"\|v\|": ["norm", "v"],
    r"\lfloor 2.5 \rfloor": ["floor", Fraction(5, 2)],
    r"\{1, 2\}": ["{}", 1, 2],
    r"\{\}": "\\emptyset",
    r"\{x : |x| < 1\}": ["|", ["<", ["abs", "x"], 1]],
    "(1,200)": ["()", 1, 200],
    "(0,1]": ["(]", 0, 1],
    r"\langle 1, 2 \rangle": ["<>", 1, 2],
    r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}": [[1, 2], [3, 4]],
    r"\begin{array}{cc} 1 & 2 \end{array}": [[1, 2]],
    r"\begin{vmatrix} 1 & 2 \\ 3 & 4 \end{vmatrix}": ["+", ["*", 1, 4], ["-", ["*", 2, 3]]],
    r"2\begin{pmatrix} 1 \\ 3 \end{pmatrix}": [[["*", 2, 1]], [["*", 2, 3]]],
    "t(0,4]": ["\\in", "t", ["(]", 0, 4]],
}


@pytest.mark.parametrize("text, value", [*PRECEDENCE.items(), *COMMANDS.items(), *OPERANDS.items()])
def test_an_expression_has_this_structure(text, value):
    assert write(read(text)) == value


@pytest.mark.parametrize("text", [
    "1+", "2^", r"\frac{1}", r"\sqrt", r"\sin", "|x", "(1", "1)", r"\{1)", "()", r"\oint x", r"\foo{1}", r"\sum k", r"\int x",
    r"\frac{1.5}2.5", "_{10}x", r"2\text{ base }x", r"3.14\ldots", r"\left\{x\right.", "(mod 5", "1_x", r"0.\overline{x}", r"\begin{pmatrix} 1 & 2 \\ 3 \end{pmatrix}", r"\begin{pmatrix} & 1 \end{pmatrix}",
    r"\sin(1,2)", "-{1,2}", "(1,2)+1",
])  # fmt: skip
def test_what_is_not_complete_is_not_read(text):
    with pytest.raises(Unreadable):
        Reader(tokenize(text)).read()


def test_each_part_of_the_reader_is_a_cursor():
    assert {CommandReader, OperandReader, ExpressionReader, RowReader, Cursor} <= {*Reader.__mro__}
    for text in ("a(b{c)}d", "a(b", "a)b"):
        with pytest.raises(Unreadable, match="brackets"):
            Cursor(tokenize(text)).match_brackets()
    cursor = Cursor(tokenize("a(b[c])d"))
    cursor.match_brackets()
    assert [cursor.tokens[place].text for place in cursor.outermost(0, 8)] == ["a", "d"]


def test_numbers_are_exact_and_bounded():
    assert make_number("1,000.5").value == Fraction(2001, 2) and make_number("2.5e-3").value == Fraction(1, 400)
    for digits in ("9" * (MAX_DIGITS + 1), "1e99999"):
        with pytest.raises(Unreadable):
            make_number(digits)
    assert negate(Number(Fraction(3))) == Number(Fraction(-3)) and negate(Symbol("x")) == Operation(
        "-", (Symbol("x"),)
    )


def test_operations_on_matrices_are_worked_out():
    one, other = (
        read(r"\begin{pmatrix} 1 & 2 \\ 3 & 4 \end{pmatrix}"),
        read(r"\begin{pmatrix} 0 & 1 \\ 1 & 0 \end{pmatrix}"),
    )
    product = combine("*", one, other)
    assert [[evaluate_exactly(cell) for cell in row] for row in product.rows] == [[2, 1], [4, 3]]
    total = combine("-", one, other)
    assert [[evaluate_exactly(cell) for cell in row] for row in total.rows] == [[1, 1], [2, 4]]
    assert isinstance(combine("+", one, Symbol("x")), Operation)
    with pytest.raises(Unreadable):
        combine("+", Number(Fraction(1)), Collection("()", (Symbol("x"),)))


def test_plus_minus_is_two_values():
    assert write(expand_plus_minus(Operation("pm", (Symbol("a"), Symbol("b"))))) == [
        "",
        ["+", "a", "b"],
        ["-", "a", "b"],
    ]
    assert write(read(r"x = 1 \pm 2")) == ["", ["=", "x", ["+", 1, 2]], ["=", "x", ["-", 1, 2]]]
    assert write(read(r"\pm 1 \mp 2")) == ["", ["-", 1, 2], ["+", ["-", 1], 2]]
