"""Rewards for the right answer."""

from collections.abc import Callable
from typing import Any

from ..calls import completion_text
from ..registry import reward
from ..verify.boxes import final_part, last_box
from ..verify.equality import read_gold
from ..verify.pool import judge


def check_boxed(tolerance: float | None) -> None:
    if tolerance is not None and tolerance < 0:
        raise ValueError(f"boxed() has tolerance={tolerance}, and it is a distance. Give it a number from 0.")


@reward(batched=True, check=check_boxed)
def boxed(
    completions: list,
    solution: list[Any],
    log_metric: Callable[[str, float], None],
    *,
    partial: float = 0.0,
    tolerance: float | None = None,
) -> list[float | None]:
    r"""
    1 if the boxed answer is right, `partial` if it is wrong, 0 without a box; None if the solution cannot be read.

    The answer is the content of the last `\boxed{}` (or `\fbox{}`, or `\boxed 7`) after the reasoning; a box inside
    `<think>` or one that is never closed is none. It is compared with the column `solution`, which may hold numbers,
    truth values, bare LaTeX, `$...$`, `\boxed{...}` or GSM8K's `... #### 72`: as text, as numbers, and where that
    does not settle it by [math-verify](https://github.com/huggingface/Math-Verify), for which units do not count.
    That runs in processes of its own: an answer that takes it longer than two seconds is wrong, and none can hang a
    run. Logs `boxed/timeouts` and `boxed/unreadable_gold`, counts per batch.

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
    golds = [read_gold(value) for value in solution]
    answers = [last_box(final_part(completion_text(completion))) for completion in completions]
    rows = [row for row in range(len(golds)) if golds[row] is not None and answers[row] is not None]
    judgements = judge([(golds[row], answers[row]) for row in rows], tolerance)
    scores = [None if gold is None else 0.0 for gold in golds]
    for row, judgement in zip(rows, judgements, strict=True):
        scores[row] = judgement.equal if judgement.equal is None else 1.0 if judgement.equal else partial
    log_metric("timeouts", sum(judgement.fault == "timeout" for judgement in judgements))
    log_metric("unreadable_gold", golds.count(None) + sum(judgement.fault == "gold" for judgement in judgements))
    return scores
