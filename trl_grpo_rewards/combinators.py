"""Rewards made of rewards: each takes rewards, gives a reward, and keeps the inner one's name."""

from typing import Any

from .batch import GIVEN, Batch, spread
from .expressions import Reward, Score, missing_column, together
from .registry import combinator


@combinator(outcome=("reward",))
async def gate(
    batch: Batch, *, reward: Reward, by: Reward, at_least: float = 1.0, otherwise: float = 0.0
) -> list[Score]:
    """
    The reward where `by` reaches `at_least`, and `otherwise` elsewhere.

    `by` is scored first, and only the rows it opens are passed on: a judge behind a rule is not asked about answers
    that the rule has settled. Where `by` is None, so is the gate.

    Args:
        reward (`Reward`):
            Scores the open rows.
        by (`Reward`):
            Decides which rows are open.
        at_least (`float`, *optional*, defaults to `1.0`):
            Score of `by` from which a row is open.
        otherwise (`float`, *optional*, defaults to `0.0`):
            Score of the closed rows.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, gate, length

    >>> concise = gate(length(3, unit="words"), by=boxed())
    >>> concise(completions=[r"It is \\boxed{4}", r"It is \\boxed{5}"], solution=["4", "4"])
    [1.0, 0.0]

    ```
    """
    decided = await by.score(batch)
    scores = [None if score is None else otherwise for score in decided]
    open_rows = [row for row, score in enumerate(decided) if score is not None and score >= at_least]
    if open_rows:
        for row, score in zip(open_rows, await reward.score(batch.take(open_rows)), strict=True):
            scores[row] = score
    return scores


def check_clip(low: float | None, high: float | None) -> None:
    if low is None and high is None:
        raise ValueError("clip() has neither 'low' nor 'high'. Give it a bound: clip(..., low=0.0).")
    if low is not None and high is not None and low > high:
        raise ValueError(f"clip() has low={low} above high={high}. Exchange them.")


@combinator(check=check_clip)
async def clip(batch: Batch, *, reward: Reward, low: float | None = None, high: float | None = None) -> list[Score]:
    """
    The reward, but at least `low` and at most `high`; None stays None.

    Args:
        reward (`Reward`):
            Scores the rows.
        low (`float`, *optional*):
            Lower bound; without it there is none.
        high (`float`, *optional*):
            Upper bound; without it there is none.

    Example:

    ```python
    >>> from trl_grpo_rewards import clip, length

    >>> clip(length(4, unit="words"), low=0.5)(completions=["one two three four", "one"])
    [1.0, 0.5]

    ```
    """
    low = float("-inf") if low is None else low
    high = float("inf") if high is None else high
    return [score if score is None else min(max(score, low), high) for score in await reward.score(batch)]


def check_schedule(steps: tuple[tuple[int, float], ...]) -> None:
    at = [step for step, _ in steps]
    if not at or at[0] < 0 or at != sorted(set(at)):
        raise ValueError(
            f"schedule() has the steps {at}; it needs at least one, rising from 0 or later. "
            f"Write points (step, weight) in their order: steps=((0, 0.0), (100, 1.0))."
        )


@combinator(check=check_schedule)
async def schedule(batch: Batch, *, reward: Reward, steps: tuple[tuple[int, float], ...]) -> list[Score]:
    """
    The reward times a weight that changes with the optimizer step: linear between points, constant outside them.

    The step is TRL's `trainer_state.global_step`. Where there is none (AsyncGRPO passes columns only) it is an error.

    Args:
        reward (`Reward`):
            Scores the rows.
        steps (`tuple[tuple[int, float]]`):
            Points (step, weight), in rising order of the steps.

    Example:

    ```python
    >>> from transformers import TrainerState
    >>> from trl_grpo_rewards import length, schedule

    >>> brief = schedule(length(4, unit="words"), steps=((100, 0.0), (200, 1.0)))
    >>> brief(completions=["one two three four"], trainer_state=TrainerState(global_step=150))
    [0.5]

    ```
    """
    state = batch.hooks.get("trainer_state")
    if state is None:
        raise ValueError(
            f"schedule() needs the step of training, and this call has no 'trainer_state', which GRPOTrainer passes and "
            f"AsyncGRPO does not. Use {reward} without a schedule here."
        )
    weight = weight_at(state.global_step, steps)
    return [score if score is None else weight * score for score in await reward.score(batch)]


def weight_at(step: int, points: tuple[tuple[int, float], ...]) -> float:
    """The weight at a step, linear between the points."""
    for (start, low), (end, high) in zip(points, points[1:], strict=False):
        if start <= step < end:
            return low + (high - low) * (step - start) / (end - start)
    return points[0][1] if step < points[0][0] else points[-1][1]


def check_route(column: str, rewards: dict[Any, Reward]) -> None:
    if not rewards:
        raise ValueError(
            f"route() has no rewards for {column!r}. Give it some: route({column!r}, {{'math': boxed()}})."
        )


@combinator(check=check_route, columns=lambda column: {column}, outcome=("rewards", "default"))
async def route(
    batch: Batch, *, column: str, rewards: dict[Any, Reward], default: Reward | None = None
) -> list[Score]:
    """
    For each row, the reward that stands for its value in a column.

    Each reward is passed only the rows that are its own.

    Args:
        column (`str`):
            Column of the dataset, such as the kind of task.
        rewards (`dict[Any, Reward]`):
            Value to reward.
        default (`Reward`, *optional*):
            For any other value; without it such a value is an error.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, keywords, route

    >>> by_task = route("task", {"math": boxed()}, default=keywords(none=("sorry",)))
    >>> by_task(completions=[r"\\boxed{4}", "Of course."], task=["math", "chat"], solution=["4", None])
    [1.0, 1.0]

    ```
    """
    if column not in batch.columns:
        raise missing_column("route", column, {*batch.columns} - GIVEN)
    rows_of: dict[Reward, list[int]] = {}
    for row, value in enumerate(batch.columns[column]):
        chosen = next((reward for key, reward in rewards.items() if key == value), default)
        if chosen is None:
            raise ValueError(
                f"route() has no reward for {column}={value!r}; it has some for {', '.join(map(repr, rewards))}. "
                f"Add one, or a default: route({column!r}, {{...}}, default=...)."
            )
        rows_of.setdefault(chosen, []).append(row)
    scoring = (reward.score(batch.take(rows)) for reward, rows in rows_of.items())
    scores = await together(scoring, concurrent=any(reward.is_async for reward in rows_of))
    return spread(batch.size, zip(rows_of.values(), scores, strict=True))
