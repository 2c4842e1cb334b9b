"""Rewards for the length of a completion."""

from typing import Literal

from ..registry import reward


def check_length(target: int, tolerance: int) -> None:
    if not 0 <= tolerance < target:
        raise ValueError(
            f"length() has target={target} and tolerance={tolerance}; it needs 0 <= tolerance < target. Change one."
        )


@reward(check=check_length)
def length(
    completion: str,
    completion_ids: list[int] | None = None,
    *,
    target: int,
    tolerance: int = 0,
    unit: Literal["tokens", "words", "chars"] = "tokens",
) -> float:
    r"""
    1 at the target length, falling evenly to 0 for an empty completion, and as fast beyond the target.

    With the length \\( n \\), \\( \text{clip}(1 - \max(0, |n - \text{target}| - \text{tolerance}) /
    (\text{target} - \text{tolerance}), 0, 1) \\).

    Args:
        target (`int`):
            The length that is paid in full.
        tolerance (`int`, *optional*, defaults to `0`):
            Lengths up to this far from the target are paid in full, too.
        unit (`str`, *optional*, defaults to `"tokens"`):
            `"tokens"` counts `completion_ids`, which TRL passes; `"words"` are separated by white space; `"chars"`.

    Example:

    ```python
    >>> from trl_grpo_rewards import length

    >>> length(4)(completions=["", "", ""], completion_ids=[[1, 2, 3, 4], [1, 2], [1] * 9])
    [1.0, 0.5, 0.0]
    >>> length(4, unit="words")(completions=["two words"])
    [0.5]

    ```
    """
    if unit == "tokens" and completion_ids is None:
        raise ValueError(
            "length() counts tokens, and the call has no 'completion_ids'. Pass them, or count unit='words' or 'chars'."
        )
    counted = {"tokens": completion_ids, "words": completion.split(), "chars": completion}[unit]
    beyond = max(0, abs(len(counted) - target) - tolerance)
    return max(0.0, 1.0 - beyond / (target - tolerance))
