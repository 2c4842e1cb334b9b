"""Rewards for the words of a completion: beside themselves, the solution, and its siblings."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from ..registry import reward
from ..verify.boxes import final_part
from .lengths import Unit, counted


__all__ = ["distinct", "overlap", "repetition"]


WORD = re.compile(r"\w+")


def ngrams(items: Sequence, size: int) -> list[Sequence]:
    """All runs of so many items."""
    if isinstance(items, str):
        return [items[start : start + size] for start in range(len(items) - size + 1)]
    return list(zip(*(items[start:] for start in range(size)), strict=False))


def check_repetition(ngram: int) -> None:
    if ngram < 1:
        raise ValueError(f"repetition() has ngram={ngram}, which is no length. Give it a number from 1.")


@reward(check=check_repetition)
def repetition(
    completion: str, completion_ids: list[int] | None = None, *, ngram: int = 3, unit: Unit = "tokens"
) -> float:
    r"""
    0 where no n-gram occurs twice, falling to -1 the more of them do.

    With \\( u \\) different n-grams among \\( t \\), it is \\( u / t - 1 \\); 0 for a text that is too short to have
    one. From appendix C.2 of
    [Demystifying Long Chain-of-Thought Reasoning](https://huggingface.co/papers/2502.03373).

    Args:
        ngram (`int`, *optional*, defaults to `3`):
            Number of units in a row.
        unit (`str`, *optional*, defaults to `"tokens"`):
            `"tokens"`, `"words"` (separated by white space, capitals alike) or `"chars"`.

    Example:

    ```python
    >>> from trl_grpo_rewards import repetition

    >>> repetition(ngram=2, unit="words")(completions=["So it is what it is.", "No no no no no", "No"])
    [0.0, -0.75, 0.0]

    ```
    """
    found = ngrams(counted(completion.casefold(), completion_ids, unit, "repetition"), ngram)
    return len({*found}) / len(found) - 1.0 if found else 0.0


@reward
def overlap(completion: str, solution: Any) -> float | None:
    r"""
    How many words what follows the reasoning shares with the column `solution`: 1 for the same ones, 0 for none.

    It is the F1 of [SQuAD](https://huggingface.co/papers/1606.05250), articles included: with \\( c \\) words in common,
    each as often as both have it, of \\( a \\) and \\( b \\), \\( 2c / (a + b) \\). More words than the solution has cost as
    much as missing ones. Order, capitals and punctuation do not count. Of a list of solutions the best counts; None
    where there is no word in any.

    Example:

    ```python
    >>> from trl_grpo_rewards import overlap

    >>> overlap()(completions=["The red fox", "a fox", "A fox or a dog or a cat"], solution=["the red fox"] * 3)
    [1.0, 0.4, 0.18181818181818182]

    ```
    """
    given = words(final_part(completion))
    golds = [gold for one in (solution if isinstance(solution, (list, tuple)) else [solution]) if (gold := words(one))]
    return max((2 * (given & gold).total() / (given.total() + gold.total()) for gold in golds), default=None)


def words(text: Any) -> Counter[str]:
    return Counter(WORD.findall("" if text is None else str(text).casefold()))


def check_distinct(ngram: int) -> None:
    if ngram < 1:
        raise ValueError(f"distinct() has ngram={ngram}, which is no length. Give it a number from 1.")


@reward(grouped=True, check=check_distinct)
def distinct(completions: list[str], *, ngram: int = 3) -> list[float]:
    r"""
    The share of a completion's n-grams of words that no other completion of its group has.

    1 for one that has nothing in common with its siblings or has none, 0 for a copy of one and for an empty completion;
    a text of fewer words is one n-gram. Each n-gram counts once, as in the distinct-n of
    [A Diversity-Promoting Objective Function](https://huggingface.co/papers/1510.03055), which counts them within a
    text. Nonsense is distinct, too: pay it among right answers, `gate(distinct(), by=boxed())`.

    Args:
        ngram (`int`, *optional*, defaults to `3`):
            Number of words in a row.

    Example:

    ```python
    >>> from trl_grpo_rewards import distinct

    >>> distinct(ngram=1)(completions=["add them", "Add them!", "count fingers", "count them"])
    [0.0, 0.0, 0.5, 0.0]

    ```
    """
    found = [
        {*ngrams(said, min(ngram, len(said) or 1))} for said in (WORD.findall(one.casefold()) for one in completions)
    ]
    owners = Counter(chain.from_iterable(found))
    common = {one for one, count in owners.items() if count > 1}
    return [len(grams - common) / len(grams) if grams else 0.0 for grams in found]
