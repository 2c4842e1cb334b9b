"""The members of TRL that this package uses and TRL does not document. A release of TRL may move them."""

from importlib.metadata import version


UTILITIES = ("pad", "split_pixel_values_by_grid", "unsplit_pixel_values_by_grid")
"""Functions of `trl.trainer.utils`."""

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
    "create_model_card",
)
"""Methods of `GRPOTrainer` that this package overrides."""

ATTRIBUTES = (
    "_buffered_inputs",
    "_logs",
    "_metrics",
    "_pending_extra_logs",
    "_signature_columns",
    "_step",
    "_tokenizer",
    "aux_loss_enabled",
    "eos_token_ids",
    "log_multimodal",
    "num_generations",
    "num_generations_eval",
    "reward_func_names",
    "reward_funcs",
    "reward_weights",
)
"""Attributes of a `GRPOTrainer` that this package reads or sets."""

ROLLOUT_LOOP = ("_score_group",)
"""Methods of the asynchronous trainer's rollout loop that this package overrides."""

ROLLOUT_LOOP_ATTRIBUTES = ("_dataset_iter", "_rates", "dataset", "reward_func_names", "reward_funcs")
"""Attributes of the rollout loop that this package reads or sets."""

ROLLOUT_WORKER = ("_loop_cls", "_loop_kwargs", "_process", "check_health")
"""Attributes of the asynchronous trainer's rollout worker."""

ASYNC_TRAINER = ("_last_groups_trained", "_trained_groups", "rollout_worker")
"""Attributes of an `AsyncGRPOTrainer`."""


def check_members(owner: object, names: tuple[str, ...]) -> None:
    """
    Check that a module, class or object of TRL has the members that this package uses.

    Raises:
        `ImportError`: a member is missing.
    """
    missing = [name for name in names if not hasattr(owner, name)]
    if missing:
        known = getattr(owner, "__name__", type(owner).__name__)
        raise ImportError(
            f"trl_grpo_rewards {version('trl_grpo_rewards')} requires the members {', '.join(map(repr, names))} of "
            f"{known}. trl {version('trl')} lacks {', '.join(map(repr, missing))}. Install a version of TRL that "
            f"trl_grpo_rewards was tested with (its README lists them), or a newer version of trl_grpo_rewards."
        )
