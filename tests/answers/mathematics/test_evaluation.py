"""Values are worked out and compared: never for long, exactly where that is promised, and the same each time."""

import time

from trl_grpo_rewards.answers.mathematics.equivalence import are_equal_expressions
from trl_grpo_rewards.answers.mathematics.evaluation import evaluate_constant, evaluate_exactly
from trl_grpo_rewards.answers.mathematics.grammar import read
from trl_grpo_rewards.answers.mathematics.kinds import compare_values
from trl_grpo_rewards.answers.mathematics.matching import MAX_ITEMS, AnswerRules, Kind, Same
from trl_grpo_rewards.answers.mathematics.values import Symbol


LARGE = [
    "9^{9^{9^9}}", "((9!)!)!", "2^{1000000000}", r"\binom{1000000000}{500000000}", r"\sum_{k=1}^{1000000000} \frac1k",
    "3^{2^{400000}}", "(2^{400000})!", r"\sin(2^{400000})", r"7^{7^{7^7}} \mod 10", "1e9999",
    r"\sin(10^{10^{10}})", r"\frac00",
]  # fmt: skip


def test_no_expression_takes_long():
    for text in LARGE:
        start = time.process_time()
        assert compare_values(read("7"), read(text), AnswerRules()) in (False, None), text
        assert compare_values(read(text), read(text), AnswerRules()) is True, text
        assert time.process_time() - start < 0.5, text


def test_a_constant_has_a_value():
    assert evaluate_constant(read(r"2\cos(\pi)")) == -2 and evaluate_constant(read("x")) is None
    assert evaluate_constant(read(r"-\infty")) < -(10**100) and evaluate_constant(read(r"\frac00")) is None


def test_only_rational_numbers_of_a_bounded_size_are_exact():
    assert evaluate_exactly(read("2^{10}")) == 1024
    assert evaluate_exactly(read(r"\sqrt{\frac49} + 3!")) == evaluate_exactly(read(r"\frac{20}{3}"))
    for text in ("2^{10^6}", "0^{-1}", r"\frac10", r"\sqrt2", "x - x", "2001!"):
        assert evaluate_exactly(read(text)) is None, text


def test_verdicts_can_be_repeated():
    pairs = [(read(r"\sin 2x"), read(r"2\sin x\cos x")), (read("x^2"), read("x^2+10^{-30}x"))]
    assert [[are_equal_expressions(*pair) for pair in pairs] for _ in range(5)] == [[True, False]] * 5


def test_long_lists_are_not_compared_pair_by_pair():
    compared = []
    kind = Kind(lambda value: True, lambda gold, answer, same: bool(compared.append(gold.name)))
    golds, answers = ([Symbol(f"{name}{place}") for place in range(MAX_ITEMS + 1)] for name in "xy")
    assert Same([kind], AnswerRules()).in_any_order(golds, answers) is False and not compared
