"""Datasets of problems in the format of training, from the hub, from files or from the bundled task."""

import contextlib
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from inspect import signature
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any

import yaml
from datasets import Dataset, DatasetDict, load_dataset, load_from_disk
from datasets import logging as datasets_logging
from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from ..errors import SOLUTION_COLUMNS
from ..faults import PROMPT_COLUMNS, find_large_cells, find_prompt_faults
from ..training.config import option
from .job_files import BUNDLED, check_rows, describe_broken_files, find_separator, name_format


@dataclass
class JobArguments:
    """The rewards and the datasets of a job."""

    rewards: str = option(
        "boxed() + 0.2 * tags('think')", "Expression of rewards, by their names in the library or in imported modules."
    )
    import_modules: list[str] = field(
        default_factory=list,
        metadata={"aliases": ["--import"], "help": "Modules to import, which register your own rewards."},
    )
    trust: bool = option(False, "Let the recipe import modules, trust remote code and set environment variables.")
    dataset_name: str | None = option(
        None,
        "Name on the hub, local folder, file (.jsonl, .csv, .parquet ...), demo.arithmetic, demo.programs or "
        "demo.requests. Default: the bundled addition task.",
    )
    dataset_config: str | None = option(
        None, "Configuration of the dataset. For demo, options such as size=1000,seed=7."
    )
    data_files: list[str] | None = option(None, "Files to read.")
    dataset_train_split: str = option("train", "Split for training.")
    dataset_test_split: str = option("test", "Split for evaluation.")
    prompt_column: str = option("prompt", "Column with the question.")
    solution_column: str = option("solution", "Column with the answer, renamed to solution.")
    system_prompt: str | None = option(None, "System message that is put before every prompt.")
    eval_prompts: int = option(
        64,
        "Maximum number of held-out prompts to evaluate before and after training. Without a test split, at most a tenth of "
        "the rows are held out.",
    )
    bad_golds: float = option(0.05, "Stop if more than this share of the solutions is unreadable.")
    no_check: bool = option(False, "Let train skip the checks of rewards, dataset and configuration.")


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
    train, test = (to_problems(part, job, needed) for part in (train, test))
    count = min(job.eval_prompts, len(test))
    return train, test.select(range(count)) if count else None


def read_options(text: str | None) -> dict[str, Any]:
    """Return options such as `size=1000,seed=7` by name."""
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
    try:
        train = make("train", **options)
        has_size = "size" in signature(make).parameters
        return train, make("test", **{**options, **({"size": max(test_size, 1)} if has_size else {})})
    except TypeError:
        raise ValueError(
            f"The bundled dataset takes the options {', '.join([*signature(make).parameters][1:])}; got "
            f"{', '.join(options)}. Change --dataset_config."
        ) from None


def read_dataset(name: str, config: str | None, data_files: Sequence[str] | None) -> DatasetDict:
    options: dict[str, Any] = {}
    if name == "csv" and data_files and Path(data_files[0]).is_file() and not data_files[0].endswith(".gz"):
        options = find_separator(data_files[0])
        with contextlib.suppress(UnicodeDecodeError):  # which is said later
            check_rows(data_files[0], count=2)  # pandas would take the first column as an index
    try:
        if (Path(name) / "dataset_dict.json").exists() or (Path(name) / "state.json").exists():
            loaded = load_from_disk(name)
        else:
            is_local = bool(data_files) or Path(name).exists()
            with quiet_datasets() if is_local else contextlib.nullcontext():
                loaded = load_dataset(name, config, data_files=list(data_files) if data_files else None, **options)
    except Exception as error:  # each builder raises errors of its own types
        causes = [str(cause).strip() for cause in (error.__cause__, error) if cause is not None]
        cause = next((text.splitlines()[0].rstrip(".") for text in causes if text), "it is empty")
        raise ValueError(
            describe_broken_files(name, data_files, cause)
            if data_files
            else f"The dataset {name!r} cannot be read: {cause}. Give the name of a dataset on the hub, a local folder, "
            f"or a file: --dataset_name problems.jsonl."
        ) from error
    return loaded if isinstance(loaded, DatasetDict) else DatasetDict(train=loaded)


@contextlib.contextmanager
def quiet_datasets() -> Iterator[None]:
    """Keep datasets from logging an error that is raised too, and from showing bars that are over at once."""
    level, has_bars = datasets_logging.get_verbosity(), not are_progress_bars_disabled()
    datasets_logging.set_verbosity(datasets_logging.CRITICAL)
    disable_progress_bars()
    try:
        yield
    finally:
        datasets_logging.set_verbosity(level)
        if has_bars:
            enable_progress_bars()


def split_dataset(data: DatasetDict, name: str, job: JobArguments, least_rows: int) -> tuple[Dataset, Dataset]:
    train, test, size = job.dataset_train_split, job.dataset_test_split, job.eval_prompts
    if train not in data:
        raise ValueError(
            f"The dataset {name!r} has no split {train!r}; it has {', '.join(map(repr, data))}. "
            f"Choose one of them: --dataset_train_split {next(iter(data))}."
        )
    rows = data[train]
    for split in dict.fromkeys([train, test] if size and test in data else [train]):  # with the numbers of the file
        large = find_large_cells(data[split], job.prompt_column, job.solution_column)
        for fault in chain(large, find_prompt_faults(data[split], job.prompt_column)):
            raise fault if len(data) == 1 else ValueError(f"The split {split!r} cannot be used. {fault}")
    if size and test in data and test != train:
        return rows, data[test]
    held_out = min(size, len(rows) // 10, len(rows) - least_rows)
    if held_out < 1:
        return rows, rows.select([])
    parts = rows.train_test_split(test_size=held_out, seed=0)
    return parts["train"], parts["test"]


def describe_layout(data: Dataset) -> str | None:
    """Return what is wrong with the layout of a file that has no column for prompts, or None."""
    for name, value in data[0].items() if len(data) == 1 or (len(data) and len(data.column_names) == 1) else ():
        inner = value[0] if isinstance(value, list) and value else value
        if isinstance(inner, dict) and not {"role", "from"} & {*inner}:
            return (
                f"Each row must be one problem, but the column {name!r} contains rows with "
                f"{', '.join(map(repr, inner))}. Save what is in {name!r} as JSON Lines, one problem in each line."
            )
    return None


def propose_columns(data: Dataset, missing: dict[str, str], prompt_column: str) -> str:
    """Return the options that name columns for what is missing, and what keeps such prompts from being asked."""
    rows, prompts = data.select(range(min(20, len(data)))), [prompt_column]
    if "prompt" in missing:
        texts = [name for name in data.column_names if any(map(is_question, rows[name]))]
        prompts = [name for name in PROMPT_COLUMNS if name in texts] or texts
    others = [name for name in data.column_names if name not in prompts[:1]]
    only = others if len(others) == 1 and missing.get("solution") != "solution" else []
    close = {"prompt": prompts, "solution": [name for name in SOLUTION_COLUMNS if name in others] or only}
    options = [f"--{role}_column {quote(close[role][0]) if close[role] else 'NAME'}" for role in missing]
    faults = find_prompt_faults(data, prompts[0]) if "prompt" in missing and prompts else ()
    return " ".join([f"{' '.join(options)}.", *map(str, faults)])


def is_question(value: Any) -> bool:
    """Whether a value is a text of several words or a conversation, as prompts are."""
    if isinstance(value, list):
        return bool(value) and isinstance(value[0], dict) and not {"role", "from"}.isdisjoint(value[0])
    return isinstance(value, str) and " " in value.strip()


def to_problems(data: Dataset, job: JobArguments, needed: Collection[str]) -> Dataset:
    """Return the dataset with its prompts as messages and its columns renamed to `prompt` and `solution`."""
    prompt_column, solution_column = job.prompt_column, job.solution_column
    names = data.column_names
    missing = {} if prompt_column in names else {"prompt": prompt_column}
    if missing and (problem := describe_layout(data)) is not None:
        raise ValueError(problem)
    if solution_column not in {*names} - {prompt_column} and (
        solution_column != "solution" or (missing and "solution" in needed)
    ):
        missing["solution"] = solution_column  # not all rewards need one
    if missing:
        lacking = " and ".join(f"no column {column!r} to read {role}s from" for role, column in missing.items())
        raise ValueError(
            f"There is {lacking}; the dataset has {', '.join(map(repr, names))}. Name the column{'s' * (len(missing) > 1)}: "
            f"{propose_columns(data, missing, prompt_column)}"
        )
    for old, new in ((prompt_column, "prompt"), (solution_column, "solution")):
        if old != new and old in data.column_names:
            data = data.remove_columns([new] if new in data.column_names else []).rename_column(old, new)
    if not len(data):
        return data
    system = [{"role": "system", "content": job.system_prompt}] if job.system_prompt else []

    def to_messages(batch: dict) -> dict:
        prompts = ([{"role": "user", "content": one}] if isinstance(one, str) else one for one in batch["prompt"])
        return {"prompt": [[*system, *prompt] for prompt in prompts]}

    if not system and not isinstance(data[0]["prompt"], str):
        return data
    with quiet_datasets():
        return data.map(to_messages, batched=True)
