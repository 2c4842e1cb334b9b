"""Prompts and columns that TRL cannot use are named by `check`, by the command and by the trainer, before a model loads."""

import json

import pytest
from datasets import Dataset

from trl_grpo_rewards import FilteredGRPOTrainer, boxed
from trl_grpo_rewards.checks import check


ASKED = {"role": "user", "content": "What is 2 + 2?"}
WRONG = {
    "empty": ("", "A prompt must not be empty. Remove such rows"),
    "white space": (" \n", "A prompt must not be empty."),
    "none": (None, "A prompt must not be empty."),
    "no messages": ([], "A prompt must not be empty."),
    "number": (7, "A prompt must be a text or a list of messages with 'role' and 'content'"),
    "texts": (["What is 2 + 2?"], "A prompt must be a text or a list of messages with 'role' and 'content'"),
    "other keys": ([{"from": "human", "value": "2 + 2?"}], "A prompt must be a text or a list of messages with"),
    "no content": ([{"role": "user"}], "A prompt must be a text or a list of messages with 'role' and 'content'"),
    "system only": ([{"role": "system", "content": "Be brief."}], "A prompt must have a message with the role 'user'"),
    "answered": ([ASKED, {"role": "assistant", "content": "Four."}], "its last message is the assistant's. Drop that message"),
}  # fmt: skip
RIGHT = {
    "text": "What is 2 + 2?",
    "conversation": [ASKED],
    "after an answer": [ASKED, {"role": "assistant", "content": "4"}, ASKED],
    "parts": [{"role": "user", "content": [{"type": "text", "text": "What is 2 + 2?"}]}],
}


def make_dataset(prompt, **columns):
    return Dataset.from_dict({"prompt": [prompt] * 64, "solution": [str(row) for row in range(64)], **columns})


@pytest.mark.parametrize("kind", WRONG)
def test_a_prompt_that_cannot_be_answered_is_a_fault_everywhere(kind, config, command, tmp_path):
    prompt, message = WRONG[kind]
    (fault,) = [fault for found in check(boxed(), make_dataset(prompt)) for fault in found.faults]
    assert message in fault and f"row 0: {prompt!r}" in fault
    with pytest.raises(ValueError) as raised:
        FilteredGRPOTrainer("no model is loaded", boxed(), args=config(), train_dataset=make_dataset(prompt))
    assert message in str(raised.value)
    rows = [json.dumps({"prompt": prompt, "solution": str(row)}) for row in range(64)]
    (tmp_path / "rows.jsonl").write_text("\n".join(rows))
    run = command("check", "--rewards", "boxed()", "--dataset_name", "rows.jsonl", "--model_name_or_path", "none/here")
    assert run.returncode and "Traceback" not in run.stderr and message in run.stdout + run.stderr


@pytest.mark.parametrize("kind", RIGHT)
def test_a_prompt_that_can_be_answered_is_none(kind):
    assert not check(boxed(), make_dataset(RIGHT[kind]))[0].faults


@pytest.mark.parametrize("name", ["completions", "prompts", "trainer_state", "log_extra", "log_metric"])
def test_a_column_with_the_name_of_an_argument_is_a_fault(name, config):
    dataset = make_dataset("What is 2 + 2?", **{name: ["x"] * 64})
    (fault,) = [fault for found in check(boxed(), dataset) for fault in found.faults]
    assert f"dataset.rename_column('{name}', 'my_{name}')" in fault
    with pytest.raises(ValueError, match=f"passes an argument '{name}'"):
        FilteredGRPOTrainer("no model is loaded", boxed(), args=config(), train_dataset=dataset)


def test_rows_that_repeat_or_have_one_solution_and_too_few_rows_are_warned_of(config):
    repeated = Dataset.from_dict({"prompt": [f"{row % 10} + 1?" for row in range(40)], "solution": ["5"] * 40})
    warnings = " ".join(
        one for found in check(boxed(), repeated, config(per_device_train_batch_size=512)) for one in found.warnings
    )
    assert "30 of 40 rows repeat the prompt and the solution of another row" in warnings
    assert "All 40 rows have the same solution, '5'" in warnings
    assert "prompts (generation_batch_size / num_generations), but the dataset has 40" in warnings
