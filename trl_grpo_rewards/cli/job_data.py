"""The datasets of a job: read, split, checked, and with the columns that rewards read."""

import contextlib
from collections.abc import Callable, Collection, Sequence
from inspect import signature
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any

import yaml
from datasets import Dataset, DatasetDict, load_dataset, load_from_disk
from transformers import PreTrainedTokenizerBase

from ..dataset_rows import quiet_datasets
from ..errors import SOLUTION_COLUMNS
from ..faults import PROMPT_COLUMNS, find_large_cells, find_prompt_faults
from .job_files import BUNDLED, check_csv_rows, check_first_row, describe_broken_files, find_separator, name_format
from .job_options import JobArguments


def load_problems(
    job: JobArguments, *, least_rows: int = 0, needed: Collection[str] = ()
) -> tuple[Dataset, Dataset | None]:
    """Return problems for training and held-out ones. Without a test split, at most a tenth of the rows is held out."""
    name, files = name_format(job.dataset_name, job.data_files)
    if name is None or name in BUNDLED:
        make = BUNDLED[name or "demo.arithmetic"]
        train, test = make_problems(make, read_options(job.dataset_config), job.eval_prompts)
    else:
        try:
            train, test = split_dataset(read_dataset(name, job.dataset_config, files), name, job, least_rows)
        except UnicodeDecodeError as error:  # pyarrow reads JSON in any encoding, and decodes it later
            raise ValueError(describe_broken_files(name, files or [name], str(error))) from None
        for part in (train, test):
            part.info.dataset_name = ", ".join(files) if files else name
    train = to_problems(train, job, needed)
    test = to_problems(test, job, needed)
    count = min(job.eval_prompts, len(test))
    return train, test.select(range(count)) if count else None


def read_options(text: str | None) -> dict[str, Any]:
    try:
        options: dict[str, Any] = yaml.safe_load(f"{{{(text or '').replace('=', ': ')}}}")
    except yaml.YAMLError:
        options = {"": None}
    if None in [*options, *options.values()]:
        raise ValueError(
            f"The configuration of a bundled dataset must be options with values, joined by commas; got {text!r}. Write, for "
            f"example, --dataset_config size=1000,seed=7. For another dataset, set --dataset_name."
        )
    return options


def make_problems(make: Callable[..., Dataset], options: dict[str, Any], test_size: int) -> tuple[Dataset, Dataset]:
    """Return the splits of a bundled dataset. The size in the options is that of the training split."""
    test_options = dict(options)
    if "size" in signature(make).parameters:
        test_options["size"] = max(test_size, 1)
    try:
        return make("train", **options), make("test", **test_options)
    except TypeError:
        raise ValueError(
            f"The bundled dataset takes the options {', '.join([*signature(make).parameters][1:])}; got "
            f"{', '.join(options)}. Change --dataset_config."
        ) from None


def read_dataset(name: str, config: str | None, data_files: Sequence[str] | None) -> DatasetDict:
    options = inspect_files(name, data_files or ())
    try:
        loaded = load_data(name, config, data_files, options)
    except Exception as error:  # each builder raises errors of its own types
        cause = find_cause(error)
        if data_files:
            raise ValueError(describe_broken_files(name, data_files, cause)) from error
        raise ValueError(
            f"The dataset '{name}' cannot be read: {cause}. Give the name of a dataset on the hub, a local folder, "
            f"or a file: --dataset_name problems.jsonl."
        ) from error
    if isinstance(loaded, DatasetDict):
        return loaded
    return DatasetDict(train=loaded)


def inspect_files(kind: str, files: Sequence[str]) -> dict[str, Any]:
    """Return the options to read these files with. Raise an error if their first rows cannot be read."""
    plain = [file for file in files if Path(file).is_file() and not file.endswith(".gz")]
    if kind == "json":
        for file in plain:
            check_first_row(file)
    if kind != "csv" or not plain or plain[0] != files[0]:
        return {}
    options = find_separator(plain[0])
    with contextlib.suppress(UnicodeDecodeError):  # which is said later
        check_csv_rows(plain[0], count=2)  # pandas would take the first column as an index
    return options


def load_data(name: str, config: str | None, data_files: Sequence[str] | None, options: dict[str, Any]) -> Any:
    """Return a dataset or its splits, from the hub, from files, or from a folder that datasets has written."""
    folder = Path(name)
    if (folder / "dataset_dict.json").exists() or (folder / "state.json").exists():
        return load_from_disk(name)
    is_local = bool(data_files) or folder.exists()
    with quiet_datasets() if is_local else contextlib.nullcontext():
        return load_dataset(name, config, data_files=list(data_files) if data_files else None, **options)


def find_cause(error: Exception) -> str:
    """Return the first line that says why a dataset cannot be read."""
    texts = [str(cause).strip() for cause in (error.__cause__, error) if cause is not None]
    return next((text.splitlines()[0].rstrip(".") for text in texts if text), "it is empty")


def split_dataset(data: DatasetDict, name: str, job: JobArguments, least_rows: int) -> tuple[Dataset, Dataset]:
    train = job.dataset_train_split
    if train not in data:
        raise ValueError(
            f"The dataset '{name}' has no split {train!r}; it has {', '.join(map(repr, data))}. "
            f"Choose one of them: --dataset_train_split {next(iter(data))}."
        )
    test = job.dataset_test_split if job.eval_prompts and job.dataset_test_split in data else train
    for split in dict.fromkeys([train, test]):
        check_split(data, split, job)
    rows = data[train]
    if test != train:
        return rows, data[test]
    held_out = min(job.eval_prompts, len(rows) // 10, len(rows) - least_rows)
    if held_out < 1:
        return rows, rows.select([])
    parts = rows.train_test_split(test_size=held_out, seed=0)
    return parts["train"], parts["test"]


def check_split(data: DatasetDict, split: str, job: JobArguments) -> None:
    """Raise the first fault of a split. Its rows still have the numbers that they have in the file."""
    large = find_large_cells(data[split], job.prompt_column, job.solution_column)
    for fault in chain(large, find_prompt_faults(data[split], job.prompt_column)):
        place = f"The split {split!r} cannot be used. " if len(data) > 1 else ""
        raise ValueError(f"{place}{fault}{write_prompt_script(str(fault), data[split].column_names, split, job)}")


def write_prompt_script(fault: str, columns: list[str], split: str, job: JobArguments) -> str:
    """Return the shell command that leaves out the last messages, with which the answer would be lost, if a fault asks for it."""
    prompt = f"row[{job.prompt_column!r}]"
    name, files = name_format(job.dataset_name, job.data_files)
    if f"{prompt}[:-1]" not in fault or not files:
        return ""
    fields = f"{job.prompt_column!r}: {prompt}[:-1]"
    if job.solution_column not in columns:
        fields += f", {job.solution_column!r}: {prompt}[-1]['content']"
    rows = f"load_dataset({name!r}, data_files={[*files]}, split={split!r})"
    program = f"from datasets import load_dataset; {rows}.map(lambda row: {{{fields}}}).to_json('prompts.jsonl')"
    return f' In a shell, run python -c "{program}", and train with --dataset_name prompts.jsonl.'


def describe_layout(data: Dataset) -> str | None:
    """Return what to do if a dataset has all its problems in one cell, or in one column of objects."""
    is_nested = len(data) == 1 or (len(data) and len(data.column_names) == 1)
    for name, value in data[0].items() if is_nested else ():
        inner = value[0] if isinstance(value, list) and value else value
        if isinstance(inner, dict) and not {"role", "from"} & {*inner}:
            columns = ", ".join(map(repr, inner))
            return (
                f"Each row must be one problem, but the column {name!r} contains rows with {columns}. Save what is in "
                f"{name!r} as JSON Lines, one problem in each line."
            )
    return None


def propose_columns(data: Dataset, missing: dict[str, str], prompt_column: str) -> str:
    """Return the options that name columns for what is missing, and what keeps such prompts from being asked."""
    lacks_prompt = "prompt" in missing
    prompts = find_question_columns(data) if lacks_prompt else [prompt_column]
    others = [name for name in data.column_names if name not in prompts[:1]]
    solutions = find_solution_columns(others, is_named=missing.get("solution") == "solution")
    close = {"prompt": [*map(quote, prompts)], "solution": [*map(quote, solutions)]}
    options = [f"--{role}_column {[*close[role], 'NAME'][0]}" for role in missing]
    faults = find_prompt_faults(data, prompts[0]) if lacks_prompt and prompts else ()
    return " ".join([f"{' '.join(options)}.", *map(str, faults)])


def find_question_columns(data: Dataset) -> list[str]:
    """Return the columns that have questions in the first rows. Usual names of prompts are preferred."""
    rows = data.select(range(min(20, len(data))))
    questions = [name for name in data.column_names if any(map(is_question, rows[name]))]
    return [name for name in PROMPT_COLUMNS if name in questions] or questions


def find_solution_columns(names: list[str], *, is_named: bool) -> list[str]:
    """Return the columns that may have solutions. A single column does, unless the missing one was named."""
    usual = [name for name in SOLUTION_COLUMNS if name in names]
    if not usual and len(names) == 1 and not is_named:
        return names
    return usual


def is_question(value: Any) -> bool:
    """Whether a value is a text of several words or a conversation, as prompts are."""
    if isinstance(value, list):
        if not value:
            return False
        if not isinstance(value[0], dict):
            return False
        return not {"role", "from"}.isdisjoint(value[0])
    if not isinstance(value, str):
        return False
    return " " in value.strip()


def to_problems(data: Dataset, job: JobArguments, needed: Collection[str]) -> Dataset:
    """Return the dataset with its columns renamed to `prompt` and `solution`, and with the system message, if there is one."""
    check_roles(data, job, needed)
    data = rename_column(data, job.prompt_column, "prompt")
    data = rename_column(data, job.solution_column, "solution")
    if not job.system_prompt:
        return data
    return to_messages(data, [{"role": "system", "content": job.system_prompt}])


def rename_column(data: Dataset, old: str, new: str) -> Dataset:
    """Return the dataset with a column renamed. A column that already has the new name is replaced."""
    if old == new or old not in data.column_names:
        return data
    if new in data.column_names:
        data = data.remove_columns(new)
    return data.rename_column(old, new)


def check_roles(data: Dataset, job: JobArguments, needed: Collection[str]) -> None:
    """Raise an error if the column of the prompts is missing, or that of the solutions and something needs it."""
    prompt_column = job.prompt_column
    solution_column = job.solution_column
    names = data.column_names
    missing = {} if prompt_column in names else {"prompt": prompt_column}
    if missing and (problem := describe_layout(data)) is not None:
        raise ValueError(problem)
    is_needed = solution_column != "solution" or (missing and "solution" in needed)  # not all rewards need one
    if is_needed and solution_column not in {*names} - {prompt_column}:
        missing["solution"] = solution_column
    if missing:
        lacking = " and ".join(f"no column {column!r} to read {role}s from" for role, column in missing.items())
        raise ValueError(
            f"There is {lacking}; the dataset has {', '.join(map(repr, names))}. Name the column{'s' * (len(missing) > 1)}: "
            f"{propose_columns(data, missing, prompt_column)}"
        )


def fit_prompts(data: Dataset | None, tokenizer: PreTrainedTokenizerBase | None) -> Dataset | None:
    """Return a dataset whose prompts are messages, if they are texts and the tokenizer has a chat template."""
    if not data or not getattr(tokenizer, "chat_template", None):
        return data
    if isinstance(data[0]["prompt"], str):
        return to_messages(data, [])
    return data


def to_messages(data: Dataset, system: list[dict[str, str]]) -> Dataset:
    """Return a dataset whose prompts are messages. The system messages come first."""

    def write(batch: dict) -> dict:
        return {"prompt": [[*system, *make_conversation(prompt)] for prompt in batch["prompt"]]}

    with quiet_datasets():
        if len(data):
            return data.map(write, batched=True)
        return data


def make_conversation(prompt: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    if isinstance(prompt, str):
        return [{"role": "user", "content": prompt}]
    return prompt
