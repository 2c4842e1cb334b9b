"""The bundled task, which is to add two numbers and box the result, and a tiny model that often makes mistakes in it.

Three more tasks are programs of one line, requests with constraints on their form, and mails with orders. With them, a first
run needs only a laptop and no network. The models for sums and programs, and their character tokenizer, were made by
`scripts/make_demo_model.py`. For requests and mails there is none; `smollm2.py` gets a small one without a hub.
"""

import json
import random
import re
import tomllib
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple


if TYPE_CHECKING:
    from datasets import Dataset

__all__ = ["CODER", "MIXED", "MODEL", "arithmetic", "mails", "programs", "requests"]
MODEL = str(Path(__file__).parent / "model")
"""Folder of the bundled model and tokenizer, for `from_pretrained`."""

CODER = str(Path(__file__).parent / "coder")
"""Folder of the bundled model that writes programs, for `from_pretrained`."""

MIXED = ("1+1", "2+2", "3+3", "4+4", "2*2")
"""Kinds of problems of different difficulty. `scripts/make_demo_model.py --mixed` makes a model for them."""

KIND = re.compile(r"[1-9][+*][1-9]")
TASK_NUMBERS = range(2, 10)  # the numbers in the tasks
INPUTS = (-20, -3, -1, 0, 1, 4, 7, 12, 30)  # tested in addition to the number and the one before


class Task(NamedTuple):
    words: str
    expression: str  # the right one; `n` is the number of the task
    mistake: str


TASK_TEXTS = tomllib.loads(Path(__file__).with_name("tasks.toml").read_text())
TASKS = [Task(*one) for one in TASK_TEXTS["tasks"]]
SUBJECTS = TASK_TEXTS["subjects"].replace("\n", " ").split(", ")


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


def draw_problem(
    rng: random.Random, split: Literal["train", "test"] = "train", kinds: Sequence[str] | None = None
) -> tuple[int, str, int]:
    """Draw two numbers and the sign between them. A hash puts about a tenth of all problems into the test split."""
    while True:
        first, sign, second = list(rng.choice(kinds)) if kinds else [*"+".join(rng.choices("123", k=2))]
        a, b = (rng.randrange(10 ** (int(one) - 1) if one != "1" else 0, 10 ** int(one)) for one in (first, second))
        if is_in_split(f"{a}{sign}{b}", split, share=10):
            return a, sign, b


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
    rows = []
    for a, sign, b in problems:
        solution = a + b if sign == "+" else a * b
        rows.append({"prompt": f"What is {a} {sign} {b}?", "solution": str(solution)})
    return make_dataset("arithmetic", rows)


def describe_task(words: str, number: int) -> str:
    return re.sub(r"\bn\b", str(number), f"Write f(x): {words}.")


def write_program(expression: str, number: int) -> str:
    return re.sub(r"\bn\b", str(number), f"def f(x):\n    return {expression}")


def write_tests(expression: str, number: int) -> str:
    """Return the tests of a task as JSON text, in the format of APPS."""
    inputs = sorted({*INPUTS, number - 1, number})
    outputs = [eval(expression, {"x": x, "n": number}) for x in inputs]
    return json.dumps({"fn_name": "f", "inputs": [[x] for x in inputs], "outputs": outputs})


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
    chosen = [(task, n) for task in TASKS for n in TASK_NUMBERS if is_in_split(f"{task.words}{n}", split)]
    random.Random(seed).shuffle(chosen)
    rows = []
    for task, n in chosen:
        tests = write_tests(task.expression, n)
        solution = write_program(task.expression, n)
        rows.append({"prompt": describe_task(task.words, n), "tests": tests, "solution": solution})
    return make_dataset("programs", rows)


def draw_request(rng: random.Random, subjects: list[str]) -> dict[str, Any]:
    """Return a request with two constraints that a text can meet at the same time."""
    request = rng.choice(TASK_TEXTS["requests"]).format(rng.choice(subjects))
    drawn: dict[str, Any] = {"the": ["the"], "3": 3, "<": "less than", ">": "at least"}
    drawn |= {"words": rng.sample(TASK_TEXTS["words"], 2)}
    drawn |= {
        "few": rng.choice((8, 10, 12)),
        "many": rng.choice((15, 20, 25)),
        "phrase": rng.choice(TASK_TEXTS["phrases"]),
    }
    one = rng.choice(TASK_TEXTS["demands"])
    both = [one, rng.choice([other for other in TASK_TEXTS["demands"] if other[-1] != one[-1]])]
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


def draw_mail(rng: random.Random, split: Literal["train", "test"]) -> dict[str, Any]:
    """Return a mail with an order, whose number is a word or has digits, and the JSON object that it contains."""
    parts = TASK_TEXTS["mails"]
    name, item = rng.choice(parts["names"]), rng.choice(parts["items"])
    while not is_in_split(f"{name} {item}", split):
        name, item = rng.choice(parts["names"]), rng.choice(parts["items"])
    number = rng.randrange(2, 13)
    day = rng.choice(parts["days"])
    written = rng.choice([str(number), parts["numbers"][number - 2]])
    texts = [rng.choice(parts[part]) for part in ("greetings", "orders", "remarks", "endings")]
    mail = " ".join(filter(None, texts)).format(name=name, item=item, number=written, day=day)
    fields = {"name": name, "item": item, "number": number, "day": day}
    return {"prompt": mail, "solution": json.dumps(fields)}


def mails(split: Literal["train", "test"] = "train", *, size: int = 512, seed: int = 0) -> "Dataset":
    """
    Return a dataset of mails that order something, each with its fields for [`json_fields`](trl_grpo_rewards.json_fields).

    Args:
        split (`str`, *optional*, defaults to `"train"`):
            `"train"` or `"test"`. Nobody orders the same thing in both.
        size (`int`, *optional*, defaults to `512`):
            Number of mails.
        seed (`int`, *optional*, defaults to `0`):
            Random seed.

    Returns:
        [`~datasets.Dataset`]:
            Columns `prompt` (conversational) and `solution` (a JSON object with `name`, `item`, `number` and `day`).

    Example:

    ```python
    >>> from trl_grpo_rewards.demo import mails

    >>> row = mails("test", size=1)[0]
    >>> print(row["prompt"][0]["content"], row["solution"], sep="\\n")
    Hello, could you bring us eight tables on Sunday? Yours, Grace
    {"name": "Grace", "item": "tables", "number": 8, "day": "Sunday"}

    ```
    """
    rng = random.Random(f"{split}-{seed}")
    return make_dataset("mails", [draw_mail(rng, split) for _ in range(size)])
