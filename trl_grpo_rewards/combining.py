"""Rewards made of rewards: each takes rewards, gives a reward, and keeps the inner one's name."""

from .calls import Batch
from .registry import combinator
from .values import Reward, Score


@combinator
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
