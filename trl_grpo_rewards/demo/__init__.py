"""The bundled task: addition in a box, with a tiny model that is careless at it.

Everything a first run needs comes with the package, so that it can be seen to learn on a laptop without a network:
the problems are made here, the model and its character tokenizer by `scripts/make_demo_model.py`.
"""

import random
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal


if TYPE_CHECKING:
    from datasets import Dataset

MODEL = str(Path(__file__).parent / "model")
"""Folder of the bundled model and tokenizer, for `from_pretrained`."""


MIXED = ("1+1", "2+2", "3+3", "4+4", "2*2")
"""Kinds of problems that differ in how hard they are; `scripts/make_demo_model.py --mixed` makes a model for them."""

KIND = re.compile(r"[1-9][+*][1-9]")


def problem(
    rng: random.Random, split: Literal["train", "test"] = "train", kinds: Sequence[str] | None = None
) -> tuple[int, str, int]:
    """Draw two numbers and the sign between them; every tenth problem belongs to the test split."""
    while True:
        if kinds is None:
            sign, digits = "+", rng.choices((1, 2, 3), k=2)
        else:
            first, sign, second = rng.choice(kinds)
            digits = [int(first), int(second)]
        a, b = (rng.randrange(10 ** (count - 1) if count > 1 else 0, 10**count) for count in digits)
        if (zlib.crc32(f"{a}{sign}{b}".encode()) % 10 == 0) == (split == "test"):
            return a, sign, b


def question(a: int, sign: str, b: int) -> str:
    return f"What is {a} {sign} {b}?"


def solution(a: int, sign: str, b: int) -> int:
    return a + b if sign == "+" else a * b


def arithmetic(
    split: Literal["train", "test"] = "train", *, size: int = 2048, seed: int = 0, kinds: Sequence[str] | None = None
) -> "Dataset":
    """
    Problems of arithmetic, all different, none of them in both splits: sums of one to three digits, unless others are given.

    Args:
        split (`str`, *optional*, defaults to `"train"`):
            `"train"` or `"test"`.
        size (`int`, *optional*, defaults to `2048`):
            Number of problems.
        seed (`int`, *optional*, defaults to `0`):
            Seed of the draw.
        kinds (`list[str]`, *optional*):
            Digits of the first number, a sign, and digits of the second: `"4+4"` are sums of four digits, `"2*2"`
            products of two. Each kind is drawn alike, as far as it has different problems. [`MIXED`] has five.

    Returns:
        [`~datasets.Dataset`]:
            Columns `prompt` (conversational) and `solution` (the result as text).

    Raises:
        `ValueError`: there is no such split or kind, or there are fewer different problems.

    Example:

    ```python
    >>> from trl_grpo_rewards.demo import arithmetic

    >>> arithmetic("test", size=2)[0]
    {'prompt': [{'role': 'user', 'content': 'What is 6 + 163?'}], 'solution': '169'}
    >>> arithmetic(size=2, kinds=["2*2"])[0]["prompt"][0]["content"]
    'What is 39 * 89?'

    ```
    """
    from datasets import Dataset

    if split not in ("train", "test"):
        raise ValueError(f"The bundled task has no split {split!r}; it has 'train' and 'test'. Choose one of them.")
    for kind in kinds or ():
        if not KIND.fullmatch(kind):
            raise ValueError(
                f"The bundled task has no kind {kind!r}; a kind is digits, + or *, and digits, each 1 to 9. Write '2+2'."
            )
    rng = random.Random(f"{split}-{seed}")
    problems: dict[tuple[int, str, int], None] = {}
    for _ in range(100 * size + 1000):
        problems[problem(rng, split, kinds)] = None
        if len(problems) == size:
            break
    else:
        raise ValueError(
            f"Of {size} problems of the kinds {kinds}, {len(problems)} different ones were found in the split {split!r}. "
            f"Ask for fewer, or add kinds."
        )
    return Dataset.from_list(
        [
            {"prompt": [{"role": "user", "content": question(*one)}], "solution": str(solution(*one))}
            for one in problems
        ]
    )
