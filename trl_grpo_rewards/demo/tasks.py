"""Two bundled tasks beside the sums of [`arithmetic`]: programs of one line, and requests with constraints on their form.

The model for programs was made by `scripts/make_demo_model.py --programs`. For requests there is none;
`scripts/get_smollm2.py` gets a small one without a hub.
"""

import json
import random
import re
import zlib
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
    """A task in words, its right expression, and one with a mistake; `n` is its number."""

    words: str
    expression: str
    mistake: str


TASKS = (
    Task("x plus n", "x + n", "x - n"),
    Task("x minus n", "x - n", "n - x"),
    Task("n minus x", "n - x", "x - n"),
    Task("x times n", "x * n", "x ** n"),
    Task("x divided by n, rounded down", "x // n", "x / n"),
    Task("the remainder of x divided by n", "x % n", "x // n"),
    Task("the larger of x and n", "max(x, n)", "min(x, n)"),
    Task("the smaller of x and n", "min(x, n)", "max(x, n)"),
    Task("whether x is at least n", "x >= n", "x > n"),
    Task("whether n divides x", "x % n == 0", "x // n == 0"),
    Task("a list of n copies of x", "[x] * n", "[n] * x"),
    Task("the distance between x and n", "abs(x - n)", "x - n"),
)
"""The kinds of tasks."""

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
PHRASES = ("That is all.", "See you soon!", "Have a nice day!", "Thank you for reading.")

DEMANDS: tuple[tuple[str, str, dict[str, str], str], ...] = (
    ("Do not use any commas.", "punctuation:no_comma", {}, "commas"),
    ("Do not use the word the.", "keywords:forbidden_words", {"forbidden_words": "the"}, "words"),
    ("Include the words {words[0]} and {words[1]}.", "keywords:existence", {"keywords": "words"}, "words"),
    ("Finish with exactly this phrase: {phrase}", "startend:end_checker", {"end_phrase": "phrase"}, "end"),
    (
        "Use fewer than {few} words.",
        "length_constraints:number_words",
        {"relation": "<", "num_words": "few"},
        "length",
    ),
    (
        "Use at least {many} words.",
        "length_constraints:number_words",
        {"relation": ">", "num_words": "many"},
        "length",
    ),
    ("Start with a title in double angular brackets: <<title>>.", "detectable_format:title", {}, "start"),
    (
        "Write exactly 3 bullet points that start with *.",
        "detectable_format:number_bullet_lists",
        {"num_bullets": "3"},
        "start",
    ),
)
"""Constraints: what the prompt says, the id, the arguments as they are called in a draw, and the part of the text."""


def is_in_split(text: str, split: str, share: int = 5) -> bool:
    """Return whether a hash puts a text into a split. One of `share` texts is in the test split."""
    if split not in ("train", "test"):
        raise ValueError(f"The bundled task has no split {split!r}; it has 'train' and 'test'. Choose one of them.")
    return (zlib.crc32(text.encode()) % share == 0) == (split == "test")


def make_dataset(name: str, rows: list[dict[str, Any]]) -> "Dataset":
    """Return rows as a dataset. Their prompt becomes a message of the user."""
    from datasets import Dataset, DatasetInfo

    chats = [row | {"prompt": [{"role": "user", "content": row["prompt"]}]} for row in rows]
    return Dataset.from_list(chats, info=DatasetInfo(dataset_name=f"trl_grpo_rewards.demo.{name}"))


def fill_in(text: str, number: int) -> str:
    """Return a text of a task with the number in the place of `n`."""
    return re.sub(r"\bn\b", str(number), text)


def describe_task(task: Task, number: int) -> str:
    return f"Write f(x): {fill_in(task.words, number)}."


def write_program(expression: str, number: int) -> str:
    return f"def f(x):\n    return {fill_in(expression, number)}"


def write_tests(task: Task, number: int) -> str:
    """Return the tests of a task as JSON text, in the format of APPS."""
    inputs = sorted({*INPUTS, number - 1, number})
    outputs = [eval(task.expression, {"x": x, "n": number}) for x in inputs]
    return json.dumps({"fn_name": "f", "inputs": [[x] for x in inputs], "outputs": outputs})


def list_tasks(split: str) -> list[tuple[Task, int]]:
    return [(task, n) for task in TASKS for n in NUMBERS if is_in_split(f"{task.words}{n}", split)]


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
    chosen = list_tasks(split)
    random.Random(seed).shuffle(chosen)
    rows = [
        {
            "prompt": describe_task(*one),
            "tests": write_tests(*one),
            "solution": write_program(one[0].expression, one[1]),
        }
        for one in chosen
    ]
    return make_dataset("programs", rows)


def draw_request(rng: random.Random, subjects: list[str]) -> dict[str, Any]:
    """Return a request with two constraints that a text can meet at the same time."""
    request = rng.choice(REQUESTS).format(rng.choice(subjects))
    drawn: dict[str, Any] = {"the": ["the"], "3": 3, "<": "less than", ">": "at least", "words": rng.sample(WORDS, 2)}
    drawn |= {"few": rng.choice((8, 10, 12)), "many": rng.choice((15, 20, 25)), "phrase": rng.choice(PHRASES)}
    one = rng.choice(DEMANDS)
    both = [one, rng.choice([other for other in DEMANDS if other[-1] != one[-1]])]
    return {
        "prompt": " ".join([request, *(words.format(**drawn) for words, *_ in both)]),
        "instruction_id_list": [name for _, name, _, _ in both],
        "kwargs": [{key: drawn[value] for key, value in arguments.items()} for _, _, arguments, _ in both],
    }


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
    rng = random.Random(f"{split}-{seed}")
    subjects = [subject for subject in SUBJECTS if is_in_split(subject, split)]
    return make_dataset("requests", [draw_request(rng, subjects) for _ in range(size)])
