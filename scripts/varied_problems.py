"""The third task of the study: sums and products in many wordings, some of them almost always solved, some almost never.

A template is a wording with the numbers of digits. Its difficulty is how often a demonstrator makes a mistake in it.
Difficulties are spread as the pass rates of a model on mathematics datasets are: many near 0, many near 1. Problems with
longer numbers have longer solutions.
"""

import math
import random
import zlib
from typing import NamedTuple

from datasets import Dataset


SUMS = (
    "What is {} + {}?", "Add {} and {}.", "Compute {} + {}.", "Find the sum of {} and {}.", "{} plus {} makes what?",
    "Ann has {} coins and Bob has {}. How many have they?", "A tank holds {} l. Pour in {} l more. How much is in it?",
    "Let x = {} and y = {}. Evaluate x + y.", "Increase {} by {}.", "A train has {} seats, another {}. Count all seats.",
)  # fmt: skip
PRODUCTS = (
    "What is {} * {}?", "Multiply {} by {}.", "Find the product of {} and {}.", "{} boxes hold {} pens each. How many pens?",
    "A field is {} m long and {} m wide. What is its area?", "Let x = {} and y = {}. Evaluate xy.",
)  # fmt: skip


class Template(NamedTuple):
    """
    A wording with the numbers of digits.

    Args:
        wording (`str`):
            The problem with two empty places.
        sign (`str`):
            `+` or `*`.
        digits (`tuple[int, int]`):
            Number of digits of the two numbers.
        careless (`float`):
            Share of the demonstrations with a mistake.
    """

    wording: str
    sign: str
    digits: tuple[int, int]
    careless: float


def make_templates(count: int = 60) -> list[Template]:
    """Return the templates, always the same ones."""
    rng = random.Random(0)
    templates = []
    for _ in range(count):
        is_sum = rng.random() < 0.7
        digits = (rng.randint(1, 5), rng.randint(1, 5)) if is_sum else (rng.randint(1, 2), rng.randint(1, 2))
        work = max(digits) if is_sum else 1 + sum(digits)
        odds = 2.2 * rng.gauss(0, 1) + 0.5 * (work - 3)
        wording = rng.choice(SUMS if is_sum else PRODUCTS)
        templates.append(Template(wording, "+" if is_sum else "*", digits, 1 / (1 + math.exp(-odds))))
    return templates


TEMPLATES = make_templates()


def draw_problem(rng: random.Random, split: str = "train") -> tuple[Template, int, int]:
    """Draw a template and two numbers. A hash puts about a tenth of all problems into the test split."""
    while True:
        template = rng.choice(TEMPLATES)
        a, b = (rng.randrange(10 ** (count - 1) if count > 1 else 1, 10**count) for count in template.digits)
        if (zlib.crc32(f"{template.wording}{a} {b}".encode()) % 10 == 0) == (split == "test"):
            return template, a, b


def write_question(template: Template, a: int, b: int) -> str:
    return template.wording.format(a, b)


def solve(template: Template, a: int, b: int) -> int:
    return a + b if template.sign == "+" else a * b


def varied_problems(split: str, size: int, seed: int = 0) -> Dataset:
    """Return a dataset of different problems with the columns `prompt` and `solution`."""
    rng = random.Random(f"{split}-{seed}")
    problems: dict[tuple[Template, int, int], None] = {}
    for _ in range(100 * size):
        if len(problems) < size:
            problems[draw_problem(rng, split)] = None
    return Dataset.from_list(
        [
            {"prompt": [{"role": "user", "content": write_question(*one)}], "solution": str(solve(*one))}
            for one in problems
        ]
    )
