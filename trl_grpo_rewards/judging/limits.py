"""The default limit of a reply: its size, its name in a request, and what to do when a reply reaches it."""

import re
from collections.abc import Mapping
from typing import Any


MAX_TOKENS = 4096
"""
Default limit of a reply, in tokens, the judge's reasoning included. A verdict takes about 100, and reasoning before it
usually 500 to 3000. At 70 tokens a second, the limit is reached within the default timeout. A judge that loops is
therefore reported as such after one call, instead of being retried after a timeout.
"""

LIMIT_NAMES = ("max_tokens", "max_completion_tokens")
"""Names of the limit in a request. Nearly all servers know the first; OpenAI's reasoning models take only the second."""

ACCEPTED_NAMES: dict[tuple[str | None, str], str] = {}
"""The name that an endpoint accepts, once that is known."""

CONTEXT_EXCEEDED = re.compile("context.?(length|size|window)")
"""Words in a server's refusal if the text and the limit together exceed the model's context."""

LIMIT_REFUSED = re.compile(rf"max_[a-z_]*tokens|{CONTEXT_EXCEEDED.pattern}")
"""Words in a server's refusal if the limit is the reason."""


def list_limit_names(request: Mapping[str, Any] | None, endpoint: tuple[str | None, str]) -> list[str | None]:
    """Return the names to try for the limit, in order; None is a request without one. What the user sets goes first."""
    if {*LIMIT_NAMES} & {*(request or ())}:
        return [None]
    known = ACCEPTED_NAMES.get(endpoint)
    return [*LIMIT_NAMES[LIMIT_NAMES.index(known) if known else 0 :], None]


def drop_refused_names(names: list[str | None], refusal: str) -> list[str | None]:
    """Return the names that are left to try after a refusal, or an empty list if it is not about the limit."""
    if names == [None] or not LIMIT_REFUSED.search(refusal):
        return []
    return [None] if CONTEXT_EXCEEDED.search(refusal) else names[1:]


def advise(request: Mapping[str, Any] | None, endpoint: tuple[str | None, str]) -> str:
    """Return advice about a reply that reached its limit."""
    accepted = ACCEPTED_NAMES.get(endpoint, LIMIT_NAMES[0])
    name = next((name for name in LIMIT_NAMES if name in (request or {})), accepted)
    given = (request or {}).get(name)
    larger = 4 * max(given if isinstance(given, int) else 0, MAX_TOKENS)
    return (
        f"If the judge needs more tokens, for instance to reason, set request={{{name!r}: {larger}}} and a "
        f"longer timeout. If it repeats white space, start vLLM with "
        f"""--structured-outputs-config '{{"backend": "xgrammar", "disable_any_whitespace": true}}'. """
        f"If it repeats words, use a stronger judge."
    )
