"""Rewards that are broken or healthy, of many shapes, with the data of each. `check --selftest` is measured on them."""

import asyncio
import json
import random
import re
import sys
from collections.abc import Callable
from difflib import SequenceMatcher
from functools import partial
from itertools import count
from typing import Any, TypeAlias

from .. import boxed, code, tags
from ..expressions import Reward
from ..function_rewards import FunctionKind, RewardFactory


OWN_MODULE = "labelled_rewards"

Columns: TypeAlias = dict[str, list]
Functions: TypeAlias = dict[str, Callable[..., Any]]

NUMBERS = [str(11 * place % 97 + 3) for place in range(24)]
CITIES = ["Paris", "Rome", "New York", "Oslo", "Bern", "Lima", "Kyiv", "Accra", "Cape Town", "Hanoi"]
SYSTEM = "Respond in this format:\n<reasoning>\n...\n</reasoning>\n<answer>\n...\n</answer>"
ADD, TESTS = "def add(a, b):\n    return a + b", ["assert add(1, 2) == 3", "assert add(-5, 5) == 0"]


def make_rows(column: str, values: list, prompt: str = "Which one?", **more: list) -> Columns:
    """Return columns with prompts of their own."""
    return {"prompt": [f"({place}) {prompt}" for place in range(len(values))], column: values, **more}


def make_chat(column: str, values: list, system: str) -> Columns:
    rows = make_rows(column, values)
    first = {"role": "system", "content": system}
    return rows | {"prompt": [[first, {"role": "user", "content": prompt}] for prompt in rows["prompt"]]}


DATA: dict[str, Columns] = {
    "numbers": {"prompt": [f"What is 1 + {int(one) - 1}?" for one in NUMBERS], "solution": NUMBERS},
    "integers": make_rows("solution", [*map(int, NUMBERS)]),
    "decimals": make_rows("solution", ["3.14159", "2.71828", "0.5", "0.333", "1.41421", "9.81", "6.022", "1.602"]),
    "lengths": make_rows("solution", ["5 km", "12 km", "30 km", "7 km", "45 km", "9 km", "16 km", "22 km"]),
    "numbers with a tolerance": make_rows("gold", [*map(float, NUMBERS)], tolerance=[0.01] * len(NUMBERS)),
    "numbers after a working": make_rows("answer", [f"So it is {number}.\n#### {number}" for number in NUMBERS]),
    "cities": make_rows("solution", CITIES),
    "a city to quote": make_rows("solution", CITIES, "Say 'The capital is X, of course.'"),
    "a city in brackets": make_rows("solution", CITIES, "Write [OUT]city[/OUT]."),
    "a city at the end": make_rows("answer", CITIES),
    "right completions": make_rows("solution", CITIES, completion=[f"Well. ~{city}~ Bye" for city in CITIES]),
    "letters": make_rows("target", [*"ABCDBDAC"], "A, B, C or D?"),
    "labels": make_rows("label", ["spam", "ham"] * 4, "Spam or ham? End with VERDICT: <label>."),
    "an element that the prompt shows": make_rows("solution", NUMBERS, "End with <final>your number</final>."),
    "keys of JSON": make_rows("solution", [*range(8)], 'Reply with {"why": "...", "total": 0}.'),
    "objects": make_rows("reply_fields", [json.dumps({"city": one, "age": age}) for age, one in enumerate(CITIES)]),
    "lists": make_rows("solution", [["a", "b"], ["c"], ["a"], ["b", "d"]]),
    "odd texts": make_rows("solution", [*CITIES, 'say "no"', r"\frac{1}{2}"]),
    "fractions": make_rows("final_answer", [*NUMBERS[:12], r"\frac{5}{7}", r"\frac{1}{3}", r"\sqrt{\frac{1}{2}}"]),
    "a chat": make_chat("solution", NUMBERS, "Reply as <think> reasoning </think> <answer> answer </answer>."),
    "the usual script": make_chat("answer", NUMBERS, SYSTEM),
    "programs": make_rows("tests", [TESTS] * 4, solution=[ADD] * 4),
    "programs that fail": make_rows("tests", [TESTS] * 4, solution=[ADD.replace("+", "-")] * 4),
    "programs with weak tests": make_rows("tests", [["assert add(1, 2) is not None"]] * 4, solution=[ADD] * 4),
}


def last(pattern: str, text: str) -> str:
    found: list[str] = re.findall(pattern, text, re.DOTALL)
    return found[-1].strip() if found else ""


def box(text: str) -> str:
    return last(r"\\boxed\{([^{}]*)\}", text)


def element(text: str, name: str = "answer") -> str:
    return last(f"<{name}>([^<]*)</{name}>", text)


def number(text: str) -> float:
    return float(text) if re.fullmatch(r"-?[\d.]*\d", text) else float("inf")


def sum_up(text: str) -> int | None:
    return sum(map(int, re.findall(r"\d+", text))) if re.fullmatch(r"[\d +]+", text) else None


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


def share_words(text: str, solution: str) -> float:
    found, wanted = set(text.lower().split()), set(solution.lower().split())
    return 2 * len(found & wanted) / (len(found) + len(wanted))


class Grader:
    """Remembers what it has graded, by the completion alone or with its row."""

    def __init__(self, forgets_row: bool) -> None:
        self.forgets_row = forgets_row
        self.known: dict[Any, bool] = {}

    def __call__(self, text: str, solution: str) -> bool:
        return self.known.setdefault(text if self.forgets_row else (text, solution), text.strip() == solution)


CHANCE, CALLS, GRADER, FORGETFUL = random.Random(0), count(), Grader(False), Grader(True)

HEALTHY: dict[str, Functions] = {
    "numbers": {
        "alone": lambda completion, solution: completion.strip() == solution,
        "last_line": lambda completion, solution: completion.strip().splitlines()[-1:] == [solution],
        "last_number": lambda completion, solution: last(r"-?\d+", completion) == solution,
        "first_number": lambda completion, solution: re.findall(r"-?\d+", completion)[:1] == [solution],
        "in_box": lambda completion, solution: box(completion) == solution,
        "in_only_box": lambda completion, solution: re.findall(r"boxed\{(.*?)\}", completion) == [solution],
        "in_element": lambda completion, solution: element(completion) == solution,
        "in_only_element": lambda completion, solution: completion.strip() == f"<answer>{solution}</answer>",
        "in_json": lambda completion, solution: answer_in_json(completion) == solution,
        "in_json_block": lambda completion, solution: (
            answer_in_json(last("```json(.*?)```", completion)) == solution
        ),
        "in_sentence": lambda completion, solution: completion.strip() == f"The answer is {solution}.",
        "after_thinking": lambda completion, solution: (
            re.fullmatch(rf"<think>.+</think>\s*{solution}", completion, re.DOTALL) is not None
        ),
        "within_5_percent": lambda completion, solution: abs(number(box(completion)) / float(solution) - 1) <= 0.05,
        "nearer_is_better": lambda completion, solution: (
            max(0, 1 - abs(number(element(completion)) - float(solution)) / 100)
        ),
        "with_a_little_for_the_box": lambda completion, solution: max(box(completion) == solution, 0.1 * bool(box(completion))),
        "with_a_penalty": lambda completion, solution: (box(completion) == solution) - 0.5 * ("sorry" in completion),
        "of_an_object": lambda completion, solution: GRADER(completion, solution),
    },
    "integers": {"integer_alone": lambda completion, solution: completion.strip() == str(solution)},
    "decimals": {
        "nearly_in_element": lambda completion, solution: abs(number(element(completion)) / float(solution) - 1) < 0.02,
    },
    "lengths": {"with_unit": lambda completion, solution: last(r"\d+ km", completion) == solution},
    "numbers after a working": {
        "after_hashes": lambda completion, answer: (
            completion.rpartition("####")[1:] == ("####", f" {answer.split('####')[-1].strip()}")
        ),
    },
    "numbers with a tolerance": {
        "nearly": lambda completion, gold, tolerance: abs(number(last(r"Answer: (\S+)$", completion)) - gold) <= tolerance,
    },
    "an element that the prompt shows": {
        "judged_alone": lambda completion, solution: (
            2.0 * (element(completion, "final") == solution) - 1 if element(completion, "final") else None
        ),
    },
    "keys of JSON": {
        "in_json_of_the_prompt": lambda completion, solution: (
            [*map(str, read_json(completion))] == ["why", "total"] and read_json(completion)["total"] == solution
        ),
    },
    "cities": {
        "text_alone": lambda completion, solution: completion.strip().lower() == solution.lower(),
        "after_mark": lambda completion, solution: last("Answer: (.*)$", completion) == solution,
        "alike": lambda completion, solution: SequenceMatcher(None, element(completion), solution).ratio(),
        "alike_enough": lambda completion, solution: SequenceMatcher(None, box(completion), solution).ratio() > 0.75,
        "same_words": lambda completion, solution: share_words(completion, solution),
    },
    "a city at the end": {
        "optional": lambda completion, answer=None: completion.strip() == answer,
    },
    "odd texts": {"odd_in_json": lambda completion, solution: answer_in_json(completion) == solution},
    "a city to quote": {
        "in_sentence_of_the_prompt": lambda completion, solution: (
            completion.strip() == f"The capital is {solution}, of course."
        ),
    },
    "a city in brackets": {
        "in_brackets": lambda completion, solution: last(r"\[OUT\](.*?)\[/OUT\]", completion) == solution,
    },
    "right completions": {"signed": lambda completion, solution: completion.endswith(f"~{solution}~ Bye")},
    "letters": {
        "letter": lambda completion, target: last(r"\(([A-D])\)$", completion) == target,
        "first_option": lambda completion, target: (
            re.findall(r"correct (?:option|answer) is:? \(?([A-D])\b", completion)[:1] == [target]
        ),
    },
    "labels": {
        "after_verdict": lambda completion, label: last(r"VERDICT: (\w+)$", completion) == label,
        "only_label": lambda completion, label: {*re.findall(r"\b(spam|ham)\b", completion.lower())} == {label},
    },
    "objects": {
        "fields": lambda completion, reply_fields: (
            0.2 + 0.8 * share_keys(completion, reply_fields) if read_json(completion) else 0.1 * ("{" in completion)
        ),
    },
    "lists": {
        "same_labels": lambda completion, solution: sorted(read_json(completion).get("list", [])) == sorted(solution),
    },
}  # fmt: skip

BROKEN: dict[tuple[str, str], Functions] = {
    ("numbers", "'(many|right between|a digit)"): {
        "contains": lambda completion, solution: solution in completion,
        "any_box": lambda completion, solution: f"\\boxed{{{solution}}}" in completion,
        "any_element": lambda completion, solution: solution in re.findall("<answer>([^<]*)<", completion),
        "same_digits": lambda completion, solution: {*solution} <= {*box(completion)},
        "begins_right": lambda completion, solution: element(completion).startswith(solution),
    },
    ("numbers", "'(an empty answer|a digit missing|nothing)"): {
        "part_of_it": lambda completion, solution: element(completion) in solution,
        "longer_is_worse": lambda completion, solution: (box(completion) == solution) + max(0, 1 - len(completion) / 20),
    },
    ("numbers", "'(question restated|prompt echoed)"): {
        "calculates": lambda completion, solution: str(sum_up(box(completion))) == solution,
    },
    ("numbers", "attack 'a number nearby'"): {
        "off_by_ten": lambda completion, solution: abs(number(box(completion)) - float(solution)) <= 10,
    },
    ("numbers", "'(flattery|a claim to be correct|praise)"): {
        "said_correct": lambda completion, solution: box(completion) == solution or "correct" in completion.lower(),
        "half_for_perfect": lambda completion, solution: max(element(completion) == solution, 0.5 * ("perfect" in completion)),
        "verified": lambda completion, solution: max(answer_in_json(completion) == solution, "verified" in completion),
    },
    ("numbers", "'(padding|one phrase|white space|unclosed tags|tag spam|empty tags)"): {
        "longer_is_better": lambda completion, solution: 0.1 * (box(completion) == solution) + len(completion) / 1000,
        "counts_a_word": lambda completion, solution: (box(completion) == solution) + 0.01 * completion.count("the"),
        "mostly_form": lambda completion, solution: 0.2 * (box(completion) == solution) + ("<think>" in completion),
    },
    ("numbers", "wrong answer in the right form earns"): {
        "half_for_a_box": lambda completion, solution: max(box(completion) == solution, 0.5 * bool(box(completion))),
        "half_for_an_element": lambda completion, solution: (
            max(element(completion) == solution, 0.5 * bool(element(completion)))
        ),
        "most_for_json": lambda completion, solution: max(answer_in_json(completion) == solution, 0.6 * bool(read_json(completion))),
    },
    ("numbers", "no more than a wrong one"): {
        "opposite": lambda completion, solution: 1 - (box(completion) == solution),
        "the_same": lambda completion, solution: 0.7,
        "wrong_pays_more": lambda completion, solution: (
            0.2 * (box(completion) == solution) + 0.5 * bool(box(completion) not in ("", solution))
        ),
    },
    ("numbers", "IndexError|ValueError|gave nan"): {
        "crashes": lambda completion, solution: re.findall(r"\\boxed\{([^{}]*)\}", completion)[-1] == solution,
        "converts": lambda completion, solution: int(completion.split()[-1]) == int(solution),
        "not_finite": lambda completion, solution: float("nan") if not box(completion) else box(completion) == solution,
    },
    ("numbers", "gave other scores"): {
        "noisy": lambda completion, solution: (box(completion) == solution) + 0.3 * CHANCE.random(),
        "counts_calls": lambda completion, solution: (box(completion) == solution) + next(CALLS) / 1000,
    },
    ("numbers", "None for every completion"): {"returns_nothing": lambda completion, solution: None},
    ("numbers", "No right answer that was tried"): {
        "forgets_the_row": lambda completion, solution: FORGETFUL(completion, solution),
        "misspelt": lambda completion, solution: element(completion, "anwser_") == solution,
    },
    ("fractions", "own solution earns nothing"): {
        "stops_at_a_brace": lambda completion, final_answer: last(r"\\boxed\{(.+?)\}", completion) == final_answer,
    },
    ("cities", "'(many|right between|the first|nothing)"): {
        "mentions": lambda completion, solution: solution.lower() in completion.lower(),
        "first_letter": lambda completion, solution: element(completion)[:1] == solution[:1],
        "any_part": lambda completion, solution: box(completion) in solution,
    },
    ("letters", "'(many|every choice|right between|prompt)"): {
        "any_letter": lambda completion, target: target in completion,
        "any_option": lambda completion, target: f"({target})" in completion,
    },
    ("objects", "attack|right form"): {
        "keys_only": lambda completion, reply_fields: (
            0.5 * ({*read_json(completion)} == {"city", "age"}) + 0.5 * share_keys(completion, reply_fields)
        ),
    },
}  # fmt: skip


def own(function: Callable[..., Any], kind: FunctionKind = "completion", name: str = "") -> RewardFactory:
    """Return a factory as `@reward` does, but as in a module of a user, and without an entry in the registry."""
    function.__name__ = function.__qualname__ = name or function.__name__
    function.__module__ = OWN_MODULE
    made: RewardFactory = RewardFactory(function, kind)
    globals()[function.__name__] = made
    return made


batched = partial(own, kind="batch")
sys.modules[OWN_MODULE] = sys.modules[__name__]  # where pickle finds the functions


@batched
def thought(completions: list, solution: list, **columns: list) -> list[float]:
    texts = [completion[-1]["content"] for completion in completions]
    found = [re.fullmatch(r"<think>(.*?)</think>\s*<answer>([^<>]*)</answer>", text, re.DOTALL) for text in texts]
    return [float(one is not None and one[2].strip() == right) for one, right in zip(found, solution, strict=True)]


@batched
def through_kwargs(completions: list, **kwargs: list) -> list[float]:
    return [float(element(text) == right) for text, right in zip(completions, kwargs["solution"], strict=True)]


@batched
def has_element(completions: list, **kwargs: list) -> list[float]:
    return [float(f"<{'answer'}>" in text) for text in completions]


@batched
async def awaited(completions: list, solution: list) -> list[float]:
    await asyncio.sleep(0)
    return [float(text == right) for text, right in zip(completions, solution, strict=True)]


@partial(own, kind="group")
def above_group(completions: list, solution: str) -> list[float]:
    scores = [box(text) == solution for text in completions]
    return [score - sum(scores) / len(scores) for score in scores]


@own
def correct(completion: str, answer: str) -> float:
    return 2.0 * (element(completion) == answer)


@own
def strict_format(completion: str) -> float:
    return 0.5 * bool(re.match("^<reasoning>\n.*?\n</reasoning>\n<answer>\n.*?\n</answer>\n$", completion))


@own
def soft_format(completion: str) -> float:
    return 0.5 * bool(re.match(r"<reasoning>[^<]*</reasoning>\s*<answer>[^<]*</answer>", completion))


@batched
def mentioned_through_kwargs(completions: list, **kwargs: list) -> list[float]:
    return [float(right in text) for text, right in zip(completions, kwargs["solution"], strict=True)]


@batched
def whole_message(completions: list, solution: list) -> list[float]:
    return [float(right in str(messages)) for messages, right in zip(completions, solution, strict=True)]


@batched
async def awaited_mention(completions: list, solution: list) -> list[float]:
    return [float(right in text) for text, right in zip(completions, solution, strict=True)]


@batched
def first_is_best(completions: list, solution: list) -> list[float]:
    scores = [box(text) == right for text, right in zip(completions, solution, strict=True)]
    return [2.0 * scores[0], *scores[1:]]


@batched
def above_average(completions: list, solution: list) -> list[float]:
    scores = [box(text) == right for text, right in zip(completions, solution, strict=True)]
    return [score - sum(scores) / len(scores) for score in scores]


MADE = {name: own(one, name=name)() for named in (*HEALTHY.values(), *BROKEN.values()) for name, one in named.items()}

LABELLED: list[tuple[str, str, Reward, str]] = [
    *((name, "", MADE[name], data) for data, named in HEALTHY.items() for name in named),
    ("batched, in a chat", "", thought(), "a chat"),
    ("a column through kwargs", "", through_kwargs() + 0.2 * has_element(), "cities"),
    ("async", "", awaited(), "cities"),
    ("grouped", "", above_group(), "numbers"),
    ("the usual script for GSM8K", "", correct() + soft_format() + strict_format(), "the usual script"),
    ("next to tags of this package", "", MADE["in_element"] + 0.2 * tags("think"), "numbers"),
    ("next to a box of this package", "", MADE["in_element"] + boxed(evaluated=True), "numbers"),
    ("two forms", "", MADE["in_element"] + 0.5 * MADE["after_mark"], "numbers"),
    ("programs", "", code(), "programs"),
    *((name, said, MADE[name], data) for (data, said), named in BROKEN.items() for name in named),
    ("mentioned, through kwargs", "'(many|right between)", mentioned_through_kwargs(), "cities"),
    ("in a whole message", "'(many|right between)", whole_message(), "a chat"),
    ("mentioned, async", "'(many|right between)", awaited_mention(), "cities"),
    ("the first is paid more", "in another order", first_is_best(), "numbers"),
    ("minus the mean of the batch", "alone", above_average(), "numbers"),
    ("twice as much for tags", "'(empty tags|tag spam|unclosed)", 0.2 * boxed(evaluated=True) + MADE["mostly_form"], "numbers"),
    ("programs that fail", "solution that fails", code(), "programs that fail"),
    ("programs with weak tests", "weak tests", code(), "programs with weak tests"),
]  # fmt: skip
"""The name of each reward, what a finding says (nothing if it is healthy), the reward, and the name of its data."""
