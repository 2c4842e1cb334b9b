"""Regular expressions that users supply. Some texts make them slow, so they are stopped after a timeout."""

import functools
import logging
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from regex import Pattern


logger = logging.getLogger(__name__)

SLOW: set[str] = set()
"""Expressions that a warning has already named."""


@functools.lru_cache(maxsize=256)
def compile_expression(expression: str, flags: str = "") -> "Pattern[str]":
    import regex

    return regex.compile(f"(?{flags}){expression}" if flags else expression)


def has_matches(expression: str, text: str, seconds: float, at_least: int = 1, flags: str = "") -> bool:
    """
    Return whether the expression has at least this many matches that do not overlap.

    Raises:
        `TimeoutError`: matching takes more than `seconds` of processor time. A warning names the expression once.
    """
    matches = compile_expression(expression, flags).finditer(text, timeout=seconds)
    try:
        return sum(1 for _ in zip(range(at_least), matches, strict=False)) == at_least
    except TimeoutError:
        if expression not in SLOW:
            SLOW.add(expression)
            logger.warning(
                f"The expression {expression!r} was stopped after {seconds:.3g} s on a text of {len(text)} characters. "
                f"The text counts as not matching. Nested repeats, or adjacent repeats that match the same "
                f"characters, can be this slow. Make them possessive, as in '(?:a+)++', or remove one."
            )
        raise
