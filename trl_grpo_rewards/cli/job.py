"""A training job as a command line describes it, with its datasets, for the command that trains and the one that checks."""

import argparse
import contextlib
import re
import warnings
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from inspect import signature
from itertools import chain
from pathlib import Path
from shlex import quote
from typing import Any

import torch
import yaml
from datasets import Dataset, DatasetDict, load_dataset, load_from_disk
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedTokenizerBase
from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from trl import GRPOConfig, ModelConfig, TrlParser

from ..checks.row_shapes import find_unusual_column, name_column, suggest_for
from ..dataset_rows import quiet_datasets
from ..errors import SOLUTION_COLUMNS, MissingColumn
from ..expressions import Reward
from ..faults import PROMPT_COLUMNS, find_column_faults, find_large_cells, find_prompt_faults
from ..function_rewards import find_functions
from ..training.config import FilteredGRPOConfig, make_plan
from ..training.validation import check_named_options, unpack_rewards
from .console import OWN_TITLES, CommandParser, build_rewards, count
from .job_files import BUNDLED, check_csv_rows, check_first_row, describe_broken_files, find_separator, name_format


DEPENDENCIES = r"(accelerate|datasets|peft|torch|transformers|trl)\b"  # their deprecations are not for users


def option(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass
class JobArguments:
    """The rewards and the datasets of a job."""

    rewards: str = option(
        "boxed(evaluated=True) + 0.2 * tags('think')",
        "Expression of rewards, by their names in the library or in imported modules.",
    )
    import_modules: list[str] = field(
        default_factory=list,
        metadata={"aliases": ["--import"], "help": "Modules to import, which register your own rewards."},
    )
    trust: bool = option(False, "Let the recipe import modules, trust remote code and set environment variables.")
    dataset_name: str | None = option(
        None,
        "Name on the hub, local folder, file (.jsonl, .csv, .parquet ...), demo.arithmetic, demo.programs, demo.mails "
        "or demo.requests. Default: the bundled addition task.",
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


@dataclass
class CheckArguments(JobArguments):
    """The job to check, and what to print."""

    details: bool = option(False, "Print every finding instead of a summary.")
    json: bool = option(False, "Print the findings as JSON.")


JOBS: dict[str, Any] = {"train": JobArguments, "check": CheckArguments}
BECOME_MESSAGES = (
    "The prompts are texts, and the model has a chat template, so prompts and completions become messages."
)
TRUTHS = ["true", "false", "yes", "no", "t", "f", "y", "n", "1", "0"]  # values of a switch in transformers

NAMED = {  # values of options that TRL's parser takes as any text. A path with a slash is on the hub.
    "report_to": ["all", "none", *INTEGRATION_TO_CALLBACK],
    "attn_implementation": ["eager", *ALL_ATTENTION_FUNCTIONS],
}

MOST_VALUE_CHARS = 60  # most characters of the values that the help shows instead of a word for their type

EVALUATED = 8  # completions that an evaluation samples at once, as in TRL
EVALUATED_ON_CPU = 32

ARGUMENT_FORMS: dict[Any, dict[str, Any]] = {  # arguments of `add_argument` by the number of values of an option
    0: {"action": "store_const", "const": "false"},
    "?": {"nargs": "?", "const": "true"},
    "+": {"nargs": "+", "action": "extend"},
}


class JobParser(TrlParser, CommandParser):
    """TRL's parser, with errors of one line."""

    def __init__(self, command: str) -> None:
        TrlParser.__init__(self, (JOBS[command], FilteredGRPOConfig, ModelConfig), prog=f"trl-grpo-rewards {command}")


def list_options(command: str) -> list[dict[str, Any]]:
    classes = (JOBS[command], FilteredGRPOConfig, ModelConfig, GRPOConfig)  # the last one has most of the second one
    titles = (*OWN_TITLES, "the model (TRL's ModelConfig)", "TRL's trainer (GRPOConfig)")
    sections: dict[str, str] = {}
    for title, owner in zip(titles, classes, strict=True):
        sections |= dict.fromkeys((option.name for option in fields(owner)), title)
    actions = [action for action in JobParser(command)._actions if action.dest in sections]
    options = [{"section": sections[action.dest], **describe_option(action)} for action in actions]
    return sorted(options, key=lambda option: titles.index(option["section"]))


def describe_option(action: argparse.Action) -> dict[str, Any]:
    """Return what a parser needs to know of an option: its values, and the arguments of `add_argument`."""
    kind = getattr(action.type, "__name__", "")
    choices = list_choices(action)
    spellings = [spelling for spelling in action.option_strings if "-" not in spelling[2:]]
    described = {"name": action.dest, "kind": kind, "choices": choices, "spellings": spellings}
    form = ARGUMENT_FORMS.get(action.nargs, {})
    if action.nargs == 0:  # another spelling of `false`
        return {**described, "form": form, "help": None}
    default = getattr(action.default, "value", action.default)
    if not isinstance(default, (bool, int, float, str)):
        default = None
    form = {**form, "metavar": name_values(kind, choices)}
    return {**described, "form": form, "help": describe_default(action.help, default, choices), "default": default}


def list_choices(action: argparse.Action) -> list[str]:
    """Return the values from which an option chooses. Without any, it takes every text or number."""
    if getattr(action.type, "__name__", "") == "string_to_bool":
        return TRUTHS
    if choices := action.choices or NAMED.get(action.dest):
        return [*map(str, choices)]
    listed = re.search(r"Supported values are (.*?)\.", action.help or "")
    if listed:
        return re.findall(r"'(\w+)'", listed[1])
    return []


def name_values(kind: str, choices: list[str]) -> str:
    """Return the values of an option as its help shows them, or a word for their type."""
    values = ",".join(choices[:2] if choices == TRUTHS else choices)
    if 0 < len(values) <= MOST_VALUE_CHARS:
        return f"{{{values}}}"
    return "NUMBER" if kind in ("int", "float") else "TEXT"


def describe_default(help: str | None, default: Any, choices: list[str]) -> str | None:
    """Return the help of an option with its default, unless it has none, or the help says it."""
    if not help or default is None or default is False or "default" in help.lower():
        return help
    if choices == TRUTHS:
        shown = str(default).lower()
    else:
        shown = str(default).replace("%", "%%")
    return f"{help} Default: {shown}."


def read_job(arguments: Sequence[str], command: str) -> tuple[Any, FilteredGRPOConfig, ModelConfig]:
    """Return the job of arguments that [`read_line`] has checked."""
    warnings.filterwarnings("ignore", category=FutureWarning, module=DEPENDENCIES)
    parser = JobParser(command)
    if not torch.accelerator.is_available():
        parser.set_defaults(use_cpu=True, bf16=False)
    parser.set_defaults(per_device_eval_batch_size=0)
    job, training, model = parser.parse_args_and_config(arguments)
    training.per_device_eval_batch_size = training.per_device_eval_batch_size or fill_evaluation(training)
    return job, training, model


def fill_evaluation(training: FilteredGRPOConfig) -> int:
    """Return how many completions an evaluation samples at once: whole groups. On a GPU, their logits may need much memory."""
    size = training.num_generations_eval or training.num_generations
    most = EVALUATED_ON_CPU if training.device.type == "cpu" else EVALUATED
    return max(1, most // size) * size


def prepare_job(job: JobArguments, training: FilteredGRPOConfig) -> tuple[Reward, Dataset, Dataset | None]:
    """Return the rewards and the datasets for training and evaluation. Errors are raised before anything large loads."""
    make_plan(training)
    rewards = build_rewards(job.rewards, job.import_modules)
    with training.main_process_first():  # the other processes read its cache
        least_rows = (training.generation_batch_size or 0) // training.num_generations
        train_dataset, eval_dataset = load_problems(job, least_rows=least_rows, needed=rewards.columns)
    reward_funcs, _ = unpack_rewards(rewards, training)
    for fault in find_column_faults(train_dataset, find_functions(rewards)):
        raise ValueError(name_option(fault, job, train_dataset)) if isinstance(fault, MissingColumn) else fault
    check_named_options(training, reward_funcs, eval_dataset)
    return rewards, train_dataset, eval_dataset


def name_option(fault: MissingColumn, job: JobArguments, dataset: Dataset) -> str:
    """Return the fault with the option that names the column, or with the reward that fits the dataset."""
    renamed = {job.prompt_column: "prompt", job.solution_column: "solution"}
    new = renamed.get(fault.column, fault.column)
    if new != fault.column:
        text = f"{fault.problem} --{new}_column {fault.column} renamed it to '{new}'."
        if new == "prompt":
            return f"{text} In a function of your own, rename the parameter."
        return f"{text} {fault.suggest(repr(new), fault.call or f'NAME({fault.column}=')}"
    suggestion, column = suggest_for(dataset)
    if fault.column != "solution":
        return f"{fault} {suggestion}" if column else str(fault)
    if column and column not in fault.similar:
        return f"{fault.problem} {suggestion}"
    name = f"{quote(fault.similar[0])}." if fault.similar else name_unusual_column(dataset) or f"NAME. {suggestion}"
    return f"{fault.problem} Name the column: --solution_column {name}"


def name_unusual_column(dataset: Dataset) -> str | None:
    """Return the column with an unusual name that may have the solutions, and the reward that then fits."""
    shape, column = find_unusual_column(dataset)
    if not column:
        return None
    return f"{quote(column)}. Each row has {shape.name}: {name_column(shape.reward, 'solution')} then fits."


def describe_sizes(train_dataset: Dataset, eval_dataset: Dataset | None) -> str:
    held_out = 0 if eval_dataset is None else len(eval_dataset)
    number = f"{held_out:,}" if held_out else "none"
    verb = "are" if held_out > 1 else "is"
    return f"{count(len(train_dataset), 'problem')} to train on; {number} {verb} held out."


def describe_steps(args: FilteredGRPOConfig) -> str:
    """Return how many prompts and completions a generation has, and how many steps learn from them."""
    completions = args.generation_batch_size or 0
    size = args.num_generations
    parts = args.gradient_accumulation_steps
    steps = Fraction((args.steps_per_generation or parts) * args.num_iterations, parts)
    learned = args.per_device_train_batch_size * args.world_size * parts
    updates = f"{steps} updates, each" if steps > 1 else f"{steps} update"
    part = f", {completions // args.world_size:,} in each process" if args.world_size > 1 else ""
    sampled = f"samples {count(completions // size, 'prompt')} with {size} completions each ({completions:,}{part})"
    if steps == 1 and learned == completions:
        return f"Each step {sampled}, and updates the weights once."
    return f"A generation {sampled}, for {updates} from {learned:,} completions."


def load_tokenizer(
    name: str, model: ModelConfig, training: FilteredGRPOConfig
) -> tuple[PreTrainedTokenizerBase, PretrainedConfig]:
    trusted = any(getattr(options, "trust_remote_code", False) for options in (model, training))  # TRL moved it
    options = {"revision": model.model_revision, "trust_remote_code": trusted}
    try:
        shape = AutoConfig.from_pretrained(name, **options)
        tokenizer = AutoTokenizer.from_pretrained(name, **options)
    except (OSError, ValueError) as error:
        raise ValueError(
            f"The tokenizer of the model '{name}' cannot be loaded: {str(error).splitlines()[0].rstrip('.: ')}. Give the "
            f"name of a model on the hub, or a folder with a config.json: --model_name_or_path."
        ) from None
    return tokenizer, shape


# --- datasets ---------------------------------------------------------------------------------------------------------


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
    """Return a dataset whose prompts are messages, each after those of the system."""

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
