"""Functions of integers that alternate or repeat are told from each other, and from others."""

import itertools
import os
import random

import pytest

from trl_grpo_rewards import boxed


def judge(gold, answer):
    return boxed()(completions=[f"\\boxed{{{answer}}}"], solution=[gold])[0]


def draw(rng, names):
    """Return a function of integers in LaTeX and in Python. Its period is at most 12."""
    one = rng.choice(names)
    name, value = (one, one) if len(names) < 2 or rng.random() < 0.5 else ("+".join(names), "+".join(names))
    period, rest, factor = rng.randint(2, 12), rng.randint(0, 11), rng.randint(1, 9)
    kind = rng.randrange(7)
    if kind == 0:
        return f"{factor}(-1)^{{{name}}}", f"{factor} * (-1) ** ({value})"
    if kind == 1:
        return f"({name}+{rest}) \\bmod {period}", f"({value} + {rest}) % {period}"
    if kind == 2:
        return f"\\lfloor \\frac{{{name}+{rest}}}{{{period}}}\\rfloor", f"({value} + {rest}) // {period}"
    if kind == 3:
        return f"\\gcd({one}, {period})", f"math.gcd({one}, {period})"
    if kind == 4:
        return f"\\frac{{1+(-1)^{{{name}}}}}{{2}} \\cdot {factor}", f"(1 + (-1) ** ({value})) // 2 * {factor}"
    if kind == 5:
        return f"{factor}\\cdot(-{factor})^{{{one}}}", f"{factor} * (-{factor}) ** {one}"
    return f"{factor}", f"{factor}"


def are_equal(names, one, other):
    """Compare two functions in Python, at all integers up to a multiple of both periods for one name."""
    import math

    most = 140 if len(names) == 1 else 26
    codes = [compile(f"lambda {', '.join(names)}: {code}", "", "eval") for code in (one, other)]
    functions = [eval(code, {"math": math}) for code in codes]
    return all(functions[0](*at) == functions[1](*at) for at in itertools.product(range(1, most), repeat=len(names)))


DRAWS = int(os.environ.get("DRAWS", "300"))  # 25,000 by hand


@pytest.mark.parametrize("names, count", [(["n"], DRAWS), (["m", "n"], DRAWS // 2)])
def test_periodic_functions_are_told_from_each_other(names, count):
    rng, broken = random.Random(0), []
    for _ in range(count):
        one, other = draw(rng, names), draw(rng, names)
        for shift in (0, rng.randint(1, 3)):
            gold, answer = (f"({part[0]})+{extra}" if extra else part[0] for part, extra in ((one, 0), (other, shift)))
            expected = are_equal(names, one[1], f"{other[1]} + {shift}")
            if judge(gold, answer) != expected:
                broken.append((gold, answer, expected))
        if judge(one[0], one[0].replace("\\bmod", "\\mod")) != 1.0:
            broken.append(one)
    assert not broken


@pytest.mark.parametrize(
    "gold, right, wrong",
    [
        ("(-1)^n", "\\cos n\\pi", "1"), ("(-1)^n", "(-1)^{n+2}", "(-1)^{n+1}"), ("(-6)^n", "(-1)^n 6^n", "6^n"),
        ("\\frac{1-(-1)^n}{2}", "n \\bmod 2", "(n+1) \\bmod 2"), ("(-1)^{m+n}", "(-1)^{m-n}", "1"),
        ("\\lceil n/2\\rceil+\\lfloor n/2\\rfloor", "n", "n+1"), ("\\gcd(m,n)", "\\gcd(n,m)", "1"),
        ("\\operatorname{lcm}(m,n)", "\\frac{mn}{\\gcd(m,n)}", "mn"), ("2^{\\gcd(m,n)}-1", "2^{\\gcd(n,m)}-1", "1"),
        ("\\gcd(n,6)", "\\gcd(6,n)", "\\gcd(n,3)"), ("m+n-\\gcd(m,n)", "n+m-\\gcd(n,m)", "m+n-1"),
        ("\\begin{pmatrix}(-6)^n&0\\\\0&1\\end{pmatrix}", "\\begin{pmatrix}(-1)^n6^n&0\\\\0&1\\end{pmatrix}", "\\begin{pmatrix}6^n&0\\\\0&1\\end{pmatrix}"),
        ("\\sum_{k=1}^n k^2", "\\frac{n(n+1)(2n+1)}{6}", "\\frac{n(n+1)(2n+1)}{3}"),
        ("\\sum_{k=1}^n (-1)^k", "\\frac{(-1)^n-1}{2}", "-1"), ("(2n-1)!!", "\\frac{(2n)!}{2^n n!}", "(2n)!"),
        ("a_n=\\sum_{k=1}^{n-1}a_ka_{n-k}", "a_n=\\sum_{j=1}^{n-1}a_ja_{n-j}", "a_n=\\sum_{j=1}^{n-1}a_ja_{n}"),
        ("\\lfloor n/100\\rfloor", "\\lfloor \\frac{n}{100}\\rfloor", "\\lfloor n/101\\rfloor"),
    ],
)  # fmt: skip
def test_functions_of_integers_have_the_values_that_they_have_at_integers(gold, right, wrong):
    assert (judge(gold, right), judge(gold, wrong)) == (1.0, 0.0)


@pytest.mark.parametrize("number", [5, 30, 35, 50, 100, 1000])
def test_functions_in_pieces_are_tried_beyond_their_numbers(number):
    for gold, answers in (
        ("|x-N|", ("N-x", "x-N", "x")), ("|x+N|", ("x+N",)), ("\\max(N,x)", ("N", "x")), ("\\min(x,N)", ("x", "N")),
        ("\\sqrt{(x-N)^2}", ("N-x", "x-N")), ("|x-2\\cdot N|", ("2\\cdot N-x",)),
    ):  # fmt: skip
        gold = gold.replace("N", str(number))
        assert judge(gold, gold) == 1.0
        assert [judge(gold, answer.replace("N", str(number))) for answer in answers] == [0.0] * len(answers), gold


@pytest.mark.parametrize(
    "gold, answer, right",
    [
        ("5", "5 \\approx 6", 0.0), ("5", "5 \\approx 6 \\approx 7", 0.0), ("10", "10 \\approx 12", 0.0), ("5.4", "5.4 \\approx 5", 1.0),
        ("\\pi", "\\pi \\approx 3.14", 1.0), ("\\sqrt{2}", "\\sqrt 2 \\approx 1.414", 1.0), ("12", "12 \\approx 10", 1.0),
        ("\\frac{1}{3}", "\\frac13 \\approx 0.33", 1.0), ("\\frac{1}{3}", "\\frac13 \\approx 1.3", 0.0), ("1234", "1234 \\approx 1200", 1.0),
        ("5 cm", "5 cm \\approx 6 cm", 0.0),
    ],
)  # fmt: skip
def test_what_is_about_a_number_may_be_it_rounded(gold, answer, right):
    assert judge(gold, answer) == right
