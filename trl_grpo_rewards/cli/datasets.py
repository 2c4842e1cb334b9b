"""What the scripts are given as text: modules of rewards to import, a dataset to read, a run to go on with."""

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from datasets import Dataset, DatasetDict, load_dataset, load_from_disk

from ..demo import arithmetic
from ..expressions import SOLUTION_COLUMNS


PROMPT_COLUMNS = ("prompt", "question", "problem", "instruction")
"""Usual names of the column with the question, to guess what a dataset calls it."""


def import_rewards(modules: Sequence[str]) -> None:
    """Import the modules, from the working directory too, so that they register their rewards."""
    sys.path.insert(0, str(Path.cwd()))
    for module in modules:
        try:
            importlib.import_module(module)
        except ModuleNotFoundError as error:
            if error.name != module.split(".")[0]:
                raise
            raise ValueError(
                f"There is no module '{module}' in {Path.cwd()} or among the installed packages. "
                f"Give its name as in an import statement: --import my_rewards for my_rewards.py."
            ) from None


def last_checkpoint(output_dir: str | Path) -> str | None:
    """The newest checkpoint of a run that is whole; one whose writing was cut off has no trainer state yet."""
    from transformers.trainer import TRAINER_STATE_NAME  # loads torch

    whole = [state.parent for state in Path(output_dir).glob(f"checkpoint-*/{TRAINER_STATE_NAME}")]
    return str(max(whole, key=lambda folder: int(folder.name.split("-")[1]))) if whole else None


def load_problems(
    name: str | None,
    *,
    config: str | None = None,
    data_files: Sequence[str] | None = None,
    train_split: str = "train",
    test_split: str = "test",
    prompt_column: str = "prompt",
    solution_column: str = "solution",
    system_prompt: str | None = None,
    test_size: int = 64,
) -> tuple[Dataset, Dataset | None]:
    """
    Problems to train on, and others to measure on.

    Args:
        name (`str`, *optional*):
            Name on the hub, a local folder, or a format such as `"json"` together with `data_files`; without it, the
            bundled addition problems.
        config (`str`, *optional*):
            Configuration of the dataset.
        data_files (`list[str]`, *optional*):
            Files to read.
        train_split (`str`, *optional*, defaults to `"train"`):
            Split to train on.
        test_split (`str`, *optional*, defaults to `"test"`):
            Split to measure on; where there is none, problems are taken out of the training split.
        prompt_column (`str`, *optional*, defaults to `"prompt"`):
            Column with the question, as text or as messages.
        solution_column (`str`, *optional*, defaults to `"solution"`):
            Column with the right answer. Without such a column the rewards must do without.
        system_prompt (`str`, *optional*):
            Put before every prompt.
        test_size (`int`, *optional*, defaults to `64`):
            Number of problems to measure on, at most; with 0 there are none.

    Returns:
        `tuple[Dataset, Dataset or None]`:
            Both with a conversational `prompt`, a `solution` if there is one, and all other columns.
    """
    if test_size < 0:
        raise ValueError(f"There are to be eval_prompts={test_size} problems to measure on. Give a number from 0.")
    if name is None and (data_files or config):
        raise ValueError(
            f"There are data_files={data_files} and dataset_config={config}, but no dataset that they belong to. "
            f"Name it, for files by their format: --dataset_name json --data_files problems.jsonl."
        )
    if name is None:
        train, test = arithmetic("train"), arithmetic("test", size=max(test_size, 1))
    else:
        train, test = splits(read(name, config, data_files), name, train_split, test_split, test_size)
    train, test = (conversational(part, prompt_column, solution_column, system_prompt) for part in (train, test))
    return train, test.select(range(min(test_size, len(test)))) if test_size else None


def read(name: str, config: str | None, data_files: Sequence[str] | None) -> DatasetDict:
    if Path(name).is_file():
        raise ValueError(
            f"The dataset {name!r} is a file, and a dataset is a name on the hub, a folder, or a format with its files. "
            f"Give the format: --dataset_name json --data_files {name}."
        )
    try:
        if (Path(name) / "dataset_dict.json").exists() or (Path(name) / "state.json").exists():
            loaded = load_from_disk(name)
        else:
            loaded = load_dataset(name, config, data_files=list(data_files) if data_files else None)
    except Exception as error:  # every builder has errors of its own
        causes = [str(cause).strip() for cause in (error.__cause__, error) if cause is not None]
        cause = next((text.splitlines()[0].rstrip(".") for text in causes if text), "it is empty")
        what = f"{name!r} with the files {', '.join(data_files)}" if data_files else repr(name)
        raise ValueError(
            f"The dataset {what} cannot be read: {cause}. Give the name of a dataset on the hub, a local folder, "
            f"or a format with its files: --dataset_name json --data_files problems.jsonl."
        ) from error
    return loaded if isinstance(loaded, DatasetDict) else DatasetDict(train=loaded)


def splits(data: DatasetDict, name: str, train: str, test: str, test_size: int) -> tuple[Dataset, Dataset]:
    if train not in data:
        raise ValueError(
            f"The dataset {name!r} has no split {train!r}; it has {', '.join(map(repr, data))}. "
            f"Choose one: --dataset_train_split {next(iter(data))}."
        )
    if len(data[train]) == 0:
        raise ValueError(f"The split {train!r} of {name!r} is empty, and training needs prompts. Check its files.")
    if test_size == 0:
        return data[train], data[train]
    if test in data and test != train:
        return data[train], data[test]
    if len(data[train]) <= test_size:
        raise ValueError(
            f"The dataset {name!r} has {len(data[train])} problems and no split {test!r}, too few to take {test_size} "
            f"out to measure on. Take fewer: --eval_prompts 0 measures on none."
        )
    parts = data[train].train_test_split(test_size=test_size, seed=0)
    return parts["train"], parts["test"]


def conversational(data: Dataset, prompt_column: str, solution_column: str, system_prompt: str | None) -> Dataset:
    if prompt_column not in data.column_names:
        close = [name for name in PROMPT_COLUMNS if name in data.column_names] or data.column_names
        raise ValueError(
            f"The prompts are read from the column {prompt_column!r}; the dataset has "
            f"{', '.join(map(repr, data.column_names))}. Name it: --prompt_column {close[0]}."
        )
    if solution_column not in data.column_names and solution_column != "solution":
        others = [name for name in data.column_names if name != prompt_column] or data.column_names
        close = [name for name in SOLUTION_COLUMNS if name in others] or others
        raise ValueError(
            f"The answers are read from the column {solution_column!r}; the dataset has "
            f"{', '.join(map(repr, data.column_names))}. Name it: --solution_column {close[0]}."
        )
    for old, new in ((prompt_column, "prompt"), (solution_column, "solution")):
        if old != new and old in data.column_names:
            data = data.remove_columns([new] if new in data.column_names else []).rename_column(old, new)
    for prompt in data["prompt"]:
        if not isinstance(prompt, (str, list)) or not prompt:
            raise ValueError(
                f"Among the prompts in '{prompt_column}' is {prompt!r}; a prompt is a text or a list of messages. Leave such "
                f"rows out, or name another column: --prompt_column."
            )
    before = [{"role": "system", "content": system_prompt}] if system_prompt else []

    def as_messages(row: dict) -> dict:
        asked = [{"role": "user", "content": row["prompt"]}] if isinstance(row["prompt"], str) else row["prompt"]
        return {"prompt": [*before, *asked]}

    if not before and not isinstance(data[0]["prompt"], str):
        return data
    return data.map(as_messages, desc="Reading problems")
