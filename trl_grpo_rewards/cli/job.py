"""A training job as a command line describes it, for the command that trains and the one that checks."""

import argparse
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any, TypeVar, overload

import torch
import transformers
from datasets import Dataset
from transformers import AutoConfig, AutoTokenizer, PreTrainedTokenizerBase
from trl import ModelConfig, TrlParser, get_peft_config

from .. import demo
from ..checks.row_shapes import suggest_for
from ..errors import MissingColumn
from ..expressions import Reward
from ..training.best_metric import check_metric
from ..training.config import FilteredGRPOConfig, check_config
from ..training.validation import check_dataset, check_outcome, list_names, unpack_rewards
from .command_errors import CommandParser, build_rewards
from .data_files import name_format
from .datasets import load_problems
from .recipe_files import DEFAULT_RECIPE, RECIPES, check_trust, find_recipe, split_config


DEPENDENCIES = r"(accelerate|datasets|peft|torch|transformers|trl)\b"
"""Packages whose warnings about names that they will remove are not for the user of a command."""


@dataclass
class JobArguments:
    """The rewards and the datasets of a job."""

    rewards: str = field(
        default="boxed() + 0.2 * tags('think')",
        metadata={"help": "Expression of rewards, by their names in the library or in imported modules."},
    )
    import_modules: list[str] = field(
        default_factory=list,
        metadata={"aliases": ["--import"], "help": "Modules to import, which register your own rewards."},
    )
    trust: bool = field(
        default=False,
        metadata={"help": "Let the recipe import modules, trust remote code and set environment variables."},
    )
    dataset_name: str | None = field(
        default=None,
        metadata={
            "help": "Name on the hub, local folder, file (.jsonl, .csv, .parquet ...), demo.arithmetic, demo.programs "
            "or demo.requests. Default: the bundled addition task."
        },
    )
    dataset_config: str | None = field(
        default=None,
        metadata={"help": "Configuration of the dataset. For demo, options such as size=1000,seed=7."},
    )
    data_files: list[str] | None = field(default=None, metadata={"help": "Files to read."})
    dataset_train_split: str = field(default="train", metadata={"help": "Split for training."})
    dataset_test_split: str = field(default="test", metadata={"help": "Split for evaluation."})
    prompt_column: str = field(default="prompt", metadata={"help": "Column with the question."})
    solution_column: str = field(default="solution", metadata={"help": "Column with the answer, renamed to solution."})
    system_prompt: str | None = field(
        default=None, metadata={"help": "System message that is put before every prompt."}
    )
    eval_prompts: int = field(
        default=64,
        metadata={
            "help": "Maximum number of held-out prompts to evaluate before and after training. Without a test split, at most "
            "a tenth of the rows are held out."
        },
    )
    bad_golds: float = field(
        default=0.05, metadata={"help": "Stop if more than this share of the solutions is unreadable."}
    )
    no_check: bool = field(default=False, metadata={"help": argparse.SUPPRESS})  # only training looks at it


Job = TypeVar("Job", bound=JobArguments)


class Collect(argparse.Action):
    """Collects the values of an option that may be repeated. They replace those of the recipe."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        found = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if found is self.default else [*found, *values])


class JobParser(TrlParser, CommandParser):
    """Parser of the options of a job."""

    def __init__(self, prog: str, job: type[JobArguments] = JobArguments) -> None:
        TrlParser.__init__(self, (job, FilteredGRPOConfig, ModelConfig), prog=prog)

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        if "--import" in names:
            options["action"] = Collect
        return super().add_argument(*names, **options)

    def read(self, arguments: Sequence[str]) -> tuple[Any, ...]:
        """Return the options of a command line and of its recipe."""
        *parts, from_recipe, from_line = self.parse_args_and_config(
            arguments, return_remaining_strings=True, separate_remaining_strings=True
        )
        self.refuse(from_recipe, "in the recipe")
        self.refuse(from_line, "on the command line")
        return (*parts,)


@overload
def read_job(arguments: Sequence[str], command: str) -> tuple[JobArguments, FilteredGRPOConfig, ModelConfig]: ...


@overload
def read_job(
    arguments: Sequence[str], command: str, *, job_type: type[Job]
) -> tuple[Job, FilteredGRPOConfig, ModelConfig]: ...


def read_job(
    arguments: Sequence[str], command: str, *, job_type: type[JobArguments] = JobArguments
) -> tuple[JobArguments, FilteredGRPOConfig, ModelConfig]:
    """Return the job of a command line. It is the default job if no model, no dataset and no recipe are given."""
    warnings.filterwarnings("ignore", category=FutureWarning, module=DEPENDENCIES)
    parser = JobParser(f"trl-grpo-rewards {command}", job_type)
    if not torch.accelerator.is_available():
        parser.set_defaults(use_cpu=True, bf16=False)
    arguments = split_config(arguments)
    if "--config" in arguments:
        place = arguments.index("--config") + 1
        recipe = "".join(arguments[place : place + 1])
        check_trust(recipe, arguments)
        arguments[place:] = [str(find_recipe(recipe)), *arguments[place + 1 :]]
    try:
        job, training, model = parser.read(arguments)
    except PackageNotFoundError:  # transformers checks the version of a package that an option needs
        raise ImportError(
            "--deepspeed needs the package deepspeed, which is not installed. Install it with pip install "
            "'trl[deepspeed]', or leave out the option."
        ) from None
    job.dataset_name, job.data_files = name_format(job.dataset_name, job.data_files)
    if "--config" not in arguments and job.dataset_name is model.model_name_or_path is None:
        job, training, model = parser.read(["--config", str(RECIPES[DEFAULT_RECIPE]), *arguments])
    return job, training, model


BUNDLED_MODELS = {None: demo.MODEL, "demo.arithmetic": demo.MODEL, "demo.programs": demo.CODER}
"""The bundled model for each bundled dataset."""


def choose_model(model: str | None, dataset: str | None) -> str:
    """Return the model, which by default is the bundled one for the dataset."""
    return model or BUNDLED_MODELS.get(dataset, demo.MODEL)


def knows_model(model: ModelConfig, job: JobArguments) -> bool:
    """Whether a model is set, or one is bundled for the dataset."""
    return model.model_name_or_path is not None or job.dataset_name in BUNDLED_MODELS


def check_model(model: ModelConfig, job: JobArguments) -> None:
    if not knows_model(model, job):
        dataset = ", ".join(job.data_files or [str(job.dataset_name)])
        raise ValueError(
            f"The dataset {dataset!r} needs --model_name_or_path, because the bundled models know only their own tasks. "
            f"To try a bundled model, set it to {demo.MODEL}."
        )


def prepare_job(
    job: JobArguments, training: FilteredGRPOConfig, model: ModelConfig
) -> tuple[Reward, Dataset, Dataset | None]:
    """Return the rewards and the datasets for training and evaluation. Errors are raised before anything large loads."""
    check_config(training)
    rewards = build_rewards(job.rewards, job.import_modules)
    with training.main_process_first():  # the other processes read its cache
        train_dataset, eval_dataset = load_problems(
            job.dataset_name,
            config=job.dataset_config,
            data_files=job.data_files,
            train_split=job.dataset_train_split,
            test_split=job.dataset_test_split,
            prompt_column=job.prompt_column,
            solution_column=job.solution_column,
            system_prompt=job.system_prompt,
            test_size=job.eval_prompts,
            least_rows=(training.generation_batch_size or 0) // training.num_generations,
        )
    reward_funcs, _ = unpack_rewards(rewards, training)
    try:
        check_dataset(train_dataset, reward_funcs)
    except MissingColumn as error:
        suggestion, column = suggest_for(train_dataset)
        if error.column in ({job.prompt_column, job.solution_column} - {*train_dataset.column_names, "solution"}):
            new = "prompt" if error.column == job.prompt_column else "solution"
            problem = f"{error.problem} --{new}_column {error.column} renamed it to '{new}'."
            if new == "prompt":
                is_parameter = (error.call or "").endswith(f"{error.column}=")
                rename = f"In the function, rename the parameter '{error.column}' to 'prompt'."
                raise ValueError(f"{problem} {rename if is_parameter else suggestion}") from None
            raise ValueError(
                f"{MissingColumn(problem, error.column, [new], error.call or f'NAME({error.column}=')}"
            ) from None
        if error.column != "solution":
            raise ValueError(f"{error} {suggestion}" if column else str(error)) from None
        remedy = suggestion if column and column not in error.similar else "Name the column: --solution_column "
        if not remedy.endswith("."):
            remedy += f"{error.similar[0]}." if error.similar else f"NAME. {suggestion}"
        raise ValueError(f"{error.problem} {remedy}") from None
    check_outcome(training.outcome_reward, reward_funcs)
    check_metric(training, reward_funcs, list_names(reward_funcs), eval_dataset)
    return rewards, train_dataset, eval_dataset


def describe_sizes(train_dataset: Dataset, eval_dataset: Dataset | None) -> str:
    """Return how many problems there are, which small files make worth reading."""
    held_out = 0 if eval_dataset is None else len(eval_dataset)
    problems = f"{len(train_dataset):,} problem{'' if len(train_dataset) == 1 else 's'} to train on"
    return f"{problems}; {f'{held_out:,}' if held_out else 'none'} {'are' if held_out > 1 else 'is'} held out."


def describe_steps(args: FilteredGRPOConfig) -> str:
    """Return how many prompts and completions a generation has, and how many steps learn from them."""
    completions, size, parts = args.generation_batch_size or 0, args.num_generations, args.gradient_accumulation_steps
    steps = Fraction((args.steps_per_generation or parts) * args.num_iterations, parts)
    learned = args.per_device_train_batch_size * args.world_size * parts
    prompts = f"{completions // size:,} prompt{'s' * (completions != size)}"
    return (
        f"A generation samples {prompts} with {size} completions each ({completions:,}), for {steps} step"
        f"{'s' * (steps > 1)}. A step is one update of the weights, from {learned:,} completions."
    )


def load_tokenizer(
    model: ModelConfig, training: FilteredGRPOConfig, dataset: str | None = None
) -> PreTrainedTokenizerBase:
    """Return the tokenizer of the model without loading the model."""
    name = choose_model(model.model_name_or_path, dataset)
    try:
        trusted = any(getattr(options, "trust_remote_code", False) for options in (model, training))  # TRL moved it
        return AutoTokenizer.from_pretrained(name, revision=model.model_revision, trust_remote_code=trusted)
    except (OSError, ValueError) as error:
        reason = str(error).splitlines()[0].rstrip(".: ")
        if Path(name).is_dir() and not (Path(name) / "config.json").exists():
            reason = "the folder has no config.json"
        raise ValueError(
            f"The tokenizer of the model {name!r} cannot be loaded: {reason}. Give the name of a model on the hub or the "
            f"folder of a model: --model_name_or_path."
        ) from None


def check_lora_target_modules(model: ModelConfig, dataset: str | None) -> None:
    """Check that LoRA would change a module of the model, by building the model without its weights."""
    options = get_peft_config(model)
    if options is None or options.target_modules in (None, "all-linear"):
        return
    name = choose_model(model.model_name_or_path, dataset)
    config = AutoConfig.from_pretrained(
        name, revision=model.model_revision, trust_remote_code=getattr(model, "trust_remote_code", False)
    )
    architecture = getattr(transformers, (config.architectures or ["-"])[0], None)
    if architecture is None:  # code from the hub
        return
    from peft.tuners.tuners_utils import check_target_module_exists  # an optional package

    with torch.device("meta"):
        modules = dict(architecture(config).named_modules())
    if not any(check_target_module_exists(options, key) for key in modules):
        linear = {key.split(".")[-1]: None for key, one in modules.items() if isinstance(one, torch.nn.Linear)}
        raise ValueError(
            f"--lora_target_modules must match modules of the model {name!r}; got {options.target_modules!r}. Its linear "
            f"modules are {', '.join(linear)}. Name at least two of them, write a regular expression of whole names such as "
            f"'.*{[*linear][0]}', or write all-linear."
        )
