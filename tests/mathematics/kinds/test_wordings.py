"""Words: as an answer, as a label before a value, and as a remark after one."""

import pytest

from helpers.values import is_equal
from trl_grpo_rewards.mathematics.grammar import read
from trl_grpo_rewards.mathematics.kinds.texts import Text


@pytest.mark.parametrize("one, other", [
    ("January 5, 2021", r"\text{January 5, 2021}"), ("March 5", r"\text{March 5th}"),
    ("Statement 2", r"\text{Statement 2}"), ("odd", r"\text{an odd function}"), ("ABC", r"\text{ABC}"),
    ("does not exist", r"\text{The limit does not exist}"), (r"\text{diverges}", r"\text{The series is divergent}"),
    (r"\infty", r"\text{Infinity}"), ("infinitely many", r"\text{infinitely many solutions}"), ("①③", "③①"),
])  # fmt: skip
def test_words_that_say_the_same(one, other):
    assert is_equal(one, other) is True
    assert not is_equal(one, "Statement 7") and not is_equal("7", other)


@pytest.mark.parametrize(
    "gold, right, wrong",
    [
        ("5", ["The answer is 5", "Therefore, 5", "Answer: 5", "5 because x = 2", "5 (because x = 2)", "5 only"], ["The answer is not 5", "5 only if x = 2"]),
        ("x = 7", ["Thus, the answer is x = 7", "x = 7, since x is odd"], ["x = 7 or x = 8"]),
        ("Yes", ["Yes, it is", r"\text{yes}"], ["No", "No, yes"]),
        ("21", ["twenty-one", r"\text{twenty one}"], ["minus twenty-one", "twenty"]),
    ],
)  # fmt: skip
def test_labels_and_remarks(gold, right, wrong):
    assert [is_equal(gold, answer) for answer in right] == [True] * len(right)
    assert not any(is_equal(gold, answer) for answer in wrong)


def test_what_is_read_as_words():
    assert all(isinstance(read(text), Text) for text in ("odd", "January 5, 2021", "St. John's", "no real solutions"))
    assert not any(isinstance(read(text), Text) for text in ("5 apples", "twenty", "A, B", "Area = 5"))
