"""The second bundled task, which is to write a function of one line, and a tiny model that often makes mistakes in it.

The model was made by `scripts/make_demo_model.py --programs`.
"""

import json
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple


if TYPE_CHECKING:
    from datasets import Dataset


CODER = str(Path(__file__).parent / "coder")
"""Folder of the bundled model that writes programs, for `from_pretrained`."""

NUMBERS = range(2, 10)
"""The numbers in the tasks."""

INPUTS = (-20, -3, -1, 0, 1, 4, 7, 12, 30)
"""The arguments with which a function is tested, in addition to its number and the one before."""


class Task(NamedTuple):
    """A task in words, its right expression, one with a mistake, and what computes the result; `n` is its number."""

    words: str
    expression: str
    mistake: str
    solve: Callable[[int, int], Any]


TASKS = (
    Task("x plus n", "x + n", "x - n", lambda x, n: x + n),
    Task("x minus n", "x - n", "n - x", lambda x, n: x - n),
    Task("n minus x", "n - x", "x - n", lambda x, n: n - x),
    Task("x times n", "x * n", "x ** n", lambda x, n: x * n),
    Task("x divided by n, rounded down", "x // n", "x / n", lambda x, n: x // n),
    Task("the remainder of x divided by n", "x % n", "x // n", lambda x, n: x % n),
    Task("the larger of x and n", "max(x, n)", "min(x, n)", lambda x, n: max(x, n)),
    Task("the smaller of x and n", "min(x, n)", "max(x, n)", lambda x, n: min(x, n)),
    Task("whether x is at least n", "x >= n", "x > n", lambda x, n: x >= n),
    Task("whether n divides x", "x % n == 0", "x // n == 0", lambda x, n: x % n == 0),
    Task("a list of n copies of x", "[x] * n", "[n] * x", lambda x, n: [x] * n),
    Task("the distance between x and n", "abs(x - n)", "x - n", lambda x, n: abs(x - n)),
)
"""The kinds of tasks."""


def fill_template(text: str, number: int) -> str:
    """Return a text of a task with the number in the place of `n`."""
    return " ".join(word.replace("n", str(number)) if word.strip("(),[]") == "n" else word for word in text.split(" "))


def describe_task(task: Task, number: int) -> str:
    return f"Write f(x): {fill_template(task.words, number)}."


def write_program(expression: str, number: int) -> str:
    return f"def f(x):\n    return {fill_template(expression, number)}"


def write_tests(task: Task, number: int) -> str:
    """Return the tests of a task as JSON text, in the format of APPS."""
    inputs = sorted({*INPUTS, number - 1, number})
    outputs = [task.solve(x, number) for x in inputs]
    return json.dumps({"fn_name": "f", "inputs": [[x] for x in inputs], "outputs": outputs})


def is_held_out(task: Task, number: int) -> bool:
    """Return whether a task is in the test split, which a hash puts a fifth of all tasks into."""
    return zlib.crc32(f"{task.words}{number}".encode()) % 5 == 0


def programs(split: Literal["train", "test"] = "train", *, seed: int = 0) -> "Dataset":
    """
    Return a dataset of tasks to write a function of one line. There are a dozen kinds, each with eight numbers.

    Args:
        split (`str`, *optional*, defaults to `"train"`):
            `"train"` or `"test"`. No task is in both.
        seed (`int`, *optional*, defaults to `0`):
            Random seed of the order.

    Returns:
        [`~datasets.Dataset`]:
            Columns `prompt` (conversational), `tests` (JSON text) and `solution` (a program that passes).

    Raises:
        `ValueError`: the split does not exist.

    Example:

    ```python
    >>> from trl_grpo_rewards.demo import programs

    >>> row = programs("test")[0]
    >>> print(row["prompt"][0]["content"], row["solution"], sep="\\n")
    Write f(x): x minus 5.
    def f(x):
        return x - 5

    ```
    """
    from datasets import Dataset, DatasetInfo

    if split not in ("train", "test"):
        raise ValueError(f"The bundled task has no split {split!r}; it has 'train' and 'test'. Choose one of them.")
    chosen = [(task, n) for task in TASKS for n in NUMBERS if is_held_out(task, n) == (split == "test")]
    random.Random(seed).shuffle(chosen)
    return Dataset.from_list(
        [
            {
                "prompt": [{"role": "user", "content": describe_task(*one)}],
                "tests": write_tests(*one),
                "solution": write_program(one[0].expression, one[1]),
            }
            for one in chosen
        ],
        info=DatasetInfo(dataset_name="trl_grpo_rewards.demo.programs"),
    )
