"""Choices: the letter of an option with its text, in each notation."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.choices import Choice


@pytest.mark.parametrize("text", ["B. Paris", "B: Paris", "(B) Paris", "B) Paris", r"\textbf{(B)}\ \text{Paris}"])
def test_a_choice_is_its_letter_or_its_text(text):
    assert isinstance(read(text), Choice)
    assert all(is_equal(text, other) is is_equal(other, text) is True for other in ("B", "(B)", "Paris", "B. Paris"))
    assert not any(is_equal(text, other) or is_equal(other, text) for other in ("C", "(C)", "Rome", "C. Paris"))


@pytest.mark.parametrize("text", ["(B)", "B", "(B) and (C)", "(B, C)", "B(1, 2)", "A:B", "(A) - (B)"])
def test_a_letter_alone_is_no_choice_with_a_text(text):
    assert not isinstance(read(text), Choice)
