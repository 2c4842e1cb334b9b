"""Read the gold answers from a value of a dataset column."""

import functools
import math
from decimal import Decimal
from numbers import Rational, Real
from typing import Any

from ..scores import Score
from .statements import find_boxed_answer


def list_solutions(value: Any) -> list[Any]:
    """Return the accepted solutions in a dataset column: the items of a list, or the value itself, such as a text."""
    if getattr(value, "ndim", 0):  # an array
        value = value.tolist()
    return [*value] or [None] if isinstance(value, (list, tuple)) else [value]


def choose_best(scores: list[Score]) -> Score:
    """Return the best score by any solution, or None if it is not 1 and a solution cannot be read."""
    known = [score for score in scores if score is not None]
    if 1.0 in known or len(known) < len(scores):
        return 1.0 if 1.0 in known else None
    return max(known)


def read_gold(gold: Any) -> str | None:
    r"""
    Return the gold answer in a dataset column, or None if the value contains no answer.

    The value is one solution: a number, a truth value, bare LaTeX, `$...$`, `\(...\)`, `\[...\]`, a text with a box, or a text in
    GSM8K's form `... #### 72`.
    """
    if isinstance(gold, str):
        return read_gold_text(gold)
    try:
        if type(gold).__name__ in ("bool", "bool_"):  # numpy has its own type
            return str(bool(gold))
        if isinstance(gold, Rational):  # this includes integers
            return str(gold)
        if isinstance(gold, (Decimal, Real)):
            return f"{Decimal(str(gold)):f}" if math.isfinite(gold) else None
    except ValueError:  # Python does not print integers of more than 4300 digits
        pass
    return None


@functools.lru_cache(maxsize=1024)
def read_gold_text(gold: str) -> str | None:
    if "####" in gold:
        gold = gold.rpartition("####")[2]
    boxed = find_boxed_answer(gold)
    gold = (gold if boxed is None else boxed).strip()
    return gold if gold.strip("$ ") else None
