r"""Which answers are equal."""

import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy
import pytest

from helpers.outside_data import read_outside_data
from helpers.tables import read_tables
from trl_grpo_rewards import boxed
from trl_grpo_rewards.answers.mathematics.evaluation import evaluate_exactly
from trl_grpo_rewards.answers.mathematics.grammar import read
from trl_grpo_rewards.answers.mathematics.matching import AnswerRules
from trl_grpo_rewards.answers.solutions import read_gold
from trl_grpo_rewards.answers.statements import find_boxed_answer
from trl_grpo_rewards.answers.verification import settle, verify_pairs
from trl_grpo_rewards.texts import strip_reasoning


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


def test_the_options_decide_what_is_equal():
    tables = {options: read_rows(rows) for options, rows in read_tables("answers/options.txt").items()}
    judged = [
        (one, options, equal(*one[1:], **eval(f"dict({options})"))) for options, rows in tables.items() for one in rows
    ]
    assert [case for case in judged if case[0][0] is not case[2]] == [] and len(judged) > 100
    undone = [pair for verdict, *pair in tables["evaluated=True"] if pair != ["2^{10}", "1023"]]
    assert [pair for pair in undone if not equal(*pair)] == []


def read_rows(rows):
    return [(verdict == "T", gold, answer) for verdict, gold, answer in rows]


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
