"""Rewards for what occurs in a completion."""

import re
from collections.abc import Iterator
from typing import Any

from ..batch import GIVEN, Batch, completion_text
from ..expressions import missing_column
from ..registry import combinator, reward
from ..text import arithmetic, regexes
from ..text.forms import Form
from ..verify.boxes import final_part


__all__ = ["citations", "equations", "keywords", "pattern"]


def check_pattern(regex: str, at_least: int, flags: str, timeout: float) -> None:
    if {*flags} - {*"aimsx"}:
        raise ValueError(f"pattern() has flags={flags!r}; there are a, i, m, s and x. Leave out the others.")
    if at_least < 1:
        raise ValueError(f"pattern() has at_least={at_least}, which every text reaches. Give it a number from 1.")
    if timeout <= 0:
        raise ValueError(f"pattern() has timeout={timeout}, in which nothing can be read. Give it seconds above 0.")
    try:
        regexes.compiled(regex, flags)
    except Exception as error:  # the engine has several kinds for an expression it cannot read
        raise ValueError(f"pattern() has regex={regex!r}, which is no expression: {error}. Correct it.") from None


@reward(check=check_pattern)
def pattern(completion: str, *, regex: str, at_least: int = 1, flags: str = "", timeout: float = 0.1) -> float:
    r"""
    1 if the expression matches at least so often (matches do not overlap); else 0.

    A completion on which the expression takes longer than `timeout` is worth 0, as one without a match, and the first
    time a warning names the expression: then text and expression have met in a way that could take hours.

    Args:
        regex (`str`):
            Regular expression of the [`regex`](https://pypi.org/project/regex/) library.
        at_least (`int`, *optional*, defaults to `1`):
            How many matches it takes.
        flags (`str`, *optional*, defaults to `""`):
            Letters among `"aimsx"`, as in `(?i)`.
        timeout (`float`, *optional*, defaults to `0.1`):
            Seconds for one completion, as the processor counts them: those of all threads of the process together.

    Example:

    ```python
    >>> from trl_grpo_rewards import pattern

    >>> pattern(r"step \d", at_least=2, flags="i")(completions=["Step 1 ... step 2", "Step 1"])
    [1.0, 0.0]

    ```
    """
    try:
        return float(regexes.occurs(regex, completion, timeout, at_least, flags))
    except TimeoutError:
        return 0.0


def check_keywords(all: tuple[str, ...], any: tuple[str, ...], none: tuple[str, ...]) -> None:
    if not all + any + none or "" in all + any + none:
        raise ValueError("keywords() has no words, or an empty one. Give it some: keywords(all=('because',)).")


def form_with_keywords(all: tuple[str, ...], any: tuple[str, ...], none: tuple[str, ...]) -> Form:
    return Form(words=(*all, *any[:1]), without=none)


@reward(check=check_keywords, form=form_with_keywords)
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

    return regexes.compiled(rf"(?<!\w){regex.escape(word.casefold())}(?!\w)").search(text) is not None


# None is the index x[1], the list of f([1, 2]) and a = [1, 2], the link [1](...), or the root \sqrt[3]{8}.
NUMBERED = re.compile(
    r"(?<!\b[a-z])(?<!_)(?<!\w\()(?<!=)(?<!= )"
    r"\[([1-9]\d{0,2}(?: ?[,;–-] ?[1-9]\d{0,2}){0,20})\](?![{(=]| [=+])"
)
BRACKETED = re.compile(r"\(([^()]{4,200})\)")
AUTHORED = re.compile(
    r"(?:[a-z.]{2,5},? )?(?:(?:van|von|de[nrls]?|di|da|dos|du|la|le|te[nr]|el|al|bin|ibn|zur?) ){0,3}"
    r"([^\W\d_][\w'’-]{1,40})[^\d;]{0,100}, ([12]\d{3})(?!\d)"
)
WORD = re.compile(r"(?<!\d)[12]\d{3}(?!\d)|[^\W\d_](?:[\w'-]*\w)?")


@combinator(columns=lambda sources: {sources} if sources else set())
async def citations(batch: Batch, *, sources: str | None = None) -> list[float | None]:
    """
    1 if what follows the reasoning cites: `[1]`, `[2, 3]`, `(Author, 2020)`; with `sources`, the share that exists.

    That is the number of different citations that exist over the number of different citations, and 0 without one, so
    that citing all numbers there are, and more, gains nothing. `[3]` exists where the third source is not empty; `(Author
    et al., 2020)` where a source names both the first author and the year. None where a row has no sources. Numbers go
    to 999; an index, `x[1]`, and a link, `[1](...)`, are no citations, but the interval `[1, 2]` looks like one.

    Args:
        sources (`str`, *optional*):
            Column with the sources of each row: a list of texts, numbered from 1, or a text with one on each line.

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
    if sources and sources not in batch.columns:
        raise missing_column("citations", sources, {*batch.columns} - GIVEN)
    cited = [{*cited_in(final_part(completion_text(one)))} for one in batch.columns["completions"]]
    if not sources:
        return [float(len(found) > 0) for found in cited]
    return [share_of(found, value) for found, value in zip(cited, batch.columns[sources], strict=True)]


def cited_in(text: str) -> Iterator[int | tuple[str, str]]:
    """What a text cites, by number or by author and year; of a range its ends."""
    for numbers in {*NUMBERED.findall(text)}:
        yield from map(int, re.findall(r"\d+", numbers))
    for named in {*BRACKETED.findall(text)}:
        for part in named.split(";"):
            if (found := AUTHORED.match(part.strip())) and found[1][0].isupper():
                yield plain(found[1]), found[2]


def plain(text: str) -> str:
    return text.casefold().replace("’", "'")


def share_of(cited: set, sources: Any) -> float | None:
    """The share of the citations that are among the sources."""
    if sources is None:
        return None
    if not hasattr(sources, "__iter__"):
        raise ValueError(
            f"citations() has {sources!r} as the sources of a row. Give it a list of texts, or a text with one on each line."
        )
    listed = [line for line in sources.splitlines() if line.strip()] if isinstance(sources, str) else sources
    texts = ["" if source is None else plain(str(source)).strip() for source in listed]
    words = [{*WORD.findall(text)} for text in texts]
    exist = [
        any(words_of.issuperset(one) for words_of in words) if isinstance(one, tuple) else any(texts[one - 1 : one])
        for one in cited
    ]
    return sum(exist) / len(exist) if exist else 0.0


EQUATION = re.compile(r"[\w)}\]'%°]!? ?&? ?= ?[\w({\\+.\[-]")


@reward
def equations(completion: str, *, hold: bool = True) -> float:
    r"""
    The share of the equations in the completion that are true, of those that arithmetic can check; 0 without one.

    Checked is what has numbers alone on both sides, a calculation on the left, and is not the same on both, in plain
    text or in LaTeX: `3 \times 4 = 12`, `\frac{1}{2} + 0.5 = 1`; of `3 + 4 = 7 = 14 / 2` each later side with the
    first. Each counts once, however often it is written, and exactly: `10 / 3 = 3.33` is false. What has a letter or `%`
    in it is left out, `x + 3 = 5`, and what a word or a sign beside it may change: `= 2 million`, `= 0.33...`. The
    working is read, too, not only what follows it. Nothing is evaluated as code; sides longer than 120 characters are
    left out, numbers beyond 1000 bits are false, and of more than a hundred equations some are checked, evenly spread,
    so that no text takes long.

    A true equation is easily had, `1 + 1 = 2`: this pays for working that is honest, beside a reward for the answer.

    Args:
        hold (`bool`, *optional*, defaults to `True`):
            Whether equations must be true. Without it, 1 if there is any `=` between two expressions; else 0.

    Example:

    ```python
    >>> from trl_grpo_rewards import equations

    >>> equations()(completions=["48 / 2 = 24, and 48 + 24 = 72", "48 / 2 = 24, and 48 + 24 = 82", "It is 72, as x = 24."])
    [1.0, 0.5, 0.0]
    >>> equations(hold=False)(completions=["As $x = 24$.", "It is 72."])
    [1.0, 0.0]

    ```
    """
    return (arithmetic.share_true(completion) or 0.0) if hold else float(EQUATION.search(completion) is not None)
