"""The bundled task: addition in a box, with a tiny model that is careless at it.

Everything a first run needs comes with the package, so that it can be seen to learn on a laptop without a network:
the problems are made here, the model and its character tokenizer by `scripts/make_demo_model.py`.
"""

import random
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Literal


if TYPE_CHECKING:
    from datasets import Dataset

MODEL = str(Path(__file__).parent / "model")
"""Folder of the bundled model and tokenizer, for `from_pretrained`."""


def problem(rng: random.Random, split: Literal["train", "test"] = "train") -> tuple[int, int]:
    """Draw two summands of one to three digits each; every tenth pair belongs to the test split."""
    while True:
        a, b = (
            rng.randrange(10 ** (digits - 1) if digits > 1 else 0, 10**digits)
            for digits in rng.choices((1, 2, 3), k=2)
        )
        if (zlib.crc32(f"{a}+{b}".encode()) % 10 == 0) == (split == "test"):
            return a, b


def question(a: int, b: int) -> str:
    return f"What is {a} + {b}?"


def arithmetic(split: Literal["train", "test"] = "train", *, size: int = 2048, seed: int = 0) -> "Dataset":
    """
    Addition problems of one to three digits, all different, none of them in both splits.

    Args:
        split (`str`, *optional*, defaults to `"train"`):
            `"train"` or `"test"`.
        size (`int`, *optional*, defaults to `2048`):
            Number of problems.
        seed (`int`, *optional*, defaults to `0`):
            Seed of the draw.

    Returns:
        [`~datasets.Dataset`]:
            Columns `prompt` (conversational) and `solution` (the sum as text).

    Example:

    ```python
    >>> from trl_grpo_rewards.demo import arithmetic

    >>> arithmetic("test", size=2)[0]
    {'prompt': [{'role': 'user', 'content': 'What is 6 + 163?'}], 'solution': '169'}

    ```
    """
    from datasets import Dataset

    if split not in ("train", "test"):
        raise ValueError(f"The bundled task has no split {split!r}; it has 'train' and 'test'. Choose one of them.")
    rng = random.Random(f"{split}-{seed}")
    problems: dict[tuple[int, int], None] = {}
    while len(problems) < size:
        problems[problem(rng, split)] = None
    return Dataset.from_list(
        [{"prompt": [{"role": "user", "content": question(a, b)}], "solution": str(a + b)} for a, b in problems]
    )
