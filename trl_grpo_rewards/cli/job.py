"""A training job, ready to train or to be checked: its rewards, datasets and tokenizer, and what it says of itself."""

from fractions import Fraction
from shlex import quote

from datasets import Dataset
from transformers import AutoConfig, AutoTokenizer, PretrainedConfig, PreTrainedTokenizerBase
from trl import ModelConfig

from ..checks.row_shapes import find_unusual_column, name_column, suggest_for
from ..errors import MissingColumn
from ..expressions import Reward
from ..faults import find_column_faults
from ..function_rewards import find_functions
from ..training.config import FilteredGRPOConfig, make_plan
from ..training.validation import check_named_options, unpack_rewards
from .console import build_rewards, count
from .job_data import load_problems
from .job_options import JobArguments


BECOME_MESSAGES = (
    "The prompts are texts, and the model has a chat template, so prompts and completions become messages."
)


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
