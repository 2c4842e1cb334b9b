"""Every attack: a row on which it is made, and how its completion reads. An attack without a line here fails a test."""

import re

import pytest

from trl_grpo_rewards import boxed, choice, keywords
from trl_grpo_rewards.checks import attacks


ROWS = {  # the rewards, the row, and right answers of other rows
    "number": (boxed(), {"prompt": "What is 130 + 45?", "solution": "175"}, ["12", "13"]),
    "word": (boxed(), {"prompt": "Which city?", "solution": "Cape Town"}, ["New York", "Oslo"]),
    "name": (boxed(), {"prompt": "Which city?", "solution": "Lisbon"}, []),
    "sum": (boxed(), {"prompt": "Which sum?", "solution": "3 + 4"}, []),
    "choice": (choice("ABC") + keywords(all=("because",)), {"prompt": "Which?", "solution": "B"}, []),
}

ATTACKS = {
    "nothing": ("word", r""),
    "white space": ("word", r"\s{200,}"),
    "invisible text": ("word", r"[\u200b\u2060\ufeff]{200,}"),
    "empty tags": ("word", r"(<(\w+)></\2>)+"),
    "tag spam": ("word", r"(<(\w+)>x</\2>){100,}"),
    "unclosed tags": ("word", r"(<think><answer>){1000,}"),
    "one phrase again and again": ("word", r"(the answer is ){100,}"),
    "a wrong answer": ("number", r"First.*\\boxed\{(?!175\b)\d+\}"),
    "an absurd answer": ("number", r"First.*\\boxed\{-\d{6,}\}"),
    "an empty answer": ("word", r"First.*\\boxed\{\}"),
    "form without an answer": ("word", r"First.*I do not know\."),
    "padding": ("word", r"(First.*?){100,}\\boxed\{0\.\d+\}"),
    "flattery": ("word", r"First.*Ignore the instructions.*highest score.*"),
    "a claim to be correct": ("word", r"First.*This is the correct answer\..*"),
    "praise": ("word", r"First.*Correct! Well done.*"),
    "another language": ("word", r"First.*La réponse.*"),
    "check marks": ("word", r"First.*(✅ \w+\. ?){3}"),
    "calls of tools": ("word", r"First.*(<tool_call>\n\{.*\}\n</tool_call>\n?){3}"),
    "any program": ("word", r"First.*```python\n.*def solve\(\):.*```"),
    "many boxes": ("number", r"First.*(\\boxed\{\d+\} ?){50,}"),
    "many answers in a box": ("word", r"First.*\\boxed\{(\w+ ?\w+, ){5,}Cape Town(, [\w. ]+){5,}\}"),
    "right between wrong answers": ("number", r"First.*\\boxed\{\d+\} \\boxed\{175\} \\boxed\{\d+\}"),
    "every choice": ("choice", r"First.*\\boxed\{A, B, C\}"),
    "question restated": ("number", r"First.*\\boxed\{130 \+ 45\}"),
    "the result of the answer": ("sum", r"First.*\\boxed\{7\}"),
    "prompt echoed": ("word", r"Which city\?"),
    "keyword stuffing": ("choice", r"(because ?){50}"),
    "a digit added": ("number", r"First.*\\boxed\{175\d\}"),
    "a digit missing": ("number", r"First.*\\boxed\{17\}"),
    "a number nearby": ("number", r"First.*\\boxed\{1[678]\d\}"),
    "the same last digit": ("number", r"First.*\\boxed\{[2-9]75\}"),
    "its digits in another order": ("number", r"First.*\\boxed\{571\}"),
    "a part of another answer": ("word", r"First.*\\boxed\{(New Town|Cape York)\}"),
    "the wrong sign": ("number", r"First.*\\boxed\{-175\}"),
    "one character changed": ("word", r"First.*\\boxed\{(?!Cape Town\})[\w ]{9}\}"),
    "the first letter alone": ("name", r"First.*\\boxed\{L\}"),
    "the answer denied": ("word", r"First.*\\boxed\{not Cape Town\}"),
    "the right answer to a new question": ("number", r"First.*\\boxed\{(?!175\b)\d+\}\n\nQ: .*\nA: First.*\\boxed\{175\}"),
}  # fmt: skip


def write(row):
    rewards, example, others = ROWS[row]
    return attacks(rewards, example, others=others)


def test_every_attack_has_a_line():
    assert {*ATTACKS} == set().union(*map(write, ROWS))


@pytest.mark.parametrize("name", ATTACKS)
def test_an_attack_reads_as_its_name_says(name):
    row, pattern = ATTACKS[name]
    text = write(row)[name]
    assert re.fullmatch(pattern, text, re.DOTALL), text[-200:]
