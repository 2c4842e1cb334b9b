"""How well the solutions of a dataset can be read as mathematics."""

import re
from typing import Any, Literal

from tqdm import tqdm

from ..traits import Reading
from . import pool, units
from .equality import JOINED, Terms, separated
from .golds import read_gold
from .latex import plain, tidy
from .numerals import number


PROBE = "0.918273645"
"""An answer that no dataset has, so a solution must be read before the two can differ."""

FIRST_NUMBERS = re.compile(r"\d+(?:\.\d+)?")


AT_ONCE = 256
"""Solutions that workers read between two updates of the progress bar."""


def read_solutions(values: list[Any]) -> list[Reading]:
    """Return how each value of the column `solution` is read. Different ones are read once, in parallel."""
    golds = [read_gold(value) for value in values]
    different = [gold for gold in dict.fromkeys(golds) if gold is not None]
    symbolic = [gold for gold in different if number(value_of(gold)) is None]
    readings = {gold: Reading("several" if is_several(gold) else "whole", gold) for gold in different}
    with tqdm(total=len(different), desc="Reading solutions", disable=None) as bar:
        bar.update(len(different) - len(symbolic))
        for start in range(0, len(symbolic), AT_ONCE):
            some = symbolic[start : start + AT_ONCE]
            readings |= {gold: Reading(kind, gold) for gold, kind in faults_of(some).items()}
            bar.update(len(some))
    return [Reading("not at all") if gold is None else readings[gold] for gold in golds]


def faults_of(golds: list[str]) -> dict[str, Literal["in part", "not at all"]]:
    """Return the solutions that workers cannot read, or read as a fragment: as a number that occurs in them."""
    pairs = [(gold, answer) for gold in golds for answer in (PROBE, *numbers_in(gold))]
    verdicts = dict(zip(pairs, pool.judge(pairs, Terms()), strict=True))
    faults: dict[str, Literal["in part", "not at all"]] = {}
    for gold in golds:
        if verdicts[gold, PROBE].fault == "gold":
            faults[gold] = "not at all"
        elif not is_several(gold) and any(verdicts[gold, one].equal for one in numbers_in(gold)):
            faults[gold] = "in part"
    return faults


def value_of(gold: str) -> str:
    """Return the solution without a unit and without the name that it is given: `x = 5` becomes 5."""
    return plain(units.split(tidy(gold.rpartition("=")[2]))[0])


def numbers_in(gold: str) -> list[str]:
    """Return the first two different numbers of a text."""
    return [*dict.fromkeys(FIRST_NUMBERS.findall(gold))][:2]


def is_several(gold: str) -> bool:
    """Whether the solution is a list of several answers."""
    return len(separated(JOINED.sub(",", plain(tidy(gold)))) or ()) > 1
