"""What the trainer is given: taken apart as TRL wants it, and refused early where it cannot work."""

import logging
from typing import Any

from ..expressions import Reward, check_names, missing_column
from ..function_rewards import RewardFactory, uncalled
from .config import FilteredGRPOConfig


logger = logging.getLogger(__name__)


def unpacked(reward_funcs: Any, args: FilteredGRPOConfig) -> tuple[Any, list[float] | None]:
    """What TRL takes as `reward_funcs`, and the weights where the rewards bring their own."""
    if isinstance(reward_funcs, Reward):
        if args.reward_weights is not None:
            raise ValueError(
                f"The rewards {reward_funcs} have weights, and reward_weights={args.reward_weights} are others. "
                f"Leave out reward_weights, or pass a list of rewards."
            )
        return reward_funcs.rewards, reward_funcs.weights
    if isinstance(reward_funcs, str) and "(" in reward_funcs:
        raise ValueError(
            f"reward_funcs is the text {reward_funcs!r}, and TRL takes text for the id of a reward model. "
            f"Write parse({reward_funcs!r})."
        )
    return list(reward_funcs) if isinstance(reward_funcs, tuple) else reward_funcs, None


def check_rewards(reward_funcs: Any) -> None:
    reward_funcs = reward_funcs if isinstance(reward_funcs, list) else [reward_funcs]
    for function in reward_funcs:
        if isinstance(function, RewardFactory):
            raise TypeError(f"reward_funcs has {uncalled(function)}")
    check_names([function.__name__ for function in reward_funcs if hasattr(function, "__name__")])


def warn_of_judges(reward_funcs: Any, unscored: str) -> None:
    """A judge is out at times, and TRL counts its None as 0 beside another score."""
    if (
        unscored == "term"
        and isinstance(reward_funcs, list)
        and len(reward_funcs) > 1
        and any(isinstance(function, Reward) and function.asks for function in reward_funcs)
    ):
        logger.warning(
            "A judge stands beside other rewards, and where it gives no verdict its term counts as 0, which is TRL's "
            "rule. Set unscored='row' to leave such completions out instead."
        )


def find_outcome(name: str | None, names: list[str], reward_funcs: list[Any]) -> int:
    """
    Return the place of the outcome reward: the one of this name, else the first with the trait, else the first.

    Raises:
        `ValueError`: no reward has this name.
    """
    if name is None:
        return next((place for place, function in enumerate(reward_funcs) if is_outcome(function)), 0)
    if name not in names:
        raise ValueError(
            f"outcome_reward={name!r} must be the name of a reward; the rewards are {', '.join(map(repr, names))}. Name "
            f"one of them."
        )
    return names.index(name)


def is_outcome(function: Any) -> bool:
    return isinstance(function, Reward) and function.is_outcome


def warn_without_outcome(reward_funcs: list[Any], names: list[str]) -> None:
    """Warn that prompts are drawn by a reward that may not say which completions are right."""
    if not any(map(is_outcome, reward_funcs)):
        logger.warning(
            f"selective=True draws prompts by how many of their completions are right, but no reward is registered as an "
            f"outcome. The first one, '{names[0]}', is used. Set outcome_reward to the one that says which completions "
            f"are right, or register it with @reward(outcome=True)."
        )


def check_prompts(args: FilteredGRPOConfig, dataset: Any, environment_factory: Any = None) -> None:
    if dataset is None and environment_factory is not None:
        if args.selective:
            raise ValueError(
                "selective=True requires a train_dataset to draw prompts from; here the environment supplies the "
                "prompts. Pass a train_dataset, or set selective=False."
            )
        return
    for name, off in (("max_resample_rounds", 0), ("selective", False)):
        if getattr(args, name) and not hasattr(dataset, "__len__"):
            raise ValueError(
                f"{name}={getattr(args, name)} draws prompts from anywhere in the dataset, and the dataset is a stream. "
                f"Load it without streaming, or set {name}={off}."
            )


def check_dataset(dataset: Any, reward_funcs: Any, environment_factory: Any = None, rollout_func: Any = None) -> None:
    """
    Refuse a dataset without a row, a prompt or a column that the rewards need.

    An environment may give the prompts, and a rollout function further columns, which is known in the first step only.
    """
    if hasattr(dataset, "__len__") and len(dataset) == 0:
        raise ValueError("The dataset is empty, and training needs prompts. Check how it was loaded or filtered.")
    available = getattr(dataset, "column_names", None)
    if not available:  # a stream may not know them
        return
    if "prompt" not in available and environment_factory is None:
        raise ValueError(
            f"GRPOTrainer needs the column 'prompt'; the dataset has {', '.join(map(repr, sorted(available)))}. "
            f"Rename the column with the questions: dataset.rename_column(..., 'prompt')."
        )
    if rollout_func is not None:
        return
    for function in reward_funcs if isinstance(reward_funcs, list) else []:
        for column in sorted(function.columns - {*available}) if isinstance(function, Reward) else []:
            raise missing_column(function.name, column, available)
