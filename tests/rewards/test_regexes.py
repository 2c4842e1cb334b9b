"""Expressions of users under a timeout."""

import time

import pytest

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
