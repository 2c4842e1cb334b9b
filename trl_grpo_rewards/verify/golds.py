"""Read the right answer from what a dataset's column holds."""

import functools
import math
from decimal import Decimal
from numbers import Rational, Real
from typing import Any

from .boxes import boxed_answer
from .latex import undelimited


def read_gold(gold: Any) -> str | None:
    r"""
    The right answer as LaTeX, from what a dataset's column holds; None where it holds none.

    Reads numbers, truth values, bare LaTeX, `$...$`, `\(...\)`, `\[...\]`, a text that ends in a box, and GSM8K's
    `... #### 72`.
    """
    if isinstance(gold, str):
        return read_text(gold)
    try:
        if type(gold).__name__ in ("bool", "bool_"):  # numpy has its own
            return str(bool(gold))
        if isinstance(gold, Rational):  # integers are
            return str(gold)
        if isinstance(gold, (Decimal, Real)):
            return f"{Decimal(str(gold)):f}" if math.isfinite(gold) else None
    except ValueError:  # Python prints no integer of more than 4300 digits
        pass
    return None


@functools.lru_cache(maxsize=1024)
def read_text(gold: str) -> str | None:
    if "####" in gold:
        gold = gold.rpartition("####")[2]
    boxed = boxed_answer(gold)
    return undelimited(gold if boxed is None else boxed) or None
