r"""Solutions and answers that laws of judging are tried on, and what judges them."""

import functools
import re
from collections.abc import Iterable

import mpmath
import pytest
import sympy
from hypothesis import strategies as st

from helpers.outside_data import read_outside_data
from helpers.paths import TESTS
from trl_grpo_rewards.answers.mathematics.matching import AnswerRules
from trl_grpo_rewards.answers.solutions import read_gold
from trl_grpo_rewards.answers.statements import find_boxed_answer
from trl_grpo_rewards.answers.verification import settle
from trl_grpo_rewards.texts import strip_reasoning


Pair = tuple[str, str]

TEMPLATES = [
    (gold, answer, sign == "T")
    for sign, gold, answer in re.findall(
        r"(?m)^([TF]) (.+) # (.+)$", (TESTS / "answers" / "templates.txt").read_text()
    )
]
"""Pairs that are right (T) and wrong (F), most of them with a letter `x`."""


def judge(gold: str, answer: str) -> bool | None:
    """Return the verdict of `settle`. That `boxed` pays by it is tested with cases.txt."""
    right = read_gold(gold)
    return None if right is None else settle(right, answer, AnswerRules())


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
