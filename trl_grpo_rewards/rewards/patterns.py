"""Rewards for what occurs in a completion."""

import functools
import logging
import re
from collections.abc import Iterator
from typing import Any, TypeAlias

import regex as regexes

from ..batch import Batch
from ..constraints.visible import see
from ..options import PositiveFloat, PositiveInt, requires
from ..registry import combinator, reward
from ..scores import Score
from ..texts import completion_text, strip_reasoning
from ..traits import Form


__all__ = ["citations", "keywords", "pattern"]


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


@reward(
    check=requires(
        "keywords() requires at least one word, and no empty words",
        lambda all, any, none: all + any + none and "" not in all + any + none,
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
    """Return how many of the words occur in the text as whole words, ignoring case."""
    text = see(text).casefold()
    patterns = (rf"(?<!\w){regexes.escape(see(word).casefold())}(?!\w)" for word in words)
    return sum(compile_expression(pattern).search(text) is not None for pattern in patterns)


Citation: TypeAlias = int | tuple[str, str]  # a number, or an author and a year

# These do not match: the index x[1], the lists in f([1, 2]) and a = [1, 2], the link [1](...), the root \sqrt[3]{8}.
NUMBER_CITATION = re.compile(
    r"(?<!\b[a-z])(?<!_)(?<!\w\()(?<!=)(?<!= )"
    r"\[([1-9]\d{0,2}(?: ?[,;–-] ?[1-9]\d{0,2}){0,20})\](?![{(=]| [=+])"
)
PARENTHESES = re.compile(r"\(([^()]{4,200})\)")
AUTHOR_AND_YEAR = re.compile(
    r"(?:[a-z.]{2,5},? )?(?:(?:van|von|de[nrls]?|di|da|dos|du|la|le|te[nr]|el|al|bin|ibn|zur?) ){0,3}"
    r"([^\W\d_][\w'’-]{1,40})[^\d;]{0,100}, ([12]\d{3})(?!\d)"
)
NAME_OR_YEAR = re.compile(r"(?<!\d)[12]\d{3}(?!\d)|[^\W\d_](?:[\w'-]*\w)?")


@combinator(columns=lambda sources: {sources} if sources else set())
async def citations(batch: Batch, *, sources: str | None = None) -> list[Score]:
    """
    1 if the text after the reasoning cites (`[1]`, `(Author, 2020)`); with `sources`, the share of existing citations.

    The share is the number of different citations that exist divided by the number of different citations, or 0 if
    there are none. Therefore, a model gains nothing by citing every number. `[3]` exists if the third source is not
    empty. `(Author et al., 2020)` exists if a source names both the first author and the year. The score is None if a
    row has no sources. Only numbers up to 999 are citations. An index such as `x[1]` and a link such as `[1](...)` are
    not citations, but the interval `[1, 2]` is mistaken for one.

    Args:
        sources (`str`, *optional*):
            Column with the sources of each row: a list of texts, numbered from 1, or a text with one source per line.

    Example:

    ```python
    >>> from trl_grpo_rewards import citations

    >>> citations()(completions=["Water is wet [1].", "Water is wet (Thales, 1585).", "Water is wet."])
    [1.0, 1.0, 0.0]
    >>> columns = {"books": [["On Water, Thales 1585", "On Fire"]] * 3}
    >>> citations(sources="books")(completions=["[2]", "[2], [3]", "(Thales, 1585; Plato, 1590)"], **columns)
    [1.0, 0.5, 0.5]

    ```
    """
    cited = [{*find_citations(strip_reasoning(completion_text(one)))} for one in batch.columns["completions"]]
    if not sources:
        return [float(len(citations) > 0) for citations in cited]
    return [
        compute_existing_share(citations, value)
        for citations, value in zip(cited, batch.columns[sources], strict=True)
    ]


def find_citations(text: str) -> Iterator[Citation]:
    """Yield what a text cites. A range of numbers gives its first and last number."""
    for numbers in {*NUMBER_CITATION.findall(text)}:
        yield from map(int, re.findall(r"\d+", numbers))
    for content in {*PARENTHESES.findall(text)}:
        for part in content.split(";"):
            if (found := AUTHOR_AND_YEAR.match(part.strip())) and found[1][0].isupper():
                yield normalize_name(found[1]), found[2]


def normalize_name(text: str) -> str:
    return text.casefold().replace("’", "'")


def compute_existing_share(citations: set[Citation], sources: Any) -> Score:
    """Return the share of the citations that are among the sources, or None without sources."""
    if sources is None:
        return None
    if not hasattr(sources, "__iter__"):
        raise ValueError(
            f"citations() requires the sources of a row to be a list of texts, or a text with one source per line; got "
            f"{sources!r}. Convert the column."
        )
    items = [line for line in sources.splitlines() if line.strip()] if isinstance(sources, str) else sources
    texts = ["" if item is None else normalize_name(str(item)).strip() for item in items]
    words_of = [{*NAME_OR_YEAR.findall(text)} for text in texts]
    exists = [
        any(words.issuperset(one) for words in words_of) if isinstance(one, tuple) else any(texts[one - 1 : one])
        for one in citations
    ]
    return sum(exists) / len(exists) if exists else 0.0
