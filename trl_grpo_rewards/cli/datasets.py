"""Datasets of problems in the format of training, from the hub, from files or from the bundled task."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from datasets import Dataset, DatasetDict, load_dataset, load_from_disk

from ..checks.readings import iterate_column
from ..demo import arithmetic, programs, reasoning
from ..errors import SOLUTION_COLUMNS


BUNDLED_PROGRAMS = "demo.programs"
"""Name of the bundled dataset of programming tasks."""

GENERATED = "reasoning_gym:"
"""Start of the name of a dataset that reasoning-gym generates. Names of generators follow, joined by commas."""

PROMPT_COLUMNS = ("prompt", "question", "problem", "instruction")
"""Common names of the column with the question. An error message suggests the one that the dataset has."""


def load_problems(
    name: str | None,
    *,
    config: str | None = None,
    data_files: Sequence[str] | str | None = None,
    train_split: str = "train",
    test_split: str = "test",
    prompt_column: str = "prompt",
    solution_column: str = "solution",
    system_prompt: str | None = None,
    test_size: int = 64,
) -> tuple[Dataset, Dataset | None]:
    """
    Return problems for training and held-out problems for evaluation.

    Args:
        name (`str`, *optional*):
            Name on the hub, a local folder, or a format such as `"json"` together with `data_files`. Defaults to the
            bundled addition problems; `"demo.programs"` are the bundled programming tasks. `"reasoning_gym:countdown"`
            generates tasks.
        config (`str`, *optional*):
            Configuration of the dataset. For generated tasks, options such as `"size=1000,seed=7"`.
        data_files (`list[str]` or `str`, *optional*):
            Files to read.
        train_split (`str`, *optional*, defaults to `"train"`):
            Split for training.
        test_split (`str`, *optional*, defaults to `"test"`):
            Split for evaluation. If the dataset does not have it, problems are held out from the training split.
        prompt_column (`str`, *optional*, defaults to `"prompt"`):
            Column with the question, as text or as messages.
        solution_column (`str`, *optional*, defaults to `"solution"`):
            Column with the right answer. If there is no column `"solution"`, rewards are called without it.
        system_prompt (`str`, *optional*):
            System message that is put before every prompt.
        test_size (`int`, *optional*, defaults to `64`):
            Maximum number of problems for evaluation. With 0, nothing is evaluated.

    Returns:
        `tuple[Dataset, Dataset or None]`:
            Datasets for training and for evaluation, with a conversational `prompt`, a `solution` if there is one, and
            all other columns.
    """
    if test_size < 0:
        raise ValueError(f"eval_prompts must be at least 0; got {test_size}. Set it to 0 to evaluate nothing.")
    data_files = [data_files] if isinstance(data_files, str) else data_files  # a recipe may name one
    if name is None and (data_files or config):
        raise ValueError(
            f"data_files={data_files} and dataset_config={config} need a dataset_name, but none is set. Set it to the "
            f"dataset, or to the format of the files: --dataset_name json --data_files problems.jsonl."
        )
    if name is None:
        train, test = arithmetic("train"), arithmetic("test", size=max(test_size, 1))
    elif name == BUNDLED_PROGRAMS:
        train, test = programs("train"), programs("test")
    elif name.startswith(GENERATED):
        train, test = generate_problems(name.removeprefix(GENERATED).split(","), read_options(config), test_size)
    else:
        train, test = split_dataset(read_dataset(name, config, data_files), name, train_split, test_split, test_size)
    for part in (train, test) if name not in (None, BUNDLED_PROGRAMS) else ():
        part.info.dataset_name = ", ".join(data_files) if data_files else name
    train, test = (to_problems(part, prompt_column, solution_column, system_prompt) for part in (train, test))
    return train, test.select(range(min(test_size, len(test)))) if test_size else None


def read_options(text: str | None) -> dict[str, Any]:
    """Return options such as `size=1000,seed=7` by name. A value that is not JSON is a text."""
    options: dict[str, Any] = {}
    for part in text.split(",") if text else ():
        name, sign, value = map(str.strip, part.partition("="))
        if not name or not sign:
            raise ValueError(
                f"The configuration of generated tasks must be options with values, joined by commas; got {text!r}. "
                f"Write, for example, --dataset_config size=1000,seed=7."
            )
        try:
            options[name] = json.loads(value)
        except json.JSONDecodeError:
            options[name] = value
    return options


def generate_problems(names: list[str], options: dict[str, Any], test_size: int) -> tuple[Dataset, Dataset]:
    """Return generated tasks for training, and others for evaluation. A task has its place plus the seed as its seed."""
    train = reasoning(*names, **options)
    if not test_size:
        return train, train
    later = options.get("seed", 0) + len(train)
    test = reasoning(*names, **{**options, "size": test_size, "seed": later})
    known = {prompt[-1]["content"] for prompt in train["prompt"]}
    new = [place for place, prompt in enumerate(test["prompt"]) if prompt[-1]["content"] not in known]
    if not new:
        raise ValueError(
            f"Evaluation needs tasks that are not trained on, but {', '.join(names)} generated none within {test_size}. "
            f"Reduce the size of the dataset, or set --eval_prompts to 0."
        )
    return train, test.select(new)


def read_dataset(name: str, config: str | None, data_files: Sequence[str] | None) -> DatasetDict:
    if Path(name).is_file():
        raise ValueError(
            f"A dataset must be a name on the hub, a folder, or a format with its files, but {name!r} is a file. "
            f"Give its format: --dataset_name json --data_files {name}."
        )
    try:
        if (Path(name) / "dataset_dict.json").exists() or (Path(name) / "state.json").exists():
            loaded = load_from_disk(name)
        else:
            loaded = load_dataset(name, config, data_files=list(data_files) if data_files else None)
    except Exception as error:  # each builder raises errors of its own types
        causes = [str(cause).strip() for cause in (error.__cause__, error) if cause is not None]
        cause = next((text.splitlines()[0].rstrip(".") for text in causes if text), "it is empty")
        what = f"{name!r} with the files {', '.join(data_files)}" if data_files else repr(name)
        raise ValueError(
            f"The dataset {what} cannot be read: {cause}. Give the name of a dataset on the hub, a local folder, "
            f"or a format with its files: --dataset_name json --data_files problems.jsonl."
        ) from error
    return loaded if isinstance(loaded, DatasetDict) else DatasetDict(train=loaded)


def split_dataset(data: DatasetDict, name: str, train: str, test: str, test_size: int) -> tuple[Dataset, Dataset]:
    if train not in data:
        raise ValueError(
            f"The dataset {name!r} has no split {train!r}; it has {', '.join(map(repr, data))}. "
            f"Choose one of them: --dataset_train_split {next(iter(data))}."
        )
    if len(data[train]) == 0:
        raise ValueError(f"Training needs prompts, but the split {train!r} of {name!r} is empty. Check its files.")
    if test_size == 0:
        return data[train], data[train]
    if test in data and test != train:
        return data[train], data[test]
    if len(data[train]) <= test_size:
        raise ValueError(
            f"The dataset {name!r} has no split {test!r}, and only {len(data[train])} problems, which is too few to "
            f"hold out {test_size}. Set --eval_prompts to a lower number, or to 0 to evaluate nothing."
        )
    parts = data[train].train_test_split(test_size=test_size, seed=0)
    return parts["train"], parts["test"]


def to_problems(data: Dataset, prompt_column: str, solution_column: str, system_prompt: str | None) -> Dataset:
    """Return the dataset with its prompts as messages and its columns renamed to `prompt` and `solution`."""
    if prompt_column not in data.column_names:
        close = [name for name in PROMPT_COLUMNS if name in data.column_names] or data.column_names
        raise ValueError(
            f"There is no column {prompt_column!r} to read prompts from; the dataset has "
            f"{', '.join(map(repr, data.column_names))}. Name the column: --prompt_column {close[0]}."
        )
    if solution_column not in data.column_names and solution_column != "solution":
        others = [name for name in data.column_names if name != prompt_column] or data.column_names
        close = [name for name in SOLUTION_COLUMNS if name in others] or others
        raise ValueError(
            f"There is no column {solution_column!r} to read solutions from; the dataset has "
            f"{', '.join(map(repr, data.column_names))}. Name the column: --solution_column {close[0]}."
        )
    for old, new in ((prompt_column, "prompt"), (solution_column, "solution")):
        if old != new and old in data.column_names:
            data = data.remove_columns([new] if new in data.column_names else []).rename_column(old, new)
    for prompt in iterate_column(data, "prompt"):
        if not isinstance(prompt, (str, list)) or not prompt:
            raise ValueError(
                f"A prompt must be a text or a list of messages, but the column '{prompt_column}' has {prompt!r}. "
                f"Remove such rows, or name another column: --prompt_column."
            )
    system = [{"role": "system", "content": system_prompt}] if system_prompt else []

    def to_messages(batch: dict) -> dict:
        prompts = ([{"role": "user", "content": one}] if isinstance(one, str) else one for one in batch["prompt"])
        return {"prompt": [[*system, *prompt] for prompt in prompts]}

    if not system and not isinstance(data[0]["prompt"], str):
        return data
    return data.map(to_messages, batched=True, desc="Reading problems")
