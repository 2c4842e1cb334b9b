r"""Finding the boxed answer."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards.mathematics.matching import AnswerRules
from trl_grpo_rewards.texts import strip_reasoning
from trl_grpo_rewards.verify.solutions import read_gold
from trl_grpo_rewards.verify.statements import find_boxed_answer, find_stated_answer
from trl_grpo_rewards.verify.verification import settle


BOXES = [
    (r"\boxed{7}", "7"), (r"\fbox{7}", "7"), (r"Thus $\boxed{\frac{1}{2}}$.", r"\frac{1}{2}"),
    (r"\boxed{3} no, \boxed{4}", "4"), (r"\boxed{3} and \fbox{4}", "3 and 4"),
    (r"\fbox{4} and \boxed{3}", "4 and 3"), (r"\boxed{\{1, 2\}}", r"\{1, 2\}"), (r"\boxed{a \\{b} c}", r"a \\{b} c"),
    (r"\boxed{\left\{x}", r"\left\{x"), (r"\boxed{\text{a {b} c}} and {more}", r"\text{a {b} c}"),
    (r"\boxed {7}", "7"), (r"\boxed 7", "7"), (r"\boxed 72.", "72"), (r"$\boxed 7$ is it", "7"),
    (r"The roots are $\boxed{1}$ and $\boxed{2}$.", "1 and 2"), (r"Either \boxed{3}, or \boxed{7}.", "3 or 7"),
    (r"$\boxed{1}$, $\boxed{2}$, $\boxed{3}$", "1, 2, 3"), (r"$x = \boxed{1}$ and $y = \boxed{2}$", "1 and 2"),
    (r"$\boxed{-2} \quad \text{and} \quad \boxed{1}$", "-2 and 1"),
    (r"\(y_1 = \boxed{2} \) and \( y_2 = \boxed{3} \)", "2 and 3"), (r"\boxed{7} and \boxed{7}", "7"),
    (r"\boxed{3}, \boxed{4}. So it is \boxed{5}.", "5"), (r"\boxed{3}; thus \boxed{7}", "7"),
    (r"\boxed{7}. (I put it within \boxed{}.)", "7"), (r"\boxed{3} then \boxed{4", None), (r"\boxed{}", ""),
    (r"\boxed{3} \boxed{}", "3"), (r"\boxed", None), (r"\boxed ", None), (r"\boxedX{3}", None), ("no box", None),
    ("", None), ("\\boxed{\\", None),
]  # fmt: skip


def test_the_boxed_answer():
    assert [(text, find_boxed_answer(text)) for text, _ in BOXES] == BOXES


PARTS = [
    ("no reasoning", "no reasoning"), ("<think>a</think>b", "b"), ("prefilled</think>b", "b"),
    ("<think>never closed", ""), ("<think>a</think>b<think>c", "b"), ("<think>a</think>b</think>c", "c"),
]  # fmt: skip


def test_the_part_after_the_reasoning():
    assert [(text, strip_reasoning(text)) for text, _ in PARTS] == PARTS


WHICH = [
    (r"\boxed{3} or \boxed{4}", "3 or 4", None, "3"), (r"\fbox{3} or \boxed{4}", "3 or 4", None, "3"),
    (r"\boxed{\boxed{4}}", "4", None, r"\boxed{4}"), (r"\boxedX \boxed{4} \fboxes", "4", "4", "4"),
    (r"\boxed7", "7", "7", "7"), (r"\boxed{3} \boxed{4", None, None, "3"), (r"\boxed{3 \boxed{4}", "4", None, None),
    ("none", None, None, None),
]  # fmt: skip


def test_which_box_counts():
    found = [(text, *(find_boxed_answer(text, which) for which in ("last", "only", "first"))) for text, *_ in WHICH]
    assert found == WHICH


@given(
    st.recursive(st.text(alphabet="ab 1", max_size=4), lambda t: t.map("{{{}}}".format) | st.tuples(t, t).map("".join))
)
def test_what_was_boxed_comes_back(content):
    assert find_boxed_answer(f"so \\boxed{{{content}}} it is") == (content if content.strip() else "")


STATED = [
    (r"So \boxed{7}, the answer is 8.", "8"), (r"\boxed{7", None), ("48/2 = 24\n48+24 = 72\n#### 72", "72"),
    ("#### 72\nAlice", "72"), ("Text <answer> 72 </answer> more", "72"), ("The answer is 72.", "72"),
    ("The answer is: **72**", "72"), ("**Answer:** 3.5 apples\nBye.", "3.5 apples"),
    ("Thus the final answer to the question is $\\frac{1}{2}$, as it was.", r"\frac{1}{2}"),
    (r"The answer is \(x = 5\).", "x = 5"), ("The answer is $18$ or $19$.", "$18$ or $19$"),
    ("The answer is $18$, $19$.", "$18$, $19$"), ("The answer is $18$ million.", "$18$ million"),
    ("The answer is $18. She also has $5 left.", "$18"), ("The answer is $18, that is $2 more than $16.", "$18"),
    (r"So the answer is $\$18$.", r"\$18"), ("The answers are 2 and 3.", "2 and 3"),
    ("The answer is 18, because 9+9=18.", "18"), ("The answer is 18. I hope this answer is helpful.", "18"),
    ("**Final Answer**\n\n18", "18"), ("## Answer\n18", "18"), ("The answer would be 18.", "18"),
    ("<answer>The answer is 18</answer>", "18"), ("The answer is 5!", "5!"),
    ("Final Answer: The final answer is $(-6, 10)$. I hope it is correct.", "(-6, 10)"),
    ("First, the answer is 3. No, the answer is 4. Good.", "4"), ("The correct option is (B).", "(B)"),
    ("Option B is the answer", "Option B is the answer"), ("So 20 + 6 = 26.\nA: 26", "26"), ("A: 3\nB: 4", None),
    ("## Final Result\n\n**18**", "18"), ("### Result\n\n$18$.", "18"),
    ("## Solution\n\nThe product is **18**.", "18"), ("## Result\nWe add 9 to 9.", None), ("\n 72 \n", "72"),
    ("It is\n72", None), ("the answer", "the answer"), ("", None),
]  # fmt: skip


def test_a_stated_answer():
    assert [(text, find_stated_answer(text)) for text, _ in STATED] == STATED


@given(st.text(alphabet="answer is:#\\boxed{}<>/$.\n 7", max_size=60))
def test_any_text_can_be_read(text):
    assert {type(find_boxed_answer(strip_reasoning(text))), type(find_stated_answer(text))} <= {str, type(None)}


PIECES = [
    "{", "}", "\\", "\\boxed", "\\boxed{", "\\boxed{7} ", "\\boxed ", "\\boxedX", "</think>", "<think>", "answer ",
    "answer is ", "answer" + " " * 50, "$", "\n", "#### ",
]  # fmt: skip


@pytest.mark.slow
def test_a_long_text_takes_no_longer_than_its_length():
    for piece in PIECES:
        seconds = []
        for size in (30_000, 300_000):
            text = piece * (size // len(piece))
            start = time.perf_counter()
            find_boxed_answer(strip_reasoning(text)), find_boxed_answer(text, "only"), find_stated_answer(text)
            seconds.append(time.perf_counter() - start)
        assert seconds[1] < 30 * seconds[0] + 0.3, piece  # a quadratic reading would take 100 times as long


def test_the_answers_of_completions():
    lines = Path(__file__).with_name("completions.txt").read_text().splitlines()[1:]
    for line in lines:
        solution, _, text = line[2:].partition(" # ")
        answer, gold = find_stated_answer(strip_reasoning(text.replace("¶", "\n"))), read_gold(solution)
        assert gold is not None
        assert (answer is not None and settle(gold, answer, AnswerRules()) is True) == (line[0] == "T"), line
