"""Regular expressions that users supply. Some texts make them slow, so they are stopped after a timeout."""

import functools
import logging
import re
from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from regex import Pattern


logger = logging.getLogger(__name__)

SLOW: set[str] = set()
"""Expressions that a warning has already named."""


MAX_PARTS = 100_000
"""Maximum size of an expression whose repeats are written out. Compiling this many parts takes 0.1 s and 30 MB."""

PART = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\{(\d+)(?:,\d*)?\}|.", re.DOTALL)
"""An escape, a set of characters, the least number of a repeat, or another character."""


def count_parts(expression: str) -> int:
    """Return the approximate size of an expression in which each `x{9}` is written out as nine times x."""
    groups: list[list[int]] = [[]]
    for match in PART.finditer(expression):
        if match[0] == "(":
            groups.append([])
        elif match[0] == ")" and len(groups) > 1:
            inner = sum(groups.pop())
            groups[-1].append(inner + 1)
        elif match[1] and groups[-1]:
            groups[-1][-1] *= max(int(match[1]), 1)
        else:
            groups[-1].append(1)
    return sum(map(sum, groups))


@functools.lru_cache(maxsize=256)
def compile_expression(expression: str, flags: str = "") -> "Pattern[str]":
    """Compile an expression, or raise a `ValueError` if this would take too much time and memory."""
    import regex

    if (parts := count_parts(expression)) > MAX_PARTS:
        raise ValueError(
            f"its repeats make {parts:.1e} parts, and at most {MAX_PARTS:,} are allowed. Use lower counts"
        )
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
