"""How well the solutions of a dataset can be read as mathematics."""

import re
from typing import Any, Literal

from tqdm import tqdm

from ..traits import Reading
from . import pool, units
from .equality import CONJUNCTION, AnswerRules, split_items
from .golds import read_gold
from .latex import normalize_latex, strip_formatting
from .numerals import parse_number


PROBE = "0.918273645"
"""An answer that no dataset contains. Comparing a solution with it shows whether the solution can be read."""

FIRST_NUMBERS = re.compile(r"\d+(?:\.\d+)?")

SOLUTIONS_AT_ONCE = 256
"""Number of solutions that workers read between two updates of the progress bar."""


def read_solutions(values: list[Any]) -> list[Reading]:
    """Return how each value of the column `solution` is read. Equal values are read once. Workers read in parallel."""
    golds = [read_gold(value) for value in values]
    different = [gold for gold in dict.fromkeys(golds) if gold is not None]
    symbolic = [gold for gold in different if parse_number(strip_gold(gold)) is None]
    readings = {
        gold: Reading("several" if is_several(gold) else "whole", write_canonically(gold)) for gold in different
    }
    with tqdm(total=len(different), desc="Reading solutions", disable=None) as bar:
        bar.update(len(different) - len(symbolic))
        for start in range(0, len(symbolic), SOLUTIONS_AT_ONCE):
            some = symbolic[start : start + SOLUTIONS_AT_ONCE]
            readings |= {gold: Reading(kind, write_canonically(gold)) for gold, kind in find_misread(some).items()}
            bar.update(len(some))
    return [Reading("not at all") if gold is None else readings[gold] for gold in golds]


def write_canonically(gold: str) -> str:
    """Return the solution in a way that is the same for equal numbers and for texts that look alike."""
    number = parse_number(strip_gold(gold))
    return strip_formatting(normalize_latex(gold)) if number is None else str(number)


def find_misread(golds: list[str]) -> dict[str, Literal["in part", "not at all"]]:
    """
    Return the solutions that workers cannot read or read only in part.

    A solution is read in part if it counts as equal to a number that occurs in it.
    """
    pairs = [(gold, answer) for gold in golds for answer in (PROBE, *find_numbers(gold))]
    verdicts = dict(zip(pairs, pool.verify_pairs(pairs, AnswerRules()), strict=True))
    misread: dict[str, Literal["in part", "not at all"]] = {}
    for gold in golds:
        if verdicts[gold, PROBE].fault == "gold":
            misread[gold] = "not at all"
        elif not is_several(gold) and any(verdicts[gold, one].equal for one in find_numbers(gold)):
            misread[gold] = "in part"
    return misread


def strip_gold(gold: str) -> str:
    """Return the value of a solution without its unit and without a name: `x = 5 cm` becomes `5`."""
    return strip_formatting(units.split_unit(normalize_latex(gold.rpartition("=")[2]))[0])


def find_numbers(gold: str) -> list[str]:
    """Return the first two different numbers of a text."""
    return [*dict.fromkeys(FIRST_NUMBERS.findall(gold))][:2]


def is_several(gold: str) -> bool:
    """Whether the solution is a list of several answers."""
    return len(split_items(CONJUNCTION.sub(",", strip_formatting(normalize_latex(gold)))) or ()) > 1
