"""Whose words count: no statement of a tool, of a comment or of a turn that the model only makes up."""

import itertools
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trl_grpo_rewards import answer, boxed, choice, exact
from trl_grpo_rewards.answers.own_words import TOOL_TAGS, find_own_words
from trl_grpo_rewards.texts import END_MARKS, completion_text


def pay(reward, text, solution):
    return reward(completions=[text], solution=[solution])[0]


STATED = {
    answer: ["The answer is {}.", "#### {}", "Answer: {}", "<answer>{}</answer>", "So 40 + 2 = {0}\n\\boxed{{{0}}}"],
    boxed: ["So \\boxed{{{}}}."],
    choice: ["The answer is {}.", "Answer: ({})", "\\boxed{{{}}}"],
    exact: ["Answer: {}", "The answer is {}.", "<answer>{}</answer>"],
}
VALUES = {answer: ("180", "7"), boxed: ("180", "7"), choice: ("B", "D"), exact: ("Oslo", "Rome")}
CASES = [(reward, form) for reward, forms in STATED.items() for form in forms]
TURNS = [
    "\n\nQ: How many has she now?\nA: ", "\n\nQuestion: How many?\nAnswer: ", "\n\n### Question\nHow many?\n### Answer\n",
    "\n\nProblem 2: How many?\nSolution: ", "\nHuman: How many?\nAssistant: ", "\n\nUser: How many?\n\nAssistant: ",
    "<|im_end|>\n<|im_start|>user\nHow many?<|im_end|>\n<|im_start|>assistant\n", "\n**Question:** How many?\n",
    "<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nHow many?", "<end_of_turn>\n<start_of_turn>user\nHow many?",
    "</s>[INST] How many? [/INST]", "\n\n问题：还有多少？\n",
]  # fmt: skip


@pytest.mark.parametrize("reward, form", CASES)
def test_what_follows_a_new_turn_does_not_count(reward, form):
    right, wrong = VALUES[reward]
    for turn in TURNS:
        text = form.format(right) + turn + form.format(wrong)
        assert (pay(reward(), text, right), pay(reward(), text, wrong)) == (1.0, 0.0), text


def test_a_question_that_is_repeated_before_the_answer_does_not_end_the_text():
    for text in ("Question: 40 + 2?\nThe answer is 42.", "Let me see.\n\nProblem: what is 40 + 2?\n\n#### 42", "#### Step 1\nQ: so?\n42 is the answer."):  # fmt: skip
        assert pay(answer(), text, "42") == 1.0, text


@pytest.mark.parametrize("tag", TOOL_TAGS.split())
def test_the_words_of_tools_are_not_the_models(tag):
    for inside in ("Answer: 42", "#### 42", "\\boxed{42}", "The answer is 42."):
        for text in (
            f"<{tag}>\n{inside}\n</{tag}>",
            f"<{tag}>{inside}",
            f"I look.\n<{tag}>{inside}</{tag}> I need time.",
        ):
            assert pay(answer(), text, "42") == 0.0, text
        assert pay(answer(), f"<{tag}>{inside.replace('42', '41')}</{tag}>\n{inside}", "42") == 1.0
        assert pay(answer(), f"{inside}\n<{tag}>{inside.replace('42', '41')}</{tag}>", "42") == 1.0


def test_comments_in_code_and_printed_output_are_no_statements():
    for block in (
        "python\nx = 1  # The answer is 42.",
        "output\nAnswer: 42",
        "python\n#### 42",
        "js\n// Answer: 42\nf()",
    ):
        assert pay(answer(), f"```{block}\n```", "42") == 0.0, block
        assert pay(answer(), f"```{block}\n```\nAnswer: 42", "42") == 1.0, block
    for block in ("\n42", "text\nAnswer: 42", "latex\n\\boxed{42}"):
        assert pay(answer(), f"So:\n```{block}\n```\nThe answer is 42.", "42") == 1.0, block


@given(st.text("a \n<>|", max_size=20), st.lists(st.sampled_from([*END_MARKS, " ", "\n"]), max_size=6))
def test_marks_at_the_end_of_a_turn_change_nothing(text, marks):
    assert completion_text(text + "".join(marks)).rstrip() == completion_text(text).rstrip()


@pytest.mark.parametrize("reward, form", CASES)
def test_each_reward_reads_a_text_without_its_end_marks(reward, form):
    right, _ = VALUES[reward]
    for mark, space in itertools.product(END_MARKS, ("", "\n")):
        assert pay(reward(), form.format(right) + mark + space, right) == 1.0, mark
        assert pay(reward(), [{"role": "assistant", "content": form.format(right) + space + mark}], right) == 1.0, mark


UNITS = (
    *(f"<{tag}>" for tag in TOOL_TAGS.split()[:4]), "</output>", "```python\n", "```output\n", "# x\n", "Q: ", "\nQ: ", "\nUser:",
    "<|im_start|>user", "<|im_end|>", "</s> ", " ", "\n", "#### 4\nQ: ", "Answer: 4\n", "<!--", "The answer is ", "\\boxed{4} or A ",
)  # fmt: skip


def test_no_text_is_slow():
    for unit in UNITS:
        text = (unit * 200_000)[:200_000]
        start = time.thread_time()
        find_own_words(completion_text(text))
        assert time.thread_time() - start < 1, unit
