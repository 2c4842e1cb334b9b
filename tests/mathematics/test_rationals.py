"""Exact arithmetic: bounded in size."""

from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.rationals import evaluate_exactly


def test_a_large_power_is_not_exact():
    assert evaluate_exactly(read("2^{10}")) == 1024 and evaluate_exactly(read("2^{10^6}")) is None
    assert evaluate_exactly(read("0^{-1}")) is None and evaluate_exactly(read(r"\frac10")) is None


def test_only_rational_numbers_are_exact():
    assert evaluate_exactly(read(r"\sqrt{\frac49} + 3!")) == evaluate_exactly(read(r"\frac{20}{3}"))
    assert (
        evaluate_exactly(read(r"\sqrt2")) is evaluate_exactly(read("x - x")) is evaluate_exactly(read("2001!")) is None
    )
