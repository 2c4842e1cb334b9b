"""The default limit of a reply: how many tokens, under which name a server takes it, and what to do when it is reached."""

import re
from collections.abc import Mapping
from typing import Any


MAX_TOKENS = 4096
"""
Default limit of a reply, in tokens, the judge's reasoning included. A verdict takes about 100, and reasoning before it
usually 500 to 3000. At 70 tokens a second the limit is reached within the default timeout, so that a judge that loops is
asked once and reported as one that loops.
"""

NAMES = ("max_tokens", "max_completion_tokens")
"""Names of the limit in a request. Nearly all servers know the first; OpenAI's reasoning models take only the second."""

ACCEPTED: dict[tuple[str | None, str], str] = {}
"""The name that a server's model accepts, where it is known."""

CONTEXT = re.compile("context.?(length|size|window)")
"""What a server says when the text and the limit together are longer than its context."""

REFUSED = re.compile(rf"max_[a-z_]*tokens|{CONTEXT.pattern}")
"""What a server says when it refuses a request because of the limit."""


def names_to_try(request: Mapping[str, Any] | None, where: tuple[str | None, str]) -> list[str | None]:
    """
    Return the names under which to send the limit, in order; None is for no limit.

    Args:
        request (`Mapping[str, Any]` or `None`):
            Fields that the user sets. A limit among them replaces the default, even if it is None.
        where (`tuple[str | None, str]`):
            The server and its model.
    """
    if {*NAMES} & {*(request or ())}:
        return [None]
    known = ACCEPTED.get(where)
    return [*NAMES[NAMES.index(known) if known else 0 :], None]


def names_left(names: list[str | None], refusal: str) -> list[str | None]:
    """Return the names left to try after a refusal, or none if it is not about the limit."""
    if names == [None] or not REFUSED.search(refusal):
        return []
    return [None] if CONTEXT.search(refusal) else names[1:]


def advice(request: Mapping[str, Any] | None, where: tuple[str | None, str]) -> str:
    """Say what to do about a reply that reached its limit."""
    name = next((name for name in NAMES if name in (request or {})), ACCEPTED.get(where, NAMES[0]))
    given = (request or {}).get(name)
    larger = 4 * max(given if isinstance(given, int) else 0, MAX_TOKENS)
    return (
        f"If the judge needs more tokens, for instance to reason, set request={{{name!r}: {larger}}} and a "
        f"longer timeout. If it repeats white space, start vLLM with "
        f"""--structured-outputs-config '{{"backend": "xgrammar", "disable_any_whitespace": true}}'. """
        f"If it repeats words, use a stronger judge."
    )
