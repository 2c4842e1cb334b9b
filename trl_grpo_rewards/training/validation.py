"""Checks of the trainer's rewards and datasets before the model loads."""

import inspect
import logging
import random
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from datasets import Dataset, IterableDataset
from torch import nn

from ..dataset_rows import describe_no_dataset, show_rows
from ..errors import describe_plain
from ..expressions import Reward, check_names, find_first_outcome, warn_of_missing_weights
from ..faults import find_column_faults, find_parameter_faults, find_prompt_faults, find_readers, find_size_faults
from ..function_rewards import RewardFactory, describe_uncalled, find_functions
from ..registry import find_wrapped, takes_solution
from ..scores import check_results
from .checkpoints import check_metric
from .config import FilteredGRPOConfig
from .trl_members import utils


logger = logging.getLogger(__name__)
SAMPLED_ROWS = 64  # whose solutions are read before the model loads, which takes about 0.01 s


def unpack_rewards(reward_funcs: Any, args: FilteredGRPOConfig) -> tuple[list[Any], list[float] | None]:
    """Return a new list of the rewards, to which TRL appends those of environments, and the weights of a [`Reward`]."""
    if isinstance(reward_funcs, Reward):
        if args.reward_weights is not None:
            raise ValueError(
                f"The rewards {reward_funcs} have weights, but reward_weights={args.reward_weights} is given too. "
                f"Leave out reward_weights, or pass a list of rewards."
            )
        return reward_funcs.rewards, reward_funcs.weights
    if isinstance(reward_funcs, str) and "(" in reward_funcs:
        raise ValueError(
            f"reward_funcs is the text {reward_funcs!r}, which TRL reads as the id of a reward model. "
            f"Write parse({reward_funcs!r})."
        )
    warn_of_missing_weights(reward_funcs, args)
    if reward_funcs is None:
        return [], None
    functions = reward_funcs if isinstance(reward_funcs, (list, tuple)) else [reward_funcs]
    return [find_wrapped(one)() if takes_solution(one) else one for one in functions], None


def check_arguments(
    args: FilteredGRPOConfig,
    reward_funcs: list[Any],
    weights: Sequence[float] | None = None,
    model: Any = None,
    train_dataset: Any = None,
    eval_dataset: Any = None,
    environment_factory: Any = None,
    rollout_func: Any = None,
    calls_as_trl: bool = True,
    **options: Any,
) -> None:
    """Check the trainer's arguments before the model loads. `reward_funcs` are as [`unpack_rewards`] returns them."""
    if not isinstance(train_dataset, (Dataset, IterableDataset, type(None))):
        raise TypeError(describe_no_dataset(train_dataset))
    if not options.get("peft_config"):
        check_reference(args, model)
    check_rewards(reward_funcs)
    warn_of_judges(reward_funcs, args.unscored, weights or args.reward_weights)
    has_world = environment_factory is not None
    for dataset in (train_dataset, eval_dataset):
        for part in dataset.values() if isinstance(dataset, dict) else [dataset]:
            check_rows(show_rows(part), reward_funcs, has_world, rollout_func is None, calls_as_trl)
    check_prompts(args, train_dataset, environment_factory)
    for fault in find_size_faults(train_dataset, args):
        raise fault
    check_named_options(args, reward_funcs, eval_dataset, environment_factory)
    if args.process_index == 0:
        warn_of_unused_fp16(args)
        warn_of_unreadable_values(reward_funcs, show_rows(train_dataset))


def check_reference(args: FilteredGRPOConfig, model: Any) -> None:
    if args.beta and hasattr(model, "config") and not (hasattr(model, "peft_config") or model.config._name_or_path):
        raise ValueError(
            f"beta={args.beta} needs a reference model, which TRL loads by the name of the model, but this model has no "
            f"name. Save it and pass the folder: model.save_pretrained('start'), and model='start'. Or set beta=0."
        )


def check_rows(rows: Any, reward_funcs: list[Any], has_world: bool, is_complete: bool, calls_as_trl: bool) -> None:
    """Check the columns and the prompts of a dataset. Prompts may come from an environment, columns from a rollout."""
    functions = [function for reward in list_rewards(reward_funcs) for function in find_functions(reward)]
    plain = list_plain(reward_funcs) if is_complete and calls_as_trl else []
    columns = find_column_faults(rows, functions, needs_prompts=not has_world, is_complete=is_complete)
    for fault in chain(columns, find_parameter_faults(rows, plain)):
        raise fault
    for fault in find_prompt_faults(rows) if is_complete and not has_world else ():
        raise fault


def list_rewards(reward_funcs: list[Any]) -> list[Reward]:
    return [function for function in reward_funcs if isinstance(function, Reward)]


def list_plain(reward_funcs: list[Any]) -> list[Callable]:
    return [one for one in reward_funcs if callable(one) and not isinstance(one, (Reward, nn.Module))]


def check_rewards(reward_funcs: list[Any]) -> None:
    for function in reward_funcs:
        if isinstance(function, RewardFactory):
            raise TypeError(f"reward_funcs contains {describe_uncalled(function)}")
        is_known = isinstance(function, (Reward, nn.Module)) or not callable(function)
        if isinstance(function, type) or not (is_known or takes_groups(function)):
            raise TypeError(f"reward_funcs contains {describe_plain(function)}")
    named = [one for one in reward_funcs if callable(one) and not isinstance(one, nn.Module)]  # TRL names models
    check_names([*map(utils.get_callable_name, named)])


def check_functions(functions: list[Any], names: list[str]) -> list[Any]:
    """Return the reward functions of a trainer. Those that are plain are called with a check of what they return."""
    return [
        one if isinstance(one, (Reward, nn.Module)) else check_results(one, name, utils.is_async_callable(one))
        for one, name in zip(functions, names, strict=True)
    ]


def takes_groups(function: Callable) -> bool:
    """Whether a function can be called as TRL calls reward functions, with names for prompts and completions."""
    try:
        parameters = inspect.signature(function, follow_wrapped=False).parameters
    except ValueError:  # some builtin functions have none
        return True
    return {"prompts", "completions"} <= {*parameters} or any(
        one.kind is one.VAR_KEYWORD for one in parameters.values()
    )


def warn_of_judges(reward_funcs: list[Any], unscored: str, weights: Sequence[float] | None = None) -> None:
    weights = weights or [1.0] * len(reward_funcs)
    trained = [function for function, weight in zip(reward_funcs, weights, strict=False) if weight]
    if unscored == "term" and len(trained) > 1 and any(one.asks for one in list_rewards(trained)):
        logger.warning(
            "The rewards contain a judge and other rewards. If the judge gives no verdict, its term counts as 0, as in "
            "TRL. Set unscored='row' to leave such completions out instead."
        )


def warn_of_unused_fp16(args: FilteredGRPOConfig) -> None:
    if args.fp16 and args.device.type == "cpu":
        logger.warning(
            "fp16=True changes nothing on a CPU, where accelerate computes in float32. Set bf16=True to compute in 16 bits, or "
            "leave fp16 out."
        )


def warn_of_unreadable_values(reward_funcs: list[Any], dataset: Any) -> None:
    columns = getattr(dataset, "column_names", None)
    if not isinstance(columns, list) or not hasattr(dataset, "__len__"):  # a stream is read in training
        return
    sample = dataset.select(random.Random(0).sample(range(len(dataset)), min(SAMPLED_ROWS, len(dataset))))
    for (column, read), name in find_readers(list_rewards(reward_funcs)).items():
        values = sample[column] if column in columns else []
        readings = zip(values, read(values), strict=False)
        if bad := [str(value) for value, reading in readings if reading.kind in ("not at all", "in part")]:
            logger.warning(
                f"Reward '{name}' cannot read {len(bad)} of {len(values)} sampled values of the column '{column}' as a "
                f"whole, such as {', '.join(f'{value[:80]!r}' for value in [*dict.fromkeys(bad)][:3])}. Completions for "
                f"these rows get no score or a wrong one. To see all of them and what to store instead, run "
                f"trl_grpo_rewards.checks.check(rewards, dataset)."
            )


def find_outcome(
    name: str | None,
    names: list[str],
    reward_funcs: list[Any],
    given: int | None = None,
    weights: Sequence[float] | None = None,
) -> int:
    """Return the index of the reward of this name, else of the first outcome. TRL appends to the `given` rewards."""
    if name is None:
        return find_first_outcome(reward_funcs, weights or [1.0] * len(reward_funcs), given)
    if name not in names:
        raise ValueError(
            f"outcome_reward={name!r} must be the name of a reward; the rewards are {', '.join(map(repr, names))}. "
            f"Set it to one of these names."
        )
    return names.index(name)


def check_named_options(
    args: FilteredGRPOConfig, reward_funcs: list[Any], eval_dataset: Any, environment_factory: Any = None
) -> None:
    names = [getattr(function, "__name__", "") for function in reward_funcs]
    names = names if environment_factory is None and all(names) else []  # environments and models are named later
    if names:
        find_outcome(args.outcome_reward, names, reward_funcs)
    check_metric(args, reward_funcs, names, eval_dataset)


def check_prompts(args: FilteredGRPOConfig, dataset: Any, environment_factory: Any = None) -> None:
    is_new = dataset is None and environment_factory is not None
    if args.max_resample_rounds and not is_new and not hasattr(dataset, "__len__"):
        raise ValueError(
            f"max_resample_rounds={args.max_resample_rounds} requires a dataset that can be indexed, but train_dataset is "
            f"{'missing' if dataset is None else 'a stream'}. Pass a dataset that is not a stream, or set "
            f"max_resample_rounds=0."
        )
