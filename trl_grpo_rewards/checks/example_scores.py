"""The scores that rewards give to example completions."""

import time
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeAlias

from ..expressions import Reward, add, score_known_groups
from ..function_rewards import find_functions
from ..scores import Score
from .example_completions import NO_ANSWER, count_words, find_answer_column, honest, is_self_solving, solve


if TYPE_CHECKING:
    from datasets import Dataset

ROUNDING = 1e-9
"""Largest difference between totals that counts as equal."""

Tokenize: TypeAlias = Callable[[str], list[int]]
"""Returns the token ids of a text."""


def split_words(text: str) -> list[int]:
    """Return one made-up token id for each word, for use without a tokenizer."""
    return [*range(count_words(text))]


def without_asking(rewards: Reward) -> Reward | None:
    """Return the terms that ask no server and no person, or None if all of them ask."""
    kept = tuple((weight, reward) for weight, reward in rewards.terms if not reward.asks)
    return add(kept) if kept else None


def has_solution(rewards: Reward, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether any reward reads the column with the right answers, or writes a right completion for one of the rows."""
    if is_self_solving(rewards):
        return any(solve(rewards, row) for row in rows)
    column = find_answer_column(rewards)
    return any(column in function.columns for function in find_functions(rewards))


def take_rows(dataset: "Dataset", most: int) -> list[dict[str, Any]]:
    """Return the first rows without a column `completion`, which was not written for these rewards."""
    rows = dataset.select(range(min(most, len(dataset))))
    return [{name: value for name, value in row.items() if name != "completion"} for row in rows]


def score_texts(
    rewards: Reward,
    rows: Sequence[Mapping[str, Any]],
    texts: Sequence[str],
    tokens: Tokenize,
    seconds: list[float] | None = None,
) -> list[list[Score]]:
    """
    Return the scores of the texts by each term, and at the end their totals.

    Args:
        rewards ([`Reward`]):
            Expression of rewards.
        rows (`list[dict]`):
            Dataset row of each text. Consecutive texts with the same row form a group.
        texts (`list[str]`):
            Completions.
        tokens (`Callable`):
            Returns the token ids of a text.
        seconds (`list[float]`, *optional*):
            Seconds of each term. The time that the terms take is added to it.
    """
    prompts = [row.get("prompt") for row in rows]
    chat = bool(prompts) and isinstance(prompts[0], list)
    columns: dict[str, Any] = {
        name: [row[name] for row in rows] for name in rows[0] if name not in ("prompt", "completion")
    }
    columns |= {
        "prompts": prompts,
        "completions": [[{"role": "assistant", "content": text}] if chat else text for text in texts],
        "completion_ids": [tokens(text) for text in texts],
        "trainer_state": SimpleNamespace(global_step=0, max_steps=1, epoch=0.0),
    }
    changes = [index > 0 and row is not rows[index - 1] for index, row in enumerate(rows)]
    groups = [*accumulate(map(int, changes))]
    by_term = []
    for index, term in enumerate(rewards.rewards):
        start = time.perf_counter()
        by_term.append(score_known_groups(term, columns, groups))
        if seconds is not None:
            seconds[index] += time.perf_counter() - start
    return [*by_term, [rewards.total(scores) for scores in zip(*by_term, strict=True)]]


def compute_means(
    rewards: Reward, rows: Sequence[Mapping[str, Any]], tokens: Tokenize, seconds: list[float] | None = None
) -> dict[str, list[float]]:
    """
    Return the mean score by each term, and at the end the mean total, for three completions of each row.

    `"right"` is an honest completion, `"wrong"` the honest completion of another row, and `"helpless"` has no answer.
    The arguments are those of [`score_texts`].
    """
    right = [honest(rewards, row, lambda text: len(tokens(text))) for row in rows]
    texts = {
        "right": right,
        "wrong": swap_completions(rows, right, find_answer_column(rewards)),
        "helpless": [NO_ANSWER] * len(rows),
    }
    return {
        kind: [average(scores) for scores in score_texts(rewards, rows, completions, tokens, seconds)]
        for kind, completions in texts.items()
    }


def swap_completions(rows: Sequence[Mapping[str, Any]], texts: list[str], column: str) -> list[str]:
    """Return for each row the completion of the next row that has another value in the column."""
    count = len(rows)
    swapped = []
    for index, row in enumerate(rows):
        others = ((index + step) % count for step in range(1, count))
        swapped.append(
            next((texts[other] for other in others if rows[other].get(column) != row.get(column)), NO_ANSWER)
        )
    return swapped


def average(scores: Sequence[Score]) -> float:
    """Return the mean of the scores that are not None, or NaN if all are None."""
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else float("nan")
