r"""Solutions and answers that laws of judging are tried on, and what judges them."""

import functools
import re
from collections.abc import Iterable

import mpmath
import pytest
import sympy
from hypothesis import strategies as st

from helpers.outside_data import read_outside_data
from trl_grpo_rewards import boxed
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.verify.boxes import find_boxed_answer, strip_reasoning
from trl_grpo_rewards.verify.equality import settle
from trl_grpo_rewards.verify.golds import read_gold


Pair = tuple[str, str]

TEMPLATES = [
    (gold, answer, sign == "T")
    for sign, gold, answer in re.findall(
        r"(?m)^([TF]) (.+) # (.+)$",
        r"""
T x^2+1 # 1+x^2
F x^2+1 # x^2-1
T 2x+3 # 3+2x
F 2x # 3x
T -x # 0-x
T 4 x # 4x
T 20-5 x^{2} # 20-5x^2
F 20-5 x^{2} # 15
F 3+2 x # 5
T 3x+2 x # 5x
T (1-3 x)^{2} # 9x^2-6x+1
T 5(1-4 x) # 5-20x
T \frac{1-4 x}{2} # \frac12-2x
T \sqrt{3+2 x} # \sqrt{2x+3}
F \sqrt{3+2 x} # \sqrt 5
F \ln(3+2 x) # \ln 5
T [3+2 x,\infty) # [2x+3,\infty)
F [3+2 x,\infty) # [5,\infty)
F (3+2 x,1) # (5,1)
T (3+2 x,1) # (2x+3,1)
T \frac{x^{2} y}{6} # \frac16x^2y
T 2^{3} x # 8x
T 2\cdot3 x # 6x
T e^{x} # e^x
T e^{1-4 x} # e\cdot e^{-4x}
T e^{2x} # (e^x)^2
T 2^{x+1} # 2\cdot2^x
T 2^{x/2} # \sqrt{2^x}
T 3^{2 x} # 9^x
T 2^{-x} # \frac{1}{2^x}
F 2^{x} # 2^{-x}
T (1+y)^x # (y+1)^{x}
T x^x # x^{x}
T \begin{pmatrix}e^x&0\\0&1\end{pmatrix} # \begin{bmatrix}e^{x}&0\\0&1\end{bmatrix}
T \begin{pmatrix}x\\2\end{pmatrix} # \begin{bmatrix} x \\ 2 \end{bmatrix}
T e^x>1 # 1<e^x
T x>3 # (3,\infty)
F x>3 # [3,\infty)
T -2<x\le 5 # (-2,5]
F -2<x\le 5 # [-2,5]
T x=5 # 5
F x=5 # -5
T x=2,y=3 # y=3,x=2
F x=2,y=3 # x=3,y=2
T x=2,y=5 # \begin{cases}x=2\\y=5\end{cases}
T x=2,x=3 # 2,3
T y=e^x # e^x
T \frac{x+1}{x-1} # \frac{-x-1}{1-x}
T \frac{1}{x} # x^{-1}
T x! # x\cdot(x-1)!
F x!! # x!
T |x| # \sqrt{x^2}
F |x| # x
F |x-y| # x-y
F \sqrt{(x-y)^2} # x-y
F \max(x,y) # x
F \arcsin(\sin x) # x
F \lfloor x\rfloor # x
T \ln(x^2+1) # \ln(1+x^2)
T \sin x # \cos(\frac{\pi}{2}-x)
T \sin 2x # 2\sin x\cos x
T x_1+x_2 # x_2+x_1
T x_1=2, x_2=3 # x_2=3, x_1=2
T x(x+1) # x^2+x
T x(x-1)=0 # x^2-x=0
T (x+1,x-1) # (1+x,-1+x)
F (x+1,x-1) # (x-1,x+1)
T \{x,2x\} # \{2x,x\}
T 3x\text{ cm} # 3x
T \sum_{x=1}^{5} x^2 # 55
T \int_0^1 x^2\,dx # \frac13
T \{x\mid x>3\} # (3,\infty)
T \{x\in\mathbb{R}\mid x>3\} # (3,\infty)
T x\in\{1,2\} # \{1,2\}
T x\in(1,2) # 1<x<2
T \binom{x}{2} # \frac{x^2-x}{2}
T x\equiv 2\pmod 5 # x\equiv 7\pmod 5
T 2\pi x,x\in\mathbb{Z} # 2x\pi,x\in\mathbb{Z}
T \sqrt[x]{2} # 2^{1/x}
T \log_x 8 # \log_{x}8
T \vec{x} # \vec x
T x' # x'
T x^{\circ} # x^\circ
T \$5x # 5x
T \begin{cases}x+1 & x\ge0\\-x & x<0\end{cases} # \begin{cases}-x & x<0\\x+1 & x\geq 0\end{cases}
T (-\infty,-x)\cup(x,\infty) # (x,\infty)\cup(-\infty,-x)
T 7 # 7.0
T \frac{1}{2} # 0.5
T -\frac34 # -0.75
F \frac{1}{2} # \frac{1}{3}
T 3\sqrt{13} # \sqrt{117}
T 2\times 10^{3} # 2000
T 6\cdot 7 # 42
T (2,5) # 2<x<5
F (2,5) # (2,5]
F (2,5) # (5,2)
T (-\infty,-2]\cup[2,\infty) # x\le -2\text{ or }x\ge 2
T x\ne 2 # (-\infty,2)\cup(2,\infty)
T \{1,2,3\} # \{3,2,1\}
F \{1,2,3\} # \{1,2\}
T 2,-3 # -3,2
T 12\text{ cm} # 12\text{ centimeters}
F 12\text{ cm} # 12\text{ mm}
T \mathbb{R} # (-\infty,\infty)
T \frac{\pi}{2}+k\pi,k\in\mathbb{Z} # \frac{\pi}{2}+k\pi, k\in\mathbb{Z}
T 3+4i # 4i+3
F 3+4i # 3-4i
T \emptyset # \varnothing
T 30^\circ # 30^{\circ}
T 5-6 # 5-6
F 5-6 # -1
T 3:4 # 6:8
T 10\text{ m/s} # 10\ \mathrm{m/s}
""",
    )
]
"""Pairs that are right (T) and wrong (F), most of them with a letter `x`. Right means equal as functions of real numbers."""


def judge(gold: str, answer: str, **rules) -> bool | None:
    r"""
    Return the verdict of `settle`. The reward `boxed` must give the same score.

    What `settle` leaves open goes to another process, so `boxed` is not called then.
    """
    right = read_gold(gold)
    verdict = None if right is None else settle(right, answer, AnswerRules(**rules))
    completion = rf"So \boxed{{{answer}}}."
    if verdict is not None and find_boxed_answer(completion) == answer:
        score = boxed(**rules)(completions=[completion], solution=[gold])[0]
        assert score == float(verdict), f"boxed() gives {score} and settle() {verdict}: {gold} # {answer}"
    return verdict


def assert_none(broken: Iterable[object], of: int) -> None:
    """Fail with the number of exceptions from a law and the first of them."""
    broken = [*broken]
    if broken:
        pytest.fail("\n".join([f"{len(broken)} of {of} break the law:", *map(str, broken[:20])]), pytrace=False)


@functools.cache
def read_pairs() -> list[Pair]:
    """Return the different short solutions and answers of the outside data."""
    pairs = []
    for name in ("answers_attack.dev", "answers_attack2.dev", "pairs.dev", "math_verify_cases.dev"):
        for row in read_outside_data(f"{name}.jsonl.gz"):
            text = row.get("answer") or row.get("completion") or rf"\boxed{{{row['pred']}}}"
            answer = row.get("answer") or find_boxed_answer(strip_reasoning(text))
            pairs.append((row["gold"].strip(), (answer or "").strip()))
    return [(gold, answer) for gold, answer in dict.fromkeys(pairs) if gold and answer and len(gold + answer) < 300]


COMMANDS = r"\\\\|\\(?:text\w*|mathrm|operatorname\*?|mbox|begin|end)\s*\{[^{}]*\}|\\[A-Za-z]+"


def is_plain(text: str) -> bool:
    """Whether a text is mathematics only: no words, capital letters, relations, units, money, times, ranges or choices."""
    bare = re.sub(r"\\(?:[dt]?frac|sqrt|pi|infty|cdot|times|left|right|sin|cos|tan|ln|cup|[{},!; ])", " ", text)
    other = r"[a-z]{2}|\d [mgshl]\b|\d-\d|,\d{3}|\d,\d|^\W*[a-j]\b(?:\W*$|[).:])|\*\*|\d\s+\d|\.$"
    separated = re.search(r"\\!|\{,\}|, \d{3}", text)
    return bool(re.fullmatch(r"[\sa-z\d+\-*/^_.,()\[\]{}!|]+", bare)) and not separated and not re.search(other, bare)


x, y = sympy.symbols("x y", real=True)
LEAVES = st.integers(-6, 6).filter(bool).map(sympy.Integer) | st.sampled_from(
    [x, y, x, sympy.Rational(1, 2), sympy.sqrt(2), sympy.pi]
)


def combine(parts):
    return st.one_of(
        st.builds(lambda one, other: one + other, parts, parts),
        st.builds(lambda one, other: one * other, parts, parts),
        st.builds(lambda one, power: one**power, parts, st.integers(1, 3)),
        parts.map(lambda one: one / (x**2 + 3)),
        parts.map(sympy.sin),
        parts.map(lambda one: sympy.exp(one / 4)),
    )


TREES = st.recursive(LEAVES, combine, max_leaves=6).filter(
    lambda tree: bool(tree.free_symbols) and sympy.count_ops(tree) < 30
)
POINTS = [tuple(mpmath.mpf(number) / 1013 for number in pair) for pair in ((811, -1427), (-2203, 499), (3121, 2857))]


def evaluate_tree(tree: sympy.Expr) -> list[mpmath.mpc]:
    """Return the values of an expression at points, computed without the package."""
    with mpmath.workdps(40):
        return [mpmath.mpmathify(sympy.N(tree.subs({x: one, y: other}), 40)) for one, other in POINTS]


def are_same(one: sympy.Expr, other: sympy.Expr) -> bool | None:
    """Return whether two expressions have the same values, or None if these are not real numbers."""
    with mpmath.workdps(40):
        values = [*zip(*map(evaluate_tree, (one, other)), strict=True)]
        if any(mpmath.im(value) or not mpmath.isfinite(value) for pair in values for value in pair):
            return None
        return all(mpmath.almosteq(*pair, 1e-25, 1e-25) for pair in values)


def evaluate_text(text: str) -> mpmath.mpf | None:
    """Return the number that a plain text is, computed without the package, or None for other texts."""
    text = re.sub(r"\\[dt]frac", r"\\frac", text.replace(" ", "").replace("\\left", "").replace("\\right", ""))
    text = re.sub(r"\\frac(\d)(\d)", r"\\frac{\1}{\2}", re.sub(r"\\sqrt(\d)", r"\\sqrt{\1}", text))
    for _ in range(4):
        text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"((\1)/(\2))", text)
        text = re.sub(r"\\sqrt\{([^{}]*)\}", r"(mpmath.sqrt(\1))", text)
    text = text.replace("\\pi", "(mpmath.pi)").replace("\\cdot", "*").replace("\\times", "*")
    text = re.sub(r"\^\{([^{}]*)\}", r"**(\1)", text).replace("^", "**")
    if not re.fullmatch(r"(?:mpmath\.(?:sqrt|pi)|[\d.+\-*/()])+", text):
        return None
    text = re.sub(r"(?<=[\d)])(?=\()|(?<=\))(?=\d)", "*", text).replace("sqrt*(", "sqrt(")
    text = re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)", r"mpmath.mpf('\1')", text)
    try:
        with mpmath.workdps(40):
            return mpmath.mpf(eval(text, {"mpmath": mpmath}))
    except (SyntaxError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return None
