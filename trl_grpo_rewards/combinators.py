"""Combinators: rewards that score other rewards. By default, a combinator has the name of its inner reward."""

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Annotated, Any, TypeAlias

from .batch import Batch, scatter
from .expressions import Reward
from .loops import await_all
from .options import requires
from .registry import combinator, reward
from .scores import Score


@combinator(outcome=("reward",))
async def gate(
    batch: Batch, *, reward: Reward, by: Reward, at_least: float = 1.0, otherwise: float = 0.0
) -> list[Score]:
    """
    The reward if `by` is at least `at_least`, else `otherwise`; None if `by` is None.

    `by` is scored first, and the reward is only computed for the rows that pass. For example, `gate(judge(...),
    by=boxed())` does not call the judge for wrong answers.

    Args:
        reward (`Reward`):
            Scores the rows that pass.
        by (`Reward`):
            Decides which rows pass.
        at_least (`float`, *optional*, defaults to `1.0`):
            Lowest score of `by` with which a row passes.
        otherwise (`float`, *optional*, defaults to `0.0`):
            Score of the other rows.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, gate, length

    >>> concise = gate(length(3, unit="words"), by=boxed())
    >>> concise(completions=[r"It is \\boxed{4}", r"It is \\boxed{5}"], solution=["4", "4"])
    [1.0, 0.0]

    ```
    """
    deciding = await by.score(batch)
    scores = [None if score is None else otherwise for score in deciding]
    passed = [row for row, score in enumerate(deciding) if score is not None and score >= at_least]
    if passed:
        paid = await reward.score(batch.select(passed))
        for row, score in zip(passed, paid, strict=True):
            scores[row] = score
    return scores


def is_range(low: float | None, high: float | None) -> bool:
    """Whether at least one bound is set, and two are in order."""
    if low is None or high is None:
        return low is not high
    return low <= high


@combinator(check=requires("clip() requires low, high or both, with low <= high", is_range))
async def clip(batch: Batch, *, reward: Reward, low: float | None = None, high: float | None = None) -> list[Score]:
    """
    The reward, limited to at least `low` and at most `high`; None stays None.

    Args:
        reward (`Reward`):
            Scores the rows.
        low (`float`, *optional*):
            Lower bound. By default there is none.
        high (`float`, *optional*):
            Upper bound. By default there is none.

    Example:

    ```python
    >>> from trl_grpo_rewards import clip, length

    >>> clip(length(4, unit="words"), low=0.5)(completions=["one two three four", "one"])
    [1.0, 0.5]

    ```
    """
    if low is None:
        low = float("-inf")
    if high is None:
        high = float("inf")
    scores = await reward.score(batch)
    return [None if score is None else min(max(score, low), high) for score in scores]


Steps: TypeAlias = tuple[tuple[int, float], ...] | dict[int, float]


def list_points(steps: Steps) -> Sequence[tuple[int, float]]:
    if isinstance(steps, Mapping):
        return [*steps.items()]
    return steps


def are_in_order(steps: Steps) -> bool:
    positions = [step for step, _ in list_points(steps)]
    if positions == []:
        return False
    return positions[0] >= 0 and positions == sorted({*positions})


@combinator(
    check=requires(
        "schedule() requires at least one point, at increasing steps from 0",
        are_in_order,
        "Write points (step, weight) in order: steps=((0, 0.0), (100, 1.0)).",
    )
)
async def schedule(batch: Batch, *, reward: Reward, steps: Steps) -> list[Score]:
    """
    The reward times a weight that depends on the optimizer step: linear between points, constant outside them.

    The step is `trainer_state.global_step`, which GRPOTrainer passes. A call without it (as in AsyncGRPO) is an error.

    Args:
        reward (`Reward`):
            Scores the rows.
        steps (`tuple[tuple[int, float]]` or `dict[int, float]`):
            Points (step, weight) at increasing steps, or the weights by step.

    Example:

    ```python
    >>> from transformers import TrainerState
    >>> from trl_grpo_rewards import length, schedule

    >>> brief = schedule(length(4, unit="words"), steps=((100, 0.0), (200, 1.0)))
    >>> brief(completions=["one two three four"], trainer_state=TrainerState(global_step=150))
    [0.5]

    ```
    """
    import numpy  # slow to import

    state = batch.hooks.get("trainer_state")
    if state is None:
        raise ValueError(
            f"schedule() needs the optimizer step, but this call has no 'trainer_state'. GRPOTrainer passes it, but "
            f"AsyncGRPO does not. Use {reward} without a schedule here."
        )
    positions, weights = map(list, zip(*list_points(steps), strict=True))
    weight = float(numpy.interp(state.global_step, positions, weights))
    return [score if score is None else weight * score for score in await reward.score(batch)]


def choose_route(
    row: Mapping[str, Any], column: str, rewards: Mapping[Any, Reward], default: Reward | None
) -> list[Reward]:
    chosen = next((reward for key, reward in rewards.items() if key == row.get(column)), default)
    return [] if chosen is None else [chosen]


@combinator(
    check=requires("route() requires rewards", lambda rewards: rewards, "Write route('task', {'math': boxed()})."),
    columns=lambda column: {column},
    outcome=("rewards", "default"),
    chooses=choose_route,
)
async def route(
    batch: Batch, *, column: str, rewards: dict[Any, Reward], default: Reward | None = None
) -> list[Score]:
    """
    The reward that each row's value in a column selects.

    Each reward is only computed for its own rows.

    Args:
        column (`str`):
            Dataset column, such as the kind of task.
        rewards (`dict[Any, Reward]`):
            The reward for each value.
        default (`Reward`, *optional*):
            Reward for all other values. By default, they are an error.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, keywords, route

    >>> by_task = route("task", {"math": boxed()}, default=keywords(none=("sorry",)))
    >>> by_task(completions=[r"\\boxed{4}", "Of course."], task=["math", "chat"], solution=["4", None])
    [1.0, 1.0]

    ```
    """
    rows_of: dict[Reward, list[int]] = {}
    for row, value in enumerate(batch.columns[column]):
        chosen = choose_route({column: value}, column, rewards, default)
        if not chosen:
            raise ValueError(
                f"route() has no reward for {column}={value!r}, only for {', '.join(map(repr, rewards))}. "
                f"Add one, or a default: route({column!r}, {{...}}, default=...)."
            )
        rows_of.setdefault(chosen[0], []).append(row)
    scoring = (reward.score(batch.select(rows)) for reward, rows in rows_of.items())
    scores = await await_all(scoring, concurrent=any(reward.is_async for reward in rows_of))
    return scatter(batch.size, zip(rows_of.values(), scores, strict=True))


@reward(grouped=True)
def share(*, by: Annotated[list[Score], Reward]) -> list[Score]:
    """
    The mean score of the group under `by`, which is the share of right answers; None if `by` scores none of them.

    All completions of a group have the same score, so it is useful only as a condition. For example,
    `gate(shortest(boxed()), by=share(boxed()), at_least=0.5)` rewards brevity only for prompts that the model mostly
    answers right, as in [GRPO-λ](https://huggingface.co/papers/2505.18086).

    Args:
        by (`Reward`):
            Scores the completions.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, share

    >>> completions = [r"\\boxed{4}", r"\\boxed{4}", r"\\boxed{5}", "4"]
    >>> share(boxed())(completions=completions, prompts=["2 + 2?"] * 4, solution=["4"] * 4)
    [0.5, 0.5, 0.5, 0.5]

    ```
    """
    known = [score for score in by if score is not None]
    return [fmean(known) if known else None] * len(by)
