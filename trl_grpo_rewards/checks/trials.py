"""Trials: example completions of dataset rows with their scores, made once and read by every check that needs scores."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from ..expressions import Reward, add, leave_out_witnesses, score_known_groups
from ..function_rewards import FunctionReward
from ..scores import Score
from ..verify.solutions import read_gold
from .answer_forms import FoundForm, ScoreGroups, find_form, show
from .attack_completions import attacks, choose_attacks
from .completion_forms import NO_ANSWER, count_words
from .honest_completions import has_solution, honest, list_known_solutions, swap_completions


if TYPE_CHECKING:
    from datasets import Dataset

TRIED_ROWS = 128
"""Largest number of dataset rows whose completions are scored."""

ATTACKED_ROWS = 16
"""Largest number of dataset rows on which attacks are tried, too."""

ATTACKED_IN_EACH_FORM = 2
"""Number of rows on which attacks are tried in each form, where none is known to be right."""

GUESSED_ROWS = 8
"""Largest number of rows whose right answers are guesses in other rows."""

SHORT = 4_000
"""Number of characters that are kept of a very long attack, on all rows except the first."""

Tokenize: TypeAlias = Callable[[str], list[int]]
"""Returns the token ids of a text."""


class Example(NamedTuple):
    """A completion with its scores: by each term, and at the end the total. None means that it cannot be judged."""

    text: str
    scores: list[Score]

    @property
    def total(self) -> Score:
        return self.scores[-1]


@dataclass(frozen=True)
class Trial:
    """The right, wrong, helpless and attacking completions of one dataset row, which form a group."""

    row: Mapping[str, Any]
    right: Example
    wrong: Example
    helpless: Example
    attacks: dict[str, Example]

    def __iter__(self) -> Iterator[Example]:
        return iter((self.right, self.wrong, self.helpless, *self.attacks.values()))


@dataclass(frozen=True)
class Trials:
    """The trials of all rows, the rewards that scored them, the mean time of each term, and the form of the answers."""

    rewards: Reward
    has_solution: bool
    trials: list[Trial]
    milliseconds: list[float]
    found: FoundForm


def split_words(text: str) -> list[int]:
    """Return one made-up token id for each word, for use without a tokenizer."""
    return [*range(count_words(text))]


def without_asking(rewards: Reward) -> Reward | None:
    """Return the terms that ask no server and no person, or None if all of them ask."""
    kept = tuple((weight, unasked) for weight, reward in rewards.terms if not (unasked := stop_asking(reward)).asks)
    return add(kept) if kept else None


def stop_asking(reward: Reward) -> Reward:
    """Return the reward that decides first in one that asks only about what it leaves open, or else the reward itself."""
    option = reward.factory.traits.unasked if isinstance(reward, FunctionReward) else None
    return stop_asking(reward.options[option]) if isinstance(reward, FunctionReward) and option else reward


def take_rows(dataset: "Dataset") -> list[dict[str, Any]]:
    """Return the first rows."""
    return [dict(row) for row in dataset.select(range(min(TRIED_ROWS, len(dataset))))]


def make_scorer(tokens: Tokenize) -> ScoreGroups:
    """Return a function that returns the totals of groups of completions."""
    return lambda reward, rows, groups: [
        [one.total for one in group] for group in score_groups(reward, rows, groups, tokens)[0]
    ]


def find_answers(rewards: Reward, rows: Sequence[Mapping[str, Any]], tokens: Tokenize = split_words) -> FoundForm:
    """Return the form in which the rewards want the answer, as [`make_trials`] needs it."""
    return find_form(rewards, rows, lambda text: len(tokens(text)), make_scorer(tokens))


def make_trials(
    rewards: Reward,
    rows: Sequence[Mapping[str, Any]],
    tokens: Tokenize = split_words,
    attacked: int = ATTACKED_ROWS,
    found: FoundForm | None = None,
) -> Trials:
    """Let each reward score the completions of all rows. Without `found`, completions that rows contain are right."""
    tokens = cache(tokens)
    if found is None:
        found = find_answers(rewards, rows, tokens)
        if any("completion" in row for row in rows):
            found = replace(found, rows=rows, tried=(), is_solved=True)
    rows, form = found.rows, found.form
    is_solved = any(rewards.weights) and has_solution(leave_out_witnesses(rewards), rows) and found.is_solved

    def count(text: str) -> int:
        return len(tokens(text))

    right = [honest(rewards, row, count, form) for row in rows]
    wrong = swap_completions(rewards, rows, right)
    golds = (read_gold(one) for row in rows for one in list_known_solutions(rewards, row)[:1])
    others = [*dict.fromkeys(one for one in golds if one)][:GUESSED_ROWS]
    made = [choose_attacks(rewards, row, is_solved, count, form, others) for row in rows[:attacked]]
    for more in made[1:]:  # regular expressions of users take quadratic time for what never closes
        more["unclosed tags"] = more["unclosed tags"][:SHORT]
    for place, row in enumerate(rows[: min(attacked, ATTACKED_IN_EACH_FORM)]):
        for one in found.tried:
            new, written = attacks(rewards, row, count, one, others), f"as {show(one)}{' alone' * one.bare}"
            known = {*made[place].values()}
            made[place] |= {f"{name}, {written}": text for name, text in new.items() if text not in known}
    made += [{}] * (len(rows) - len(made))
    texts = [[one, other, NO_ANSWER, *more.values()] for one, other, more in zip(right, wrong, made, strict=True)]
    examples: list[list[Example]] = []
    milliseconds: list[float] = []
    for part in (slice(attacked), slice(attacked, None)):
        if rows[part]:  # the rows without attacks come last and are timed, because attacks are longer than completions
            scored, milliseconds = score_groups(rewards, rows[part], texts[part], tokens)
            examples += scored
    trials = [
        Trial(row, one, other, helpless, dict(zip(more, attacks, strict=True)))
        for row, (one, other, helpless, *attacks), more in zip(rows, examples, made, strict=True)
    ]
    return Trials(rewards, is_solved, trials, milliseconds, found)


def score_groups(
    rewards: Reward, rows: Sequence[Mapping[str, Any]], groups: list[list[str]], tokens: Tokenize
) -> tuple[list[list[Example]], list[float]]:
    """Score a group of completions for each row. Return them, and the milliseconds of each term for one completion."""
    places = [place for place, group in enumerate(groups) for _ in group]
    texts = [text for group in groups for text in group]
    columns: dict[str, Any] = {
        name: [rows[place][name] for place in places] for name in rows[0] if name not in ("prompt", "completion")
    }
    prompts = [rows[place].get("prompt") for place in places]
    columns |= {
        "prompts": prompts,
        "completions": [
            [{"role": "assistant", "content": text}] if isinstance(prompt, list) else text
            for prompt, text in zip(prompts, texts, strict=True)
        ],
        "completion_ids": [tokens(text) for text in texts],
        "trainer_state": SimpleNamespace(global_step=0, max_steps=1, epoch=0.0),
    }
    by_term, milliseconds = [], []
    for term in rewards.rewards:
        start = time.perf_counter()
        by_term.append(score_known_groups(term, columns, places))
        milliseconds.append(1000 * (time.perf_counter() - start) / len(texts))
    scores = ([*each, rewards.total(each)] for each in zip(*by_term, strict=True))
    examples = map(Example, texts, scores)
    return [[next(examples) for _ in group] for group in groups], milliseconds


def average_scores(examples: Iterable[Example]) -> list[float]:
    """Return the mean score by each term, and at the end the mean total. It is NaN if no example has a score."""
    return [average(scores) for scores in zip(*(one.scores for one in examples), strict=True)]


def average(scores: Iterable[Score]) -> float:
    known = [score for score in scores if score is not None]
    return sum(known) / len(known) if known else math.nan
