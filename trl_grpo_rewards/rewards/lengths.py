"""Rewards for the length of a completion."""

import math
from collections.abc import Sequence
from typing import Literal

from ..expressions import Reward
from ..registry import reward
from ..text.forms import Form


__all__ = ["cosine", "length", "overlong", "shortest", "truncated"]


Unit = Literal["tokens", "words", "chars"]


def counted(completion: str, completion_ids: list[int] | None, unit: Unit, name: str) -> Sequence:
    """The units of a completion, of which its length is the number."""
    if unit == "tokens" and completion_ids is None:
        raise ValueError(
            f"{name}() counts tokens, and the call has no 'completion_ids'. Pass them, or count unit='words' or 'chars'."
        )
    return {"tokens": completion_ids, "words": completion.split(), "chars": completion}[unit]


def check_length(target: int, tolerance: int) -> None:
    if not 0 <= tolerance < target:
        raise ValueError(
            f"length() has target={target} and tolerance={tolerance}; it needs 0 <= tolerance < target. Change one."
        )


@reward(check=check_length, form=lambda target, unit: Form(length=(target, unit)))
def length(
    completion: str,
    completion_ids: list[int] | None = None,
    *,
    target: int,
    tolerance: int = 0,
    unit: Unit = "tokens",
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
    beyond = max(0, abs(len(counted(completion, completion_ids, unit, "length")) - target) - tolerance)
    return max(0.0, 1.0 - beyond / (target - tolerance))


def check_overlong(max_tokens: int, cache: int) -> None:
    if not 0 < cache < max_tokens:
        raise ValueError(
            f"overlong() has max_tokens={max_tokens} and cache={cache}; it needs 0 < cache < max_tokens. Change one."
        )


@reward(check=check_overlong)
def overlong(completion_ids: list[int], *, max_tokens: int, cache: int) -> float:
    r"""
    0 up to `max_tokens - cache` tokens, falling evenly to -1 at `max_tokens`, and -1 beyond.

    Equation 13 of [DAPO](https://huggingface.co/papers/2503.14476): with the length \\( n \\), \\( \text{clip}(
    (\text{max\_tokens} - \text{cache} - n) / \text{cache}, -1, 0) \\).

    Args:
        max_tokens (`int`):
            Length from which the penalty is whole; usually the trainer's `max_completion_length`.
        cache (`int`):
            Number of tokens before it, over which the penalty grows.

    Example:

    ```python
    >>> from trl_grpo_rewards import overlong

    >>> overlong(100, cache=20)(completions=[""] * 4, completion_ids=[[1] * n for n in (80, 90, 100, 900)])
    [0.0, -0.5, -1.0, -1.0]

    ```
    """
    return min(max((max_tokens - cache - len(completion_ids)) / cache, -1.0), 0.0)


def check_cosine(max_tokens: int, right: tuple[float, float], wrong: tuple[float, float]) -> None:
    if max_tokens < 1:
        raise ValueError(f"cosine() has max_tokens={max_tokens}, which is no length. Give it a number from 1.")
    if max(wrong) > min(right):
        raise ValueError(
            f"cosine() has right={right} and wrong={wrong}, so that a wrong answer can be paid more than a right one. "
            f"Give pairs (at no length, at max_tokens) that do not overlap: right=(1.0, 0.5), wrong=(-1.0, -0.5)."
        )


@reward(check=check_cosine)
def cosine(
    completion_ids: list[int],
    *,
    by: Reward,
    max_tokens: int,
    right: tuple[float, float] = (1.0, 0.5),
    wrong: tuple[float, float] = (-1.0, -0.5),
    at_least: float = 1.0,
) -> float | None:
    r"""
    A right answer is paid the more the shorter it is, a wrong one the more the longer; None where `by` is.

    It goes from the first to the second of `right` or `wrong` as a cosine does in half a turn, and stays there: with
    the length \\( n \\), \\( \text{second} + (\text{first} - \text{second}) (1 + \cos(\pi \min(n / \text{max\_tokens},
    1))) / 2 \\), from appendix C.1 of
    [Demystifying Long Chain-of-Thought Reasoning](https://huggingface.co/papers/2502.03373).

    Args:
        by ([`Reward`]):
            Decides which answers are right.
        max_tokens (`int`):
            Length from which a completion is paid the second value; usually the trainer's `max_completion_length`.
        right (`tuple[float, float]`, *optional*, defaults to `(1.0, 0.5)`):
            Score of a right answer of no length, and of one of `max_tokens`.
        wrong (`tuple[float, float]`, *optional*, defaults to `(-1.0, -0.5)`):
            Score of a wrong answer of no length, and of one of `max_tokens`.
        at_least (`float`, *optional*, defaults to `1.0`):
            Score of `by` from which an answer is right.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, cosine

    >>> paid = cosine(boxed(), max_tokens=100)
    >>> paid(completions=[r"\\boxed{4}", r"\\boxed{5}"], completion_ids=[[1] * 50, [1] * 50], solution=["4", "4"])
    [0.75, -0.75]

    ```
    """
    if by is None:
        return None
    first, second = right if by >= at_least else wrong
    return second + (first - second) * (1 + math.cos(math.pi * min(len(completion_ids) / max_tokens, 1))) / 2


@reward(grouped=True)
def shortest(completion_ids: list[list[int]], *, by: Reward, at_least: float = 1.0) -> list[float | None]:
    r"""
    From 0.5 for the shortest of the group to -0.5 for the longest, but never more than 0 for a wrong answer.

    The length reward of [Kimi k1.5](https://huggingface.co/papers/2501.12599), section 2.3.3: with the lengths
    \\( n_i \\) in tokens, \\( \lambda_i = 0.5 - (n_i - \min n) / (\max n - \min n) \\), which wrong answers get where it
    is negative. 0 for all where all have one length; None where `by` is.

    Args:
        by ([`Reward`]):
            Decides which answers are right.
        at_least (`float`, *optional*, defaults to `1.0`):
            Score of `by` from which an answer is right.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, shortest

    >>> completions, ids = [r"\\boxed{4}", r"\\boxed{5}", r"\\boxed{4}"], [[1] * 10, [1] * 10, [1] * 30]
    >>> shortest(boxed())(completions=completions, completion_ids=ids, solution=["4"] * 3)
    [0.5, 0.0, -0.5]

    ```
    """
    lengths = [len(ids) for ids in completion_ids]
    low, spread = min(lengths), max(lengths) - min(lengths)
    relative = [0.5 - (n - low) / spread if spread else 0.0 for n in lengths]
    return [
        None if score is None else value if score >= at_least else min(value, 0.0)
        for value, score in zip(relative, by, strict=True)
    ]


def check_truncated(max_tokens: int, penalty: float) -> None:
    if max_tokens < 1 or penalty <= 0:
        raise ValueError(
            f"truncated() has max_tokens={max_tokens} and penalty={penalty}, of which both are above 0: the penalty is "
            f"what it takes away. Write truncated(1024, penalty=1.0), with the trainer's max_completion_length."
        )


@reward(check=check_truncated)
def truncated(completion_ids: list[int], *, max_tokens: int, penalty: float = 1.0) -> float:
    """
    `-penalty` if the completion was cut off at its last allowed token; else 0.

    A reward is not told which tokens end a completion, but all that is cut off has `max_tokens`. One that ends by
    itself with exactly the last token it may have counts as cut off, too.

    Args:
        max_tokens (`int`):
            The trainer's `max_completion_length`.
        penalty (`float`, *optional*, defaults to `1.0`):
            What is taken away.

    Example:

    ```python
    >>> from trl_grpo_rewards import truncated

    >>> truncated(100, penalty=0.5)(completions=["", ""], completion_ids=[[1] * 99, [1] * 100])
    [0.0, -0.5]

    ```
    """
    return -penalty if len(completion_ids) >= max_tokens else 0.0
