r"""Which answers are equal."""

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy
import pytest

from helpers.outside_data import read_outside_data
from trl_grpo_rewards import boxed
from trl_grpo_rewards.mathematics.evaluation import evaluate_exactly
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.texts import strip_reasoning
from trl_grpo_rewards.verify.solutions import read_gold
from trl_grpo_rewards.verify.statements import find_boxed_answer
from trl_grpo_rewards.verify.verification import settle, verify_pairs


def find_number(text):
    value = read(text)
    return None if value is None else evaluate_exactly(value)


def equal(gold, answer, **terms):
    return verify_pairs([(gold, answer)], AnswerRules(**terms))[0].equal


GOLDS = [
    (72, "72"), (-3, "-3"), (0.5, "0.5"), (72.0, "72.0"), (1e-7, "0.0000001"), (Decimal("1.50"), "1.50"),
    (Fraction(1, 3), "1/3"), (numpy.float32(0.1), "0.1"), (numpy.int64(7), "7"), (numpy.bool_(True), "True"),
    (True, "True"), ("72", "72"), (" $\\frac{1}{2}$ ", r"$\frac{1}{2}$"), (r"\boxed{7}", "7"),
    (r"Long proof. Hence \boxed{\frac{\pi}{2}}.", r"\frac{\pi}{2}"), ("48/2 = <<48/2=24>>24\n#### 72", "72"),
    ("#### 1,000", "1,000"), ("$5$ or $7$", "$5$ or $7$"), (r"\$36", r"\$36"), ("", None), ("   ", None), ("####", None),
    (None, None), ([4], None), (float("nan"), None), (float("inf"), None), (Decimal("NaN"), None),
    (10**5000, None),  # Python does not print it
]  # fmt: skip


def test_the_gold_of_every_column():
    assert [(column, gold) for column, gold in GOLDS if read_gold(column) != gold] == []


# Rules, right and wrong answers under them.
UNITS = [
    ("7 km", ["7 km", "7km", r"7 \text{ kilometers}", "x = 7 km"], ["7", "7 m", r"7\text{ m}", "7 miles", "8 km"]),
    (r"7\text{ m}", ["7 m", "7 meters"], ["7 km", "7 cm", r"7 \text{ m}^2"]),
    (r"12 \text{ cm}^2", [r"12\text{ cm}^{2}", "12 cm^2"], [r"12\text{ cm}", r"12\text{ cm}^3", "12"]),
    (r"\$36", ["36 dollars", "$36", "36 USD"], ["36", "€36", "36 cents"]),
    (r"50\%", ["0.5", "50 percent", r"\frac12"], ["50", r"0.5\%"]), ("0.5", [r"50\%", "0.5"], [r"0.5\%", "50"]),
    (r"30^\circ", ["30 degrees", "30°"], ["30", r"30\%"]), ("7", ["7", "7 km"], ["8 km"]),
    (r"5\text{ mg}", ["5 milligrams"], [r"5\text{ Mg}"]),
    (r"5\text{ cm}^2", ["5 square centimeters", "5 sq cm"], ["5 cm"]),
    ("60 km/h", ["60 kph", "60 km per hour"], ["60 km", "60 mph"]),
    (r"\$5 per hour", ["5 dollars per hour"], ["$5", "5 dollars per day"]), ("20°C", [r"20^\circ\text{C}"], ["20°F"]),
    ("5 m", ["5 meters"], ["5 cm"]),
]  # fmt: skip
UNDONE = [
    ("56088", ["56088", "56,088", "56088.0"], [r"123 \times 456", "123*456", r"\frac{112176}{2}", "112176/2"]),
    (r"\frac12", [r"\frac{1}{2}", "0.5", r"\frac24"], [r"\int_0^1 x\,dx", r"\frac13 + \frac16", "1 - 0.5"]),
    ("12", ["12", "12 cm", "x = 12"], [r"\sqrt{144}", "10 + 2", r"\sum_{k=1}^{3} 2k", "x = 3 \\cdot 4"]),
    ("120", ["120"], ["5!", r"\binom{10}{3}", r"\lim_{x \to 0} (x + 120)"]),
    (r"3\sqrt{5}", [r"3\sqrt5", r"\sqrt{45}"], [r"2\sqrt5 + \sqrt{4 + 1}"]), ("1024", ["1024"], ["2^{10}"]),
    ("2^{10}", ["1024", "4^5"], ["1023"]),
    ("100000", ["10^5", r"1.0 \times 10^5"], ["10^2 + 99900", r"10^2 \times 10^3"]),
    ("4", ["4"], ["5 - 1", "-1 + 5", r"8 \div 2", "16^{0.5}"]), ("2, 3", ["3, 2"], [r"\frac{4}{2}, 3"]),
    ("x + 3", ["3 + x"], ["x + 1 + 2"]), ("(3, 4)", ["(3,4)"], ["(1+2, 4)"]),
]  # fmt: skip


def judge_all(cases, **terms):
    """Return the right answers that are refused and the wrong ones that are not."""
    return [
        (gold, answer)
        for gold, *answers in cases
        for right, texts in zip((True, False), answers, strict=True)
        for answer in texts
        if equal(gold, answer, **terms) is not right
    ]


def test_units_must_match():
    assert judge_all(UNITS, units="must_match") == []


def test_an_answer_must_be_evaluated():
    assert judge_all(UNDONE, evaluated=True) == []
    assert judge_all((gold, right + wrong, []) for gold, right, wrong in UNDONE if gold != "2^{10}") == []


def test_no_wrong_case_is_paid_and_no_right_one_refused():
    """
    Cases of every class: names, ratios, units, words, rounded decimals, sets, vectors, lists, labels, choices, cases.

    All but 79 of them are decided without math-verify.
    """
    lines = Path(__file__).with_name("cases.txt").read_text().splitlines()[1:]
    cases = [(line[0] == "T", *line[2:].split(" # ")) for line in lines]
    verdicts = verify_pairs([case[1:] for case in cases], AnswerRules())
    wrong = [
        case
        for case, one in zip(cases, verdicts, strict=True)
        if one.equal is not case[0] and (case[0] or one.equal or one.fault != "gold")
    ]
    assert len(cases) > 5000 and not wrong
    paid = [
        (case, float(one.equal is True))
        for case, one in [*zip(cases, verdicts, strict=True)][::4]
        if read_gold(case[1]) == case[1] and find_boxed_answer(rf"\boxed{{{case[2]}}}") == case[2] and not one.fault
    ]
    completions, solutions = [rf"\boxed{{{case[2]}}}" for case, _ in paid], [case[1] for case, _ in paid]
    assert len(paid) > 1000 and boxed()(completions=completions, solution=solutions) == [score for _, score in paid]
    assert [one.fault for one in verdicts].count("gold") <= 11 and sum(one.asked for one in verdicts) <= 79


def test_few_attack_cases_are_judged_wrongly():
    rows = [row for row in read_outside_data("answers_attack.dev.jsonl.gz") if row["expected"] is not None]
    scores = boxed()(completions=[row["completion"] for row in rows], solution=[row["gold"] for row in rows])
    pairs = [(score == 1.0, row["expected"]) for row, score in zip(rows, scores, strict=True)]
    assert len(rows) > 600 and pairs.count((True, False)) <= 3 and pairs.count((False, True)) <= 40


TOLERANCES = [
    ("3.14159", "3.14", 0.01, True), ("3.14159", "3.1", 0.01, False), ("1000", "1005", 0.01, True),
    ("1000", "1020", 0.01, False), ("0", "0.005", 0.01, True), (r"\frac{1}{3}", "0.333", 0.001, True),
    (r"\pi", "3.1416", 0.001, True), (r"\sqrt{2}", "1.5", 0.001, False), ("x", "y", 0.5, False), ("2", "2", 0.0, True),
    ("0", "0.3", 0.3, True), (r"\{1,2\}", r"\{1.001,2\}", 0.01, True), ("1,2", "1.2, 2", 0.01, False),
    (r"\infty", "7", 0.1, False), (r"\infty", r"-\infty", 0.1, False), ("7", r"\infty", 0.1, False),
]  # fmt: skip


def test_tolerance_is_absolute_or_relative():
    for gold, answer, tolerance, verdict in TOLERANCES:
        assert equal(gold, answer, tolerance=tolerance) is verdict, (gold, answer)


LONG = ["$" * 1000, "5" + "%" * 3000, "5 " + "kg / in " * 8000, "x\\in " * 1500, "x=" * 5000 + "5", "(1," * 4000,
        "(1," * 90 + "1" + ")" * 90, r"\frac{" * 4000, "1," * 4000]  # fmt: skip


def test_a_long_text_is_not_read_or_another_value():
    for text in LONG:
        assert settle(text, text, AnswerRules()) in (True, None), text[:9]
        assert settle("5", text, AnswerRules()) in (False, None), text[:9]
        assert equal("5", text) is False, text[:9]


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


UNIT_MATRIX = r"\begin{pmatrix}1 & 0 \\ 0 & 1\end{pmatrix}"
# What math-verify's own tests expect, and we do not give.
NOT_OURS = {
    ("$1 - \\frac{1}{\\mathrm{e}}$", "$1 + \\frac{1}{\\mathrm{e}}$"),  # a mistake there
    ("$x \\in [-2,7]$", "$-2 \\\\le x \\\\le 7$"),  # the same set; expected to differ in one of its modes
    ("$f(x)$", "$f(y)$"),  # equal in its mode that is not strict
    ("$9$", "Answer \\( \n 9 \n \\)"),  # a mode that reads no inline LaTeX
    ("$x = 11$", "$x = 5+5+1 = 7 =11$"),  # the chain is false
    ("$1 = \\zzz = x = 0$", "$0$"),  # so is this one
    ("2.74", "Soucis : 2,74 $ a.."),  # a number within a sentence
    (
        rf"${UNIT_MATRIX}$",
        rf"When multiplying by identity: ${UNIT_MATRIX} {UNIT_MATRIX}$",
    ),  # a product, not worked out
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
