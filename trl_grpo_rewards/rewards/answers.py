"""Rewards for the right answer."""

from typing import Any

from ..registry import reward
from ..verify.boxes import final_part, last_box
from ..verify.equality import equal, read_gold


def check_boxed(tolerance: float | None) -> None:
    if tolerance is not None and tolerance < 0:
        raise ValueError(f"boxed() has tolerance={tolerance}, and it is a distance. Give it a number from 0.")


@reward(check=check_boxed)
def boxed(completion: str, solution: Any, *, partial: float = 0.0, tolerance: float | None = None) -> float | None:
    r"""
    1 if the boxed answer is right, `partial` if it is wrong, 0 without a box; None if the solution cannot be read.

    The answer is the content of the last `\boxed{}` (or `\fbox{}`, or `\boxed 7`) after the reasoning; a box inside
    `<think>` or one that is never closed is none. It is compared with the column `solution`, which may hold numbers,
    truth values, bare LaTeX, `$...$`, `\boxed{...}` or GSM8K's `... #### 72`: as text, as numbers, and where that
    does not settle it by [math-verify](https://github.com/huggingface/Math-Verify), for which units do not count.

    Args:
        partial (`float`, *optional*, defaults to `0.0`):
            Score of a boxed answer that is wrong. `boxed(partial=0.5) + 0.5 * boxed(name="correct")` pays 0 without a
            box, 0.5 for a wrong one and 1.5 for the right one.
        tolerance (`float`, *optional*):
            Two numbers are equal where they differ by no more than this, or by no more than this times the larger of
            them. Without it they must be equal.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed

    >>> completions = [r"\boxed{\frac{1}{2}}", r"Thus \boxed{0.5}.", r"\boxed{2}", "0.5"]
    >>> boxed()(completions=completions, solution=[r"\frac12"] * 4)
    [1.0, 1.0, 0.0, 0.0]
    >>> boxed(partial=0.1)(completions=completions, solution=[r"\frac12"] * 4)
    [1.0, 1.0, 0.1, 0.0]

    ```
    """
    gold = read_gold(solution)
    if gold is None:
        return None
    answer = last_box(final_part(completion))
    if answer is None:
        return 0.0
    right = equal(gold, answer, tolerance)
    return right if right is None else 1.0 if right else partial
