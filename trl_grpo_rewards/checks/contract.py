"""Do rewards, dataset and configuration fit? What each needs, held against what there is."""

import pickle
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, get_args, get_origin

from ..expressions import Reward, missing_column
from ..function_rewards import FunctionReward, RewardFactory
from ..options import described, fits, freeze
from .findings import Findings, parts


if TYPE_CHECKING:
    from datasets import Dataset
    from trl import GRPOConfig


def check_contract(rewards: Reward, dataset: "Dataset", config: "GRPOConfig | None" = None) -> Findings:
    """Columns and their types, lengths against the configuration, and whether the rewards reach another process."""
    found = Findings("rewards, dataset and configuration")
    needed = sorted(rewards.columns)
    kinds = ", ".join(f"{name} ({kind_of(dataset, name)})" for name in needed if name in dataset.column_names)
    found.lines.append(f"{rewards}")
    found.lines.append(f"{len(dataset):,} prompts; columns that the rewards read: {kinds or 'none'}")
    for reward in parts(rewards):
        found.faults += [*column_faults(reward, dataset), *length_faults(reward, config)]
    found.faults += pickle_faults(rewards)
    if config is not None and config.num_generations < 2:
        found.faults.append(
            f"A group has num_generations={config.num_generations} completions, and GRPO learns from their differences. "
            f"Set it to 2 or more."
        )
    return found


def kind_of(dataset: "Dataset", column: str) -> str:
    feature = dataset.features[column]
    return getattr(feature, "dtype", None) or type(feature).__name__.lower()


def column_faults(reward: FunctionReward, dataset: "Dataset") -> Iterator[str]:
    """Columns that are missing, or whose values are not of the type that the function's parameter is annotated with."""
    mine = reward.columns.difference(*(child.columns for child in reward.children))
    for column in sorted(mine - {*dataset.column_names}):
        yield str(missing_column(reward.name, column, dataset.column_names))
    for column in sorted(mine & {*dataset.column_names}):
        annotation = per_row(reward.maker, column)
        value = next((value for value in dataset[:100][column] if value is not None), None)
        if value is not None and not fits(freeze_or_leave(value), annotation):
            yield (
                f"Reward '{reward.name}' reads the column '{column}' as {described(annotation)}, and the dataset holds "
                f"{kind_of(dataset, column)}, such as {value!r}. Convert it: dataset.map(...), or read it as it is."
            )


def per_row(maker: RewardFactory, column: str) -> Any:
    """The annotated type of one value of a column."""
    is_data = any(parameter.name == column for parameter in maker.data)
    annotation = maker.annotations.get(column, Any) if is_data else Any
    if maker.kind == "batch":
        return get_args(annotation)[0] if get_origin(annotation) is list else Any
    return annotation


def freeze_or_leave(value: Any) -> Any:
    try:
        return freeze(value, "a value")
    except (TypeError, ValueError):
        return value


def length_faults(reward: FunctionReward, config: "GRPOConfig | None") -> Iterator[str]:
    """Lengths in tokens that no completion can have."""
    longest = getattr(config, "max_completion_length", None)
    counts = {name: reward.options[name] for name in ("max_tokens", "target") if name in reward.options}
    for name, tokens in counts.items() if longest and reward.options.get("unit", "tokens") == "tokens" else ():
        if tokens > longest:
            yield (
                f"Reward '{reward.name}' has {name}={tokens}, and completions end at max_completion_length={longest}. "
                f"Set {name} to at most {longest}, or max_completion_length to {tokens}."
            )


def pickle_faults(rewards: Reward) -> Iterator[str]:
    """A trainer that scores in another process (AsyncGRPO) sends the rewards there."""
    try:
        if pickle.loads(pickle.dumps(rewards)) == rewards:
            return
        what = "come out as others"
    except Exception as error:  # every class may have its own
        what = f"cannot be: {error}"
    yield (
        f"The rewards are sent to another process where one scores, by pickle, and they {what}. "
        f"Define reward functions at the top of a module."
    )
