"""A training job as a command line describes it, for the command that trains and the one that checks."""

import argparse
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar, overload

import torch
from datasets import Dataset
from transformers import AutoTokenizer, PreTrainedTokenizerBase, TrainerState
from transformers.trainer import TRAINER_STATE_NAME
from trl import GRPOConfig, ModelConfig, TrlParser
from yaml import YAMLError

from .. import demo
from ..checks.row_shapes import suggest_for
from ..errors import MissingColumn
from ..expressions import Reward
from ..parsing import parse
from ..training.config import FilteredGRPOConfig, check_config
from ..training.validation import check_dataset, check_outcome, unpack_rewards
from ..training.witness import read_witness
from .command_errors import CommandParser, import_rewards
from .datasets import BUNDLED_PROGRAMS, load_problems
from .output import EXIT_CODES


RECIPE_FOLDER = Path(__file__).with_name("recipes")

RECIPES = {file.stem: file for file in RECIPE_FOLDER.glob("*.yaml") if not file.stem.startswith("accelerate")}
"""Files of the bundled recipes by name. `addition` is the default job: the bundled model on the bundled task.
`code` has another bundled model and task."""

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
    dataset_name: str | None = field(
        default=None,
        metadata={
            "help": "Name on the hub, local folder, 'json' with --data_files, or 'reasoning_gym:' with the name of a "
            "generator. Default: bundled addition."
        },
    )
    dataset_config: str | None = field(
        default=None,
        metadata={"help": "Configuration of the dataset. For reasoning_gym, options such as size=1000,seed=7."},
    )
    data_files: list[str] | None = field(default=None, metadata={"help": "Files to read."})
    dataset_train_split: str = field(default="train", metadata={"help": "Split for training."})
    dataset_test_split: str = field(default="test", metadata={"help": "Split for evaluation."})
    prompt_column: str = field(default="prompt", metadata={"help": "Column with the question."})
    solution_column: str = field(default="solution", metadata={"help": "Column with the right answer."})
    system_prompt: str | None = field(
        default=None, metadata={"help": "System message that is put before every prompt."}
    )
    eval_prompts: int = field(
        default=64,
        metadata={"help": "Maximum number of held-out prompts to evaluate before and after training."},
    )
    bad_golds: float = field(
        default=0.05, metadata={"help": "Share of unreadable solutions above which the run does not start."}
    )
    no_check: bool = field(default=False, metadata={"help": argparse.SUPPRESS})  # only training looks at it


Job = TypeVar("Job", bound=JobArguments)


class Collect(argparse.Action):
    """Collects the values of an option that may be repeated. They replace those of the recipe."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option_string: Any = None) -> None:
        found = getattr(namespace, self.dest)
        setattr(namespace, self.dest, values if found is self.default else [*found, *values])


class JobParser(TrlParser, CommandParser):
    """Parser of the options of a job. Its help shows the package's own options first."""

    def __init__(self, prog: str, description: str, job: type[JobArguments] = JobArguments) -> None:
        usage = f"{prog} [--config RECIPE] [--OPTION VALUE ...]"
        self.job = job
        TrlParser.__init__(
            self, (job, FilteredGRPOConfig, ModelConfig), prog=prog, usage=usage, description=description
        )

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        if "--import" in names:
            options["action"] = Collect
        return super().add_argument(*names, **options)

    def read(self, arguments: Sequence[str]) -> tuple[Any, ...]:
        """
        Return the options of a command line and of its recipe.

        Raises:
            `ValueError`: there is no such option.
        """
        *parts, from_recipe, from_line = self.parse_args_and_config(
            arguments, return_remaining_strings=True, separate_remaining_strings=True
        )
        self.refuse(from_recipe, "in the recipe")
        self.refuse(from_line, "on the command line")
        return (*parts,)

    def format_help(self) -> str:
        trl = {field.name for field in fields(GRPOConfig)}
        sections = {
            "the job": {field.name for field in fields(self.job)},
            "the trainer of this package (FilteredGRPOConfig)": {f.name for f in fields(FilteredGRPOConfig)} - trl,
            "the model (TRL's ModelConfig)": {field.name for field in fields(ModelConfig)} - trl,
            "TRL's trainer (GRPOConfig)": trl,
        }
        formatter = argparse.HelpFormatter(self.prog)
        formatter.add_text(f"usage: {self.usage}")
        formatter.add_text(self.description)
        formatter.add_text(
            f"RECIPE is a YAML file with options, or one of {', '.join(sorted(RECIPES))}, which are in {RECIPE_FOLDER}. Options "
            f"on the command line take precedence."
        )
        for title, names in sections.items():
            formatter.start_section(title)
            formatter.add_arguments(action for action in self._actions if action.dest in names)
            formatter.end_section()
        return f"{formatter.format_help()}\n{EXIT_CODES}\n"


@overload
def read_job(
    arguments: Sequence[str], command: str, description: str = ...
) -> tuple[JobArguments, FilteredGRPOConfig, ModelConfig]: ...


@overload
def read_job(
    arguments: Sequence[str], command: str, description: str = ..., *, job_type: type[Job]
) -> tuple[Job, FilteredGRPOConfig, ModelConfig]: ...


def read_job(
    arguments: Sequence[str], command: str, description: str = "", *, job_type: type[JobArguments] = JobArguments
) -> tuple[JobArguments, FilteredGRPOConfig, ModelConfig]:
    """Return the job of a command line. It is the default job if no model, no dataset and no recipe are given."""
    warnings.filterwarnings("ignore", category=FutureWarning, module=DEPENDENCIES)
    parser = JobParser(f"trl-grpo-rewards {command}", description, job_type)
    if not torch.accelerator.is_available():
        parser.set_defaults(use_cpu=True, bf16=False)
    arguments = [part for argument in arguments for part in split_config(argument)]
    if "--config" in arguments[:-1]:
        place = arguments.index("--config") + 1
        arguments[place] = str(find_recipe(arguments[place]))
    elif "--config" in arguments:
        raise ValueError(f"--config must be followed by a YAML file or a recipe: {', '.join(sorted(RECIPES))}.")
    try:
        job, training, model = parser.read(arguments)
    except YAMLError as error:
        raise ValueError(
            f"The recipe '{arguments[place]}' is not valid YAML: {' '.join(str(error).split())}."
        ) from None
    if "--config" not in arguments and job.dataset_name is model.model_name_or_path is None:
        job, training, model = parser.read(["--config", str(RECIPES["addition"]), *arguments])
    return job, training, model


def split_config(argument: str) -> list[str]:
    """Split `--config=FILE` into two arguments, which is the only form that TRL's parser reads."""
    return argument.split("=", 1) if argument.startswith("--config=") else [argument]


def find_recipe(name: str) -> Path:
    """
    Return a file of options, or the bundled recipe of this name.

    Raises:
        `ValueError`: there is neither.
    """
    if not Path(name).is_file() and name not in RECIPES:
        raise ValueError(
            f"--config must be a YAML file or the name of a recipe; there is no file {name!r}, and the recipes are "
            f"{', '.join(sorted(RECIPES))}. Choose one of these, or give the path of a file."
        )
    return Path(name) if Path(name).is_file() else RECIPES[name]


BUNDLED_MODELS = {None: demo.MODEL, BUNDLED_PROGRAMS: demo.CODER}
"""The bundled model for each bundled dataset."""


def choose_model(model: str | None, dataset: str | None) -> str:
    """Return the model, which by default is the bundled one for the dataset."""
    return model or BUNDLED_MODELS.get(dataset, demo.MODEL)


def check_model(model: str | None, dataset: str | None) -> None:
    if model is None and dataset not in BUNDLED_MODELS:
        raise ValueError(
            f"The dataset {dataset!r} needs a model, but no model is set, and the bundled ones can only do their own tasks. "
            f"Set --model_name_or_path. To try the bundled model, set it to {demo.MODEL}."
        )


def prepare_job(
    job: JobArguments, training: FilteredGRPOConfig, model: ModelConfig
) -> tuple[Reward, Dataset, Dataset | None]:
    """Return the rewards and the datasets for training and evaluation. Errors are raised before anything large loads."""
    check_model(model.model_name_or_path, job.dataset_name)
    check_config(training)
    import_rewards(job.import_modules)
    rewards = parse(job.rewards)
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
        )
    reward_funcs, _ = unpack_rewards(rewards, training)
    try:
        check_dataset(train_dataset, [*reward_funcs, *read_witness(training)])
    except MissingColumn as error:
        if error.column != "solution":
            raise
        name = error.similar[0] if error.similar else "NAME"
        suggestion, column = suggest_for(train_dataset)
        remedy = f"Name the column: --solution_column {name}." if not column or column in error.similar else suggestion
        raise ValueError(f"{error.problem} {remedy}") from None
    check_outcome(training.outcome_reward, reward_funcs)
    return rewards, train_dataset, eval_dataset


def load_tokenizer(
    model: ModelConfig, training: FilteredGRPOConfig, dataset: str | None = None
) -> PreTrainedTokenizerBase:
    """Return the tokenizer of the model without loading the model."""
    name = choose_model(model.model_name_or_path, dataset)
    try:
        trusted = any(getattr(options, "trust_remote_code", False) for options in (model, training))  # TRL moved it
        return AutoTokenizer.from_pretrained(name, revision=model.model_revision, trust_remote_code=trusted)
    except OSError as error:
        raise ValueError(
            f"The tokenizer of the model {name!r} cannot be loaded: {str(error).splitlines()[0]} Give the name of a "
            f"model on the hub or a local folder: --model_name_or_path."
        ) from None


def find_last_checkpoint(output_dir: str | Path) -> str | None:
    """Return the newest complete checkpoint of a run."""
    numbered = [one for one in list_checkpoints(output_dir) if re.fullmatch(r"checkpoint-\d+", one.name)]
    return str(max(numbered, key=lambda folder: int(folder.name.split("-")[1]))) if numbered else None


def list_checkpoints(output_dir: str | Path) -> list[Path]:
    """Return the complete checkpoints of a run."""
    return sorted(filter(is_complete, Path(output_dir).glob("checkpoint-*")))


def is_complete(checkpoint: Path) -> bool:
    """Whether a checkpoint has its trainer state, which is written last. A killed run may leave the start of it."""
    try:
        TrainerState.load_from_json(str(checkpoint / TRAINER_STATE_NAME))
    except (OSError, ValueError, TypeError):
        return False
    return True
