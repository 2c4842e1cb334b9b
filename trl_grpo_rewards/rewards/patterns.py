"""Rewards for what occurs in a completion."""

import functools

from ..registry import reward


@functools.lru_cache(maxsize=256)
def compiled(expression: str, flags: str):
    import regex

    return regex.compile(f"(?{flags}){expression}" if flags else expression)


def check_pattern(regex: str, at_least: int, flags: str) -> None:
    if {*flags} - {*"aimsx"}:
        raise ValueError(f"pattern() has flags={flags!r}; there are a, i, m, s and x. Leave out the others.")
    if at_least < 1:
        raise ValueError(f"pattern() has at_least={at_least}, which every text reaches. Give it a number from 1.")
    try:
        compiled(regex, flags)
    except Exception as error:  # the engine has several kinds for an expression it cannot read
        raise ValueError(f"pattern() has regex={regex!r}, which is no expression: {error}. Correct it.") from None


@reward(check=check_pattern)
def pattern(completion: str, *, regex: str, at_least: int = 1, flags: str = "") -> float:
    r"""
    1 if the expression matches at least so often (matches do not overlap); else 0.

    Args:
        regex (`str`):
            Regular expression of the [`regex`](https://pypi.org/project/regex/) library.
        at_least (`int`, *optional*, defaults to `1`):
            How many matches it takes.
        flags (`str`, *optional*, defaults to `""`):
            Letters among `"aimsx"`, as in `(?i)`.

    Example:

    ```python
    >>> from trl_grpo_rewards import pattern

    >>> pattern(r"step \d", at_least=2, flags="i")(completions=["Step 1 ... step 2", "Step 1"])
    [1.0, 0.0]

    ```
    """
    matches = compiled(regex, flags).finditer(completion)
    return float(sum(1 for _, _ in zip(range(at_least), matches, strict=False)) == at_least)


def check_keywords(all: tuple[str, ...], any: tuple[str, ...], none: tuple[str, ...]) -> None:
    if not all + any + none or "" in all + any + none:
        raise ValueError("keywords() has no words, or an empty one. Give it some: keywords(all=('because',)).")


@reward(check=check_keywords)
def keywords(
    completion: str, *, all: tuple[str, ...] = (), any: tuple[str, ...] = (), none: tuple[str, ...] = ()
) -> float:
    """
    1 if every word of `all`, one of `any` and none of `none` occur as whole words, ignoring case; else 0.

    Args:
        all (`tuple[str]`, *optional*):
            Words that must all occur.
        any (`tuple[str]`, *optional*):
            Words of which at least one must occur.
        none (`tuple[str]`, *optional*):
            Words that must not occur.

    Example:

    ```python
    >>> from trl_grpo_rewards import keywords

    >>> keywords(all=["because"], none=["obviously"])(completions=["Because it is.", "Obviously.", "becauses"])
    [1.0, 0.0, 0.0]

    ```
    """
    text = completion.casefold()
    wanted = [occurs(word, text) for word in all] + ([True in (occurs(w, text) for w in any)] if any else [])
    return float(False not in wanted and True not in (occurs(word, text) for word in none))


def occurs(word: str, text: str) -> bool:
    import regex

    return compiled(rf"(?<!\w){regex.escape(word.casefold())}(?!\w)", "").search(text) is not None
