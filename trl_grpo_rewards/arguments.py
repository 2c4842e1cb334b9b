"""What the trainer is given: taken apart as TRL wants it, and refused early where it cannot work."""

from typing import Any

from .config import FilteredGRPOConfig
from .registry import Maker, uncalled
from .values import Reward, check_names, missing_column


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
        if isinstance(function, Maker):
            raise TypeError(f"reward_funcs has {uncalled(function)}")
    check_names([function.__name__ for function in reward_funcs if hasattr(function, "__name__")])


def check_prompts(args: FilteredGRPOConfig, dataset: Any) -> None:
    if args.max_resample_rounds and not hasattr(dataset, "__len__"):
        raise ValueError(
            f"max_resample_rounds={args.max_resample_rounds} draws prompts from anywhere in the dataset, and the dataset "
            f"is a stream. Load it without streaming, or set max_resample_rounds=0."
        )
    images = {"image", "images"} & {*(getattr(dataset, "column_names", None) or ())}
    if args.max_resample_rounds and args.world_size > 1 and images:
        raise ValueError(
            f"max_resample_rounds={args.max_resample_rounds} moves completions between the {args.world_size} ranks, and "
            f"those with images stay on theirs; the dataset has the column {images.pop()!r}. Set it to 0."
        )


def check_dataset(dataset: Any, reward_funcs: Any) -> None:
    if hasattr(dataset, "__len__") and len(dataset) == 0:
        raise ValueError("The dataset is empty, and training needs prompts. Check how it was loaded or filtered.")
    available = getattr(dataset, "column_names", None)
    if not available:  # a stream may not know them
        return
    if "prompt" not in available:
        raise ValueError(
            f"GRPOTrainer needs the column 'prompt'; the dataset has {', '.join(map(repr, sorted(available)))}. "
            f"Rename the column with the questions: dataset.rename_column(..., 'prompt')."
        )
    for function in reward_funcs if isinstance(reward_funcs, list) else []:
        for column in sorted(function.columns - {*available}) if isinstance(function, Reward) else []:
            raise missing_column(function.name, column, available)
