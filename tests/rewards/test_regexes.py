"""Expressions of users under a timeout."""

import time

import pytest

from trl_grpo_rewards import pattern
from trl_grpo_rewards.rewards import regexes


@pytest.mark.parametrize(
    "expression",
    ["a{99999999}", "(a{9999}){9999}", "((a{999}){999}){999}", "(?:ab|[^]{}()]){200000,}", "((a|b)\\){2})" * 40_000],
)
def test_an_expression_that_is_too_large_is_refused_in_words(expression):
    start = time.process_time()
    with pytest.raises(
        ValueError, match="its repeats make .* parts, and at most 100,000 are allowed. Use lower counts"
    ):
        regexes.compile_expression(expression)
    with pytest.raises(ValueError, match="valid regular expression; got regex=.*: its repeats make"):
        pattern(expression)
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    "expression",
    [r"\d{4}-\d{2}-\d{2}", r"(?:a{100}){100}", r"\{9999999\}", "[{9999999}]{2}", "a{,9}", "(" + "x{9}" * 999 + ")"],
)
def test_other_expressions_are_compiled(expression):
    assert regexes.compile_expression(expression)
