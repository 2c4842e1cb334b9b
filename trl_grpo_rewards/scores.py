"""Scores as reward functions return them: checked, and converted to numbers."""

import math
from collections.abc import Mapping
from typing import Any, TypeAlias


Score: TypeAlias = float | None
"""A finite number, or None if the completion could not be judged."""


def read_scores(returned: Any, reward: str, size: int) -> list[Score]:
    """
    Return the scores that a reward function returned for `size` completions.

    Raises:
        `ValueError`: they are not one finite number or None per completion.
    """
    if isinstance(returned, (str, Mapping)) or not hasattr(returned, "__iter__"):
        raise ValueError(
            f"Reward '{reward}' returned {returned!r} for {size} completions. "
            f"Return a list with one number or None per completion."
        )
    scores = list(returned)
    if len(scores) != size:
        raise ValueError(
            f"Reward '{reward}' returned {len(scores)} scores for {size} completions. "
            f"Return one number or None per completion."
        )
    return [None if score is None else convert_score(score, reward, row) for row, score in enumerate(scores)]


def convert_score(score: Any, reward: str, row: int) -> float:
    try:
        number = math.nan if isinstance(score, str) else float(score)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(
            f"Reward '{reward}' gave {score!r} for row {row} of the batch. "
            f"Return a finite number, or None if the completion cannot be judged."
        )
    return number
