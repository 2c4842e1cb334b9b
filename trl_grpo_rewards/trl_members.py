"""The members of TRL beyond its documented interface that this package uses. A release of TRL may move them."""

from importlib.metadata import version
from typing import Any

from trl import GRPOTrainer


METHODS = (
    "_calculate_rewards",
    "_generate",
    "_generate_and_score_completions",
    "_get_per_token_logps_and_entropies",
    "_get_train_sampler",
    "_load_optimizer_and_scheduler",
    "_prepare_inputs",
    "_save_rng_state",
    "_set_signature_columns_if_needed",
)
"""Methods of `GRPOTrainer` that are overridden or called."""

ATTRIBUTES = (
    "_buffered_inputs",
    "_logs",
    "_metrics",
    "_step",
    "_tokenizer",
    "aux_loss_enabled",
    "eos_token_ids",
    "multi_objective_aggregation",
    "num_generations_eval",
    "pad_to_multiple_of",
    "reward_func_names",
    "reward_weights",
    "shuffle_dataset",
)
"""Attributes of a `GRPOTrainer` that are read or set."""

ASYNC = {
    "trl.experimental.async_grpo": ("AsyncGRPOTrainer",),
}


def check_methods() -> None:
    """
    Check that TRL's trainer has all methods that are overridden.

    Raises:
        `ImportError`: it lacks one.
    """
    refuse([name for name in METHODS if not hasattr(GRPOTrainer, name)])


def check_attributes(trainer: Any) -> None:
    """
    Check that a trainer has all attributes that are read.

    Raises:
        `ImportError`: it lacks one.
    """
    refuse([name for name in ATTRIBUTES if not hasattr(trainer, name)])


def refuse(missing: list[str]) -> None:
    if missing:
        raise ImportError(
            f"FilteredGRPOTrainer builds on members of TRL's GRPOTrainer, and trl {version('trl')} lacks "
            f"{', '.join(map(repr, missing))}. Install a version of TRL that this package was tested with (see its "
            f"README), or a newer trl_grpo_rewards."
        )
