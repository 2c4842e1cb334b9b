"""A training job as a command line describes it, for the script that trains and the one that checks."""

import sys
from dataclasses import dataclass, field
from pathlib import Path

import torch
from datasets import Dataset
from transformers import AutoTokenizer, PreTrainedTokenizerBase
from transformers.trainer import TRAINER_STATE_NAME
from trl import ModelConfig, TrlParser

from .. import demo
from ..expressions import Reward
from ..parsing import parse
from ..training.config import FilteredGRPOConfig, check_config
from ..training.validation import check_dataset, check_outcome, unpack_rewards
from .commands import import_rewards
from .datasets import load_problems


DEMO_RECIPE = Path(__file__).parents[2] / "scripts" / "recipes" / "addition.yaml"
"""Recipe of the default job, which trains the bundled model on the bundled task."""


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
        metadata={"help": "Name on the hub, local folder, or 'json' with --data_files. Default: bundled addition."},
    )
    dataset_config: str | None = field(default=None, metadata={"help": "Configuration of the dataset."})
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
    no_check: bool = field(
        default=False, metadata={"help": "Train without checking rewards, dataset and configuration first."}
    )


def read_job() -> tuple[JobArguments, FilteredGRPOConfig, ModelConfig]:
    """Return the job of the command line. It is the default job if no model, no dataset and no recipe are given."""
    parser = TrlParser((JobArguments, FilteredGRPOConfig, ModelConfig))
    if not torch.accelerator.is_available():
        parser.set_defaults(use_cpu=True, bf16=False)
    arguments = [part for option in sys.argv[1:] for part in split_config(option)]
    job, training, model = parser.parse_args_and_config(arguments)
    if "--config" not in arguments and job.dataset_name is model.model_name_or_path is None:
        job, training, model = parser.parse_args_and_config(["--config", str(DEMO_RECIPE), *arguments])
    return job, training, model


def split_config(option: str) -> list[str]:
    """Split `--config=FILE` into two arguments, which is the only form that TRL's parser reads."""
    return option.split("=", 1) if option.startswith("--config=") else [option]


def check_model(model: str | None, dataset: str | None) -> None:
    if model is None and dataset is not None:
        raise ValueError(
            f"The dataset {dataset!r} needs a model, but no model is set, and the bundled one can only do arithmetic. "
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
    check_dataset(train_dataset, reward_funcs)
    check_outcome(training.outcome_reward, reward_funcs)
    return rewards, train_dataset, eval_dataset


def load_tokenizer(model: ModelConfig, training: FilteredGRPOConfig) -> PreTrainedTokenizerBase:
    """Return the tokenizer of the model without loading the model."""
    name = model.model_name_or_path or demo.MODEL
    try:
        trusted = any(getattr(options, "trust_remote_code", False) for options in (model, training))  # TRL moved it
        return AutoTokenizer.from_pretrained(name, revision=model.model_revision, trust_remote_code=trusted)
    except OSError as error:
        raise ValueError(
            f"The tokenizer of the model {name!r} cannot be loaded: {str(error).splitlines()[0]} Give the name of a "
            f"model on the hub or a local folder: --model_name_or_path."
        ) from None


def find_last_checkpoint(output_dir: str | Path) -> str | None:
    """Return the newest complete checkpoint of a run. A checkpoint is complete once it has a trainer state."""
    complete = [state.parent for state in Path(output_dir).glob(f"checkpoint-*/{TRAINER_STATE_NAME}")]
    return str(max(complete, key=lambda folder: int(folder.name.split("-")[1]))) if complete else None
