"""Rewards for the length of a completion."""

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

from ..expressions import Reward
from ..options import PositiveFloat, PositiveInt, requires
from ..registry import reward
from ..scores import Score
from ..traits import Form


__all__ = ["cosine", "length", "overlong", "shortest", "truncated"]
TextUnit = Literal["tokens", "words", "chars"]


def split_units(completion: str, completion_ids: list[int] | None, unit: TextUnit, name: str) -> Sequence[Any]:
    """Return the tokens, words or characters of a completion, or raise a `ValueError` without tokens."""
    if unit == "words":
        return completion.split()
    if unit == "chars":
        return completion
    if completion_ids is None:
        raise ValueError(
            f"{name}() with unit='tokens' needs 'completion_ids', but the call has none. "
            f"Pass them, or use unit='words' or unit='chars'."
        )
    return completion_ids


def list_max_tokens(max_tokens: int) -> dict[str, int]:
    return {"max_tokens": max_tokens}


@reward(
    check=requires("length() requires 0 <= tolerance < target", lambda target, tolerance: 0 <= tolerance < target),
    form=lambda target, unit: Form(length=(target, unit)),
    lengths=lambda target, unit: {"target": target} if unit == "tokens" else {},
)
def length(
    completion: str,
    completion_ids: list[int] | None = None,
    *,
    target: int,
    tolerance: int = 0,
    unit: TextUnit = "tokens",
) -> float:
    r"""
    1 at the target length, falling linearly to 0 for an empty completion, and equally fast beyond the target.

    For a length \\( n \\), it is \\( \text{clip}(1 - \max(0, |n - \text{target}| - \text{tolerance}) /
    (\text{target} - \text{tolerance}), 0, 1) \\).

    Args:
        target (`int`):
            The length that earns 1.
        tolerance (`int`, *optional*, defaults to `0`):
            Lengths that differ from the target by at most this value also earn 1.
        unit (`str`, *optional*, defaults to `"tokens"`):
            `"tokens"` (from `completion_ids`, which TRL passes), `"words"` (separated by whitespace) or `"chars"`.

    Example:

    ```python
    >>> from trl_grpo_rewards import length

    >>> length(4)(completions=["", "", ""], completion_ids=[[1, 2, 3, 4], [1, 2], [1] * 9])
    [1.0, 0.5, 0.0]
    >>> length(4, unit="words")(completions=["two words"])
    [0.5]

    ```
    """
    actual = len(split_units(completion, completion_ids, unit, "length"))
    deviation = max(0, abs(actual - target) - tolerance)
    return max(0.0, 1.0 - deviation / (target - tolerance))


@reward(
    check=requires("overlong() requires 0 < cache < max_tokens", lambda max_tokens, cache: 0 < cache < max_tokens),
    lengths=list_max_tokens,
)
def overlong(completion_ids: list[int], *, max_tokens: int, cache: int) -> float:
    r"""
    0 up to `max_tokens - cache` tokens, falling linearly to -1 at `max_tokens`, and -1 beyond.

    This is equation 13 of [DAPO](https://huggingface.co/papers/2503.14476). For a length \\( n \\), it is
    \\( \text{clip}((\text{max\_tokens} - \text{cache} - n) / \text{cache}, -1, 0) \\).

    Args:
        max_tokens (`int`):
            Length at which the full penalty applies; usually the trainer's `max_completion_length`.
        cache (`int`):
            Number of tokens before `max_tokens` over which the penalty grows.

    Example:

    ```python
    >>> from trl_grpo_rewards import overlong

    >>> overlong(100, cache=20)(completions=[""] * 4, completion_ids=[[1] * n for n in (80, 90, 100, 900)])
    [0.0, -0.5, -1.0, -1.0]

    ```
    """
    return min(max((max_tokens - cache - len(completion_ids)) / cache, -1.0), 0.0)


@reward(
    check=requires(
        "cosine() requires that wrong answers never earn more than right ones",
        lambda right, wrong: max(wrong) <= min(right),
        "Use pairs (at length 0, at max_tokens) that do not overlap: right=(1.0, 0.5), wrong=(-1.0, -0.5).",
    ),
    lengths=list_max_tokens,
)
def cosine(
    completion_ids: list[int],
    *,
    by: Annotated[Score, Reward],
    max_tokens: PositiveInt,
    right: tuple[float, float] = (1.0, 0.5),
    wrong: tuple[float, float] = (-1.0, -0.5),
    at_least: float = 1.0,
) -> float | None:
    r"""
    More for shorter right answers and for longer wrong answers; None if `by` is None.

    From 0 to `max_tokens` tokens, the score moves from the first to the second value of `right` or `wrong` along half a
    cosine wave. Beyond `max_tokens`, it stays at the second value. For a length \\( n \\), it is \\( \text{second} +
    (\text{first} - \text{second}) (1 + \cos(\pi \min(n / \text{max\_tokens}, 1))) / 2 \\), from appendix C.1 of
    [Demystifying Long Chain-of-Thought Reasoning](https://huggingface.co/papers/2502.03373).

    Args:
        by ([`Reward`]):
            Decides which answers are right.
        max_tokens (`int`):
            Length from which a completion earns the second value; usually the trainer's `max_completion_length`.
        right (`tuple[float, float]`, *optional*, defaults to `(1.0, 0.5)`):
            Scores of right answers with 0 tokens and with `max_tokens`.
        wrong (`tuple[float, float]`, *optional*, defaults to `(-1.0, -0.5)`):
            Scores of wrong answers with 0 tokens and with `max_tokens`.
        at_least (`float`, *optional*, defaults to `1.0`):
            An answer is right if `by` gives it at least this score.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, cosine

    >>> paid = cosine(boxed(), max_tokens=100)
    >>> paid(completions=[r"\boxed{4}", r"\boxed{5}"], completion_ids=[[1] * 50, [1] * 50], solution=["4", "4"])
    [0.75, -0.75]

    ```
    """
    if by is None:
        return None
    first, second = right if by >= at_least else wrong
    return second + (first - second) * (1 + math.cos(math.pi * min(len(completion_ids) / max_tokens, 1))) / 2


@reward(grouped=True, lengths=lambda: {})
def shortest(
    completion_ids: list[list[int]], *, by: Annotated[list[Score], Reward], at_least: float = 1.0
) -> list[Score]:
    r"""
    From 0.5 for the shortest completion of the group to -0.5 for the longest, but at most 0 for a wrong answer.

    This is the length reward of [Kimi k1.5](https://huggingface.co/papers/2501.12599), section 2.3.3. For lengths
    \\( n_i \\) in tokens, it is \\( 0.5 - (n_i - \min n) / (\max n - \min n) \\), or 0 if all lengths are equal. The
    score is None if `by` is None.

    Args:
        by ([`Reward`]):
            Decides which answers are right.
        at_least (`float`, *optional*, defaults to `1.0`):
            An answer is right if `by` gives it at least this score.

    Example:

    ```python
    >>> from trl_grpo_rewards import boxed, shortest

    >>> completions, ids = [r"\boxed{4}", r"\boxed{5}", r"\boxed{4}"], [[1] * 10, [1] * 10, [1] * 30]
    >>> shortest(boxed())(completions=completions, completion_ids=ids, solution=["4"] * 3)
    [0.5, 0.0, -0.5]

    ```
    """
    lengths = [len(ids) for ids in completion_ids]
    low = min(lengths)
    width = max(lengths) - low
    values = [0.5 - (length - low) / width if width else 0.0 for length in lengths]
    return [pay_reached(value, score, at_least) for value, score in zip(values, by, strict=True)]


def pay_reached(value: float, score: Score, at_least: float) -> Score:
    """Return a value for a completion whose other score reaches a bound, and at most 0 otherwise."""
    if score is None:
        return None
    return value if score >= at_least else min(value, 0.0)


@reward(lengths=list_max_tokens)
def truncated(completion_ids: list[int], *, max_tokens: PositiveInt, penalty: PositiveFloat = 1.0) -> float:
    """
    `-penalty` if the completion was cut off at `max_tokens`; else 0.

    A reward function does not know which tokens end a completion. Therefore, every completion with `max_tokens` tokens
    counts as cut off, even if its last token is the one that ends it.

    Args:
        max_tokens (`int`):
            The trainer's `max_completion_length`.
        penalty (`float`, *optional*, defaults to `1.0`):
            Amount of the penalty.

    Example:

    ```python
    >>> from trl_grpo_rewards import truncated

    >>> truncated(100, penalty=0.5)(completions=["", ""], completion_ids=[[1] * 99, [1] * 100])
    [0.0, -0.5]

    ```
    """
    return -penalty if len(completion_ids) >= max_tokens else 0.0
