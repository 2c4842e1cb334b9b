"""A third bundled task: requests for a few sentences, each with two constraints on their form, for a real model.

There is no bundled model for it. `scripts/get_smollm2.py` gets a small one without a hub.
"""

import random
import zlib
from typing import TYPE_CHECKING, Any, Literal, NamedTuple


if TYPE_CHECKING:
    from datasets import Dataset


SUBJECTS = tuple(
    "a rainy day, the sea at night, a small dog, an old house, a long walk, fresh bread, a garden in spring, the moon, "
    "a busy market, a good friend, a cup of tea, the first snow, a train station, a quiet library, a big storm, "
    "a birthday party, an orange cat, a mountain lake, a school day, a warm fire, the city in the morning, a summer night, "
    "a lost key, a wooden boat, a football match, the desert, a kind teacher, a new bicycle, a farm, a river, "
    "a village in winter, a noisy street, an empty beach, a family dinner, a song, the stars, a bus ride, a forest path, "
    "a bowl of soup, a museum, a horse, a letter from home, a picnic, a lighthouse, a bridge, a bakery, the wind, "
    "a camp in the woods, a red kite, a pair of shoes, a clean kitchen, a ship, a painter, an apple tree, a windy hill, "
    "a slow morning, a flight of birds, a clock, a shop that sells toys, a long holiday".split(", ")
)
"""What the requests are about. A fifth of them occurs in the test split only."""

REQUESTS = (
    "Describe {}.",
    "Write a short note about {}.",
    "Tell a child about {}.",
    "Write a few words about {}.",
    "Say why people like {}.",
)

WORDS = ("blue", "old", "quiet", "new", "small", "light", "green", "happy", "slow", "warm")
"""Words that a completion must have."""

PHRASES = ("That is all.", "See you soon!", "Have a nice day!", "Thank you for reading.")
"""Phrases that a completion must end with."""


class Demand(NamedTuple):
    """A constraint: what the prompt says, its id, its arguments, and the part of the text that it is about."""

    words: str
    name: str
    arguments: dict[str, Any]
    part: str


def draw_demands(rng: random.Random) -> list[Demand]:
    """Return two constraints that a text can meet at the same time."""
    first, second = rng.sample(WORDS, 2)
    few, many = rng.choice((8, 10, 12)), rng.choice((15, 20, 25))
    phrase = rng.choice(PHRASES)
    count = "length_constraints:number_words"
    demands = [
        Demand("Do not use any commas.", "punctuation:no_comma", {}, "commas"),
        Demand("Do not use the word the.", "keywords:forbidden_words", {"forbidden_words": ["the"]}, "words"),
        Demand(
            f"Include the words {first} and {second}.", "keywords:existence", {"keywords": [first, second]}, "words"
        ),
        Demand(f"Finish with exactly this phrase: {phrase}", "startend:end_checker", {"end_phrase": phrase}, "end"),
        Demand(f"Use fewer than {few} words.", count, {"relation": "less than", "num_words": few}, "length"),
        Demand(f"Use at least {many} words.", count, {"relation": "at least", "num_words": many}, "length"),
        Demand("Start with a title in double angular brackets: <<title>>.", "detectable_format:title", {}, "start"),
        Demand(
            "Write exactly 3 bullet points that start with *.",
            "detectable_format:number_bullet_lists",
            {"num_bullets": 3},
            "start",
        ),
    ]
    one = rng.choice(demands)
    return [one, rng.choice([other for other in demands if other.part != one.part])]


def is_subject_held_out(subject: str) -> bool:
    """Return whether a subject is in the test split, which a hash puts a fifth of them into."""
    return zlib.crc32(subject.encode()) % 5 == 0


def requests(split: Literal["train", "test"] = "train", *, size: int = 1024, seed: int = 0) -> "Dataset":
    """
    Return a dataset of requests, each with two constraints for [`instructions`](trl_grpo_rewards.instructions).

    Args:
        split (`str`, *optional*, defaults to `"train"`):
            `"train"` or `"test"`. What a request of one split is about does not occur in the other.
        size (`int`, *optional*, defaults to `1024`):
            Number of requests.
        seed (`int`, *optional*, defaults to `0`):
            Random seed.

    Returns:
        [`~datasets.Dataset`]:
            Columns `prompt` (conversational), `instruction_id_list` and `kwargs` (as in IFEval).

    Raises:
        `ValueError`: the split does not exist.

    Example:

    ```python
    >>> from trl_grpo_rewards.demo import requests

    >>> row = requests("test", size=1)[0]
    >>> print(row["prompt"][0]["content"], row["instruction_id_list"], sep="\\n")
    Write a few words about a summer night. Do not use any commas. Start with a title in double angular brackets: <<title>>.
    ['punctuation:no_comma', 'detectable_format:title']

    ```
    """
    from datasets import Dataset, DatasetInfo

    if split not in ("train", "test"):
        raise ValueError(f"The bundled task has no split {split!r}; it has 'train' and 'test'. Choose one of them.")
    rng = random.Random(f"{split}-{seed}")
    subjects = [subject for subject in SUBJECTS if is_subject_held_out(subject) == (split == "test")]
    rows = []
    for _ in range(size):
        request, demands = rng.choice(REQUESTS).format(rng.choice(subjects)), draw_demands(rng)
        rows.append(
            {
                "prompt": [{"role": "user", "content": " ".join([request, *(one.words for one in demands)])}],
                "instruction_id_list": [one.name for one in demands],
                "kwargs": [one.arguments for one in demands],
            }
        )
    return Dataset.from_list(rows, info=DatasetInfo(dataset_name="trl_grpo_rewards.demo.requests"))
