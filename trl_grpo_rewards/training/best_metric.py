"""The metric of the best checkpoint: by default that of the outcome on held-out problems, where TRL takes the loss."""

import copy
import logging
from collections.abc import Sequence
from typing import Any

from transformers import EarlyStoppingCallback

from ..expressions import Reward
from .config import FilteredGRPOConfig, Unnamed, choose_metric


logger = logging.getLogger(__name__)

OWN_METRICS = ("entropy", "kl", "loss", "reward", "runtime")
"""Metrics of TRL that a reward may have the name of."""


def check_metric(args: FilteredGRPOConfig, reward_funcs: Any, names: Sequence[str], eval_dataset: Any) -> None:
    """Refuse a `metric_for_best_model` that is surely not logged. Plain functions and callbacks may log any name."""
    if args.metric_for_best_model is None or args.eval_strategy == "no":
        return
    metric = args.metric_for_best_model.removeprefix("eval_")
    sets = [*eval_dataset] if isinstance(eval_dataset, dict) else []
    means, parts = [f"rewards/{name}/mean" for name in names], [f"rewards/{name}/std" for name in names]
    functions = reward_funcs if isinstance(reward_funcs, list) else [reward_funcs]
    is_name = all(isinstance(one, Reward) for one in functions) and metric in {*names} - {*OWN_METRICS}
    is_other = bool(names) and metric.startswith("rewards/") and metric not in means + parts
    losses = [f"{name}_loss" for name in sets] or ["loss"]
    listed = ", ".join(f"eval_{one}" for one in [*means, "reward", *losses])
    if is_name or is_other or (sets and metric == "loss"):
        raise ValueError(
            f"metric_for_best_model must be a metric of the evaluation; got {args.metric_for_best_model!r}. Set it to "
            f"one of {listed}, or to another metric that is logged with eval_ in front."
        )
    if isinstance(args.metric_for_best_model, Unnamed) and len(sets) > 1:
        raise ValueError(
            f"With several evaluation sets, metric_for_best_model must be named, since TRL logs the rewards of all "
            f"sets under the same names, and those of the last one ({sets[-1]!r}) count. Set it to one of {listed}, "
            f"or pass one set."
        )


def name_metric(trainer: Any, outcome: str) -> FilteredGRPOConfig:
    """Return the configuration of a trainer with `outcome` as the metric if one is needed and none is set."""
    found: FilteredGRPOConfig = trainer.args
    args = copy.copy(found)
    if any(isinstance(one, EarlyStoppingCallback) for one in trainer.callback_handler.callbacks):
        args.metric_for_best_model = choose_metric(args)
    check_metric(args, trainer.reward_funcs, trainer.reward_func_names, trainer.eval_dataset)
    if not isinstance(args.metric_for_best_model, Unnamed):
        return found
    if args.process_index == 0:
        logger.warning(
            f"metric_for_best_model is not set: the best checkpoint is the one with the highest {outcome}. TRL would "
            f"take the lowest eval_loss, which says little about a policy."
        )
    args.metric_for_best_model, args.greater_is_better = outcome, True
    return args
