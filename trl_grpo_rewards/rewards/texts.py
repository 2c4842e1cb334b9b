"""Rewards that compare the words of a completion: with each other, with the solution, and with the rest of its group."""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from ..answers.solutions import choose_best, list_solutions
from ..options import PositiveInt
from ..registry import reward
from ..texts import strip_reasoning
from .lengths import TextUnit, split_units


__all__ = ["distinct", "overlap", "repetition"]
ALPHANUMERIC = re.compile(r"\w+")


def list_ngrams(items: Sequence[Any], size: int) -> list[Sequence[Any]]:
    if isinstance(items, str):
        return [items[start : start + size] for start in range(len(items) - size + 1)]
    return list(zip(*(items[start:] for start in range(size)), strict=False))


@reward
def repetition(
    completion: str, completion_ids: list[int] | None = None, *, ngram: PositiveInt = 3, unit: TextUnit = "tokens"
) -> float:
    r"""
    0 if no n-gram occurs twice, falling towards -1 as more n-grams are repeated.

    With \\( u \\) different n-grams among \\( t \\), it is \\( u / t - 1 \\), or 0 if the text is too short for an n-gram.
    The formula is from appendix C.2 of
    [Demystifying Long Chain-of-Thought Reasoning](https://huggingface.co/papers/2502.03373).

    Args:
        ngram (`int`, *optional*, defaults to `3`):
            Number of consecutive units.
        unit (`str`, *optional*, defaults to `"tokens"`):
            `"tokens"`, `"words"` (separated by whitespace) or `"chars"`. Words and characters ignore case.

    Example:

    ```python
    >>> from trl_grpo_rewards import repetition

    >>> repetition(ngram=2, unit="words")(completions=["So it is what it is.", "No no no no no", "No"])
    [0.0, -0.75, 0.0]

    ```
    """
    found = list_ngrams(split_units(completion.casefold(), completion_ids, unit, "repetition"), ngram)
    if found:
        return len({*found}) / len(found) - 1.0
    return 0.0


@reward
def overlap(completion: str, solution: Any) -> float | None:
    r"""
    Word F1 between the text after the reasoning and the column `solution`: 1 for the same words, 0 for no common word.

    It is the F1 of [SQuAD](https://huggingface.co/papers/1606.05250), but counts articles. For texts of \\( a \\) and
    \\( b \\) words with \\( c \\) words in common, counted with repetition, it is \\( 2c / (a + b) \\). Additional words
    cost as much as missing ones. Order, case and punctuation do not matter. A list in the column contains accepted
    solutions, as in [`boxed`], and the best match counts. The score is None if a solution has no word.

    Example:

    ```python
    >>> from trl_grpo_rewards import overlap

    >>> overlap()(completions=["The red fox", "a fox", "A fox or a dog or a cat"], solution=["the red fox"] * 3)
    [1.0, 0.4, 0.18181818181818182]

    ```
    """
    words = tally_words(strip_reasoning(completion))
    golds = map(tally_words, list_solutions(solution))
    return choose_best([compute_overlap(words, gold) if gold else None for gold in golds])


def compute_overlap(words: Counter[str], gold: Counter[str]) -> float:
    common = (words & gold).total()
    return 2 * common / (words.total() + gold.total())


def tally_words(text: Any) -> Counter[str]:
    return Counter(ALPHANUMERIC.findall("" if text is None else str(text).casefold()))


@reward(grouped=True)
def distinct(completions: list[str], *, ngram: PositiveInt = 3) -> list[float]:
    r"""
    Share of a completion's word n-grams that no other completion of its group has.

    It is 1 for a completion that has no n-gram in common with the others, and 0 for a copy and for an empty completion.
    A text with fewer than `ngram` words is one n-gram. Each n-gram counts once, as in the distinct-n of
    [A Diversity-Promoting Objective Function](https://huggingface.co/papers/1510.03055), which compares the n-grams of a
    single text. Nonsense is distinct, too, so use this for right answers only: `gate(distinct(), by=boxed())`.

    Args:
        ngram (`int`, *optional*, defaults to `3`):
            Number of consecutive words.

    Example:

    ```python
    >>> from trl_grpo_rewards import distinct

    >>> distinct(ngram=1)(completions=["add them", "Add them!", "count fingers", "count them"])
    [0.0, 0.0, 0.5, 0.0]

    ```
    """
    texts = [ALPHANUMERIC.findall(completion.casefold()) for completion in completions]
    ngrams_of = [{*list_ngrams(words, min(ngram, len(words) or 1))} for words in texts]
    owners = Counter(chain.from_iterable(ngrams_of))
    shared = {one for one, count in owners.items() if count > 1}
    return [len(ngrams - shared) / len(ngrams) if ngrams else 0.0 for ngrams in ngrams_of]
