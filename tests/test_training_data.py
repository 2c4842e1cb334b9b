"""Datasets that cannot be trained on: the check and the trainer say so, and what to do, before the model loads."""

import pytest
from datasets import Dataset, DatasetDict

from helpers.checks import find_faults
from trl_grpo_rewards import FilteredGRPOTrainer, boxed, tags
from trl_grpo_rewards.checks import check
from trl_grpo_rewards.training_data import describe_bad_prompt


USER = {"role": "user", "content": "2 + 2?"}


@pytest.mark.parametrize(
    "prompt, said",
    [
        ("  ", "A prompt must not be empty, but 1 of 2 rows of the column 'prompt' contain no text, such as row 2: '  '. Remove"),
        (None, "must be a text or a list of messages, but 1 of 2 rows of the column 'prompt' contain nothing, such as row 2: None"),
        ([], "at least one message, but 1 of 2 rows .* have no messages, such as row 2: \\[\\]. Remove such rows"),
        ([{"role": "bot", "content": "?"}], "must be system, .* have the role 'bot', such as row 2: .* Rename it"),
        ([{"role": "system", "content": "?"}], "must have a message of the user, .* Put the question into a message with the role"),
        ([{"role": "user", "content": " "}], "user's message must not be empty"),
        ([USER, {"role": "assistant", "content": "It is easy."}], "must end before the answer, .* Leave out the last message of each row"),
        ([{"role": "user", "text": "?"}], "with 'role' and 'content', .* have a message with 'role', 'text'.* Rename the keys"),
        ([{"from": "human", "value": "?"}], "have a message with 'from', 'value', .* Rename 'from' to 'role' and 'value' to"),
    ],
)  # fmt: skip
def test_a_prompt_that_cannot_be_asked_is_refused(config, prompt, said):
    good = [USER] if isinstance(prompt, list) else "2 + 2?"
    data = Dataset.from_dict({"prompt": [good, prompt], "solution": ["4", "4"]})
    (fault,) = find_faults(boxed(), data)
    with pytest.raises(ValueError, match=said) as caught:
        FilteredGRPOTrainer("no/model", boxed(), config(), data)
    assert str(caught.value) == fault


@pytest.mark.parametrize("prompt, said", [(["2 + 2?"], "a value of the type str"), (7, "a value of the type int")])
def test_lists_of_texts_and_numbers_are_no_prompts(config, prompt, said):
    data = Dataset.from_dict({"prompt": [prompt] * 2, "solution": ["4", "4"]})
    (fault,) = find_faults(boxed(), data)
    assert said in fault and "2 of 2 rows" in fault
    with pytest.raises(ValueError, match=said):
        FilteredGRPOTrainer("no/model", boxed(), config(), data)


@pytest.mark.parametrize("prompt", [
    "2 + 2?", [{"role": "system", "content": ""}, USER],
    [{"role": "user", "content": [{"type": "image", "text": None}, {"type": "text", "text": "What is it?"}]}],
    [USER, {"role": "assistant", "content": None, "tool_calls": [{}]}, {"role": "tool", "content": "4"}],
    [USER, {"role": "assistant", "content": "4"}, USER],
])  # fmt: skip
def test_texts_conversations_and_parts_are_prompts(prompt):
    assert describe_bad_prompt(prompt) is None


@pytest.mark.parametrize(
    "name", ["completions", "completion_ids", "prompts", "trainer_state", "log_extra", "log_metric"]
)
def test_a_column_with_a_name_of_trl_is_refused(config, name):
    data = Dataset.from_dict({"prompt": ["2 + 2?"] * 2, "solution": ["4", "4"], name: ["x", "y"]})
    (fault,) = find_faults(boxed(), data)
    assert f"dataset has the column '{name}'. Rename it: dataset.rename_column('{name}', 'my_{name}')." in fault
    with pytest.raises(ValueError, match=f"Rename it: dataset.rename_column..{name}"):
        FilteredGRPOTrainer("no/model", boxed(), config(), data)


def test_a_check_without_prompts_names_the_column_that_contains_them():
    (fault,) = find_faults(boxed(), Dataset.from_dict({"messages": [[USER]] * 2, "solution": ["4", "5"]}))
    assert "needs the column 'prompt'" in fault and "dataset.rename_column('messages', 'prompt')" in fault
    assert not find_faults(boxed(), Dataset.from_dict({"id": [1, 2], "solution": ["4", "5"]}))  # of an environment
    (fault,) = find_faults(boxed(), Dataset.from_dict({"prompt;solution": ["2 + 2?;4"] * 2}))
    assert fault.endswith("load_dataset('csv', data_files=..., sep=';').")


def test_a_dataset_below_a_generation_batch_is_a_fault_of_the_check(config, problems):
    args = config(gradient_accumulation_steps=3)
    (fault,) = find_faults(tags("a"), problems.select(range(5)), config=args)
    assert "at least the 6 prompts of one generation batch" in fault


@pytest.mark.parametrize(
    "given, said",
    [
        (DatasetDict(train=Dataset.from_dict({"prompt": ["a"]})), r"is a DatasetDict. Choose a split, such as dataset\['train'\]\.$"),
        ("problems.jsonl", r"but is a str. Load the file: load_dataset\('json', data_files=..., split='train'\)\.$"),
        ([{"prompt": "a"}], r"but is a list. Convert it: Dataset.from_list\(rows\)\.$"),
        ({"prompt": ["a"]}, r"but is a dict. Convert its columns: Dataset.from_dict\(columns\)\.$"),
        (Dataset.from_dict({"prompt": ["a"]}).to_pandas(), r"but is a DataFrame. Convert it: Dataset.from_pandas\(frame\)\.$"),
    ],
)  # fmt: skip
def test_what_is_no_dataset_is_said(config, given, said):
    for reject in (check, lambda rewards, data: FilteredGRPOTrainer("no/model", rewards, config(), data)):
        with pytest.raises(TypeError, match=said):
            reject(boxed(), given)


def test_a_check_refuses_what_would_never_end_and_warns_of_a_late_system_message():
    late = [{"role": "user", "content": "2 + 2?"}, {"role": "system", "content": "Be brief."}]
    (first, *_) = check(
        boxed(), Dataset.from_list([{"prompt": late, "solution": "4"}, {"prompt": late[::-1], "solution": "4"}])
    )
    assert not first.faults and "but 1 of 2 end with a message of the system, such as 'Be brief.'" in first.warnings[0]
    (first, *others) = check(boxed(), Dataset.from_dict({"prompt": ["a", "b"], "solution": ["1", "1" * 1_000_001]}))
    assert "row 2 of the column 'solution' has 1,000,001" in first.faults[0] and not any(one.is_run for one in others)
