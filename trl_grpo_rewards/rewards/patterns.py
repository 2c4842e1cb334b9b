"""Rewards for what occurs in a completion."""

import functools
import logging
import re
from typing import Any

import regex as regexes

from ..answers.arithmetic import compute_true_share
from ..batch import Batch
from ..options import PositiveFloat, PositiveInt, requires
from ..registry import combinator, reward
from ..scores import Score
from ..texts import completion_text, strip_reasoning
from ..traits import Form
from ..visible import see


__all__ = ["citations", "equations", "keywords", "pattern"]
logger = logging.getLogger(__name__)


@functools.lru_cache(maxsize=256)
def compile_expression(expression: str, flags: str = "") -> "regexes.Pattern[str]":
    return regexes.compile(f"(?{flags}){expression}" if flags else expression)


@functools.cache
def warn_of_slow(expression: str, seconds: float) -> None:
    logger.warning(
        f"The expression {expression!r} was stopped after {seconds:.3g} s. The text counts as not matching. Nested repeats, "
        f"or adjacent repeats that match the same characters, can be this slow. Make them possessive, as in '(?:a+)++', "
        f"or remove one."
    )


def check_pattern(regex: str, flags: str) -> None:
    if {*flags} - {*"aimsx"}:
        raise ValueError(f"pattern() supports the flags a, i, m, s and x; got flags={flags!r}. Remove the others.")
    try:
        compile_expression(regex, flags)
    except Exception as error:  # the engine raises several types for invalid expressions
        raise ValueError(
            f"pattern() needs a valid regular expression; got regex={regex!r}: {error}. Correct it."
        ) from None


@reward(check=check_pattern)
def pattern(
    completion: str, *, regex: str, at_least: PositiveInt = 1, flags: str = "", timeout: PositiveFloat = 0.1
) -> float:
    r"""
    1 if the regular expression has at least `at_least` matches that do not overlap; else 0.

    The score is also 0 if matching takes longer than `timeout`, because some texts make an expression run for hours.
    The first time this happens, a warning names the expression.

    Args:
        regex (`str`):
            Regular expression of the [`regex`](https://pypi.org/project/regex/) library.
        at_least (`int`, *optional*, defaults to `1`):
            Required number of matches.
        flags (`str`, *optional*, defaults to `""`):
            Letters among `"aimsx"`, as in `(?i)`.
        timeout (`float`, *optional*, defaults to `0.1`):
            Time limit for one completion, in seconds of CPU time summed over all threads of the process.

    Example:

    ```python
    >>> from trl_grpo_rewards import pattern

    >>> pattern(r"step \d", at_least=2, flags="i")(completions=["Step 1 ... step 2", "Step 1"])
    [1.0, 0.0]

    ```
    """
    matches = compile_expression(see(regex), flags).finditer(see(completion), timeout=timeout)
    try:
        return float(sum(1 for _ in zip(range(at_least), matches, strict=False)) == at_least)
    except TimeoutError:
        warn_of_slow(regex, timeout)
        return 0.0


def has_words(all: tuple[str, ...], any: tuple[str, ...], none: tuple[str, ...]) -> bool:
    words = all + any + none
    return bool(words) and "" not in words


@reward(
    check=requires(
        "keywords() requires at least one word, and no empty words",
        has_words,
        "Write keywords(all=('because',)).",
    ),
    form=lambda all, any, none: Form(words=(*all, *any[:1]), without=none),
)
def keywords(
    completion: str, *, all: tuple[str, ...] = (), any: tuple[str, ...] = (), none: tuple[str, ...] = ()
) -> float:
    """
    1 if all words of `all`, at least one of `any` and none of `none` occur as whole words, ignoring case; else 0.

    Args:
        all (`tuple[str]`, *optional*):
            Words that must all occur.
        any (`tuple[str]`, *optional*):
            At least one of these words must occur.
        none (`tuple[str]`, *optional*):
            Words that must not occur.

    Example:

    ```python
    >>> from trl_grpo_rewards import keywords

    >>> keywords(all=["because"], none=["obviously"])(completions=["Because it is.", "Obviously.", "becauses"])
    [1.0, 0.0, 0.0]

    ```
    """
    required, alternatives, forbidden = (count_present(words, completion) for words in (all, any, none))
    return float(required == len(all) and (alternatives > 0 or not any) and forbidden == 0)


def count_present(words: tuple[str, ...], text: str) -> int:
    text = see(text).casefold()
    patterns = (rf"(?<!\w){regexes.escape(see(word).casefold())}(?!\w)" for word in words)
    return sum(compile_expression(pattern).search(text) is not None for pattern in patterns)


# These do not match: the index x[1], the lists in f([1, 2]) and a = [1, 2], the link [1](...), the root \sqrt[3]{8}.
CITATION = re.compile(
    r"(?<!\b[a-z])(?<!_)(?<!\w\()(?<!=)(?<!= )"
    r"\[([1-9]\d{0,2}(?: ?[,;–-] ?[1-9]\d{0,2}){0,20})\](?![{(=]| [=+])"
)


@combinator(columns=lambda sources: {sources} if sources else set())
async def citations(batch: Batch, *, sources: str | None = None) -> list[Score]:
    """
    1 if the text after the reasoning cites a source by its number, as in `[1]`; with `sources`, the share that exist.

    The share is the number of different citations that exist divided by the number of different citations, or 0 if
    there are none. Therefore, a model gains nothing by citing every number. `[3]` exists if the third source is not
    empty. The score is None if a row has no sources. Only numbers up to 999 are citations. An index such as `x[1]` and
    a link such as `[1](...)` are not citations, but the interval `[1, 2]` is mistaken for one.

    Args:
        sources (`str`, *optional*):
            Column with the sources of each row: a list of texts, numbered from 1, or a text with one source per line.

    Example:

    ```python
    >>> from trl_grpo_rewards import citations

    >>> citations()(completions=["Water is wet [1].", "Water is wet."])
    [1.0, 0.0]
    >>> books = [["On Water, Thales 1585", "On Fire"]] * 2
    >>> citations(sources="books")(completions=["[2]", "[2], [3]"], books=books)
    [1.0, 0.5]

    ```
    """
    cited = [find_cited(completion_text(completion)) for completion in batch.columns["completions"]]
    if not sources:
        return [float(len(numbers) > 0) for numbers in cited]
    return [*map(compute_existing_share, cited, batch.columns[sources])]


def find_cited(text: str) -> set[int]:
    """Return the numbers of the citations in a text."""
    citations = CITATION.findall(strip_reasoning(text))
    return {int(number) for citation in citations for number in re.findall(r"\d+", citation)}


def compute_existing_share(numbers: set[int], sources: Any) -> Score:
    """Return the share of the numbers that are those of sources, or None without sources. A range gives its ends."""
    if sources is None:
        return None
    if not hasattr(sources, "__iter__"):
        raise ValueError(
            f"citations() requires the sources of a row to be a list of texts, or a text with one source per line; got "
            f"{sources!r}. Convert the column."
        )
    if isinstance(sources, str):
        items = [line for line in sources.splitlines() if line.strip()]
    else:
        items = sources
    existing = {place for place, item in enumerate(items, 1) if item is not None and str(item).strip()}
    if numbers:
        return len(numbers & existing) / len(numbers)
    return 0.0


EQUALS_SIGN = re.compile(r"[\w)}\]'%°]!? ?&? ?= ?[\w({\\+.\[-]")


@reward
def equations(completion: str, *, hold: bool = True) -> float:
    r"""
    Share of the completion's equations that are true, among those that arithmetic can check; 0 if there are none.

    An equation is checked if it has only numbers on both sides, a calculation on the left, and sides that differ. It may
    be plain text or LaTeX: `3 \times 4 = 12`, `\frac{1}{2} + 0.5 = 1`. In `3 + 4 = 7 = 14 / 2`, each later side is
    compared with the first. Repeated equations count once. The comparison is exact: `10 / 3 = 3.33` is false. Equations
    with a letter or `%`, such as `x + 3 = 5`, are left out. So are equations whose value may change with the next word or
    sign, such as `= 2 million` and `= 0.33...`. The whole completion is read, including the reasoning.

    Nothing is evaluated as code, and the time is limited for every text. Sides longer than 120 characters are left out.
    Equations with numbers of thousands of digits count as false. If there are more than a hundred equations, an evenly
    spaced sample is checked.

    True equations such as `1 + 1 = 2` are easy to write, so combine this with a reward for the answer.

    Args:
        hold (`bool`, *optional*, defaults to `True`):
            Whether equations must be true. With `False`, the score is 1 if any `=` is between two expressions, else 0.

    Example:

    ```python
    >>> from trl_grpo_rewards import equations

    >>> equations()(completions=["48 / 2 = 24, and 48 + 24 = 72", "48 / 2 = 24, and 48 + 24 = 82", "It is 72, as x = 24."])
    [1.0, 0.5, 0.0]
    >>> equations(hold=False)(completions=["As $x = 24$.", "It is 72."])
    [1.0, 0.0]

    ```
    """
    if not hold:
        return float(EQUALS_SIGN.search(completion) is not None)
    return compute_true_share(completion) or 0.0
