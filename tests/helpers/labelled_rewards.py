"""
Rewards that are broken or healthy, of many shapes, with the data of each. `scripts/check_labelled.py` tries them all.

Those that a line says are in `labelled_rewards.txt`, after all data (lines with @), under the name of their data and, if
they are broken, what a finding must say.
"""

import asyncio
import json
import random
import re
import sys
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher  # noqa: F401  # the text uses it
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias, cast

from trl_grpo_rewards import boxed, code, tags
from trl_grpo_rewards.expressions import Reward
from trl_grpo_rewards.function_rewards import FunctionKindName, RewardFactory


OWN_MODULE = "labelled_rewards"

Columns: TypeAlias = dict[str, list]

NUMBERS = [str(11 * place % 97 + 3) for place in range(24)]
CITIES = ["Paris", "Rome", "New York", "Oslo", "Bern", "Lima", "Kyiv", "Accra", "Cape Town", "Hanoi"]
ADD, TESTS = "def add(a, b):\n    return a + b", ["assert add(1, 2) == 3", "assert add(-5, 5) == 0"]


def make_rows(column: str, values: list, prompt: str = "Which one?", **more: list) -> Columns:
    return {"prompt": [f"({place}) {prompt}" for place in range(len(values))], column: values, **more}


def make_chat(column: str, values: list, system: str) -> Columns:
    rows = make_rows(column, values)
    first = {"role": "system", "content": system}
    return rows | {"prompt": [[first, {"role": "user", "content": prompt}] for prompt in rows["prompt"]]}


DATA: dict[str, Columns] = {}


def last(pattern: str, text: str) -> str:
    found: list[str] = re.findall(pattern, text, re.DOTALL)
    return found[-1].strip() if found else ""


def box(text: str) -> str:
    return last(r"\\boxed\{([^{}]*)\}", text)


def element(text: str, name: str = "answer") -> str:
    return last(f"<{name}>([^<]*)</{name}>", text)


def number(text: str) -> float:
    return float(text) if re.fullmatch(r"-?[\d.]*\d", text) else float("inf")


def read_json(text: str) -> dict[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {"list": found}


def answer_in_json(text: str) -> str:
    return str(read_json(text).get("answer"))


def share_keys(text: str, reply_fields: str) -> float:
    wanted: dict[str, Any] = json.loads(reply_fields)
    found = read_json(text)
    return sum(bool(found.get(key) == value) for key, value in wanted.items()) / len(wanted)


def less_mean(scores: list[bool]) -> list[float]:
    return [score - sum(scores) / len(scores) for score in scores]


CHANCE, CALLS, GRADED = random.Random(0), count(), dict[Any, bool]()  # what some remember from call to call


def own(function: Callable[..., Any], kind: FunctionKindName = "completion", name: str = "") -> RewardFactory:
    """Return a factory as `@reward` does, but as in a module of a user, and without an entry in the registry."""
    function.__name__ = function.__qualname__ = name or function.__name__
    function.__module__ = OWN_MODULE
    made: RewardFactory = RewardFactory(function, kind)
    globals()[function.__name__] = made
    return made


sys.modules[OWN_MODULE] = sys.modules[__name__]  # where pickle finds the functions


@partial(own, kind="batch")
async def awaited(completions: list, solution: list) -> list[float]:
    await asyncio.sleep(0)
    return [float(text == right) for text, right in zip(completions, solution, strict=True)]


@partial(own, kind="batch")
async def awaited_mention(completions: list, solution: list) -> list[float]:
    return [float(right in text) for text, right in zip(completions, solution, strict=True)]


MADE: dict[str, Reward] = {"awaited": awaited(), "awaited_mention": awaited_mention(), "code": code()}


def read_rewards() -> Iterator[tuple[str, str, Reward, str]]:
    """Yield what labelled_rewards.txt says: the name of each reward, what a finding says, the reward, and its data."""
    data = said = ""
    for line in Path(__file__).with_suffix(".txt").read_text().splitlines():
        if line.startswith("@ "):
            name, _, expression = line.removeprefix("@ ").partition(": ")
            DATA[name] = eval(expression, globals())
        elif line.startswith("# "):
            data, _, said = line.removeprefix("# ").partition(" | ")
        elif line.startswith("= "):
            name, _, expression = line.removeprefix("= ").partition(": ")
            yield name, said, eval(expression, {"boxed": boxed, "tags": tags}, MADE), data
        elif line:
            signature, _, expression = line.partition("): ")
            *kinds, signature = signature.split(" ", 1) if line.startswith(("batch ", "group ")) else [signature]
            name, _, columns = signature.partition("(")
            function = eval(f"lambda completion{'s' * len(kinds)}, {columns}: {expression}", globals())
            MADE[name] = own(function, cast(FunctionKindName, [*kinds, "completion"][0]), name)()
            if data in DATA:
                yield name, said, MADE[name], data


LABELLED = [*read_rewards()]  # the name of each reward, what a finding says of it, the reward, and its data
