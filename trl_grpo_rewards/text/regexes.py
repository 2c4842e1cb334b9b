"""Regular expressions of users, which a text can make slow: run under a timeout, and named where they reach it."""

import functools
import logging
from typing import Any


logger = logging.getLogger(__name__)

SLOW: set[str] = set()
"""Expressions that have been named."""


@functools.lru_cache(maxsize=256)
def compiled(expression: str, flags: str = "") -> Any:
    import regex

    return regex.compile(f"(?{flags}){expression}" if flags else expression)


def occurs(expression: str, text: str, seconds: float, at_least: int = 1, flags: str = "") -> bool:
    """
    Whether the expression matches at least so often; matches do not overlap.

    Raises:
        `TimeoutError`: it takes longer than so many seconds of computing. The first time, a warning names it.
    """
    matches = compiled(expression, flags).finditer(text, timeout=seconds)
    try:
        return sum(1 for _ in zip(range(at_least), matches, strict=False)) == at_least
    except TimeoutError:
        if expression not in SLOW:
            SLOW.add(expression)
            logger.warning(
                f"The expression {expression!r} was stopped after {seconds:.3g} s on a text of {len(text)} characters, "
                f"which counts as no match. A repeat in a repeat, or two that take the same characters, can do that: "
                f"make them possessive, as in '(?:a+)++', or leave one out."
            )
        raise
