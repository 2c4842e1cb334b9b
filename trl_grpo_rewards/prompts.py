"""What TRL and chat templates expect of a dataset's prompts and of the names of its columns."""

from collections.abc import Mapping
from typing import Any

from .batch import HOOKS


RESERVED = ("prompts", "completions", *HOOKS)
"""Arguments that TRL passes to rewards next to the columns of the dataset."""


CHECKED_PROMPTS = 100
"""Largest number of prompts that are looked at."""


def find_dataset_fault(dataset: Any) -> str | None:
    """Return the first fault of the columns' names or of the first prompts of a dataset, or None. A stream is not read."""
    for name in dataset.column_names:
        if name in RESERVED:
            return (
                f"TRL passes an argument '{name}' to every reward, so no column can have this name, but the dataset has "
                f"one. Rename it: dataset.rename_column('{name}', 'my_{name}')."
            )
    if "prompt" not in dataset.column_names or not hasattr(dataset, "__len__"):
        return None
    for row, prompt in enumerate(dataset.select_columns("prompt")[:CHECKED_PROMPTS]["prompt"]):
        if (fault := describe_prompt_fault(prompt)) is not None:
            return f"{fault} This is the prompt of row {row}: {prompt!r:.200}."
    return None


def describe_prompt_fault(prompt: Any) -> str | None:
    """Return what is wrong with a prompt and what to do, or None if it is a text or a conversation that can be answered."""
    if prompt is None or (
        isinstance(prompt, (str, list)) and not (prompt.strip() if isinstance(prompt, str) else prompt)
    ):
        return "A prompt must not be empty. Remove such rows: dataset.filter(lambda row: row['prompt'])."
    if isinstance(prompt, str):
        return None
    if not isinstance(prompt, list) or not all(
        isinstance(one, Mapping) and isinstance(one.get("role"), str) and "content" in one for one in prompt
    ):
        return (
            "A prompt must be a text or a list of messages with 'role' and 'content', such as "
            "[{'role': 'user', 'content': 'What is 2 + 2?'}]. Convert the column with dataset.map(...)."
        )
    roles = [message["role"] for message in prompt]
    if roles[-1] == "assistant":
        return (
            "A prompt must end before the answer, but its last message is the assistant's. Drop that message: "
            "dataset.map(lambda row: {'prompt': row['prompt'][:-1]})."
        )
    if {*roles} == {"system"}:
        return "A prompt must have a message with the role 'user', but it has only system messages. Add the question."
    return None
