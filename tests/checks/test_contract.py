"""What must fit together before anything is scored: columns and their types, lengths, weights, and a copy by pickle."""

from pathlib import Path

import pytest
from datasets import Dataset
from trl import GRPOConfig

from helpers.checks import find_faults, make_problems
from trl_grpo_rewards import boxed, demo, gate, length, parse, reward, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.checks.contract import check_contract, check_readiness


@reward
def shouted(completion: str, solution: str) -> float:
    return float(completion.endswith(solution.upper()))


def test_columns_must_be_there_and_of_the_type_that_is_read():
    data = make_problems("1", "2")
    (fault,) = check_contract(boxed(), data.rename_column("solution", "answer")).faults
    assert (
        "Reward 'boxed' needs the column 'solution'; found 'answer', 'prompt'. Name it: boxed(solution='answer')."
        in fault
    )
    (fault,) = check_contract(gate(length(3, unit="words"), by=shouted()), make_problems(1, 2)).faults
    assert fault.startswith(
        "Reward 'shouted' reads the column 'solution' as str, but the dataset contains int64, such as 1."
    )
    for solutions in ((1, 2), (0.5, 2.5)):
        assert not check_contract(boxed(), make_problems(*solutions)).faults


@pytest.mark.parametrize("content", ["4", "It is 4.", "<think>", ""])  # TRL opens another message after each of them
def test_a_prompt_that_ends_with_a_message_of_the_assistant_is_a_fault(content):
    asked = [{"role": "user", "content": "What is 0 + 4?"}]
    rows = [{"prompt": [*asked, {"role": "assistant", "content": content}], "solution": "4"}] * 3
    (fault,) = check_contract(boxed(), Dataset.from_list(rows)).faults
    assert "end with a message of the assistant" in fault and "row['prompt'][:-1]" in fault
    assert not check_contract(boxed(), Dataset.from_list([{"prompt": asked, "solution": "4"}])).faults


def test_lengths_must_be_in_reach(config):
    data, args = make_problems("1", "2"), config(max_completion_length=16)
    (fault,) = check_contract(boxed() + 0.1 * length(17), data, args).faults
    assert "has target=17, but completions end at max_completion_length=16. Set target to at most 16" in fault
    assert not check_contract(boxed() + 0.1 * length(17, unit="chars"), data, args).faults


@reward(lengths=lambda budget: {"budget": budget})
def budgeted(completion: str, *, budget: int = 8, max_tokens: int = 100_000) -> float:
    return float("plan" in completion)


def test_lengths_are_declared_by_the_users_reward(config):
    data, args = make_problems("1", "2"), config(max_completion_length=16)
    assert not check_contract(boxed() + 0.1 * budgeted(), data, args).faults
    (fault,) = check_contract(boxed() + 0.1 * budgeted(budget=17), data, args).faults
    assert "Reward 'budgeted' has budget=17, but completions end at max_completion_length=16." in fault


@pytest.mark.parametrize(
    "ungated",
    [
        "boxed() + 0.3 * length(9)", "boxed() - 0.3 * length(9)", "boxed() + 0.3 * clip(length(9), high=0.5)",
        "boxed() + 0.3 * gate(length(9), by=tags('a'))", "boxed() + 0.3 * tags('a') * length(9)",
        "boxed() + 0.3 * shortest(tags('a'))", "boxed() + 0.3 * cosine(tags('a'), max_tokens=9)",
        "boxed() + schedule(length(9, unit='words'), steps={0: 0, 9: 1})", "gate(boxed(), by=tags('a')) + length(9)",
        "clip(boxed() + length(9), high=1)",
    ],
)  # fmt: skip
def test_a_length_term_that_no_outcome_gates_is_warned_of(ungated):
    (warning,) = check_contract(parse(ungated), make_problems("1", "2")).warnings
    assert "pays for length, and no outcome gates it" in warning and warning.endswith(").")
    repaired = warning.rpartition("only: ")[2][:-1]
    assert not check_contract(boxed() + parse(repaired), make_problems("1", "2")).warnings


@pytest.mark.parametrize(
    "gated",
    [
        "boxed() + 0.3 * gate(length(9), by=boxed())", "boxed() * length(9)", "(boxed() + tags('a')) * length(9)",
        "boxed() + 0.3 * shortest(boxed())", "boxed() + cosine(answer(), max_tokens=9)", "boxed() + tags('a')",
        "boxed() + gate(length(9), by=share(boxed()), at_least=0.5)", "boxed() + gate(clip(length(9), high=1), by=boxed())",
        "boxed() + gate(shortest(boxed()), by=share(boxed()), at_least=0.5)", "boxed() + 0.1 * overlong(9, cache=2)",
        "boxed() + truncated(9)", "length(9) + tags('a')", "boxed() + gate(tags('a') + length(9), by=boxed())",
    ],
)  # fmt: skip
def test_a_length_term_that_an_outcome_gates_is_not(gated):
    warnings = check_contract(parse(gated), make_problems("1", "2")).warnings
    assert not [one for one in warnings if "no outcome gates it" in one]


def check_disk(folder: str) -> None:
    if not Path(folder).is_dir():
        raise ValueError(f"The reward needs the folder {folder}, which does not exist. Create it.")


@reward(ready=check_disk)
def archived(completion: str, *, folder: str) -> float:
    return 1.0


def test_a_reward_says_what_keeps_it_from_working_here(tmp_path):
    data = make_problems("1", "2")
    assert not check_readiness(boxed() + archived(str(tmp_path))).faults
    gone = boxed() + gate(archived(str(tmp_path / "gone")), by=boxed())
    (fault,) = check_readiness(gone).faults
    assert fault in find_faults(gone, data)
    assert fault == f"The reward needs the folder {tmp_path / 'gone'}, which does not exist. Create it."


@reward
def in_language(completion: str, *, target: str = "de") -> float:
    return float("ist" in completion)


def test_an_option_that_happens_to_be_called_target_is_no_length(config):
    assert not check_contract(boxed(evaluated=True) + 0.1 * in_language(), demo.arithmetic(size=8), config()).faults


def test_a_reward_that_cannot_be_pickled_is_a_warning_and_all_else_goes_on():
    @reward
    def local(completion: str, solution: str) -> float:
        return float(completion.endswith(f"\\boxed{{{solution}}}"))

    found = check(local(), make_problems("7", "8"))
    (warning,) = [warning for one in found for warning in one.warnings]
    assert warning.startswith("A trainer that scores in another process, as TRL's AsyncGRPOTrainer does, needs")
    assert "they cannot be pickled: " in warning and warning.endswith("at the top level of a module.")
    assert all(one.is_run and not one.faults for one in found)


@pytest.mark.parametrize(
    "expression, weights, said",
    [
        ("boxed() + 0.2 * tags('a')", None, "[1.0, 0.2], but args have no reward_weights"),
        ("boxed() + 0.2 * tags('a')", [1.0, 2.0], "[1.0, 0.2], but args have reward_weights=[1.0, 2.0]"),
        ("boxed() + 0.2 * tags('a')", [1.0, 0.2], None),
        ("boxed() + tags('a')", None, None),
    ],
)
def test_weights_that_the_trainer_of_trl_does_not_get_are_a_warning(config, expression, weights, said):
    rewards, data = parse(expression), make_problems("1", "2")
    warnings = check_contract(rewards, data, config(GRPOConfig, reward_weights=weights)).warnings
    assert len(warnings) == (said is not None) and (said is None or said in warnings[0])
    assert not check_contract(rewards, data, config()).warnings


def test_an_empty_dataset_is_a_fault():
    (fault,) = check_contract(boxed(), make_problems("7").select([])).faults
    assert "must have at least one row; it is empty" in fault


def test_what_the_rewards_read_is_listed():
    found = check_contract(tags("think") + gate(boxed(), by=shouted()), make_problems("1", "2"))
    assert not found.faults
    assert found.lines == [
        "tags('think') + gate(boxed(), by=shouted())",
        "2 prompts; columns that the rewards read: solution (string)",
        "The dataset looks like a number or formula as the answer: boxed().",
    ]
    assert check_contract(tags("think"), make_problems("1")).lines[1].endswith(": none")


@reward(batched=True)
def rhyming(completions: list, solution: list[str], hint: list) -> list[float]:
    return [0.0] * len(completions)


def test_a_batched_reward_declares_the_type_of_one_value():
    data = make_problems(None, 2).add_column("hint", [3, 4])
    (fault,) = check_contract(rhyming(), data).faults  # any list will do for the hints
    assert fault.startswith("Reward 'rhyming' reads the column 'solution' as str") and "such as 2." in fault
    assert not check_contract(rhyming(), make_problems(None, "2").add_column("hint", [3, 4])).faults


def test_a_column_that_two_rewards_miss_is_said_of_each():
    missing = make_problems("1").remove_columns("solution")
    faults = check_contract(boxed() + gate(tags("a"), by=shouted()), missing).faults
    assert [fault.split("'")[1] for fault in faults] == ["boxed", "shouted"]


@pytest.mark.parametrize(
    "solutions, prompts, said",
    [
        (["4"] * 20, None, "all 20 have the solution '4'. A model can learn it"),
        (["4"] * 19, None, None),
        (["4", "5"] * 10, ["a", "b"] * 10, "18 of 20 rows repeat the prompt and the solution of an earlier row"),
        (["4", "5"], ["a", "a"], None),  # they contradict each other
    ],
)
def test_repeated_rows_and_one_solution_for_all_are_warned_of(solutions, prompts, said):
    warnings = check_contract(boxed(), make_problems(*solutions, prompts=prompts)).warnings
    assert len(warnings) == (said is not None) and (said is None or said in warnings[0])


@reward
def reads_if_there(completion: str, solutoin=None, theme="") -> float:
    return float(completion.endswith(f"{{{solutoin}}}"))


def test_a_column_that_is_misspelt_and_has_a_default_is_a_warning():
    data = make_problems("1", "2")
    warnings = check_contract(reads_if_there(), data).warnings
    said = "Reward 'reads_if_there' reads the column 'solutoin' if there is one, but there is none. Did you mean 'solution'?"
    assert said in warnings and not any("theme" in one for one in warnings)
    for rewards in (reads_if_there(solutoin="solution"), reads_if_there() + boxed()):
        assert said not in check_contract(rewards, data).warnings


@reward(outcome=True)
def makes_sum(completion: str, puzzle: str) -> float:
    return float(str(len(puzzle)) in completion)


def test_a_column_that_repeats_the_prompts_is_not_taken_for_the_solutions():
    asked = [f"What is {number} + 1?" for number in range(6)]
    right = [f"{number + 1}" for number in range(6)]
    for copied in range(7):
        data = make_problems(*asked[:copied], *right[copied:], prompts=asked)
        said = [fault for fault in check_contract(boxed(evaluated=True), data).faults if "repeats the prompt" in fault]
        assert len(said) == (copied > 3)
    assert said[0].startswith(
        "The column 'solution' must contain solutions, but in 6 of 6 rows it repeats the prompt, such"
    )
    assert not check_contract(tags("think"), data).faults
    puzzles = data.rename_column("solution", "puzzle")
    assert not check_contract(makes_sum(), puzzles).faults and check_contract(boxed(solution="puzzle"), puzzles).faults
