r"""Which answers are equal."""

import re
import threading
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.outside_data import read_outside_data
from trl_grpo_rewards import boxed
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.mathematics.rationals import evaluate_exactly
from trl_grpo_rewards.verify.boxes import find_boxed_answer, strip_reasoning
from trl_grpo_rewards.verify.equality import settle
from trl_grpo_rewards.verify.golds import read_gold
from trl_grpo_rewards.verify.second_opinion import ask
from trl_grpo_rewards.verify.verification import verify_pairs


def find_number(text):
    value = read(text)
    return None if value is None else evaluate_exactly(value)


def equal(gold, answer, **terms):
    return verify_pairs([(gold, answer)], AnswerRules(**terms))[0].equal


@pytest.mark.parametrize(
    "column, gold",
    [
        (72, "72"),
        (-3, "-3"),
        (0.5, "0.5"),
        (72.0, "72.0"),
        (1e-7, "0.0000001"),
        (Decimal("1.50"), "1.50"),
        (Fraction(1, 3), "1/3"),
        (numpy.float32(0.1), "0.1"),
        (numpy.int64(7), "7"),
        (numpy.bool_(True), "True"),
        (True, "True"),
        ("72", "72"),
        (" $\\frac{1}{2}$ ", r"$\frac{1}{2}$"),
        (r"\boxed{7}", "7"),
        (r"Long proof. Hence \boxed{\frac{\pi}{2}}.", r"\frac{\pi}{2}"),
        ("48/2 = <<48/2=24>>24\n#### 72", "72"),
        ("#### 1,000", "1,000"),
        ("$5$ or $7$", "$5$ or $7$"),
        (r"\$36", r"\$36"),
        ("", None),
        ("   ", None),
        ("####", None),
        (None, None),
        ([4], None),
        (float("nan"), None),
        (float("inf"), None),
        (Decimal("NaN"), None),
    ],
)
def test_the_gold_of_every_column(column, gold):
    assert read_gold(column) == gold


def test_an_integer_that_python_does_not_print_is_no_gold():
    assert read_gold(10**5000) is None


EQUAL = [
    ("72", "72.0"),
    ("72", "072"),
    ("1,000", "1000"),
    ("10{,}000", "10000"),
    ("0.5", r"\frac{1}{2}"),
    (r"\frac12", r"\dfrac{1}{2}"),
    ("1/2", r"\tfrac{1}{2}"),
    ("-1/2", r"-\frac{1}{2}"),
    (r"\$36", "36"),
    (r"3\sqrt{13}", r"3 \sqrt{13}"),
    (r"3\sqrt{13}", r"\sqrt{117}"),
    (r"\sqrt3", r"\sqrt{3}"),
    (r"\frac{\pi}{2}", r"\pi/2"),
    ("(1,2)", r"\left( 1, 2 \right)"),
    ("[0,1)", "[0, 1)"),
    (r"\{1,2\}", r"\{2, 1\}"),
    (r"\text{Evelyn}", "Evelyn"),
    (r"\text{Evelyn}", r"\text{evelyn}"),
    ("no solution", "No solution."),
    ("x^2+1", "1 + x^2"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix} 1 \\ 2 \end{pmatrix}"),
    (r"\begin{pmatrix} 1/2 \\ 3 \end{pmatrix}", r"\begin{pmatrix} \frac{1}{2} \\ 3 \end{pmatrix}"),
    ("x=5", "5"),
    ("xy", "yx"),
    ("x y + 5", "5 + x y"),
    ("True", r"\text{True}"),
    (r"106^\circ", "106"),
    ("(C)", r"\text{(C)}"),
    ("$5$ or $7$", "$5$ or $7$"),
    ("7" * 5000, "7" * 5000),
    ("7" * 400, "7" * 400 + ".0"),
    ("18", r"18 \text{ dollars}"),
    (r"18\text{ dollars}", r"\$18"),
    ("0.5", r"\frac{1}{2}\text{ dollars}"),
    ("12", r"12\text{ cm}^2"),
    ("864 \\mbox{ inches}^2", "864"),
    ("18", r"18\text{ km/h}"),
    ("90", "90°"),
    ("42", "**42**"),
    ("20", "€20"),
    ("18", "18 dollars"),
    ("20", "20 USD"),
    ("10 dollars", "10"),
    ("10", "$10$ dollars"),
    ("18", "18 eggs"),
    ("2 m", "2"),
    ("7", "7 m"),
    ("5", r"5\text{ m}"),
    ("11.6", r"11.6 \mathrm{lb} / \mathrm{in}^{2}"),
    (r"2\pi", r"2\pi \text{ cm}"),
    ("72", r"72^\circ\text{F}"),
    ("1000", "1 000"),
    ("1000", r"1\,000"),
    ("1000", r"1,\!000"),
    ("1500", "1.5e3"),
    ("1500", r"1.5 \times 10^{3}"),
    ("0.0015", r"1.5\cdot10^{-3}"),
    ("-100000", "-10^5"),
    ("1000.99", "1000,99"),
    ("1.5", "1 1/2"),
    ("12.6", r"12\frac{3}{5}"),
    ("-5.25", r"-5 \frac 14"),
    (r"0.1\overline{6}", r"\frac16"),
    ("5", "\uff15"),
    ("-7", "−7"),
    (r"2\sqrt3", "2√3"),
    ("x^2", "x²"),
    (r"\frac12", "½"),
    (r"\emptyset", r"\varnothing"),
    (r"\emptyset", r"\{\}"),
    (r"\frac{16}{27}", r"\\frac{16}{27}"),
    ("5", r"\textcolor{red}{5}"),
    ("5", r"{\color{red}5}"),
    ("42", "= 42"),
    ("42", r"\approx 42"),
    ("5", r"x = 5 \text{ cm}"),
    ("7", "3 + 4 = 7"),
    (r"[-2,7]", r"x \in [-2, 7]"),
    (r"[-2,7]", r"-2 \le x \le 7"),
    (r"x > 3", r"(3, \infty)"),
    ("x < 3", r"x \lt 3"),
    ("1,2", "2, 1"),
    ("1,-2", "1, -2"),
    ("(1,2,3)", r"\langle 1, 2, 3 \rangle"),
    ("1011", "1011_2"),
    ("7", r"7\text{个}"),
    (r"\{1,2\}", r"1 \text{ and } 2"),
    ("2,3", r"x = 2 \text{ or } x = 3"),
    ("(1,2),(3,4)", "(1, 2), (3, 4)"),
    (r"\{\frac12, 1\}", r"\left\{1, 0.5\right\}"),
    (r"\frac{NO}{BO}=\frac{1}{\sqrt{6}}", r"\frac{1}{\sqrt{6}}"),
    (r"\begin{pmatrix}-3\11\end{pmatrix}", r"\begin{pmatrix} -3 \\ 11 \end{pmatrix}"),
    ("No solution", r"\text{no solution}"),
    ("No solution", "no solutions"),
    (r"\frac{x^2}{2}+C", r"\frac{1}{2}x^2 + C"),
    ("m+n", "n + m"),
    ("5m", "5 m"),
    ("2(l+w)", "2 l + 2 w"),
    (r"\frac{2}{h}", "2 / h"),
    (r"\frac{-1\pm\sqrt{5}}{2}", r"\frac{-1+\sqrt5}{2}, \frac{-1-\sqrt5}{2}"),
    (r"\binom52", "10"),
    ("0.00012", r"1.2 \times 10^-4"),
    ("0.00012", "1.2 × 10⁻⁴"),
    ("120000", "1.2 x 10^5"),
    ("xyz", "zyx"),
    ("12", r"\text{\$12}"),
    ("12", r"\Large{12}"),
    ("12", r"12 \\"),
    (r"\frac34", r"\mathbf{\frac{3}{4}}"),
    (r"\frac34", "¾"),
    ("8", r"\text{8 cm}"),
    ("8", "8 °C"),
    ("8", r"\$8/hr"),
    ("8", "8 cups of flour"),
    ("8", "8 years old"),
    ("18", "USD 18"),
    ("1.5", "1{,}5"),
    (r"(0,1)\cup(2,3)", "(0, 1) U (2, 3)"),
    (r"\{1,2,3\}", r"\lbrace 1,2,3 \rbrace"),
    (r"\mathbb{R}", r"\mathbb R"),
    (r"\frac{1}{35}\begin{bmatrix}1 & 5\\5 & 25\end{bmatrix}", r"\frac{1}{35}\begin{bmatrix}1&5\\5&25\end{bmatrix}"),
]

DIFFERENT = [
    (r"3\sqrt{5}", "3"),
    (r"2\pi", "2"),
    ("10^{5}", "10"),
    ("5!", "5"),
    ("3:4", "3"),
    ("4x+7", "4"),
    ("2, 3", "3"),
    ("3", "3.1"),
    ("1000000", "1000001"),
    (r"\frac{1}{2}", r"\frac{1}{3}"),
    ("(1,2)", "(2,1)"),
    ("Evelyn", "Eleven"),
    ("True", "False"),
    ("listen", "silent"),
    ("x y + 5", "7"),
    ("12", "1 2"),
    ("72", ""),
    ("72", r"\text{seventy-two"),
    ("72", "7" * 5000),
    ("72", "7" * 400),
    ("7" * 400, "72"),
    ("9007199254740993", "9007199254740992"),
    (r"\frac13", "0.333333"),
    ("3.5", "3.50000001"),
    ("0.0000001", "0.0000002"),
    (r"\frac{1}{2^{98}}", r"\frac{1}{2^{99}}"),
    ("7", "3 = 7"),
    ("7", "7 = 3"),
    ("2", "2 ab"),
    ("5", "5m"),
    ("7", "7 N"),
    ("5", r"5 \text{ or more}"),
    ("5", r"5 \text{ or } 6"),
    ("18", "18 dozen"),
    ("5", "5 lakhs"),
    ("3", "3 remainder 2"),
    ("32349", "32, 349"),
    ("5.5", r"11\frac{1}{2}"),
    ("1.5", "11/2"),
    ("(1,2)", r"\{1,2\}"),
    ("[0,1)", "[0,1]"),
    ("9", "(-4, 9)"),
    (r"\{1,2,3\}", r"\{1,2\}"),
    ("1", "1, 0"),
    ("R^2-r^2", "r^2-R^2"),
    (r"2\pi", r"2\pi h"),
    ("5", "5 n"),
    ("15", "1{,}5"),
    ("2,2,3", "2,3"),
    (r"x>1 \text{ and } x<3", r"x>1 \text{ or } x<3"),
    ("3", "3 squared"),
    ("3", "3 tenths"),
    ("3", r"3\text{ M}"),
    ("f'(x)", "f(x)"),
    ("A^T", "A"),
    ("0.3", "0.3..."),
    ("0,1", "0<x<1"),
    ("1,2", "(2,1)"),
    ("2020-01-02", "2020-02-01"),
    ("1234", r"1 \quad 234"),
    ("1011_2", "1011_3"),
    ("1011_2", "1011"),
    ("7 = 11a + c", "11a + c"),
    ("(3,4]", r"\text{No solution}"),
]

# Rules, right and wrong answers under them.
UNITS = [
    ("7 km", ["7 km", "7km", r"7 \text{ kilometers}", "x = 7 km"], ["7", "7 m", r"7\text{ m}", "7 miles", "8 km"]),
    (r"7\text{ m}", ["7 m", "7 meters"], ["7 km", "7 cm", r"7 \text{ m}^2"]),
    (r"12 \text{ cm}^2", [r"12\text{ cm}^{2}", "12 cm^2"], [r"12\text{ cm}", r"12\text{ cm}^3", "12"]),
    (r"\$36", ["36 dollars", "$36", "36 USD"], ["36", "€36", "36 cents"]),
    (r"50\%", ["0.5", "50 percent", r"\frac12"], ["50", r"0.5\%"]),
    ("0.5", [r"50\%", "0.5"], [r"0.5\%", "50"]),
    (r"30^\circ", ["30 degrees", "30°"], ["30", r"30\%"]),
    ("7", ["7", "7 km"], ["8 km"]),
    (r"5\text{ mg}", ["5 milligrams"], [r"5\text{ Mg}"]),
    (r"5\text{ cm}^2", ["5 square centimeters", "5 sq cm"], ["5 cm"]),
    ("60 km/h", ["60 kph", "60 km per hour"], ["60 km", "60 mph"]),
    (r"\$5 per hour", ["5 dollars per hour"], ["$5", "5 dollars per day"]),
    ("20°C", [r"20^\circ\text{C}"], ["20°F"]),
    ("5 m", ["5 meters"], ["5 cm"]),
]
UNDONE = [
    ("56088", ["56088", "56,088", "56088.0"], [r"123 \times 456", "123*456", r"\frac{112176}{2}", "112176/2"]),
    (r"\frac12", [r"\frac{1}{2}", "0.5", r"\frac24"], [r"\int_0^1 x\,dx", r"\frac13 + \frac16", "1 - 0.5"]),
    ("12", ["12", "12 cm", "x = 12"], [r"\sqrt{144}", "10 + 2", r"\sum_{k=1}^{3} 2k", "x = 3 \\cdot 4"]),
    ("120", ["120"], ["5!", r"\binom{10}{3}", r"\lim_{x \to 0} (x + 120)"]),
    (r"3\sqrt{5}", [r"3\sqrt5", r"\sqrt{45}"], [r"2\sqrt5 + \sqrt{4 + 1}"]),
    ("1024", ["1024"], ["2^{10}"]),
    ("2^{10}", ["1024", "4^5"], ["1023"]),
    ("100000", ["10^5", r"1.0 \times 10^5"], ["10^2 + 99900", r"10^2 \times 10^3"]),
    ("4", ["4"], ["5 - 1", "-1 + 5", r"8 \div 2", "16^{0.5}"]),
    ("2, 3", ["3, 2"], [r"\frac{4}{2}, 3"]),
    ("x + 3", ["3 + x"], ["x + 1 + 2"]),
    ("(3, 4)", ["(3,4)"], ["(1+2, 4)"]),
]


@pytest.mark.parametrize("gold, right, wrong", UNITS)
def test_units_must_match(gold, right, wrong):
    assert [equal(gold, answer, units="must_match") for answer in right] == [True] * len(right)
    assert [equal(gold, answer, units="must_match") for answer in wrong] == [False] * len(wrong)


@pytest.mark.parametrize("gold, right, wrong", UNDONE)
def test_an_answer_must_be_evaluated(gold, right, wrong):
    assert [equal(gold, answer, evaluated=True) for answer in right] == [True] * len(right)
    assert [equal(gold, answer, evaluated=True) for answer in wrong] == [False] * len(wrong)
    assert gold == "2^{10}" or [equal(gold, answer) for answer in wrong] == [True] * len(wrong)


@pytest.mark.parametrize("gold, answer", EQUAL)
def test_equal_answers(gold, answer):
    assert equal(gold, answer) is True


@pytest.mark.parametrize("gold, answer", DIFFERENT)
def test_different_answers(gold, answer):
    assert equal(gold, answer) is False


def test_no_wrong_case_is_paid_and_no_right_one_refused():
    """Cases of every class: names, ratios, units, words, rounded decimals, sets, vectors, lists, labels, choices."""
    lines = Path(__file__).with_name("cases.txt").read_text().splitlines()[1:]
    cases = [(line[0] == "T", *line[2:].split(" # ")) for line in lines]
    verdicts = verify_pairs([case[1:] for case in cases], AnswerRules())
    wrong = [case for case, verdict in zip(cases, verdicts, strict=True) if (verdict.equal is True) != case[0]]
    assert len(cases) > 500 and not wrong


def test_few_attack_cases_are_judged_wrongly():
    rows = [row for row in read_outside_data("answers_attack.dev.jsonl.gz") if row["expected"] is not None]
    scores = boxed()(completions=[row["completion"] for row in rows], solution=[row["gold"] for row in rows])
    pairs = [(score == 1.0, row["expected"]) for row, score in zip(rows, scores, strict=True)]
    assert len(rows) > 600 and pairs.count((True, False)) <= 3 and pairs.count((False, True)) <= 40


@pytest.mark.parametrize(
    "gold", ["2(0,4]", r"\text{odd}", "5 or more", "Tom has 22 apples", r"\lim_{x \to 0} f(x)", "7 !!! + 8"]
)
def test_every_answer_to_a_gold_is_judged_or_none(gold):
    answers = [gold, "5", r"\text{even}", "Odd", r"\text{an odd function}", "(1,2]", r"\int x\,dx", r"\foo{1}", ""]
    verdicts = [one.equal is None for one in verify_pairs([(gold, answer) for answer in answers], AnswerRules())]
    assert all(verdicts) or not any(verdicts)


@pytest.mark.parametrize(
    "gold, answer, verdicts",  # ignore, may_omit, must_match
    [
        ("5 feet", "5 meters", (True, False, False)),
        ("5 feet", "5", (True, True, False)),
        ("5 feet", "5 ft", (True, True, True)),
        ("5", "5 feet", (True, True, True)),
        ("5 apples", "5 oranges", (True, False, False)),
        ("5 red apples", "5 apples", (True, True, False)),
        (r"50\%", "50", (True, True, False)),
        (r"50\%", "0.5", (True, True, True)),
        (r"50\%", "50 dollars", (True, False, False)),
        (r"5\text{ km}", r"5000\text{ m}", (False, False, False)),
        (r"5\text{ feet 6 inches}", r"5\text{ feet 7 inches}", (False, False, False)),
    ],
)
def test_the_three_rules_for_units(gold, answer, verdicts):
    assert tuple(equal(gold, answer, units=units) for units in ("ignore", "may_omit", "must_match")) == verdicts


@pytest.mark.parametrize(
    "gold, answer, tolerance, verdict",
    [
        ("3.14159", "3.14", 0.01, True),
        ("3.14159", "3.1", 0.01, False),
        ("1000", "1005", 0.01, True),
        ("1000", "1020", 0.01, False),
        ("0", "0.005", 0.01, True),
        (r"\frac{1}{3}", "0.333", 0.001, True),
        (r"\pi", "3.1416", 0.001, True),
        (r"\sqrt{2}", "1.5", 0.001, False),
        ("x", "y", 0.5, False),
        ("2", "2", 0.0, True),
        ("0", "0.3", 0.3, True),
        (r"\{1,2\}", r"\{1.001,2\}", 0.01, True),
        ("1,2", "1.2, 2", 0.01, False),
    ],
)
def test_tolerance_is_absolute_or_relative(gold, answer, tolerance, verdict):
    assert equal(gold, answer, tolerance=tolerance) is verdict


def test_a_gold_that_cannot_be_read_is_neither_right_nor_wrong():
    for answer in ("4", "2(0,4]", "no", r"\int_0^4 t\,dt"):  # never some
        assert equal("2(0,4]", answer) is None


def test_verdicts_are_the_same_in_a_thread():
    verdicts = []
    thread = threading.Thread(target=lambda: verdicts.extend(equal(g, a) for g, a in EQUAL + DIFFERENT))
    thread.start()
    thread.join()
    assert verdicts == [True] * len(EQUAL) + [False] * len(DIFFERENT)


@given(st.integers(0, 10**9), st.integers(1, 10**4))
def test_numbers_are_read_exactly(numerator, denominator):
    value = Fraction(numerator, denominator)
    for text in (f"{numerator}/{denominator}", f"\\frac{{{numerator}}}{{{denominator}}}"):
        assert find_number(text) == value and find_number(f"-{text}") == -value
    assert find_number(f"{numerator:,}") == numerator
    assert find_number(f"-{numerator}.25") == -numerator - Fraction(1, 4)


@given(st.text(alphabet="0123456789.,/+-\\frac{}e^ ", max_size=12))
def test_a_text_is_a_number_or_not(text):
    value = find_number(text)
    assert value is None or equal(text, text) is True


integers = st.integers(-12, 12).map(str)
numbers = (
    integers
    | st.builds("\\frac{{{}}}{{{}}}".format, integers, st.integers(1, 6))
    | st.builds("{}.{}".format, integers, st.sampled_from("05"))
)
lists = st.lists(numbers, min_size=2, max_size=3, unique_by=find_number)  # to math-verify a list is a set
several = lists.map(", ".join)
intervals = st.builds(lambda start, size: f"[{start}, {start + size})", st.integers(-5, 5), st.integers(1, 5))
answers = numbers | several | several.map("({})".format) | several.map("\\{{{}\\}}".format) | intervals


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(answers, answers)
def test_what_is_settled_agrees_with_math_verify(gold, answer):
    kinds = {("(" in text or "[" in text, "{" in text.replace("c{", "").replace("}{", "")) for text in (gold, answer)}
    verdict = settle(gold, answer, AnswerRules())
    if verdict is not None and kinds != {(True, False), (False, True)}:  # to math-verify (1, 2) is {1, 2}
        assert ask(gold, answer) in (verdict, None) or not ask(gold, gold)


@pytest.mark.parametrize(
    "text",
    [
        "$" * 1000,
        "5" + "%" * 3000,
        "5 " + "kg / in " * 8000,
        "x\\in " * 1500,
        "x=" * 5000 + "5",
        "(1," * 4000,
        "(1," * 90 + "1" + ")" * 90,
        r"\frac{" * 4000,
        "1," * 4000,
    ],
)
def test_a_long_text_is_not_read_or_another_value(text):
    assert settle(text, text, AnswerRules()) in (True, None)
    assert settle("5", text, AnswerRules()) in (False, None)
    assert equal("5", text) is False


@pytest.mark.slow
def test_every_gold_equals_itself_and_no_number_in_it():
    golds = {read_gold(row["gold"]) for row in read_outside_data("pairs.dev.jsonl.gz")} - {None}
    golds |= {read_gold(row["answer"]) for row in read_outside_data("gsm8k_test.jsonl.gz")}
    unread = {gold for gold in golds if not equal(gold, gold)}
    assert len(golds) > 1400 and len(unread) <= 3 and {equal(gold, gold) for gold in unread} <= {None}
    pieces = [
        (gold, piece)
        for gold in golds
        for piece in re.findall(r"\d+", gold)[:2]
        if find_number(gold) is None and not re.search(r"\\int|=\s*\d+$", gold)  # these may name their value
    ]
    assert len(pieces) > 1000
    results = verify_pairs(pieces, AnswerRules())
    for gold, piece in (pair for pair, result in zip(pieces, results, strict=True) if result.equal):
        rest = re.sub(r"[_^]\{?\d\}?|:1", "", gold).replace(piece, "", 1)  # no more than a unit, a name, a ratio to 1
        assert not re.search(r"\d|[+*!]|\\(?:frac|sqrt|pi|log)", rest), (gold, piece)


# What math-verify's own tests expect, and we do not give.
NOT_OURS = {
    ("$1 - \\frac{1}{\\mathrm{e}}$", "$1 + \\frac{1}{\\mathrm{e}}$"),  # a mistake there
    ("$x \\in [-2,7]$", "$-2 \\\\le x \\\\le 7$"),  # the same set; expected to differ in one of its modes
    ("$f(x)$", "$f(y)$"),  # equal in its mode that is not strict
    ("$9$", "Answer \\( \n 9 \n \\)"),  # a mode that reads no inline LaTeX
    ("$x = 11$", "$x = 5+5+1 = 7 =11$"),  # the chain is false
    ("$1 = \\zzz = x = 0$", "$0$"),  # so is this one
    ("2.74", "Soucis : 2,74 $ a.."),  # a number within a sentence
}


def test_the_cases_of_math_verify():
    wrong, judged = set(), 0
    for case in read_outside_data("math_verify_cases.dev.jsonl.gz"):
        gold, given = case["gold"], case["pred"]
        boxes, mathematics = given.count("\\boxed"), re.findall(r"\$([^$]+)\$", given)
        prose = not mathematics and not boxes and re.search(r"[A-Za-z]{3,} [A-Za-z]{2,}", given)
        if boxes > 1 or gold.count("\\boxed") > 1 or len(mathematics) > 1 or prose or case["precision"] != 6:
            continue  # not the answer in one box, or judged by other terms
        given = given if boxes else f"\\boxed{{{mathematics[0] if mathematics else given}}}"
        judged += 1
        if boxed()(completions=[given], solution=[gold])[0] != case["expected"]:
            wrong.add((gold, case["pred"]))
    assert judged > 80 and wrong == NOT_OURS


@pytest.mark.slow
def test_agreement_with_the_labels_of_real_completions():
    rows = [row for row in read_outside_data("pairs.dev.jsonl.gz") if row["expected"] is not None]
    rows = [row for row in rows if find_boxed_answer(strip_reasoning(row["completion"])) is not None]
    scores = boxed()(completions=[row["completion"] for row in rows], solution=[row["gold"] for row in rows])
    agrees = [(score == 1.0) == row["expected"] for row, score in zip(rows, scores, strict=True)]
    clean = [agree for row, agree in zip(rows, agrees, strict=True) if not row["source"].startswith("mathcoder")]
    assert len(rows) == 4231 and sum(agrees) >= 0.985 * len(rows) and sum(clean) >= 0.995 * len(clean)
    paid = {row["gold"] for row, score in zip(rows, scores, strict=True) if score == 1.0 and not row["expected"]}
    assert paid <= {r"\text{4:30 p.m.}", r"-\sqrt{3}", "5x - 7y + 11z + 4 = 0"}  # equal ones, labelled as different
