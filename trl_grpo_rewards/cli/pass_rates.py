"""`trl-grpo-rewards pass-rates`: sample each prompt a few times before training, and write how often it was right."""

from collections.abc import Sequence
from pathlib import Path

from ..records.pass_rates import PassRate
from ..training.config import FilteredGRPOConfig
from ..training.pass_rate_trainer import PassRateTrainer
from ..verify.pool import start_workers
from .commands import exit_on, exit_on_reward_error
from .job import prepare_job, read_job
from .preparation import check_packages, check_writable, use_all_cores
from .train import build_trainer, disconnect


DESCRIPTION = """Sample completions of every training prompt, and write a table of pass rates for --selective_prior. The command takes
the options of `trl-grpo-rewards train`. It samples --num_generations_eval completions of each prompt, with vLLM if
--use_vllm is set, and writes OUTPUT_DIR-pass-rates.jsonl. If it was interrupted, the same command samples the rest."""


def main(arguments: Sequence[str]) -> None:
    with exit_on(TypeError, ValueError, ImportError):
        job, training, model = read_job(arguments, "pass-rates", DESCRIPTION)
        check_sizes(training)
        check_packages(training, model)
        use_all_cores(training)
        table = Path(f"{training.output_dir}-pass-rates.jsonl")  # outside, since a run needs an empty folder
        if training.process_index == 0:
            check_writable(table.parent)
        start_workers()
        rewards, dataset, _ = prepare_job(job, training, model)
        training.selective, training.selective_prior, training.selective_columns = False, None, None
    with exit_on(ValueError, ImportError, OSError):
        trainer = build_trainer(training, model, rewards, dataset, None, job.dataset_name, PassRateTrainer)
        assert isinstance(trainer, PassRateTrainer)
    with exit_on_reward_error(), exit_on(ValueError):
        table.parent.mkdir(parents=True, exist_ok=True)
        rates = trainer.sample_pass_rates(table)
    if trainer.is_world_process_zero():
        print(describe_rates([*rates.values()]))
        if trainer.already_sampled:
            print(
                f"{trainer.already_sampled:,} of these prompts were in the table before and were not sampled again. If the "
                f"model, the rewards or the options have changed, remove the table and repeat the command."
            )
        print(f"The table is in {table}. To use it, add to the options of the run:")
        print(f"    --selective true --selective_prior {table}")
    disconnect(trainer)


def check_sizes(training: FilteredGRPOConfig) -> None:
    """
    Check that a batch holds all completions of its prompts.

    Raises:
        `ValueError`: it does not.
    """
    batch, size = training.per_device_eval_batch_size, training.num_generations_eval or training.num_generations
    if batch * training.world_size % size:
        raise ValueError(
            f"per_device_eval_batch_size times the number of processes must be a multiple of num_generations_eval={size}, "
            f"but it is {batch} * {training.world_size}. Set --per_device_eval_batch_size {size * -(-batch // size)}."
        )


def describe_rates(rates: list[PassRate]) -> str:
    """Return two sentences about the pass rates."""
    never, always = sum(not rate.right for rate in rates), sum(rate.right == rate.samples for rate in rates)
    samples = sum(rate.samples for rate in rates)
    mean = sum(rate.right for rate in rates) / samples
    return (
        f"{len(rates):,} prompts, {samples:,} completions: {mean:.0%} of the completions are right. Number of prompts with no right "
        f"completion: {never:,}; with only right ones: {always:,}; with both: {len(rates) - never - always:,}."
    )
