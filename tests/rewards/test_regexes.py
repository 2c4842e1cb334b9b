"""Expressions of users under a timeout."""

import time

import pytest

from trl_grpo_rewards import pattern
from trl_grpo_rewards.rewards import regexes
from trl_grpo_rewards.rewards.regexes import has_matches


@pytest.mark.parametrize(
    "expression, text, at_least, flags, expected",
    [
        (r"\d+", "a1b22", 2, "", True),
        (r"\d+", "a1b22", 3, "", False),
        ("aa", "aaaa", 2, "", True),  # matches do not overlap
        ("aa", "aaa", 2, "", False),
        ("A", "a", 1, "", False),
        ("A", "a", 1, "i", True),
        ("^b", "a\nb", 1, "m", True),
        ("", "", 1, "", True),
    ],
)
def test_matches_are_counted(expression, text, at_least, flags, expected):
    assert has_matches(expression, text, 1.0, at_least, flags) is expected


def test_a_slow_expression_is_stopped_and_named_once(caplog, monkeypatch):
    monkeypatch.setattr(regexes, "SLOW", set())
    start = time.process_time()
    for _ in range(2):
        with pytest.raises(TimeoutError):
            has_matches(r"(?:a|a)+$", "a" * 40 + "b", 0.05)
    assert time.process_time() - start < 5
    (record,) = caplog.records
    assert "(?:a|a)+$" in record.getMessage() and "41 characters" in record.getMessage()


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
