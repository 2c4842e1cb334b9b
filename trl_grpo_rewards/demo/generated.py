"""Tasks that reasoning-gym generates, as a dataset for [`gym`](trl_grpo_rewards.rewards.tasks)."""

from collections.abc import Iterator, Sequence
from dataclasses import fields
from difflib import get_close_matches
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..programs.inside.gym_rules import write_task


if TYPE_CHECKING:
    from datasets import Dataset


def reasoning(*names: str, size: int = 500, seed: int = 0, **options: Any) -> "Dataset":
    """
    Return a dataset of tasks by generators of [reasoning-gym](https://github.com/open-thought/reasoning-gym).

    The prompts do not say how to write the answer, so a system prompt should: [`gym`] reads it from `<answer>` tags or
    from a box. The dataset is cached, so that all processes of a run get the same tasks.

    Args:
        *names (`str`):
            Names of generators, such as `"countdown"`. With several names, the dataset has all tasks of the
            first generator, then all tasks of the second, and so on.
        size (`int`, *optional*, defaults to `500`):
            Number of tasks of each generator.
        seed (`int`, *optional*, defaults to `0`):
            Random seed.
        **options:
            Options of the generators, such as `max_numbers=4`.

    Returns:
        [`~datasets.Dataset`]:
            Columns `prompt` (conversational) and `entry` (JSON text with the answer and what the generator's rule needs).

    Raises:
        `ImportError`: reasoning-gym is not installed.
        `ValueError`: there is no such generator, or it does not take an option.

    Example:

    ```python
    >>> from trl_grpo_rewards.demo import reasoning

    >>> reasoning("countdown", size=100)[0]["prompt"][0]["content"]  # doctest: +SKIP
    'Calculate 139 using all of these numbers: 36, 29, 95, 32, 4, 15.\\n...

    ```
    """
    if find_spec("reasoning_gym") is None:
        raise ImportError(
            "Tasks of reasoning-gym need the package, which is not installed. Install it: pip install "
            "'trl_grpo_rewards[gym]'."
        )
    from datasets import Dataset

    if not isinstance(size, int) or size < 1:
        raise ValueError(
            f"Generated tasks must have a size of at least 1; got size={size!r}. Write --dataset_config size=1000."
        )
    for name in names:
        check_generator(name, {"size": size, "seed": seed, **options})
    made = {"names": [*names], "size": size, "seed": seed, "options": options, "version": version("reasoning-gym")}
    dataset: Dataset = Dataset.from_generator(generate_rows, gen_kwargs=made)
    return dataset


def check_generator(name: str, options: dict[str, Any]) -> None:
    from reasoning_gym.factory import DATASETS

    if name not in DATASETS or name == "composite":  # which needs the options of other generators
        close = get_close_matches(name, DATASETS, n=1) or ["countdown"]
        raise ValueError(
            f"reasoning-gym has no generator {name!r} for single tasks; it has {len(DATASETS) - 1}, such as {close[0]!r}. "
            f"Choose one of its gallery."
        )
    config = DATASETS[name][1]
    known = [field.name for field in fields(config)]
    if unknown := sorted({*options}.difference(known)):
        raise ValueError(
            f"The generator {name!r} of reasoning-gym has no option {unknown[0]!r}; its options are {', '.join(known)}. "
            f"Choose one of them."
        )
    try:
        config(**options).validate()
    except (AssertionError, TypeError, ValueError) as error:
        given = ", ".join(f"{option}={value!r}" for option, value in options.items())
        raise ValueError(
            f"The generator {name!r} of reasoning-gym cannot work with {given}: {error}. Change these options."
        ) from None


def generate_rows(
    names: Sequence[str], size: int, seed: int, options: dict[str, Any], version: str
) -> Iterator[dict[str, Any]]:
    """Yield the rows. The version of reasoning-gym is an argument because the arguments are the key of the cache."""
    from reasoning_gym.factory import create_dataset

    for name in names:
        for entry in create_dataset(name, size=size, seed=seed, **options):
            task = write_task({**entry, "config": options})
            yield {"prompt": [{"role": "user", "content": entry["question"]}], "entry": task}
