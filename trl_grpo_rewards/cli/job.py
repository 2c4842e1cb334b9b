"""A training job as a command line describes it, for the script that trains and the one that checks."""

import contextlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoTokenizer, PreTrainedTokenizerBase
from trl import ModelConfig, TrlParser

from .. import demo
from ..expressions import Reward
from ..parsing import parse
from ..training.config import FilteredGRPOConfig, check_config
from ..training.validation import check_dataset, unpacked
from .datasets import import_rewards, load_problems


@dataclass
class JobArguments:
    """What to train on, and for what."""

    rewards: str = field(
        default="boxed() + 0.2 * tags('think')",
        metadata={"help": "Expression of rewards; the names are those of the library and of imported modules."},
    )
    import_modules: list[str] = field(
        default_factory=list,
        metadata={"aliases": ["--import"], "help": "Modules to import, which register rewards of your own."},
    )
    dataset_name: str | None = field(
        default=None,
        metadata={"help": "Name on the hub, local folder, or 'json' with --data_files. Default: bundled addition."},
    )
    dataset_config: str | None = field(default=None, metadata={"help": "Configuration of the dataset."})
    data_files: list[str] | None = field(default=None, metadata={"help": "Files to read."})
    dataset_train_split: str = field(default="train", metadata={"help": "Split to train on."})
    dataset_test_split: str = field(default="test", metadata={"help": "Split to measure on."})
    prompt_column: str = field(default="prompt", metadata={"help": "Column with the question."})
    solution_column: str = field(default="solution", metadata={"help": "Column with the right answer."})
    system_prompt: str | None = field(default=None, metadata={"help": "Put before every prompt."})
    eval_prompts: int = field(
        default=64, metadata={"help": "Held-out prompts to measure on before and after; 0 measures nothing."}
    )
    bad_golds: float = field(
        default=0.05, metadata={"help": "Share of solutions that cannot be read, above which a run does not begin."}
    )
    no_check: bool = field(
        default=False, metadata={"help": "Train without checking rewards, dataset and configuration before."}
    )


def read_job(default: Path) -> tuple[JobArguments, FilteredGRPOConfig, ModelConfig]:
    """The job of the command line; without a model, a dataset and a recipe, that of the default recipe."""
    parser = TrlParser((JobArguments, FilteredGRPOConfig, ModelConfig))
    if not torch.accelerator.is_available():
        parser.set_defaults(use_cpu=True, bf16=False)
    given = [part for option in sys.argv[1:] for part in in_two(option)]
    parsed = job, _, model = parser.parse_args_and_config(given)
    if "--config" not in given and job.dataset_name is model.model_name_or_path is None:
        return parser.parse_args_and_config(["--config", str(default), *given])
    return parsed


def in_two(option: str) -> list[str]:
    """`--config=FILE` as the parser of TRL reads it."""
    return option.split("=", 1) if option.startswith("--config=") else [option]


@contextlib.contextmanager
def in_a_sentence() -> Iterator[None]:
    """What is wrong with a job is said without a traceback."""
    try:
        yield
    except (TypeError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")


def check_model(model: str | None, dataset: str | None) -> None:
    if model is None and dataset is not None:
        raise ValueError(
            f"The dataset is {dataset!r} and no model is named; the bundled one can do nothing but add. "
            f"Name yours with --model_name_or_path, or for a trial the bundled one: {demo.MODEL}."
        )


def prepared(
    job: JobArguments, training: FilteredGRPOConfig, model: ModelConfig
) -> tuple[Reward, Dataset, Dataset | None]:
    """The rewards and problems; what is wrong with them is said before anything large is loaded."""
    check_model(model.model_name_or_path, job.dataset_name)
    check_config(training)
    import_rewards(job.import_modules)
    rewards = parse(job.rewards)
    with training.main_process_first():  # the others find what it has prepared
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
    check_dataset(train_dataset, unpacked(rewards, training)[0])
    return rewards, train_dataset, eval_dataset


def load_tokenizer(model: ModelConfig, training: FilteredGRPOConfig) -> PreTrainedTokenizerBase:
    """The tokenizer of the model, of which nothing else is loaded."""
    name = model.model_name_or_path or demo.MODEL
    try:
        trusted = any(getattr(options, "trust_remote_code", False) for options in (model, training))  # TRL moved it
        return AutoTokenizer.from_pretrained(name, revision=model.model_revision, trust_remote_code=trusted)
    except OSError as error:
        raise ValueError(
            f"The model is {name!r}, and its tokenizer cannot be loaded: {str(error).splitlines()[0]} Give the name of a "
            f"model on the hub or a local folder: --model_name_or_path."
        ) from None
