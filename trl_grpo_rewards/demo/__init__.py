"""The bundled task, which is to add two numbers and box the result, and a tiny model that often makes mistakes in it.

Two more tasks are in [`tasks`]. With them, a first run needs only a laptop and no network. The model and its character
tokenizer were made by `scripts/make_demo_model.py`.
"""

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from .tasks import CODER, is_in_split, make_dataset, programs, requests


if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["CODER", "MIXED", "MODEL", "arithmetic", "programs", "requests"]


MODEL = str(Path(__file__).parent / "model")
"""Folder of the bundled model and tokenizer, for `from_pretrained`."""

MIXED = ("1+1", "2+2", "3+3", "4+4", "2*2")
"""Kinds of problems of different difficulty. `scripts/make_demo_model.py --mixed` makes a model for them."""

KIND = re.compile(r"[1-9][+*][1-9]")


def draw_problem(
    rng: random.Random, split: Literal["train", "test"] = "train", kinds: Sequence[str] | None = None
) -> tuple[int, str, int]:
    """Draw two numbers and the sign between them. A hash puts about a tenth of all problems into the test split."""
    while True:
        if kinds is None:
            sign, digits = "+", rng.choices((1, 2, 3), k=2)
        else:
            first, sign, second = list(rng.choice(kinds))
            digits = [int(first), int(second)]
        a, b = (rng.randrange(10 ** (count - 1) if count > 1 else 0, 10**count) for count in digits)
        if is_in_split(f"{a}{sign}{b}", split, share=10):
            return a, sign, b


def write_question(a: int, sign: str, b: int) -> str:
    return f"What is {a} {sign} {b}?"


def calculate(a: int, sign: str, b: int) -> int:
    return a + b if sign == "+" else a * b


def arithmetic(
    split: Literal["train", "test"] = "train", *, size: int = 2048, seed: int = 0, kinds: Sequence[str] | None = None
) -> "Dataset":
    """
    Return a dataset of different arithmetic problems. By default, they are sums of numbers with one to three digits.

    Args:
        split (`str`, *optional*, defaults to `"train"`):
            `"train"` or `"test"`. No problem is in both.
        size (`int`, *optional*, defaults to `2048`):
            Number of problems.
        seed (`int`, *optional*, defaults to `0`):
            Random seed.
        kinds (`list[str]`, *optional*):
            Kinds of problems: the number of digits of the first number, a sign, and the number of digits of the second.
            `"4+4"` are sums of four-digit numbers, `"2*2"` products of two-digit numbers. All kinds have the same
            probability until the problems of a kind run out. [`MIXED`] has five kinds.

    Returns:
        [`~datasets.Dataset`]:
            Columns `prompt` (conversational) and `solution` (the result as text).

    Raises:
        `ValueError`: the split or a kind does not exist, or there are fewer than `size` different problems.

    Example:

    ```python
    >>> from trl_grpo_rewards.demo import arithmetic

    >>> arithmetic("test", size=2)[0]
    {'prompt': [{'role': 'user', 'content': 'What is 6 + 163?'}], 'solution': '169'}
    >>> arithmetic(size=2, kinds=["2*2"])[0]["prompt"][0]["content"]
    'What is 39 * 89?'

    ```
    """
    for kind in kinds or ():
        if not KIND.fullmatch(kind):
            raise ValueError(
                f"A kind must be a number of digits, + or *, and a number of digits, both from 1 to 9; got {kind!r}. "
                f"Write '2+2' for sums of two-digit numbers."
            )
    rng = random.Random(f"{split}-{seed}")
    problems: dict[tuple[int, str, int], None] = {}
    for _ in range(100 * size + 1000):
        problems[draw_problem(rng, split, kinds)] = None
        if len(problems) == size:
            break
    else:
        raise ValueError(
            f"The split {split!r} must have {size} different problems of the kinds {kinds}, but only {len(problems)} "
            f"were found. Reduce size, or add kinds."
        )
    rows = [{"prompt": write_question(*one), "solution": str(calculate(*one))} for one in problems]
    return make_dataset("arithmetic", rows)
