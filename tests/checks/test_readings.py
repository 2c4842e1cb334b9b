"""How much of a column the rewards can read."""

import re

import pytest

from helpers.checks import make_problems
from trl_grpo_rewards import boxed, exact, json_fields, reward
from trl_grpo_rewards.checks import check, honest
from trl_grpo_rewards.checks.contract import check_readings
from trl_grpo_rewards.traits import Reading


def test_every_solution_is_read():
    good = ["7", 0.5, "\\frac{1}{2}", "3\\sqrt{5}", "x = 5", "18 dollars", "50\\%", "5^\\circ", "2 + 3 = 5\n#### 5"]
    (found,) = check_readings(boxed(), make_problems(*map(str, good)))
    assert not found.warnings and not found.faults
    assert (
        check_readings(exact(), make_problems("it is seven of them, I think", "", "3 and 5")) == []
    )  # it compares texts


@pytest.mark.parametrize(
    "gold",
    ["Answer: 22", "A: 22", "The answer is 22 apples", "Final answer: 22", "approximately 22", "22 (apples)", "so 22"],
)
def test_a_gold_with_a_label_is_judged_as_a_model_writes_it(gold):
    (found,) = check_readings(boxed(), make_problems(gold, gold))
    assert not found.faults
    assert honest(boxed(), {"prompt": "?", "solution": gold}).endswith("\\boxed{22}")
    assert boxed()(completions=["\\boxed{22}", "\\boxed{23}"], solution=[gold] * 2) == [1.0, 0.0]


def test_solutions_that_need_a_second_opinion_are_counted():
    (found,) = check_readings(boxed(), make_problems("7", r"\lim_{x \to 0} f(x)", "8", r"\lim_{x \to 0} f(x)"))
    assert found.lines[-3].strip() == "50.00% that only math-verify can read"
    assert not check_readings(boxed(), make_problems("7", "8"))[0].lines[-1].endswith("can read")


@pytest.mark.parametrize(
    "prompt, is_shown",
    [
        ("What is {0} + {0}? (Answer: {1})", True), ("{1}", True), ("What is {0} + {0}?", False),
        ("What is {1}7 + 1{1}? Not {1}.5", False),  # parts of other numbers
        ("{0}: Which one is it: 20, 22, 24, 26, 28, 30, 32, 34, 36 or 38?", False),  # options to choose from
    ],
)  # fmt: skip
def test_prompts_that_contain_their_solutions_are_warned_of(prompt, is_shown):
    prompts = [prompt.format(number, 2 * number) for number in range(10, 20)]
    (found,) = check_readings(boxed(), make_problems(*(str(2 * number) for number in range(10, 20)), prompts=prompts))
    assert found.warnings == (
        [
            f"Nearly every prompt contains its solution, such as {prompts[0]!r}. A model can copy it. If the prompts "
            "should not show it, remove it from them."
        ]
        if is_shown
        else []
    )


@pytest.mark.parametrize(
    "ending, is_told", [(" (answer: {1})", True), ("\nAnswer: {1}.", True), (" + {1} = ?", False), (" 1{1}", False)]
)
def test_prompts_of_which_some_end_with_their_solutions_are_counted(ending, is_told):
    prompts = [f"What is {n} + {n}?" + ending.format(n, 2 * n) * (n % 2) for n in range(10, 50)]
    (found,) = check_readings(boxed(), make_problems(*(str(2 * n) for n in range(10, 50)), prompts=prompts))
    assert [one.partition(", such")[0] for one in found.warnings] == [
        "20 of 40 prompts end with their solution"
    ] * is_told


def read_marked(values: list) -> list[Reading]:
    """Each value says how it is read: its kind, and after a colon its value."""
    return [Reading(*value.partition(":")[::2]) for value in values]


@reward(reads={"solution": read_marked})
def marked(completion: str, solution: str) -> float:
    return 0.0


@reward(reads={"solution": read_marked})
def marked_again(completion: str, solution: str) -> float:
    return 0.0


def test_readings_are_counted_by_their_kind():
    values = ["whole:1"] * 5 + ["several:2"] * 2 + ["in part:3", "not at all:4", "not at all:5"]
    (found,) = check_readings(marked() + marked_again(), make_problems(*values), threshold=0.3)
    assert found.title == "values of 'solution', as 'marked' reads them"
    assert [line.strip() for line in found.lines] == [
        "10 read, 5 different", "20.00% unreadable", "'not at all:4'", "'not at all:5'", "10.00% read in part",
        "'in part:3'", "20.00% with several answers", "'several:2'", "'several:2'", "0.00% that differ for the same prompt",
    ]  # fmt: skip
    assert not found.faults and found.warnings[0].startswith("3 of 10 values of 'solution' cannot be read as a whole")
    (found,) = check_readings(marked(), make_problems(*values), threshold=0.29)
    assert (
        "3 of 10 values cannot be read as a whole, such as 'not at all:4', the value of the prompt" in found.faults[0]
    )
    assert not found.warnings


def test_rows_contradict_each_other_if_one_prompt_has_two_answers():
    chat = [[{"role": "user", "content": content}] for content in "aba"]
    (found,) = check_readings(boxed(), make_problems("1", "2", "3", prompts=chat))
    assert found.warnings == [
        "2 rows have the prompt of another row but a different solution. Correct or remove them."
    ]
    (found,) = check_readings(boxed(), make_problems("0.5", "1/2", "\\frac{1}{2}", prompts=["Which?"] * 3))
    assert not found.warnings  # they are equal


@pytest.mark.parametrize(
    "solutions, said",
    [
        (["7", "it is seven of them, I think", "8"], "fault: Reward 'boxed' reads the column 'solution', but 1 of 3 values cannot be read as a "
         "whole, such as 'it is seven of them, I think', the value of the prompt 'Which of 1.'. .* Store only the answer, such as 'think' for"),
        (["It took 22 days until 3 of them left"] * 2, "fault: .* Store only the answer, such as '3' for this row, or"),
        (["7", None, "8"], "fault: .* Without a solution, no completion can be judged. Remove such rows."),
        (["nan", "7", "8"], "fault: .* 1 of 3 values .* such as 'nan'.* This one is what pandas writes for a missing value."),
        (["7"] * 30 + ["nan"], "warning: 1 of 31 values .* such as 'nan'"),
        (["93,5", "94,5"], "warning: 2 of 2 values .* a decimal comma, such as '93,5', .* write a point"),
        (["1.234,50", "7"], "warning: 1 of 2 values .* a decimal comma, such as '1.234,50'"),
        (["1,234", "12,345,678", "1,2,3", "(1,5)", "nano"], ""),
        ([{"a": 1}, {"a": 2}], r"fault: .* 2 of 2 values .* To compare the fields of objects, write json_fields\(\)\."),
        (["She has bought 62 apples, and then she went home again with all of them."] * 2, "fault: .* 2 of 2 values"),
    ],
)  # fmt: skip
def test_each_mistake_in_solutions_is_one_sentence(config, solutions, said):
    data = make_problems(*solutions, prompts=[f"Which of {place}?" for place in range(len(solutions))])
    found = check(boxed(box="only"), data, config(max_completion_length=16, generation_batch_size=8))
    texts = [f"{kind[:-1]}: {text}" for one in found for kind in ("faults", "warnings") for text in getattr(one, kind)]
    texts = [text for text in texts if "repeat the prompt" not in text and "by heart" not in text]
    assert len(texts) == bool(said) and re.match(said, "".join(texts)), texts


def test_dicts_as_python_writes_them_are_called_so():
    faults = [fault for one in check(json_fields(), make_problems("{'a': 1}", "{'a': 2}")) for fault in one.faults]
    assert len(faults) == 1 and "This one is a Python dict, not JSON (write it with json.dumps)." in faults[0], faults


def test_solutions_with_more_digits_than_python_writes_are_checked():
    assert not any(one.faults for one in check(boxed(), make_problems("2^{50000}", "2000!")))
