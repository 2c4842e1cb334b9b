"""How well the solutions of a dataset can be read as mathematics."""

import re
from fractions import Fraction
from itertools import chain
from typing import Any, Literal

from tqdm import tqdm

from ..mathematics.comparison import AnswerRules
from ..mathematics.names import find_labelled_value
from ..mathematics.rationals import evaluate_exactly
from ..mathematics.reader import read
from ..mathematics.tokens import spell
from ..mathematics.values import Collection, Labelled, Quantity, Relation, Text, Value
from ..traits import Kind, Reading
from . import pool
from .golds import list_solutions, read_gold


PROBE = "0.918273645"
"""An answer that no dataset contains. Comparing a solution with it shows whether the solution can be read."""

FIRST_NUMBERS = re.compile(r"\d+(?:\.\d+)?")

MAX_WORDS = 6
"""Largest number of words of a solution that a model is expected to repeat word for word."""

VERBS = {"is", "are", "was", "were", "has", "have", "had", "can", "must", "should", "will", "does"}

KINDS: tuple[Kind, ...] = ("whole", "several", "in part", "not at all")
"""How a single solution can be read, the best first."""

SOLUTIONS_AT_ONCE = 256
"""Number of solutions that workers read between two updates of the progress bar."""


def read_solutions(values: list[Any]) -> list[Reading]:
    """
    Return how each value of the column `solution` is read. Equal values are read once. Workers read in parallel.

    A sentence is read in part: a model writes the answer that it contains, and not the sentence.
    """
    accepted = [list_solutions(value) for value in values]
    readings = iter(read_each([*chain.from_iterable(accepted)]))
    return [merge_readings([next(readings) for _ in solutions]) for solutions in accepted]


def merge_readings(readings: list[Reading]) -> Reading:
    """
    Return the reading of a row from those of its accepted solutions. A completion that gives one of them is right.

    The row is read in part if one of them cannot be read at all, since then no other completion can be judged.
    """
    kinds = {reading.kind for reading in readings}
    values = sorted({reading.value for reading in readings if reading.value is not None})
    best = next(kind for kind in KINDS if kind in kinds)
    if len(kinds) > 1 and "not at all" in kinds:
        best = "in part"
    elif len(values) > 1 and best != "in part":
        best = "any of several"
    return Reading(best, " or ".join(values) or None)


def read_each(values: list[Any]) -> list[Reading]:
    golds = [read_gold(value) for value in values]
    different = [gold for gold in dict.fromkeys(golds) if gold is not None]
    readings = {
        gold: Reading(find_kind(value), write_canonically(gold)) for gold in different if (value := read(gold))
    }
    unread = [gold for gold in different if gold not in readings]
    with tqdm(total=len(different), desc="Reading solutions", disable=None) as bar:
        bar.update(len(readings))
        for start in range(0, len(unread), SOLUTIONS_AT_ONCE):
            some = unread[start : start + SOLUTIONS_AT_ONCE]
            readings |= {gold: Reading(kind, spell(gold)) for gold, kind in zip(some, try_golds(some), strict=True)}
            bar.update(len(some))
    return [Reading("not at all") if gold is None else readings[gold] for gold in golds]


def find_kind(value: Value) -> Literal["whole", "several", "in part"]:
    if isinstance(value, Collection) and value.brackets == "":
        return "several"
    return "in part" if isinstance(value, Text) and is_sentence(value) else "whole"


def is_sentence(text: Text) -> bool:
    has_signs = not all(word[:1].isalpha() for word in text.words)
    return has_signs or len(text.words) > MAX_WORDS or (len(text.words) > 2 and not VERBS.isdisjoint(text.words))


def write_canonically(gold: str) -> str:
    """Return the solution in a way that is the same for equal numbers and for texts that look alike."""
    number = find_number(read(gold))
    return spell(gold) if number is None else str(number)


def find_number(value: Value | None) -> Fraction | None:
    """Return the number in a solution such as `22`, `x = 22`, `22 apples` or `B. 22`, or None if it is not a number."""
    if isinstance(value, Relation):
        value = find_labelled_value(value)
    if isinstance(value, Labelled | Quantity):
        value = value.value
    return None if value is None else evaluate_exactly(value)


def try_golds(golds: list[str]) -> list[Literal["whole", "in part", "not at all"]]:
    """
    Return how math-verify reads solutions in the workers.

    A solution is read in part if it counts as equal to a number that occurs in it.
    """
    pairs = [(gold, answer) for gold in golds for answer in (PROBE, *find_numbers(gold))]
    verdicts = dict(zip(pairs, pool.verify_pairs(pairs, AnswerRules()), strict=True))
    return [
        "not at all"
        if verdicts[gold, PROBE].fault == "gold"
        else "in part"
        if any(verdicts[gold, one].equal for one in find_numbers(gold))
        else "whole"
        for gold in golds
    ]


def find_numbers(gold: str) -> list[str]:
    """Return the first two different numbers of a text."""
    return [*dict.fromkeys(FIRST_NUMBERS.findall(gold))][:2]
